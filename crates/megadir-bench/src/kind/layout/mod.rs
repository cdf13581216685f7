//! The same files in different layouts: written, then read back.

mod plan;

use megadir_record::{FileOrder, MakeDirectories, SyncPolicy};
use serde::Deserialize;

pub(crate) use plan::layouts;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutSpec {
    /// Layouts in the syntax of the command line; the first is the baseline.
    pub layouts: Vec<String>,
    /// Orders in which all files are read back, one after the other.
    pub read_orders: Vec<FileOrder>,
    /// `true` if at the end every directory is listed with a `stat` of each file.
    #[serde(default)]
    pub walk: bool,
    /// When directories are created; nested layouts have an arm for each value.
    #[serde(default = "both")]
    pub directories: Vec<MakeDirectories>,
    /// Number of threads that write one tree; a single thread reads and lists.
    #[serde(default = "one")]
    pub writers: u32,
    pub sync: SyncPolicy,
}

fn both() -> Vec<MakeDirectories> {
    vec![MakeDirectories::OnDemand, MakeDirectories::Before]
}

fn one() -> u32 {
    1
}

impl LayoutSpec {
    /// Returns the first contradiction of a well-formed specification.
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.layouts.len() < 2 || self.read_orders.is_empty() {
            return Some(
                "layout.layouts needs at least two layouts, layout.read_orders at least one order".into(),
            );
        }
        self.directories.is_empty().then(|| "layout.directories needs at least one value".into())
    }
}
