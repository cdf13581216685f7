//! Reads many files in the order of their inodes, which on most file systems is about that of their contents on the disk.
//!
//! Rows come in the order of names. A window of them waits, at most [`ROWS_MAX`] and [`BYTES_MAX`] of names and paths, and
//! is read in the order of inode numbers; disks that turn read such a window several times as fast. The memory is that of a window
//! and a buffer for each thread, whatever the number of files and their sizes.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use megadir::pace::Pace;
use megadir::{Dir, Error, ErrorKind, FileType, Result};

use super::hasher::{Function, Hasher};
use super::opened::{Opened, State, TreeFiles, Trusted};
use crate::row::{ContentHash, Row};
use crate::waiting::WaitingRows;

/// Rows of a window.
pub(crate) const ROWS_MAX: usize = 1 << 16;
/// Names and paths of a window, bytes.
pub(crate) const BYTES_MAX: usize = 16 << 20;
const CHUNK_BYTES: usize = 256 << 10;
/// Unit of the rate.
const RATE_BYTES: u64 = 1 << 10;

/// How contents are read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Number of files read at a time.
    pub threads: usize,
    /// Maximum mean rate of all threads, KiB per second.
    pub kib_per_second_max: Option<NonZeroU32>,
    /// Set to stop, also within a file.
    pub stop: Arc<AtomicBool>,
    /// Counts the bytes that were read.
    pub read_bytes: Arc<AtomicU64>,
}

impl ReadOptions {
    /// One file at a time, as fast as possible.
    #[must_use]
    pub fn new(stop: Arc<AtomicBool>) -> Self {
        Self { threads: 1, kib_per_second_max: None, stop, read_bytes: Arc::default() }
    }
}

/// Reads files for several threads.
#[derive(Debug)]
pub(crate) struct Reader {
    options: ReadOptions,
    pace: Option<Pace>,
}

/// Outcome of reading one entry.
#[derive(Debug)]
pub(crate) enum Contents {
    Hashed(ContentHash),
    /// The entry is not that of its row any more, or changed while it was read.
    Changed,
    Unreadable(Error),
    Stopped,
}

/// One thread's descriptors and memory.
pub(crate) struct Hands<'r> {
    reader: &'r Reader,
    trees: Vec<Option<TreeFiles>>,
    chunk: Vec<u8>,
}

/// Way in which an entry is read: `from_device` drops the cached pages first, so that the disk is read and not the memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) function: Function,
    pub(crate) trusted: Trusted,
    pub(crate) from_device: bool,
}

impl Reader {
    pub(crate) fn new(options: &ReadOptions) -> Self {
        let pace = options.kib_per_second_max.map(Pace::new);
        Self { options: options.clone(), pace }
    }

    /// Bytes of contents read so far.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.options.read_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn hands(&self, roots: &[Option<Dir>]) -> Result<Hands<'_>> {
        let tree =
            |root: &Option<Dir>| root.as_ref().map(|root| root.again().map(TreeFiles::new)).transpose();
        let trees = roots.iter().map(tree).collect::<Result<_>>()?;
        Ok(Hands { reader: self, trees, chunk: vec![0; CHUNK_BYTES] })
    }

    /// Calls `work` once for each of the `wanted` rows, in the order of inodes, and returns what it returned, in no order.
    /// With one thread nothing is started. Errors: a root cannot be opened again; the system refuses a thread.
    pub(crate) fn in_disk_order<T: Send>(
        &self,
        rows: &WaitingRows,
        mut wanted: Vec<usize>,
        roots: &[Option<Dir>],
        work: impl Fn(&mut Hands<'_>, &Row<'_>) -> T + Sync,
    ) -> Result<Vec<(usize, T)>> {
        wanted.sort_by_key(|index| {
            let Row { key, facts, .. } = rows.row(*index);
            (key.root, facts.device, facts.inode)
        });
        let next = AtomicUsize::new(0);
        let share = |mut hands: Hands<'_>| {
            let mut done = Vec::new();
            while let Some(index) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.is_stopped() {
                    break;
                }
                done.push((*index, work(&mut hands, &rows.row(*index))));
            }
            done
        };
        let threads = self.options.threads.min(wanted.len()).max(1);
        let mut hands = (0..threads).map(|_| self.hands(roots)).collect::<Result<Vec<_>>>()?;
        let Some(own) = hands.pop() else { return Ok(Vec::new()) };
        std::thread::scope(|scope| {
            let started = hands.into_iter().map(|hands| {
                let thread = std::thread::Builder::new().name("megadir-read".to_owned());
                thread.spawn_scoped(scope, || share(hands))
            });
            let started: Vec<_> = started.collect();
            // Those that the system refuses are not needed.
            let mut done = share(own);
            for thread in started.into_iter().flatten() {
                done.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            Ok(done)
        })
    }
}

