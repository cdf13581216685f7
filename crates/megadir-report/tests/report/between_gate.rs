//! The gate over a comparison of runs passes only if both sides measured equal work completely and have no
//! warnings.

use megadir_record::{Cut, Record, Stop, VoidReason};
use megadir_report::View;
use megadir_report::between::{
    Between, Condition, FORMATS, GateVerdict, UnjudgedKind, is_same, markdown, table,
};
use megadir_report::summary::Outcome;

use crate::between::{PLAIN, SINGLE, STRICT, compare, compare_all, gate_of, run, runs};
use crate::synthetic::Synthetic;

/// Compares two runs that differ only by `change` in the new one.
fn gate_over(change: impl Fn(&mut Record)) -> (GateVerdict, String) {
    let (old, mut new) = (run(1, &[("a", 0.5), ("b", 2.0)]), run(2, &[("a", 0.5), ("b", 2.0)]));
    change(&mut new);
    let forward = gate_of(compare(&old, &new), SINGLE);
    // Missing parts of the old run count, too.
    let back = gate_of(compare(&new, &old), SINGLE);
    assert_eq!(
        forward.0 == GateVerdict::NotJudged,
        back.0 == GateVerdict::NotJudged,
        "{}\n{}",
        forward.1,
        back.1
    );
    forward
}

#[track_caller]
fn is_not_judged(change: impl Fn(&mut Record), because: &str) {
    let (verdict, lines) = gate_over(change);
    assert_eq!(verdict, GateVerdict::NotJudged, "{lines}");
    assert!(lines.contains(because), "nothing about '{because}' in:\n{lines}");
    assert!(lines.lines().count() <= 3, "{lines}");
}

#[test]
fn a_gate_passes_where_every_arm_was_measured_on_equal_work() {
    let (verdict, lines) = gate_over(|_| {});
    assert_eq!(verdict, GateVerdict::Passed, "{lines}");
    // A run that stops at a target width is complete with fewer rounds than allowed.
    let (verdict, lines) = gate_over(|new| {
        new.header.plan.rules.stop = Stop::Ratio { half_width: 0.01, rounds_min: 30 };
        new.header.plan.rules.rounds = 1000;
    });
    assert_eq!(verdict, GateVerdict::Passed, "{lines}");
}

#[test]
fn a_gate_is_not_judged_over_unequal_work() {
    let third = |new: &mut Record| {
        new.samples.iter_mut().filter(|sample| sample.arm.0 == 3).for_each(|sample| {
            sample.counted.entries /= 2;
            sample.elapsed_ns *= 3;
        });
    };
    is_not_judged(third, "the new run did other work than it should: b");
    // All arms of the run agree, and saw half as many entries as the old run.
    let all = |new: &mut Record| new.samples.iter_mut().for_each(|sample| sample.counted.entries /= 2);
    is_not_judged(all, "the old and new arms did different work: base; a; b");
    // The names in an existing directory have changed since.
    let existing = |record: &mut Record, hash| {
        record.header.plan.data[0].source = megadir_record::DataSource::Existing { path: "tree".into() };
        record.header.plan.data[0].hash = Some(hash);
        record.samples.iter_mut().for_each(|sample| sample.counted.hash = hash);
    };
    let (mut old, mut new) = (run(1, &[]), run(2, &[]));
    existing(&mut old, 7);
    existing(&mut new, 7);
    assert_eq!(gate_of(compare(&old, &new), SINGLE).0, GateVerdict::Passed);
    existing(&mut new, 8);
    assert_eq!(gate_of(compare(&old, &new), SINGLE).0, GateVerdict::NotJudged);
}

#[test]
fn a_gate_is_not_judged_over_arms_that_were_not_measured_in_full() {
    is_not_judged(
        |new| new.samples.retain(|sample| sample.arm.0 != 3),
        "the new run measured 0 of 30 rounds: b",
    );
    is_not_judged(
        |new| new.samples.retain(|sample| sample.arm.0 != 3 || sample.round < 20),
        "the new run measured 20 of 30 rounds: b",
    );
    // Half of the rounds are missing, but the record claims to be complete.
    is_not_judged(
        |new| new.samples.retain(|sample| sample.round % 2 == 0),
        "the new run measured 15 of 30 rounds: base; a; b",
    );
    let voided = |new: &mut Record| {
        new.samples.iter_mut().filter(|sample| sample.round > 24).for_each(|sample| {
            sample.voided = Some(VoidReason::StolenTime);
        });
    };
    is_not_judged(voided, "measured 25 of 30 rounds (rounds were voided)");
    let refused = |new: &mut Record| {
        let round_9 = new.samples.iter_mut().filter(|sample| sample.arm.0 == 3 && sample.round == 9);
        round_9.for_each(|sample| {
            let (entries, cause) = (1000, "the directory's index is full".to_owned());
            sample.refused = Some(Box::new(megadir_record::Refused { entries, cause }));
        });
        new.samples.retain(|sample| sample.arm.0 != 3 || sample.round < 10);
    };
    is_not_judged(refused, "measured 9 of 30 rounds (its directory took no more names): b");
}

