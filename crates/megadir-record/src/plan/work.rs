//! Work of an arm, and the state of the cache before it.

use serde::{Deserialize, Serialize};

use crate::command::{CommandWork, SameWork};
use crate::data::is_default;
use crate::files::{FileOperation, FileWork, RemoveWork};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Work {
    /// Lists the whole directory in each operation.
    List {
        /// For example `getdents`.
        backend: String,
        /// For one call.
        buffer_bytes: u64,
        threads: u32,
        /// Shares of a `split` reader; 1 for other backends.
        shares: u32,
        /// The first is always [`Stage::Read`].
        stages: Vec<Stage>,
    },
    /// Looks up a name without following symbolic links, one call an operation.
    Lookup {
        presence: Presence,
        keys: Keys,
        #[serde(default, skip_serializing_if = "is_default")]
        call: LookupCall,
    },
    /// Creates files in a new directory until one is refused by the directory's index. One directory is one
    /// operation and is removed afterwards.
    FillUntilRefused {
        entries_about: u64,
        /// From before the first block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        predicted: Option<Predicted>,
    },
    Files(FileWork),
    /// One file is one operation.
    Remove(RemoveWork),
    /// Determines name, size and modification time of every regular file in the directory in each operation.
    Attributes {
        /// For example `getdents-statx`.
        method: String,
        /// For one listing call; `None` for the library's choice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        buffer_bytes: Option<u64>,
        /// Threads that stat entries, or the method's upper limit.
        threads: u32,
        /// `true` to keep names and times of all files in memory.
        keeps: bool,
        /// Found by another method before the first block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<ExpectedFiles>,
    },
    /// Opens the directory and queries type, size and modification time of some entries by name in each
    /// operation; on Windows by full path.
    #[serde(rename = "ask")]
    StatSome {
        /// Drawn without repetition for every operation.
        files: u64,
    },
    /// Runs a program in each operation.
    Command(Box<CommandWork>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExpectedFiles {
    /// Number of regular files.
    pub files: u64,
    /// Order-independent, of names, times and, if the method reports them, sizes.
    pub hash: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Predicted {
    /// At the first refusal.
    pub entries: u64,
    /// Lower bound of `entries`.
    pub low: u64,
    /// Upper bound of `entries`.
    pub high: u64,
    /// With the names and blocks it holds for.
    pub basis: String,
}

impl Work {
    /// Entries and hash that [`Counted`](crate::Counted) must have on a data set with this number of entries
    /// and hash; `None` if the work is to find them out.
    pub fn expected(&self, entries: u64, hash: u64) -> Option<(u64, u64)> {
        match self {
            Self::List { .. } => Some((entries, hash)),
            // See `Counted`.
            Self::Lookup { presence, .. } => Some((u64::from(*presence == Presence::Present), 0)),
            Self::FillUntilRefused { .. } => None,
            Self::Files(work) => Some((work.files(), 0)),
            Self::Remove(work) => Some((work.files, 0)),
            Self::Attributes { expected, .. } => expected.map(|expected| (expected.files, expected.hash)),
            Self::StatSome { files } => Some((*files, 0)),
            Self::Command(work) => match work.same {
                SameWork::ExitCode | SameWork::Unequal => Some((0, 0)),
                SameWork::Lines | SameWork::Count | SameWork::Left => {
                    work.expected.map(|expected| (expected.lines, expected.hash))
                }
            },
        }
    }

    pub fn operations(&self) -> Option<u64> {
        match self {
            Self::List { .. } | Self::Lookup { .. } | Self::FillUntilRefused { .. } => None,
            Self::Attributes { .. } | Self::StatSome { .. } => None,
            Self::Files(work) => Some(work.files().max(1)),
            Self::Remove(work) => Some(work.files.max(1)),
            Self::Command(work) => Some(work.reading.as_ref().map_or(1, |reading| reading.files.max(1))),
        }
    }

    pub fn reads_contents(&self) -> bool {
        match self {
            Self::Files(work) => work.operation == FileOperation::Read,
            Self::Command(_) => true,
            _ => false,
        }
    }

    /// A command that changes its files, which are created again before the next block.
    pub fn is_changing_command(&self) -> bool {
        matches!(self, Self::Command(work) if work.changes)
    }

    /// Can be repeated in another state of the cache.
    pub fn leaves_all(&self) -> bool {
        match self {
            Self::Files(work) => matches!(work.operation, FileOperation::Read | FileOperation::Stat),
            Self::Command(_) => !self.is_changing_command(),
            Self::List { .. } | Self::Lookup { .. } | Self::Attributes { .. } | Self::StatSome { .. } => true,
            Self::FillUntilRefused { .. } | Self::Remove(_) => false,
        }
    }

    /// Change in the number of files; `None` if the work creates and removes none.
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

    /// Operations and gaps must add up to the wall time.
    pub fn gaps_are_counted(&self) -> bool {
        // Other gaps are computed from the wall time.
        matches!(self, Self::Lookup { .. })
    }

    pub fn lists(&self) -> bool {
        matches!(self, Self::List { .. } | Self::Attributes { .. })
    }

    pub fn counts_names(&self) -> bool {
        matches!(self, Self::List { .. })
    }
}

crate::named! {
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Presence {
        Present = "present",
        Absent = "absent",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    Fixed,
    Random,
    /// The k-th most popular name has probability proportional to 1 / k; popularity is independent of creation order.
    Zipf,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LookupCall {
    /// Relative to the directory: Linux.
    #[default]
    Fstatat,
    /// `GetFileAttributesExW` with the full path, as in .NET's `File.Exists`: Windows.
    AttributesByPath,
    /// Relative to the directory: Windows.
    AttributesByHandle,
}

impl LookupCall {
    pub fn name(self) -> &'static str {
        match self {
            Self::Fstatat => "fstatat",
            Self::AttributesByPath => "GetFileAttributesExW",
            Self::AttributesByHandle => "NtQueryFullAttributesFile",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Visit each name one time, in the reader's buffer.
    Read,
    /// As a program that sorts must.
    Keep,
    /// In byte order.
    Sort,
    /// statx with the mask of `ls -l`, one call an entry; on Windows GetFileAttributesExW, by full path.
    Attributes,
    /// As `ls -l` shows them, one or two calls an entry; not on Windows.
    ExtendedAttributes,
    /// Mode, links, owner, group, size, date and name.
    FormatLong,
    /// Inode, type, record length, offset and name.
    FormatRaw,
    /// To a pipe that another thread drains.
    Write,
}

crate::named! {
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum CacheState {
        /// Names and inodes are cached, and contents if the arm reads them.
        Warm = "warm",
        /// Files are recreated before each block, and neither listed nor looked up since.
        Unseen = "unseen",
        /// Names and inodes are cached, file contents are not (fdatasync and POSIX_FADV_DONTNEED on each file).
        DataCold = "data-cold",
        /// Names, inodes and contents are not cached, after sync and drop_caches (privileged, whole machine).
        VfsCold = "vfs-cold",
        /// Nothing of the file system is cached: it was remounted (created file systems only).
        FsCold = "fs-cold",
    }
}

impl CacheState {
    /// A repetition without the preparation finds a warm cache.
    pub fn is_cold(self) -> bool {
        self != Self::Warm
    }

    /// In a virtual machine, only the guest's caches are dropped.
    pub fn drops(self) -> bool {
        matches!(self, Self::DataCold | Self::VfsCold | Self::FsCold)
    }

    /// Names and inodes are read from the device in each block.
    pub fn drops_names(self) -> bool {
        matches!(self, Self::VfsCold | Self::FsCold)
    }
}
