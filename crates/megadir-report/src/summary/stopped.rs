//! Arms that were stopped because a directory took no more names.

use megadir_record::{CellId, Record, Sample};
use serde::{Deserialize, Serialize};

/// An arm that was stopped because a directory took no more names, though there was room, or because a program
/// failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stopped {
    /// The arm.
    pub arm: CellId,
    /// The round in which that was.
    pub round: u32,
    /// The entries that the directory held; 0 if a program failed.
    pub entries: u64,
    /// Evidence for the limit, or how the program failed.
    pub cause: String,
}

/// Returns the arms that were stopped, in the order in which that was.
pub(super) fn stopped(record: &Record) -> Vec<Stopped> {
    let of = |sample: &Sample| {
        let refused = sample.refused.as_ref()?;
        let (entries, cause) = (refused.entries, refused.cause.clone());
        Some(Stopped { arm: sample.cell, round: sample.round, entries, cause })
    };
    record.samples.iter().filter_map(of).collect()
}
