//! Filling directories until the index is full and a file is refused.

mod plan;
mod run;

use serde::Deserialize;

pub(crate) use plan::refusals;
pub(crate) use run::FillUntilFull;

/// `[refusal]` of a study; a size's `entries` is roughly the number of files that fit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillUntilFullSpec {
    pub title: String,
}
