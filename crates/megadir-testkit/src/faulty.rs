//! A backend whose n-th call fails, to prove for every n that nothing is lost, doubled or left behind.
//!
//! After SQLite's "How SQLite Is Tested", section 3 (anomaly testing).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use megadir::{Backend, Batch, Dir, Error, ReadOptions, Reader, Result};

use crate::seen::Seen;

/// A backend over another one; its n-th call fails.
pub struct Faulty {
    inner: &'static dyn Backend,
    fails_at: u64,
    error: fn() -> Error,
    done: Arc<Mutex<Done>>,
}

/// What a [`Faulty`] backend and its readers did.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// Names in the batches that it gave before it failed.
    pub given: BTreeSet<Vec<u8>>,
    /// Whether the call that fails was made.
    pub failed: bool,
}

impl Faulty {
    /// Returns a backend over `inner`, for places that want one for ever (a test may leak a few bytes).
    ///
    /// `fails_at` says which call fails with `error`: 0 is opening, n the n-th call of [`Reader::next_batch`].
    pub fn leaked(inner: &'static dyn Backend, fails_at: u64, error: fn() -> Error) -> &'static Self {
        Box::leak(Box::new(Self { inner, fails_at, error, done: Arc::default() }))
    }

    /// Returns what it did so far.
    ///
    /// A second reading of a directory need not give batches like those of the first: `getdents64` returns early while
    /// the thread has signals or work of io_uring waiting (`filldir64`).
    pub fn done(&self) -> Done {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn fail<T>(done: &Mutex<Done>, error: fn() -> Error) -> Result<T> {
    done.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
    Err(error())
}

/// Makes an error of kind [`megadir::ErrorKind::NotFound`].
pub fn not_found() -> Error {
    Error::io("read", "faulty".as_ref(), std::io::ErrorKind::NotFound.into())
}

/// Makes an error of kind [`megadir::ErrorKind::Io`].
pub fn io() -> Error {
    Error::io("read", "faulty".as_ref(), std::io::ErrorKind::TimedOut.into())
}

impl Backend for Faulty {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn about(&self) -> &'static str {
        self.inner.about()
    }

    fn is_raw(&self) -> bool {
        self.inner.is_raw()
    }

    fn uses_threads(&self) -> bool {
        self.inner.uses_threads()
    }

    fn uses_buffer(&self) -> bool {
        self.inner.uses_buffer()
    }

    fn probe(&self, directory: &Dir) -> Result<()> {
        self.inner.probe(directory)
    }

    fn open(&self, directory: &Dir, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        let inner = self.inner.open(directory, options)?;
        if self.fails_at == 0 {
            return fail(&self.done, self.error);
        }
        let done = Arc::clone(&self.done);
        Ok(Box::new(FaultyReader { inner, until: self.fails_at, ended: false, error: self.error, done }))
    }
}

struct FaultyReader {
    inner: Box<dyn Reader>,
    until: u64,
    ended: bool,
    error: fn() -> Error,
    done: Arc<Mutex<Done>>,
}

impl Reader for FaultyReader {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        if self.ended {
            return Ok(None);
        }
        self.until -= 1;
        if self.until == 0 {
            self.ended = true;
            return fail(&self.done, self.error);
        }
        let batch = self.inner.next_batch();
        self.ended = !matches!(batch, Ok(Some(_)));
        if let Ok(Some(batch)) = &batch {
            let names = batch.entries().map(|entry| Seen::of(&entry).name);
            self.done.lock().unwrap_or_else(PoisonError::into_inner).given.extend(names);
        }
        batch
    }

    fn calls(&self) -> Option<u64> {
        self.inner.calls()
    }
}
