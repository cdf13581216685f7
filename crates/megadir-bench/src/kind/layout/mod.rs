//! The same files in different layouts: written, then read back.

mod plan;

use megadir_record::{FileOrder, MakeDirectories, SyncPolicy};
use serde::Deserialize;

pub(crate) use plan::layouts;

/// `[layout]` of a study.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutSpec {
    /// Layouts in the syntax of the command line; the others are compared with the first.
    pub layouts: Vec<String>,
    /// Orders in which all files are read back, one after the other.
    pub read_orders: Vec<FileOrder>,
    /// `true` if every directory is listed at the end and every file in it examined.
    #[serde(default)]
    pub walk: bool,
    /// When directories are made; nested layouts come once for each value.
    #[serde(default = "both")]
    pub directories: Vec<MakeDirectories>,
    /// Number of threads that make the files in one tree; one thread reads and examines them.
    #[serde(default = "one")]
    pub writers: u32,
    /// When a file is made durable.
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
                "layout.layouts needs two layouts or more, layout.read_orders one order or more".into(),
            );
        }
        self.directories.is_empty().then(|| "layout.directories needs one value or more".into())
    }
}
