//! The machine: what a reader must know to judge whether two records can be compared.

use serde::{Deserialize, Serialize};

/// Where a run took place. Unknown values are `None`, never guessed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The host's name; `None` when the record is meant to be shared.
    pub host: Option<String>,
    /// Operating system and kernel, e.g. `Linux 6.18.44`.
    pub kernel: String,
    /// The processor's model name.
    pub processor: Option<String>,
    /// Processors that this process may use.
    pub processors: u32,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// The memory limit of the control group, bytes.
    pub memory_limit_bytes: Option<u64>,
    /// The hypervisor, where the processor tells of one.
    pub hypervisor: Option<String>,
    /// The frequency governor of the first processor.
    pub governor: Option<String>,
    /// What the kernel says of processor vulnerabilities that it mitigates, `name: state`.
    pub mitigations: Vec<String>,
    /// The clock source that `clock_gettime` reads.
    pub clock_source: Option<String>,
    /// The file system under test.
    pub file_system: FileSystem,
    /// `megadir`'s version.
    pub version: String,
    /// Load and pressure when the run started.
    pub pressure: Pressure,
}

/// The file system under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileSystem {
    /// Its type as the kernel names it, e.g. `ext4`.
    pub kind: String,
    /// Its mount options.
    pub mount_options: Option<String>,
    /// The device or other source mounted.
    pub device: Option<String>,
    /// The size of a block, bytes.
    pub block_bytes: Option<u64>,
    /// Blocks in all and blocks free for an ordinary user.
    pub blocks: Option<(u64, u64)>,
    /// Inodes in all and inodes free; `None` where the file system does not count them.
    pub inodes: Option<(u64, u64)>,
}

/// Load and pressure, before or after a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// The load average over one minute.
    pub load_1m: Option<f64>,
    /// Share of the last ten seconds in which some task waited for the processor, per cent.
    pub cpu_some_10s_percent: Option<f64>,
    /// Share of the last ten seconds in which some task waited for input or output, per cent.
    pub io_some_10s_percent: Option<f64>,
    /// Dirty pages waiting to be written, bytes.
    pub dirty_bytes: Option<u64>,
}
