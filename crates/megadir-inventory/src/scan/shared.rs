//! Items of all threads: those with long paths go to [`Deep`], the others straight to the [`Sorter`].

use std::io;
use std::path::PathBuf;

use super::deep::{Cursor, Deep};
use crate::sorter::Sorter;

/// Limit of relative paths kept whole, bytes: no system call takes longer ones.
const LONG_PATH_BYTES: usize = 4096;

/// Sorter shared by all threads.
pub(super) struct Shared {
    sorter: Sorter,
    /// Created on first use, with half of the sorter's memory.
    deep: Option<Deep>,
    memory_bytes: usize,
}

impl Shared {
    pub(super) fn new(memory_bytes: usize, directory: PathBuf) -> Self {
        Self { sorter: Sorter::new(memory_bytes, directory), deep: None, memory_bytes }
    }

    /// Adds an item. In its key the path of the directory follows the number of the root. `is_same` means the
    /// directory of the thread's last item.
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

    pub(super) fn into_sorter(mut self) -> io::Result<Sorter> {
        if let Some(mut deep) = self.deep {
            deep.write_run(&mut self.sorter)?;
        }
        Ok(self.sorter)
    }
}
