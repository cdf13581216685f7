//! Streams entries with their attributes, by the strategy that suits the file system.
//!
//! | strategy | attributes are read by | used for |
//! |---|---|---|
//! | at once | the listing thread, in directory order | one thread; network file systems |
//! | shares | each thread, for the share it lists on its own descriptor | what `split` can divide |
//! | chunks | each thread, for the buffer it took from a common reader | everything else |
//! | windows | threads, in chunks of a window of entries sorted by inode | slow devices, rotating disks, `ext4-device` |
//!
//! Each thread of the strategy "windows" copies its next batch outside the lock. The kernel's `rotational` flag is 1
//! for most virtual disks, so `disk.rs` trusts it for real disks only, and `inodes_ahead/` measures the others.

mod chunks;
#[cfg(target_os = "linux")]
mod disk;
pub mod policy;
mod windows;

use std::path::Path;
use std::sync::Arc;

use chunks::{Chunks, Supply};
use policy::{AttributeChoice, Strategy};
use windows::InInodeOrder;

use crate::attributes::{Attributes, StatMask};
use crate::backend::Reader;
#[cfg(target_os = "linux")]
use crate::backend::linux_split::SplitReader;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::options::THREADS_MAX;
use crate::stat::{AttributeBatch, AttributeReader, Examine, examine};

/// Listing of one directory with attributes.
///
/// ```
/// use megadir::{AttributeListing, StatMask};
/// let mut listing = AttributeListing::open("/usr", StatMask::SIZE | StatMask::MODIFIED, 1)?;
/// while let Some(batch) = listing.next_batch()? {
///     for (entry, attributes) in batch.entries().filter(|(_, attributes)| attributes.error == 0) {
///         let name = String::from_utf8_lossy(entry.name);
///         println!("{} {} {name}", attributes.size_bytes, attributes.modified.seconds);
///     }
/// }
/// println!("{}", listing.choice());
/// # Ok::<(), megadir::Error>(())
/// ```
pub struct AttributeListing {
    choice: AttributeChoice,
    reader: Box<dyn AttributeReader>,
    failed: bool,
}

impl AttributeListing {
    /// Opens a directory for listing with attributes, with at most `threads` threads. Errors: as
    /// [`Listing::open`](crate::Listing::open).
    pub fn open(path: impl AsRef<Path>, want: StatMask, threads: usize) -> Result<Self> {
        let directory = Dir::open(path)?;
        let choice = policy::choose(&directory, want, threads)?;
        Self::with_choice(directory, choice)
    }

    /// Opens a directory with the given choice. Errors: as [`AttributeListing::open`], and
    /// [`ErrorKind::BadOption`] if backend and strategy do not match or a number is out of range.
    pub fn with_choice(directory: Dir, choice: AttributeChoice) -> Result<Self> {
        check(&choice, directory.path())?;
        Ok(Self { reader: open(Arc::new(directory), &choice)?, choice, failed: false })
    }

    /// Returns the next entries with their attributes, perhaps none, or `None` at the end. If a single entry
    /// fails, its row has the error. An error ends the listing; later calls return `None`.
    pub fn next_batch(&mut self) -> Result<Option<AttributeBatch<'_>>> {
        if self.failed {
            return Ok(None);
        }
        self.reader.next_examined().inspect_err(|_| self.failed = true)
    }

    /// Everything that was chosen, and the reason.
    pub fn choice(&self) -> &AttributeChoice {
        &self.choice
    }
}

fn check(choice: &AttributeChoice, path: &Path) -> Result<()> {
    let bad = |reason: String| Err(Error::new("examine", path, ErrorKind::BadOption, reason));
    match choice.strategy {
        Strategy::Chunks { threads } | Strategy::Windows { threads, .. }
            if !(1..=THREADS_MAX).contains(&threads) =>
        {
            bad(format!("{threads} threads to read attributes: must be 1 to {THREADS_MAX}"))
        }
        Strategy::Windows { entries: 0, .. } => bad("windows of 0 entries: must be at least 1".to_owned()),
        Strategy::Shares if choice.listing.backend.name() != "split" => {
            let backend = choice.listing.backend.name();
            bad(format!("{backend} does not split a directory into shares; backend split does"))
        }
        Strategy::AtOnce => Ok(()),
        _ if choice.stat_backend.is_listed() => {
            let stat_backend = choice.stat_backend.name();
            bad(format!("{stat_backend} takes attributes from the listing, so its only strategy is at once"))
        }
        _ => Ok(()),
    }
}

/// Turns a choice into readers. Nothing is decided here: the choice may be the caller's, and a strategy that
/// this system does not have is refused instead of replaced. Reading ahead is left out for a stat backend
/// that reads neighbouring inodes anyway, because then both would read the same blocks.
fn open(directory: Arc<Dir>, choice: &AttributeChoice) -> Result<Box<dyn AttributeReader>> {
    let AttributeChoice { listing, strategy, stat_backend, want, slow_device, .. } = *choice;
    match strategy {
        #[cfg(target_os = "linux")]
        Strategy::Shares => {
            let examination = Some((stat_backend, want));
            Ok(Box::new(SplitReader::open(&directory, &listing.options, examination)?))
        }
        #[cfg(not(target_os = "linux"))]
        Strategy::Shares => Err(Error::new(
            "examine",
            directory.path(),
            ErrorKind::Unavailable,
            "directories cannot be split into shares on this system",
        )),
        Strategy::AtOnce => {
            let reader = match stat_backend.is_listed() {
                true => listing.backend.open_with_attributes(&directory, &listing.options, want)?,
                false => listing.backend.open(&directory, &listing.options)?,
            };
            let examine = stat_backend.start(&directory, want)?;
            Ok(Box::new(AtOnce { reader, examine, rows: Vec::new(), directory }))
        }
        Strategy::Chunks { threads } => {
            let reader = listing.backend.open(&directory, &listing.options)?;
            Ok(Box::new(Chunks::start(&directory, Supply::Listing(reader), threads, stat_backend, want)?))
        }
        Strategy::Windows { entries, threads } => {
            let reader = listing.backend.open(&directory, &listing.options)?;
            let windows = InInodeOrder::new(reader, entries, threads);
            #[cfg(target_os = "linux")]
            let windows = match slow_device && !stat_backend.reads_neighbours() {
                true => windows.reading_ahead(Arc::clone(&directory)),
                false => windows,
            };
            #[cfg(not(target_os = "linux"))]
            let _ = slow_device;
            if threads > 1 {
                let supply = Supply::Windows(Box::new(windows));
                return Ok(Box::new(Chunks::start(&directory, supply, threads, stat_backend, want)?));
            }
            let (reader, examine) = (Box::new(windows), stat_backend.start(&directory, want)?);
            Ok(Box::new(AtOnce { reader, examine, rows: Vec::new(), directory }))
        }
    }
}

struct AtOnce {
    directory: Arc<Dir>,
    reader: Box<dyn Reader>,
    examine: Box<dyn Examine>,
    rows: Vec<Attributes>,
}

impl AttributeReader for AtOnce {
    fn next_examined(&mut self) -> Result<Option<AttributeBatch<'_>>> {
        let Some(batch) = self.reader.next_batch()? else { return Ok(None) };
        examine(&mut *self.examine, &self.directory, batch, &mut self.rows)?;
        Ok(Some(AttributeBatch::new(batch, &self.rows)))
    }
}
