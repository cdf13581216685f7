//! `megadir bench commands` and studies of command lines: any program, in fresh processes, with equal work.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use megadir_record::jsonl::read;
use megadir_record::{Arm, CacheState, CommandWork, Phase, Record, Role, Sample, Work};
use megadir_testkit::mount::{EXT4, Mount};
use megadir_testkit::require;
use megadir_testkit::require::have;

use crate::support::{measured_blocks, notes, output_of};

const NAMES: [&str; 3] = ["ls -U {dir}", "find {dir}", "{megadir} list {dir}"];

/// Directory of a test's runs.
struct Scratch(tempfile::TempDir);

/// Result of a run: its record, and what it printed.
struct Run {
    record: Record,
    table: String,
    errors: String,
    code: Option<i32>,
}

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn megadir(&self, arguments: &[&str]) -> Output {
        output_of(self.0.path(), arguments)
    }

    /// Measures commands on 200 files in 6 rounds after one to warm up, unless options say otherwise.
    fn commands(&self, commands: &[&str], options: &[&str]) -> Run {
        let fixed =
            ["bench", "commands", "--verbose", "--output", "run.jsonl", "--seed", "7", "--warm-up", "1"];
        let sizes: &[&str] = if options.contains(&"--entries") { &[] } else { &["--entries", "200"] };
        let rounds: &[&str] = if options.contains(&"--rounds") { &[] } else { &["--rounds", "6"] };
        self.run(&[&fixed[..], sizes, rounds, options, commands].concat())
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let output = self.megadir(arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (table, errors) = (text(&output.stdout), text(&output.stderr));
        let file = std::fs::File::open(self.path("run.jsonl"));
        let file = file.unwrap_or_else(|error| panic!("no record ({error}): {errors}"));
        let record = read(BufReader::new(file)).expect("a record");
        let left: Vec<PathBuf> = std::fs::read_dir(self.0.path())
            .expect("the directory is there")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.to_string_lossy().contains("megadir-bench-"))
            .collect();
        assert!(left.is_empty(), "{left:?}: {errors}");
        Run { record, table, errors, code: output.status.code() }
    }

    /// Writes a program: a shell script that gets the number of its runs in `$run`, from 1.
    fn script(&self, name: &str, text: &str) -> String {
        let (path, runs) = (self.path(name), self.path(&format!("{name}.runs")));
        // The version is asked for without the directory.
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo \"{name} 1.2\" && exit\nr={}\necho x >> $r\nrun=$(wc -l < $r)\n{text}\n",
            runs.display()
        );
        std::fs::write(&path, script).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made executable");
        format!("{} {{dir}}", path.display())
    }
}

impl Run {
    fn arms(&self) -> &[Arm] {
        &self.record.header.plan.arms
    }

    fn arm(&self, name: &str) -> &Arm {
        let found = self.arms().iter().find(|arm| arm.name == name);
        found.unwrap_or_else(|| panic!("no arm {name}: {}", self.errors))
    }

    fn work(&self, name: &str) -> &CommandWork {
        match &self.arm(name).work {
            Work::Command(work) => work,
            other => panic!("{other:?}"),
        }
    }

    fn samples<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Sample> {
        let id = self.arm(name).id;
        self.record.samples.iter().filter(move |sample| {
            sample.arm == id && sample.phase == Phase::Measure && sample.voided.is_none()
        })
    }

    /// Notes of a kind.
    fn notes(&self, kind: &str) -> Vec<&str> {
        notes(&self.record, kind)
    }
}

