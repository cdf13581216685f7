//! Removing trees: by a loop in one thread, by `rm -rf`, and by the library with several workers.

mod plan;
mod run;

use serde::Deserialize;

pub(crate) use plan::removals;
pub(crate) use run::Removal;

/// `[remove]` of a study: every remover on every shape, compared with a loop in one thread.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoveSpec {
    /// Numbers of directories that share the files, ascending; 1 is one huge directory.
    pub directories: Vec<u64>,
    pub workers: Vec<u32>,
}

impl RemoveSpec {
    /// Returns the first contradiction of a well-formed specification.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let ascend = self.directories.is_sorted_by(|a, b| a < b) && self.workers.is_sorted_by(|a, b| a < b);
        let some = self.directories.first().is_some_and(|first| *first > 0) && !self.workers.is_empty();
        let text = "remove.directories and remove.workers need at least one value each, ascending from 1";
        (!(ascend && some)).then(|| text.into())
    }
}
