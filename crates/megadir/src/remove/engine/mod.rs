//! The workers that empty directories and share those of a tree.

mod entry;
mod leave;
#[cfg(target_os = "linux")]
pub(super) mod linux;
mod names;
mod node;
mod pace;
mod pool;
mod start;
#[cfg(test)]
mod tests;
mod window;
#[cfg(windows)]
pub(super) mod windows;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

#[cfg(target_os = "linux")]
pub(super) use self::linux as system;
pub(super) use self::pace::Places;
pub(super) use self::start::component;
pub use self::start::{remove_contents, remove_tree};

use self::pace::Pace;
use self::pool::Pool;
use self::system::{Directory, Opener};
use self::window::Room;
#[cfg(windows)]
pub(super) use self::windows as system;
use super::policy::Order;
use super::{Progress, RemoveOptions};
use crate::error::Error;

/// Of the names of directories that may wait with one worker, those of one directory take one of so many parts at most.
const DIRECTORIES_WAITING: usize = 4;

/// What all workers of a removal know.
struct Shared<'a> {
    options: &'a RemoveOptions<'a>,
    progress: &'a Progress,
    /// The path of the root, for messages.
    path: PathBuf,
    root: Arc<Directory>,
    /// Whether anything may go: without conditions a directory is simply emptied.
    unconditional: bool,
    opener: Opener,
    pace: Option<Pace>,
    pool: Pool,
    order: Order,
    /// The window of a worker, bytes.
    window_bytes: usize,
    /// The names of directories that may wait with a worker, bytes.
    waiting_bytes: usize,
    /// The directories that a worker keeps open.
    open_max: usize,
    /// Workers started so far, for the names of threads.
    threads: AtomicUsize,
}

impl Shared<'_> {
    /// Returns for how many names of directories a worker has room where some wait already; beyond it a directory is read on once
    /// those it gave have gone.
    fn room(&self, waiting_bytes: usize) -> Room {
        let of_all = self.waiting_bytes.saturating_sub(waiting_bytes);
        Room { of_one: of_all.min(self.waiting_bytes / DIRECTORIES_WAITING), of_all }
    }

    /// Tells of a failure.
    fn fail(&self, failure: Error) {
        (self.options.on_failure)(failure);
    }
}
