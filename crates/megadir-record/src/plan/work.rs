//! Work of a block of an arm, and the state of the cache before it.

use serde::{Deserialize, Serialize};

use crate::command::{CommandWork, SameWork};
use crate::files::{FileOperation, FileWork, RemoveWork};

/// Work of a block of an arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Work {
    /// Lists the whole directory in each operation, with the given stages.
    List {
        /// Backend that reads, e.g. `getdents`.
        backend: String,
        /// Size of the buffer for one call, bytes.
        buffer_bytes: u64,
        /// Threads that read.
        threads: u32,
        /// Shares of a `split` reader; 1 for other backends.
        shares: u32,
        /// Stages in order; the first is always [`Stage::Read`].
        stages: Vec<Stage>,
    },
    /// Looks up a name in the directory without following symbolic links, one call an operation.
    Lookup {
        /// Existence of the names.
        presence: Presence,
        /// Selection of names.
        keys: Keys,
        /// System call.
        #[serde(default, skip_serializing_if = "LookupCall::is_fstatat")]
        call: LookupCall,
    },
    /// Creates files in a new directory until one is refused, which must be due to the directory's index. An
    /// operation is one directory, which is removed afterwards.
    FillUntilRefused {
        /// Approximate number of entries for the requested size.
        entries_about: u64,
        /// Prediction from before the first block; `None` before the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        predicted: Option<Predicted>,
    },
    /// Applies one operation to each of a range of files; one file an operation.
    Files(FileWork),
    /// Removes everything in the directory; one file an operation.
    Remove(RemoveWork),
    /// Determines name, size and modification time of every regular file in the directory in each operation;
    /// other entries are skipped.
    Attributes {
        /// Method, e.g. `getdents-statx`.
        method: String,
        /// Size of the buffer for one listing call, bytes; `None` for the library's choice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        buffer_bytes: Option<u64>,
        /// Threads that stat entries, or the method's upper limit.
        threads: u32,
        /// `true` to keep names and times of all files in memory; otherwise each file is visited and forgotten.
        keeps: bool,
        /// Expected result, found by another method before the first block; `None` before the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<ExpectedFiles>,
    },
    /// Opens the directory and queries type, size and modification time of some of its entries by name, one
    /// after the other, in each operation; on Windows by full path.
    Ask {
        /// Number of entries, drawn without repetition for every operation.
        files: u64,
    },
    /// Runs a program in a process of its own in each operation.
    Command(Box<CommandWork>),
}

/// Expected result of a method that determines attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExpectedFiles {
    /// Number of regular files.
    pub files: u64,
    /// Order-independent hash of their names, times and, if the method reports them, sizes.
    pub hash: u64,
}

/// Predicted capacity of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Predicted {
    /// Number of entries at the first refusal.
    pub entries: u64,
    /// Lower bound.
    pub low: u64,
    /// Upper bound.
    pub high: u64,
    /// Basis of the prediction, with the names and blocks it holds for.
    pub basis: String,
}

impl Work {
    /// Returns the entries and the hash that [`Counted`](crate::Counted) must have after this work on a data
    /// set with this number of entries and hash; `None` if the work is to find them out.
    #[must_use]
    pub fn expected(&self, entries: u64, hash: u64) -> Option<(u64, u64)> {
        match self {
            Self::List { .. } => Some((entries, hash)),
            // A lookup finds its name or does not; see `Counted`.
            Self::Lookup { presence, .. } => Some((u64::from(*presence == Presence::Present), 0)),
            Self::FillUntilRefused { .. } => None,
            // All files have their expected size.
            Self::Files(work) => Some((work.files(), 0)),
            Self::Remove(work) => Some((work.files, 0)),
            Self::Attributes { expected, .. } => expected.map(|expected| (expected.files, expected.hash)),
            Self::Ask { files } => Some((*files, 0)),
            Self::Command(work) => match work.same {
                SameWork::ExitCode | SameWork::Unequal => Some((0, 0)),
                SameWork::Lines | SameWork::Count | SameWork::Left => {
                    work.expected.map(|expected| (expected.lines, expected.hash))
                }
            },
        }
    }

    /// Returns the number of operations of every block, if the work defines it.
    #[must_use]
    pub fn operations(&self) -> Option<u64> {
        match self {
            Self::List { .. } | Self::Lookup { .. } | Self::FillUntilRefused { .. } => None,
            Self::Attributes { .. } | Self::Ask { .. } => None,
            Self::Files(work) => Some(work.files().max(1)),
            Self::Remove(work) => Some(work.files.max(1)),
            Self::Command(_) => Some(1),
        }
    }

    /// `true` if the work reads file contents, so that it shows if they are cached.
    #[must_use]
    pub fn reads_contents(&self) -> bool {
        match self {
            Self::Files(work) => work.operation == FileOperation::Read,
            // It may.
            Self::Command(_) => true,
            _ => false,
        }
    }

