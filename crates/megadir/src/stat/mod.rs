//! Stat backends: ways to read attributes. A new one is a file here and two lines below.
//!
//! A [`StatBackend`] is to attributes what a `Backend` is to names: one virtual call per batch. `Attributes::have` has
//! the valid fields; attributes that a method does not return are left out, never invented. On Windows a listing
//! carries the attributes (`Backend::provides`), and the stat backend `listed` takes them from its batch without a call.
//!
//! io_uring is not used: the kernel runs each statx(2) in a thread of its own, and as many threads with small chunks
//! are as fast where calls wait.

#[cfg(target_os = "linux")]
mod bulk;
#[cfg(unix)]
mod fstatat;
#[cfg(target_os = "linux")]
mod statx;
mod std_metadata;
#[cfg(windows)]
mod windows_each;

#[cfg(target_os = "linux")]
pub(crate) use self::statx::StatxRequest;
#[cfg(windows)]
pub(crate) use self::windows_each::of_open;
use crate::attributes::{Attributes, StatMask};
use crate::batch::{Batch, Entry};
use crate::dir::Dir;
#[cfg(not(windows))]
use crate::error::At;
use crate::error::{Error, ErrorKind, Result};
use crate::nearest::choices;

/// The first is the reference of the conformance suite.
pub static STAT_BACKENDS: &[&dyn StatBackend] = &[
    &std_metadata::STD,
    #[cfg(target_os = "linux")]
    &statx::STATX,
    #[cfg(target_os = "linux")]
    &statx::STATX_FRESH,
    #[cfg(unix)]
    &fstatat::FSTATAT,
    #[cfg(target_os = "linux")]
    &bulk::XFS_BULKSTAT,
    #[cfg(target_os = "linux")]
    &bulk::BTRFS_SEARCH,
    #[cfg(target_os = "linux")]
    &bulk::EXT4_DEVICE,
    #[cfg(windows)]
    &windows_each::LISTED,
    #[cfg(windows)]
    &windows_each::ATTRIBUTES_EACH,
    #[cfg(windows)]
    &windows_each::OPEN_EACH,
];

/// A way to read attributes of entries.
pub trait StatBackend: Sync {
    /// Name in options and reports, such as `statx`.
    fn name(&self) -> &'static str;

    /// Description, one line.
    fn about(&self) -> &'static str;

    /// Checks that the stat backend works in this directory. Errors: [`ErrorKind::Unavailable`] with the reason.
    fn probe(&self, _directory: &Dir) -> Result<()> {
        Ok(())
    }

    /// `true` if attributes come from
    /// [`Backend::open_with_attributes`](crate::Backend::open_with_attributes).
    fn is_listed(&self) -> bool {
        false
    }

    /// Attributes that it never returns, on any file system.
    fn lacks(&self) -> StatMask {
        StatMask::NOTHING
    }

    /// `true` if threads are faster in distant parts of a directory than in neighbouring ones.
    fn works_apart(&self) -> bool {
        false
    }

    /// `true` if many entries with neighbouring inodes take less time than others.
    fn reads_neighbours(&self) -> bool {
        false
    }

    /// Prepares one thread for a directory. Errors: as [`StatBackend::probe`], and errors of the system calls.
    fn start(&self, directory: &Dir, want: StatMask) -> Result<Box<dyn Examine>>;

    /// Prepares `threads` threads for a directory or a tree, and does the work that is needed once per listing. Errors: as [`StatBackend::start`].
    fn start_threads(
        &self,
        directory: &Dir,
        want: StatMask,
        threads: usize,
    ) -> Result<Vec<Box<dyn Examine>>> {
        (0..threads).map(|_| self.start(directory, want)).collect()
    }
}

/// Stat backend that works in every directory and shares nothing between threads.
///
/// Most stat backends need nothing but a function that starts them, so one implementation of the trait serves
/// them, and a row of a table describes each.
struct Plain {
    name: &'static str,
    about: &'static str,
    lacks: StatMask,
    is_listed: bool,
    start: fn(StatMask) -> Box<dyn Examine>,
}

impl StatBackend for Plain {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn lacks(&self) -> StatMask {
        self.lacks
    }

    fn is_listed(&self) -> bool {
        self.is_listed
    }

    fn start(&self, _directory: &Dir, want: StatMask) -> Result<Box<dyn Examine>> {
        Ok((self.start)(want))
    }
}

