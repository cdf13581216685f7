//! Rows of one side: of a tree that another thread scans, or of an inventory.
//!
//! A scan gives its rows to a sink, and a join takes them from two sources, so they cross a bounded channel in chunks. The
//! scan has everything sorted before its first row; a join that is slower makes it wait.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};

use megadir::{Error, ErrorKind, Result, TreeEvent, names};

use super::CopyWatch;
use crate::metadata::Metadata;
use crate::row::{Facts, OwnedRow, Row};
use crate::rows::{Rows, Sink};
use crate::scan::{ScanOptions, relative, scan};
use crate::waiting::WaitingRows;

fn stopped() -> Error {
    Error::new("compare", "".as_ref(), ErrorKind::Io, "stopped")
}

const CHUNK_ROWS: usize = 1024;
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that wait in a channel.
const CHUNKS: usize = 2;

/// Sends rows to the join. Dropping the receiver ends the scan.
struct Sending {
    chunk: WaitingRows,
    sender: SyncSender<WaitingRows>,
}

impl Sending {
    fn send(&mut self) -> Result<()> {
        let chunk = std::mem::take(&mut self.chunk);
        self.sender.send(chunk).map_err(|_| stopped())
    }
}

impl Sink for Sending {
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        self.chunk.push(row);
        if self.chunk.is_full(CHUNK_ROWS, CHUNK_BYTES) { self.send() } else { Ok(()) }
    }
}

/// Everything that the thread of a scan needs. `mounts` receives the paths of mounts that were not entered, relative to the tree, all of
/// them before the first row.
pub(super) struct Job<'env> {
    pub(super) path: PathBuf,
    pub(super) options: ScanOptions,
    pub(super) side: usize,
    pub(super) watch: &'env CopyWatch<'env>,
    /// Set when the join has ended.
    pub(super) ended: &'env AtomicBool,
    pub(super) mounts: &'env Mutex<BTreeSet<Vec<u8>>>,
}

impl Job<'_> {
    fn run(self, sender: SyncSender<WaitingRows>) -> Result<()> {
        let mut sink = Sending { chunk: WaitingRows::default(), sender };
        let mut watch = |event: TreeEvent<'_>| {
            if let TreeEvent::OtherMount(path) = event {
                let root = names::from_os(self.path.as_os_str());
                let below = relative(names::from_os(path.as_os_str()), root).into_owned();
                self.mounts.lock().unwrap_or_else(PoisonError::into_inner).insert(below);
            }
            (self.watch.event)(Some(self.side), &event);
            match self.watch.stop.load(Ordering::Relaxed) || self.ended.load(Ordering::Relaxed) {
                true => std::ops::ControlFlow::Break(()),
                false => std::ops::ControlFlow::Continue(()),
            }
        };
        match scan(std::slice::from_ref(&self.path), &self.options, &mut watch, &mut sink)? {
            Some(_) => sink.send(),
            None => Err(stopped()),
        }
    }
}

/// Source of the rows of one side, in key order.
pub(super) enum Source<'scope, 'env> {
    Tree(Box<TreeRows<'scope, 'env>>),
    Inventory(Box<dyn Rows + Send + 'scope>),
}

/// Rows of a scan in another thread, which begins with [`TreeRows::start`] or when the first row is requested. `next` is the index in `chunk` of
/// the row to come.
pub(super) struct TreeRows<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    job: Option<Job<'env>>,
    running: Option<(Receiver<WaitingRows>, ScopedJoinHandle<'scope, Result<()>>)>,
    chunk: WaitingRows,
    next: usize,
}

impl<'scope, 'env> TreeRows<'scope, 'env> {
    pub(super) fn new(scope: &'scope Scope<'scope, 'env>, job: Job<'env>) -> Self {
        Self { scope, job: Some(job), running: None, chunk: WaitingRows::default(), next: 0 }
    }

