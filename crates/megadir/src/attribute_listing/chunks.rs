//! Strategies "chunks" and "windows": threads take batches from one supply and read the attributes of what they took.
//! Only listing holds the supply's lock; attributes cost several times as much.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::windows::InInodeOrder;
use crate::attributes::StatMask;
use crate::backend::Reader;
use crate::batch::OwnedBatch;
use crate::dir::Dir;
use crate::error::{Error, Result};
use crate::stat::{AttributeBatch, AttributeReader, Examine, StatBackend, examine};
use crate::threads::{Attempt, Handed, join, lock, started};

pub(crate) enum Supply {
    Listing(Box<dyn Reader>),
    Windows(Box<InInodeOrder>),
}

struct Source {
    /// `None` after the end or an error.
    supply: Option<Supply>,
    /// Returned after everything read before it.
    failed: Option<Error>,
}

/// Batches circulate, so that nothing is allocated after the start:
///
/// ```text
/// empty (3 a thread) -> worker: lock source, take a batch, unlock -> examine -> filled (2 a thread) -> caller -> empty
/// ```
///
/// The queue of filled batches bounds how far the threads run ahead of the caller. Batches come in any order,
/// since a directory has none. Dropping it closes both queues, so that each thread ends at its next send or
/// receive.
pub(crate) struct Chunks {
    source: Arc<Mutex<Source>>,
    filled: Receiver<OwnedBatch>,
    empty: Sender<OwnedBatch>,
    current: Option<OwnedBatch>,
    threads: Vec<JoinHandle<()>>,
    /// For the caller's thread, if the system allows no other.
    alone: Option<Worker>,
}

/// The lock of `source` is held while a batch is listed and never while attributes are read, which takes
/// several times as long: that is what the threads share. Each has an `examine` of its own, because these
/// hold buffers.
struct Worker {
    directory: Arc<Dir>,
    source: Arc<Mutex<Source>>,
    examine: Box<dyn Examine>,
    filled: Sender<OwnedBatch>,
    empty: Receiver<OwnedBatch>,
}

impl Chunks {
    pub(crate) fn start(
        directory: &Arc<Dir>,
        supply: Supply,
        threads: usize,
        stat_backend: &'static dyn StatBackend,
        want: StatMask,
    ) -> Result<Self> {
        // The batches are put into the queue before any thread starts, so that no thread waits for its first
        // one. If the system refuses the first thread, the caller's does the work of all, when a batch is
        // requested. If it refuses a later one, the others do.
        let source = Arc::new(Mutex::new(Source { supply: Some(supply), failed: None }));
        let (filled_in, filled) = bounded(threads * 2);
        let (empty, empty_out) = bounded(threads * 3);
        for _ in 0..threads * 2 {
            let _ = empty.send(OwnedBatch::default());
        }
        let worker = |examine| Worker {
            directory: Arc::clone(directory),
            source: Arc::clone(&source),
            examine,
            filled: filled_in.clone(),
            empty: empty_out.clone(),
        };
        let mut index = 0;
        let start = |worker: Handed<Worker>| {
            let named = std::thread::Builder::new().name(format!("megadir-examine-{index}"));
            index += 1;
            named.spawn(move || worker.take().run())
        };
        let all = stat_backend.start_threads(directory, want, threads)?;
        let (threads, alone) = match started(Attempt::UnlessRefused, all.into_iter().map(worker), start) {
            Ok(threads) => (threads, None),
            Err(first) => (Vec::new(), Some(first)),
        };
        Ok(Self { source, filled, empty, current: None, threads, alone })
    }
}

impl AttributeReader for Chunks {
    fn next_examined(&mut self) -> Result<Option<AttributeBatch<'_>>> {
        if let Some(worker) = &mut self.alone {
            let mut next = self.current.take().unwrap_or_default();
            if !worker.fill(&mut next) {
                let failed = lock(&self.source).failed.take();
                return failed.map_or(Ok(None), Err);
            }
            let current = self.current.insert(next);
            return Ok(Some(AttributeBatch::new(current.batch(), &current.rows)));
        }
        if let Some(done) = self.current.take() {
            let _ = self.empty.send(done);
        }
        let Ok(next) = self.filled.recv() else {
            join(&mut self.threads);
            let failed = lock(&self.source).failed.take();
            return failed.map_or(Ok(None), Err);
        };
        let current = self.current.insert(next);
        Ok(Some(AttributeBatch::new(current.batch(), &current.rows)))
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        // Closing the channels makes each thread end at its next buffer.
        self.filled = crossbeam_channel::never();
        self.empty = bounded(0).0;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Worker {
    fn run(mut self) {
        while let Ok(mut examined) = self.empty.recv() {
            if !self.fill(&mut examined) || self.filled.send(examined).is_err() {
                return;
            }
        }
    }

    fn fill(&mut self, examined: &mut OwnedBatch) -> bool {
        self.try_fill(examined).unwrap_or_else(|error| {
            let mut source = lock(&self.source);
            source.supply = None;
            source.failed.get_or_insert(error);
            false
        })
    }

    fn try_fill(&mut self, examined: &mut OwnedBatch) -> Result<bool> {
        if !self.take(examined)? {
            return Ok(false);
        }
        let mut rows = std::mem::take(&mut examined.rows);
        examine(&mut *self.examine, &self.directory, examined.batch(), &mut rows)?;
        examined.rows = rows;
        Ok(true)
    }

    fn take(&self, examined: &mut OwnedBatch) -> Result<bool> {
        let mut source = lock(&self.source);
        match &mut source.supply {
            None => return Ok(false),
            Some(Supply::Listing(reader)) => {
                if let Some(batch) = reader.next_batch()? {
                    examined.copy(batch);
                    return Ok(true);
                }
            }
            Some(Supply::Windows(windows)) => {
                if let Some((window, entries)) = windows.take()? {
                    let window = window.read().unwrap_or_else(PoisonError::into_inner);
                    drop(source);
                    window.copy(entries, examined);
                    return Ok(true);
                }
            }
        }
        source.supply = None;
        Ok(false)
    }
}
