//! Work on files one after the other: what is done to each, in which order, by whom, and how it is made durable.

use serde::{Deserialize, Serialize};

/// What one block does to a range of a data set's files; one file is one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileWork {
    /// What is done to each file.
    pub operation: FileOperation,
    /// The first file of each worker's set.
    pub from: u64,
    /// The one after the last.
    pub to: u64,
    /// How files are found, and in which order.
    pub access: Access,
    /// When what was written is made durable; part of the time.
    pub sync: SyncPolicy,
    /// Whether a file that was written is given owner and mode by calls of their own (chown, chmod), as a program that
    /// unpacks or restores does.
    pub owner_and_mode: bool,
    /// Who works.
    pub workers: Workers,
}

impl FileWork {
    /// Returns the files of all workers.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.to.saturating_sub(self.from).saturating_mul(u64::from(self.workers.count))
    }
}

/// Removing everything in a directory, with directories below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemoveWork {
    /// Who removes.
    pub by: Remover,
    /// Threads that the library may use; 1 for the others.
    pub workers: u32,
    /// The files that there are.
    pub files: u64,
}

/// Who removes a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Remover {
    /// One thread that lists a directory and removes each entry when it is told of it, depth first.
    PlainLoop,
    /// `remove_contents` of the library `megadir`.
    Library,
    /// A process `rm -rf` that is given the names in the directory; its start is part of the time.
    Rm,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileOperation {
    /// Makes all directories of the data set that are missing, without any file; their time is told by the file.
    MakeDirectories,
    /// open with `O_CREAT | O_EXCL`, write, close; directories that are missing are made where the data set says on demand.
    Create,
    /// open, read to the end, close.
    Read,
    /// open the existing file, unlink it, close, and then as for create under the same name.
    Rewrite,
    /// stat, following no symbolic link.
    Stat,
    /// unlink.
    Unlink,
}

impl FileOperation {
    /// Returns the word for it in names of arms and of kinds of work.
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
    /// By names known beforehand.
    Name {
        /// The order.
        order: FileOrder,
    },
    /// Each directory is opened and listed, the operation done to every entry in listing order, and the directory closed
    /// (create and rewrite: each directory is made if it is missing). All of that is timed.
    Directory,
}

/// The order in which files with known names are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileOrder {
    /// In the order in which they were made.
    AsWritten,
    /// In a seeded random order, another one for each block.
    Random,
    /// In the order in which the file system lists them, directory by directory.
    Listing,
    /// By inode number.
    Inode,
}

/// When what was written is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SyncPolicy {
    /// Whenever the system likes.
    Never,
    /// fsync of each file before it is closed.
    EachFile,
    /// fsync of each file before it is closed, and of its directory after it.
    FileAndDirectory,
    /// One syncfs after the last file.
    AtEnd,
}

/// Who works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workers {
    /// How many; each works on a range of files of its own.
    pub count: u32,
    /// As what.
    pub kind: WorkerKind,
    /// Where each one's files are.
    pub sharing: Sharing,
}

/// What a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WorkerKind {
    /// A thread with a descriptor table of its own, where the system allows that.
    Thread,
    /// A process.
    Process,
}

/// Where the files of several workers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Each worker has a tree of its own, `w0`, `w1` and so on, with as many files as the data set says.
    Own,
    /// All work in one tree, which has as many files as the data set says for each of them; contention is what is measured.
    Same,
}
