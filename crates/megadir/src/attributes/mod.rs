//! Attributes of entries: what is wanted, what was found.
//!
//! * [`Want`] says which attributes a caller needs; less is never slower and often faster.
//! * [`Examiner`]: the ways of asking for them, as backends are the ways of listing.
//! * [`AttributeListing`](stream::AttributeListing): the entries of a directory with their attributes, streamed.

#[cfg(target_os = "linux")]
mod bulk;
mod chunks;
#[cfg(target_os = "linux")]
mod disk;
pub(crate) mod examiner;
#[cfg(unix)]
mod fstatat;
#[cfg(windows)]
mod listed;
pub mod policy;
#[cfg(target_os = "linux")]
mod statx;
mod std_metadata;
pub(crate) mod stream;
mod time;
#[cfg(all(target_os = "linux", feature = "io-uring"))]
mod uring;
mod want;
mod windows;
#[cfg(windows)]
mod windows_each;

pub use time::{Time, Utc};
pub use want::Want;

#[cfg(target_os = "linux")]
use self::examiner::Examiner;
use crate::dir::Dir;
use crate::error::Result;
use crate::file_type::FileType;

/// The attributes of one entry. A field counts only where [`Attributes::have`] says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Which fields hold something; a field that the file system does not have is left out, never invented.
    pub have: Want,
    /// Why the entry could not be examined: an error number of the system, 0 for none.
    pub error: i32,
    /// The type.
    pub kind: FileType,
    /// The permission bits with set-user-ID, set-group-ID and sticky.
    pub mode: u16,
    /// Hard links.
    pub links: u64,
    /// The owner's user number.
    pub user: u32,
    /// The owner's group number.
    pub group: u32,
    /// The inode number.
    pub inode: u64,
    /// The size, bytes.
    pub size_bytes: u64,
    /// When the contents were last modified.
    pub modified: Time,
    /// When the inode was last changed.
    pub changed: Time,
    /// When the inode was made.
    pub born: Time,
    /// The device that holds the inode, as major and minor number.
    pub device: (u32, u32),
    /// The mount that the entry lies on (Linux 5.8 and later).
    pub mount: u64,
}

impl Attributes {
    /// Attributes of which nothing is known.
    pub const NOTHING: Self = Self {
        have: Want::NOTHING,
        error: 0,
        kind: FileType::Unknown,
        mode: 0,
        links: 0,
        user: 0,
        group: 0,
        inode: 0,
        size_bytes: 0,
        modified: Time::EPOCH,
        changed: Time::EPOCH,
        born: Time::EPOCH,
        device: (0, 0),
        mount: 0,
    };

    /// Returns attributes with type and permissions as stat(2) gives them, and nothing else; none counts yet.
    #[cfg(target_os = "linux")]
    #[inline]
    pub(crate) fn of_mode(mode: u32) -> Self {
        let kind = rustix::fs::FileType::from_raw_mode(mode).into();
        Self { kind, mode: (mode & 0o7777) as u16, ..Self::NOTHING }
    }

    /// Returns the attributes of an entry that could not be examined.
    pub(crate) fn failed(error: i32) -> Self {
        Self { error, ..Self::NOTHING }
    }

    /// Tells whether the entry vanished between being listed and being examined.
    pub fn has_vanished(&self) -> bool {
        // ENOENT has the number of ERROR_FILE_NOT_FOUND; 3 is ERROR_PATH_NOT_FOUND.
        self.error == 2 || (cfg!(windows) && self.error == 3)
    }
}

impl Dir {
    /// Returns the wanted attributes of the directory itself.
    ///
    /// # Errors
    ///
    /// Whatever the system gives.
    pub fn attributes(&self, want: Want) -> Result<Attributes> {
        #[cfg(target_os = "linux")]
        if statx::Statx.probe(self).is_ok() {
            return statx::Asking::new(want).itself(self);
        }
        #[cfg(windows)]
        return windows_each::of_directory(self, want);
        #[cfg(not(windows))]
        std::fs::metadata(crate::backend::std_fs::readable_path(self)?)
            .map(|metadata| std_metadata::attributes(&metadata, want))
            .map_err(|error| crate::Error::io("stat", self.path(), error))
    }
}
