//! Strategy "chunks": threads take buffers from one reader, each examines what it took.
//!
//! The reader is behind a lock that is held for one buffer's listing only; attributes, which cost several times
//! as much, are asked for outside it. A thread that is done early takes the next buffer, so work is stolen
//! by the buffer (256 entries at least), without a queue of small jobs.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::examiner::{Examine, Examiner};
use super::stream::{AttributeBatch, AttributeReader, examine};
use super::{Attributes, Want};
use crate::backend::Reader;
use crate::batch::Batch;
use crate::dir::Dir;
use crate::error::{Error, Result};
use crate::threads::join;

/// A buffer's records and what was found of them.
#[derive(Default)]
struct Examined {
    bytes: Vec<u8>,
    cookies: bool,
    rows: Vec<Attributes>,
}

/// What the threads take buffers from.
struct Source {
    /// `None` once the directory has been read or something has failed.
    reader: Option<Box<dyn Reader>>,
    /// What failed first; told when what was read before has been handed out.
    failed: Option<Error>,
}

/// The consumer's side.
pub(crate) struct Chunks {
    source: Arc<Mutex<Source>>,
    filled: Receiver<Examined>,
    empty: Sender<Examined>,
    current: Option<Examined>,
    threads: Vec<JoinHandle<()>>,
}

/// A thread's side.
struct Worker {
    directory: Arc<Dir>,
    source: Arc<Mutex<Source>>,
    examine: Box<dyn Examine>,
    filled: Sender<Examined>,
    empty: Receiver<Examined>,
}

impl Chunks {
    pub(crate) fn start(
        directory: &Arc<Dir>,
        reader: Box<dyn Reader>,
        threads: usize,
        examiner: &'static dyn Examiner,
        want: Want,
    ) -> Result<Self> {
        let source = Arc::new(Mutex::new(Source { reader: Some(reader), failed: None }));
        let (filled_in, filled) = bounded(threads * 2);
        let (empty, empty_out) = bounded(threads * 3);
        for _ in 0..threads * 2 {
            let _ = empty.send(Examined::default());
        }
        let mut chunks =
            Self { source: Arc::clone(&source), filled, empty, current: None, threads: Vec::new() };
        for (index, examine) in (0..).zip(examiner.start_threads(directory, want, threads)?) {
            let worker = Worker {
                directory: Arc::clone(directory),
                source: Arc::clone(&source),
                examine,
                filled: filled_in.clone(),
                empty: empty_out.clone(),
            };
            let thread = std::thread::Builder::new()
                .name(format!("megadir-examine-{index}"))
                .spawn(move || worker.run())
                .map_err(|error| Error::io("start a thread to examine", directory.path(), error))?;
            chunks.threads.push(thread);
        }
        Ok(chunks)
    }
}

impl AttributeReader for Chunks {
    fn next_examined(&mut self) -> Result<Option<AttributeBatch<'_>>> {
        if let Some(done) = self.current.take() {
            let _ = self.empty.send(done);
        }
        let Ok(next) = self.filled.recv() else {
            join(&mut self.threads);
            let failed = self.source.lock().unwrap_or_else(PoisonError::into_inner).failed.take();
            return failed.map_or(Ok(None), Err);
        };
        let current = self.current.insert(next);
        match Batch::check(&current.bytes, current.cookies) {
            Ok(batch) => Ok(Some(AttributeBatch::new(batch, &current.rows))),
            Err(_) => unreachable!("the bytes of a batch are a batch"),
        }
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        // Without its ends of the queues every thread comes to its end at the next buffer.
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

    /// Takes a buffer from the reader and examines it; `false` at the end, or when something fails.
    fn fill(&mut self, examined: &mut Examined) -> bool {
        {
            let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(reader) = source.reader.as_mut() else { return false };
            match reader.next_batch() {
                Ok(Some(batch)) => {
                    examined.bytes.clear();
                    examined.bytes.extend_from_slice(batch.bytes());
                    examined.cookies = batch.has_cookies();
                }
                Ok(None) => {
                    source.reader = None;
                    return false;
                }
                Err(error) => {
                    source.fail(error);
                    return false;
                }
            }
        }
        let Ok(batch) = Batch::check(&examined.bytes, examined.cookies) else { return false };
        match examine(&mut *self.examine, &self.directory, batch, &mut examined.rows) {
            Ok(()) => true,
            Err(error) => {
                self.source.lock().unwrap_or_else(PoisonError::into_inner).fail(error);
                false
            }
        }
    }
}

impl Source {
    /// Notes what failed; nobody is given another buffer.
    fn fail(&mut self, error: Error) {
        self.reader = None;
        self.failed.get_or_insert(error);
    }
}
