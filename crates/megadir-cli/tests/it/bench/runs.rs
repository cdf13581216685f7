//! Complete runs: their output, and what they leave unchanged.

use megadir_testkit::output::assert_output;
use megadir_testkit::tree::names;

use super::support::{SMALL, only_record};
use crate::support::{BRIEF_RUN, megadir, output_of, text};

#[test]
fn a_quick_run_prints_its_table_and_leaves_only_its_record() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = output_of(directory.path(), &[&SMALL[..], &["--rounds", "6", "--seed", "3"]].concat());
    assert_output(&output, 0, "the record is");
    assert!(text(&output.stdout).contains("ls -l, rebuilt"));
    let record = only_record(directory.path());
    let record = record.to_str().expect("UTF-8");
    for format in ["table", "markdown", "csv", "json"] {
        let report = output_of(directory.path(), &["bench", "report", record, "--format", format]);
        assert_output(&report, 0, "getdents 128 KiB");
    }
    let lines = std::fs::read_to_string(record).expect("readable");
    assert!(lines.lines().last().expect("lines").contains("\"complete\":true"));
    assert!(!lines.contains("unequal-work"), "{lines}");
}

#[test]
fn a_run_in_a_checkout_of_megadir_leaves_no_file_there() {
    let directory = tempfile::tempdir().expect("a directory");
    let (checkout, home) = (directory.path().join("clone"), directory.path().join("home"));
    let part = checkout.join("crates/megadir-cli");
    std::fs::create_dir_all(&part).expect("directories");
    std::fs::write(part.join("Cargo.toml"), "").expect("a file");
    let run = |at: &std::path::Path, more: &[&str]| {
        let mut command = megadir(at, &[&BRIEF_RUN[..], more].concat());
        command.env_remove("XDG_STATE_HOME").env("HOME", &home).output().expect("the program starts")
    };
    assert_output(&run(&checkout, &["--dry-run"]), 0, "listing");
    assert!(!home.exists(), "a dry run writes nothing");
    for at in [&checkout, &part] {
        let before = (names(&checkout), names(&part));
        let output = run(at, &[]);
        assert_output(&output, 0, "the record is");
        assert_eq!((names(&checkout), names(&part)), before);
        let state = home.join(".local/state/megadir");
        assert!(text(&output.stderr).contains(state.to_str().expect("UTF-8")), "{output:?}");
        only_record(&state);
        std::fs::remove_dir_all(&state).expect("a record and its page");
    }
    assert_output(&run(&checkout, &["--output", "here.jsonl"]), 0, "the record is 'here.jsonl'");
}

#[test]
fn an_existing_directory_is_only_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    assert_output(
        &output_of(at, &["make", "d", "--entries", "1k", "--size", "0", "--names", "sequence"]),
        0,
        "created 1000 files",
    );
    let before = names(&at.join("d"));
    let arguments =
        ["bench", "run", "listing", "--dir", "d", "--rounds", "5", "--buffer", "4KiB,1MiB", "--output", "r"];
    let output = output_of(at, &arguments);
    assert_output(&output, 0, "measuring 'd' itself (1000 entries), read-only");
    assert_eq!(names(&at.join("d")), before);
    assert_eq!(names(at), ["d", "r", "r.html"]);
    for more in [&[][..], &["--dry-run"]] {
        let again = output_of(at, &[&arguments[..], more].concat());
        assert_output(&again, 3, "cannot create the record 'r': the file exists; name a new one");
    }
}

#[test]
fn look_ups_find_entries_in_created_and_existing_directories() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let quick = [
        "bench",
        "run",
        "lookup",
        "-v",
        "--quick",
        "--entries",
        "1,300,2000",
        "--rounds=6",
        "--warm-up=1",
        "-o",
        "q",
    ];
    let output = output_of(at, &quick);
    assert_output(&output, 0, "the record is");
    let report = text(&output.stdout);
    for words in [
        "Do absent names cost more than present names?",
        "absent, popular names of 2 000",
        "less than linear",
    ] {
        assert!(report.contains(words), "{words} is not in {report}");
    }
    assert!(!report.contains("UNEQUAL"), "{report}");
    assert_output(&output_of(at, &["bench", "report", "q", "--format", "csv"]), 0, "lookup,,,,,,absent,zipf");
    assert_output(
        &output_of(at, &["make", "d", "--entries", "1500", "--size", "0"]),
        0,
        "created 1500 files",
    );
    let before = names(&at.join("d"));
    let output = output_of(
        at,
        &["bench", "run", "lookup", "-v", "--dir", "d", "--rounds=5", "--warm-up=1", "--output", "r"],
    );
    assert_output(&output, 0, "'d' itself (1500 entries), read-only");
    assert!(text(&output.stdout).contains("absent, any name of 1 500"), "{}", text(&output.stdout));
    assert_eq!(names(&at.join("d")), before);
    assert_output(
        &output_of(at, &["bench", "run", "lookup", "--threads", "2"]),
        2,
        "study `lookup` lists no directory, so it uses none",
    );
}

#[test]
fn make_again_creates_only_missing_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let make = ["make", "d", "--entries", "300", "--names", "sequence"];
    assert_output(&output_of(at, &make), 0, "created 300 files");
    std::fs::remove_file(at.join("d/file000000000007")).expect("removable");
    std::fs::write(at.join("d/file000000000008"), "").expect("writable");
    assert_output(&output_of(at, &make), 0, "created 1 file, 298 existed already, 1 completed");
    std::fs::write(at.join("d/file000000000009"), "something else").expect("writable");
    assert_output(&output_of(at, &make), 1, "'file000000000009' is not a file of this data set");
    assert_eq!(std::fs::read(at.join("d/file000000000009")).expect("readable"), b"something else");
}

#[test]
fn null_loop_reports_its_cost() {
    let directory = tempfile::tempdir().expect("a directory");
    assert_output(
        &output_of(directory.path(), &["bench", "null", "--operations", "100k"]),
        0,
        "ns/op over 100000 operations",
    );
    let monotonic = ["bench", "null", "--operations", "100k", "--monotonic"];
    assert_output(&output_of(directory.path(), &monotonic), 0, "100000 operations (monotonic clock");
}

#[test]
fn windows_record_is_reported_and_not_resumed() {
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/record/windows.jsonl");
    let scratch = tempfile::tempdir().expect("a directory");
    for (format, words) in
        [("markdown", "find-first-file"), ("html", "<svg"), ("json", "nt-query"), ("csv", "elapsed_ns")]
    {
        assert_output(&output_of(scratch.path(), &["bench", "report", record, "--format", format]), 0, words);
    }
    std::fs::copy(record, scratch.path().join("record")).expect("copied");
    let text = std::fs::read_to_string(record).expect("text");
    let (begun, _) = text.split_once("{\"line\":\"end\"").expect("an end");
    std::fs::write(scratch.path().join("record"), begun).expect("written");
    assert_output(
        &output_of(scratch.path(), &["bench", "run", "--resume", "record", "--dir", "."]),
        3,
        "cannot be resumed: the kernel was",
    );
    assert_eq!(names(scratch.path()), ["record"]);
}
