//! `megadir bench compare`: several runs per side, and a gate that never passes by mistake.
//!
//! The records are one real run with its times replaced, so the tests do not depend on the speed or load of the
//! machine.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use megadir_record::jsonl::read;
use megadir_record::{Line, Phase, Record, Role, Writer};
use megadir_testkit::output::assert_output;

use super::support::SMALL;
use crate::support::{output_of, text};

const ROUNDS: u64 = 12;

/// A record without warnings: every arm takes about 1 ms, with slight variation between rounds.
fn quiet() -> Record {
    let directory = tempfile::tempdir().expect("a directory");
    let rounds = ROUNDS.to_string();
    let arguments = [&SMALL[..], &["--rounds", &rounds, "-o", "record"]].concat();
    assert_output(&output_of(directory.path(), &arguments), 0, "record");
    let file = File::open(directory.path().join("record")).expect("the record is there");
    let mut record = read(BufReader::new(file)).expect("it is a record");
    record.notes.clear();
    record.self_check = None;
    record.header.machine.pressure.cpu_some_10s_percent = Some(0.0);
    if let Some(end) = &mut record.end {
        end.pressure = record.header.machine.pressure.clone();
        end.null_loop_ns = None;
    }
    record.samples.retain(|sample| sample.phase == Phase::Measure && sample.voided.is_none());
    for sample in &mut record.samples {
        // A busy machine voids rounds; pretend that it was idle.
        (sample.attempt, sample.latency) = (0, None);
    }
    record
}

/// Another run of the same study: its own start time, and every time scaled.
fn like(record: &Record, start: u64, factor: f64) -> Record {
    let mut record = record.clone();
    record.header.started_unix_s += start;
    for sample in &mut record.samples {
        let round = u64::from(sample.round);
        // Each arm has its own order, so there is no trend.
        let jitter = (round * 5 + u64::from(sample.arm.0) * 7 + start * 3) % ROUNDS;
        let ns = (1e6 * factor).round() as u64 + jitter * 500;
        sample.elapsed_ns = ns * sample.operations;
    }
    record
}

fn write(directory: &Path, name: &str, record: &Record) {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().expect("it has one")).expect("makeable");
    let file = File::create(path).expect("makeable");
    let mut writer = Writer::start(file, record.header.clone()).expect("writable");
    let samples = record.samples.iter().cloned().map(Line::Sample);
    let notes = record.notes.iter().cloned().map(Line::Note);
    let end = record.end.iter().cloned().map(Line::End);
    samples.chain(notes).chain(end).for_each(|line| writer.write(&line).expect("writable"));
}

