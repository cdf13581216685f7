//! Filling one directory: the cost of creating a file at every population.

mod plan;

use megadir_record::SyncPolicy;
use serde::Deserialize;

pub(crate) use plan::fills;

/// `[fill]` of a study. A size's `smaller` are further populations at which create and unlink are measured.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillSpec {
    pub title: String,
    /// Number of equal parts of the curve, 2 to 100.
    pub buckets: u32,
    pub sync: SyncPolicy,
}
