//! Directories of a file system: all names of a directory are read, and the attributes of a sample of its entries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::interval::RULE;
use super::{Figures, QUANTITIES, Random, Reading, Tree};
use crate::attributes::{Attributes, StatMask};
use crate::batch::BatchBuilder;
use crate::conditions::Conditions;
use crate::dir::Dir;
use crate::error::{ErrorKind, Result};
use crate::file_type::FileType;
use crate::listing::Listing;
use crate::options::RECORD_BYTES_MAX;
use crate::policy;
use crate::stat::{STAT_BACKENDS, StatBackend, examine, preferred};
use crate::tree_path::TreePath;

/// Entries of a directory whose attributes are read, if it has more. The time may be over between any two calls for `CHUNK` of them.
pub(super) const EXAMINED_MAX: usize = 64;
const CHUNK: usize = 8;
const BUFFER_BYTES: usize = 32 << 10;
const WANT: StatMask = StatMask::TYPE.union(StatMask::SIZE).union(StatMask::ALLOCATED).union(StatMask::LINKS);

/// Tree of a file system. `is_over` is asked between directories, and between the calls that read one. Directories are opened from
/// the root on, name by name: descriptors for those that wait would be too many.
pub struct DirectoryTree {
    root: Dir,
    cross_mounts: bool,
    stat_backend: &'static dyn StatBackend,
    conditions: Option<Arc<Conditions>>,
    is_over: Box<dyn Fn() -> bool + Send + Sync>,
    unread: AtomicU64,
    mounts_not_entered: AtomicU64,
}

/// Entry of the sample of a directory.
struct Chosen {
    name: Vec<u8>,
    kind: FileType,
}

impl DirectoryTree {
    /// Prepares a tree. Conditions select the entries that count. Errors: the stat backend needs whole listings.
    pub fn new(
        root: Dir,
        cross_mounts: bool,
        stat_backend: Option<&'static dyn StatBackend>,
        conditions: Option<Arc<Conditions>>,
        is_over: Box<dyn Fn() -> bool + Send + Sync>,
    ) -> Result<Self> {
        let mut stat_backend = stat_backend.map_or_else(|| preferred(&root), Ok)?;
        if stat_backend.is_listed() {
            // Of few entries of a directory.
            let of_entries = STAT_BACKENDS.iter().find(|able| !able.is_listed() && able.probe(&root).is_ok());
            stat_backend = of_entries.copied().unwrap_or(stat_backend);
        }
        let (unread, mounts_not_entered) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { root, cross_mounts, stat_backend, conditions, is_over, unread, mounts_not_entered })
    }

    /// Path of the root.
    pub fn top() -> TreePath {
        TreePath::root()
    }

    /// Number of directories that could not be read, among those that were to be read.
    pub fn unread(&self) -> u64 {
        self.unread.load(Ordering::Relaxed)
    }

    /// Number of mount points that were not entered, among the directories that were to be read.
    pub fn mounts_not_entered(&self) -> u64 {
        self.mounts_not_entered.load(Ordering::Relaxed)
    }

    fn open(&self, path: &TreePath) -> Result<Option<Dir>> {
        let path = path.to_vec();
        let mut opened = None;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let parent = opened.as_ref().unwrap_or(&self.root);
            let below = match self.cross_mounts {
                true => parent.open_below(name).map(Some),
                false => parent.open_below_on_this_mount(name),
            };
            match below? {
                Some(directory) => opened = Some(directory),
                None => return Ok(None),
            }
        }
        opened.map_or_else(|| self.root.again(), Ok).map(Some)
    }

    /// Reads the names of a directory into `reading`, and chooses the entries to examine. Returns the number of entries that meet
    /// the conditions on names and types.
    fn list(
        &self,
        directory: &Dir,
        (path, places): (&TreePath, usize),
        random: &mut Random,
        (reading, chosen): (&mut Reading<TreePath>, &mut Vec<Chosen>),
    ) -> Result<u64> {
        let mut choice = policy::choose(directory, 1)?;
        choice.options.resolve_types = true;
        choice.options.buffer_bytes = BUFFER_BYTES;
        let mut listing = Listing::with_choice(directory, choice)?;
        let conditions = self.conditions.as_deref();
        let place = conditions.map(|conditions| conditions.place(path)).unwrap_or_default();
        let (mut entries, mut entered) = (0, 0);
        while let Some(batch) = listing.next_batch()? {
            for entry in batch {
                let is_directory = entry.kind == FileType::Directory;
                if is_directory && conditions.is_none_or(|all| all.enters(&place, entry.name)) {
                    random.reserve(&mut reading.below, entered, places, || path.join(entry.name));
                    entered += 1;
                }
                let accepts =
                    |all: &Conditions| all.accepts_type(entry.kind) && all.accepts_name(&place, entry.name);
                if conditions.is_none_or(accepts) {
                    let choose = || Chosen { name: entry.name.to_vec(), kind: entry.kind };
                    random.reserve(chosen, entries, EXAMINED_MAX, choose);
                    entries += 1;
                    reading.figures[1] += f64::from(u8::from(is_directory));
                }
            }
            reading.directories = entered as f64;
            reading.figures[0] = entries as f64;
            if (self.is_over)() {
                reading.is_complete = false;
                break;
            }
        }
        Ok(entries)
    }

    /// Figures of each chosen entry. One with several links counts in each of them for its share of the bytes.
    fn examine(&self, directory: &Dir, path: &TreePath, chosen: &[Chosen]) -> Result<Vec<Figures>> {
        let conditions = self.conditions.as_deref();
        let place = conditions.map(|conditions| conditions.place(path)).unwrap_or_default();
        let want = WANT | conditions.map_or(StatMask::NOTHING, Conditions::want);
        let mut examiner = self.stat_backend.start(directory, want)?;
        let mut batch = BatchBuilder::new(CHUNK * RECORD_BYTES_MAX, false);
        let (mut rows, mut all) = (Vec::new(), Vec::with_capacity(chosen.len()));
        for chunk in chosen.chunks(CHUNK) {
            batch.clear();
            chunk.iter().for_each(|entry| {
                batch.push(&entry.name, 0, entry.kind, 0);
            });
            examine(&mut *examiner, directory, batch.batch(), &mut rows)?;
            for (entry, row) in chunk.iter().zip(&rows) {
                let counts = !row.has_vanished()
                    && conditions.is_none_or(|all| all.may_accept(&place, &entry.name, entry.kind, row));
                all.push(if counts { figures_of(entry.kind, row) } else { Figures::default() });
            }
            if (self.is_over)() {
                break;
            }
        }
        Ok(all)
    }
}

