//! In a block of single operations, `megadir bench run` makes no other system calls between start and end.

use std::path::Path;
use std::process::{Command, Stdio};

use megadir_record::jsonl::read;
use megadir_record::{Phase, Record, Since};
use megadir_testkit::require;
use megadir_testkit::require::have;

use crate::support::{output_of, program};

#[track_caller]
fn record_of(path: &Path) -> Record {
    let file = std::fs::File::open(path).expect("the record is there");
    read(std::io::BufReader::new(file)).expect("the record can be read")
}

/// System calls of the measuring thread: the one with the most calls among the strace files below `directory`.
fn calls(directory: &Path) -> Vec<String> {
    let files = std::fs::read_dir(directory).expect("readable").map(|entry| entry.expect("readable").path());
    let logs = files.map(|path| std::fs::read_to_string(path).expect("readable"));
    let queries = |log: &String| log.matches("newfstatat(").count();
    let log = logs.max_by_key(queries).expect("a thread was traced");
    log.lines().map(str::to_owned).collect()
}

/// Lengths of the sequences of look-ups without any other call in between.
fn rows_of_look_ups(calls: &[String]) -> Vec<u64> {
    // Names of a study have 32 digits; other names are not looked up by blocks.
    let look_up = |call: &String| {
        let name = call.strip_prefix("newfstatat(").and_then(|rest| rest.split('"').nth(1));
        name.is_some_and(|name| name.len() == 32 && name.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    calls
        .chunk_by(|a, b| look_up(a) && look_up(b))
        .filter(|row| look_up(&row[0]))
        .map(|row| row.len() as u64)
        .collect()
}

#[test]
fn a_block_makes_the_measured_calls_and_no_other() {
    require!(have("strace"));
    let (at, logs) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let mut command = Command::new("strace");
    // One file per thread, so that their calls do not mix; strings long enough for the names.
    command.args(["-ff", "-qq", "-s", "64", "-o"]).arg(logs.path().join("calls"));
    command.arg(program());
    command.args([
        "bench",
        "run",
        "lookup",
        "--quick",
        "--entries",
        "50,400",
        "--rounds",
        "6",
        "--output",
        "r",
    ]);
    let output = command.current_dir(at.path()).stdin(Stdio::null()).output().expect("strace starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record = record_of(&at.path().join("r"));
    let blocks: Vec<u64> = record.samples.iter().map(|sample| sample.operations).collect();
    // Before the blocks, the created files are verified.
    let rows = rows_of_look_ups(&calls(logs.path()));
    assert!(rows.ends_with(&blocks), "{rows:?} {blocks:?}");
    // The number of operations depends on the time of one, which strace dominates.
    assert!(blocks.iter().any(|operations| *operations >= 2), "no block has several operations: {blocks:?}");
    let measured = record.samples.iter().filter(|sample| sample.phase == Phase::Measure);
    for sample in measured {
        let latency = sample.latency.as_ref().expect("look-ups are timed one by one");
        assert_eq!(latency.operations(), sample.operations);
    }
}

/// Runs look-ups at a rate; returns the record and the report.
#[track_caller]
fn at_rate(rate: &str) -> (Record, String) {
    let at = tempfile::tempdir().expect("a directory");
    let run = [
        "bench",
        "run",
        "lookup",
        "-v",
        "--quick",
        "--entries=300",
        "--rounds=2",
        "--warm-up=1",
        "--output=r",
    ];
    let output = output_of(at.path(), &[&run[..], &["--rate", rate]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (record_of(&at.path().join("r")), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn missed_rate_is_reported() {
    let (record, report) = at_rate("2000");
    assert!(report.contains("2 000 to start a second (open loop)"), "{report}");
    for sample in record.samples.iter().filter(|sample| sample.phase == Phase::Measure) {
        // 200 operations start in 199 intervals of half a millisecond, whatever the machine does.
        assert!(sample.operations == 200 && sample.elapsed_ns >= 99_000_000, "{sample:?}");
        assert_eq!(sample.latency.as_ref().map(|latency| latency.since), Some(Since::IntendedStart));
    }
    let (_, report) = at_rate("10M");
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("were planned to start 10 000 000 times a second and started "), "{report}");
}

#[test]
fn a_rate_that_cannot_be_is_refused() {
    for (study, rate, words) in [
        ("lookup", "0", "expected 1 to 10000000 operations per second"),
        ("lookup", "11M", "expected 1 to 10000000 operations per second"),
        ("listing", "10", "study `listing` has no single operations to schedule"),
    ] {
        let output = output_of(".", &["bench", "run", study, "--dry-run", "--rate", rate]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && errors.contains(words), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}
