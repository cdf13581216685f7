//! Scanning: trees are walked, and what they hold goes to a [`Sink`], sorted.

mod clock;
mod gather;
mod pack;

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use megadir::{Dir, Error, Examiner, Result, Walk, WalkItem, WalkOptions, attribute_policy};

pub(crate) use self::clock::granule_ns;
use self::gather::Gather;
use crate::metadata::{FORMAT_VERSION, Metadata, Root, Scanned};
use crate::row::{Facts, Key, Row};
use crate::rows::Sink;

/// Rows given to the sink between two looks at whether to go on.
const ROWS_PER_LOOK: u64 = 4096;

/// How trees are scanned.
pub struct ScanOptions {
    /// Threads that read; 1 means the caller's own, and none is started.
    pub threads: usize,
    /// Enter other file systems mounted below the roots.
    pub cross_mounts: bool,
    /// Who is asked for attributes; `None` is what fits each root's file system.
    pub examiner: Option<&'static dyn Examiner>,
    /// The buffer for one call, bytes, see [`WalkOptions::buffer_bytes`].
    pub buffer_bytes: usize,
    /// The most directories that wait to be read, see [`WalkOptions::queue_directories_max`].
    pub queue_directories_max: usize,
    /// About what rows may take while they wait to be sorted, bytes.
    pub memory_bytes: usize,
    /// Where rows go that the memory has no room for: nameless files of this directory.
    pub spill_directory: PathBuf,
    /// Files that are left out.
    pub exclude: Vec<Excluded>,
}

/// A file that is left out of an inventory, wherever it is met by this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// The name, without path.
    pub name: Vec<u8>,
    /// The device, as in [`Facts::device`]; `None` where the system does not tell.
    pub device: Option<u64>,
    /// The inode, likewise; without it nothing is left out.
    pub inode: Option<u64>,
}

impl Excluded {
    #[inline]
    pub(crate) fn is(&self, name: &[u8], facts: &Facts) -> bool {
        self.inode.is_some() && self.inode == facts.inode && self.device == facts.device && self.name == name
    }
}

/// What a scan tells while it runs.
#[derive(Debug)]
pub enum ScanEvent<'a> {
    /// So many entries have been read.
    Read(u64),
    /// All has been read; so many rows have been given to the sink.
    Written(u64),
    /// A directory could not be opened, or not be read to its end.
    Failed(&'a Error),
    /// Entries of a directory could not be examined.
    Unexamined {
        /// The directory.
        directory: &'a Path,
        /// The name of the first.
        first: &'a [u8],
        /// Why it could not.
        errno: i32,
        /// How many could not.
        count: u64,
    },
    /// A directory on another mount, not entered.
    OtherMount(&'a Path),
}

/// Asks whoever watches whether to go on.
type Watch<'w> = dyn FnMut(ScanEvent<'_>) -> ControlFlow<()> + 'w;

/// Scans trees into a sink. Rows come when all has been read, in the order of their keys; what a tree holds beyond
/// [`ScanOptions::memory_bytes`] waits in temporary files. `None` is returned when `watch` told to end.
///
/// ```
/// use megadir_inventory::{OwnedRow, ScanOptions, scan};
/// use std::ops::ControlFlow;
///
/// # let directory = tempfile::tempdir()?;
/// # std::fs::write(directory.path().join("file"), "text")?;
/// let options = ScanOptions {
///     threads: 1,
///     cross_mounts: false,
///     examiner: None,
///     buffer_bytes: 32 << 10,
///     queue_directories_max: 256,
///     memory_bytes: 64 << 20,
///     spill_directory: std::env::temp_dir(),
///     exclude: Vec::new(),
/// };
/// let mut rows: Vec<OwnedRow> = Vec::new();
/// let metadata = scan(&[directory.path().into()], &options, &mut |_| ControlFlow::Continue(()), &mut rows)?;
/// assert!(metadata.is_some_and(|metadata| metadata.is_complete()));
/// assert_eq!(rows[1].name, b"file");
/// assert_eq!(rows[1].facts.size_bytes, Some(4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// An option that cannot be honoured, no root that can be opened, or whatever temporary files and the sink give. What
/// cannot be read below a root is a row with an error, and an event.
pub fn scan(
    roots: &[PathBuf],
    options: &ScanOptions,
    watch: &mut Watch<'_>,
    sink: &mut dyn Sink,
) -> Result<Option<Metadata>> {
    let mut run = Run::new(options);
    for (index, root) in roots.iter().enumerate() {
        let is_last = index + 1 == roots.len();
        if run.tree(root, is_last, watch)?.is_break() {
            return Ok(None);
        }
    }
    run.metadata.ended_ns = now_ns();
    let Run { gather, mut metadata, .. } = run;
    match emit(gather, &options.spill_directory, watch, sink, &mut metadata)? {
        ControlFlow::Continue(()) => Ok(Some(metadata)),
        ControlFlow::Break(()) => Ok(None),
    }
}

