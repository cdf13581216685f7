//! `megadir make` and `megadir bench` from end to end: what they print, write, leave and remove.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn megadir(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_megadir"));
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command
}

#[track_caller]
fn run(directory: &Path, arguments: &[&str]) -> Output {
    megadir(directory, arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn says(output: &Output, code: i32, words: &str) {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    assert!(out.contains(words) || err.contains(words), "nothing about '{words}' in:\n{out}{err}");
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("readable");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the one record in a directory, which holds nothing else but its page.
#[track_caller]
fn only_record(directory: &Path) -> PathBuf {
    let names = names(directory);
    assert_eq!((names.len(), names[1].as_str()), (2, "report.html"), "{names:?}");
    assert!(names[0].starts_with("megadir-listing-") && names[0].ends_with(".jsonl"), "{names:?}");
    directory.join(&names[0])
}

/// Starts a run and waits until its record holds so many blocks that count.
fn start_and_wait_for_blocks(directory: &Path, arguments: &[&str], blocks: usize) -> Child {
    let mut command = megadir(directory, arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let record = names(directory).into_iter().find(|name| name.ends_with(".jsonl"));
        let text =
            record.and_then(|name| std::fs::read_to_string(directory.join(name)).ok()).unwrap_or_default();
        if text.matches("\"phase\":\"measure\"").count() >= blocks {
            return child;
        }
        assert!(child.try_wait().expect("waitable").is_none(), "the run ended early");
        assert!(Instant::now() < deadline, "the run does not come on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const SMALL: [&str; 6] = ["bench", "run", "listing", "--quick", "--entries", "2000"];

#[test]
fn a_quick_run_prints_its_table_and_leaves_only_its_record() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = run(directory.path(), &[&SMALL[..], &["--rounds", "6", "--seed", "3"]].concat());
    says(&output, 0, "the record is");
    assert!(text(&output.stdout).contains("ls -l, rebuilt"));
    let record = only_record(directory.path());
    let record = record.to_str().expect("UTF-8");
    for format in ["table", "markdown", "csv", "json"] {
        let report = run(directory.path(), &["bench", "report", record, "--format", format]);
        says(&report, 0, "getdents 128 KiB");
    }
    let lines = std::fs::read_to_string(record).expect("readable");
    assert!(lines.lines().last().expect("lines").contains("\"complete\":true"));
    assert!(!lines.contains("unequal-work"), "{lines}");
}

#[test]
fn an_existing_directory_is_only_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    says(&run(at, &["make", "d", "--entries", "1k", "--size", "0", "--names", "sequence"]), 0, "1000 made");
    let before = names(&at.join("d"));
    let arguments =
        ["bench", "run", "listing", "--dir", "d", "--rounds", "5", "--buffer", "4KiB,1MiB", "--output", "r"];
    let output = run(at, &arguments);
    says(&output, 0, "working on 'd' itself (1000 entries), which is only read");
    assert_eq!(names(&at.join("d")), before);
    assert_eq!(names(at), ["d", "r", "report.html"]);
    says(&run(at, &arguments), 3, "cannot make the record 'r': File exists\n");
}

#[test]
fn look_ups_find_what_is_there_in_made_and_in_existing_directories() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let quick =
        ["bench", "run", "lookup", "--quick", "--entries", "1,300,2000", "--rounds", "6", "--output", "q"];
    let output = run(at, &quick);
    says(&output, 0, "the record is");
    let report = text(&output.stdout);
    for words in
        ["Do absent names cost more than present ones?", "absent, popular names of 2 000", "less than linear"]
    {
        assert!(report.contains(words), "{words} is not in {report}");
    }
    assert!(!report.contains("UNEQUAL"), "{report}");
    says(&run(at, &["bench", "report", "q", "--format", "csv"]), 0, "lookup,,,,,,absent,zipf");
    says(&run(at, &["make", "d", "--entries", "1500", "--size", "0"]), 0, "1500 made");
    let before = names(&at.join("d"));
    let output = run(at, &["bench", "run", "lookup", "--dir", "d", "--rounds", "5", "--output", "r"]);
    says(&output, 0, "'d' itself (1500 entries), which is only read");
    assert!(text(&output.stdout).contains("absent, any name of 1 500"), "{}", text(&output.stdout));
    assert_eq!(names(&at.join("d")), before);
    says(
        &run(at, &["bench", "run", "lookup", "--threads", "2"]),
        2,
        "study `lookup` lists nothing, so it has none",
    );
}

#[test]
fn files_can_be_chosen_and_copied_in_shape() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = |more: &[&str]| {
        run(directory.path(), &[&["bench", "run", "listing", "--quick", "--dry-run"][..], more].concat())
    };
    let laws = ["--entries", "3000", "--sizes", "lognormal:50kB", "--content", "json"];
    says(
        &run(&laws),
        0,
        "3000 files of 50000 bytes on average made (lognormal:50000+sigma=1), names Md5, content json",
    );
    says(&run(&["--sizes", "lognormla:5"]), 2, "did you mean 'lognormal'");
    says(&run(&["--content", "jsn"]), 2, "did you mean 'json'");
    says(&run(&["--layout", "prefix:2/2"]), 2, "works in one directory");
    let tree = directory.path().join("tree");
    let made = [
        "make",
        "tree",
        "-n",
        "3000",
        "--layout",
        "prefix:1",
        "--sizes",
        "uniform:0-8KiB",
        "--content",
        "json",
    ];
    says(&self::run(directory.path(), &made), 0, "3000 made and 16 directories");
    let first =
        std::fs::read_dir(tree.join("0")).expect("readable").next().expect("a file").expect("readable");
    let document = std::fs::read(first.path()).expect("readable");
    assert!(serde_json::from_slice::<serde_json::Value>(&document).is_ok(), "{}", text(&document));
    says(&run(&["--shape-of", "tree"]), 2, "17 directories on 2 levels");
    says(&run(&["--shape-of", "tree", "--layout", "flat"]), 0, "3000 files of");
    says(&run(&["--shape-of", "tree", "--layout", "flat"]), 0, "names of 32 to 32 bytes");
    says(&run(&["--shape-of", "tree", "--entries", "5"]), 2, "cannot be used with");
    says(&run(&["--shape-of", "none"]), 3, "none");
    says(&run(&["--dir", "tree/0", "--shape-of", "tree", "--layout", "flat"]), 0, "3000 files of");
    let existing = ["make", "many", "-n", "1000", "--size", "0"];
    says(&self::run(directory.path(), &existing), 0, "1000 made");
    says(&run(&["--dir", "many", "--content", "json"]), 2, "give --entries");
}

#[test]
fn a_dry_run_says_what_would_be_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    for more in [&[][..], &["--dry-run"]] {
        let run = ["bench", "run", "lookup", "--entries", "100000000", "--sizes", "1MiB"];
        let output = crate::run(directory.path(), &[&run[..], more].concat());
        says(&output, 3, "has not enough ");
    }
    assert!(names(directory.path()).is_empty());
}

#[test]
fn a_dry_run_touches_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = run(directory.path(), &["bench", "run", "listing", "--dry-run"]);
    says(&output, 0, "needs: 111000 files");
    assert!(text(&output.stdout).contains("readdir to xattrs"));
    assert!(names(directory.path()).is_empty());
}

