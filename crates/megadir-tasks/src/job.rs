//! Jobs, tasks and outcomes, as they travel between processes: JSON.

use megadir::usage::{self, Amount};
use megadir::{PositionRange, TreePath, names};
use megadir_inventory::time_of;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// Version of tasks and journals. Others are refused.
pub(crate) const VERSION: u32 = 1;

pub(crate) const MESSAGES_MAX: usize = 10;

/// Path or name in bytes: text in JSON, or `{"hex": "..."}` if it is not UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bytes(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum BytesText {
    Text(String),
    Hex { hex: String },
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                let hex = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
                BytesText::Hex { hex }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = match BytesText::deserialize(deserializer)? {
            BytesText::Text(text) => return Ok(Self(text.into_bytes())),
            BytesText::Hex { hex } => hex,
        };
        let digits = hex.as_bytes().chunks(2).map(|pair| {
            let text = std::str::from_utf8(pair).ok().filter(|text| text.len() == 2);
            text.and_then(|text| u8::from_str_radix(text, 16).ok())
        });
        digits.collect::<Option<_>>().map(Self).ok_or_else(|| D::Error::custom("hex digits expected"))
    }
}

impl Bytes {
    /// Errors: on Windows, bytes that are no name.
    pub fn to_path(&self) -> megadir::Result<PathBuf> {
        Ok(PathBuf::from(names::to_os(&self.0)?.into_owned()))
    }
}

/// Kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Write parts of an inventory.
    Scan,
    /// Sum up entries and bytes.
    Usage,
    /// Remove everything.
    Remove,
}

/// Work on trees, the same in all its tasks.
///
/// Each task carries its whole job, so that a process needs nothing but the task and the file system. A field
/// that is added later has a default, because journals of the same version are read again; a change that
/// older programs would misunderstand needs another version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub version: u32,
    pub kind: Kind,
    pub roots: Vec<Root>,
    /// Folder of the parts of a scan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<Bytes>,
    /// Budget of a task.
    pub budget: Budget,
    /// Source of attributes, the same in all parts.
    pub stat_backend: String,
    /// Levels below the roots with sums of their own.
    #[serde(default)]
    pub depth: u32,
    /// The roots themselves stay.
    #[serde(default)]
    pub contents: bool,
}

/// Root of a tree. Inode, time of creation and file system identify it on every machine; device numbers differ.
///
/// A process opens the root by its path and compares these facts before it does anything below: the path may
/// lead to another directory on another machine, or after a change of mounts. The remaining facts are for the
/// description of the inventory, which is the same in all parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    pub path: Bytes,
    pub inode: u64,
    /// Device (major, minor) on the machine that began the job: its number in the inventory.
    pub device: (u32, u32),
    /// Time of creation, nanoseconds since 1970-01-01 UTC.
    pub born_ns: Option<i64>,
    pub file_system: String,
    /// See [`megadir_inventory::Root::driver`].
    #[serde(default)]
    pub driver: Option<String>,
    /// See [`megadir_inventory::Root::lasting_inodes`].
    #[serde(default)]
    pub lasting_inodes: Option<bool>,
    /// See [`megadir_inventory::Root::granule_ns`].
    pub granule_ns: Option<u64>,
}

/// Limits of a task, checked after each buffer of entries. A task visits at least one directory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub seconds: f64,
    /// Number of entries; also of one range of a large directory.
    pub entries: u64,
}

/// Directory with everything below it, or a range of its positions with everything below these entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Index of the tree.
    pub root: u32,
    /// Path relative to the root; empty for the root.
    pub path: Bytes,
    /// Inode number to verify, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// First position and end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(i64, i64)>,
}

impl Item {
    pub(crate) fn of(root: u32, unvisited: &megadir::Unvisited) -> Self {
        let range = unvisited.range.map(|range| (range.from, range.to));
        Self { root, path: Bytes(unvisited.path.to_vec()), inode: unvisited.inode, range }
    }

    pub(crate) fn tree_path(&self) -> TreePath {
        TreePath::from(&self.path.0)
    }

    pub(crate) fn position_range(&self) -> Option<PositionRange> {
        self.range.map(|(from, to)| PositionRange { from, to })
    }
}

/// One task: a share of a job for one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub number: u64,
    /// The job, with the budget of this task.
    pub job: Job,
    pub items: Vec<Item>,
}

impl Task {
    /// Name of the task's part. Tasks of one number but other directories, such as of a journal that lost its last lines, have
    /// other names.
    pub fn part_name(&self) -> String {
        let mut hasher = Sha256::new();
        for item in &self.items {
            let (from, to) = item.range.unwrap_or((0, 0));
            hasher.update(item.root.to_le_bytes());
            hasher.update(from.to_le_bytes());
            hasher.update(to.to_le_bytes());
            hasher.update((item.path.0.len() as u64).to_le_bytes());
            hasher.update(&item.path.0);
        }
        let digest = hasher.finalize();
        let digits: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("part-{:07}-{digits}.parquet", self.number)
    }
}