/// Reads attributes in one thread.
pub trait Examine: Send {
    /// Replaces `rows` by the attributes of each entry of the batch, in the batch's order; an unreadable
    /// entry gets a row with its error. Errors: [`ErrorKind::Unavailable`] if the stat backend does not work
    /// in this directory; after any other error further calls are useless.
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()>;
}

fn find(name: &str) -> Option<&'static dyn StatBackend> {
    STAT_BACKENDS.iter().copied().find(|stat_backend| stat_backend.name() == name)
}

/// Finds a stat backend by name. Errors: [`ErrorKind::UnknownBackend`], with the nearest name.
pub fn by_name(name: &str) -> Result<&'static dyn StatBackend> {
    find(name).ok_or_else(|| {
        let choices = choices(name, STAT_BACKENDS.iter().map(|stat_backend| stat_backend.name()));
        let reason = format!("unknown stat backend '{name}': {choices}");
        Error::new("examine", "".as_ref(), ErrorKind::UnknownBackend, reason)
    })
}

/// Returns the stat backend that asks the server of a network file system, which may know later changes than this machine's
/// cache. Errors: [`ErrorKind::Unavailable`] on systems other than Linux.
pub fn fresh() -> Result<&'static dyn StatBackend> {
    let unavailable = |_| {
        let reason = "attributes from the server need Linux";
        Error::new("examine", "".as_ref(), ErrorKind::Unavailable, reason)
    };
    by_name("statx-fresh").map_err(unavailable)
}

pub(crate) fn preferred(directory: &Dir) -> Result<&'static dyn StatBackend> {
    for name in ["listed", "statx", "fstatat"] {
        if let Some(stat_backend) = find(name)
            && stat_backend.probe(directory).is_ok()
        {
            return Ok(stat_backend);
        }
    }
    by_name("std")
}

/// Entries and their attributes, borrowed until the next batch.
#[derive(Clone, Copy, Debug)]
pub struct AttributeBatch<'a> {
    batch: Batch<'a>,
    rows: &'a [Attributes],
}

impl<'a> AttributeBatch<'a> {
    pub(crate) fn new(batch: Batch<'a>, rows: &'a [Attributes]) -> Self {
        Self { batch, rows }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.batch.len().min(self.rows.len())
    }

    /// `true` if the batch has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over entries and their attributes, including entries removed since the listing ([`Attributes::has_vanished`]).
    pub fn entries(&self) -> impl Iterator<Item = (Entry<'a>, &'a Attributes)> + use<'a> {
        self.batch.entries().zip(self.rows)
    }
}

/// Without one row per entry, names would get wrong attributes.
pub(crate) fn examine(
    examine: &mut dyn Examine,
    directory: &Dir,
    batch: Batch<'_>,
    rows: &mut Vec<Attributes>,
) -> Result<()> {
    examine.examine(directory, batch, rows)?;
    if rows.len() == batch.len() {
        return Ok(());
    }
    let reason = format!("{} rows for {} entries: the stat backend is faulty", rows.len(), batch.len());
    Err(Error::new("examine", directory.path(), ErrorKind::Io, reason))
}

pub(crate) trait AttributeReader: Send {
    fn next_examined(&mut self) -> Result<Option<AttributeBatch<'_>>>;
}

impl Dir {
    /// Asks the server of a network file system for the directory's own attributes: [`Dir::attributes`] knows them then.
    /// Errors: as statx(2); [`ErrorKind::Unavailable`] on systems other than Linux.
    pub fn refresh(&self) -> Result<()> {
        #[cfg(target_os = "linux")]
        return statx::STATX_FRESH.request(StatMask::ALL).of_directory(self).map(drop);
        #[cfg(not(target_os = "linux"))]
        fresh().map(drop)
    }

    /// Reads attributes of the directory itself. Errors: as statx(2) or stat(2).
    pub fn attributes(&self, want: StatMask) -> Result<Attributes> {
        #[cfg(target_os = "linux")]
        if statx::STATX.probe(self).is_ok() {
            return StatxRequest::new(want).of_directory(self);
        }
        #[cfg(windows)]
        return windows_each::of_directory(self, want);
        #[cfg(not(windows))]
        std::fs::metadata(self.readable_path()?)
            .map(|metadata| std_metadata::attributes(&metadata, want))
            .at("stat", self.dir_path())
    }
}
