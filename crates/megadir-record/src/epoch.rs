//! Epochs: data sets that are made anew, so that what one of them does by chance is not taken for a difference of arms.

use serde::{Deserialize, Serialize};

/// A later epoch begins; the first one's data sets are in the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Epoch {
    /// The epoch, from 1.
    pub epoch: u32,
    /// The seed of its names, contents and orders.
    pub seed: u64,
    /// What [`Data::hash`](crate::Data::hash) is in it, of each data set in the plan's order.
    pub hashes: Vec<Option<u64>>,
}

/// Returns the epochs of records that were written before there were several.
pub(crate) fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(crate) fn is_one(epochs: &u32) -> bool {
    *epochs == 1
}
