//! The rule Fill: what creating a file costs in a directory that holds more and more of them.
//!
//! Every bucket of the filling is held against the first, as one family; quantiles of single creations are with the arms.

use megadir_record::{CellId, Work};
use serde::{Deserialize, Serialize};

use super::Figure;
use super::compare::{Outcome, contrasts};
use super::evidence::Evidence;

/// A group read by the rule Fill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fill {
    /// The buckets in the order in which they were filled.
    pub buckets: Vec<Bucket>,
}

/// A part of the filling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bucket {
    /// The arm that filled it.
    pub arm: CellId,
    /// Files that were there before it.
    pub from: u64,
    /// Files that were there after it.
    pub to: u64,
    /// Median time of a file over the rounds, nanoseconds; `None` if it was not measured.
    pub time_ns: Option<Figure>,
    /// The bucket against the first.
    pub outcome: Outcome,
    /// Rounds in which both were measured.
    pub rounds: usize,
}

/// Reads a group by the rule Fill; an error is why it cannot be read.
pub(crate) fn fill(evidence: &Evidence<'_>, arms: &[CellId]) -> Result<Fill, String> {
    let range = |arm: &CellId| match evidence.plan.cells.get(arm.0 as usize).map(|cell| &cell.work) {
        Some(Work::Files(work)) => Some((*arm, work.from, work.to)),
        _ => None,
    };
    let Some(mut ranges) = arms.iter().map(range).collect::<Option<Vec<_>>>() else {
        return Err("one of its arms makes no files".into());
    };
    ranges.sort_by_key(|(_, from, _)| *from);
    let Some(((first, ..), others)) = ranges.split_first() else { return Err("it has no arms".into()) };
    let others: Vec<CellId> = others.iter().map(|(arm, ..)| *arm).collect();
    let mut judged = contrasts(evidence, *first, &others).into_iter();
    let bucket = |(arm, from, to): (CellId, u64, u64)| {
        let of_first = || (evidence.rounds.times(arm).len(), Outcome::Baseline);
        let contrast = (arm != *first).then(|| judged.next()).flatten();
        let (rounds, outcome) =
            contrast.map_or_else(of_first, |contrast| (contrast.rounds, contrast.outcome));
        let time_ns = Figure::median_of(&evidence.rounds.times(arm), evidence.confidence());
        Bucket { arm, from, to, time_ns, outcome, rounds }
    };
    Ok(Fill { buckets: ranges.iter().copied().map(bucket).collect() })
}
