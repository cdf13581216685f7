//! The machine: what a reader must know to judge whether two records can be compared.

use serde::{Deserialize, Serialize};

/// Where a run took place. Unknown values are `None`, never guessed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// The host's name; `None` when the record is meant to be shared.
    pub host: Option<String>,
    /// Operating system and kernel, e.g. `Linux 6.18.44` or `Windows 11 Pro 23H2 (10.0.22631.3447)`.
    pub kernel: String,
    /// The processor's model name.
    pub processor: Option<String>,
    /// Processors that this process may use.
    pub processors: u32,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// The memory limit of the control group, bytes.
    pub memory_limit_bytes: Option<u64>,
    /// Processors that the control group may use at once (its quota), e.g. 1.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_limit: Option<f64>,
    /// The hypervisor, where the processor tells of one.
    pub hypervisor: Option<String>,
    /// The version of Wine, where it stood in for Windows: what was measured says nothing of Windows then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wine: Option<String>,
    /// The frequency governor of the first processor.
    pub governor: Option<String>,
    /// The plan by which Windows saves power, e.g. `Balanced`, and whether the machine ran on its battery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_plan: Option<String>,
    /// What the kernel says of processor vulnerabilities that it mitigates, `name: state`.
    pub mitigations: Vec<String>,
    /// The clock source that `clock_gettime` reads.
    pub clock_source: Option<String>,
    /// The file system under test.
    pub file_system: FileSystem,
    /// What the kernel is told of writing back and of keeping names cached, as sysctl(8) prints it, e.g. `vm.dirty_ratio = 20`; on Windows
    /// values of the registry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Who else sees or delays accesses to files (antivirus software, filters, indexing), `subject: state`, and what of it could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watchers: Vec<String>,
    /// `megadir`'s version.
    pub version: String,
    /// The commit that it was built from, with `-dirty` where files differed from it; `None` outside a checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Compiler and profile that it was built with, e.g. `rustc 1.95.0, release`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Load and pressure when the run started.
    pub pressure: Pressure,
}

/// The file system under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSystem {
    /// Its type as the kernel names it, e.g. `ext4`.
    pub kind: String,
    /// Its mount options; on Windows what the volume is set to.
    pub mount_options: Option<String>,
    /// The device or other source mounted.
    pub device: Option<String>,
    /// The size of a block, bytes.
    pub block_bytes: Option<u64>,
    /// Blocks in all and blocks free for an ordinary user.
    pub blocks: Option<(u64, u64)>,
    /// Inodes in all and inodes free; `None` where the file system does not count them.
    pub inodes: Option<(u64, u64)>,
    /// The features that it was made with, by the names that its own tools give them; `None` where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// When it was made, seconds since 1970-01-01 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_unix_s: Option<u64>,
    /// Bytes ever written to it, where it counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// The block devices below it, from the one that is mounted down to the disks, each in words; empty where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub block_stack: Vec<String>,
    /// What of Windows' attributes the directory under test has, which files inherit, e.g. `compressed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directory: Vec<String>,
}

/// Load and pressure, before or after a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pressure {
    /// The load average over one minute.
    pub load_1m: Option<f64>,
    /// Share of the last ten seconds in which some task waited for the processor, per cent.
    pub cpu_some_10s_percent: Option<f64>,
    /// Share of the last ten seconds in which some task waited for input or output, per cent.
    pub io_some_10s_percent: Option<f64>,
    /// Share of the last ten seconds in which some task waited for memory, per cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_some_10s_percent: Option<f64>,
    /// Dirty pages waiting to be written, bytes.
    pub dirty_bytes: Option<u64>,
    /// Share of the time of all processors that others used in the 200 ms before, while the run waited, per cent (Windows, which has
    /// no load average).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_busy_percent: Option<f64>,
}