#[test]
fn bad_input_gets_one_line_and_its_exit_code() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    std::fs::write(at.join("file"), "x").expect("writable");
    std::fs::write(at.join("own.toml"), "name = 1\n").expect("writable");
    for (arguments, code, words) in [
        (&["bench", "run", "listnig"][..], 2, "did you mean 'listing'?"),
        (&["bench", "run", "own.toml"], 2, "own.toml:1:8: invalid type"),
        (&["bench", "run", "listing", "--backend", "getdent"], 2, "did you mean 'getdents'?"),
        (&["bench", "run", "listing", "--buffer", "1"], 2, "4096 to 16777216 bytes are possible"),
        (&["bench", "run", "listing", "--threads", "0"], 2, "1 to 256 are possible"),
        (&["bench", "run", "listing", "--entries", "0"], 2, "are possible"),
        (&["bench", "run", "listing", "--rounds", "0"], 2, "are possible"),
        (&["bench", "run", "listing", "--dir", "missing"], 3, "No such file"),
        (&["bench", "run", "listing", "--dir", "file"], 3, "Not a directory"),
        (&["bench", "run", "listing", "--entries", "100M"], 3, "has not enough"),
        (&["bench", "report", "missing"], 3, "No such file"),
        (&["bench", "report", "own.toml"], 3, "not a megadir record"),
        (&["make", "missing/parent", "--entries", "1"], 3, "No such file"),
        (&["make", "file", "--entries", "1"], 3, "Not a directory"),
    ] {
        let output = run(at, arguments);
        says(&output, code, words);
        assert_eq!(
            text(&output.stderr)
                .trim_end()
                .lines()
                .filter(|line| line.starts_with("megadir: making"))
                .count()
                + 1,
            text(&output.stderr).trim_end().lines().count(),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        assert_eq!(names(at), ["file", "own.toml"], "{arguments:?}");
    }
}

