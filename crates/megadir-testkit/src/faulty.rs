//! Backend whose n-th call fails, to prove for every n that nothing is lost, duplicated or leaked (as in "How
//! SQLite Is Tested", section 3).
//!
//! ```text
//! call 0: open    call n: n-th next_batch    fails_at = n: the call n returns the error, all later ones None
//! ```

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use megadir::{Backend, Batch, BatchBuilder, Dir, Error, FileType, ReadOptions, Reader, Result};

use crate::seen::Seen;

/// `error` is a function, since an error cannot be cloned and each failure needs one.
pub struct Faulty {
    inner: &'static dyn Backend,
    fails_at: u64,
    error: fn() -> Error,
    done: Arc<Mutex<Done>>,
}

/// Names that were passed on before the failure, and `true` if it happened. A count that is too large never
/// fails, which ends the loops of the suites.
#[derive(Debug, Clone, Default)]
pub struct Done {
    pub given: BTreeSet<Vec<u8>>,
    pub failed: bool,
}

impl Faulty {
    /// Call 0 is opening, n the n-th [`Reader::next_batch`]. Leaks a few bytes to be `'static`.
    pub fn leaked(inner: &'static dyn Backend, fails_at: u64, error: fn() -> Error) -> &'static Self {
        Box::leak(Box::new(Self { inner, fails_at, error, done: Arc::default() }))
    }

    /// A second reading may return different batches: `getdents64` returns early while the thread has signals
    /// or io_uring work pending (`filldir64`).
    pub fn done(&self) -> Done {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn fail<T>(done: &Mutex<Done>, error: fn() -> Error) -> Result<T> {
    done.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
    Err(error())
}

pub fn not_found() -> Error {
    Error::io("read", "faulty".as_ref(), std::io::ErrorKind::NotFound.into())
}

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

    /// The inner backend is opened first, so that a failing opening has something to leak.
    fn open(&self, directory: &Dir, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        let inner = self.inner.open(directory, options)?;
        if self.fails_at == 0 {
            return fail(&self.done, self.error);
        }
        let done = Arc::clone(&self.done);
        Ok(Box::new(FaultyReader { inner, until: self.fails_at, ended: false, error: self.error, done }))
    }
}

/// Passes the batches of `inner` on. `until` counts the calls down to the one that fails with `error`. After an
/// error or the end `ended` is `true`, and further calls return nothing. `done` is shared with the
/// test, which looks at it after the reader is gone.
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
        // The end counts as a call, too: errors at the end of a directory are cases of their own.
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

/// Reader that hides the types of its entries, as directories of some file systems do.
pub struct Untyped {
    inner: Box<dyn Reader>,
    builder: BatchBuilder,
}

impl Untyped {
    pub fn new(inner: Box<dyn Reader>) -> Self {
        Self { inner, builder: BatchBuilder::new(0, true) }
    }
}

impl Reader for Untyped {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let Some(batch) = self.inner.next_batch()? else { return Ok(None) };
        self.builder.clear();
        for entry in batch {
            let cookie = entry.cookie.unwrap_or(0);
            // A refused entry would make the test lose names.
            assert!(self.builder.push(entry.name, entry.inode, FileType::Unknown, cookie));
        }
        Ok(Some(self.builder.batch()))
    }

    fn calls(&self) -> Option<u64> {
        self.inner.calls()
    }
}
