//! Known ratios are called, no ratio is not, and the resolution is that of the noise.

use megadir_report::summary::{Comparison, Difference, GroupReading, Outcome, Verdict};
use megadir_report::{Summary, summarize};

use crate::synthetic::Synthetic;

fn comparison(summary: &Summary) -> &Comparison {
    match &summary.groups[0].reading {
        GroupReading::Compare(comparison) => comparison,
        other => panic!("{other:?}"),
    }
}

fn verdict(summary: &Summary, arm: &str) -> (f64, Verdict) {
    let row = comparison(summary)
        .rows
        .iter()
        .find(|row| summary.arm_name(row.arm) == arm)
        .expect("an arm of the group");
    match row.outcome {
        Outcome::Judged { ratio, verdict, .. } => (ratio.value, verdict),
        ref other => panic!("{arm}: {other:?}"),
    }
}

#[test]
fn a_factor_of_two_is_called_and_nothing_is_not() {
    let study = Synthetic::ratios(&[("half", 0.5), ("double", 2.0), ("same", 1.0), ("a bit", 0.985)]);
    let summary = summarize(&study.record()).unwrap();
    let (half, says) = verdict(&summary, "half");
    assert!((half - 0.5).abs() < 0.01, "{half}");
    assert_eq!(says, Verdict::Faster { negligible: false });
    assert_eq!(verdict(&summary, "double").1, Verdict::Slower { negligible: false });
    assert_eq!(verdict(&summary, "same").1, Verdict::Equivalent);
    assert_eq!(verdict(&summary, "a bit").1, Verdict::Faster { negligible: true });
    assert_eq!(comparison(&summary).rows[0].outcome, Outcome::Baseline);

    let resolution = &summary.resolution[0];
    assert_eq!(resolution.difference, Difference::None);
    // Noise of 1 % in both arms over 30 rounds: about 1.41 % * 2.05 / sqrt(30).
    let percent = resolution.half_width_percent.unwrap();
    assert!((0.3..0.9).contains(&percent), "{percent}");
    let finding = &summary.findings[0].text;
    assert!(finding.starts_with("On ext4, buffer: against base, the fastest is half: 2.0"), "{finding}");
    assert!(finding.contains("the slowest is double: "), "{finding}");
}

#[test]
fn a_baseline_that_is_fastest_is_said_to_be() {
    let summary = summarize(&Synthetic::ratios(&[("double", 2.0), ("triple", 3.0)]).record()).unwrap();
    let finding = &summary.findings[0].text;
    assert!(finding.contains("none of 2 arms is shown to be faster than base"), "{finding}");
}

#[test]
fn no_difference_is_called_in_forty_runs_of_equal_arms() {
    let different = |seed: &u64| {
        let study = Synthetic { seed: *seed, ..Synthetic::ratios(&[("a", 1.0), ("b", 1.0), ("c", 1.0)]) };
        let summary = summarize(&study.record()).unwrap();
        let says = ["a", "b", "c"].map(|arm| verdict(&summary, arm).1);
        says.iter().any(|says| matches!(says, Verdict::Faster { .. } | Verdict::Slower { .. }))
    };
    // The family errs in one run of twenty: two of forty expected, six or more happen once in a hundred times.
    assert!((100..140).filter(different).count() < 6);
}

#[test]
fn ratios_pair_the_rounds_and_so_bear_drift() {
    let mut record = Synthetic::ratios(&[("nine tenths", 0.9)]).record();
    for sample in &mut record.samples {
        sample.elapsed_ns = sample.elapsed_ns * u64::from(20 + sample.round) / 20;
    }
    let summary = summarize(&record).unwrap();
    let (ratio, says) = verdict(&summary, "nine tenths");
    assert!((ratio - 0.9).abs() < 0.01, "{ratio}");
    assert_eq!(says, Verdict::Faster { negligible: false });
}

#[test]
fn the_number_of_operations_of_a_block_does_not_matter() {
    let study = Synthetic::ratios(&[("half", 0.5)]);
    let mut record = study.record();
    let before = summarize(&record).unwrap();
    for sample in record.samples.iter_mut().filter(|sample| sample.cell.0 == 2) {
        sample.operations = 4;
        sample.elapsed_ns *= 4;
    }
    assert_eq!(summarize(&record).unwrap().groups, before.groups);
}

#[test]
fn fewer_calls_are_weighed_against_the_time() {
    let mut study = Synthetic::ratios(&[("many calls", 1.0), ("other stages", 1.0)]);
    study.arms[2].calls = Some(3_200);
    study.arms[3].calls = Some(1);
    study.arms[3].stages = &[megadir_record::Stage::Read, megadir_record::Stage::Keep];
    let summary = summarize(&study.record()).unwrap();
    let calls = comparison(&summary).calls.clone().unwrap();
    assert_eq!((calls.most_calls, calls.fewest_calls), (3_200, 32));
    assert!(calls.ratio.interval.unwrap().contains(1.0));
    let told = summary.findings.iter().find(|finding| finding.text.contains("calls,")).unwrap();
    assert!(told.text.contains("that makes a negligible difference in time, if any"), "{}", told.text);
}
