//! `--engine mpi`: studies over the ranks of each installed MPI, and refusals. Hosts are names in UTS namespaces of one machine.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod aborted;
mod changes;
mod hosts;
mod jobs;
mod kinds;
mod network;
mod pypi;
mod slurm;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use megadir_record::{FileOperation, Record, Sample, Sharing, Work, WorkerKind, Workers, jsonl};
use megadir_testkit::{PATIENCE, require};

use crate::support::{Ran, finish, have, megadir, program, root, scratch};

/// A launcher, and its words for two processes of different commands.
struct Mpi {
    words: &'static [&'static str],
    library: &'static str,
}

const OPEN_MPI: Mpi = Mpi {
    words: &[
        "mpirun.openmpi",
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
        "--mca",
        "btl",
        "self,vader",
    ],
    library: "Open MPI",
};
const MPICH: Mpi = Mpi { words: &["mpirun.mpich"], library: "MPICH" };

/// Makes ranks 2 and 3 of four a second host, and `$RANK` known.
const TWO_HOSTS: &str = r#"RANK=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
case $RANK in 2|3) exec unshare --uts sh -c 'hostname second-host && exec "$@"' - "$@";; *) exec "$@";; esac"#;

/// Processes that find themselves alone in Open MPI make its directory in `TMPDIR` at the same moment, and may fail.
fn with_library(library: &str) -> String {
    format!("mkdir tmp.$$; TMPDIR=$PWD/tmp.$$ MEGADIR_MPI={library} exec \"$@\"")
}

const STUDY: &str =
    "bench run smallfile --engine mpi --dir shared --quick --entries 30 --sync never --access name";

impl Mpi {
    /// Runs `script` in four processes, with the program and `words` as its arguments.
    fn command(&self, at: &Path, script: &str, words: &str) -> Command {
        self.command_of("4", at, script, words)
    }

    fn command_of(&self, ranks: &str, at: &Path, script: &str, words: &str) -> Command {
        let mut command = Command::new(self.words[0]);
        command.args(&self.words[1..]).args(["-np", ranks, "sh", "-c", script, "-"]).arg(program());
        command.args(words.split(' ')).current_dir(at).stdin(Stdio::null()).env("COLUMNS", "100");
        command
    }

    fn run(&self, at: &Path, script: &str, words: &str) -> Ran {
        finish(&mut self.command(at, script, words))
    }
}

/// The program's lines; the launcher adds its own.
fn lines(ran: &Ran) -> Vec<&str> {
    ran.err.lines().filter(|line| line.starts_with("megadir:")).collect()
}

#[track_caller]
fn refuses(ran: &Ran, code: i32, words: &[&str]) {
    let lines = lines(ran);
    assert!(ran.code == Some(code) && lines.len() == 1, "{ran:?}");
    for word in words {
        assert!(lines[0].contains(word), "nothing about {word:?} in {lines:?}");
    }
}

fn record(at: &Path) -> Record {
    jsonl::read(BufReader::new(fs::File::open(at).unwrap())).unwrap()
}

/// Samples by their arm's operation and number of ranks.
fn by_work(record: &Record) -> BTreeMap<(String, u32), Vec<&Sample>> {
    let mut all: BTreeMap<(String, u32), Vec<&Sample>> = BTreeMap::new();
    for sample in &record.samples {
        let Work::Files(work) = &record.header.plan.arms[sample.arm.0 as usize].work else {
            panic!("{sample:?}")
        };
        assert_eq!(work.workers.kind, WorkerKind::Rank);
        all.entry((work.operation.word().to_owned(), work.workers.count)).or_default().push(sample);
    }
    all
}

