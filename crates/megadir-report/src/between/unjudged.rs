//! Reasons why a gate cannot be judged.
//!
//! ```text
//! runs: too few, the same one twice, warned, incomplete     -> a reason each
//! arms of the old side: missing, other work, missing rounds -> one reason for all arms with the same text
//! ```
//!
//! Arms that are new are no reason, since there is nothing that they could be slower than.

use megadir_record::{Arm, Phase, Record, Sample, Stop};
use megadir_stats::RUNS_MIN;

use super::gate::{Unjudged, UnjudgedKind};
use super::matched::{Matched, Side, saw_the_same};
use super::{Basis, Between, NEW, OLD, Run};
use crate::summary::{Ending, Outcome, Rounds};
use crate::text;

pub(super) fn reasons<'a>(between: &Between, sides: &[Side<'a>; 2], arms: &[Matched<'a>]) -> Vec<Unjudged> {
    let [old, new] = sides;
    let mut reasons = Vec::new();
    reasons.extend(runs_a_side(between.basis, old.runs.len(), new.runs.len()));
    reasons.extend(same_runs(old, new));
    let warned = between.doubts.iter().map(|doubt| format!("{}: {}", doubt.run, doubt.text));
    reasons.extend(warned.map(|text| Unjudged::whole(UnjudgedKind::Warned, &text)));
    for side in sides {
        reasons.extend(side.runs.iter().filter_map(|run| incomplete(side, run)));
    }
    let mut of_arms = Vec::new();
    // Rows exist only for arms on both sides, in the order of `arms`; the iterator follows them.
    let mut outcomes = between.rows.iter().map(|row| &row.outcome);
    for arm in arms {
        let outcome = if arm.is_in(OLD) && arm.is_in(NEW) { outcomes.next() } else { None };
        if arm.is_in(OLD) {
            let reason = of_arm(arm, outcome, sides, between.basis);
            of_arms.extend(reason.map(|reason| (reason, arm.planned.name.clone())));
        }
    }
    // Arms with the same reason share a line.
    let of_arms = text::grouped(of_arms).into_iter();
    reasons.extend(of_arms.map(|((kind, text), arms)| Unjudged { kind, text, arms }));
    reasons
}

fn runs_a_side(basis: Basis, old: usize, new: usize) -> Option<Unjudged> {
    match basis {
        Basis::Runs => None,
        Basis::Rounds => Some(Unjudged::whole(
            UnjudgedKind::SingleRun,
            &format!(
                "one run a side shows how these two runs differ, not whether the versions do; give {RUNS_MIN} or more a side \
                 (--old A B C --new D E F), or --single-run to judge these two"
            ),
        )),
        Basis::TooFewRuns => Some(Unjudged::whole(
            UnjudgedKind::TooFewRuns,
            &format!(
                "{} and {new} new are too few: an interval over runs takes {RUNS_MIN} a side; run the study again",
                text::counted(old as u64, "old run")
            ),
        )),
    }
}

fn same_runs(old: &Side<'_>, new: &Side<'_>) -> Option<Unjudged> {
    let (before, after) = old.runs.iter().find_map(|before| {
        Some((before, new.runs.iter().find(|after| is_same(&before.report.record, &after.report.record))?))
    })?;
    let text =
        format!("{} is {} once more; measure the new version", new.name_of(after), old.name_of(before));
    Some(Unjudged::whole(UnjudgedKind::SameRun, &text))
}

/// Records of the same run; one may be longer.
/// Start, seed and the samples of both: a longer record of the same run begins with the samples of the
/// shorter one. Records without samples are never the same.
pub fn is_same(left: &Record, right: &Record) -> bool {
    let started = |record: &Record| (record.header.started_unix_s, record.header.plan.seed);
    let taken =
        |sample: &Sample| (sample.epoch, sample.round, sample.arm, sample.start_ns, sample.elapsed_ns);
    let mut both = left.samples.iter().zip(&right.samples).peekable();
    started(left) == started(right)
        && both.peek().is_some()
        && both.all(|(left, right)| taken(left) == taken(right))
}

fn incomplete(side: &Side<'_>, run: &Run<'_>) -> Option<Unjudged> {
    let progress = &run.report.summary.progress;
    let why = match &progress.ending {
        Ending::Complete => return None,
        Ending::Early { reason } => reason.clone().unwrap_or_else(|| "it ended early".into()),
        Ending::Killed { .. } => "it was killed or still goes on".into(),
    };
    let text = format!(
        "{} has {} of {} rounds ({}); finish it with bench run --resume",
        side.name_of(run),
        progress.rounds_used,
        progress.rounds_planned,
        why.trim_end_matches('.')
    );
    Some(Unjudged::whole(UnjudgedKind::Incomplete, &text))
}

/// First reason why this arm cannot be judged, with the most fundamental one first: absent, other work,
/// missing rounds, different data on the two sides, and only then no interval. With too few runs a side every
/// arm lacks an interval, so this is one reason for the whole comparison and none of the arm.
fn of_arm<'a>(
    arm: &Matched<'a>,
    outcome: Option<&Outcome>,
    sides: &[Side<'a>; 2],
    basis: Basis,
) -> Option<(UnjudgedKind, String)> {
    if !arm.is_in(NEW) {
        let runs = if sides[OLD].runs.len() > 1 { "runs" } else { "run" };
        return Some((UnjudgedKind::Missing, format!("only in the old {runs}")));
    }
    for (side, planned_arms) in sides.iter().zip(&arm.arms) {
        for ((run, planned), rounds) in side.runs.iter().zip(planned_arms).zip(&side.rounds) {
            let name = side.name_of(run);
            let Some(planned) = *planned else {
                return Some((UnjudgedKind::Missing, format!("not in {name}")));
            };
            if !run.did_equal_work(planned) {
                return Some((UnjudgedKind::UnequalWork, format!("{name} did other work than it should")));
            }
            if let Some(missing) = missing_rounds(run, rounds, planned) {
                return Some((UnjudgedKind::PartlyMeasured, format!("{name} {missing}")));
            }
        }
    }
    if !saw_the_same(arm, sides) {
        return Some((UnjudgedKind::UnequalWork, "the old and new arms did different work".into()));
    }
    let judged = matches!(outcome, Some(Outcome::Judged { adjusted: Some(_), .. }));
    let lacking = match basis {
        Basis::Rounds => "too few rounds for an interval",
        Basis::Runs => "the runs have no interval",
        Basis::TooFewRuns => return None,
    };
    (!judged).then(|| (UnjudgedKind::NoInterval, lacking.into()))
}

fn missing_rounds(run: &Run<'_>, rounds: &Rounds<'_>, planned: &Arm) -> Option<String> {
    let measured = rounds.samples(planned.id).count();
    let rules = &run.report.record.header.plan.rules;
    // A stopping rule ends a run early: all arms have the same number of rounds.
    let all = if rules.stop == Stop::Rounds { rules.rounds as usize } else { rounds.keys().len() };
    let of_arm = || run.report.record.samples.iter().filter(|sample| sample.arm == planned.id);
    let refused = of_arm().any(|sample| sample.refused.is_some());
    let why = match refused {
        true => " (its directory took no more names)",
        false if of_arm().any(|sample| sample.phase == Phase::Measure && sample.voided.is_some()) => {
            " (rounds were voided)"
        }
        false => "",
    };
    // Rounds that a run without an end lacks are covered by the reason for the whole run.
    let ended_early = run.report.summary.progress.ending != Ending::Complete && !refused;
    (measured < all && !ended_early).then(|| format!("measured {measured} of {all} rounds{why}"))
}