#[test]
fn gate_passes_only_on_equal_work() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let quiet = quiet();
    let new = like(&quiet, 60, 1.0);
    write(at, "old", &like(&quiet, 0, 1.0));
    write(at, "new", &new);
    let gate = |new: &str, more: &[&str]| {
        output_of(at, &[&["bench", "compare", "old", new, "--fail-if", "slower:3%"][..], more].concat())
    };
    // One run per side: a line with a remedy.
    let refused = gate("new", &[]);
    assert_output(&refused, 11, "or --single-run to judge these two");
    assert_eq!(text(&refused.stderr).lines().count(), 1, "{}", text(&refused.stderr));
    assert_output(&gate("new", &["--single-run"]), 0, "The gate passed");
    write(at, "slow", &like(&quiet, 60, 1.2));
    assert_output(&gate("slow", &["--single-run"]), 10, "slower than before: getdents");

    let changed = |name: &str, change: &dyn Fn(&mut Record)| {
        let mut record = new.clone();
        change(&mut record);
        write(at, name, &record);
        gate(name, &["--single-run"])
    };
    let arm = quiet.header.plan.arms.iter().find(|planned| planned.role == Role::Arm).expect("an arm").id;
    let unequal = changed("unequal", &|record| {
        record.samples.iter_mut().filter(|sample| sample.arm == arm).for_each(|sample| {
            sample.counted.entries -= 1;
            sample.elapsed_ns *= 3;
        });
    });
    assert_output(&unequal, 11, "the gate cannot be judged: the new run did other work than it should: ");
    let cut = changed("cut", &|record| {
        record.samples.retain(|sample| sample.round < 3);
        record.end = None;
    });
    assert_output(&cut, 11, "the gate cannot be judged: the new run has 3 of 12 rounds");
    let dropped = changed("dropped", &|record| record.samples.retain(|sample| sample.arm != arm));
    assert_output(&dropped, 11, "the new run measured 0 of 12 rounds: ");
    let renamed = changed("renamed", &|record| record.header.plan.arms[arm.0 as usize].name = "other".into());
    assert_output(&renamed, 11, "the gate cannot be judged: only in the old run: ");
    assert_output(&gate("old", &["--single-run"]), 11, "the new run is the old run once more");

    // The record's warnings are above the table, and only the matching option waives them.
    let control =
        quiet.header.plan.arms.iter().find(|planned| planned.role == Role::Control).expect("one").id;
    let warned = changed("warned", &|record| {
        record
            .samples
            .iter_mut()
            .filter(|sample| sample.arm == control)
            .for_each(|sample| sample.elapsed_ns *= 2);
    });
    assert_output(&warned, 11, "against itself came out DIFFERENT");
    let out = text(&warned.stdout);
    assert!(out.find("DIFFERENT").expect("in the table") < out.find("verdict").expect("a heading"), "{out}");
    assert_output(&gate("warned", &["--single-run", "--despite-warnings"]), 0, "The gate passed");
    // Too few rounds for an interval are a loud warning too.
    let few = changed("few", &|record| {
        record.header.plan.rules.rounds = 3;
        record.samples.retain(|sample| sample.round < 3);
    });
    assert_output(&few, 11, "Only 3 rounds");
}

#[test]
fn a_gate_that_could_see_nothing_does_not_pass() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let quiet = quiet();
    for (side, (folder, factors)) in (0..).zip([("old", [1.0, 1.5, 0.7]), ("new", [2.0, 3.0, 1.4])]) {
        for (place, factor) in (1..).zip(factors) {
            write(at, &format!("{folder}/{place}.jsonl"), &like(&quiet, 1000 * side + 60 * place, factor));
        }
    }
    let blind = output_of(at, &["bench", "compare", "old", "new", "--fail-if", "slower:3%"]);
    assert_output(
        &blind,
        11,
        "the gate cannot be judged: a slowdown of 25 % would not be seen; measure more runs: ",
    );
}

#[test]
fn data_after_the_end_of_a_record_is_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    write(at, "whole", &quiet());
    let whole = std::fs::read(at.join("whole")).expect("readable");
    let report = |more: &[u8]| {
        std::fs::write(at.join("more"), [&whole[..], more].concat()).expect("writable");
        output_of(at, &["bench", "report", "more"])
    };
    for more in [&[0; 4096][..], b"\n", b"more"] {
        let words = format!("the record ended before it, and {} more bytes follow", more.len());
        assert_output(&report(more), 1, &words);
    }
    std::fs::write(at.join("more"), [&b"\xef\xbb\xbf"[..], &whole[..]].concat()).expect("writable");
    assert_output(
        &output_of(at, &["bench", "report", "more"]),
        3,
        "its first line is not a header (it is not JSON)",
    );
}

#[test]
fn the_ending_of_the_output_selects_the_format_of_a_report() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = scratch.path();
    write(at, "run", &quiet());
    for (ending, begin) in [("html", "<!doctype html>"), ("csv", "epoch,"), ("json", "{"), ("md", "# ")] {
        let file = format!("report.{ending}");
        let output = output_of(at, &["bench", "report", "run", "--output", &file]);
        assert_eq!(output.status.code(), Some(0), "{ending}");
        let text = std::fs::read_to_string(at.join(&file)).expect("written");
        assert!(text.to_lowercase().starts_with(begin), "{ending}: {}", &text[..text.len().min(80)]);
    }
    for (file, options) in [("plain.txt", &[][..]), ("forced.html", &["--format", "screen"])] {
        let arguments = [&["bench", "report", "run", "--output", file], options].concat();
        assert_eq!(output_of(at, &arguments).status.code(), Some(0), "{file}");
        let screen = output_of(at, &["bench", "report", "run"]).stdout;
        assert_eq!(std::fs::read(at.join(file)).expect("written"), screen, "{file}");
    }
}

