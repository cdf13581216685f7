//! Workers that empty directories and share the directories of a tree.
//!
//! ```text
//! worker: window of names -> unlinkat each -> subdirectory? push, and descend
//!         stack holds more than needed, others idle? give away waiting directories closest to the root
//!         last part of a directory done -> the worker that did it removes the directory -> its parent
//! ```
//!
//! Waiting names are bounded: names that do not fit are read again later, from the position before them. Ancestors are
//! closed and reopened through `..`, which is trusted only if device, inode and mount match; otherwise they are opened
//! by their names from the root. A job that one worker gives to another is the node of a directory and names in it,
//! without a descriptor; its receiver opens it in the same two ways, mostly from the directory that it worked in last.
//!
//! All workers share the descriptor table of the process. A table for each gained nothing with two workers (0.636 s
//! against 0.627 s with one, medians of three, 200 000 files in 1000 directories on ext4;
//! `records/2026-11-21-remove.md`), and callbacks on such threads could use or close the wrong file.
//!
//! The system calls are in `linux.rs` and `windows.rs`. Handles on Windows cannot go up or return to a position:
//! ancestors stay open there, names that were read are not put back, and receivers open jobs from the root.

mod ahead;
mod entry;
mod leave;
#[cfg(target_os = "linux")]
pub(super) mod linux;
mod newest;
mod node;
mod pool;
mod start;
mod still_open;
#[cfg(test)]
mod tests;
mod turn;
mod window;
#[cfg(windows)]
pub(super) mod windows;
mod worker;

use std::ffi::CStr;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

#[cfg(target_os = "linux")]
pub(super) use self::linux as system;
pub(super) use self::start::component;
pub use self::start::{remove_contents, remove_tree};

#[cfg(target_os = "linux")]
pub(super) use self::{entry::announce, turn::Turn};

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
///
/// Everything here is fixed while workers run, except for counters and the pool, which synchronize themselves; so
/// workers take no lock for their settings. Each pass over a root has its own value.
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

    /// `true` if a dry run has counted this entry, and counts each entry once.
    fn is_counted(&self, directory: &impl system::Open, name: &CStr) -> bool {
        is_counted(self.options, self.call, directory, name)
    }

    fn note_counted(&self, directory: &impl system::Open, name: &CStr) {
        note_counted(self.options, self.call, directory, name);
    }

    /// Space left for names of directories if `waiting_bytes` already wait. A directory with more is read
    /// further once its listed subdirectories are gone.
    fn room(&self, waiting_bytes: usize) -> Room {
        let of_all = self.waiting_bytes.saturating_sub(waiting_bytes);
        Room { of_one: of_all.min(self.waiting_bytes / DIRECTORIES_WAITING), of_all }
    }
}

fn is_counted(
    options: &RemoveOptions<'_>,
    call: &Call<'_>,
    directory: &impl system::Open,
    name: &CStr,
) -> bool {
    hash_of_name(options, directory, name).is_some_and(|hash| call.is_counted(hash))
}

fn note_counted(options: &RemoveOptions<'_>, call: &Call<'_>, directory: &impl system::Open, name: &CStr) {
    if let Some(hash) = hash_of_name(options, directory, name) {
        call.note(hash);
    }
}

/// Hash of a name in a directory by the directory's identity, if a dry run counts each entry once. With ten million entries,
/// the probability that two hashes are equal and a count is too low by one is 3 in a million.
fn hash_of_name(options: &RemoveOptions<'_>, directory: &impl system::Open, name: &CStr) -> Option<u64> {
    if !options.counts_once || !options.dry_run {
        return None;
    }
    let identity = system::identity(directory).ok()?;
    Some(BuildHasherDefault::<DefaultHasher>::default().hash_one((identity, name)))
}
