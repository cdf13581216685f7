//! Workers that empty directories and share the directories of a tree.

mod ahead;
mod entry;
mod leave;
#[cfg(target_os = "linux")]
pub(super) mod linux;
mod newest;
mod node;
mod pool;
mod start;
#[cfg(test)]
mod tests;
mod window;
#[cfg(windows)]
pub(super) mod windows;
mod worker;

use std::ffi::CStr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

#[cfg(target_os = "linux")]
pub(super) use self::linux as system;
pub(super) use self::start::component;
pub use self::start::{remove_contents, remove_tree};

use self::pool::Pool;
use self::system::Directory;
use self::window::Room;
#[cfg(windows)]
pub(super) use self::windows as system;
use super::policy::Order;
use super::progress::Call;
use super::{Progress, RemoveOptions};

/// One directory's subdirectories get at most a worker's space for waiting names divided by this.
const DIRECTORIES_WAITING: usize = 4;

/// State shared by all workers of a removal.
struct Shared<'a> {
    options: &'a RemoveOptions<'a>,
    call: &'a Call<'a>,
    progress: &'a Progress,
    /// Path of the root, for messages.
    path: PathBuf,
    root: Arc<Directory>,
    /// No entry needs to be checked: without conditions a directory is simply emptied.
    unconditional: bool,
    /// In a dry run: nothing can be removed on this mount.
    is_read_only: bool,
    /// Entries have been removed before: the attributes of directories may be the removal's own doing.
    is_repeated: bool,
    /// Most entries per second.
    rate: Option<NonZeroU32>,
    pool: Pool,
    order: Order,
    ahead: system::Ahead,
    /// Window of a worker, bytes.
    window_bytes: usize,
    /// The same where inodes are read ahead: between two windows the disk moves to the directory and back.
    window_bytes_max: usize,
    /// Space for names of waiting directories per worker, bytes.
    waiting_bytes: usize,
    /// Most directories that a worker keeps open.
    open_max: usize,
    /// Number of workers started so far, for the names of threads.
    threads: AtomicUsize,
}

impl Shared<'_> {
    fn open_below(&self, parent: &impl system::Open, name: &CStr) -> Result<Directory, system::Errno> {
        system::open_below(parent, name, self.options.cross_mounts)
    }

    /// Space left for names of directories if `waiting_bytes` already wait. A directory with more is read
    /// further once its listed subdirectories are gone.
    fn room(&self, waiting_bytes: usize) -> Room {
        let of_all = self.waiting_bytes.saturating_sub(waiting_bytes);
        Room { of_one: of_all.min(self.waiting_bytes / DIRECTORIES_WAITING), of_all }
    }
}