#[test]
fn a_run_that_is_on_both_sides_is_mentioned() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = scratch.path();
    write(at, "run", &quiet());
    write(at, "next", &like(&quiet(), 2, 1.0));
    let errors = |new: &str| {
        let output = output_of(at, &["bench", "compare", "run", new, "--across"]);
        assert_eq!(output.status.code(), Some(0), "{new}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(errors("run").contains("'run' is old and new at once"), "{}", errors("run"));
    assert_eq!(errors("next"), "");
}

#[test]
fn several_runs_a_side_are_compared_over_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let quiet = quiet();
    let factors = [("old", [1.0, 1.03, 0.98]), ("new", [1.02, 0.97, 1.04]), ("slow", [1.5, 1.53, 1.47])];
    for (side, (folder, factors)) in (0..).zip(factors) {
        for (place, factor) in (1..).zip(factors) {
            write(at, &format!("{folder}/{place}.jsonl"), &like(&quiet, 1000 * side + 60 * place, factor));
        }
    }
    std::fs::write(at.join("old/report.html"), "no record").expect("writable");
    let compare = |arguments: &[&str]| output_of(at, &[&["bench", "compare"][..], arguments].concat());
    let gate = |new: &str| compare(&["old", new, "--fail-if", "slower:3%"]);
    assert_output(&gate("new"), 0, "3 new runs against 3 old runs");
    assert_output(&gate("slow"), 10, "slower than before: getdents");
    let named = ["--old", "old/1.jsonl", "old/2.jsonl", "old/3.jsonl", "--new", "slow"];
    assert_output(
        &compare(&[&named[..], &["--fail-if", "slower"]].concat()),
        10,
        "slower than before: getdents",
    );
    assert_output(
        &compare(&["old", "new/1.jsonl", "--fail-if", "slower"]),
        11,
        "3 old runs and 1 new are too few",
    );
    for format in ["json", "csv", "markdown", "html"] {
        let out = compare(&["old", "slow", "--fail-if", "slower", "--format", format]);
        assert_output(&out, 10, "slower than before: getdents");
        assert!(text(&out.stdout).contains("getdents"), "{format}");
    }
    assert_output(
        &compare(&["--old", "old", "old/1.jsonl", "--new", "new"]),
        3,
        "are the same run; name each run once",
    );
    std::fs::create_dir(at.join("empty")).expect("makeable");
    assert_output(&compare(&["old", "empty"]), 3, "the directory has no records (*.jsonl, *.jsonl.gz)");
    assert_output(&compare(&["old"]), 2, "");
    assert_output(&compare(&["--old", "old"]), 2, "--new");
    assert_output(&compare(&["old", "new", "--single-run"]), 2, "--fail-if");
}

#[test]
fn runs_of_two_studies_are_refused_without_a_way_that_leads_nowhere() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let listing = quiet();
    let mut other = like(&listing, 60, 1.0);
    other.header.plan.study = "lookup".into();
    other.header.plan.arms.iter_mut().for_each(|planned| planned.name = format!("of {}", planned.name));
    write(at, "listing", &listing);
    write(at, "lookup", &other);
    for across in [&[][..], &["--across"]] {
        let out = output_of(at, &[&["bench", "compare", "listing", "lookup"][..], across].concat());
        assert_output(&out, 3, "no arm in common (study: listing against lookup): compare runs of one study");
        assert!(!text(&out.stderr).contains("--across"), "{}", text(&out.stderr));
    }
}
