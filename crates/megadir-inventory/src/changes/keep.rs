//! Keeps the current rows while trees are compared.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use megadir::Result;

use super::proof::Racy;
use crate::block::Block;
use crate::metadata::Metadata;
use crate::packed::Numbers;
use crate::path::TreePath;
use crate::row::Facts;
use crate::rows::Sink;
use crate::scan::{Collector, DirRows, ScanWatch, Shared, emit, spill_error};
use crate::sorter::Sorter;

/// On Unix EIO; on Windows `ERROR_ACCESS_DENIED`.
const NOT_EXAMINED: i32 = 5;

/// Memory and temporary files for kept rows.
#[derive(Clone, Debug)]
pub struct Keep {
    /// Approximate memory for rows waiting to be sorted, bytes.
    pub memory_bytes: usize,
    /// Directory of unlinked temporary files for the other rows.
    pub spill_directory: PathBuf,
}

/// The sorter of a scan, filled by the threads of a comparison. The current rows are written as a scan would
/// write them, and the old inventory is replaced at the end.
pub(crate) struct Keeping {
    shared: Mutex<Shared>,
    options: Keep,
    thread_bytes: usize,
}

/// One thread's share. Rows of a directory are collected in `rows`, already in order, and become one item of
/// the sorter at the end of each range of names.
pub(crate) struct Keeper<'k> {
    keeping: &'k Keeping,
    collector: Collector<'k>,
    rows: DirRows,
    newest: Newest,
}

/// Newest times by root and device, as the inventory numbers it: other mounts below a root may have other clocks.
#[derive(Debug, Default)]
pub(crate) struct Newest {
    by_place: BTreeMap<Place, i64>,
    /// Most entries are where the one before was.
    last: Option<(Place, i64)>,
}

type Place = (u32, Option<u64>);

impl Newest {
    fn note(&mut self, place: Place, time_ns: Option<i64>) {
        let Some(time_ns) = time_ns else { return };
        match &mut self.last {
            Some((last, newest)) if *last == place => *newest = time_ns.max(*newest),
            last => {
                let before = last.replace((place, time_ns));
                self.keep(before);
            }
        }
    }

    fn keep(&mut self, noted: Option<(Place, i64)>) {
        if let Some((place, time_ns)) = noted {
            let newest = self.by_place.entry(place).or_insert(time_ns);
            *newest = time_ns.max(*newest);
        }
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        let last = other.last.take();
        other.by_place.into_iter().chain(last).for_each(|noted| self.keep(Some(noted)));
    }

    /// Newest time on the devices that `is_there` accepts, of entries below a root, or below any.
    pub(crate) fn of(&self, root: Option<u32>, is_there: impl Fn(Option<u64>) -> bool) -> Option<i64> {
        let all = self.by_place.iter().map(|(place, time_ns)| (*place, *time_ns)).chain(self.last);
        let there = all.filter(|((of, device), _)| root.is_none_or(|root| root == *of) && is_there(*device));
        there.map(|(_, time_ns)| time_ns).max()
    }
}

impl Keeping {
    pub(crate) fn new(options: &Keep, threads: usize) -> Self {
        let shared = Mutex::new(Shared::new(options.memory_bytes, options.spill_directory.clone()));
        let thread_bytes = Shared::thread_bytes(options.memory_bytes, threads);
        Self { shared, options: options.clone(), thread_bytes }
    }

    pub(crate) fn keeper(&self) -> Keeper<'_> {
        Keeper {
            keeping: self,
            collector: Collector::new(&self.shared),
            rows: DirRows::default(),
            newest: Newest::default(),
        }
    }

    pub(crate) fn into_kept(self, metadata: Metadata) -> Result<Kept> {
        let shared = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Kept { metadata, sorter: shared.into_sorter()? })
    }
}

impl Keeper<'_> {
    pub(crate) fn add(&mut self, root: u32, path: &TreePath, name: &[u8], facts: &Facts) -> Result<()> {
        if facts.hash.is_some() {
            self.end(root, path)?;
            return self.row(root, path, name, facts);
        }
        let row = Numbers::new(facts);
        self.newest.note((root, facts.device), row.newest_ns());
        self.rows.failed += u64::from(facts.errno.is_some());
        self.rows.add(&row, name);
        if self.rows.bytes() > self.keeping.thread_bytes / 2 { self.end(root, path) } else { Ok(()) }
    }

    pub(crate) fn end(&mut self, root: u32, path: &TreePath) -> Result<()> {
        let ended = self.collector.rows(root, path, &mut self.rows);
        self.rows.failed = 0;
        ended.map_err(|error| self.failed(error))
    }

    pub(crate) fn row(&mut self, root: u32, path: &TreePath, name: &[u8], facts: &Facts) -> Result<()> {
        self.collector.row(root, path, name, facts).map_err(|error| self.failed(error))
    }

    pub(crate) fn error(&mut self, root: u32, path: &TreePath, error: &str) -> Result<()> {
        let (parent, name) = path.split();
        self.collector.error(root, &parent, &name, error).map_err(|error| self.failed(error))
    }

    /// For a directory whose entries are unknown now. Suspects remain suspects: they count as not examined.
    pub(crate) fn old(&mut self, block: &Block, racy: Racy) -> Result<()> {
        for index in 0..block.len() {
            let (name, mut facts) = (block.name(index), block.facts(index));
            if racy.is_suspect(&facts) {
                facts.errno.get_or_insert(NOT_EXAMINED);
            }
            if let Some(error) = block.error(index) {
                let added = self.collector.error(block.root, &block.path, name, error);
                added.map_err(|error| self.failed(error))?;
            }
            self.add(block.root, &block.path, name, &facts)?;
        }
        self.end(block.root, &block.path)
    }

    pub(crate) fn into_newest(self) -> Newest {
        self.newest
    }

    fn failed(&self, error: io::Error) -> megadir::Error {
        spill_error(&self.keeping.options.spill_directory, error)
    }
}

/// Current rows of compared trees; beyond [`Keep::memory_bytes`] in temporary files.
#[derive(Debug)]
pub struct Kept {
    metadata: Metadata,
    sorter: Sorter,
}

impl Kept {
    /// Describes the trees, without the number of rows.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Passes the rows to `sink` in the order of their keys, as [`scan()`](crate::scan()) does. Returns
    /// `None` if `watch` requested a stop. Errors: of temporary files and the sink.
    pub fn write(self, watch: &mut ScanWatch<'_>, sink: &mut dyn Sink) -> Result<Option<Metadata>> {
        let Self { metadata, sorter } = self;
        // An entry with an old row instead of an error failed too.
        let failed = metadata.failed;
        let written = emit(sorter, watch, sink, metadata)?;
        Ok(written.map(|metadata| Metadata { failed, ..metadata }))
    }
}
