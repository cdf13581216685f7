//! An inventory in memory. An entry takes 72 bytes and its name, a directory about 250 bytes and the last KiB of its path.

use std::sync::Arc;

use megadir::{FileType, Result};

use crate::block::Block;
use crate::metadata::Metadata;
use crate::path::{TreePath, split_bytes};
use crate::row::{Facts, Key, Row};
use crate::rows::{Blocks, Building, Rows, Sink};

/// Contents of trees at one moment.
///
/// ```
/// use megadir_inventory::Snapshot;
/// # let directory = tempfile::tempdir()?;
/// # std::fs::create_dir(directory.path().join("src"))?;
/// # std::fs::write(directory.path().join("src/main.rs"), "fn main() {}")?;
/// let snapshot = Snapshot::from_scan(&[directory.path().into()], 1)?;
/// let main = snapshot.facts(0, b"src/main.rs").expect("it exists");
/// assert_eq!(main.size_bytes, Some(12));
/// assert!(snapshot.facts(0, b"src/lib.rs").is_none());
/// let names: Vec<&[u8]> = snapshot.list(0, b"src").expect("a directory").map(|(name, _)| name).collect();
/// assert_eq!(names, [b"main.rs"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) metadata: Metadata,
    pub(crate) roots: Vec<(Facts, Option<Box<str>>)>,
    pub(crate) blocks: Vec<Arc<Block>>,
}

impl Snapshot {
    /// Reads an inventory into memory.
    pub fn from_inventory<R: Rows>(rows: R) -> Result<Self> {
        let mut metadata = rows.metadata().clone();
        let (mut source, mut blocks) = (Blocks::new(rows), Vec::new());
        metadata.rows = 0;
        while let Some(block) = source.next_block()? {
            metadata.rows += block.len() as u64 + u64::from(block.root_row.is_some());
            blocks.push(block);
        }
        Ok(Self::of(metadata, blocks))
    }

    fn of(metadata: Metadata, blocks: Vec<Block>) -> Self {
        let mut roots = vec![(Facts::NOTHING, None); metadata.roots.len()];
        for block in &blocks {
            if let Some(row) = block.root_row.as_deref()
                && let Some(root) = roots.get_mut(block.root as usize)
            {
                *root = row.clone();
            }
        }
        let mut blocks: Vec<Arc<Block>> = blocks.into_iter().map(Arc::new).collect();
        blocks.shrink_to_fit();
        Self { metadata, roots, blocks }
    }

    /// Describes the whole snapshot.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Number of entries, roots included.
    pub fn len(&self) -> u64 {
        self.metadata.rows
    }

    /// `true` if the snapshot has no entry, not even a root.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory of the entries, bytes, without the allocator's overhead and the shared parts of paths.
    pub fn heap_bytes(&self) -> usize {
        let blocks = self.blocks.iter().map(|block| size_of::<Block>() + 16 + block.heap_bytes());
        blocks.sum::<usize>() + self.blocks.capacity() * size_of::<Arc<Block>>()
    }

    /// Looks up an entry by its path relative to a root (empty for the root itself), without system calls.
    pub fn facts(&self, root: u32, path: &[u8]) -> Option<Facts> {
        if path.is_empty() {
            return self.roots.get(root as usize).map(|row| row.0);
        }
        let (parent, name) = split_bytes(path);
        let block = self.block(root, parent)?;
        Some(block.facts(block.find(name)?))
    }

    /// Lists the names of a directory, sorted, with their facts; `None` if it is no directory.
    pub fn list(&self, root: u32, path: &[u8]) -> Option<impl Iterator<Item = (&[u8], Facts)>> {
        let block = self.block(root, path);
        if block.is_none() && self.facts(root, path)?.kind != FileType::Directory {
            return None;
        }
        let indices = 0..block.map_or(0, Block::len);
        Some(indices.filter_map(move |index| block.map(|block| (block.name(index), block.facts(index)))))
    }

    fn block(&self, root: u32, path: &[u8]) -> Option<&Block> {
        let at = self.blocks.binary_search_by(|block| block.cmp_place(root, path)).ok()?;
        Some(&self.blocks[at])
    }

    /// Returns the rows, e.g. to write them as an inventory.
    pub fn rows(&self) -> SnapshotRows<'_> {
        SnapshotRows { snapshot: self, root: 0, block: 0, index: 0, parent: (TreePath::root(), Vec::new()) }
    }
}

#[derive(Default)]
pub(crate) struct Collected {
    building: Building,
    blocks: Vec<Block>,
}

impl Collected {
    pub(crate) fn snapshot(self, metadata: Metadata) -> Snapshot {
        let Self { building, mut blocks } = self;
        blocks.extend(building.end());
        blocks.iter_mut().for_each(|block| block.examined_ns = metadata.started_ns);
        Snapshot::of(metadata, blocks)
    }
}

impl Sink for Collected {
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        self.building.add(row)?;
        self.blocks.extend(self.building.take());
        Ok(())
    }
}

/// Rows of a snapshot, in the order of an inventory.
///
/// `block` counts through the directories of the current root and `index` through the rows of a directory.
/// `parent` is the current directory's path in both of its forms, because rows borrow it as bytes.
#[derive(Clone, Debug)]
pub struct SnapshotRows<'a> {
    snapshot: &'a Snapshot,
    root: usize,
    block: usize,
    index: usize,
    parent: (TreePath, Vec<u8>),
}

impl Rows for SnapshotRows<'_> {
    fn metadata(&self) -> &Metadata {
        &self.snapshot.metadata
    }

    fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        // A root's row precedes the rows of its directories, and a root without entries has no block, so
        // roots and blocks are merged by the root's number.
        let snapshot = self.snapshot;
        while snapshot.blocks.get(self.block).is_some_and(|block| self.index >= block.len()) {
            (self.block, self.index) = (self.block + 1, 0);
        }
        let block = snapshot.blocks.get(self.block);
        if block.is_none_or(|block| block.root as usize >= self.root)
            && let Some((facts, error)) = snapshot.roots.get(self.root)
        {
            let key = Key { root: self.root as u32, parent: b"", name: b"" };
            self.root += 1;
            return Ok(Some(Row { key, facts: *facts, error: error.as_deref() }));
        }
        let Some(block) = block else { return Ok(None) };
        if self.parent.0 != block.path {
            block.path.replace(&self.parent.0, &mut self.parent.1);
            self.parent.0 = block.path.clone();
        }
        let row = block.row(self.index, &self.parent.1);
        self.index += 1;
        Ok(Some(row))
    }
}