#[test]
fn a_gate_is_not_judged_over_runs_that_did_not_end() {
    let cut = |new: &mut Record| {
        new.samples.retain(|sample| sample.round < 3);
        new.end = None;
        new.cut = Some(Cut { line: 15, bytes: 40 });
    };
    is_not_judged(cut, "the new run has 3 of 30 rounds (it was killed or still goes on)");
    let early = |new: &mut Record| {
        new.samples.retain(|sample| sample.round < 12);
        let end = new.end.as_mut().expect("it has one");
        (end.complete, end.reason) = (false, Some("interrupted".into()));
    };
    is_not_judged(early, "the new run has 12 of 30 rounds (interrupted); finish it with bench run --resume");
}

#[test]
fn a_gate_is_not_judged_over_arms_that_are_missing() {
    let (old, new) = (run(1, &[("a", 0.5), ("gone", 1.0)]), run(2, &[("a", 0.5), ("come", 1.0)]));
    let (verdict, lines) = gate_of(compare(&old, &new), SINGLE);
    assert_eq!(
        (verdict, lines.as_str()),
        (GateVerdict::NotJudged, "the gate cannot be judged: only in the old run: gone")
    );
    // Arms that are only in the new run are not required.
    let (old, new) = (run(1, &[("a", 0.5)]), run(2, &[("a", 0.5), ("come", 1.0)]));
    assert_eq!(gate_of(compare(&old, &new), SINGLE).0, GateVerdict::Passed);
    // Some of the hundreds are named.
    const MANY: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let (old, new) = (run(1, &MANY.map(|arm| (arm, 1.0))), run(2, &[]));
    let (_, lines) = gate_of(compare(&old, &new), SINGLE);
    assert_eq!(lines, "the gate cannot be judged: only in the old run: a; b; c; and 5 more");
}

#[test]
fn gate_refuses_to_compare_a_run_with_the_same_run() {
    let old = run(1, &[("a", 0.5)]);
    let mut longer = run(1, &[("a", 0.5)]);
    longer.samples.truncate(60);
    assert!(is_same(&old, &longer) && !is_same(&old, &run(2, &[("a", 0.5)])));
    let (verdict, lines) = gate_of(compare(&old, &old.clone()), SINGLE);
    assert_eq!(verdict, GateVerdict::NotJudged);
    assert!(lines.contains("the new run is the old run once more"), "{lines}");
}

#[test]
fn a_gate_does_not_let_a_wider_band_of_the_new_record_decide() {
    let (old, mut new) = (run(1, &[("a", 0.5)]), run(2, &[("a", 0.6)]));
    new.header.plan.rules.equivalence_band = 0.5;
    let compared = compare(&old, &new);
    assert_eq!(compared.band, 0.03);
    assert_eq!(gate_of(compared, SINGLE).0, GateVerdict::Slower);
    // The band does not overrule an explicit percentage either.
    let (mut old, mut new) = (run(1, &[("a", 0.5)]), run(2, &[("a", 0.6)]));
    [&mut old, &mut new].into_iter().for_each(|record| record.header.plan.rules.equivalence_band = 0.5);
    let beyond_band = Condition { slower_by: None, ..SINGLE };
    assert_eq!(gate_of(compare(&old, &new), beyond_band).0, GateVerdict::Passed);
    assert_eq!(gate_of(compare(&old, &new), SINGLE).0, GateVerdict::Slower);
}

#[test]
fn gate_states_the_slowdown_it_cannot_exclude() {
    let noisy = |seed, noise| Synthetic { seed, noise, ..Synthetic::ratios(&[("a", 0.5)]) }.record();
    let (verdict, lines) = gate_of(compare(&noisy(1, 0.15), &noisy(2, 0.15)), SINGLE);
    assert_eq!(verdict, GateVerdict::NotJudged, "{lines}");
    assert!(lines.contains("a slowdown of 25 % would not be seen; measure more runs: "), "{lines}");
    let (verdict, lines) = gate_of(compare(&noisy(1, 0.05), &noisy(2, 0.05)), SINGLE);
    assert_eq!(verdict, GateVerdict::Passed, "{lines}");
    assert!(
        lines.contains("no arm is shown to be slower by more than 3 %, but for 2 arms up to "),
        "{lines}"
    );
}

#[test]
fn loud_warnings_stand_above_the_table_and_no_gate_judges_over_them() {
    let different = |new: &mut Record| {
        new.samples.iter_mut().filter(|sample| sample.arm.0 == 1).for_each(|sample| sample.elapsed_ns *= 2);
    };
    let (old, mut new) = (run(1, &[("a", 0.5)]), run(2, &[("a", 0.5)]));
    different(&mut new);
    let compared = compare(&old, &new);
    let loud = "The new run: `base` against itself came out DIFFERENT";
    for text in [table(&compared, 200, PLAIN), markdown(&compared)] {
        let (warning, row) =
            (text.find(loud).expect("it is there"), text.find("geometric mean").expect("a row"));
        assert!(warning < row, "{text}");
    }
    for format in FORMATS {
        let text = (format.render)(&compared, &View { width: 200, style: PLAIN });
        assert!(text.contains("came out DIFFERENT"), "{}: {text}", format.name);
    }
    is_not_judged(different, "the new run: `base` against itself came out DIFFERENT");
    let despite = Condition { despite_warnings: true, ..SINGLE };
    assert_eq!(gate_of(compared, despite).0, GateVerdict::Passed);
}

