//! What one block of an arm does, and what follows from that.

use serde::{Deserialize, Serialize};

use crate::files::{FileOperation, FileWork, RemoveWork};

/// What one block of an arm does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Work {
    /// Reads the whole directory once, with the stages asked for.
    List {
        /// The backend that reads, e.g. `getdents`.
        backend: String,
        /// The size of the buffer given to one call, bytes.
        buffer_bytes: u64,
        /// Threads that read.
        threads: u32,
        /// Shares of a `split` reader; 1 for the others.
        shares: u32,
        /// What is done with the entries, in this order; always begins with [`Stage::Read`].
        stages: Vec<Stage>,
    },
    /// Asks whether a name exists in the directory, one call an operation, which follows no symbolic link.
    Lookup {
        /// Whether the names that are asked for exist.
        presence: Presence,
        /// How the names of a block are drawn.
        keys: Keys,
        /// By which call.
        #[serde(default, skip_serializing_if = "LookupCall::is_fstatat")]
        call: LookupCall,
    },
    /// Makes files in a directory of its own until one is refused, which must be for the directory's index; one directory
    /// an operation, removed after it.
    FillUntilRefused {
        /// About how many entries the size that was asked for is meant for.
        entries_about: u64,
        /// What was predicted before the first block; `None` in a plan not yet carried out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        predicted: Option<Predicted>,
    },
    /// Does one thing to each of a range of files; one file an operation.
    Files(FileWork),
    /// Removes everything in the directory at once; one file an operation.
    Remove(RemoveWork),
    /// Finds out name, size and time of the last modification of every regular file in the directory, once an operation; other
    /// entries are passed over.
    Attributes {
        /// The method, e.g. `getdents-statx`.
        method: String,
        /// The buffer given to one call that lists, bytes; `None` where the library picks it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        buffer_bytes: Option<u64>,
        /// Threads that examine entries, or that the method may use at most.
        threads: u32,
        /// Whether names and times of all files are kept in memory; else each file is looked at once.
        keeps: bool,
        /// What every operation must find, as another method found it before the first block; `None` in a plan not yet
        /// carried out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<ExpectedFiles>,
    },
    /// Opens the directory and asks for type, size and time of the last modification of some of its entries by name, one after
    /// the other, once an operation; on Windows by the whole path of each.
    Ask {
        /// How many entries; which ones is drawn for every operation, each at most once.
        files: u64,
    },
}

/// What a method that finds out attributes must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExpectedFiles {
    /// Regular files.
    pub files: u64,
    /// Order-independent hash of their names and times and, where the method tells them, sizes.
    pub hash: u64,
}

/// How many entries a directory was said to take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Predicted {
    /// Entries when the first is refused.
    pub entries: u64,
    /// Hardly fewer than this.
    pub low: u64,
    /// Hardly more than this.
    pub high: u64,
    /// How that is known, and of which names and blocks.
    pub basis: String,
}

impl Work {
    /// Returns the entries and the hash that [`Counted`](crate::Counted) must hold after this work on a data set with
    /// so many entries whose names have this hash; `None` where that is what the work is to find out.
    #[must_use]
    pub fn expected(&self, entries: u64, hash: u64) -> Option<(u64, u64)> {
        match self {
            Self::List { .. } => Some((entries, hash)),
            // A look-up finds its name or does not; see `Counted`.
            Self::Lookup { presence, .. } => Some((u64::from(*presence == Presence::Present), 0)),
            Self::FillUntilRefused { .. } => None,
            // All files, each as large as it should be.
            Self::Files(work) => Some((work.files(), 0)),
            Self::Remove(work) => Some((work.files, 0)),
            Self::Attributes { expected, .. } => expected.map(|expected| (expected.files, expected.hash)),
            Self::Ask { files } => Some((*files, 0)),
        }
    }

