//! Listing one directory without knowing what a backend is.

use std::path::Path;

use crate::backend::Reader;
use crate::batch::Batch;
use crate::dir::Dir;
use crate::error::Result;
use crate::policy::{self, Choice};

/// A directory being listed by whatever backend fits it.
///
/// Memory is bounded by the backend's buffers, however large the directory is. Entries come in the order
/// of the directory, which is no order a person would choose.
///
/// ```
/// # fn main() -> megadir::Result<()> {
/// let mut listing = megadir::Listing::open("/usr")?;
/// while let Some(batch) = listing.next_batch()? {
///     for entry in batch {
///         println!("{} {}", entry.kind.letter(), String::from_utf8_lossy(entry.name));
///     }
/// }
/// println!("read by {}", listing.choice());
/// # Ok(())
/// # }
/// ```
pub struct Listing {
    choice: Choice,
    reader: Box<dyn Reader>,
}

impl Listing {
    /// Opens a directory for listing in the caller's thread.
    ///
    /// # Errors
    ///
    /// Not found, not a directory, permission denied, or whatever the system gives.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::with_threads(path, 1)
    }

    /// Opens a directory for listing by at most `threads` threads, where that is faster.
    ///
    /// With several threads the order of the entries differs from run to run.
    ///
    /// # Errors
    ///
    /// As [`Listing::open`].
    pub fn with_threads(path: impl AsRef<Path>, threads: usize) -> Result<Self> {
        let directory = Dir::open(path)?;
        let mut choice = policy::choose(&directory, threads)?;
        choice.options.resolve_types = true;
        Self::with_choice(&directory, choice)
    }

    /// Opens a directory with a choice made (or changed) by the caller.
    ///
    /// # Errors
    ///
    /// As [`Backend::open`](crate::Backend::open).
    pub fn with_choice(directory: &Dir, choice: Choice) -> Result<Self> {
        let reader = choice.backend.open(directory, &choice.options)?;
        Ok(Self { choice, reader })
    }

    /// Returns the next batch of entries, or `None` at the end. A batch may be empty.
    ///
    /// # Errors
    ///
    /// Whatever the system gives; the listing then ends.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        self.reader.next_batch()
    }

    /// Returns what was picked to read the directory, and why.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Returns how often the kernel has been asked for entries, where that can be seen.
    pub fn calls(&self) -> Option<u64> {
        self.reader.calls()
    }
}
