//! Blocks that ended early because a directory took no more names, and which arms cannot go on then.

use serde::{Deserialize, Serialize};

use crate::data::When;
use crate::plan::{Cell, CellId, Plan};

/// A directory that took no more names, though its file system had room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refused {
    /// The entries that it held, as listed then; not `.` and `..`.
    pub entries: u64,
    /// By what the limit was told apart from others, with figures.
    pub cause: String,
}

impl Plan {
    /// Returns the arms that cannot go on where a directory took no more names in a block of `cell`: those that work on what it
    /// would have left; on data that were made before the run all others too, for it was changed.
    pub fn stopped_by(&self, cell: CellId) -> impl Iterator<Item = CellId> {
        let refused = self.cells.get(cell.0 as usize);
        let by_arms = refused.is_some_and(|refused| {
            let data = self.data.get(refused.data.0 as usize);
            data.and_then(|data| data.source.made()).is_some_and(|made| made.when == When::ByArms)
        });
        let stopped = move |other: &&Cell| {
            refused.is_some_and(|refused| {
                let later = !by_arms || other.step > refused.step;
                other.id != cell && other.data == refused.data && later
            })
        };
        self.cells.iter().filter(stopped).map(|cell| cell.id)
    }
}
