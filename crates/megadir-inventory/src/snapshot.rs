//! An inventory in memory; lookups make no system calls.
//!
//! An entry takes 64 bytes and its name, a directory about 250 bytes and the last KiB of its path. Nothing is
//! read again until [`Snapshot::refresh`].

use std::path::PathBuf;
use std::sync::Arc;

use megadir::{Dir, Error, ErrorKind, FileType, Result, names};

use crate::block::Block;
use crate::changes::compare::{self, CompareOptions, Compared, Watch};
use crate::changes::engine::{self, Comparing, Found, Unread};
use crate::changes::source::KeptBlocks;
use crate::metadata::{FORMAT_VERSION, Metadata, Root, Scanned};
use crate::path::{TreePath, split_bytes};
use crate::row::{Facts, Key, Row};
use crate::rows::{Blocks, Rows};
use crate::scan::{granule_ns, now_ns};

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
    metadata: Metadata,
    /// Rows of the roots.
    roots: Vec<(Facts, Option<Box<str>>)>,
    /// Roots and non-empty directories, in the order of an inventory.
    blocks: Vec<Arc<Block>>,
    /// Errors of directories that could not be listed.
    errors: Unread,
}

impl Snapshot {
    /// Reads an inventory into memory.
    pub fn from_inventory<R: Rows>(rows: R) -> Result<Self> {
        let mut metadata = rows.metadata().clone();
        let mut roots = vec![(Facts::NOTHING, None); metadata.roots.len()];
        let (mut source, mut blocks) = (Blocks::new(rows), Vec::new());
        metadata.rows = 0;
        while let Some(block) = source.next_block()? {
            if let Some(row) = block.root_row.as_deref()
                && let Some(root) = roots.get_mut(block.root as usize)
            {
                *root = row.clone();
                metadata.rows += 1;
            }
            metadata.rows += block.len() as u64;
            blocks.push(Arc::new(block));
        }
        Ok(Self { metadata, roots, blocks, errors: Unread::new() })
    }

    /// Scans trees with `threads` threads. Entries that cannot be read are missing, see
    /// [`Metadata::is_complete`].
    ///
    /// # Errors
    ///
    /// A root cannot be opened.
    pub fn from_scan(paths: &[PathBuf], threads: usize) -> Result<Self> {
        let started_ns = now_ns();
        let (trees, unopened) = compare::open(paths.iter().map(Dir::open).collect())?;
        if let Some(error) = unopened.into_iter().next() {
            return Err(error);
        }
        let mut roots = Vec::new();
        for (path, tree) in paths.iter().zip(&trees) {
            let Some(tree) = tree else { continue };
            let absolute = std::path::absolute(path).map_err(|error| Error::io("open", path, error))?;
            let file_system = tree.directory.file_system();
            roots.push(Root {
                path: names::from_os(absolute.as_os_str()).to_vec(),
                file_system: file_system.to_string(),
                granule_ns: granule_ns(file_system, &tree.facts),
                newest_ns: None,
            });
        }
        let examiner = compare::examiner(&trees, None)?;
        let metadata = metadata(started_ns, roots, false, examiner.name(), threads);
        let watch = Watch::default();
        let comparing = Comparing {
            metadata: &metadata,
            unread_before: &Unread::new(),
            trees,
            is_scan: true,
            exclude: Vec::new(),
            started_ns,
            examiner,
            threads,
            skip_unchanged: false,
            any_root: true,
            keep: true,
            stop: &watch.stop,
            entries: &watch.entries,
        };
        let mut found = engine::compare(&comparing, KeptBlocks { blocks: [].iter() })?;
        Ok(Self::of_found(&comparing, &mut found))
    }