fn figures_of(kind: FileType, row: &Attributes) -> Figures {
    let has = |want| row.have.contains(want);
    let is_directory = kind == FileType::Directory;
    let links = if has(StatMask::LINKS) && !is_directory { row.links.max(1) as f64 } else { 1.0 };
    let bytes = |want, value: u64| if has(want) { value as f64 / links } else { 0.0 };
    let allocated = bytes(StatMask::ALLOCATED, row.allocated_bytes);
    [1.0, f64::from(u8::from(is_directory)), allocated, bytes(StatMask::SIZE, row.size_bytes)]
}

impl Tree for DirectoryTree {
    type Node = TreePath;

    /// A directory that vanished or is on another mount has nothing below it, and one that could not be read is counted as such.
    fn read(&self, path: &TreePath, places: usize, random: &mut Random) -> Reading<TreePath> {
        let mut reading = Reading::EMPTY;
        if (self.is_over)() {
            reading.is_complete = false;
            return reading;
        }
        let directory = match self.open(path) {
            Ok(Some(directory)) => directory,
            Ok(None) => {
                self.mounts_not_entered.fetch_add(1, Ordering::Relaxed);
                return reading;
            }
            Err(error) => {
                self.unread.fetch_add(u64::from(error.kind() != ErrorKind::NotFound), Ordering::Relaxed);
                return reading;
            }
        };
        let mut chosen = Vec::new();
        let into = (&mut reading, &mut chosen);
        let listed = self.list(&directory, (path, places), random, into);
        let examined = listed.and_then(|entries| Ok((entries, self.examine(&directory, path, &chosen)?)));
        let Ok((entries, examined)) = examined else {
            self.unread.fetch_add(1, Ordering::Relaxed);
            return reading;
        };
        reading.is_complete &= examined.len() == chosen.len();
        let (figures, variance, unseen) = extrapolated(entries, &examined);
        let selects = self.conditions.as_deref().is_some_and(|all| all.want() != StatMask::NOTHING);
        // Otherwise the names have been counted.
        let from = if selects { 0 } else { 2 };
        reading.figures[from..].copy_from_slice(&figures[from..]);
        reading.variance[from..].copy_from_slice(&variance[from..]);
        reading.unseen[from..].copy_from_slice(&unseen[from..]);
        reading
    }
}

/// Figures of `count` entries of which `examined` are a sample, their variance, and what the rule of three adds. Reference: Cochran,
/// *Sampling Techniques*, 3rd edition, section 2.6.
pub(super) fn extrapolated(count: u64, examined: &[Figures]) -> (Figures, Figures, Figures) {
    let (mut figures, mut variance, mut unseen) = <(Figures, Figures, Figures)>::default();
    let (all, some) = (count as f64, examined.len() as f64);
    if examined.is_empty() {
        return (figures, variance, unseen);
    }
    let unexamined = 1.0 - some / all;
    for quantity in 0..QUANTITIES {
        let values = || examined.iter().map(|values| values[quantity]);
        let mean = values().sum::<f64>() / some;
        figures[quantity] = all * mean;
        let squares: f64 = values().map(|value| (value - mean).powi(2)).sum();
        if squares > 0.0 && unexamined > 0.0 {
            variance[quantity] = all * all * squares / (some - 1.0) / some * unexamined;
            unseen[quantity] = all * values().fold(0.0, f64::max) * RULE / some * unexamined;
        }
    }
    (figures, variance, unseen)
}