#[test]
fn pressure_and_sums_that_do_not_add_up_stop_a_gate() {
    let before = |new: &mut Record| new.header.machine.pressure.cpu_some_10s_percent = Some(98.4);
    is_not_judged(before, "the new run: CPU pressure was 98 % over the last 10 s before it");
    let after = |new: &mut Record| {
        new.header.machine.pressure.cpu_some_10s_percent = Some(0.0);
        new.end.as_mut().expect("it has one").pressure.cpu_some_10s_percent = Some(60.0);
    };
    is_not_judged(after, "the new run: Some task waited for the processor");
    let sums = |new: &mut Record| {
        new.self_check = Some(megadir_record::SelfCheck {
            cycle_counter: true,
            ns_per_tick: 0.5,
            timer_ns: 12.0,
            null_loop_ns: 5.0,
            operations: 1000,
            untimed_ns: vec![100_000; 10],
            timed_ns: vec![110_000; 10],
            accounted: 1.999,
            delays: Vec::new(),
        });
    };
    is_not_judged(sums, "add up to 199.9 %");
}

#[test]
fn one_run_per_side_supports_no_claim_on_versions() {
    let compared = compare(&run(1, &[("a", 0.5)]), &run(2, &[("a", 0.5)]));
    let caution = "This shows how these two runs differ, not whether the versions do";
    for format in FORMATS.iter().filter(|format| !["json", "csv"].contains(&format.name)) {
        let text = (format.render)(&compared, &View { width: 200, style: PLAIN });
        assert!(text.contains(caution), "{}: {text}", format.name);
    }
    let (verdict, lines) = gate_of(compared, STRICT);
    assert_eq!(verdict, GateVerdict::NotJudged);
    assert!(lines.contains("give 3 or more a side (--old A B C --new D E F), or --single-run"), "{lines}");
    assert_eq!(lines.lines().count(), 1, "{lines}");
}

#[test]
fn two_runs_a_side_are_too_few_whatever_is_waived() {
    let arms = [("a", 0.5)];
    let compared = compare_all(&runs(1, &[1.0, 1.01], &arms), &runs(11, &[1.3, 1.31, 1.29], &arms));
    assert!(compared.rows.iter().all(|row| matches!(row.outcome, Outcome::TooFewRounds { .. })));
    assert_eq!(compared.unjudged[0].kind, UnjudgedKind::TooFewRuns);
    let (verdict, lines) = gate_of(compared, Condition { despite_warnings: true, ..SINGLE });
    assert_eq!(verdict, GateVerdict::NotJudged);
    assert!(
        lines.contains("2 old runs and 3 new are too few: an interval over runs takes 3 a side"),
        "{lines}"
    );
}

#[test]
fn of_several_runs_the_one_is_named_that_lacks_something() {
    let arms = [("a", 0.5), ("b", 1.0)];
    let (old, mut new) = (runs(1, &[1.0, 1.01, 0.99], &arms), runs(11, &[1.0, 1.01, 0.99], &arms));
    new[1].samples.retain(|sample| sample.arm.0 != 3 || sample.round < 20);
    let (verdict, lines) = gate_of(compare_all(&old, &new), STRICT);
    assert_eq!(verdict, GateVerdict::NotJudged);
    assert_eq!(
        lines,
        "the gate cannot be judged: the new run 'e.jsonl': `b` is missing from round 21 (and 9 more). \
         Do not use this record. Report on an unchanged copy of it, or run it again\n\
         the gate cannot be judged: the new run 'e.jsonl' measured 20 of 30 rounds: b"
    );
    let mut lacking = runs(11, &[1.0, 1.01, 0.99], &arms);
    lacking[2] = runs(13, &[1.0], &[("a", 0.5)]).remove(0);
    let (_, lines) = gate_of(compare_all(&old, &lacking), STRICT);
    assert_eq!(lines, "the gate cannot be judged: not in the new run 'f.jsonl': b");
}

#[test]
fn every_format_contains_the_gate() {
    let (old, mut new) = (run(1, &[("a", 0.5)]), run(2, &[("a", 0.5)]));
    new.end = None;
    let mut compared = compare(&old, &new);
    compared.apply(SINGLE);
    for format in FORMATS {
        let text = (format.render)(&compared, &View { width: 200, style: PLAIN });
        // On a terminal, the reasons are on standard error.
        let words = match format.name {
            "screen" | "table" => "The gate could not be judged, for 1 reason.",
            _ => "it was killed or still goes on",
        };
        assert!(text.contains(words) && text.ends_with('\n'), "{}: {text}", format.name);
    }
    let read: Between =
        serde_json::from_str(&megadir_report::render::pretty(&compared)).expect("it reads back");
    assert_eq!(read.gate.expect("it was asked").verdict, GateVerdict::NotJudged);
}
