//! The tree to scan.

use super::super::arms::DIRECTORY;
use super::super::fill;
use super::super::interrupt::Interrupt;
use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::path::{Path, PathBuf};

const FILES_PER_DIRECTORY: u64 = 100;

/// Returns the number of directories without the root.
pub(super) fn directories(entries: u64) -> u64 {
    entries.div_ceil(FILES_PER_DIRECTORY)
}

/// Creates empty files with names of 32 characters in directories below the root of a file system, and syncs
/// them.
pub(super) fn make(root: &Path, entries: u64, interrupt: &Interrupt) -> Result<(), String> {
    let path = root.join(DIRECTORY);
    let cannot = |error: rustix::io::Errno| format!("cannot create {}: {error}", path.display());
    let open = |path: &Path| {
        rustix::fs::mkdirat(CWD, path, Mode::from_raw_mode(0o755))?;
        rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    };
    let top = open(&path).map_err(cannot)?;
    for directory in 0..directories(entries) {
        let folder = open(&one(&path, directory)).map_err(cannot)?;
        let from = directory * FILES_PER_DIRECTORY;
        for number in from..(from + FILES_PER_DIRECTORY).min(entries) {
            let (name, mode) = (fill::name(number), Mode::from_raw_mode(0o644));
            rustix::fs::mknodat(&folder, &name[..], FileType::RegularFile, mode, 0).map_err(cannot)?;
        }
        interrupt.check()?;
    }
    rustix::fs::syncfs(&top).map_err(cannot)
}

fn one(path: &Path, directory: u64) -> PathBuf {
    path.join(format!("{directory:06}"))
}

/// Path of a file of the tree, relative to the root of the file system.
pub(super) fn file(number: u64) -> PathBuf {
    let name = String::from_utf8_lossy(&fill::name(number)).into_owned();
    one(Path::new(DIRECTORY), number / FILES_PER_DIRECTORY).join(name)
}
