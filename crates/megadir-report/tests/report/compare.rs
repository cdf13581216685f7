//! Known ratios are found, equal arms are not called different, and the resolution matches the noise.

use megadir_report::summary::{Comparison, Difference, GroupReading, Outcome, Verdict};
use megadir_report::{Report, Style};

use megadir_record::{Record, Stop};

use crate::report_on;
use crate::synthetic::Synthetic;

fn comparison(report: &Report) -> &Comparison {
    match &report.summary.groups[0].reading {
        GroupReading::Compare(comparison) => comparison,
        other => panic!("{other:?}"),
    }
}

fn verdict(report: &Report, arm: &str) -> (f64, Verdict) {
    let row = comparison(report)
        .rows
        .iter()
        .find(|row| report.summary.arm_name(row.arm) == arm)
        .expect("an arm of the group");
    match row.outcome {
        Outcome::Judged { ratio, verdict, .. } => (ratio.value, verdict),
        ref other => panic!("{arm}: {other:?}"),
    }
}

#[test]
fn a_factor_of_two_is_called_and_nothing_is_not() {
    let study = Synthetic::ratios(&[("half", 0.5), ("double", 2.0), ("same", 1.0), ("a bit", 0.985)]);
    let report = report_on(&study.record()).unwrap();
    let (half, judged) = verdict(&report, "half");
    assert!((half - 0.5).abs() < 0.01, "{half}");
    assert_eq!(judged, Verdict::Faster { negligible: false });
    assert_eq!(verdict(&report, "double").1, Verdict::Slower { negligible: false });
    assert_eq!(verdict(&report, "same").1, Verdict::Equivalent);
    assert_eq!(verdict(&report, "a bit").1, Verdict::Faster { negligible: true });
    assert_eq!(comparison(&report).rows[0].outcome, Outcome::Baseline);

    let resolution = &report.summary.resolution[0];
    assert_eq!(resolution.difference, Difference::None);
    // Noise of 1 % in both arms over 30 rounds: about 1.41 % * 2.05 / sqrt(30).
    let percent = resolution.half_width_percent.unwrap();
    assert!((0.3..0.9).contains(&percent), "{percent}");
    let finding = &report.findings[0].text;
    assert!(finding.starts_with("On ext4, buffer: against base, the fastest is half: 2.0"), "{finding}");
    assert!(finding.contains("the slowest is double: "), "{finding}");
}

#[test]
fn fastest_baseline_is_stated() {
    let report = report_on(&Synthetic::ratios(&[("double", 2.0), ("triple", 3.0)]).record()).unwrap();
    let finding = &report.findings[0].text;
    assert!(finding.contains("none of 2 arms is shown to be faster than base"), "{finding}");
}

#[test]
fn no_difference_is_called_in_forty_runs_of_equal_arms() {
    let different = |seed: &u64| {
        let study = Synthetic { seed: *seed, ..Synthetic::ratios(&[("a", 1.0), ("b", 1.0), ("c", 1.0)]) };
        let report = report_on(&study.record()).unwrap();
        let verdict = ["a", "b", "c"].map(|arm| verdict(&report, arm).1);
        verdict.iter().any(|verdict| matches!(verdict, Verdict::Faster { .. } | Verdict::Slower { .. }))
    };
    // One run in twenty has a false positive in its family: two of forty expected; six or more happen once in a
    // hundred times.
    assert!((100..140).filter(different).count() < 6);
}

#[test]
fn ratios_pair_the_rounds_and_so_bear_drift() {
    let mut record = Synthetic::ratios(&[("nine tenths", 0.9)]).record();
    for sample in &mut record.samples {
        sample.elapsed_ns = sample.elapsed_ns * u64::from(20 + sample.round) / 20;
    }
    let report = report_on(&record).unwrap();
    let (ratio, judged) = verdict(&report, "nine tenths");
    assert!((ratio - 0.9).abs() < 0.01, "{ratio}");
    assert_eq!(judged, Verdict::Faster { negligible: false });
}

#[test]
fn the_number_of_operations_of_a_block_does_not_matter() {
    let study = Synthetic::ratios(&[("half", 0.5)]);
    let mut record = study.record();
    let before = report_on(&record).unwrap();
    for sample in record.samples.iter_mut().filter(|sample| sample.arm.0 == 2) {
        sample.operations = 4;
        sample.elapsed_ns *= 4;
    }
    assert_eq!(report_on(&record).unwrap().summary.groups, before.summary.groups);
}

