//! What making the data sets took, and what they use.

use serde::{Deserialize, Serialize};

use crate::plan::DataId;

/// What was made before anything was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Built {
    /// The data sets that were made, in the order of the plan. Where there are several, their files were made in turns.
    pub sets: Vec<BuiltSet>,
    /// Inodes that the file system had fewer free afterwards; `None` where it does not count them. Whatever else happened on
    /// it meanwhile is in here.
    pub file_system_inodes: Option<i64>,
    /// The same for bytes.
    pub file_system_bytes: i64,
}

/// One data set that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BuiltSet {
    /// Which.
    pub data: DataId,
    /// What is there now.
    pub used: Used,
    /// Time of making directories before the first file, nanoseconds; `None` where each was made when the first file
    /// needed it, which is then part of the files' time.
    pub directories_ns: Option<u64>,
    /// Time of making files: looking whether they are there, opening, writing, closing; nanoseconds. Nothing of it is
    /// made durable within this time.
    pub files_ns: u64,
    /// The size that the directory of all files says it has (`st_size`), bytes; `None` where there are several, and in records of
    /// older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory_bytes: Option<u64>,
    /// What aging it took, if it was aged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aged: Option<BuiltAged>,
}

/// What aging a directory took: files were made among its own, written back, and removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BuiltAged {
    /// Files that were made and removed; making them is part of [`BuiltSet::files_ns`].
    pub files: u64,
    /// The directory's size (`st_size`) when it held them, bytes.
    pub directory_bytes: u64,
    /// Time of removing them, nanoseconds; nothing of it is made durable within this time.
    pub removed_ns: u64,
}

/// What a data set that the arms make used when the first round that had made all of it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsedByArms {
    /// Which.
    pub data: DataId,
    /// What it used.
    pub used: Used,
}

/// What a data set uses: as its files and directories say, one by one, after all was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Used {
    /// Files.
    pub files: u64,
    /// Directories, the top included.
    pub directories: u64,
    /// Inodes: of files by several names one.
    pub inodes: u64,
    /// Bytes that are in the files.
    pub content_bytes: u64,
    /// Bytes of the blocks of files and directories, as `du` counts them; file systems that keep directories or small files
    /// elsewhere (btrfs) do not count those.
    pub bytes: u64,
}
