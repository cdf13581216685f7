//! Going on with a record that was begun: the state that the next block needs is made again, untimed and unrecorded.
//!
//! ```text
//! arms that work on what others left     those of the round that were measured already, in their order
//! all other arms                         each once, so that caches are as warm as after a round
//! ```

use megadir_record::{CellId, Plan, Sample};

use super::block::Works;
use super::grounds::Grounds;
use super::{RunError, failed};
use crate::next::{Block, Step, next, order_after};
use crate::workload::BlockKey;

/// Makes again what the next block needs; `false` if the run is to end.
pub(super) fn replay(
    plan: &Plan,
    samples: &[Sample],
    works: &mut Works<'_>,
    grounds: &mut Grounds<'_>,
) -> Result<bool, RunError> {
    let Step::Block(block) = next(plan, samples) else { return Ok(true) };
    if samples.is_empty() {
        return Ok(true);
    }
    let order = order_after(plan, samples, block.phase, block.round, block.attempt);
    let (depends, rehearses) = (plan.rules.order.depends(), plan.rules.warm_up_rounds_min > 0);
    let until = match (depends, rehearses) {
        (true, _) => block.place as usize,
        (false, true) => order.len(),
        (false, false) => 0,
    };
    for place in 0..until {
        let entered = grounds.enter(&order, place)?;
        if !entered || !one(plan, &block, order[place], samples, works, grounds)? {
            return Ok(false);
        }
        // Where arms do not depend on each other this leaves everything as it is.
        grounds.leave(&order, place)?;
    }
    Ok(true)
}

/// Does a block of an arm as it was done in the round; `false` if the run is to end.
fn one(
    plan: &Plan,
    block: &Block,
    cell: CellId,
    samples: &[Sample],
    works: &mut Works<'_>,
    grounds: &Grounds<'_>,
) -> Result<bool, RunError> {
    if plan.cells[cell.0 as usize].cache.is_cold() {
        // It left everything as it was, and has nothing to warm.
        return Ok(true);
    }
    if samples.iter().any(|sample| sample.cell == cell && sample.refused.is_some()) {
        // Nobody works on what it left.
        return Ok(true);
    }
    let last = samples.iter().rfind(|sample| sample.cell == cell);
    let operations = plan.cells[cell.0 as usize].work.operations();
    let operations = operations.or(last.map(|sample| sample.operations)).unwrap_or(1);
    let key = BlockKey { phase: block.phase, round: block.round, attempt: block.attempt, distinct: false };
    let work = &mut works.works[cell.0 as usize];
    let (directory, control) = (grounds.of(cell), works.control);
    works.stopwatch.clear();
    let done = work
        .ready(directory, key, operations, control)
        .and_then(|()| work.run(directory, operations, &mut works.stopwatch, control))
        .and_then(|_| work.finish(directory, control));
    match done {
        Ok(()) => Ok(true),
        Err(error) => failed(plan, cell, error).map_or(Ok(false), Err),
    }
}