/// Result of a task.
///
/// Everything that a process returns; what it has written otherwise does not count. The directories that it
/// has found but not visited become items of later tasks, so no process keeps a queue of its own. A scan
/// stores its outcome in the part itself, so that a task that runs again finds it and does not scan again.
/// Fields that are empty for a kind of work are left out of the JSON, because a journal has one outcome for
/// each task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub entries: u64,
    /// Number of directories and entries that failed.
    pub failures: u64,
    /// First failures, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// Directories that were not visited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unvisited: Vec<Item>,
    /// Directories to visit when all others are done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<Item>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
    /// Counts of a removal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removal: Option<Removal>,
}

impl Outcome {
    pub(crate) fn note(&mut self, error: &megadir::Error) {
        if self.messages.len() < MESSAGES_MAX {
            self.messages.push(error.to_string());
        }
    }
}

/// Counts are of the part's rows; they allow the sum over all parts to be formed without opening them. A row
/// is repeated if a directory could not be read by the task that should visit it: the task that found the
/// directory has a row with its attributes, and this one a row with the error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// File name in the folder.
    pub file: String,
    pub rows: u64,
    pub failed: u64,
    /// Number of directories that could not be read completely.
    pub unread_directories: u64,
    /// Number of rows of directories that have a row in another part too.
    pub repeated: u64,
}

/// Counts of a removal. What a lost task removed is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// Entries removed that are not directories.
    pub entries: u64,
    pub directories: u64,
    /// Failures of passes over whole roots, each of which meets all that stays.
    pub failures: u64,
    /// Mount points among these that were not entered.
    pub mounts: u64,
}

/// Sums of the entries that a task visited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// For each directory down to [`Job::depth`] levels, the entries below it; without files that have other links.
    pub sums: Vec<Sum>,
    /// Files with several links: a file counts where its first name by path is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linked: Vec<Linked>,
    /// Number of entries whose attributes could not be read.
    #[serde(default)]
    pub unexamined: u64,
    /// Number of directories on other file systems, which were not entered.
    #[serde(default)]
    pub mounts_not_entered: u64,
}

/// Figures of the entries below a directory.
///
/// Sums of several tasks are added by root and path, so each field must be a count, a sum, or an extreme:
/// nothing that depends on the order. `entries` counts names while `inodes` and the bytes leave out files
/// with several links, which are added at the end, once for each file, when all their names are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Index of the tree.
    pub root: u32,
    /// Path of the directory below it.
    pub path: Bytes,
    /// Number of names, of files with several links too.
    pub entries: u64,
    /// Number of directories among them.
    pub directories: u64,
    /// Number of inodes, without those in [`Used::linked`].
    pub inodes: u64,
    /// Space on disk, bytes, of these inodes.
    pub allocated: u64,
    /// Sum of their sizes, bytes.
    pub apparent: u64,
    /// Latest modification, nanoseconds since 1970-01-01 UTC.
    pub newest_ns: Option<i64>,
    /// Earliest modification.
    pub oldest_ns: Option<i64>,
}

impl Sum {
    /// Levels below the tree's root; 0 for the root.
    pub fn depth(&self) -> u32 {
        match self.path.0.is_empty() {
            true => 0,
            false => self.path.0.iter().filter(|byte| **byte == b'/').count() as u32 + 1,
        }
    }

    pub fn figures(&self) -> usage::Sum {
        let amount = Amount {
            entries: self.entries,
            inodes: self.inodes,
            allocated: self.allocated.into(),
            apparent: self.apparent.into(),
        };
        let (newest, oldest) = (self.newest_ns.map(time_of), self.oldest_ns.map(time_of));
        usage::Sum { amount, directories: self.directories, newest, oldest }
    }
}

/// File with several links.
///
/// Tasks see different names of the same file, so each returns the first one that it has seen, and the
/// smallest of all decides which directory the file counts in. The result is therefore the same whatever the
/// division into tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linked {
    /// Device and inode.
    pub id: (u64, u64),
    /// Index of the tree.
    pub root: u32,
    /// First path by bytes that the task has seen.
    pub path: Bytes,
    /// Space on disk, bytes.
    pub allocated: u64,
    /// Size, bytes.
    pub apparent: u64,
}

/// Failure of a whole task.
#[derive(Debug)]
pub enum TaskError {
    /// The caller requested a stop.
    Stopped,
    /// An error of the library.
    Failed(megadir::Error),
}

impl From<megadir::Error> for TaskError {
    fn from(error: megadir::Error) -> Self {
        Self::Failed(error)
    }
}

impl std::fmt::Display for TaskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stopped => f.write_str("stopped"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TaskError {}

#[cfg(test)]
mod tests {
    use super::{Bytes, Item};

    #[test]
    fn names_that_are_not_text_travel_as_hex_digits() {
        let item = |path: &[u8]| Item { root: 0, path: Bytes(path.to_vec()), inode: None, range: None };
        for (path, json) in [
            (&b"a/b"[..], r#"{"root":0,"path":"a/b"}"#),
            (b"\xff/\n", r#"{"root":0,"path":{"hex":"ff2f0a"}}"#),
        ] {
            assert_eq!(serde_json::to_string(&item(path)).unwrap(), json);
            assert_eq!(serde_json::from_str::<Item>(json).unwrap(), item(path));
        }
        for bad in [r#"{"root":0,"path":{"hex":"f"}}"#, r#"{"root":0,"path":{"hex":"zz"}}"#] {
            assert!(serde_json::from_str::<Item>(bad).is_err(), "{bad}");
        }
    }
}