#[test]
fn ctrl_c_ends_the_run_with_a_valid_partial_report_and_nothing_left() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = [&SMALL[..], &["--rounds", "5000"]].concat();
    let mut child = start_and_wait_for_blocks(directory.path(), &arguments, 150);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    let asked = Instant::now();
    assert_eq!(child.wait().expect("waitable").code(), Some(130));
    // All its rounds would take minutes.
    assert!(asked.elapsed() < Duration::from_secs(30), "{:?}", asked.elapsed());
    let record = only_record(directory.path());
    let report = run(directory.path(), &["bench", "report", record.to_str().expect("UTF-8")]);
    says(&report, 0, "getdents 128 KiB");
    let lines = std::fs::read_to_string(record).expect("readable");
    assert!(lines.lines().last().expect("lines").contains("\"complete\":false,\"reason\":\"interrupted\""));
}

#[test]
fn after_a_kill_the_next_run_removes_what_was_left_and_the_record_is_still_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = [&SMALL[..], &["--rounds", "5000"]].concat();
    let mut child = start_and_wait_for_blocks(directory.path(), &arguments, 150);
    child.kill().expect("killable");
    child.wait().expect("waitable");
    assert_eq!(names(directory.path()).iter().filter(|name| name.starts_with("megadir-bench-")).count(), 1);
    let record = names(directory.path()).into_iter().find(|name| name.ends_with(".jsonl")).expect("a record");
    let report = run(directory.path(), &["bench", "report", &record]);
    says(&report, 0, "getdents 128 KiB");
    let arguments =
        ["bench", "run", "listing", "--quick", "--entries", "50", "--rounds", "2", "--buffer", "8KiB"];
    says(&run(directory.path(), &arguments), 0, "left by a run that was killed");
    assert!(names(directory.path()).iter().all(|name| name.ends_with(".jsonl") || name == "report.html"));
}

#[test]
fn making_again_makes_only_what_is_missing_and_leaves_the_rest_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let make = ["make", "d", "--entries", "300", "--names", "sequence"];
    says(&run(at, &make), 0, "300 made");
    std::fs::remove_file(at.join("d/file000000000007")).expect("removable");
    std::fs::write(at.join("d/file000000000008"), "").expect("writable");
    says(&run(at, &make), 0, "1 made, 298 there already, 1 completed");
    std::fs::write(at.join("d/file000000000009"), "something else").expect("writable");
    says(&run(at, &make), 1, "'file000000000009' is something else");
    assert_eq!(std::fs::read(at.join("d/file000000000009")).expect("readable"), b"something else");
}

#[test]
fn the_null_loop_says_what_it_costs() {
    let directory = tempfile::tempdir().expect("a directory");
    says(
        &run(directory.path(), &["bench", "null", "--operations", "100k"]),
        0,
        "ns/op over 100000 operations",
    );
    let monotonic = ["bench", "null", "--operations", "100k", "--monotonic"];
    says(&run(directory.path(), &monotonic), 0, "100000 operations (monotonic clock");
}

/// A FUSE mount whose server never answers; unmounted when dropped.
struct Hung {
    path: PathBuf,
    server: Option<std::fs::File>,
    _directory: tempfile::TempDir,
}

impl Hung {
    fn mount() -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = directory.path().join("hung");
        std::fs::create_dir(&path).map_err(|error| error.to_string())?;
        let server = std::fs::File::options().read(true).write(true).open("/dev/fuse");
        let server = server.map_err(|error| format!("/dev/fuse: {error}"))?;
        let inherited = server.try_clone().map_err(|error| error.to_string())?;
        let mut mount = Command::new("mount");
        mount.args(["-i", "-t", "fuse", "-o", "fd=0,rootmode=40000,user_id=0,group_id=0", "hung"]);
        let mounted = mount.arg(&path).stdin(inherited).output().map_err(|error| error.to_string())?;
        if !mounted.status.success() {
            return Err(text(&mounted.stderr));
        }
        Ok(Self { path, server: Some(server), _directory: directory })
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        // Without a server every call fails at once, unmounting does not hang.
        self.server = None;
        let _ = Command::new("umount").arg("--lazy").arg(&self.path).output();
    }
}

