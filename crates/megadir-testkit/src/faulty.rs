//! A backend whose n-th call fails, to prove for every n that nothing is lost, doubled or left behind.
//!
//! After SQLite's "How SQLite Is Tested", section 3 (anomaly testing).

use megadir::{Backend, Batch, Dir, Error, ReadOptions, Reader, Result};

/// A backend over another one; its n-th call fails.
pub struct Faulty {
    /// The backend that does the work.
    pub inner: &'static dyn Backend,
    /// Which call fails: 0 is opening, n the n-th call of [`Reader::next_batch`].
    pub fails_at: u64,
    /// Makes the error.
    pub error: fn() -> Error,
}

impl Faulty {
    /// Returns the backend for places that want one for ever; a test may leak a few bytes.
    pub fn leak(self) -> &'static dyn Backend {
        Box::leak(Box::new(self))
    }
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
            return Err((self.error)());
        }
        Ok(Box::new(FaultyReader { inner, until: self.fails_at, ended: false, error: self.error }))
    }
}

struct FaultyReader {
    inner: Box<dyn Reader>,
    until: u64,
    ended: bool,
    error: fn() -> Error,
}

impl Reader for FaultyReader {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        if self.ended {
            return Ok(None);
        }
        self.until -= 1;
        if self.until == 0 {
            self.ended = true;
            return Err((self.error)());
        }
        let batch = self.inner.next_batch();
        self.ended = !matches!(batch, Ok(Some(_)));
        batch
    }

    fn calls(&self) -> Option<u64> {
        self.inner.calls()
    }
}
