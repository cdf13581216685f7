//! Strategy "chunks": threads take buffers from one reader, each examines what it took.
//!
//! The reader is behind a lock that is held for one buffer's listing only; attributes, which cost several times
//! as much, are asked for outside it. A thread that is done early takes the next buffer, so work is stolen
//! by the buffer (some 600 entries of 32 KiB), without a queue of small jobs.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::examiner::{Examine, Examiner};
use super::stream::{AttributeBatch, AttributeReader};
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

/// The consumer's side.
pub(crate) struct Chunks {
    filled: Receiver<Result<Examined>>,
    empty: Sender<Examined>,
    current: Option<Examined>,
    threads: Vec<JoinHandle<()>>,
}

/// A thread's side.
struct Worker {
    directory: Arc<Dir>,
    /// `None` once the directory has been read or has failed.
    reader: Arc<Mutex<Option<Box<dyn Reader>>>>,
    examine: Box<dyn Examine>,
    filled: Sender<Result<Examined>>,
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
        let reader = Arc::new(Mutex::new(Some(reader)));
        let (filled_in, filled) = bounded(threads * 2);
        let (empty, empty_out) = bounded(threads * 3);
        for _ in 0..threads * 2 {
            let _ = empty.send(Examined::default());
        }
        let mut chunks = Self { filled, empty, current: None, threads: Vec::new() };
        for index in 0..threads {
            let worker = Worker {
                directory: Arc::clone(directory),
                reader: Arc::clone(&reader),
                examine: examiner.start(directory, want)?,
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
            return Ok(None);
        };
        let current = self.current.insert(next?);
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
            match self.fill(&mut examined) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    let _ = self.filled.send(Err(error));
                    return;
                }
            }
            if self.filled.send(Ok(examined)).is_err() {
                return;
            }
        }
    }

    /// Takes a buffer from the reader and examines it; `false` at the end.
    fn fill(&mut self, examined: &mut Examined) -> Result<bool> {
        {
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(open) = reader.as_mut() else { return Ok(false) };
            match open.next_batch() {
                Ok(Some(batch)) => {
                    examined.bytes.clear();
                    examined.bytes.extend_from_slice(batch.bytes());
                    examined.cookies = batch.has_cookies();
                }
                Ok(None) => {
                    *reader = None;
                    return Ok(false);
                }
                Err(error) => {
                    *reader = None;
                    return Err(error);
                }
            }
        }
        let Ok(batch) = Batch::check(&examined.bytes, examined.cookies) else { return Ok(false) };
        self.examine.examine(&self.directory, batch, &mut examined.rows)?;
        Ok(true)
    }
}