    /// Errors: the system refuses a thread.
    pub(super) fn start(&mut self) -> Result<()> {
        let Some(job) = self.job.take() else { return Ok(()) };
        let (sender, receiver) = sync_channel(CHUNKS);
        let path = job.path.clone();
        let thread = std::thread::Builder::new().name("megadir-side".to_owned());
        let thread = thread.spawn_scoped(self.scope, move || job.run(sender));
        let thread = thread.map_err(|error| Error::io("start a thread to scan", &path, error))?;
        self.running = Some((receiver, thread));
        Ok(())
    }

    fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        self.start()?;
        while self.next == self.chunk.len() {
            let Some((receiver, _)) = &self.running else { return Ok(None) };
            match receiver.recv() {
                Ok(chunk) => (self.chunk, self.next) = (chunk, 0),
                Err(_) => return self.end().map(|()| None),
            }
        }
        self.next += 1;
        Ok(Some(self.chunk.row(self.next - 1)))
    }

    fn end(&mut self) -> Result<()> {
        match self.running.take() {
            Some((_, thread)) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => Ok(()),
        }
    }
}

/// Row to come of a source, in buffers that are used again. `None` in `row` after the last one.
pub(super) struct Head<'scope, 'env> {
    source: Source<'scope, 'env>,
    row: OwnedRow,
    is_present: bool,
}

impl<'scope, 'env> Head<'scope, 'env> {
    pub(super) fn new(source: Source<'scope, 'env>) -> Self {
        let row =
            OwnedRow { root: 0, parent: Vec::new(), name: Vec::new(), facts: Facts::NOTHING, error: None };
        Self { source, row, is_present: true }
    }

    pub(super) fn start(&mut self) -> Result<()> {
        match &mut self.source {
            Source::Tree(rows) => rows.start(),
            Source::Inventory(_) => Ok(()),
        }
    }

    pub(super) fn advance(&mut self) -> Result<()> {
        let next = match &mut self.source {
            Source::Tree(rows) => rows.next_row()?,
            Source::Inventory(rows) => rows.next_row()?,
        };
        self.is_present = next.is_some();
        let Some(next) = next else { return Ok(()) };
        let row = &mut self.row;
        row.root = next.key.root;
        // Neighbouring rows have the same path, which may be long.
        if row.parent != next.key.parent {
            row.parent.clear();
            row.parent.extend_from_slice(next.key.parent);
        }
        row.name.clear();
        row.name.extend_from_slice(next.key.name);
        row.facts = next.facts;
        row.error = next.error.map(str::to_owned);
        Ok(())
    }

    pub(super) fn row(&self) -> Option<Row<'_>> {
        self.is_present.then(|| self.row.row())
    }
}

/// Mounts that one side did not enter.
pub(super) enum Mounts<'env> {
    /// Paths relative to the tree.
    Known(&'env Mutex<BTreeSet<Vec<u8>>>),
    /// An inventory has only their number. Such a mount is a directory on another device without entries, unless it is a subvolume of
    /// btrfs: these are on the devices of which entries have come. The device of the root comes with its row.
    Guessed(BTreeSet<u64>),
    /// None, or all were entered.
    Nowhere,
}

impl Mounts<'_> {
    pub(super) fn recorded(metadata: &Metadata) -> Self {
        match metadata.scanned.cross_mounts || metadata.scanned.mounts_not_entered == 0 {
            true => Self::Nowhere,
            false => Self::Guessed(BTreeSet::new()),
        }
    }

    /// Called with the directories of a tree in their order, the root first.
    pub(super) fn has(&mut self, row: &Row<'_>, path: &[u8]) -> bool {
        match self {
            Self::Known(paths) => paths.lock().unwrap_or_else(PoisonError::into_inner).contains(path),
            Self::Guessed(entered) => {
                if row.key.is_root() {
                    entered.extend(row.facts.device);
                }
                row.facts.device.is_some_and(|device| !entered.contains(&device))
            }
            Self::Nowhere => false,
        }
    }

    /// Takes back a guess: the directory has entries, on this device.
    pub(super) fn withdraw(&mut self, device: Option<u64>) {
        if let Self::Guessed(entered) = self {
            entered.extend(device);
        }
    }
}
