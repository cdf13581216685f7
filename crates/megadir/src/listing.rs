//! Lists one directory with the backend that suits it.

use std::path::Path;

use crate::backend::Reader;
use crate::batch::Batch;
use crate::dir::Dir;
use crate::error::Result;
use crate::policy::{self, Choice};

/// Listing of one directory by the backend that suits it; the [crate] has an example.
///
/// Memory is bounded by the backend's buffers. Entries come in directory order, which looks arbitrary.
pub struct Listing {
    choice: Choice,
    reader: Box<dyn Reader>,
}

impl Listing {
    /// Opens a directory for listing in the caller's thread. Errors: not found, not a directory, or permission denied.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::with_threads(path, 1)
    }

    /// Opens a directory for listing by at most `threads` threads, if that is faster; the order of entries
    /// then differs from run to run. Errors: as [`Listing::open`].
    pub fn with_threads(path: impl AsRef<Path>, threads: usize) -> Result<Self> {
        let directory = Dir::open(path)?;
        let mut choice = policy::choose(&directory, threads)?;
        choice.options.resolve_types = true;
        Self::with_choice(&directory, choice)
    }

    /// Opens a directory with the given backend and options. Errors: as
    /// [`Backend::open`](crate::Backend::open).
    pub fn with_choice(directory: &Dir, choice: Choice) -> Result<Self> {
        let reader = choice.backend.open(directory, &choice.options)?;
        Ok(Self { choice, reader })
    }

    /// Returns the next batch of entries, which may be empty, or `None` at the end. Any error ends the listing.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        self.reader.next_batch()
    }

    /// Backend and options in use, and the reason for them.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Number of system calls made for entries, if known.
    pub fn calls(&self) -> Option<u64> {
        self.reader.calls()
    }
}