fn shares_the_work(mpi: &Mpi) {
    let scratch = scratch();
    let (at, shared) = (scratch.path(), scratch.path().join("shared"));
    fs::create_dir(&shared).unwrap();
    let ran = mpi.run(at, TWO_HOSTS, &format!("{STUDY} --rounds 2 -q --share -o r.jsonl"));
    assert!(ran.code == Some(0) && lines(&ran).is_empty() && ran.out.is_empty(), "{ran:?}");
    let record = record(&at.join("r.jsonl"));
    let ranks = record.header.ranks.as_ref().unwrap();
    assert_eq!(ranks.hosts, ["host 1", "host 1", "host 2", "host 2"]);
    assert!(ranks.shift == 2 && ranks.barrier_ns > 0 && ranks.coordination_ns > 0, "{ranks:?}");
    assert!(ranks.library.contains(mpi.library), "{ranks:?}");
    let mount = &ranks.mounts[0];
    assert!(ranks.mounts.len() == 4 && ranks.mounts.iter().all(|other| other == mount), "{ranks:?}");
    assert!(mount.options.as_ref().is_some_and(|options| options.starts_with("rw")), "{mount:?}");
    let text = fs::read_to_string(at.join("r.jsonl")).unwrap();
    assert!(!text.contains("second-host") && text.contains(r#""kind":"ranks""#));
    let samples = by_work(&record);
    for ((operation, count), samples) in &samples {
        for sample in samples {
            let times = sample.ranks.as_ref().unwrap();
            assert!(times.first_done_ns <= times.last_done_ns && times.last_rank < 4, "{sample:?}");
            assert_eq!(
                (sample.elapsed_ns, sample.counted.entries),
                (times.last_done_ns, u64::from(*count) * 30)
            );
            let of_hosts: u64 = times.hosts.iter().map(|host| host.entries).sum();
            let last = times.hosts.iter().map(|host| host.done_ns).max();
            assert_eq!((of_hosts, last), (sample.counted.entries, Some(times.last_done_ns)), "{times:?}");
            assert_eq!(times.hosts.len(), usize::try_from(*count).unwrap().min(2), "{times:?}");
            // What one host creates, another uses.
            let creates = operation == FileOperation::Create.word();
            assert!(*count > 1 || times.last_rank == if creates { 0 } else { 2 }, "{operation}: {times:?}");
        }
    }
    assert!(samples.len() == 10 && samples.values().all(|samples| samples.len() >= 2), "{}", samples.len());
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 0);
    let report = finish(&mut megadir(at, &["bench", "report", "r.jsonl", "--verbose"]));
    let text = String::from_utf8(report.out).unwrap();
    let (_, hosts) = text.split_once("How fast was each host?").expect("a table of hosts");
    let rows = hosts.lines().skip(1).take_while(|line| !line.is_empty());
    let rows: Vec<&str> = rows.filter(|line| line.contains("stat, 4 ranks")).collect();
    assert!(rows.len() == 2 && rows[0].contains("host 1") && rows[1].contains("host 2"), "{hosts}");
}

#[test]
fn ranks_of_open_mpi_share_the_work() {
    require!(have("mpirun.openmpi").and_then(|()| root()));
    shares_the_work(&OPEN_MPI);
}

#[test]
fn ranks_of_mpich_share_the_work() {
    require!(have("mpirun.mpich").and_then(|()| root()));
    shares_the_work(&MPICH);
}

#[test]
fn more_workers_than_ranks_are_threads_of_these() {
    require!(have("mpirun.mpich").and_then(|()| root()));
    let scratch = scratch();
    let (at, shared) = (scratch.path(), scratch.path().join("shared"));
    fs::create_dir(&shared).unwrap();
    let ran = MPICH.run(at, TWO_HOSTS, &format!("{STUDY} --workers 2,4,8 --rounds 2 -q -o r.jsonl"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let record = record(&at.join("r.jsonl"));
    assert!(megadir_record::contradictions(&record).is_empty());
    let samples = by_work(&record);
    let counts: BTreeSet<u32> = samples.keys().map(|(_, count)| *count).collect();
    assert_eq!(counts, [2, 4, 8].into());
    for ((_, count), samples) in &samples {
        assert!(samples.iter().all(|sample| sample.counted.entries == u64::from(*count) * 30), "{count}");
    }
    let names: Vec<&str> = record.header.plan.arms.iter().map(|arm| arm.name.as_str()).collect();
    let has = |words: &str| names.iter().any(|name| name.contains(words));
    assert!(has("2 ranks") && has("4 ranks") && has("8 workers") && !has("8 ranks"), "{names:?}");
    refuses(&MPICH.run(at, TWO_HOSTS, &format!("{STUDY} --workers 6")), 2, &["--workers 6", "a multiple"]);
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 0);
}

/// Studies, with their operations as the record names them.
const PATTERNS: [(&str, Sharing, &[&str]); 2] = [
    ("mdtest-easy", Sharing::Own, &["stat", "unlink", "write"]),
    ("mdtest-hard", Sharing::Same, &["read", "stat", "unlink", "write"]),
];

fn runs_the_patterns_of_mdtest(run: impl Fn(&Path, &str) -> Ran, (kind, most): (WorkerKind, u32)) {
    let scratch = scratch();
    let (at, shared) = (scratch.path(), scratch.path().join("shared"));
    fs::create_dir(&shared).unwrap();
    for (study, sharing, operations) in PATTERNS {
        let path = format!("{study}.jsonl");
        let words = format!("bench run {study} --dir shared --quick --entries 30 --rounds 2 -q -o {path}");
        let ran = run(at, &words);
        assert!(ran.code == Some(0) && ran.out.is_empty(), "{ran:?}");
        let record = record(&at.join(path));
        assert!(record.end.as_ref().unwrap().complete && megadir_record::contradictions(&record).is_empty());
        let mut done = BTreeMap::new();
        for sample in &record.samples {
            let Work::Files(work) = &record.header.plan.arms[sample.arm.0 as usize].work else {
                panic!("{sample:?}")
            };
            let Workers { count, .. } = work.workers;
            assert_eq!((work.workers.kind, work.workers.sharing), (kind, sharing));
            assert_eq!(sample.counted.entries, u64::from(count) * 30, "{study}: {sample:?}");
            done.entry(count).or_insert_with(BTreeSet::new).insert(work.operation.word());
        }
        let expected: BTreeSet<&str> = operations.iter().copied().collect();
        assert_eq!(done, BTreeMap::from([(1, expected.clone()), (most, expected)]), "{study}");
        assert_eq!(fs::read_dir(&shared).unwrap().count(), 0);
    }
}

#[test]
fn ranks_of_open_mpi_run_the_patterns_of_mdtest() {
    require!(have("mpirun.openmpi"));
    let run = |at: &Path, words: &str| OPEN_MPI.run(at, jobs::PLAIN, &format!("{words} --engine mpi"));
    runs_the_patterns_of_mdtest(run, (WorkerKind::Rank, 4));
}

#[test]
fn ranks_of_mpich_run_the_patterns_of_mdtest() {
    require!(have("mpirun.mpich"));
    let run = |at: &Path, words: &str| MPICH.run(at, jobs::PLAIN, &format!("{words} --engine mpi"));
    runs_the_patterns_of_mdtest(run, (WorkerKind::Rank, 4));
}

#[test]
fn processes_run_the_patterns_of_mdtest() {
    let run = |at: &Path, words: &str| finish(&mut megadir(at, &words.split(' ').collect::<Vec<_>>()));
    runs_the_patterns_of_mdtest(run, (WorkerKind::Process, 2));
}

#[test]
fn a_slow_rank_and_its_host_are_named() {
    require!(have("mpirun.mpich").and_then(|()| have("strace")).and_then(|()| root()));
    let scratch = scratch();
    fs::create_dir(scratch.path().join("shared")).unwrap();
    let slow = r#"[ $PMI_RANK != 3 ] || exec unshare --uts sh -c 'hostname slow-host && exec "$@"' - \
        strace -f -qq -o /dev/null -e trace=openat,unlinkat -e inject=openat,unlinkat:delay_enter=3000 "$@"
        exec "$@""#;
    let ran = MPICH.run(scratch.path(), slow, &format!("{STUDY} --rounds 2 -q -o r.jsonl"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let record = record(&scratch.path().join("r.jsonl"));
    let note = record.notes.iter().find(|note| note.kind == "ranks").unwrap();
    assert!(note.text.contains("on 2 hosts") && note.text.contains("rank 3 on 'slow-host' was"), "{note:?}");
}

#[test]
fn a_run_continues_after_a_rank_was_killed() {
    require!(have("mpirun.mpich"));
    let scratch = scratch();
    let (at, shared) = (scratch.path(), scratch.path().join("shared"));
    fs::create_dir(&shared).unwrap();
    let words = format!("{STUDY} --rounds 12 -q -o r.jsonl");
    let script = r#"echo $$ > pid.$PMI_RANK; exec "$@""#;
    let mut run = MPICH.command(at, script, &words).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let blocks = || fs::read_to_string(at.join("r.jsonl")).unwrap_or_default().matches(r#""cell":"#).count();
    while blocks() < 15 {
        assert!(begun.elapsed() < PATIENCE && run.try_wait().unwrap().is_none(), "{} blocks", blocks());
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(signal(at, 2, "-9"));
    assert!(!run.wait().unwrap().success());
    let again = "bench run --resume r.jsonl --dir shared";
    let alone = finish(&mut megadir(at, &again.split(' ').collect::<Vec<_>>()));
    assert!(
        alone.code == Some(3) && alone.err.contains("the ranks were 4 on 1 host, and are now none"),
        "{alone:?}"
    );
    let ran = MPICH.run(at, script, &format!("{again} --engine mpi -q"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let record = record(&at.join("r.jsonl"));
    assert!(record.end.as_ref().unwrap().complete && megadir_record::contradictions(&record).is_empty());
    assert!(by_work(&record).values().all(|samples| samples.len() >= 12));
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 0, "the killed run's directory is removed");
}

#[test]
fn ranks_that_differ_are_refused_before_anything_is_written() {
    require!(have("mpirun.mpich").and_then(|()| root()));
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("shared")).unwrap();
    let words = format!("{STUDY} -o r.jsonl");
    let of_rank_1 = |other: &str| format!(r#"[ $PMI_RANK != 1 ] || {other}; exec "$@""#);
    let elsewhere = "exec unshare -m sh -c 'mount -t tmpfs none shared && exec \"$@\"' - \"$@\"";
    let another = "{ cp \"$1\" other && echo >> other && shift && exec ./other \"$@\"; }";
    for (script, words_of_reason) in [
        (of_rank_1("exec \"$@\" --seed 1"), ["rank 1 on", "arguments"]),
        (of_rank_1(another), ["rank 1 on", "program"]),
        (of_rank_1(elsewhere), ["rank 1 on", "does not see in 'shared'"]),
    ] {
        refuses(&MPICH.run(at, &script, &words), 3, &words_of_reason);
    }
    for (words, code, reason) in [
        ("bench run smallfile --engine mpi --dir absent", 3, "'absent'"),
        ("bench run limits --engine mpi --dir shared", 2, "study `limits` fills one directory"),
        ("bench run smallfile --engine mpi --dir shared --cache data-cold", 2, "--cache data-cold"),
        ("bench run smallfile --engine ray --dir shared", 2, "--engine"),
        ("remove --yes shared", 2, "4 copies"),
    ] {
        refuses(&MPICH.run(at, "exec \"$@\"", words), code, &[reason]);
    }
    assert_eq!(fs::read_dir(at.join("shared")).unwrap().count(), 0);
    assert!(!at.join("r.jsonl").exists());
}

#[test]
fn the_library_of_another_launcher_is_refused() {
    require!(have("mpirun.mpich").and_then(|()| have("mpirun.openmpi")));
    let scratch = scratch();
    fs::create_dir(scratch.path().join("shared")).unwrap();
    for (mpi, library) in [(&OPEN_MPI, "libmpich.so.12"), (&MPICH, "libmpi.so.40")] {
        let script = with_library(library);
        refuses(
            &mpi.run(scratch.path(), &script, STUDY),
            3,
            &["started 4 processes", library, "sees 1", "MEGADIR_MPI"],
        );
    }
    let ran = MPICH.run(scratch.path(), "MEGADIR_MPI=libc.so.6 exec \"$@\"", STUDY);
    refuses(&ran, 3, &["'libc.so.6' of MEGADIR_MPI", "MPI_Init_thread"]);
    assert_eq!(fs::read_dir(scratch.path().join("shared")).unwrap().count(), 0);
}

/// Without an MPI: the variables of launchers suffice.
#[test]
fn copies_of_commands_that_write_are_refused() {
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("tree")).unwrap();
    fs::write(at.join("tree/file"), "").unwrap();
    let launched = |words: &str, variables: [(&str, &str); 2]| {
        finish(megadir(at, &words.split(' ').collect::<Vec<_>>()).envs(variables))
    };
    let first = [("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_RANK", "0")];
    for words in [
        "remove --yes tree",
        "reshard --yes --to digest:1 tree",
        "make new --entries 5",
        "bench run listing --quick --entries 50",
        "bench commands true",
        "bench clean .",
        "bench report none.jsonl --output page.html",
        "scan tree --output new.parquet",
        "scan tree --split 10 --lists lists",
        "changes old.parquet --update",
        "usage tree --prometheus new.prom",
        "usage tree --html new.html",
        "limits tree --prometheus new.prom",
        "list tree --estimate --prometheus new.prom",
        "generate man --output man",
        "advise tree --files 1M --time 0s",
    ] {
        launched(words, first).complains(2, &["mpirun of Open MPI started 2 copies", "--engine mpi"]);
    }
    let second = launched("remove --yes tree", [("PMI_SIZE", "2"), ("PMI_RANK", "1")]);
    assert!(second.code == Some(2) && second.err.is_empty(), "only rank 0 prints: {second:?}");
    assert_eq!(fs::read_dir(at).unwrap().count(), 1);
    for variables in
        [first, [("PMI_SIZE", "1"), ("PMI_RANK", "0")], [("SLURM_NTASKS", "4"), ("SLURM_PROCID", "0")]]
    {
        assert_eq!(launched("list tree --count", variables).code, Some(0), "commands that only read run");
    }
    let alone = [("SLURM_NTASKS", "4"), ("SLURM_PROCID", "0")];
    assert_eq!(launched("remove --yes tree/file", alone).code, Some(0), "a batch script is one process");
    finish(&mut megadir(at, &["bench", "run", "smallfile", "--engine", "mpi"])).complains(2, &["--dir"]);
    finish(&mut megadir(at, &["bench", "run", "smallfile", "--worker-kind", "rank"]))
        .complains(2, &["--engine mpi"]);
}

/// `false` if the rank has not written its number to `pid.RANK`, or no process has that number.
fn signal(at: &Path, rank: u32, signal: &str) -> bool {
    let Ok(pid) = fs::read_to_string(at.join(format!("pid.{rank}"))) else { return false };
    Command::new("kill").args([signal, pid.trim()]).stderr(Stdio::null()).status().unwrap().success()
}

/// Processes of a job that end with a test, also if it fails: a stopped rank would stay, and the others would wait for it on a processor.
struct Job<'a> {
    at: &'a Path,
    launcher: Child,
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        for rank in 0..4 {
            signal(self.at, rank, "-9");
        }
        let _ = self.launcher.kill();
        let _ = self.launcher.wait();
    }
}

/// A rank that is stopped leaves all other ranks waiting in the meeting before the next block.
#[test]
fn a_rank_that_hangs_in_a_study_is_named_after_a_minute() {
    require!(have("mpirun.mpich").and_then(|()| have("strace")));
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("shared")).unwrap();
    // A stopped process outlives its launcher, and would keep a pipe open.
    let messages = fs::File::create(at.join("messages")).unwrap();
    let script = r#"echo $$ > pid.$PMI_RANK; exec "$@""#;
    let words = format!("{STUDY} --rounds 100000 -o r.jsonl");
    let begun = Instant::now();
    let launcher = MPICH.command(at, script, &words).stdout(Stdio::null()).stderr(messages).spawn().unwrap();
    let mut job = Job { at, launcher };
    let samples = || fs::read_to_string(at.join("r.jsonl")).unwrap_or_default().lines().count();
    while samples() < 30 {
        assert!(begun.elapsed() < PATIENCE, "nothing was measured");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(signal(at, 2, "-STOP"));
    let stopped = Instant::now();
    let text = || fs::read_to_string(at.join("messages")).unwrap();
    while !text().contains("megadir: waiting for ") {
        assert!(stopped.elapsed() < PATIENCE && job.launcher.try_wait().unwrap().is_none(), "{}", text());
        std::thread::sleep(Duration::from_millis(100));
    }
    let waited = stopped.elapsed();
    let messages = text();
    let line = messages.lines().find(|line| line.starts_with("megadir: waiting for ")).unwrap();
    assert!(line.starts_with("megadir: waiting for rank 2 on '"), "{messages}");
    // On a busy machine another rank may not have had the processor in time to answer.
    assert!(line.contains(" for 60 s: it hangs"), "{messages}");
    assert!((Duration::from_secs(55)..Duration::from_secs(80)).contains(&waited), "{waited:?}");
    // Once the rank continues, the run does too; an interrupt still ends it.
    assert!(signal(at, 2, "-CONT"));
    let before = samples();
    while samples() <= before {
        assert!(stopped.elapsed() < 2 * PATIENCE, "the run does not continue");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(signal(at, 0, "-INT"));
    let ended = job.launcher.wait().unwrap();
    assert!(ended.code().is_some_and(|code| code != 0), "{ended:?} {}", text());
}
