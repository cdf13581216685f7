//! What of the data is cached before a block.

use serde::{Deserialize, Serialize};

/// The state of the cache before a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CacheState {
    /// Read before, so that names and inodes are cached, and contents where they are read.
    Warm,
    /// Nobody has listed or asked for the files since they were made: they are made anew before each block.
    Unseen,
    /// Names and inodes cached; what files contain is not (fdatasync and POSIX_FADV_DONTNEED on each).
    DataCold,
    /// Neither names nor inodes nor contents cached, after sync and drop_caches (privileged, the whole machine).
    VfsCold,
    /// Nothing of the file system is cached: it was unmounted and mounted again (only what is made for the run is).
    FsCold,
}

impl CacheState {
    /// All of them, from warm to cold.
    pub const ALL: [Self; 5] = [Self::Warm, Self::Unseen, Self::DataCold, Self::VfsCold, Self::FsCold];

    /// Returns whether something is dropped, or made anew, before each block, so that what is done twice is warm the second time.
    #[must_use]
    pub fn is_cold(self) -> bool {
        self != Self::Warm
    }

    /// Returns whether something is dropped from the cache before each block: in a virtual machine from that of the guest.
    #[must_use]
    pub fn drops(self) -> bool {
        matches!(self, Self::DataCold | Self::VfsCold | Self::FsCold)
    }

    /// Returns whether names and inodes are dropped before each block, so that it must read from the device.
    #[must_use]
    pub fn drops_names(self) -> bool {
        matches!(self, Self::VfsCold | Self::FsCold)
    }

    /// Returns its name, as arguments, study files and records have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Unseen => "unseen",
            Self::DataCold => "data-cold",
            Self::VfsCold => "vfs-cold",
            Self::FsCold => "fs-cold",
        }
    }
}