#[test]
fn programs_that_print_the_same_names_are_compared_in_fresh_processes_and_random_order() {
    let scratch = Scratch::new();
    let run = scratch.commands(&NAMES, &[]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert!(run.record.end.as_ref().is_some_and(|end| end.complete));
    let names: Vec<&str> = run.arms().iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["ls -U", "ls -U (itself)", "find", "megadir list"]);
    assert_eq!(run.arms()[0].role, Role::Baseline);
    let mut orders: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for name in names {
        let expected = run.work(name).expected.expect("tried before the run");
        assert_eq!((expected.lines, run.samples(name).count()), (200, 6), "{name}");
        for sample in run.samples(name) {
            assert_eq!((sample.operations, sample.counted.entries), (1, 200));
            assert_eq!(sample.counted.hash, expected.hash);
            assert!(sample.elapsed_ns > 100_000 && sample.user_ns + sample.system_ns > 0, "{sample:?}");
            assert!(sample.peak_bytes.is_some_and(|bytes| bytes > 500_000), "{sample:?}");
            orders.entry(sample.round).or_default().push(sample.arm.0);
        }
    }
    let judged = |sample: &&Sample| sample.phase == Phase::Measure && sample.voided.is_none();
    run.record.samples.iter().filter(judged).for_each(|sample| {
        let order = orders.get_mut(&sample.round).expect("a round");
        order[sample.place as usize] = sample.arm.0;
    });
    assert!(orders.values().collect::<BTreeSet<_>>().len() > 2, "{orders:?}");
    let version = |name: &str| run.work(name).version.clone().unwrap_or_default();
    assert!(
        version("ls -U").starts_with("ls (GNU coreutils)") && version("megadir list").starts_with("megadir ")
    );
    // On a busy machine, warnings take the lines of the screen.
    let is_disturbed = run.table.contains("Do not use these numbers");
    for part in ["memory", "user", "system", "programs: ls (GNU coreutils)", "verdict"] {
        assert!(run.table.contains(part) || is_disturbed, "{part}: {}", run.table);
    }
}

