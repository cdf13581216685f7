//! The machine: can two records be compared?

use serde::{Deserialize, Serialize};

/// Unknown values are `None`, never guessed.
// Facts that change times by more than the noise, or forbid a comparison: two records are of the same machine
// only if these agree. Facts that identify a person or a computer are left out of records for sharing
// ([`crate::redact`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// `None` in records for sharing.
    pub host: Option<String>,
    /// For example `Linux 6.18.44` or `Windows 11 Pro 23H2 (10.0.22631.3447)`.
    pub kernel: String,
    /// Model of the processor.
    pub processor: Option<String>,
    /// Available to the process.
    pub processors: u32,
    /// Total memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Memory limit of the control group, bytes.
    pub memory_limit_bytes: Option<u64>,
    /// CPU quota of the control group, in processors, e.g. 1.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_limit: Option<f64>,
    /// Name of the hypervisor; `None` if none was found.
    pub hypervisor: Option<String>,
    /// Emulator of the processor, e.g. `QEMU without KVM`; times are those of the emulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulator: Option<String>,
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
    /// File system of the run's directory.
    pub file_system: FileSystem,
    /// Kernel settings for writeback and name caches, e.g. `vm.dirty_ratio = 20`; on Windows, values of the registry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Software that watches or delays file accesses (antivirus, filters, indexing), as `subject: state`;
    /// also items that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watchers: Vec<String>,
    /// Version of megadir.
    pub version: String,
    /// With `-dirty` for modified files; `None` outside a checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// For example `rustc 1.95.0, release`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// At the start of the run.
    pub pressure: Pressure,
}

/// File system under test.
// Properties of the mount that the run uses, as the kernel reports them. Numbers of bytes are of the whole
// file system at the start of the run, since a nearly full one allocates in another way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSystem {
    /// In the kernel's words, e.g. `ext4`.
    pub kind: String,
    /// Mount options; on Windows, settings of the volume.
    pub mount_options: Option<String>,
    /// Device or other source of the mount.
    pub device: Option<String>,
    /// Allocation unit, bytes.
    pub block_bytes: Option<u64>,
    /// Total, and available to an unprivileged user.
    pub blocks: Option<(u64, u64)>,
    /// Total and free; `None` if the file system does not count them.
    pub inodes: Option<(u64, u64)>,
    /// In the words of the file system's own tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// Seconds since 1970-01-01 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_unix_s: Option<u64>,
    /// Bytes ever written, if counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// From the mounted device down to the disks, each in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub block_stack: Vec<String>,
    /// Windows attributes of the directory that files inherit, e.g. `compressed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directory: Vec<String>,
}

/// Before or after a run.
// Figures of Linux's pressure stall information and their substitutes elsewhere. Each is optional, because
// kernels, containers and systems differ in what they report; a missing one is no sign of an idle machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pressure {
    /// Load average over one minute.
    pub load_1m: Option<f64>,
    /// Share of the last ten seconds in which some task waited for the processor, per cent.
    pub cpu_some_10s_percent: Option<f64>,
    /// Share of the last ten seconds in which some task waited for input or output, per cent.
    pub io_some_10s_percent: Option<f64>,
    /// Share of the last ten seconds in which some task waited for memory, per cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_some_10s_percent: Option<f64>,
    /// Bytes that wait for write-back on all devices.
    pub dirty_bytes: Option<u64>,
    /// CPU time of other processes in an idle 200 ms, per cent of all processors (Windows).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_busy_percent: Option<f64>,
    /// Share of a busy loop before the run in which others had its processor, per cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_percent: Option<f64>,
}

/// Index in [`Plan::file_systems`](crate::Plan::file_systems).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct FsId(pub u32);

/// File system that is created and mounted for the run, or a user's volume ([`Place::Directory`]).
// Enough to make and mount the same file system again: the command, the version of its tool, the options and
// the storage. `label` and not `name` is in arms and groups, and `id` is the position in the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabFileSystem {
    /// Index in the list of file systems.
    pub id: FsId,
    /// As requested, e.g. `ext4:block=1k`; the label of a user's volume.
    pub name: String,
    /// Name in tables, e.g. `ext2 (ext4 driver)`.
    pub label: String,
    /// For example `ext2`.
    pub kind: String,
    /// Kernel driver or FUSE server, e.g. `ext4`.
    pub driver: String,
    /// Command that formats it, without image or device; empty for tmpfs.
    pub make: Vec<String>,
    /// With version, e.g. `mke2fs 1.47.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Options passed, or the options of a user's volume.
    pub mount_options: String,
    /// Storage that holds it.
    pub place: Place,
    /// Made for the run below the image; `None` for an image in the directory of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<LabDisk>,
    /// `true` if it is reformatted before each chain of arms, instead of remounted
    /// ([`Rules::fresh_mounts`](crate::Rules::fresh_mounts)): its driver depends on traces of removed files on disk.
    #[serde(rename = "made_anew", default, skip_serializing_if = "std::ops::Not::not")]
    pub reformatted: bool,
}

/// Disk made for the run below an image. The plan writes what it expects and allows, mounting writes the made disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabDisk {
    /// As in `--disk`, with every parameter, e.g. `memory` or `rotating:rpm=7200,seek_ms=8.5` and so on.
    pub name: String,
    /// Most memory that it may take, bytes; `None` before it is planned, or if it is not in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Memory that the plan expects it to take, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_bytes: Option<u64>,
    /// `true` if its times are those of a model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_model: bool,
    /// Algorithm that it compresses with, e.g. `lzo-rle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<String>,
    /// Reason why it is a file in a tmpfs, not a zram device, e.g. `this kernel has no zram`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_zram: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "on")]
pub enum Place {
    /// Sparse file behind a loop device.
    Image {
        bytes: u64,
        /// `true` if the loop device bypasses the host's page cache, which would hide the cost of the device; `None` before the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        direct_io: Option<bool>,
    },
    Device {
        path: String,
    },
    Memory {
        bytes: u64,
    },
    /// Directory of the user; data sets are created below it.
    Directory {
        path: String,
    },
}

impl Place {
    pub fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unavailable {
    /// As requested.
    pub name: String,
    /// For example `this kernel has no driver for it: ReiserFS left Linux in 6.13`.
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabMount {
    /// File system.
    pub on: FsId,
    /// Its properties after mounting.
    pub file_system: FileSystem,
}
