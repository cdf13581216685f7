//! Another process that exchanges entries of a tree while a program works on it.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};

/// Directories of the tree, and of the witness.
pub(crate) const DIRECTORIES: usize = 4;

/// Creates the tree `t`, links to the witness's directories to exchange with, and a place for guests.
pub(crate) fn prepare(at: &Path, fill: impl Fn(usize)) {
    for name in ["t", "links", "guests"] {
        let _ = std::fs::remove_dir_all(at.join(name));
        std::fs::create_dir(at.join(name)).unwrap();
    }
    for directory in 0..DIRECTORIES {
        fill(directory);
        symlink(at.join(format!("outside/d{directory}")), at.join(format!("links/l{directory}"))).unwrap();
    }
}

pub(crate) fn open(path: &Path) -> OwnedFd {
    openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

/// An attack that goes on until it is stopped.
#[derive(Default)]
pub(crate) struct Attack {
    stop: AtomicBool,
    swaps: AtomicU64,
}

impl Attack {
    pub(crate) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Counts the successful attempts.
    pub(crate) fn rename(&self, from: &OwnedFd, old: &str, to: &OwnedFd, new: &str, flags: RenameFlags) {
        let renamed = renameat_with(from.as_fd(), old, to.as_fd(), new, flags).is_ok();
        self.swaps.fetch_add(u64::from(renamed), Ordering::Relaxed);
    }
}

/// Runs `work` during an attack; returns the number of successful exchanges.
pub(crate) fn under_attack(attack: impl FnOnce(&Attack) + Send, work: impl FnOnce()) -> u64 {
    let state = Attack::default();
    std::thread::scope(|scope| {
        scope.spawn(|| attack(&state));
        while state.swaps.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        work();
        state.stop.store(true, Ordering::Relaxed);
    });
    state.swaps.load(Ordering::Relaxed)
}
