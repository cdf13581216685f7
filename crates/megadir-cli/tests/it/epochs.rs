//! `megadir bench run --epochs`: data sets are rebuilt, rounds are split over epochs, and the report compares
//! across epochs.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::Path;

use megadir_record::jsonl::read;
use megadir_record::{Phase, Record};

use crate::support::output_of;

const RUN: [&str; 16] = [
    "bench",
    "run",
    "study.toml",
    "--quick",
    "--entries",
    "300",
    "--backend",
    "getdents",
    "--buffer",
    "32KiB",
    "--epochs",
    "5",
    "--rounds",
    "11",
    "--seed",
    "7",
];

/// Creates a directory with a study of listings that warms up briefly and voids no round.
fn scratch() -> tempfile::TempDir {
    let text = include_str!("../../../megadir-bench/studies/listing.toml");
    let text = text.replace("warm_up_s_max = 10", "warm_up_s_max = 0");
    let text = text.replace("stolen_fraction_max = 0.02", "stolen_fraction_max = 0.999");
    let scratch = tempfile::tempdir().expect("a directory");
    std::fs::write(scratch.path().join("study.toml"), text).expect("written");
    scratch
}

fn record(path: &Path) -> Record {
    read(BufReader::new(std::fs::File::open(path).expect("there"))).expect("a record")
}

/// Number of rounds of a phase in each epoch.
fn rounds(record: &Record, phase: Phase) -> Vec<usize> {
    let of = |epoch: u32| {
        let samples = record.samples.iter().filter(|s| (s.epoch, s.phase) == (epoch, phase));
        samples.map(|sample| sample.round).collect::<BTreeSet<_>>().len()
    };
    (0..record.header.plan.rules.epochs).map(of).collect()
}

#[test]
fn data_is_recreated_each_epoch_and_judged_over_epochs() {
    let scratch = scratch();
    let output = output_of(scratch.path(), &[&RUN[..], &["-v", "-o", "record"]].concat());
    let shown = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    for words in [" of 11 rounds in 5 epochs", "by hierarchical bootstrap over 5 epochs"] {
        assert!(shown.contains(words), "nothing about '{words}' in: {shown}");
    }
    assert!(!shown.contains("UNEQUAL") && !shown.contains("changed during the run"), "{shown}");

    let record = record(&scratch.path().join("record"));
    assert_eq!(rounds(&record, Phase::Measure), [3, 2, 2, 2, 2]);
    assert!(rounds(&record, Phase::WarmUp).iter().all(|rounds| *rounds >= 3));
    let hashes: BTreeSet<_> = record.epochs.iter().map(|epoch| epoch.hashes[0]).collect();
    assert_eq!((record.epochs.len(), hashes.len()), (4, 4));
    assert!(!hashes.contains(&record.header.plan.data[0].hash));
    // Only the study, the record and its page are left.
    assert_eq!(std::fs::read_dir(scratch.path()).expect("there").count(), 3);
}

#[test]
fn run_interrupted_in_a_later_epoch_resumes_in_it() {
    let scratch = scratch();
    let path = scratch.path().join("record");
    let output = output_of(scratch.path(), &[&RUN[..], &["-v", "-o", "record"]].concat());
    assert_eq!(output.status.code(), Some(0));
    let whole = record(&path);
    let text = std::fs::read_to_string(&path).expect("there");
    // Cut in the middle of the third epoch, and between epochs.
    let first_of = |epoch: u32| format!("{{\"line\":\"epoch\",\"epoch\":{epoch},");
    for (epoch, more) in [(2, 9), (3, 0)] {
        let begins = text.find(&first_of(epoch)).expect("the epoch begins");
        let kept: String = text[begins..].lines().take(more).flat_map(|line| [line, "\n"]).collect();
        std::fs::write(&path, format!("{}{kept}", &text[..begins])).expect("written");
        let output = output_of(scratch.path(), &["bench", "run", "--resume", "record"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let resumed = record(&path);
        assert_eq!(rounds(&resumed, Phase::Measure), rounds(&whole, Phase::Measure));
        assert!(resumed.end.as_ref().is_some_and(|end| end.complete));
        let of_last = |record: &Record| record.epochs.last().cloned();
        assert_eq!(of_last(&resumed), of_last(&whole), "the same seeds and names");
    }
}

#[test]
fn epochs_that_cannot_be_are_refused() {
    let scratch = tempfile::tempdir().expect("a directory");
    for (arguments, words) in [
        (&["listing", "--quick", "--epochs", "3"][..], "expected 5 or more"),
        (&["listing", "--quick", "--epochs", "5", "--rounds", "6"], "give --rounds 10"),
        (&["listing", "--quick", "--epochs", "5", "--until", "1%"], "cannot be split"),
        (&["limits", "--quick", "--epochs", "5", "--rounds", "10"], "cannot be"),
    ] {
        let output = output_of(scratch.path(), &[&["bench", "run"], arguments].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(words), "{stderr}");
    }
}
