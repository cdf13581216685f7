//! Attributes of entries, as data.

mod time;
mod want;

pub use time::{Time, Utc};
pub use want::StatMask;

use crate::file_type::FileType;

/// Attributes of one entry. Only the fields in [`Attributes::have`] are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Valid fields; never made up.
    pub have: StatMask,
    /// Error number (errno) if the attributes could not be read, else 0.
    pub error: i32,
    /// Type.
    pub kind: FileType,
    /// Permission bits, including set-user-ID, set-group-ID and sticky.
    pub mode: u16,
    /// Number of hard links.
    pub links: u64,
    /// User ID of the owner.
    pub user: u32,
    /// Group ID.
    pub group: u32,
    /// Inode number.
    pub inode: u64,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Space that the contents occupy, bytes.
    pub allocated_bytes: u64,
    /// Time of the last modification of the contents.
    pub modified: Time,
    /// Time of the last access, as far as the mount records it: at most once a day with `relatime`, the usual option.
    pub accessed: Time,
    /// Time of the last change of the inode.
    pub changed: Time,
    /// Time of creation.
    pub born: Time,
    /// Device that holds the inode: major and minor number.
    pub device: (u32, u32),
    /// Mount ID (Linux 5.8 and later).
    pub mount: u64,
    /// Device that a block or character device stands for: major and minor number; 0 for other entries.
    pub special: (u32, u32),
}

impl Attributes {
    /// No valid field.
    pub const NOTHING: Self = Self {
        have: StatMask::NOTHING,
        error: 0,
        kind: FileType::Unknown,
        mode: 0,
        links: 0,
        user: 0,
        group: 0,
        inode: 0,
        size_bytes: 0,
        allocated_bytes: 0,
        modified: Time::EPOCH,
        accessed: Time::EPOCH,
        changed: Time::EPOCH,
        born: Time::EPOCH,
        device: (0, 0),
        mount: 0,
        special: (0, 0),
    };

    #[cfg(target_os = "linux")]
    #[inline]
    pub(crate) fn of_mode(mode: u32) -> Self {
        let kind = rustix::fs::FileType::from_raw_mode(mode).into();
        Self { kind, mode: (mode & 0o7777) as u16, ..Self::NOTHING }
    }

    pub(crate) fn failed(error: i32) -> Self {
        Self { error, ..Self::NOTHING }
    }

    /// `true` if the entry was removed after it was listed.
    pub fn has_vanished(&self) -> bool {
        // ENOENT and ERROR_FILE_NOT_FOUND are both 2; 3 is ERROR_PATH_NOT_FOUND.
        self.error == 2 || (cfg!(windows) && self.error == 3)
    }
}
