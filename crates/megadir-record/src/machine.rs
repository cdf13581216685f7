//! The machine: information to judge if two records are comparable.

use serde::{Deserialize, Serialize};

use crate::ids::FsId;

/// Machine of a run. Unknown values are `None`, never guessed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// Host name; `None` in records for sharing.
    pub host: Option<String>,
    /// Operating system and kernel, e.g. `Linux 6.18.44` or `Windows 11 Pro 23H2 (10.0.22631.3447)`.
    pub kernel: String,
    /// Model name of the processor.
    pub processor: Option<String>,
    /// Processors available to the process.
    pub processors: u32,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Memory limit of the control group, bytes.
    pub memory_limit_bytes: Option<u64>,
    /// CPU quota of the control group, in processors, e.g. 1.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_limit: Option<f64>,
    /// Hypervisor, if the processor reports one.
    pub hypervisor: Option<String>,
    /// Version of Wine; the results then say nothing about Windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wine: Option<String>,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Power plan of Windows, e.g. `Balanced`, and battery or mains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_plan: Option<String>,
    /// Kernel's mitigations of processor vulnerabilities, `name: state`.
    pub mitigations: Vec<String>,
    /// Clock source of `clock_gettime`.
    pub clock_source: Option<String>,
    /// File system under test.
    pub file_system: FileSystem,
    /// Kernel settings for writeback and the caching of names, in the format of sysctl(8), e.g. `vm.dirty_ratio
    /// = 20`; on Windows, values of the registry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Software that watches or delays file accesses (antivirus, filters, indexing), `subject: state`, and
    /// items that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watchers: Vec<String>,
    /// Version of `megadir`.
    pub version: String,
    /// Commit of the build, with `-dirty` for modified files; `None` outside a checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Compiler and profile of the build, e.g. `rustc 1.95.0, release`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Load and pressure at the start of the run.
    pub pressure: Pressure,
}

/// File system under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSystem {
    /// Type in the kernel's words, e.g. `ext4`.
    pub kind: String,
    /// Mount options; on Windows, settings of the volume.
    pub mount_options: Option<String>,
    /// Device or other source of the mount.
    pub device: Option<String>,
    /// Block size, bytes.
    pub block_bytes: Option<u64>,
    /// Total blocks, and blocks available to an unprivileged user.
    pub blocks: Option<(u64, u64)>,
    /// Total and free inodes; `None` if the file system does not count them.
    pub inodes: Option<(u64, u64)>,
    /// Features in the words of the file system's own tools; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// Time of formatting, seconds since 1970-01-01 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_unix_s: Option<u64>,
    /// Bytes ever written to it, if it counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Block devices from the mounted one down to the disks, each in words; empty if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub block_stack: Vec<String>,
    /// Windows attributes of the directory under test that files inherit, e.g. `compressed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directory: Vec<String>,
}

/// Load and pressure, before or after a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pressure {
    /// Load average over one minute.
    pub load_1m: Option<f64>,
    /// CPU pressure: share of the last ten seconds in which some task waited for the processor, per cent.
    pub cpu_some_10s_percent: Option<f64>,
    /// I/O pressure: share of the last ten seconds in which some task waited for input or output, per cent.
    pub io_some_10s_percent: Option<f64>,
    /// Memory pressure: share of the last ten seconds in which some task waited for memory, per cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_some_10s_percent: Option<f64>,
    /// Dirty pages, bytes.
    pub dirty_bytes: Option<u64>,
    /// CPU time of other processes in an idle 200 ms, per cent of all processors (Windows, which has no load
    /// average).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_busy_percent: Option<f64>,
}

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