    /// Returns how many operations every block has, where the work itself says so.
    #[must_use]
    pub fn operations(&self) -> Option<u64> {
        match self {
            Self::List { .. } | Self::Lookup { .. } | Self::FillUntilRefused { .. } => None,
            Self::Attributes { .. } | Self::Ask { .. } => None,
            Self::Files(work) => Some(work.files().max(1)),
            Self::Remove(work) => Some(work.files.max(1)),
        }
    }

    /// Returns whether the work reads what files contain, so that it can tell whether that is cached.
    #[must_use]
    pub fn reads_contents(&self) -> bool {
        match self {
            Self::Files(work) => work.operation == FileOperation::Read,
            Self::List { .. }
            | Self::Lookup { .. }
            | Self::FillUntilRefused { .. }
            | Self::Remove(_)
            | Self::Attributes { .. }
            | Self::Ask { .. } => false,
        }
    }

    /// Returns whether the work leaves everything as it was, so that it can be done again in another state of the cache.
    #[must_use]
    pub fn leaves_all(&self) -> bool {
        match self {
            Self::Files(work) => matches!(work.operation, FileOperation::Read | FileOperation::Stat),
            Self::List { .. } | Self::Lookup { .. } | Self::Attributes { .. } | Self::Ask { .. } => true,
            Self::FillUntilRefused { .. } | Self::Remove(_) => false,
        }
    }

    /// Returns by how many files a block changes its data set; `None` of work that makes and removes none.
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

    /// Returns whether the gaps between the work's single operations are counted by themselves, so that whether they and the
    /// operations make up the wall time of a block is a check.
    #[must_use]
    pub fn gaps_are_counted(&self) -> bool {
        match self {
            Self::Lookup { .. } => true,
            // Its gaps are what is left of the wall time, and several may work at the same time.
            Self::Files(_)
            | Self::Remove(_)
            | Self::List { .. }
            | Self::FillUntilRefused { .. }
            | Self::Attributes { .. }
            | Self::Ask { .. } => false,
        }
    }

    /// Returns whether the work lists its data set, so that its time is one of entries too.
    #[must_use]
    pub fn lists(&self) -> bool {
        matches!(self, Self::List { .. } | Self::Attributes { .. })
    }

    /// Returns whether what the work counts are the names of its data set, all of them.
    #[must_use]
    pub fn counts_names(&self) -> bool {
        matches!(self, Self::List { .. })
    }
}

/// Whether the names that are asked for exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// All of them do.
    Present,
    /// None of them does.
    Absent,
}

/// How the names of a block are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// One and the same name.
    Fixed,
    /// Any name of the directory, each as likely.
    Random,
    /// The k-th most popular name with probability proportional to 1 / k; popularity has nothing to do with the order of
    /// creation.
    Zipf,
}

/// The call of a look-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LookupCall {
    /// `fstatat(2)` with a name relative to the directory: Linux.
    #[default]
    Fstatat,
    /// `GetFileAttributesExW` with the whole path, as .NET's `File.Exists` asks: Windows.
    AttributesByPath,
    /// `NtQueryFullAttributesFile` with a name relative to the directory: Windows.
    AttributesByHandle,
}

impl LookupCall {
    /// Returns the name of the system's function.
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

/// One stage of a listing program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Read the entries and look at each name once, in the reader's buffer.
    Read,
    /// Keep every name in memory, as a program that sorts must.
    Keep,
    /// Sort the names that are kept in byte order.
    Sort,
    /// Ask statx for what `ls -l` asks, a call an entry; on Windows GetFileAttributesExW, by the whole path.
    Attributes,
    /// Ask for the extended attributes that `ls -l` asks for, a call or two an entry; not on Windows.
    ExtendedAttributes,
    /// Format mode, links, owner, group, size, date and name.
    FormatLong,
    /// Format inode, type, record length, offset and name.
    FormatRaw,
    /// Write the text to a pipe that another thread empties.
    Write,
}
