//! Items of all threads of a scan: those with long paths are held as a tree of names, the others by the [`Sorter`] alone.

use std::io;
use std::path::PathBuf;

use super::deep::{Cursor, Deep};
use crate::sorter::Sorter;

/// Directories whose relative path takes more than this are kept as a tree of names, see [`Deep`], bytes: no path that a system call takes
/// does.
const LONG_PATH_BYTES: usize = 4096;

/// Where the rows of all threads come together.
pub(super) struct Shared {
    sorter: Sorter,
    /// Made when it is needed first, of memory that is taken from the sorter.
    deep: Option<Deep>,
    memory_bytes: usize,
}

impl Shared {
    /// Makes one that holds about so many bytes in memory, and the rest in nameless files of a directory.
    pub(super) fn new(memory_bytes: usize, directory: PathBuf) -> Self {
        Self { sorter: Sorter::new(memory_bytes, directory), deep: None, memory_bytes }
    }

    /// Adds an item under its key, in which the path of the directory follows the number of the root. `is_same` says that the thread's
    /// last item was of the same directory.
    pub(super) fn add(
        &mut self,
        cursor: &mut Cursor,
        (root, path_bytes, is_same): (u32, usize, bool),
        key: &[u8],
        item: &[u8],
    ) -> io::Result<()> {
        let Self { sorter, deep, memory_bytes } = self;
        if path_bytes <= LONG_PATH_BYTES {
            return sorter.add(key, item);
        }
        let (path, tail) = key[size_of::<u32>()..].split_at(path_bytes);
        let deep = deep.get_or_insert_with(|| {
            sorter.set_memory(*memory_bytes / 2);
            Deep::new(*memory_bytes / 2)
        });
        deep.add(cursor, (root, path, is_same), tail, item, sorter)
    }

    /// Returns the sorter with all items.
    pub(super) fn into_sorter(mut self) -> io::Result<Sorter> {
        if let Some(mut deep) = self.deep {
            deep.write_run(&mut self.sorter)?;
        }
        Ok(self.sorter)
    }
}
