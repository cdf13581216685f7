//! Scans trees into a [`Sink`], sorted.
//!
//! ```text
//! WalkPart, one per thread -> Gather (by directory, sorted by name, columns) -+-> Sorter (by directory; spills) -> packed rows -> Sink: Writer, text
//! WalkPart, one per thread -> Gather ----------------------------------------+
//! thread of a comparison -> Keeper (by directory, sorted already, columns) ---+
//! ```
//!
//! The rows of a directory wait as columns: equal values are stored once, and whole columns are copied. A directory
//! whose rows exceed 4 MiB is sorted row by row. Memory is bounded by `memory_bytes`, not by the tree.
//!
//! Writing out the path of each directory would need memory quadratic in the depth (2.5 GB for 5000 directories with
//! names of 200 bytes), so only one whole path exists at a time. Directories whose relative paths exceed 4096 bytes,
//! which no system call accepts, wait as a tree of names (`deep.rs`); written depth first, it yields runs in key order.
//! Runs, and the rows gathered for a row group, store only the part of each path that differs from the previous one. In
//! byte order these parts together are no longer than the names of the directories.
//!
//! | file | subject |
//! |---|---|
//! | `read.rs`, `gather.rs` | threads of a walk, and their rows by directory |
//! | `collector.rs`, `shared.rs`, `deep.rs` | rows as items of the sorter; the sorter of all threads; long paths |
//! | `emit.rs` | sorted items as rows, joined with errors |
//! | `part.rs` | a part of an inventory, by a task |
//! | `clock.rs` | resolution of time stamps, which decides what is racy |

mod clock;
mod collector;
mod deep;
mod emit;
mod gather;
mod part;
mod read;
mod shared;

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use megadir::mount_traits::driver_of;
use megadir::pace::Pace;
use megadir::{
    Conditions, Dir, Error, ErrorKind, MountTraits, ReadAhead, Result, StatBackend, StatMask, TreeEvent,
    WalkOptions, attribute_policy,
};

pub(crate) use self::clock::{granule_ns, granule_of};
pub(crate) use self::collector::{Collector, DirRows};
pub(crate) use self::emit::emit;
use self::gather::Gather;
pub(crate) use self::gather::relative;
pub use self::part::{PartScan, PartTree, TreeEnd};
pub(crate) use self::shared::Shared;
use crate::metadata::{FORMAT_VERSION, Metadata, Root, Scanned, Selected, Volume};
use crate::row::Facts;
use crate::rows::Sink;

/// Settings of a scan.
pub struct ScanOptions {
    /// Number of reading threads, including the caller's.
    pub threads: usize,
    /// Most threads while reading waits for the device, see [`WalkOptions::threads_max`].
    pub threads_max: usize,
    /// Enter other file systems mounted below the roots.
    pub cross_mounts: bool,
    /// Query the attributes of entries. Without them a row has the type and the inode number of the listing, and neither `exclude` nor
    /// `conditions` may be given, which need more.
    pub attributes: bool,
    /// Source of attributes; `None` chooses by file system.
    pub stat_backend: Option<&'static dyn StatBackend>,
    /// Read large directories ahead on the device.
    pub read_ahead: ReadAhead,
    /// Buffer of one system call, bytes, see [`WalkOptions::buffer_bytes`].
    pub buffer_bytes: usize,
    /// Limit of queued directories, see [`WalkOptions::queue_directories_max`].
    pub queue_directories_max: usize,
    /// Approximate memory for rows waiting to be sorted, bytes.
    pub memory_bytes: usize,
    /// Directory of unlinked temporary files for the other rows.
    pub spill_directory: PathBuf,
    /// Files to leave out.
    pub exclude: Vec<Excluded>,
    /// Conditions on entries. A directory that they let see has a row, because rows below it need one.
    pub conditions: Option<Arc<Conditions>>,
    /// Maximum mean rate of all threads; a thread examines one buffer of entries and then waits.
    pub entries_per_second_max: Option<NonZeroU32>,
}

