//! One block of an arm: the caches made ready, the work timed and counted, what it left taken away.

use megadir_record::{Cell, Counted, Phase, Plan, Sample};
use megadir_sys::clock::monotonic_ns;
use megadir_sys::usage::process_usage;

use super::RunError;
use super::grounds::Grounds;
use super::tally::Tally;
use crate::at::At;
use crate::cache::{Before, Caches};
use crate::control::{RunControl, WorkError};
use crate::measure::Stopwatch;
use crate::next::Block;
use crate::workload::{BlockKey, NameSource, Taken, WorkerCommand, Workload, workload};

/// The arms' work, in the plan's order.
pub(super) struct Works<'a> {
    pub(super) works: Vec<Box<dyn Workload + 'a>>,
    pub(super) stopwatch: Stopwatch,
    pub(super) control: RunControl<'a>,
    /// In which state the caches of the data sets are.
    pub(super) caches: Caches,
}

impl<'a> Works<'a> {
    pub(super) fn new(
        plan: &Plan,
        names: &'a [NameSource],
        worker: Option<&'a WorkerCommand>,
        caches: &Caches,
        (control, stopwatch): (RunControl<'a>, Stopwatch),
    ) -> Result<Self, RunError> {
        let work = |cell: &Cell| workload(plan, cell, &names[cell.data.0 as usize], worker);
        let works = plan.cells.iter().map(work).collect::<Result<Vec<_>, _>>();
        let works =
            works.map_err(|error| RunError::Arm { arm: plan.study.clone(), reason: error.to_string() })?;
        Ok(Self { works, stopwatch, control, caches: caches.clone() })
    }
}

/// Measures one block.
pub(super) fn one(
    plan: &Plan,
    works: &mut Works<'_>,
    grounds: &mut Grounds<'_>,
    block: &Block,
    zero_ns: u64,
) -> Result<Sample, WorkError> {
    let (work, stopwatch) = (&mut works.works[block.cell.0 as usize], &mut works.stopwatch);
    let (control, operations) = (works.control, block.operations);
    let cell = &plan.cells[block.cell.0 as usize];
    let distinct = cell.cache.is_cold();
    let key = BlockKey { phase: block.phase, round: block.round, attempt: block.attempt, distinct };
    let tally = Tally::before(cell, grounds.of(block.cell).at(), control)?;
    let before = Before { plan, cell, key, operations, control };
    let readied = works.caches.ready(&mut **work, stopwatch, &before, grounds.places());
    // It may have been opened again.
    let directory = grounds.of(block.cell);
    stopwatch.clear();
    stopwatch.set_rate(cell.rate_per_s);
    let before = process_usage();
    let start_ns = monotonic_ns();
    let worked = readied.and_then(|()| work.run(directory, operations, stopwatch, control));
    let elapsed_ns = monotonic_ns() - start_ns;
    let usage = process_usage().since(before);
    let taken = work.taken().unwrap_or(Taken { elapsed_ns, usage });
    let (counted, refused) = match (worked, &tally) {
        (Ok(counted), None) => (counted, None),
        (Ok(counted), Some(tally)) => (tally.after(counted, directory.at(), control)?, None),
        (Err(WorkError::Refused(refused)), tally) => {
            let tally = tally.as_ref().map(|tally| tally.change(directory.at(), control));
            let entries = tally.transpose()?.unwrap_or(0);
            (Counted { entries, hash: 0, calls: None, written_bytes: 0 }, Some(refused))
        }
        (Err(error), _) => return Err(error),
    };
    work.finish(directory, control)?;
    let done = if refused.is_some() { counted.entries.max(1) } else { operations };
    Ok(Sample {
        epoch: 0,
        round: block.round,
        attempt: block.attempt,
        place: block.place,
        cell: block.cell,
        phase: block.phase,
        start_ns: start_ns.wrapping_sub(zero_ns),
        operations: done,
        elapsed_ns: taken.elapsed_ns.max(u64::from(refused.is_some())),
        user_ns: taken.usage.user_ns,
        system_ns: taken.usage.system_ns,
        read_bytes: taken.usage.read_bytes,
        counted,
        // The warm-up is not judged, and may be longer than the rest.
        latency: stopwatch
            .latency()
            .filter(|_| block.phase == Phase::Measure && refused.is_none())
            .map(Box::new),
        voided: None,
        refused: refused.map(Box::new),
    })
}