/// Returns the absolute path of a tree as inventories name it: as it was given, below the working directory.
///
/// # Errors
///
/// An empty path, or no working directory.
pub fn root_path(path: &Path) -> Result<Vec<u8>> {
    let absolute = std::path::absolute(path).map_err(|error| Error::io("open", path, error))?;
    Ok(megadir::names::from_os(absolute.as_os_str()).to_vec())
}

/// A scan that goes on.
struct Run<'o> {
    options: &'o ScanOptions,
    gather: Gather<'o>,
    metadata: Metadata,
    read: u64,
    opened: usize,
}

impl<'o> Run<'o> {
    fn new(options: &'o ScanOptions) -> Self {
        let scanned = Scanned {
            cross_mounts: options.cross_mounts,
            examiner: String::new(),
            threads: options.threads,
            mounts_not_entered: 0,
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
        };
        let gather = Gather::new(options.memory_bytes, &options.spill_directory, &options.exclude);
        Self { options, gather, metadata, read: 0, opened: 0 }
    }

    /// Reads a tree; it is an error if the last cannot be opened and no other could.
    fn tree(&mut self, path: &Path, is_last: bool, watch: &mut Watch<'_>) -> Result<ControlFlow<()>> {
        let absolute = root_path(path)?;
        self.gather.begin(self.metadata.roots.len() as u32, path);
        let directory = match Dir::open(path) {
            Ok(directory) => directory,
            Err(error) if is_last && self.opened == 0 => return Err(error),
            Err(error) => {
                let file_system = String::new();
                self.metadata.roots.push(Root {
                    path: absolute,
                    file_system,
                    granule_ns: None,
                    newest_ns: None,
                });
                return self.failed(&error, watch);
            }
        };
        self.opened += 1;
        let facts = Facts::new(megadir::FileType::Directory, &directory.attributes(Facts::WANT)?);
        let file_system = directory.file_system();
        let granule_ns = granule_ns(file_system, &facts);
        let file_system = file_system.to_string();
        let root = Root { path: absolute, file_system, granule_ns, newest_ns: None };
        self.metadata.roots.push(root);
        self.gather.root(&facts).map_err(|error| self.spill(error))?;
        let options = self.walk_options(&directory)?;
        self.walk(Walk::new(directory, &options)?, watch)
    }

    fn walk_options(&mut self, directory: &Dir) -> Result<WalkOptions> {
        let examiner = match self.options.examiner {
            Some(examiner) => examiner.probe(directory).map(|()| examiner)?,
            None => attribute_policy::choose(directory, Facts::WANT, 1)?.examiner,
        };
        examiner.name().clone_into(&mut self.metadata.scanned.examiner);
        Ok(WalkOptions {
            buffer_bytes: self.options.buffer_bytes,
            threads: self.options.threads,
            queue_directories_max: self.options.queue_directories_max,
            cross_mounts: self.options.cross_mounts,
            examine: Some((examiner, Facts::WANT)),
            tell_ends: true,
        })
    }