    /// Makes a snapshot from the rows kept by a comparison.
    pub(crate) fn of_found(comparing: &Comparing<'_>, found: &mut Found) -> Self {
        let blocks: Vec<Arc<Block>> = std::mem::take(&mut found.blocks).into_values().collect();
        let errors: Unread = std::mem::take(&mut found.errors)
            .into_iter()
            .map(|(place, error)| (place, error.into()))
            .collect();
        let trees = comparing.trees.iter().enumerate();
        let roots: Vec<_> = trees
            .map(|(root, tree)| {
                let error = errors.get(&(root as u32, TreePath::root())).cloned();
                let Some(tree) = tree else { return (Facts::NOTHING, error) };
                let device = tree.facts.device.map(|now| found.volumes.before(now).unwrap_or(now));
                (Facts { device, ..tree.facts }, error)
            })
            .collect();
        let Scanned { cross_mounts, .. } = comparing.metadata.scanned;
        let mut trees = comparing.metadata.roots.clone();
        for (root, tree) in trees.iter_mut().zip(&comparing.trees) {
            root.newest_ns = None;
            let Some(tree) = tree else { continue };
            let directory = &tree.directory;
            let path = std::path::absolute(directory.path()).unwrap_or_else(|_| directory.path().to_owned());
            root.path = names::from_os(path.as_os_str()).to_vec();
            root.file_system = directory.file_system().to_string();
            root.granule_ns = granule_ns(directory.file_system(), &tree.facts);
        }
        for block in &blocks {
            if let Some(root) = trees.get_mut(block.root as usize) {
                root.newest_ns = root.newest_ns.max(block.newest_ns());
            }
        }
        let examiner = comparing.examiner.name();
        let mut metadata = metadata(comparing.started_ns, trees, cross_mounts, examiner, comparing.threads);
        metadata.rows = roots.len() as u64 + blocks.iter().map(|block| block.len() as u64).sum::<u64>();
        metadata.failed = found.failed;
        metadata.unread_directories = errors.len() as u64;
        // Rows that were kept unread still have their old devices.
        let keep_unseen = found.failed > 0 || found.unread > 0 || !found.other_mounts.is_empty();
        metadata.volumes = Some(std::mem::take(&mut found.volumes).record(keep_unseen));
        Self { metadata, roots, blocks, errors }
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

    /// Looks up an entry by its path relative to a root; the empty path is the root itself. Makes no system
    /// call; takes two binary searches.
    pub fn facts(&self, root: u32, path: &[u8]) -> Option<Facts> {
        if path.is_empty() {
            return self.roots.get(root as usize).map(|row| row.0);
        }
        let (block, index) = self.find(root, path)?;
        Some(block.facts(index))
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

    fn find(&self, root: u32, path: &[u8]) -> Option<(&Block, usize)> {
        let (parent, name) = split_bytes(path);
        let block = self.block(root, parent)?;
        Some((block, block.find(name)?))
    }

    fn block(&self, root: u32, path: &[u8]) -> Option<&Block> {
        let at = self.blocks.binary_search_by(|block| block.cmp_place(root, path)).ok()?;
        Some(&self.blocks[at])
    }

    /// Reads the trees again, returns the changes, and holds the new state. Unreadable entries stay as they
    /// were; a directory that was renamed and cannot be read has no entries ([`Compared::lost`] counts both).
    /// After an error nothing has changed.
    ///
    /// # Errors
    ///
    /// As [`changes::compare`](crate::changes::compare()).
    pub fn refresh(&mut self, options: &CompareOptions, watch: &Watch) -> Result<Compared> {
        let roots = self.metadata.roots.iter();
        let roots = roots.map(|root| names::to_os(&root.path).and_then(|path| Dir::open(&*path))).collect();
        let source = KeptBlocks { blocks: self.blocks.iter() };
        let options = CompareOptions { keep: true, ..options.clone() };
        let mut compared =
            compare::from_source((&self.metadata, &self.errors), source, roots, &options, watch)?;
        match compared.now.take() {
            Some(now) => *self = now,
            None => {
                let reason = "what was found has not been kept";
                return Err(Error::new("refresh", "".as_ref(), ErrorKind::Io, reason));
            }
        }
        Ok(compared)
    }

    /// Returns the rows, e.g. to write them as an inventory.
    pub fn rows(&self) -> SnapshotRows<'_> {
        SnapshotRows { snapshot: self, root: 0, block: 0, index: 0, parent: (TreePath::root(), Vec::new()) }
    }
}

fn metadata(
    started_ns: i64,
    roots: Vec<Root>,
    cross_mounts: bool,
    examiner: &str,
    threads: usize,
) -> Metadata {
    Metadata {
        version: FORMAT_VERSION,
        program: concat!("megadir ", env!("CARGO_PKG_VERSION")).to_owned(),
        roots,
        started_ns,
        ended_ns: now_ns(),
        scanned: Scanned { cross_mounts, examiner: examiner.to_owned(), threads, mounts_not_entered: 0 },
        rows: 0,
        failed: 0,
        unread_directories: 0,
        volumes: None,
    }
}

/// Rows of a snapshot, in the order of an inventory.
#[derive(Clone, Debug)]
pub struct SnapshotRows<'a> {
    snapshot: &'a Snapshot,
    /// Index of the next root to return.
    root: usize,
    block: usize,
    index: usize,
    /// Path of the current block, and its bytes.
    parent: (TreePath, Vec<u8>),
}

impl Rows for SnapshotRows<'_> {
    fn metadata(&self) -> &Metadata {
        &self.snapshot.metadata
    }

    fn next_row(&mut self) -> Result<Option<Row<'_>>> {
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
        let mut row = block.row(self.index, &self.parent.1);
        self.index += 1;
        if !snapshot.errors.is_empty() && row.facts.kind == FileType::Directory {
            let error = snapshot.errors.get(&(row.key.root, block.path.join(row.key.name)));
            row.error = error.map(|error| &**error).or(row.error);
        }
        Ok(Some(row))
    }
}