impl ScanOptions {
    /// Usual settings, as in [`WalkOptions::new`]; rows beyond `memory_bytes` are sorted in temporary files in `spill_directory`.
    #[must_use]
    pub fn new(threads: usize, memory_bytes: usize, spill_directory: PathBuf) -> Self {
        let walk = WalkOptions::new(threads);
        Self {
            threads,
            threads_max: walk.threads_max,
            cross_mounts: walk.cross_mounts,
            attributes: true,
            stat_backend: None,
            read_ahead: walk.read_ahead,
            buffer_bytes: walk.buffer_bytes,
            queue_directories_max: walk.queue_directories_max,
            memory_bytes,
            spill_directory,
            exclude: Vec::new(),
            conditions: None,
            entries_per_second_max: None,
        }
    }
}

/// File that is left out of an inventory, in any directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// Name without path.
    pub name: Vec<u8>,
    /// Device, as in [`Facts::device`]; `None` if unknown.
    pub device: Option<u64>,
    /// Inode number; `None` matches nothing.
    pub inode: Option<u64>,
}

impl Excluded {
    #[inline]
    pub(crate) fn is(&self, name: &[u8], facts: &Facts) -> bool {
        self.inode.is_some() && self.inode == facts.inode && self.device == facts.device && self.name == name
    }
}

/// Callback that may cancel a scan, or the writing of its rows.
pub type ScanWatch<'w> = dyn FnMut(TreeEvent<'_>) -> ControlFlow<()> + 'w;

/// Scans trees into a sink, in the order of keys; rows beyond [`ScanOptions::memory_bytes`] wait in temporary
/// files. Returns `None` if `watch` requested a stop.
///
/// ```
/// use megadir_inventory::{OwnedRow, ScanOptions, scan};
/// use std::ops::ControlFlow;
///
/// # let directory = tempfile::tempdir()?;
/// # std::fs::write(directory.path().join("file"), "text")?;
/// let options = ScanOptions::new(1, 64 << 20, std::env::temp_dir());
/// let mut rows: Vec<OwnedRow> = Vec::new();
/// let metadata = scan(&[directory.path().into()], &options, &mut |_| ControlFlow::Continue(()), &mut rows)?;
/// assert!(metadata.is_some_and(|metadata| metadata.is_complete()));
/// assert_eq!(rows[1].name, b"file");
/// assert_eq!(rows[1].facts.size_bytes, Some(4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Errors: an option that is unsupported, a root that cannot be opened, or errors of temporary files and the
/// sink. Failures below a root are rows with an error, and events.
pub fn scan(
    roots: &[PathBuf],
    options: &ScanOptions,
    watch: &mut ScanWatch<'_>,
    sink: &mut dyn Sink,
) -> Result<Option<Metadata>> {
    if !options.attributes && (options.conditions.is_some() || !options.exclude.is_empty()) {
        let reason = "conditions and excluded files need attributes: set `attributes`";
        return Err(Error::new(
            "scan",
            roots.first().map_or("".as_ref(), PathBuf::as_path),
            ErrorKind::BadOption,
            reason,
        ));
    }
    let mut run = Run::new(options);
    let opened: Vec<Dir> = roots.iter().map(Dir::open).collect::<Result<_>>()?;
    for (path, directory) in roots.iter().zip(opened) {
        if run.tree(path, directory, watch)?.is_break() {
            return Ok(None);
        }
    }
    run.emit(watch, sink)
}

/// Returns the absolute path of a tree, below the working directory and otherwise as given.
///
/// Errors: an empty path, or no working directory.
pub fn root_path(path: &Path) -> Result<Vec<u8>> {
    let absolute = std::path::absolute(path).map_err(|error| Error::io("open", path, error))?;
    Ok(megadir::names::from_os(absolute.as_os_str()).to_vec())
}

/// One scan, of several trees one after the other. `shared` holds the sorter, which the threads of all trees
/// fill; its lock is taken for each finished directory. `read` counts entries over all trees, for the
/// callbacks. `volumes` describes each device number that occurs.
struct Run<'o> {
    options: &'o ScanOptions,
    shared: Mutex<Shared>,
    pace: Option<Pace>,
    metadata: Metadata,
    volumes: BTreeMap<u64, Volume>,
    read: u64,
}