    fn walk(&mut self, mut walk: Walk, watch: &mut Watch<'_>) -> Result<ControlFlow<()>> {
        while let Some(item) = walk.next_item() {
            let told = match item {
                WalkItem::Batch { directory, batch, attributes } => {
                    let added = self.gather.batch(directory, batch, attributes);
                    self.read += added.map_err(|error| self.spill(error))?;
                    watch(ScanEvent::Read(self.read))
                }
                WalkItem::End { directory } => self.ended(directory, watch)?,
                WalkItem::Error(error) => self.failed(&error, watch)?,
                WalkItem::OtherMount(path) => {
                    self.metadata.scanned.mounts_not_entered += 1;
                    watch(ScanEvent::OtherMount(&path))
                }
            };
            if told.is_break() {
                return Ok(told);
            }
        }
        self.gather.end_all().map_err(|error| self.spill(error))?;
        if let Some(root) = self.metadata.roots.last_mut() {
            root.newest_ns = self.gather.newest_ns;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn ended(&mut self, directory: &Path, watch: &mut Watch<'_>) -> Result<ControlFlow<()>> {
        let block = self.gather.end(directory).map_err(|error| self.spill(error))?;
        let Some((count, (first, errno))) = block.and_then(|block| Some((block.failed, block.first_failed?)))
        else {
            return Ok(ControlFlow::Continue(()));
        };
        Ok(watch(ScanEvent::Unexamined { directory, first: &first, errno, count }))
    }

    /// Notes a directory that could not be read.
    fn failed(&mut self, error: &Error, watch: &mut Watch<'_>) -> Result<ControlFlow<()>> {
        self.metadata.unread_directories += 1;
        let words = format!("{}: {}", error.operation(), error.reason());
        self.gather.error(error.path(), &words).map_err(|error| self.spill(error))?;
        Ok(watch(ScanEvent::Failed(error)))
    }

    fn spill(&self, error: io::Error) -> Error {
        spill_error(&self.options.spill_directory, error)
    }
}

fn spill_error(directory: &Path, error: io::Error) -> Error {
    Error::io("sort in temporary files of", directory, error)
}

/// Returns nanoseconds since 1970-01-01 UTC.
fn now_ns() -> i64 {
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(_) => 0,
    }
}

/// Gives all rows to the sink in their order, and counts them.
fn emit(
    gather: Gather<'_>,
    spill: &Path,
    watch: &mut Watch<'_>,
    sink: &mut dyn Sink,
    metadata: &mut Metadata,
) -> Result<ControlFlow<()>> {
    let mut emitter = Emitter { errors: VecDeque::new(), parent: Vec::new(), root: 0, sink, metadata };
    let mut told = ControlFlow::Continue(());
    let mut looked = 0;
    gather.sorter.finish(
        |error| spill_error(spill, error),
        |key, item| {
            emitter.item(key, item)?;
            if emitter.metadata.rows >= looked + ROWS_PER_LOOK {
                looked = emitter.metadata.rows;
                told = watch(ScanEvent::Written(looked));
            }
            Ok(told.is_continue())
        },
    )?;
    if told.is_continue() {
        emitter.alone(None)?;
    }
    Ok(told)
}

/// Makes rows of sorted items.
struct Emitter<'s> {
    /// What could not be done with entries of the present directory, by name.
    errors: VecDeque<(Vec<u8>, String)>,
    root: u32,
    parent: Vec<u8>,
    sink: &'s mut dyn Sink,
    metadata: &'s mut Metadata,
}

impl Emitter<'_> {
    fn item(&mut self, key: &[u8], mut item: &[u8]) -> Result<()> {
        let Some((root, parent, kind, name)) = gather::key_parts(key) else {
            unreachable!("a key is taken apart as it was put together")
        };
        if root != self.root || parent != self.parent {
            self.alone(None)?;
            self.root = root;
            self.parent.clear();
            self.parent.extend_from_slice(parent);
        }
        if kind == gather::ERROR {
            let words = String::from_utf8_lossy(item).into_owned();
            self.errors.push_back((name.to_vec(), words));
            return Ok(());
        }
        while let Some((facts, name)) = pack::unpack(&mut item) {
            if !self.errors.is_empty() {
                self.alone(Some(name))?;
            }
            let error = match self.errors.front() {
                Some((failed, _)) if failed == name => self.errors.pop_front().map(|(_, words)| words),
                _ => facts.errno.map(|errno| format!("examine: {}", words(errno))),
            };
            let key = Key { root, parent, name };
            self.add(&Row { key, facts, error: error.as_deref() })?;
        }
        Ok(())
    }

    /// Gives rows for what could not be done with entries that were not listed, before the entry of a name or all.
    fn alone(&mut self, before: Option<&[u8]>) -> Result<()> {
        while self.errors.front().is_some_and(|(name, _)| before.is_none_or(|before| &name[..] < before))
            && let Some((name, words)) = self.errors.pop_front()
        {
            let parent = std::mem::take(&mut self.parent);
            let key = Key { root: self.root, parent: &parent, name: &name };
            self.add(&Row { key, facts: Facts::NOTHING, error: Some(&words) })?;
            self.parent = parent;
        }
        Ok(())
    }

    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        self.metadata.rows += 1;
        self.metadata.failed += u64::from(row.error.is_some());
        self.sink.add(row)
    }
}

/// Returns what an error number means, in the system's words.
fn words(errno: i32) -> String {
    let text = io::Error::from_raw_os_error(errno).to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
