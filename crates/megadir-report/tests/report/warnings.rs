//! Each fault of a run has its warning, and a good run has none.

use megadir_record::{Phase, Record, VoidReason};
use megadir_report::{Report, Warning};

use crate::report_on;
use crate::synthetic::{Synthetic, note};

pub(crate) fn good() -> Record {
    Synthetic::ratios(&[("half", 0.5)]).record()
}

fn report_of(record: &Record) -> Report {
    report_on(record).expect("the record can be summarised")
}

/// `true` if the summary has a warning of this kind, with text and advice.
fn warns(report: &Report, sort: fn(&Warning) -> bool) -> bool {
    let found = report.warnings.iter().find(|advisory| sort(&advisory.warning));
    found.is_some_and(|advisory| advisory.text.ends_with('.') && advisory.advice.ends_with('.'))
}

/// Multiplies the times of all arms, or of one, by a factor for each round.
pub(crate) fn stretch(record: &mut Record, arm: Option<u32>, factor: impl Fn(u32) -> f64) {
    let measured = record.samples.iter_mut().filter(|sample| sample.phase == Phase::Measure);
    for sample in measured.filter(|sample| arm.is_none_or(|arm| sample.arm.0 == arm)) {
        sample.elapsed_ns = (sample.elapsed_ns as f64 * factor(sample.round)) as u64;
    }
}

#[test]
fn a_good_run_has_no_warning() {
    assert_eq!(report_of(&good()).warnings, []);
}

#[test]
fn baseline_that_differs_from_its_control_is_a_loud_warning() {
    let mut record = good();
    stretch(&mut record, Some(1), |_| 1.1);
    let report = report_of(&record);
    assert!(report.warnings[0].loud);
    assert!(report.warnings[0].text.contains("DIFFERENT (1."), "{}", report.warnings[0].text);

    let mut record = good();
    stretch(&mut record, Some(1), |_| 1.015);
    let slight = report_of(&record);
    assert!(warns(&slight, |warning| matches!(warning, Warning::ControlDiffers { negligible: true, .. })));
    assert!(!slight.warnings[0].loud);
}

#[test]
fn one_arm_that_lacks_rounds_is_named_and_the_others_are_judged() {
    let mut record = good();
    record.samples.retain(|sample| sample.arm.0 != 2 || sample.phase != Phase::Measure || sample.round < 3);
    let report = report_of(&record);
    let few =
        report.warnings.iter().find(|advisory| matches!(advisory.warning, Warning::TooFewRounds { .. }));
    let few = few.expect("a warning");
    assert!(!few.loud);
    assert_eq!(
        few.text,
        "`half` has only 3 rounds: no interval under 6 rounds, so nothing is judged of it. The other arms have enough."
    );
}

#[test]
fn remedies_name_options_of_the_command_that_was_run() {
    let mut record = good();
    stretch(&mut record, Some(1), |round| if round % 2 == 0 { 2.0 } else { 0.5 });
    stretch(&mut record, None, |round| if round < 15 { 1.0 } else { 1.3 });
    let advice = |record: &Record| {
        let advisories = report_of(record).warnings;
        assert!(advisories.iter().any(|advisory| matches!(advisory.warning, Warning::Autocorrelated { .. })));
        advisories.into_iter().map(|advisory| advisory.advice).collect::<Vec<_>>().join("\n")
    };
    assert!(advice(&record).contains("--rounds"));
    record.header.command = ["megadir", "advise", "."].map(str::to_owned).into();
    let of_advise = advice(&record);
    for option in ["--rounds", "--until", "--format"] {
        assert!(!of_advise.contains(option), "{of_advise}");
    }
    assert!(of_advise.contains("--time"), "{of_advise}");
}

#[test]
fn a_change_of_level_and_a_drift_are_seen() {
    let mut record = good();
    stretch(&mut record, None, |round| if round < 15 { 1.0 } else { 1.3 });
    let report = report_of(&record);
    assert!(warns(&report, |warning| matches!(warning, Warning::ChangePoint { round: 16, .. })));
    assert!(warns(&report, |warning| matches!(warning, Warning::Autocorrelated { .. })));
}

#[test]
fn halves_that_differ_without_a_clear_change_are_seen() {
    let mut record = Synthetic { rounds: 12, ..Synthetic::ratios(&[]) }.record();
    stretch(&mut record, None, |round| 1.0 + f64::from(round) * 0.04);
    let report = report_of(&record);
    assert!(
        warns(&report, |warning| matches!(warning, Warning::HalvesDiffer { .. })),
        "{:?}",
        report.warnings
    );
}

#[test]
fn two_heaps_are_seen_and_skew_alone_is_not() {
    let mut record = good();
    stretch(&mut record, Some(0), |round| if round % 3 == 0 { 1.5 } else { 1.0 });
    assert!(warns(&report_of(&record), |warning| matches!(warning, Warning::Bimodal { .. })));
    for seed in 0..20 {
        let mut record = Synthetic { seed, ..Synthetic::ratios(&[]) }.record();
        // A tail like the one of interrupted rounds: longer times are ever rarer.
        stretch(&mut record, Some(0), |round| 1.0 + 0.02 / (1.0 - f64::from(round * 7 % 30) / 30.0));
        let report = report_of(&record);
        assert!(
            !warns(&report, |warning| matches!(warning, Warning::Bimodal { .. })),
            "{:?}",
            report.warnings
        );
    }
}

#[test]
fn expensive_timing_loop_is_reported_and_its_quantiles_withheld() {
    let mut record = good();
    record.end.as_mut().unwrap().null_loop_ns = Some(1e6);
    let report = report_of(&record);
    assert!(warns(&report, |w| matches!(w, Warning::TimerCost { quantiles_refused: false, .. })));
    record.end.as_mut().unwrap().null_loop_ns = Some(3e6);
    let report = report_of(&record);
    assert!(warns(&report, |w| matches!(w, Warning::TimerCost { quantiles_refused: true, .. })));
    assert_eq!(report.summary.arms[2].timing.as_ref().unwrap().quantiles, None);
    assert!(report.summary.arms[0].timing.as_ref().unwrap().quantiles.is_some());
}

#[test]
fn many_voided_rounds_make_a_run_noisy() {
    let mut record = good();
    for sample in record.samples.iter_mut().filter(|s| s.phase == Phase::Measure && s.round < 6) {
        sample.voided = Some(VoidReason::StolenTime);
    }
    let report = report_of(&record);
    assert!(warns(&report, |warning| matches!(warning, Warning::Noisy { voided: 6, rounds: 24 })));
}

#[test]
fn an_early_end_a_cut_and_the_notes_of_the_run_are_passed_on() {
    let mut record = good();
    let end = record.end.as_mut().unwrap();
    (end.complete, end.reason) = (false, Some("interrupted".into()));
    record.notes =
        vec![note("load", "The load was 3.1 before the run."), note("of-tomorrow", "Something else.")];
    let report = report_of(&record);
    let texts: Vec<&str> = report.warnings.iter().map(|advisory| advisory.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "The run is incomplete (30 of 30 rounds): interrupted.",
            "The load was 3.1 before the run.",
            "Something else."
        ]
    );
    assert!(report.warnings[1].advice.starts_with("Stop other work"));

    record.end = None;
    record.cut = Some(megadir_record::Cut { line: 97, bytes: 12 });
    let report = report_of(&record);
    assert!(warns(&report, |warning| matches!(warning, Warning::CutOff { line: 97 })));
    assert!(warns(&report, |warning| matches!(warning, Warning::Incomplete { reason: None, .. })));
}