    /// `true` if the work changes nothing, so that it can be repeated in another state of the cache.
    #[must_use]
    pub fn leaves_all(&self) -> bool {
        match self {
            Self::Files(work) => matches!(work.operation, FileOperation::Read | FileOperation::Stat),
            Self::Command(work) => !work.changes,
            Self::List { .. } | Self::Lookup { .. } | Self::Attributes { .. } | Self::Ask { .. } => true,
            Self::FillUntilRefused { .. } | Self::Remove(_) => false,
        }
    }

    /// Returns the change in the number of files by a block; `None` if the work creates and removes none.
    #[must_use]
    pub fn change(&self) -> Option<i64> {
        if let Self::Remove(work) = self {
            return i64::try_from(work.files).ok().map(|files| -files);
        }
        let Self::Files(work) = self else { return None };
        let files = i64::try_from(work.files()).ok()?;
        match work.operation {
            FileOperation::Create => Some(files),
            FileOperation::Unlink => Some(-files),
            FileOperation::Rewrite => Some(0),
            FileOperation::MakeDirectories | FileOperation::Read | FileOperation::Stat => None,
        }
    }

    /// `true` if the gaps between operations are measured separately, so that operations and gaps must add up
    /// to the wall time.
    #[must_use]
    pub fn gaps_are_counted(&self) -> bool {
        // The gaps of others are computed from the wall time, and several workers may run at the same time.
        matches!(self, Self::Lookup { .. })
    }

    /// `true` if the work lists its data set, so that the time per entry is meaningful too.
    #[must_use]
    pub fn lists(&self) -> bool {
        matches!(self, Self::List { .. } | Self::Attributes { .. })
    }

    /// `true` if the work counts all names of its data set.
    #[must_use]
    pub fn counts_names(&self) -> bool {
        matches!(self, Self::List { .. })
    }
}

/// Existence of the names that are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// All of them exist.
    Present,
    /// None of them exists.
    Absent,
}

/// Selection of the names of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// The same name every time.
    Fixed,
    /// Uniformly random.
    Random,
    /// The k-th most popular name with probability proportional to 1 / k; popularity is independent of the
    /// order of creation.
    Zipf,
}

/// System call of a lookup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LookupCall {
    /// `fstatat(2)` with a name relative to the directory: Linux.
    #[default]
    Fstatat,
    /// `GetFileAttributesExW` with the full path, as in .NET's `File.Exists`: Windows.
    AttributesByPath,
    /// `NtQueryFullAttributesFile` with a name relative to the directory: Windows.
    AttributesByHandle,
}

impl LookupCall {
    /// Name of the system's function.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fstatat => "fstatat",
            Self::AttributesByPath => "GetFileAttributesExW",
            Self::AttributesByHandle => "NtQueryFullAttributesFile",
        }
    }

    fn is_fstatat(&self) -> bool {
        *self == Self::Fstatat
    }
}

/// Stage of a listing program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Read the entries and visit each name one time, in the reader's buffer.
    Read,
    /// Keep every name in memory, as a program that sorts must.
    Keep,
    /// Sort the kept names in byte order.
    Sort,
    /// Call statx with the mask of `ls -l`, one call an entry; on Windows GetFileAttributesExW, by full path.
    Attributes,
    /// Query the extended attributes that `ls -l` shows, one or two calls an entry; not on Windows.
    ExtendedAttributes,
    /// Format mode, links, owner, group, size, date and name.
    FormatLong,
    /// Format inode, type, record length, offset and name.
    FormatRaw,
    /// Write the text to a pipe that another thread drains.
    Write,
}

crate::named! {
    /// State of the cache before a block.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum CacheState {
        /// Read before: names and inodes are cached, and contents if the arm reads them.
        Warm = "warm",
        /// Files have not been listed or looked up since their creation: they are recreated before each block.
        Unseen = "unseen",
        /// Names and inodes are cached, file contents are not (fdatasync and POSIX_FADV_DONTNEED on each file).
        DataCold = "data-cold",
        /// Names, inodes and contents are not cached, after sync and drop_caches (privileged, affects the whole
        /// machine).
        VfsCold = "vfs-cold",
        /// Nothing of the file system is cached: it was remounted (only file systems created for the run).
        FsCold = "fs-cold",
    }
}

impl CacheState {
    /// `true` if caches are dropped or files recreated before each block, so that a repetition finds a warm
    /// cache.
    #[must_use]
    pub fn is_cold(self) -> bool {
        self != Self::Warm
    }

    /// `true` if caches are dropped before each block; in a virtual machine, only the guest's.
    #[must_use]
    pub fn drops(self) -> bool {
        matches!(self, Self::DataCold | Self::VfsCold | Self::FsCold)
    }

    /// `true` if names and inodes are dropped before each block, so that they are read from the device.
    #[must_use]
    pub fn drops_names(self) -> bool {
        matches!(self, Self::VfsCold | Self::FsCold)
    }
}
