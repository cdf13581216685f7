//! Every kind of warning is triggered by a record with that fault, and has a text and advice.

use megadir_record::jsonl::Resumed;
use megadir_record::{Cut, Phase, Pressure, Record, Stop, VoidReason};
use megadir_report::{Report, Warning};

use crate::report_on;
use crate::single::lookups;
use crate::synthetic::{Synthetic, note};
use crate::warnings::{good, stretch};

/// A kind, and a record with its fault.
type Case = (&'static str, fn() -> Record);

/// A good record after a modification.
fn but(fault: impl FnOnce(&mut Record)) -> Record {
    let mut record = good();
    fault(&mut record);
    record
}

/// Before a run.
fn busy(taken_percent: Option<f64>, cpu_some_10s_percent: Option<f64>) -> Pressure {
    Pressure { taken_percent, cpu_some_10s_percent, ..Pressure::default() }
}

fn lookups_but(fault: impl FnOnce(&mut Record)) -> Record {
    let mut record = lookups();
    fault(&mut record);
    record
}

/// Adds to the number of entries that arms see.
fn see_more(record: &mut Record, arm: Option<u32>, rounds: std::ops::Range<u32>) {
    for sample in &mut record.samples {
        if rounds.contains(&sample.round) && arm.is_none_or(|arm| sample.arm.0 == arm) {
            sample.counted.entries += 1;
        }
    }
}

const CASES: &[Case] = &[
    ("unequal-work", || but(|record| see_more(record, Some(2), 3..9))),
    ("contradictory", || but(|record| drop(record.samples.drain(40..60)))),
    ("data-changed", || but(|record| see_more(record, None, 10..30))),
    ("differs-from-itself", || but(|record| stretch(record, Some(1), |_| 1.2))),
    ("too-few-rounds", || Synthetic { rounds: 5, ..Synthetic::ratios(&[]) }.record()),
    ("incomplete", || but(|record| record.end = None)),
    ("cut-off", || but(|record| (record.end, record.cut) = (None, Some(Cut { line: 97, bytes: 12 })))),
    ("noisy", || {
        but(|record| {
            let early = record.samples.iter_mut().filter(|s| s.phase == Phase::Measure && s.round < 8);
            early.for_each(|sample| sample.voided = Some(VoidReason::StolenTime));
        })
    }),
    ("disturbed", || but(|record| record.header.machine.pressure = busy(Some(23.5), Some(55.0)))),
    ("timer-cost", || but(|record| record.end.as_mut().expect("it was put in").null_loop_ns = Some(1e6))),
    ("delays-not-found", || {
        lookups_but(|record| record.self_check.as_mut().expect("it was put in").delays[0].found = 120)
    }),
    ("unaccounted", || {
        lookups_but(|record| record.self_check.as_mut().expect("it was put in").accounted = 0.9)
    }),
    ("rate-not-kept", || {
        lookups_but(|record| {
            let arms = record.header.plan.arms.iter_mut();
            arms.for_each(|arm| (arm.rate_per_s, arm.operations) = (Some(10_000), Some(1000)));
            for sample in &mut record.samples {
                sample.latency.as_mut().expect("it was put in").since = megadir_record::Since::IntendedStart;
                sample.elapsed_ns = 200_000_000;
            }
        })
    }),
    ("resolution-wide", || {
        but(|record| stretch(record, Some(1), |round| 0.85 + 0.3 * f64::from(round * 7 % 30) / 29.0))
    }),
    ("reference-wide", || {
        but(|record| stretch(record, Some(1), |round| 0.3 + 2.4 * f64::from(round * 7 % 30) / 29.0))
    }),
    ("width-not-reached", || {
        but(|record| record.header.plan.rules.stop = Stop::Ratio { half_width: 1e-6, rounds_min: 10 })
    }),
    ("pressure-rose", || {
        but(|record| {
            record.header.machine.pressure.cpu_some_10s_percent = Some(1.0);
            record.end.as_mut().expect("it was put in").pressure.cpu_some_10s_percent = Some(45.0);
        })
    }),
    ("change-point", || but(|record| stretch(record, None, |round| if round < 15 { 1.0 } else { 1.3 }))),
    ("autocorrelated", || but(|record| stretch(record, None, |round| 1.0 + 0.2 * f64::from(round / 4 % 2)))),
    ("halves-differ", || {
        let mut record = Synthetic { rounds: 12, ..Synthetic::ratios(&[]) }.record();
        stretch(&mut record, None, |round| 1.0 + f64::from(round) * 0.04);
        record
    }),
    ("bimodal", || but(|record| stretch(record, Some(0), |round| if round % 3 == 0 { 1.5 } else { 1.0 }))),
    ("noted", || but(|record| record.notes = vec![note("not-steady", "A trend was left.")])),
];

fn report_of(record: &Record) -> Report {
    report_on(record).expect("the record can be summarised")
}

#[test]
fn every_warning_kind_is_reached_and_has_a_remedy() {
    for (kind, faulty) in CASES {
        let report = report_of(&faulty());
        let found = report.warnings.iter().find(|advisory| advisory.warning.kind() == *kind);
        let advisory = found.unwrap_or_else(|| panic!("no {kind} in {:?}", report.warnings));
        assert!(advisory.text.len() > 15 && advisory.text.ends_with('.'), "{kind}: {}", advisory.text);
        assert!(advisory.advice.len() > 15 && advisory.advice.ends_with('.'), "{kind}: {}", advisory.advice);
    }
}

/// On such a machine, an arm that was 5 % slower was called 1.25 times faster, with an interval.
#[test]
fn a_run_disturbed_by_other_work_must_not_be_used() {
    let loud = |record: &Record| {
        let report = report_of(record);
        let found = report.warnings.iter().find(|advisory| advisory.warning.kind() == "disturbed");
        let advisory = found?;
        assert!(advisory.loud && advisory.advice.starts_with("Do not use this run."), "{advisory:?}");
        let view =
            megadir_report::View { width: 80, style: megadir_report::Style { color: false, unicode: true } };
        let screen = megadir_report::format_named("screen").expect("it exists").render(&report, &view);
        let words: Vec<&str> = screen.split_whitespace().collect();
        assert!(screen.starts_with("WARNING: Other programs had the processor"), "{screen}");
        assert!(
            words.join(" ").contains("Do not use this run. Stop other work and run it again."),
            "{screen}"
        );
        Some(advisory.text.clone())
    };
    for (taken, waited, is_loud) in [
        // As noted by runs beside compilers and tests.
        (Some(9.1), Some(37.1), true),
        (Some(56.9), Some(57.5), true),
        // A system that does not count what waits.
        (Some(30.0), None, true),
        // A quiet machine; what had waited was done; one task came by; an older record.
        (Some(1.4), Some(3.9), false),
        (Some(3.2), Some(28.4), false),
        (Some(8.0), Some(1.5), false),
        (None, Some(55.0), false),
    ] {
        let record = but(|record| record.header.machine.pressure = busy(taken, waited));
        assert_eq!(loud(&record).is_some(), is_loud, "{taken:?} {waited:?}");
    }
    let resumed = but(|record| {
        let (version, pressure) = ("0.1.0".into(), busy(Some(40.0), Some(50.0)));
        record.resumed.push(Resumed { resumed_unix_s: 1, version, pressure });
    });
    let text = loud(&resumed).expect("the second part was disturbed");
    assert!(text.contains("40 %"), "{text}");
}

#[test]
fn work_that_was_there_before_the_run_did_not_begin_during_it() {
    for (before, words) in
        [(1.0, "Other work began during the run"), (60.0, "was there before the run and grew")]
    {
        let record = but(|record| {
            record.header.machine.pressure.cpu_some_10s_percent = Some(before);
            record.end.as_mut().expect("it was put in").pressure.cpu_some_10s_percent = Some(98.0);
        });
        let report = report_of(&record);
        let is_it = |advisory: &&megadir_report::Advisory| advisory.warning.kind() == "pressure-rose";
        let advisory = report.warnings.iter().find(is_it).expect("the pressure rose");
        assert!(advisory.advice.contains(words), "{advisory:?}");
    }
}

#[test]
fn the_table_has_every_kind_once() {
    let unknown = serde_json::from_str::<Warning>(r#"{"kind":"?"}"#).expect_err("no such kind").to_string();
    let (_, all) = unknown.split_once("expected one of ").expect("the kinds are listed");
    let mut all: Vec<&str> = all.split('`').skip(1).step_by(2).collect();
    let mut kinds: Vec<&str> = CASES.iter().map(|(kind, _)| *kind).collect();
    kinds.sort_unstable();
    all.sort_unstable();
    assert_eq!(kinds, all);
}

#[test]
fn reached_width_and_the_runs_own_pressure_are_no_warnings() {
    let mut record = good();
    record.header.plan.rules.stop = Stop::Ratio { half_width: 0.05, rounds_min: 10 };
    let end = record.end.as_mut().expect("it was put in");
    end.pressure.io_some_10s_percent = Some(60.0);
    record.header.machine.pressure.io_some_10s_percent = Some(1.0);
    for arm in &mut record.header.plan.arms {
        arm.cache = megadir_record::CacheState::VfsCold;
    }
    assert_eq!(report_of(&record).warnings, []);
}
