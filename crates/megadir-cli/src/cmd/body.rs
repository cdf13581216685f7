//! The size that a directory keeps after its entries are gone.

use megadir::{Dir, FileSystem};

use crate::ui::sizes;

/// Listing reads all of it.
const LARGE_BYTES: u64 = 1 << 20;

/// Rest of a message that begins with the directory's name; `None` if it does not matter.
pub(in crate::cmd) fn body(directory: &Dir) -> Option<String> {
    if directory.file_system() != FileSystem::Ext4 {
        return None;
    }
    let size_bytes = directory.size_bytes().ok().filter(|size| *size >= LARGE_BYTES)?;
    let size = sizes::text(size_bytes);
    Some(format!("keeps its size of {size} because ext4 directories never shrink, so listing it stays slow"))
}