/// Waits until a program that takes care of Ctrl-C does nothing for a while.
fn wait_until_it_hangs(child: &mut Child) {
    let status = format!("/proc/{}/status", child.id());
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut asleep = 0;
    while asleep < 20 {
        assert!(child.try_wait().expect("waitable").is_none(), "it did not hang");
        assert!(Instant::now() < deadline, "it does not come to rest");
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let of =
            |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim();
        let caught = u64::from_str_radix(of("SigCgt:"), 16).unwrap_or(0);
        let rests = of("State:").starts_with(['S', 'D']) && caught & (1 << 1) != 0;
        asleep = if rests { asleep + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn ctrl_c_ends_the_program_while_a_mount_hangs() {
    let hung = megadir_testkit::require!(Hung::mount());
    let at = hung.path.to_str().expect("UTF-8");
    let directory = tempfile::tempdir().expect("a directory");
    let below = format!("{at}/below");
    for arguments in [
        &["bench", "run", "listing", "--dir", at][..],
        &["bench", "clean", at],
        &["make", &below, "--entries", "1"],
    ] {
        let mut child = megadir(directory.path(), arguments).stderr(Stdio::piped()).spawn().expect("starts");
        wait_until_it_hangs(&mut child);
        let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(killed.expect("kill runs").success());
        let deadline = Instant::now() + Duration::from_secs(30);
        while child.try_wait().expect("waitable").is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        // Whether it ended by itself must be known before the mount is taken away.
        let ended = child.try_wait().expect("waitable");
        let _ = child.kill();
        assert_eq!(ended.and_then(|status| status.code()), Some(130), "{arguments:?}");
    }
    assert!(names(directory.path()).is_empty());
}

#[test]
fn a_worker_without_a_run_says_what_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["bench", "worker"]);
    says(&output, 3, "is started by 'megadir bench run' and of no use by hand");
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

#[test]
fn work_on_files_can_be_chosen_and_what_a_study_has_no_use_for_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let dry = |arguments: &[&str]| {
        run(directory.path(), &[&["bench", "run"], arguments, &["--quick", "--dry-run"]].concat())
    };
    let layouts = dry(&["layout", "--layout", "flat,prefix:1/1", "--order", "inode", "--sync", "at-end"]);
    says(&layouts, 0, "read by inode, prefix:1/1, directories made before");
    // What arms make takes room until the end; data that is made once does not grow.
    says(&layouts, 0, "room: what the arms make stays to the end, up to ");
    assert!(!text(&dry(&["lookup"]).stdout).contains("stays to the end"));
    assert!(!text(&layouts.stdout).contains("prefix:2"));
    let workers = ["smallfile", "--workers", "3,1", "--worker-kind", "thread", "--sharing", "same"];
    says(&dry(&workers), 0, "rewrite, 3 threads");
    says(&dry(&["lookup", "--workers", "2"]), 2, "study `lookup` has no use for --workers");
    says(&dry(&["layout", "--sync", "never,at-end"]), 2, "name one");
    says(&dry(&["lookup", "--layout", "flat,git"]), 2, "does not compare layouts");
    says(&dry(&["smallfile", "--sync", "always"]), 2, "expected one of `never`, `each-file`");
    says(&dry(&["layout", "--layout", "prefix:0"]), 2, "prefix:0");
    says(&dry(&["smallfile", "--workers", "0"]), 2, "the number of workers cannot be 0");
}

#[test]
fn a_record_of_windows_is_reported_and_not_gone_on_with() {
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/record/windows.jsonl");
    let scratch = tempfile::tempdir().expect("a directory");
    for (format, words) in
        [("markdown", "find-first-file"), ("html", "<svg"), ("json", "nt-query"), ("csv", "elapsed_ns")]
    {
        says(&run(scratch.path(), &["bench", "report", record, "--format", format]), 0, words);
    }
    std::fs::copy(record, scratch.path().join("record")).expect("copied");
    let text = std::fs::read_to_string(record).expect("text");
    let (begun, _) = text.split_once("{\"line\":\"end\"").expect("an end");
    std::fs::write(scratch.path().join("record"), begun).expect("written");
    says(
        &run(scratch.path(), &["bench", "run", "--resume", "record", "--dir", "."]),
        3,
        "cannot be gone on with: the kernel was",
    );
    assert_eq!(names(scratch.path()), ["record"]);
}
