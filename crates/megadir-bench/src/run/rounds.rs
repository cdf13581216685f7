//! Warm-up and measured rounds: one block after the other, according to the plan's rules.
//!
//! A round is the unit of all statistics, so voiding concerns a whole round: a single block left out would
//! unbalance the pairs. The reasons are outside of the measured times (stolen time, a clock jump). Voiding
//! rounds because of their times would make any result narrow.

use std::time::SystemTime;

use megadir_record::{Arm, Counted, Line, Note, Phase, Plan, Refused, Sample, VoidReason, Work};
use megadir_sys::clock::monotonic_ns;

use super::block::{ArmWorks, run_block};
use super::{Listeners, Prepared, RunError};
use crate::cache::Caches;
use crate::event::Event;
use crate::host::{TICK_NS, stolen_ticks};
use crate::kind::WorkerSource;
use crate::measure::{Calibration, Stopwatch};
use crate::note::NoteKind;
use crate::run::data_dirs::{DataDirs, RoundDirs};
use crate::run::resume::replay;
use crate::run::setup::keeps_all_rounds;
use crate::schedule::{Block, Outcome, Step, may_redo, next, order_after};

/// Clock difference that makes a round void: nanoseconds, and fraction of the round.
const JUMP_NS: u64 = 10_000_000;
const JUMP_FRACTION: f64 = 0.01;

/// [`RunError::Interrupted`] if the run was stopped. `samples` are the earlier ones.
///
/// The loop asks `next` for each step and keeps no schedule of its own, so that a resumed run decides exactly
/// as an uninterrupted one. The order of the round is computed again after each sample, since a refusal
/// shortens it. A disturbed round is voided and repeated while the plan allows it, and counts with a note
/// after that.
///
/// ```text
/// next -> Starts -> enter directories -> block -> recorded -> [last of the round: void? intact?] -> next ... Done
/// ```
pub(crate) fn measure(
    prepared: &mut Prepared<'_>,
    mut samples: Vec<Sample>,
    calibration: Calibration,
    listeners: &mut Listeners<'_, '_>,
) -> Result<(), RunError> {
    let Prepared { plan, epoch, data, truths, names, control, worker, ranks, caches, volumes, .. } = prepared;
    let (plan, control) = (&*plan, *control);
    let source = WorkerSource { command: worker.as_ref(), ranks: *ranks };
    let mut works = ArmWorks::new(plan, names, source, caches, (control, Stopwatch::new(calibration)))?;
    let keeps = keeps_all_rounds(plan, volumes);
    if !keeps && plan.rules.order.depends() {
        listeners.notes([NoteKind::RoomReused.note(ROOM_REUSED.into())])?;
    }
    let mut round_dirs = RoundDirs::new(DataDirs { plan, volumes, directories: data, control }, keeps);
    replay(plan, &samples, &mut works, &mut round_dirs)?;
    // Rounds that count although disturbed: the limit of repeats was reached.
    let mut disturbed = 0;
    let mut is_noted = false;
    let mut watch = Watch::start();
    loop {
        let block = match next(plan, &samples) {
            Step::Block(block) => block,
            Step::Done(outcome) => return emit_outcome(&outcome, disturbed, listeners),
        };
        let failed = |error| RunError::of_arm(&plan.arms[block.arm.0 as usize].name, error);
        listeners.emit(&Event::Starts { plan, block: &block })?;
        if block.place == 0 {
            watch = Watch::start();
        }
        let turn = (block.phase, block.round, block.attempt);
        let order = order_after(plan, &samples, turn);
        round_dirs.enter(&order, block.place as usize)?;
        let sample =
            run_block(plan, &mut works, &mut round_dirs, &block, prepared.zero_ns).map_err(failed)?;
        round_dirs.data_dirs.volumes.check_disks()?;
        let sample = Sample { epoch: *epoch, ..sample };
        if let Some(text) = record_sample((plan, truths), &sample, &mut works.caches, listeners)? {
            prepared.unequal_blocks += 1;
            // Once per epoch.
            if !std::mem::replace(&mut is_noted, true) {
                listeners.notes([NoteKind::UnequalWork.note(text)])?;
            }
        }
        // The times of single operations would fill the memory.
        samples.push(Sample { latency: None, ..sample });
        let order = order_after(plan, &samples, turn);
        let last = block.place as usize + 1 == order.len();
        if last
            && block.phase == Phase::Measure
            && let Some(reason) = watch.void(plan.rules.stolen_fraction_max)
        {
            match may_redo(plan, &samples) {
                true => void(&mut samples, &block, reason, listeners)?,
                false => listeners.notes(count_disturbed(&mut disturbed, block.round, reason))?,
            }
        }
        if let Some(used) = round_dirs.used(&order, block.place as usize)? {
            listeners.record(&Line::Used(used))?;
        }
        round_dirs.leave(&order, block.place as usize)?;
        if last {
            let notes = works.intact.after_round(&order, block.round, &mut round_dirs.data_dirs);
            listeners.notes(notes.map_err(failed)?)?;
        }
        if last && plan.rules.order.depends() {
            listeners.emit(&Event::EpochEnds)?;
        }
    }
}

