//! The file systems of a plan that are made and mounted for the run, and those that were asked for and cannot be had.
//!
//! A plan without any works in the directory that was named. Whose make command this is, and why its options are what they
//! are, is the engine's to say (`megadir_bench::lab`).

use serde::{Deserialize, Serialize};

use crate::machine::FileSystem;

/// The index of a file system in [`Plan::file_systems`](crate::Plan::file_systems).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct FsId(pub u32);

/// A file system that is made and mounted for the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabFileSystem {
    /// The file system's index.
    pub id: FsId,
    /// What was asked for, e.g. `ext4:block=1k`.
    pub name: String,
    /// What tables call it: the name, with the driver where that has another, e.g. `ext2 (ext4 driver)`.
    pub label: String,
    /// The type that is made, e.g. `ext2`.
    pub kind: String,
    /// The kernel's driver (or the FUSE server) that serves it, e.g. `ext4`.
    pub driver: String,
    /// The command that makes it, with its arguments but for the image or device; empty where nothing is to be made (tmpfs).
    pub make: Vec<String>,
    /// The program that makes it with its version, e.g. `mke2fs 1.47.0`; `None` where nothing is to be made or it tells none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The mount options that are given.
    pub mount_options: String,
    /// What it lies on.
    pub place: Place,
    /// Whether it is made anew by the same command before each chain of arms where others are only mounted again
    /// ([`Rules::fresh_mounts`](crate::Rules::fresh_mounts)), because its driver goes by what the disk tells of files removed minutes ago.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made_anew: bool,
}

/// What a file system that is made for the run lies on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "on")]
pub enum Place {
    /// A sparse file in the run's directory, behind a loop device.
    Image {
        /// Its size, bytes.
        bytes: u64,
        /// Whether the loop device reads and writes the file past the host's cache, which else hides what the device costs; `None` in
        /// a plan not yet carried out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        direct_io: Option<bool>,
    },
    /// A block device of the user's.
    Device {
        /// Its path.
        path: String,
    },
    /// Memory.
    Memory {
        /// The most that it may hold, bytes.
        bytes: u64,
    },
}

/// A file system that was asked for and cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unavailable {
    /// What was asked for.
    pub name: String,
    /// Why it cannot be had, e.g. `this kernel has no driver for it: ReiserFS left Linux in 6.13`.
    pub reason: String,
}

/// A file system of the plan as it is once it is mounted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabMount {
    /// Which one.
    pub on: FsId,
    /// What it tells of itself.
    pub file_system: FileSystem,
}