impl Hands<'_> {
    /// Hashes the contents of a file or the target of a link.
    pub(crate) fn hash(&mut self, row: &Row<'_>, wanted: Wanted) -> Contents {
        let hashed = match row.facts.kind {
            FileType::Symlink => self.target(row, wanted),
            _ => self.file(row, wanted),
        };
        match hashed {
            Ok(contents) => contents,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Contents::Changed
            }
            Err(error) => Contents::Unreadable(error),
        }
    }

    fn tree(&mut self, row: &Row<'_>) -> Result<&mut TreeFiles> {
        let tree = self.trees.get_mut(row.key.root as usize).and_then(Option::as_mut);
        tree.ok_or_else(|| Error::new("open", "".as_ref(), ErrorKind::NotFound, "its tree was not opened"))
    }

    fn target(&mut self, row: &Row<'_>, wanted: Wanted) -> Result<Contents> {
        let (target, state) = self.tree(row)?.link(&row.key)?;
        self.reader.options.read_bytes.fetch_add(target.len() as u64, Ordering::Relaxed);
        let has_length = row.facts.size_bytes.is_none_or(|size| size == target.len() as u64);
        match has_length && state.is_same_entry(&row.facts, wanted.trusted) {
            true => Ok(Contents::Hashed(wanted.function.hash(&target))),
            false => Ok(Contents::Changed),
        }
    }

    /// The state is compared with the row's before the file is read, and with that before afterwards. A hash of contents that changed
    /// in between would belong to no row.
    fn file(&mut self, row: &Row<'_>, wanted: Wanted) -> Result<Contents> {
        let mut opened = self.tree(row)?.open(&row.key)?;
        if !State::is_unchanged(&opened.before, &row.facts, wanted.trusted) {
            return Ok(Contents::Changed);
        }
        if wanted.from_device {
            opened.drop_cache();
        }
        let contents = self.contents(&mut opened, wanted.function);
        opened.drop_cache();
        match contents? {
            Some(_) if !opened.is_unchanged() => Ok(Contents::Changed),
            Some(hash) => Ok(Contents::Hashed(hash)),
            None => Ok(Contents::Stopped),
        }
    }

    /// `None` after a stop. Of a file that grows meanwhile, which is no evidence, only the beginning is read.
    fn contents(&mut self, opened: &mut Opened, function: Function) -> Result<Option<ContentHash>> {
        /// Pages of this much are dropped at a time, so that a large file does not fill the memory of the machine.
        const DROP_EVERY_BYTES: u64 = 16 << 20;
        let mut hasher = Hasher::new(function);
        let (mut all_bytes, mut dropped_bytes) = (0_u64, 0_u64);
        loop {
            if self.reader.is_stopped() {
                return Ok(None);
            }
            let filled = opened.fill(&mut self.chunk)?;
            hasher.update(&self.chunk[..filled]);
            self.reader.options.read_bytes.fetch_add(filled as u64, Ordering::Relaxed);
            if let Some(pace) = &self.reader.pace
                && !pace.wait((filled as u64).div_ceil(RATE_BYTES), || self.reader.is_stopped())
            {
                return Ok(None);
            }
            all_bytes += filled as u64;
            if all_bytes - dropped_bytes >= DROP_EVERY_BYTES {
                opened.drop_cache();
                dropped_bytes = all_bytes;
            }
            if filled < self.chunk.len() || opened.has_grown(all_bytes) {
                return Ok(Some(hasher.finish()));
            }
        }
    }
}