/// Returns why the work of the block is unequal, if it is.
fn record_sample(
    (plan, truths): (&Plan, &[Counted]),
    sample: &Sample,
    caches: &mut Caches,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Option<String>, RunError> {
    let planned = &plan.arms[sample.arm.0 as usize];
    listeners.record(&Line::Sample(sample.clone()))?;
    listeners.notes(caches.after(planned, sample))?;
    let Some(refused) = &sample.refused else { return Ok(unequal(truths, planned, sample)) };
    listeners.notes([stopped(plan, planned, refused)]).map(|()| None)
}

/// Note on an arm that has ended before its time: a full directory, or a program that fails.
fn stopped(plan: &Plan, planned: &Arm, refused: &Refused) -> Note {
    if let Work::Command(_) = planned.work {
        let text = format!("`{}`: {}; the arm is omitted from here on", planned.name, refused.cause);
        return NoteKind::ProgramFailed.note(text);
    }
    let others = match plan.stopped_by(planned.id).count() {
        0 => "the arm is".to_owned(),
        1 => "the arm and the one that needs its files are".to_owned(),
        others => format!("the arm and the {others} that need its files are"),
    };
    NoteKind::IndexFull.note(format!(
        "{}: directory index full at {} entries, not blocks and not inodes ({}); {others} omitted from here on",
        planned.name, refused.entries, refused.cause
    ))
}

const ROOM_REUSED: &str = "the files of each round were removed before the next, because there is not enough room to keep them to the end";

/// `None` if the work equals the data set's expected entries, or these are unknown.
fn unequal(truths: &[Counted], planned: &Arm, sample: &Sample) -> Option<String> {
    let truth = &truths[planned.data.0 as usize];
    let (there, hash) = planned.work.expected(truth.entries, truth.hash)?;
    let (round, arm, seen) = (sample.round, &planned.name, sample.counted.entries);
    if (seen, sample.counted.hash) == (there, hash) {
        return None;
    }
    Some(match planned.work {
        Work::Command(_) => format!(
            "`{arm}`: in round {round} the result differed from the trial before the run ({seen} \
            lines or entries, {there} expected)"
        ),
        _ if !planned.work.lists() => {
            format!("{arm}: in round {round} the names found were not the expected names")
        }
        _ if seen != there => format!("{arm} saw {seen} entries in round {round}; expected {there}"),
        _ => format!("{arm} did not see the expected names in round {round}"),
    })
}

/// Marks the samples of the round in memory, from the last one backwards, and records one line that voids
/// them: lines of the record are never changed.
fn void(
    samples: &mut [Sample],
    block: &Block,
    reason: VoidReason,
    listeners: &mut Listeners<'_, '_>,
) -> Result<(), RunError> {
    let of_round = |sample: &&mut Sample| {
        (sample.phase, sample.round, sample.attempt) == (block.phase, block.round, block.attempt)
    };
    samples.iter_mut().rev().take_while(of_round).for_each(|sample| sample.voided = Some(reason));
    match samples.last() {
        Some(&Sample { epoch, round, attempt, .. }) => {
            listeners.record(&Line::Void { epoch, round, attempt, reason })
        }
        None => Ok(()),
    }
}

/// Notes the first, because a run may not reach its end.
fn count_disturbed(disturbed: &mut u32, round: u32, reason: VoidReason) -> Option<Note> {
    *disturbed += 1;
    let cause = match reason {
        VoidReason::StolenTime => "the processor was taken away",
        VoidReason::ClockJump => "a clock jumped",
    };
    let text = format!(
        "in round {round} {cause}; the limit of repeated rounds is reached, so this round and later disturbed rounds count"
    );
    (*disturbed == 1).then(|| NoteKind::Noisy.note(text))
}

/// Notes on the rounds as a whole, once the last one is done.
fn emit_outcome(
    outcome: &Outcome,
    disturbed: u32,
    listeners: &mut Listeners<'_, '_>,
) -> Result<(), RunError> {
    if !outcome.steady {
        let text = "the warm-up reached its limit while times still had a trend".to_owned();
        listeners.notes([NoteKind::NotSteady.note(text)])?;
    }
    let (lost, redone) = (outcome.lost, outcome.redone);
    if lost + disturbed > 0 {
        let text = format!(
            "{redone} void rounds were repeated, the maximum; {disturbed} further disturbed rounds count, and {lost} stay void"
        );
        listeners.notes([NoteKind::Noisy.note(text)])?;
    }
    Ok(())
}

/// Clocks at the start of a round. Stolen time is counted in ticks of 10 ms over all processors, and is
/// `None` where the system does not report it.
struct Watch {
    stolen_ticks: Option<u64>,
    monotonic_ns: u64,
    wall: SystemTime,
}

impl Watch {
    fn start() -> Self {
        Self { stolen_ticks: stolen_ticks(), monotonic_ns: monotonic_ns(), wall: SystemTime::now() }
    }

    fn void(&self, stolen_fraction_max: f64) -> Option<VoidReason> {
        let elapsed_ns = monotonic_ns() - self.monotonic_ns;
        if let (Some(before), Some(after)) = (self.stolen_ticks, stolen_ticks()) {
            let stolen_ns = after.saturating_sub(before) * TICK_NS;
            if stolen_ns as f64 > stolen_fraction_max * elapsed_ns as f64 {
                return Some(VoidReason::StolenTime);
            }
        }
        // `elapsed` fails if the clock was set back; 0 then counts as a jump.
        let wall_ns = self.wall.elapsed().map_or(0, |wall| wall.as_nanos() as u64);
        let allowed_ns = JUMP_NS + (JUMP_FRACTION * elapsed_ns as f64) as u64;
        (wall_ns.abs_diff(elapsed_ns) > allowed_ns).then_some(VoidReason::ClockJump)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_disturbed_round_is_reported_at_once() {
        let mut disturbed = 0;
        let note = count_disturbed(&mut disturbed, 7, VoidReason::StolenTime).unwrap();
        assert_eq!(note.kind, "noisy");
        assert!(note.text.starts_with("In round 7 the processor was taken away;"), "{}", note.text);
        assert_eq!(count_disturbed(&mut disturbed, 9, VoidReason::ClockJump), None);
        assert_eq!(disturbed, 2);
    }
}