impl<'o> Run<'o> {
    fn new(options: &'o ScanOptions) -> Self {
        let scanned = Scanned {
            cross_mounts: options.cross_mounts,
            stat_backend: String::new(),
            threads: options.threads,
            mounts_not_entered: 0,
            selected: options.conditions.as_deref().and_then(Selected::of),
        };
        let metadata = Metadata {
            version: FORMAT_VERSION,
            program: concat!("megadir ", env!("CARGO_PKG_VERSION")).to_owned(),
            roots: Vec::new(),
            started_ns: now_ns(),
            ended_ns: 0,
            scanned,
            rows: 0,
            failed: 0,
            unread_directories: 0,
            volumes: None,
        };
        let shared = Mutex::new(Shared::new(options.memory_bytes, options.spill_directory.clone()));
        let volumes = BTreeMap::new();
        let pace = options.entries_per_second_max.map(Pace::new);
        Self { options, shared, pace, metadata, volumes, read: 0 }
    }

    fn gather(&self, path: &Path, device: Option<u64>) -> Gather<'_> {
        Gather::new(self, self.metadata.roots.len().saturating_sub(1) as u32, path, device)
    }

    fn tree(&mut self, path: &Path, directory: Dir, watch: &mut ScanWatch<'_>) -> Result<ControlFlow<()>> {
        let (root, facts) = Root::of(path, &directory)?;
        self.metadata.roots.push(root);
        self.gather(path, facts.device).root(&facts).map_err(|error| self.spill(error))?;
        let options = self.walk_options(&directory)?;
        self.walk((path, facts.device), directory, &options, watch)
    }

    /// The ends of directories are requested, because each is sorted when it is complete. Directories that
    /// change while they are listed are listed again, since a missing row would later look like an added
    /// file.
    fn walk_options(&mut self, directory: &Dir) -> Result<WalkOptions> {
        let conditions = self.options.conditions.as_ref();
        let want = Facts::WANT | conditions.map_or(StatMask::NOTHING, |conditions| conditions.want());
        let stat_backend = attribute_policy::stat_backend(directory, want, self.options.stat_backend)?;
        stat_backend.name().clone_into(&mut self.metadata.scanned.stat_backend);
        Ok(WalkOptions {
            buffer_bytes: self.options.buffer_bytes,
            threads: self.options.threads,
            threads_max: self.options.threads_max,
            queue_directories_max: self.options.queue_directories_max,
            cross_mounts: self.options.cross_mounts,
            examine: self.options.attributes.then_some((stat_backend, want)),
            read_ahead: self.options.read_ahead,
            report_ends: true,
            looks_again: true,
            conditions: conditions.map(Arc::clone),
        })
    }

    fn emit(self, watch: &mut ScanWatch<'_>, sink: &mut dyn Sink) -> Result<Option<Metadata>> {
        let Self { shared, mut metadata, volumes, .. } = self;
        metadata.ended_ns = now_ns();
        metadata.volumes = Some(volumes.into_values().collect());
        let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        emit(shared.into_sorter()?, watch, sink, metadata)
    }

    fn spill(&self, error: io::Error) -> Error {
        spill_error(&self.options.spill_directory, error)
    }
}

impl Root {
    /// Describes the root of a tree before it is scanned, and returns its facts. Errors: as [`root_path`] and statx(2).
    pub fn of(path: &Path, directory: &Dir) -> Result<(Self, Facts)> {
        let facts = Facts::new(megadir::FileType::Directory, &directory.attributes(Facts::WANT)?);
        let traits = MountTraits::of(directory);
        let (driver, lasting_inodes) = (driver_of(directory), Some(traits.has_lasting_inodes()));
        let granule_ns = granule_ns(&traits, &facts);
        let (path, file_system) = (root_path(path)?, directory.file_system().to_string());
        Ok((Self { path, file_system, driver, lasting_inodes, granule_ns, newest_ns: None }, facts))
    }
}

/// Error of a [`Sorter`](crate::Sorter) whose temporary files are in `directory`.
pub fn spill_error(directory: &Path, error: io::Error) -> Error {
    Error::io("sort in temporary files of", directory, error)
}

pub(crate) fn now_ns() -> i64 {
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(_) => 0,
    }
}
