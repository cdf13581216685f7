//! Work on single files: operation, order, workers, and durability.

use serde::{Deserialize, Serialize};

/// Work of one block on a range of a data set's files; one file is one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileWork {
    pub operation: FileOperation,
    /// First file of each worker's set.
    pub from: u64,
    /// End of the range (exclusive).
    pub to: u64,
    /// How files are found, and in which order.
    pub access: Access,
    /// Durability of writes; syncing is part of the time.
    pub sync: SyncPolicy,
    /// `true` to set owner and mode of written files with chown and chmod, as unpacking and restoring do.
    pub owner_and_mode: bool,
    pub workers: Workers,
}

impl FileWork {
    /// Number of files over all workers.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.to.saturating_sub(self.from).saturating_mul(u64::from(self.workers.count))
    }
}

/// Removal of everything in a directory, including subdirectories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemoveWork {
    /// Program or method that removes.
    pub by: Remover,
    /// Threads of the library; 1 for the rest.
    pub workers: u32,
    /// Number of existing files.
    pub files: u64,
}

/// Method to remove a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Remover {
    /// One thread that lists a directory and removes each entry as it is listed, depth first.
    PlainLoop,
    /// `remove_contents` of the library `megadir`.
    Library,
    /// A process `rm -rf` with the names in the directory as arguments; its start is part of the time.
    Rm,
}

impl Remover {
    /// Name of the program or method.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PlainLoop => "plain loop",
            Self::Rm => "rm -rf",
            Self::Library => "library",
        }
    }
}

/// Operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileOperation {
    /// Create all missing directories of the data set, without files; the time is given per file.
    MakeDirectories,
    /// open with `O_CREAT | O_EXCL`, write, close; creates missing directories if the data set creates them on
    /// demand.
    Create,
    /// open, read to the end, close.
    Read,
    /// open the existing file, unlink it, close, then create it again under the same name.
    Rewrite,
    /// stat without following symbolic links.
    Stat,
    /// unlink.
    Unlink,
}

impl FileOperation {
    /// Word in names of arms and kinds of work.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::MakeDirectories => "make directories",
            Self::Create => "write",
            Self::Read => "read",
            Self::Rewrite => "rewrite",
            Self::Stat => "stat",
            Self::Unlink => "unlink",
        }
    }
}

/// How files are found, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Access {
    /// By known names.
    Name { order: FileOrder },
    /// Open and list each directory, apply the operation to each entry in listing order, and close the
    /// directory (create and rewrite: create a missing directory). All of it is timed.
    Directory,
}

/// Order of files with known names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileOrder {
    /// Order of creation.
    AsWritten,
    /// Seeded random order, different for each block.
    Random,
    /// Listing order of the file system, directory by directory.
    Listing,
    /// By inode number.
    Inode,
}

/// Durability of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SyncPolicy {
    /// No sync.
    Never,
    /// fsync of each file before it is closed.
    EachFile,
    /// fsync of each file before it is closed, and of its directory afterwards.
    FileAndDirectory,
    /// One syncfs after the last file.
    AtEnd,
}

/// Workers of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workers {
    /// Number of workers, each with its own range of files.
    pub count: u32,
    pub kind: WorkerKind,
    /// Location of each worker's files.
    pub sharing: Sharing,
}

/// Kind of worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WorkerKind {
    /// Thread, with its own descriptor table if the system supports it.
    Thread,
    /// Process.
    Process,
    /// Process that an MPI launcher started, perhaps on another host ([`Ranks`](crate::Ranks)).
    Rank,
}

/// Location of the files of several workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Each worker has its own tree, `w0`, `w1` and so on, with the number of files of the data set.
    Own,
    /// All workers share one tree, with the number of files of the data set for each: this measures contention.
    Same,
}
