//! Records of runs that did not end, and records that contradict themselves.

use megadir_record::{ArmId, DataId, GroupRule, Line, Phase, Record, VoidReason, Writer, jsonl};
use megadir_report::render::{self, COLUMNS};
use megadir_report::summary::{Ending, GroupReading, Outcome};
use megadir_report::{Style, SummaryError};

use crate::listing::study;
use crate::report_on;
use crate::synthetic::Synthetic;

/// The record as the lines that a run writes.
pub(crate) fn lines(record: &Record) -> Vec<u8> {
    let mut writer = Writer::start(Vec::new(), record.header.clone()).expect("memory takes it");
    for note in &record.notes {
        writer.write(&Line::Note(note.clone())).expect("memory takes it");
    }
    for sample in &record.samples {
        writer.write(&Line::Sample(sample.clone())).expect("memory takes it");
    }
    if let Some(end) = &record.end {
        writer.write(&Line::End(end.clone())).expect("memory takes it");
    }
    writer.into_inner()
}

#[test]
fn every_prefix_of_a_record_can_be_reported() {
    let record = Synthetic { rounds: 7, ..Synthetic::ratios(&[("half", 0.5)]) }.record();
    let lines = lines(&record);
    let header = lines.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let mut reported = 0;
    for end in (header..lines.len()).step_by(37) {
        let cut = jsonl::read(&lines[..end]).unwrap();
        match report_on(&cut) {
            Ok(report) => {
                assert!(matches!(report.summary.progress.ending, Ending::Killed { .. }));
                assert!(!render::table(&report, 80, Style { color: false, unicode: true }).is_empty());
                assert!(!render::markdown(&report).is_empty());
                reported += 1;
            }
            Err(error) => assert!(matches!(error, SummaryError::NothingMeasured { .. }), "{error}"),
        }
    }
    assert!(reported > 50);
}

#[test]
fn under_six_rounds_medians_stand_alone() {
    let mut record = Synthetic { rounds: 5, ..Synthetic::ratios(&[("half", 0.5)]) }.record();
    record.end = None;
    let report = report_on(&record).unwrap();
    let GroupReading::Compare(comparison) = &report.summary.groups[0].reading else { panic!() };
    assert!(
        matches!(comparison.rows[2].outcome, Outcome::TooFewRounds { ratio } if (0.48..0.52).contains(&ratio))
    );
    assert_eq!(report.summary.arms[0].timing.as_ref().unwrap().time_ns.interval, None);
    assert!(report.findings[0].text.contains("No interval under 6 rounds"), "{}", report.findings[0].text);
    assert!(report.warnings[0].text.starts_with("Only 5 rounds can be used: no interval under 6 rounds"));
}

#[test]
fn few_rounds_give_a_partial_report() {
    let mut killed = Synthetic { rounds: 3, ..study() }.record();
    killed.end = None;
    let report = report_on(&killed).unwrap();
    let texts: Vec<&str> = report.findings.iter().map(|finding| finding.text.as_str()).collect();
    assert!(
        texts[0].contains("with 3 rounds (no interval under 6 rounds) nothing can be said for sure"),
        "{texts:?}"
    );
    assert!(texts.iter().any(|text| text.contains("its shape is undecided")), "{texts:?}");
}

#[test]
fn a_round_that_broke_off_counts_for_the_arms_it_has() {
    let mut record = Synthetic { rounds: 10, ..Synthetic::ratios(&[("half", 0.5)]) }.record();
    record.samples.pop();
    let report = report_on(&record).unwrap();
    let rounds: Vec<usize> = report.summary.arms.iter().map(|arm| arm.rounds).collect();
    assert_eq!(rounds.iter().sum::<usize>(), 29);
    assert_eq!(report.summary.progress.rounds_used, 9);
}

#[test]
fn voided_rounds_are_counted_and_the_repetition_is_used() {
    let mut record = Synthetic { rounds: 10, ..Synthetic::ratios(&[("half", 0.5)]) }.record();
    let of_round = |s: &&megadir_record::Sample| s.round == 4 && s.phase == Phase::Measure;
    let mut again: Vec<_> = record.samples.iter().filter(of_round).cloned().collect();
    for sample in record.samples.iter_mut().filter(|s| s.round == 4) {
        sample.voided = Some(VoidReason::StolenTime);
        sample.elapsed_ns *= 100;
    }
    again.iter_mut().for_each(|sample| sample.attempt = 1);
    record.samples.extend(again);
    let report = report_on(&record).unwrap();
    assert_eq!((report.summary.progress.rounds_used, report.summary.progress.rounds_voided), (10, 1));
    assert!(report.summary.arms[0].timing.as_ref().unwrap().mean_ns < 60e6);
}

#[test]
fn a_record_that_measured_nothing_is_refused_with_a_reason() {
    let mut record = Synthetic::ratios(&[("half", 0.5)]).record();
    record.samples.retain(|sample| sample.phase == Phase::WarmUp);
    let error = report_on(&record).unwrap_err().to_string();
    assert_eq!(
        error,
        "nothing was measured: the record has 3 samples of warm-up and none that counts; continue the run (bench run --resume) or start it again"
    );
}

#[test]
fn contradictory_records_are_refused() {
    type Break = fn(&mut Record);
    let breaks: [(Break, &str); 6] = [
        (|r| r.header.plan.arms[1].id = ArmId(5), "arm 1 is numbered 5"),
        (|r| r.header.plan.arms[1].data = DataId(9), "`base (itself)` works on data set 9"),
        (|r| r.header.plan.groups[0].rule = GroupRule::Compare { baseline: ArmId(77) }, "has arm 77"),
        (|r| r.header.plan.rules.confidence = 1.0, "its confidence is 1"),
        (|r| r.header.plan.rules.equivalence_band = 0.0, "equivalence band is 0"),
        (|r| r.samples[3].operations = 0, "it has no operations"),
    ];
    for (break_it, message) in breaks {
        let mut record = Synthetic::ratios(&[("half", 0.5)]).record();
        break_it(&mut record);
        let error = report_on(&record).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn csv_has_every_sample_with_quoting() {
    let mut record = Synthetic { rounds: 2, ..Synthetic::ratios(&[("a \"b\", c", 0.5)]) }.record();
    record.samples[0].counted.calls = None;
    let csv = crate::csv(&report_on(&record).unwrap());
    assert_eq!(csv.lines().count(), 1 + record.samples.len());
    assert!(csv.contains(",\"a \"\"b\"\", c\",arm,"));
    let heading: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(heading.len(), COLUMNS.len());
    assert_eq!(csv.lines().nth(1).unwrap().split(',').count(), COLUMNS.len());
}
