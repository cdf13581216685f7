//! When a directory that was emptied had better be made anew.

use megadir::{Dir, FileSystem};

use crate::cmd::limits::amount;
use crate::ui::message::quoted;

/// From this size on an empty directory is worth making anew, bytes: listing it reads all of them.
const LARGE_BYTES: u64 = 1 << 20;

/// Returns what to say of a directory that keeps the size that it once needed.
pub(super) fn renew(directory: &Dir) -> Option<String> {
    if directory.file_system() != FileSystem::Ext4 {
        return None;
    }
    let size_bytes = directory.size_bytes().ok().filter(|size| *size >= LARGE_BYTES)?;
    let (path, size) = (quoted(directory.path()), amount::bytes(size_bytes));
    Some(format!(
        "{path} keeps its size of {size} although it holds less, since directories of ext4 never shrink, and listing it \
         stays slow: --contents --renew makes it anew"
    ))
}
