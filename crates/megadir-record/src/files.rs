//! Work on single files.

use serde::{Deserialize, Serialize};

use crate::data::is_default;

/// Work of a block on a range of a data set's files; one file is one operation.
// The range is the same for each worker, in a tree of its own or in the shared one ([`Sharing`]), so the
// number of files of a block is the length of the range times the number of workers. Ranges allow one
// directory to be filled in several steps, each of which is an arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileWork {
    /// Operation on each file.
    pub operation: FileOperation,
    /// First file of each worker's set.
    pub from: u64,
    /// End of the range (exclusive).
    pub to: u64,
    /// Way of finding the files.
    pub access: Access,
    /// Syncing is part of the time.
    pub sync: SyncPolicy,
    /// `true` to set owner and mode with chown and chmod, as unpacking and restoring do.
    pub owner_and_mode: bool,
    /// Threads or processes that share the work.
    pub workers: Workers,
}

impl FileWork {
    pub fn files(&self) -> u64 {
        self.to.saturating_sub(self.from).saturating_mul(u64::from(self.workers.count))
    }
}

/// Removal of everything in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemoveWork {
    /// Method of removal.
    pub by: Remover,
    /// Threads of the library, or ranks, each of which removes a share of the directories; 1 for other methods.
    pub workers: u32,
    /// Threads, or ranks and their threads.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: WorkerKind,
    /// Number of existing files.
    pub files: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Remover {
    /// One thread that lists a directory and removes each entry as it is listed, depth first.
    PlainLoop,
    /// `remove_contents` of the library `megadir`.
    Library,
    /// `rm -rf` in a process, with the names in the directory as arguments; its start is timed too.
    Rm,
}

impl Remover {
    pub fn name(self) -> &'static str {
        match self {
            Self::PlainLoop => "plain loop",
            Self::Rm => "rm -rf",
            Self::Library => "library",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileOperation {
    /// Create all missing directories without files; the time is given per file.
    MakeDirectories,
    /// open with `O_CREAT O_EXCL`, write, close; missing directories too if the data set creates them on demand.
    Create,
    /// open, read to the end, close.
    Read,
    /// open the existing file, unlink it, close, then create it again under the same name.
    Rewrite,
    /// stat without following symbolic links.
    Stat,
    Unlink,
}

/// Way of finding files, and their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Access {
    Name {
        order: FileOrder,
    },
    /// List each directory, apply the operation to each entry in listing order, and close the directory
    /// (create and rewrite: create a missing directory). All of it is timed.
    Directory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileOrder {
    /// Order of creation.
    AsWritten,
    /// Seeded, different for each block.
    Random,
    /// Order of a listing, directory by directory.
    Listing,
    /// By inode number.
    Inode,
}

/// Durability of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SyncPolicy {
    Never,
    /// fsync of each file before it is closed.
    EachFile,
    /// fsync of each file before it is closed, and of its directory afterwards.
    FileAndDirectory,
    /// One syncfs after the last file.
    AtEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workers {
    /// Each worker has its own range of files.
    pub count: u32,
    /// Threads, processes or ranks.
    pub kind: WorkerKind,
    /// Location of each worker's files.
    pub sharing: Sharing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WorkerKind {
    /// With its own descriptor table if the system supports it.
    #[default]
    Thread,
    Process,
    /// Process that an MPI launcher started, perhaps on another host ([`Ranks`](crate::Ranks)).
    Rank,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Each worker has its own tree, `w0`, `w1` and so on, with as many files as the data set.
    Own,
    /// All workers share one tree with the data set's number of files for each: this measures contention.
    Same,
}
