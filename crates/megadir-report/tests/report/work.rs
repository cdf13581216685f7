//! Arms with unequal work are found, reported prominently, and compared with nothing.

use megadir_record::Record;
use megadir_report::summary::{GroupReading, Outcome, WorkCheck};
use megadir_report::{FindingKind, Report};

use crate::listing::study;
use crate::report_on;
use crate::synthetic::Synthetic;

fn outcomes(report: &Report) -> Vec<&Outcome> {
    match &report.summary.groups[0].reading {
        GroupReading::Compare(comparison) => comparison.rows.iter().map(|row| &row.outcome).collect(),
        other => panic!("{other:?}"),
    }
}

/// Changes the counts of an arm in a round.
fn lose(record: &mut Record, planned: u32, round: u32, entries: u64, hash: u64) {
    let of_round = |s: &&mut megadir_record::Sample| (s.arm.0, s.round) == (planned, round);
    for sample in record.samples.iter_mut().filter(of_round) {
        sample.counted.entries -= entries;
        sample.counted.hash ^= hash;
    }
}

#[test]
fn an_arm_that_loses_an_entry_once_is_not_compared() {
    let mut record = Synthetic::ratios(&[("loses", 0.5), ("keeps", 0.5)]).record();
    lose(&mut record, 2, 17, 1, 0);
    let report = report_on(&record).unwrap();
    assert!(matches!(outcomes(&report)[2], Outcome::Unequal));
    assert!(matches!(outcomes(&report)[3], Outcome::Judged { .. }));
    let finding = &report.findings[0];
    assert!(finding.loud && finding.kind == FindingKind::Work);
    assert!(finding.text.contains("`loses` did NOT do the same work as the other arms in 1 round"));
    assert!(finding.text.contains("in round 17 it saw 99 999 entries where the others saw 100 000"));
    assert!(report.warnings[0].loud);
}

#[test]
fn as_many_entries_with_other_names_are_other_work() {
    let mut record = Synthetic::ratios(&[("other names", 0.5), ("keeps", 0.5)]).record();
    lose(&mut record, 2, 3, 0, 1);
    let report = report_on(&record).unwrap();
    assert!(report.findings[0].text.contains("but with other names"));
}

#[test]
fn of_two_arms_that_disagree_the_planned_number_decides_and_else_none() {
    let mut record = Synthetic::ratios(&[]).record();
    lose(&mut record, 1, 0, 1, 0);
    let report = report_on(&record).unwrap();
    assert_eq!(report.summary.arms[0].work, WorkCheck::Equal);
    assert!(!report.summary.arms[1].work.is_equal());
    lose(&mut record, 0, 4, 0, 1);
    let report = report_on(&record).unwrap();
    assert!(report.summary.arms.iter().all(|arm| !arm.work.is_equal()));
    assert!(report.summary.resolution.is_empty());
}

#[test]
fn directory_that_changes_for_all_arms_is_reported() {
    let mut record = Synthetic::ratios(&[("half", 0.5)]).record();
    for planned in 0..3 {
        lose(&mut record, planned, 9, 5, 1);
    }
    let report = report_on(&record).unwrap();
    assert!(report.summary.arms.iter().all(|arm| arm.work.is_equal()));
    assert!(report.warnings[0].text.contains("changed during the run: from 99 995 to 100 000"));
}

#[test]
fn programs_of_unequal_work_are_not_taken_apart() {
    let mut record = study().record();
    lose(&mut record, 12, 0, 1, 0);
    let report = report_on(&record).unwrap();
    let GroupReading::Unreadable { reason } = &report.summary.groups[0].reading else { panic!() };
    assert_eq!(reason, "`readdir to attributes` did not do the same work as the others");
    assert!(report.findings.iter().filter(|finding| finding.loud).count() == 2);
}

/// Records the contents of the data sets as expected.
fn settle(record: &mut Record) {
    let hash = record.samples[0].counted.hash;
    record.header.plan.data[0].hash = Some(hash);
}

#[test]
fn recorded_counts_override_the_majority() {
    let mut record = Synthetic::ratios(&[("sees all", 0.5), ("loses", 0.5)]).record();
    settle(&mut record);
    for planned in [0, 1, 3] {
        lose(&mut record, planned, 12, 1, 1);
    }
    let report = report_on(&record).unwrap();
    let equal: Vec<bool> = report.summary.arms.iter().map(|arm| arm.work.is_equal()).collect();
    assert_eq!(equal, [false, false, true, false]);
    assert!(report.findings[0].text.contains(
        "`base` did NOT list its data set in 1 round: in round 12 it saw 99 999 entries where \
         there are 100 000"
    ));
    // The same without the recorded hash: the majority is trusted.
    record.header.plan.data[0].hash = None;
    let equal: Vec<bool> =
        report_on(&record).unwrap().summary.arms.iter().map(|arm| arm.work.is_equal()).collect();
    assert_eq!(equal, [true, true, false, true]);
}

#[test]
fn an_arm_that_the_majority_agrees_with_is_flagged_for_other_names() {
    let mut record = Synthetic::ratios(&[]).record();
    settle(&mut record);
    for planned in [0, 1] {
        lose(&mut record, planned, 4, 0, 1);
    }
    let report = report_on(&record).unwrap();
    assert!(report.summary.arms.iter().all(|arm| !arm.work.is_equal()));
    assert!(report.findings[0].text.contains("as many as there are, but with other names"));
}
