//! Volumes of a run that are compared: file systems created and mounted for the run, or several directories of the
//! user; and requested file systems that are unavailable.
//!
//! A plan without any uses the given directory. The engine (`megadir_bench::lab`) defines the commands and
//! explains their options.

use serde::{Deserialize, Serialize};

use crate::ids::FsId;
use crate::machine::FileSystem;

/// File system that is created and mounted for the run, or a volume of the user ([`Place::Directory`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabFileSystem {
    /// Index of the file system.
    pub id: FsId,
    /// Name as requested, e.g. `ext4:block=1k`; of a user's volume its label.
    pub name: String,
    /// Name in tables, with the driver if it has another name, e.g. `ext2 (ext4 driver)`.
    pub label: String,
    /// Type, e.g. `ext2`.
    pub kind: String,
    /// Kernel driver or FUSE server, e.g. `ext4`.
    pub driver: String,
    /// Command that formats it, without the image or device; empty if there is nothing to format (tmpfs).
    pub make: Vec<String>,
    /// Program that formats it, with version, e.g. `mke2fs 1.47.0`; `None` if unknown or not needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Mount options passed; of a user's volume the options that it has.
    pub mount_options: String,
    /// Backing storage.
    pub place: Place,
    /// `true` if it is reformatted before each chain of arms, instead of only remounted
    /// ([`Rules::fresh_mounts`](crate::Rules::fresh_mounts)), because its driver depends on traces on disk of
    /// files that were removed before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made_anew: bool,
}

/// Backing storage of a file system that is created for the run, or the user's directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "on")]
pub enum Place {
    /// Sparse file in the run's directory, behind a loop device.
    Image {
        /// Size, bytes.
        bytes: u64,
        /// `true` if the loop device bypasses the host's page cache, which would hide the cost of the device;
        /// `None` before the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        direct_io: Option<bool>,
    },
    /// Block device of the user.
    Device { path: String },
    /// Memory.
    Memory {
        /// Maximum size, bytes.
        bytes: u64,
    },
    /// Directory of the user on a mounted file system; data sets are created below it.
    Directory { path: String },
}

impl Place {
    /// `true` if the run does not create the file system.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }
}

/// Requested file system that is unavailable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unavailable {
    /// Name as requested.
    pub name: String,
    /// Reason, e.g. `this kernel has no driver for it: ReiserFS left Linux in 6.13`.
    pub reason: String,
}

/// A mounted file system of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabMount {
    pub on: FsId,
    /// Properties of the mounted file system.
    pub file_system: FileSystem,
}