#[test]
fn fewer_calls_are_weighed_against_the_time() {
    let mut study = Synthetic::ratios(&[("many calls", 1.0), ("other stages", 1.0)]);
    study.arms[2].calls = Some(3_200);
    study.arms[3].calls = Some(1);
    study.arms[3].stages = &[megadir_record::Stage::Read, megadir_record::Stage::Keep];
    let report = report_on(&study.record()).unwrap();
    let calls = comparison(&report).calls.clone().unwrap();
    assert_eq!((calls.most_calls, calls.fewest_calls), (3_200, 32));
    assert!(calls.ratio.interval.unwrap().contains(1.0));
    let finding = report.findings.iter().find(|finding| finding.text.contains("calls,")).unwrap();
    assert!(finding.text.contains("that makes a negligible difference in time, if any"), "{}", finding.text);
}

/// A record of six epochs of five rounds; the data set of each epoch multiplies the second arm's time by its
/// factor.
fn epochs(factors: [f64; 6]) -> Record {
    let mut record = Synthetic::ratios(&[("shifted", 1.0)]).record();
    for sample in &mut record.samples {
        sample.epoch = sample.round / 5;
        if sample.arm.0 == 2 {
            sample.elapsed_ns = (sample.elapsed_ns as f64 * factors[sample.epoch as usize]) as u64;
        }
    }
    record
}

#[test]
fn chance_variation_of_one_data_set_is_no_difference() {
    let record = epochs([1.3, 0.95, 1.25, 0.97, 1.2, 1.1]);
    let report = report_on(&record).unwrap();
    let Outcome::Judged { epochs, verdict, ratio, .. } = comparison(&report).rows[2].outcome else {
        panic!("not judged")
    };
    assert_eq!(epochs, Some(6));
    assert!(matches!(verdict, Verdict::Inconclusive { rounds_to_decide: Some(31..) }), "{verdict:?}");
    assert!(ratio.interval.unwrap().contains(1.0), "{ratio:?}");
    let table = table_of(&report);
    assert!(table.contains("by hierarchical bootstrap over 6 epochs"), "{table}");

    // As rounds of a single epoch they would be called slower. A difference in all epochs still is.
    let mut flat = record;
    flat.samples.iter_mut().for_each(|sample| sample.epoch = 0);
    assert_eq!(verdict_of(&flat), Verdict::Slower { negligible: false });
    assert_eq!(
        verdict_of(&self::epochs([1.3, 1.25, 1.35, 1.3, 1.25, 1.3])),
        Verdict::Slower { negligible: false }
    );
}

/// The table in one line.
fn table_of(report: &Report) -> String {
    let table = megadir_report::render::table(report, 200, Style { color: false, unicode: false });
    table.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn verdict_of(record: &Record) -> Verdict {
    verdict(&report_on(record).expect("a summary"), "shifted").1
}

#[test]
fn a_run_that_might_have_stopped_earlier_has_wider_intervals() {
    let width = |stop: Stop| {
        let mut record = Synthetic::ratios(&[("half", 0.5)]).record();
        record.header.plan.rules.stop = stop;
        let report = report_on(&record).unwrap();
        let table = table_of(&report);
        let looks = table.contains("and for the 5 looks at which the run might have stopped");
        assert_eq!(looks, stop != Stop::Rounds, "{table}");
        assert_eq!(table.contains("30 of at most 30 rounds"), looks, "{table}");
        report.summary.resolution[0].half_width_percent.unwrap()
    };
    assert!(width(Stop::Ratio { half_width: 0.01, rounds_min: 6 }) > 1.2 * width(Stop::Rounds));
    assert!(width(Stop::Difference { half_width_ns: 5.0, rounds_min: 6 }) > 1.2 * width(Stop::Rounds));
}

#[test]
fn a_stopping_rule_that_cannot_be_followed_is_refused() {
    for (stop, why) in [
        (Stop::Ratio { half_width: 0.01, rounds_min: 31 }, "it looks first after 31 of 30 rounds"),
        (
            Stop::Difference { half_width_ns: -1.0, rounds_min: 6 },
            "it stops at a half-width of -1, not above 0",
        ),
    ] {
        let mut record = Synthetic::ratios(&[]).record();
        record.header.plan.rules.stop = stop;
        let error = report_on(&record).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
