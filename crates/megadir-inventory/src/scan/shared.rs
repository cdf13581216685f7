//! Items of all threads: long paths go to [`Deep`], others to the [`Sorter`].

use std::io;
use std::path::PathBuf;

use megadir::Result;

use super::deep::{Cursor, Deep};
use super::spill_error;
use crate::path::TreePath;
use crate::sorter::Sorter;

/// No system call takes longer paths, bytes.
const LONG_PATH_BYTES: usize = 4096;

/// Key of the next item. The path of a directory is written once for all of its items, up to `name_at`; a
/// long path is not written at all and left to the tree of names.
#[derive(Default)]
pub(super) struct ItemKey {
    root: u32,
    path: TreePath,
    bytes: Vec<u8>,
    name_at: usize,
}

impl ItemKey {
    pub(super) fn enter(&mut self, root: u32, path: &TreePath, kind: u8) {
        self.root = root;
        self.path = path.clone();
        self.bytes.clear();
        if !self.is_long() {
            self.bytes.extend_from_slice(&root.to_be_bytes());
            path.push_to(&mut self.bytes);
        }
        self.bytes.extend_from_slice(&[0, kind]);
        self.name_at = self.bytes.len();
    }

    pub(super) fn set_name(&mut self, name: &[u8]) {
        self.bytes.truncate(self.name_at);
        self.bytes.extend_from_slice(name);
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn is_long(&self) -> bool {
        self.path.len() > LONG_PATH_BYTES
    }
}

/// Behind one lock that all threads of a scan take for each item. `deep` is made when the first long path
/// comes, and then gets its share of the memory.
pub(crate) struct Shared {
    sorter: Sorter,
    deep: Option<Deep>,
    memory_bytes: usize,
}

impl Shared {
    /// The last quarter of `memory_bytes` is for rows held by threads.
    pub(crate) fn new(memory_bytes: usize, directory: PathBuf) -> Self {
        let memory_bytes = memory_bytes - memory_bytes / 4;
        Self { sorter: Sorter::new(memory_bytes, directory), deep: None, memory_bytes }
    }

    pub(crate) fn thread_bytes(memory_bytes: usize, threads: usize) -> usize {
        memory_bytes / 4 / threads.max(1)
    }

    pub(super) fn add(&mut self, cursor: &mut Cursor, key: &ItemKey, item: &[u8]) -> io::Result<()> {
        let Self { sorter, deep, memory_bytes } = self;
        if !key.is_long() {
            return sorter.add(&key.bytes, item);
        }
        let deep = deep.get_or_insert_with(|| {
            sorter.memory_bytes_max = *memory_bytes / 2;
            Deep::new(*memory_bytes / 2)
        });
        deep.add(cursor, (key.root, &key.path), &key.bytes, item, sorter)
    }

    pub(crate) fn into_sorter(self) -> Result<Sorter> {
        let Self { mut sorter, deep, .. } = self;
        if let Some(mut deep) = deep {
            deep.write_run(&mut sorter).map_err(|error| spill_error(&sorter.directory, error))?;
        }
        Ok(sorter)
    }
}
