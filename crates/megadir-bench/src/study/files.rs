//! What studies that make, read and remove files say of them, as it is written in a study file.

use megadir_record::{CacheState, FileOrder, MakeDirectories, Sharing, SyncPolicy, WorkerKind};
use serde::Deserialize;

/// Filling one directory: `[fill]`. A size's `smaller` are populations at which creating and removing are measured too.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillSpec {
    /// The heading of the curve of cost against population.
    pub title: String,
    /// Parts of equal size that the filling is told in, 2 to 100.
    pub buckets: u32,
    /// When a file is made durable.
    pub sync: SyncPolicy,
}

/// The same files in different layouts: `[layout]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutSpec {
    /// Layouts as they are written; the first is what the others are compared with.
    pub layouts: Vec<String>,
    /// Orders in which all files are read back, each once after the other.
    pub read_orders: Vec<FileOrder>,
    /// Whether every directory is then listed and every file looked at, as programs do that go through a tree.
    #[serde(default)]
    pub walk: bool,
    /// When directories are made; nested layouts come once for each.
    #[serde(default = "both")]
    pub directories: Vec<MakeDirectories>,
    /// Threads that make the files in one tree; they are read and looked at by one.
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

/// The life of many small files: `[smallfile]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallFileSpec {
    /// Numbers of workers, ascending.
    pub workers: Vec<u32>,
    /// What a worker is.
    pub worker_kind: WorkerKind,
    /// Where each one's files are.
    pub sharing: Sharing,
    /// When files that are written are made durable; the first with all operations, others with those that write.
    pub sync: Vec<SyncPolicy>,
    /// How files are found; the first with all workers, others with the fewest and in the first state of the cache.
    pub access: Vec<AccessSpec>,
    /// Cold states in which files are asked about, read and removed beside the warm one, where they can be had and no other states
    /// are asked for.
    #[serde(default)]
    pub cold: Vec<CacheState>,
}

/// How files are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessSpec {
    /// Each directory is opened, listed, and each entry worked on: compound operations.
    Directory,
    /// By names known beforehand, in the order in which they were made: discrete operations.
    Name,
}

/// Removing trees: `[remove]`. Everyone who removes, on every shape; a loop in one thread is what the others are compared with.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoveSpec {
    /// Numbers of directories that the files are in, ascending; 1 is one huge directory.
    pub directories: Vec<u64>,
    /// Numbers of threads of the library, ascending.
    pub workers: Vec<u32>,
}