#[test]
fn a_missing_program_is_a_note_and_the_next_one_is_the_baseline() {
    let scratch = Scratch::new();
    let run = scratch.commands(&["no-such-program {dir}", "ls -U {dir}", "find {dir}"], &[]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_eq!(run.arm("ls -U").role, Role::Baseline);
    let note = "`no-such-program`: `no-such-program` is not on PATH.";
    assert_eq!(run.notes("arm-left-out"), [note]);
    assert!(run.table.replace('\n', " ").contains(note), "{}", run.table);
    let none = scratch.megadir(&["bench", "commands", "no-such-program {dir}", "--entries", "5"]);
    assert_eq!(none.status.code(), Some(3));
    let message = String::from_utf8_lossy(&none.stderr);
    assert!(message.contains("none of its programs is installed"), "{message}");
}

#[test]
fn other_output_is_refused_as_unequal_with_the_first_line_that_differs() {
    let scratch = Scratch::new();
    let less = scratch.script("less", "ls -U $1 | grep -v ^a");
    let more = scratch.script("more", "ls -U $1; echo 0-more");
    let run = scratch
        .commands(&["ls -U {dir}", &less, &more, "find {dir}"], &["-N", "ls", "-N", "less", "-N", "more"]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    let notes = run.notes("arm-left-out");
    let [less, more] = notes[..] else { panic!("{notes:?}") };
    assert!(less.starts_with("`less`: its work is unequal: only `ls` prints 'a"), "{less}");
    assert!(less.contains("lines, `ls` printed 200"), "{less}");
    let expected = "`more`: its work is unequal: only `more` prints '0-more' (201 lines, `ls` printed 200).";
    assert_eq!(more, expected);
    // The number alone, or nothing, may be asked for.
    std::fs::remove_file(scratch.path("run.jsonl")).expect("removed");
    let changed = scratch.script("changed", "ls -U $1 | sed s/^/x/");
    let run = scratch.commands(&["ls -U {dir}", &changed], &["--same", "count", "-N", "ls", "-N", "changed"]);
    assert_eq!((run.notes("arm-left-out").len(), run.samples("changed").count()), (0, 6), "{}", run.errors);
    std::fs::remove_file(scratch.path("run.jsonl")).expect("removed");
    let run = scratch.commands(&["ls -U {dir}", "true"], &["--same", "unequal"]);
    assert_eq!(run.samples("true").count(), 6);
    assert!(run.table.contains("unequal work, intended"), "{}", run.table);
}

#[test]
fn a_program_that_fails_in_a_round_ends_its_arm_and_no_other() {
    let scratch = Scratch::new();
    // One trial, and at least three rounds of warm-up.
    let fails = scratch
        .script("fails", "[ $run -gt 30 ] && echo first >&2 && echo 'it broke' >&2 && exit 3\nls -U $1");
    let run = scratch.commands(&["ls -U {dir}", &fails], &["--rounds", "40", "-N", "ls", "-N", "fails"]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_eq!(run.samples("ls").count(), 40);
    let last = run.record.samples.iter().rfind(|sample| sample.arm == run.arm("fails").id).expect("a sample");
    let refused = last.refused.as_ref().expect("the arm was stopped");
    assert_eq!(refused.cause, "it exited with code 3: it broke");
    let after = run.record.samples.iter().filter(|sample| sample.refused.is_some()).count();
    assert_eq!(after, 1);
    let table = run.table.replace('\n', " ");
    assert!(
        table.contains("`fails` failed in ") && table.contains("exited with code 3: it broke"),
        "{}",
        run.table
    );
    // From the start on: it is left out with the reason, and exit codes may be asked for.
    std::fs::remove_file(scratch.path("run.jsonl")).expect("removed");
    let run = scratch.commands(&["ls -U {dir}", "ls {dir}/none", "find {dir}"], &[]);
    let notes = run.notes("arm-left-out");
    assert!(
        notes[0].starts_with("`ls {dir}/none`: it exited with code 2: ls: cannot access '{dir}/none'"),
        "{notes:?}"
    );
    std::fs::remove_file(scratch.path("run.jsonl")).expect("removed");
    let run =
        scratch.commands(&["sh -c 'exit 4'", "sh -c 'exit 5'"], &["--same", "exit-code", "--exit-code", "4"]);
    assert_eq!(run.notes("arm-left-out"), ["`sh -c 'exit 5'`: it exited with code 5."]);
    assert_eq!(run.samples("sh -c 'exit 4'").count(), 6);
}

#[test]
fn a_run_that_measured_nothing_prints_the_reason_first_and_no_report() {
    let scratch = Scratch::new();
    // The trial succeeds.
    let [first, second] =
        ["one", "two"].map(|name| scratch.script(name, "[ $run -gt 1 ] && exit 3\nls -U $1"));
    let run = scratch.commands(&[&first, &second], &["-N", "one", "-N", "two"]);
    assert_eq!((run.code, run.table.as_str()), (Some(3), ""), "{}", run.errors);
    // Notes are printed as they come.
    let mut ended = run.errors.lines().skip_while(|line| !line.contains("nothing was measured"));
    let reason = ended.next().expect("a reason");
    assert!(
        reason.starts_with("megadir: 'run.jsonl': nothing was measured: `")
            && reason.ends_with("` failed: it exited with code 3; 2 other arms failed too"),
        "{reason}"
    );
    assert_eq!(ended.collect::<Vec<_>>(), ["megadir: the record is 'run.jsonl'"], "{}", run.errors);
    assert!(!scratch.path("run.html").exists(), "there is nothing to show");
    let again = scratch.megadir(&["bench", "report", "run.jsonl"]);
    assert_eq!((again.status.code(), again.stdout.len()), (Some(3), 0), "{again:?}");
}

#[test]
fn a_program_that_does_not_end_is_stopped_at_the_time_limit_with_all_that_it_started() {
    let scratch = Scratch::new();
    let hangs = scratch.script("hangs", "sleep 4321 &\nsleep 4321");
    let run = scratch.commands(&["ls -U {dir}", &hangs], &["--timeout", "1s", "-N", "ls", "-N", "hangs"]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_eq!(run.notes("arm-left-out"), ["`hangs`: it ran longer than the time limit of 1 s."]);
    std::fs::remove_file(scratch.path("run.jsonl")).expect("removed");
    // What a program leaves behind does not hold up its end, and does not live on.
    let leaves = scratch.script("leaves", "sleep 4321 &\nls -U $1");
    let run = scratch.commands(&["ls -U {dir}", &leaves], &["-N", "ls", "-N", "leaves"]);
    assert_eq!(run.samples("leaves").count(), 6, "{}", run.errors);
    let living = Command::new("pgrep").args(["-f", "sleep 4321"]).output().expect("pgrep starts");
    assert_eq!(String::from_utf8_lossy(&living.stdout), "");
}

#[test]
fn a_command_without_the_directory_is_a_warning() {
    let scratch = Scratch::new();
    let run = scratch.commands(&["ls -U {dir}", "echo {n}"], &["--same", "unequal"]);
    let note = "`echo {n}` does not contain {dir}, so it is not given the data set.";
    assert_eq!(run.notes("without-directory"), [note]);
    assert!(run.table.replace('\n', " ").contains(note), "{}", run.table);
}

#[test]
fn a_program_that_changes_the_data_set_is_found_and_the_data_is_made_again() {
    let scratch = Scratch::new();
    let touches = scratch.script("touches", "touch $1/new; ls -U $1 | grep -v new");
    let run = scratch.commands(&["ls -U {dir}", &touches], &["-N", "ls", "-N", "touches"]);
    let notes = run.notes("arm-left-out");
    assert!(
        notes[0].starts_with(
            "`touches`: it changes the data set (it had 200 files and directories and now has 201)"
        ),
        "{notes:?}"
    );
    assert!(notes[0].contains("--changes"), "{notes:?}");
    let answer = run.table.replace('\n', " ");
    assert!(answer.contains("Nothing could be compared. `touches`: it changes the data set"), "{answer}");
    std::fs::remove_file(scratch.path("run.jsonl")).expect("removed");
    // Later than in the trial and the warm-up.
    let later = scratch.script("later", "ls -U $1; [ $run = 32 ] && rm $1/a* ; true");
    let run = scratch.commands(&["ls -U {dir}", &later], &["-N", "ls", "-N", "later", "--rounds", "40"]);
    let notes = run.notes("data-changed");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        ["`later`", "changed the data set in round", "it was recreated"]
            .iter()
            .all(|part| notes[0].contains(part)),
        "{notes:?}"
    );
    let changed = run.samples("ls").filter(|sample| sample.counted.entries != 200).count();
    assert!(changed <= 1 && run.samples("ls").count() == 40, "{changed}");
    assert!(run.table.contains("WARNING"), "{}", run.table);
}

#[test]
fn programs_that_remove_get_all_files_again_before_each_run() {
    let scratch = Scratch::new();
    // Prints what it finds, so that the record shows it.
    let counts = scratch.script("counts", "find $1 -type f; rm -rf $1");
    let spares = scratch.script("spares", "rm -f $1/a*");
    let commands = ["rm -rf {dir}", "find {dir} -mindepth 1 -delete", &counts, &spares];
    let names = ["-N", "rm", "-N", "find", "-N", "counts", "-N", "spares"];
    let run = scratch.commands(&commands, &[&names[..], &["--changes"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.errors);
    let notes = run.notes("arm-left-out");
    assert!(
        notes.len() == 1
            && notes[0].starts_with("`spares`: its work is unequal: it does not leave the expected files "),
        "{notes:?}"
    );
    for name in ["rm", "find", "counts"] {
        assert_eq!(run.samples(name).map(|sample| sample.counted.entries).max(), Some(0), "{name}");
    }
    let printed: BTreeSet<u64> = run.samples("counts").map(|sample| sample.counted.written_bytes).collect();
    assert!(printed.len() == 1 && *printed.first().expect("one") > 200 * 32, "{printed:?}");
    // In the user's own directory nothing is removed.
    let own = scratch.path("own");
    std::fs::create_dir(&own).expect("made");
    (0..1200).for_each(|number| std::fs::write(own.join(number.to_string()), "").expect("written"));
    let arguments = ["bench", "commands", "rm -rf {dir}", "--changes", "--dir", "own"];
    let refused = scratch.megadir(&arguments);
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the directory is yours"));
    assert_eq!(std::fs::read_dir(&own).expect("there").count(), 1200);
}

#[test]
fn programs_that_remove_find_all_files_uncached() {
    require!(Mount::make(&EXT4).map(drop));
    let scratch = Scratch::new();
    // Each program removes the directory itself, so the other group's is missing when the file system is mounted again.
    let study = include_str!("../golden/commands-study.toml");
    let study = study
        .replace("run = \"ls -U {dir}\"", "run = \"rm -r {dir}\"")
        .replace("run = \"find {dir}\"", "run = \"find {dir} -delete\"")
        .replace("run = \"{megadir} list -r {dir}\"", "run = \"{megadir} remove -y {dir}\"")
        .replace("arms = ", "changes = true\nprepare = \"cp -r {dir} {out}\"\narms = ");
    std::fs::write(scratch.path("study.toml"), study).expect("written");
    let fixed = ["bench", "run", "study.toml", "--quick", "--seed", "7", "--output", "run.jsonl"];
    let run = scratch.run(&[&fixed[..], &["--fs", "ext4", "--cache", "warm,fs-cold"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert!(run.notes("arm-left-out").is_empty() && run.notes("cold-without-reads").is_empty());
    for cold in [false, true] {
        let arms = run.arms().iter().filter(|arm| arm.cache.is_cold() == cold);
        let arms: Vec<&Arm> = arms.collect();
        // Two programs in each group, and the first against itself.
        assert_eq!(arms.len(), 6, "{arms:?}");
        for arm in arms {
            let samples: Vec<&Sample> = run.samples(&arm.name).collect();
            assert_eq!(samples.len(), 11, "{}", arm.name);
            assert!(samples.iter().all(|sample| sample.refused.is_none() && sample.counted.entries == 0));
            let reads = samples.iter().filter(|sample| sample.read_bytes > Some(0)).count();
            assert!(!cold || reads == 11, "{}: {reads}", arm.name);
        }
    }
}

#[test]
fn a_preparation_may_put_another_directory_in_place() {
    require!(Mount::make(&EXT4).map(drop));
    let scratch = Scratch::new();
    let prepare = "sh -c 'rm -r {dir} && mkdir {dir} && touch {dir}/a {dir}/b'";
    let options =
        ["--changes", "--prepare", prepare, "--fs", "ext4", "--cache", "warm,fs-cold", "--rounds", "11"];
    let names = ["-N", "keeps", "-N", "lists"];
    let run = scratch.commands(&["true {dir}", "ls {dir}"], &[&options[..], &names].concat());
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert!(run.notes("arm-left-out").is_empty(), "{:?}", run.notes("arm-left-out"));
    for arm in run.arms() {
        assert!(run.samples(&arm.name).all(|sample| sample.counted.entries == 2), "{}", arm.name);
    }
}

#[test]
fn options_set_output_preparation_shell_and_tree() {
    let scratch = Scratch::new();
    let prepared = scratch.path("prepared");
    let prepare = format!("touch {}", prepared.display());
    let takes = scratch
        .script("takes", &format!("rm {} && ls -RU $1 | grep -c . >/dev/null; ls -U $1", prepared.display()));
    let options =
        ["--prepare", &prepare, "--to", "file", "--layout", "per-directory:50", "-N", "ls", "-N", "takes"];
    let run = scratch.commands(&["ls -U {dir}", &takes], &options);
    assert_eq!((run.notes("arm-left-out"), run.samples("takes").count()), (Vec::new(), 6), "{}", run.errors);
    assert!(
        run.table.contains("output to a file") && run.samples("ls").all(|sample| sample.counted.entries == 4)
    );
    std::fs::remove_file(scratch.path("run.jsonl")).expect("removed");
    let copies = ["cp -r {dir} {out}", "sh -c 'mkdir {out} && ls -U {dir}/ > {out}/x && test -s {out}/x'"];
    let run = scratch.commands(&copies, &["--to", "null"]);
    assert_eq!(
        (run.notes("arm-left-out"), run.samples("cp -r {out}").count()),
        (Vec::new(), 6),
        "{}",
        run.errors
    );
    std::fs::remove_file(scratch.path("run.jsonl")).expect("removed");
    let run = scratch.commands(&["ls -U {dir} | wc -l", "echo {n} | cat"], &["--shell"]);
    assert_eq!(run.notes("arm-left-out"), Vec::<&str>::new(), "{}", run.errors);
    assert!(run.notes("shell-start")[0].contains("its start alone takes"), "{:?}", run.notes("shell-start"));
    assert!(run.table.contains("run by a shell"));
    let refused = scratch.megadir(&["bench", "commands", "ls -U {dir} | wc -l"]);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("unquoted '|'") && message.contains("--shell"), "{message}");
}

#[test]
fn parameters_make_one_arm_for_each_combination_and_variables_reach_the_commands() {
    let scratch = Scratch::new();
    let commands =
        ["sh -c 'test \"$GREETING\" = hello=1 && sleep 0.0{ms}; echo {word}'", "echo {word}", "echo a"];
    let options = ["--same", "unequal", "--env", "GREETING=hello=1", "--entries", "1", "--rounds", "2"];
    let parameters = ["--parameter", "ms=01,02", "--parameter", "word=a,b", "-N", "first"];
    let run = scratch.commands(&commands, &[&options[..], &parameters].concat());
    assert_eq!(run.code, Some(0), "{}", run.errors);
    for name in ["first, ms=01, word=a", "first, ms=02, word=b", "echo a", "echo b"] {
        assert!(run.samples(name).count() >= 2, "{name}: {}", run.table);
    }
    let arms = run.record.header.plan.arms.iter().filter(|arm| arm.role != Role::Control);
    let environments = arms.filter_map(|arm| match &arm.work {
        Work::Command(work) => Some(work.environment.get("GREETING").cloned()),
        _ => None,
    });
    let environments: Vec<_> = environments.collect();
    assert_eq!(environments.len(), 7, "{environments:?}");
    assert!(environments.iter().all(|value| value.as_deref() == Some("hello=1")), "{environments:?}");
}

#[test]
fn peak_memory_is_the_programs_own() {
    let scratch = Scratch::new();
    let large = "dd if=/dev/zero of=/dev/null bs=64M count=1";
    let run = scratch.commands(&["true", large], &["--same", "exit-code", "-N", "true", "-N", "dd"]);
    let most = |name: &str| run.samples(name).filter_map(|sample| sample.peak_bytes).max().expect("samples");
    let least = |name: &str| run.samples(name).filter_map(|sample| sample.peak_bytes).min().expect("samples");
    assert!(least("dd") > 64 << 20 && most("dd") < 72 << 20, "{}", most("dd"));
    // This program alone takes four times as much.
    assert!(most("true") < 8 << 20, "{}", most("true"));
}

#[test]
fn killed_run_resumes_in_its_record() {
    let scratch = Scratch::new();
    let run = scratch.commands(&NAMES, &["--rounds", "9"]);
    let samples = run.record.samples;
    let text = std::fs::read_to_string(scratch.path("run.jsonl")).expect("a record");
    // Up to the middle of the sixth round.
    let is_measured = |line: &&str| line.contains("\"phase\":\"measure\"");
    let lines: Vec<&str> = text.lines().collect();
    let cut = lines.iter().enumerate().filter(|(_, line)| is_measured(line)).nth(21).expect("a line").0;
    std::fs::write(scratch.path("run.jsonl"), lines[..=cut].join("\n") + "\n").expect("written");
    let resumed = scratch.run(&["bench", "run", "--resume", "run.jsonl"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.errors);
    assert_eq!(measured_blocks(&resumed.record).len(), 36);
    // Repeated rounds may differ in number, so only the kept ones are equal.
    let kept = lines[..=cut].iter().filter(|line| line.contains("\"phase\":\"")).count();
    assert_eq!(resumed.record.samples[..kept], samples[..kept]);
    assert!(resumed.record.end.is_some_and(|end| end.complete));
    // Other records are compared with it, and it is written in other formats.
    let compared = scratch.megadir(&["bench", "compare", "run.jsonl", "run.jsonl"]);
    let text = String::from_utf8_lossy(&compared.stdout);
    assert!(compared.status.success() && text.contains("megadir list"), "{text}");
}

#[test]
fn studies_of_commands_take_every_axis_that_others_take() {
    require!(have("mkfs.xfs"));
    require!(Mount::make(&EXT4).map(drop));
    let scratch = Scratch::new();
    let study = include_str!("../golden/commands-study.toml");
    std::fs::write(scratch.path("study.toml"), study).expect("written");
    let fixed = ["bench", "run", "study.toml", "--quick", "--seed", "7", "--output", "run.jsonl"];
    let axes = ["--fs", "ext4,xfs", "--cache", "warm,fs-cold", "--aged", "2x"];
    let run = scratch.run(&[&fixed[..], &axes].concat());
    assert_eq!(run.code, Some(0), "{}", run.errors);
    let plan = &run.record.header.plan;
    assert_eq!(plan.file_systems.len(), 2);
    for cache in [CacheState::Warm, CacheState::FsCold] {
        for on in &plan.file_systems {
            for aged in [true, false] {
                let is = |arm: &&Arm| {
                    let data = &plan.data[arm.data.0 as usize];
                    let of = data.source.made().is_some_and(|made| (made.aged_files > 0) == aged);
                    arm.cache == cache && data.on == Some(on.id) && of
                };
                let names: Vec<&str> = plan.arms.iter().filter(is).map(|arm| arm.name.as_str()).collect();
                assert!(
                    names.iter().any(|name| name.starts_with("find")),
                    "{cache:?} {} {aged} {names:?}",
                    on.name
                );
            }
        }
    }
    let cold = plan.arms.iter().filter(|arm| arm.cache == CacheState::FsCold).map(|arm| arm.id);
    let cold: BTreeSet<_> = cold.collect();
    let read = run.record.samples.iter().filter(|sample| cold.contains(&sample.arm));
    assert!(read.clone().count() > 0 && read.clone().all(|sample| sample.read_bytes > Some(0)));
    assert!(plan.groups.iter().any(|group| group.name == "file-system"));
}

#[test]
fn mistakes_in_a_study_of_commands_are_named() {
    let scratch = Scratch::new();
    let study = include_str!("../golden/commands-study.toml");
    for (from, to, expected) in [
        ("run = \"find {dir}\"", "run = \"find {dir} | wc\"", "unquoted '|'"),
        ("run = \"find {dir}\"", "run = \"find 'x\"", "quote that is not closed"),
        ("run = \"find {dir}\"", "runs = \"find {dir}\"", "run"),
        ("name = \"names\"", "name = \"names\"\nsame = \"line\"", "lines"),
        ("name = \"names\"", "name = \"names\"\ntimeout_s = 0", "timeout_s = 0"),
        ("name = \"names\"", "name = \"names\"\nspread = \"prefx:2\"", "prefx"),
        ("name = \"tree\"", "name = \"names\"", "`names` appears twice"),
        ("[command]", "[remove]\ndirectories = [1]\nworkers = [1]\n[command]", "[remove] and [command]"),
    ] {
        let text = study.replacen(from, to, 1);
        assert_ne!(text, study, "{from}");
        std::fs::write(scratch.path("study.toml"), text).expect("written");
        let output = scratch.megadir(&["bench", "run", "study.toml", "--dry-run"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2) && errors.contains("study.toml:") && errors.contains(expected),
            "{expected}: {errors}"
        );
    }
    for (arguments, expected) in [
        (&["ls {dir}", "-N", "a", "-N", "b"][..], "-N was given 2 times for 1 commands"),
        (&["ls {dir}", "--timeout", "0s"], "no command could finish in time"),
        (&["ls {dir}", "--same", "lins"], "lines"),
        (&["ls {dir}", "--parameter", "depth=1,2"], "no command has {depth}"),
        (&["ls {dir}", "--parameter", "dir=a,b"], "{dir} has a meaning already"),
        (&["ls -{x} {dir}", "--parameter", "x=a,a"], "each value must be there"),
        (&["ls -{x} {dir}", "--parameter", "x"], "NAME=VALUE"),
        (&["ls -{x} {dir}", "--parameter", "x=a", "--parameter", "x=b"], "given twice"),
        (&["ls {dir}", "--env", "LC_ALL"], "LC_ALL=C"),
        (&["ls {dir}", "--env", "A=1", "--env", "A=2"], "--env A was given twice"),
        (&[" "], "the command is empty"),
        (&["ls {dir}", "--export", "parquets"], "markdown"),
    ] {
        let output = scratch.megadir(&[&["bench", "commands"], arguments].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(expected), "{expected}: {errors}");
    }
}

#[test]
fn exported_reports_are_next_to_the_record_and_a_shared_record_names_no_path() {
    let scratch = Scratch::new();
    let own = scratch.script("own", "ls -U $1");
    let run = scratch.commands(&["ls -U {dir}", &own], &["--export", "json,csv", "--share"]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    let text = std::fs::read_to_string(scratch.path("run.jsonl")).expect("a record");
    let place = scratch.0.path().to_string_lossy().into_owned();
    assert!(!text.contains(&place) && text.contains("... {dir}"), "{text}");
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(scratch.path("run.json")).expect("exported")).expect("JSON");
    assert!(report["arms"][0]["timing"]["peak_bytes"].as_u64() > Some(500_000), "{report}");
    let csv = std::fs::read_to_string(scratch.path("run.csv")).expect("exported");
    assert!(csv.lines().next().is_some_and(|line| line.contains("peak_bytes")), "{csv}");
}

#[test]
fn a_gate_over_commands_fails_for_a_slower_one_and_for_one_that_is_missing() {
    let gate = |commands: &[&str]| {
        let more = ["--same", "exit-code", "--rounds", "8", "--fail-if", "slower:50%", "--despite-warnings"];
        Scratch::new().commands(commands, &more)
    };
    let slower = gate(&["sleep 0.01", "sleep 0.1"]);
    assert_eq!(slower.code, Some(10), "{}", slower.errors);
    assert!(slower.errors.contains("slower than before: sleep 0.1"), "{}", slower.errors);
    let faster = gate(&["sleep 0.1", "sleep 0.01"]);
    assert_eq!(faster.code, Some(0), "{}", faster.errors);
    assert!(faster.errors.contains("The gate passed: every arm was judged"), "{}", faster.errors);
    let missing = gate(&["sleep 0.01", "no-such-program"]);
    assert_eq!(missing.code, Some(11), "{}", missing.errors);
    assert!(missing.errors.contains("`no-such-program` is not on PATH"), "{}", missing.errors);
}
