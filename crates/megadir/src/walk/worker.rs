//! Worker of a walk: a state machine that returns one item a step.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
#[cfg(target_os = "linux")]
use std::time::Instant;

#[cfg(target_os = "linux")]
use megadir_sys::usage::{Waits, thread_waits};

use super::WalkOptions;
use super::again::Again;
use super::ahead::Ahead;
use super::early::Early;
use super::queue::{Later, Pending, Queue, Subdirectory};
use super::{Opened, WalkContext};
use crate::attributes::{Attributes, StatMask, Time};
use crate::backend::{self, Backend, Reader};
use crate::batch::{Batch, OwnedBatch};
use crate::conditions::{Conditions, Place};
use crate::dir::Dir;
use crate::dir_path::DirPath;
use crate::error::{Error, ErrorKind, Result};
#[cfg(target_os = "linux")]
use crate::file_system::FileSystem;
use crate::file_type::FileType;
#[cfg(target_os = "linux")]
use crate::inodes_ahead::Below;
use crate::options::ReadOptions;
use crate::stat::Examine;

/// Subdirectories that wait before they are entered, in the order of their inodes: the blocks of an uncached directory and
/// the inodes of its files are near its own inode on the device.
const BELOW_MAX: usize = 4096;

/// Reading such a batch takes longer than waking another worker.
const LARGE_ENTRIES: usize = 64;

/// The threads that process batches close their directories. Waits of a walk until it opens a directory again: two seconds.
const WAITS_MAX: usize = 200;
const WAIT: Duration = Duration::from_millis(10);

#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_millis(1);

/// Finds out if one thread waited for a device, which more threads shorten, since its last look. Costs one call of getrusage(2) per
/// millisecond. Reads that the thread requests count for it (`submit_bio`), if the kernel accounts for them; without that, and on
/// systems other than Linux, it seems never to wait.
#[derive(Debug, Default)]
struct DeviceWaits {
    #[cfg(target_os = "linux")]
    last: Option<(Instant, Waits)>,
}

impl DeviceWaits {
    /// The calling thread slept and read from a device since the last look; `None` if that was less than a millisecond ago.
    #[cfg(target_os = "linux")]
    fn look(&mut self) -> Option<bool> {
        let now = Instant::now();
        if self.last.is_some_and(|(at, _)| now.duration_since(at) < LOOK) {
            return None;
        }
        let waits = thread_waits();
        // The threads of a walk are new, so that the first look sees their first reads.
        let before = self.last.replace((now, waits)).unwrap_or((now, Waits::default())).1;
        Some(waits.waited_for_device_since(before))
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "the other system's function needs it")]
    const fn look(&mut self) -> Option<bool> {
        None
    }
}

#[derive(Debug)]
pub(super) enum Output<C> {
    Batch { directory: Arc<Opened<C>>, gathered: OwnedBatch },
    End(Arc<Opened<C>>),
    Error(Error),
    OtherMount(PathBuf),
}

/// Used by one thread at a time. `stack` has the directory that is being read, and more only while the queue
/// is full; `spare` and `spare_buffer` keep the memory of the last batch and the last reader for the next.
/// `early` is present in a walk with a budget. `waits` is absent if the walk cannot grow.
pub(super) struct Worker<C> {
    pub(super) queue: Arc<Queue<C>>,
    number: usize,
    waits: Option<DeviceWaits>,
    may_grow: bool,
    options: WalkOptions,
    /// More than one only while the queue is full.
    stack: Vec<Frame<C>>,
    spare: OwnedBatch,
    spare_buffer: Vec<u8>,
    examine: Option<Box<dyn Examine>>,
    pub(super) early: Option<Early>,
    pub(super) has_begun: bool,
    pub(super) has_ended: bool,
}

enum Entered<C> {
    Here(Opened<C>),
    /// Path of another mount, which is not entered.
    OtherMount(PathBuf),
    PutOff,
}

/// An open directory, or the path of another mount, which is not entered.
type DirOrMount = std::result::Result<Dir, PathBuf>;

/// A directory from its opening until its last subdirectory was handed out. `reader` is dropped at the end of
/// the listing, which frees the buffer, and the descriptor lives on while subdirectories need it (`directory`
/// is shared). `again` is present if the directory may be listed again. `below` is bounded: beyond a limit
/// its subdirectories are handed out before more is read.
struct Frame<C> {
    directory: Arc<Opened<C>>,
    reader: Option<Box<dyn Reader>>,
    again: Option<Again>,
    below: VecDeque<Subdirectory>,
    is_large: bool,
    has_read: bool,
    /// Directories of `below` that were read ahead.
    ahead: usize,
    place: Place,
    /// First entry whose type could not be read: it may be a directory.
    unresolved: Option<Error>,
}

impl<C: WalkContext> Worker<C> {
    pub(super) fn new(
        (number, queue): (usize, Arc<Queue<C>>),
        options: WalkOptions,
        examine: Option<Box<dyn Examine>>,
    ) -> Self {
        let waits = (options.threads < options.threads_max).then(DeviceWaits::default);
        let (stack, spare, spare_buffer) = (Vec::new(), OwnedBatch::default(), Vec::new());
        Self {
            queue,
            number,
            waits,
            may_grow: false,
            options,
            stack,
            spare,
            spare_buffer,
            examine,
            early: None,
            has_begun: false,
            has_ended: false,
        }
    }

    pub(super) fn another(&mut self) -> Option<Self> {
        if !std::mem::take(&mut self.may_grow) && !self.queue.needs_another_worker() {
            return None;
        }
        let (number, examine) = self.queue.start()?;
        Some(Self::new((number, Arc::clone(&self.queue)), self.options.clone(), examine))
    }

    pub(super) fn recycle(&mut self, gathered: OwnedBatch) {
        if gathered.bytes.capacity() > self.spare.bytes.capacity() {
            self.spare = gathered;
        }
    }

    /// One item for each call, so that the caller decides when to go on; the state is in the stack.
    ///
    /// ```text
    /// stack empty -> pop a directory (may wait) -> enter -> frame
    /// frame: read a batch -> Batch        until the end, or too many subdirectories wait
    ///        no reader left -> hand out subdirectories: to the queue, or enter one here if it is full
    ///        nothing below -> Error (a type unknown), End, frame is popped
    /// ```
    pub(super) fn step(&mut self) -> Option<Output<C>> {
        self.has_begun = true;
        while !self.has_ended {
            let Some(frame) = self.stack.last_mut() else {
                let Some(pending) = self.queue.pop(self.number) else {
                    self.has_ended = true;
                    break;
                };
                if let Some(output) = self.enter(pending) {
                    return Some(output);
                }
                continue;
            };
            // Most directories end here and hold no buffer while their subdirectories are read.
            if frame.below.len() < BELOW_MAX && frame.reader.is_some() {
                if frame.is_large {
                    self.queue.offer();
                }
                let conditions = self.options.conditions.as_deref();
                let (spare, examine) = (std::mem::take(&mut self.spare), self.examine.as_deref_mut());
                let read = frame.read(spare, examine, conditions, &self.queue.ahead);
                if let Some(waited) = self.waits.as_mut().and_then(DeviceWaits::look) {
                    self.may_grow |= self.queue.note(waited);
                }
                if read.is_some() {
                    return read;
                }
                if let Some(reader) = frame.reader.take() {
                    self.spare_buffer = reader.into_buffer();
                    frame.reader = frame.open_again(&self.options);
                }
            }
            #[cfg(target_os = "linux")]
            frame.read_ahead(&self.queue.ahead, &self.options, self.early.is_some());
            if let Some(subdirectory) = frame.below.pop_front() {
                frame.ahead = frame.ahead.saturating_sub(1);
                let pending = Pending::Below { parent: Arc::clone(&frame.directory), subdirectory };
                if let Err(pending) = self.queue.push(pending)
                    && let Some(output) = self.enter(pending)
                {
                    return Some(output);
                }
                continue;
            }
            if frame.reader.is_some() {
                continue;
            }
            if let Some(error) = frame.unresolved.take() {
                return Some(Output::Error(error));
            }
            if let Some(frame) = self.stack.pop()
                && self.options.report_ends
            {
                return Some(Output::End(frame.directory));
            }
        }
        None
    }

    /// Returns why a directory was not entered, except one that the walk leaves out, or that has vanished: that is no error
    /// in a changing tree.
    fn enter(&mut self, pending: Pending<C>) -> Option<Output<C>> {
        if let (Some(early), Pending::Below { parent, subdirectory }) = (&mut self.early, &pending)
            && early.leaves_out(parent.dir.dir_path().below(), subdirectory)
        {
            return None;
        }
        let (inode, changed) = match &pending {
            Pending::Root(_) => (None, None),
            Pending::Below { subdirectory, .. } => (subdirectory.inode, subdirectory.changed),
            Pending::Later(later) => (later.inode, later.changed),
        };
        let entered = match pending {
            // Its waits are not for a device.
            Pending::Later(later) => self.open_later(later),
            Pending::Root(root) => Ok(Entered::Here(*root)),
            Pending::Below { parent, subdirectory } => {
                self.queue.ahead.observe(|| self.open(&parent, subdirectory))
            }
        };
        match entered {
            Ok(Entered::Here(directory)) => self.push(directory, inode, changed).err().map(Output::Error),
            Ok(Entered::OtherMount(path)) => Some(Output::OtherMount(path)),
            Ok(Entered::PutOff) => None,
            Err(error) if is_not_there(&error) => None,
            Err(error) => Some(Output::Error(error)),
        }
    }

    fn open(&self, parent: &Opened<C>, subdirectory: Subdirectory) -> Result<Entered<C>> {
        let Subdirectory { name, inode, changed, .. } = subdirectory;
        let context = || parent.context.below(&name);
        match self.open_below(&parent.dir, &name) {
            Ok(Ok(dir)) => Ok(Entered::Here(Opened { dir: Arc::new(dir), context: context() })),
            Ok(Err(mount)) => Ok(Entered::OtherMount(mount)),
            // The frames of a worker, and directories whose parents wait, may be as many as the tree has levels.
            Err(error) if error.kind() == ErrorKind::TooManyOpenFiles && self.early.is_none() => {
                let path = parent.dir.dir_path().below().join(&name);
                self.queue.put_off(Later { path, context: context(), inode, changed });
                Ok(Entered::PutOff)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens a directory from the root on, while no other directory of the walk is open. Those of batches that other threads process
    /// may be: it waits for them, but not for descriptors that are not freed, and not in the thread that processes the batches.
    fn open_later(&self, later: Later<C>) -> Result<Entered<C>> {
        let Some(root) = self.queue.root.get() else { return Ok(Entered::PutOff) };
        // The root may itself be below a directory that was opened by path.
        let above = root.dir_path().below().len();
        let mut path = Vec::new();
        later.path.push_from(above + usize::from(above > 0), &mut path);
        loop {
            match self.queue.ahead.observe(|| self.open_from(root, &path)) {
                Ok(Ok(dir)) => {
                    self.queue.waits.store(0, Ordering::Relaxed);
                    return Ok(Entered::Here(Opened { dir: Arc::new(dir), context: later.context }));
                }
                Ok(Err(mount)) => return Ok(Entered::OtherMount(mount)),
                Err(error)
                    if error.kind() == ErrorKind::TooManyOpenFiles
                        && self.options.threads_max > 1
                        && self.queue.waits.load(Ordering::Relaxed) < WAITS_MAX =>
                {
                    self.queue.waits.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(WAIT);
                    if self.queue.is_closed() {
                        return Ok(Entered::PutOff);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens the directory at a path below `root`, name by name.
    fn open_from(&self, root: &Dir, path: &[u8]) -> Result<DirOrMount> {
        let mut names = path.split(|byte| *byte == b'/').peekable();
        let mut above = None;
        loop {
            let parent = above.as_ref().unwrap_or(root);
            let opened = self.open_below(parent, names.next().unwrap_or_default());
            if names.peek().is_none() {
                return opened;
            }
            match opened {
                Ok(Ok(directory)) => above = Some(directory),
                // A directory that was renamed meanwhile takes all below it along: they have not vanished.
                Err(error) if is_not_there(&error) => {
                    let reason = "renamed or removed meanwhile, with the directories below it";
                    return Err(Error::new("open", error.path(), ErrorKind::Io, reason));
                }
                opened => return opened,
            }
        }
    }

    fn open_below(&self, parent: &Dir, name: &[u8]) -> Result<DirOrMount> {
        let opened = match self.options.cross_mounts {
            true => Some(parent.open_below(name)?),
            false => parent.open_below_on_this_mount(name)?,
        };
        Ok(opened.ok_or_else(|| parent.entry_path(name)))
    }

    fn push(&mut self, opened: Opened<C>, inode: Option<u64>, changed: Option<Time>) -> Result<()> {
        // Decides how the directory is read: a range of it, in a divided task; with the attributes that come
        // with the listing; or by getdents with the buffer of the reader before. A directory whose attributes
        // come with the listing is not looked at again, since they belong to the batches of the first look.
        let directory = Arc::new(opened);
        let options = read_options(&self.options);
        let range = match &mut self.early {
            Some(early) => match early.range.take() {
                None if early.divides(&directory.dir, inode)? => return Ok(()),
                range => range,
            },
            None => None,
        };
        let is_range = range.is_some();
        let reader = match self.options.examine {
            _ if let Some(range) = range => backend::open_range(&directory.dir, &options, range)?,
            Some((stat_backend, want)) if stat_backend.is_listed() => {
                backend()?.open_with_attributes(&directory.dir, &options, want)?
            }
            _ => backend()?.open_again(&directory.dir, &options, std::mem::take(&mut self.spare_buffer))?,
        };
        let below = directory.dir.dir_path().below();
        let place = self.options.conditions.as_ref().map(|conditions| conditions.place(below));
        let place = place.unwrap_or_default();
        // The other entries of a range are in other walks; attributes that come with a listing belong to its batches.
        let is_listed = self.options.examine.is_some_and(|(stat_backend, _)| stat_backend.is_listed());
        let looks_again = self.options.looks_again && !is_range && !is_listed;
        let again = looks_again.then(|| Again::new(&directory.dir, changed, &self.queue.names_held));
        let frame = Frame {
            directory,
            again,
            reader: Some(reader),
            below: VecDeque::new(),
            is_large: false,
            has_read: false,
            ahead: 0,
            place,
            unresolved: None,
        };
        self.stack.push(frame);
        Ok(())
    }
}

impl<C> Frame<C> {
    /// If the device is slow, reads the entries of the next subdirectories, unless they were read already.
    #[cfg(target_os = "linux")]
    fn read_ahead(&mut self, ahead: &Ahead, options: &WalkOptions, may_end_early: bool) {
        if self.ahead > 0 || self.below.is_empty() {
            return;
        }
        let limits_sight = options.conditions.as_deref().is_some_and(Conditions::limits_sight);
        let scope = Below { inodes: options.examine.is_some(), all_levels: !limits_sight && !may_end_early };
        let below = self.below.iter().map(|subdirectory| (subdirectory.order, &*subdirectory.name));
        self.ahead = ahead.read_below(&self.directory.dir, below, scope);
    }

    /// Reader of the whole directory, if it is to be listed again. One that cannot be opened is left as it was read, unless only a
    /// descriptor is wanting.
    fn open_again(&mut self, options: &WalkOptions) -> Option<Box<dyn Reader>> {
        let directory = &self.directory.dir;
        if !self.again.as_mut().is_some_and(|again| again.is_needed(directory)) {
            return None;
        }
        let (backend, options) = (backend().ok()?, read_options(options));
        // Not with the directory's own descriptor: not every FUSE server can read it again from the start.
        match backend.open(directory, &options) {
            #[cfg(target_os = "linux")]
            Err(error)
                if error.kind() == ErrorKind::TooManyOpenFiles
                    && directory.file_system() != FileSystem::Fuse =>
            {
                rustix::fs::seek(&**directory, rustix::fs::SeekFrom::Start(0)).ok()?;
                backend.open_once(directory, &options).ok()
            }
            opened => opened.ok(),
        }
    }

    fn read(
        &mut self,
        gathered: OwnedBatch,
        examine: Option<&mut (dyn Examine + 'static)>,
        conditions: Option<&Conditions>,
        ahead: &Ahead,
    ) -> Option<Output<C>> {
        let mut reader = self.reader.take()?;
        let read = self.read_from(&mut *reader, gathered, examine, conditions, ahead);
        if !matches!(read, Some(Output::Error(_))) {
            self.reader = Some(reader);
        }
        read
    }

    fn read_from(
        &mut self,
        reader: &mut dyn Reader,
        mut gathered: OwnedBatch,
        examine: Option<&mut (dyn Examine + 'static)>,
        conditions: Option<&Conditions>,
        ahead: &Ahead,
    ) -> Option<Output<C>> {
        // Returns one batch with its attributes. Subdirectories are noted before the batch is returned,
        // because the caller may keep it for long. If the attributes could not be read as a whole, the types
        // of the listing must do; only if the stat backend refuses the directory are its subdirectories left
        // out too, since it would refuse them alike.
        let fresh;
        let batch = loop {
            let batch = match ahead.observe(|| reader.next_batch()) {
                Ok(Some(batch)) => batch,
                Ok(None) => return None,
                // A directory removed while being read is finished. A root that was removed before is no empty tree.
                Err(error) if error.kind() == ErrorKind::NotFound && !self.is_unread_root() => return None,
                Err(error) => return Some(Output::Error(error)),
            };
            match self.again.as_mut().and_then(|again| again.fresh(batch)) {
                None => break batch,
                Some(only) if only.is_empty() => {}
                Some(only) => {
                    fresh = only;
                    break fresh.batch();
                }
            }
        };
        self.has_read = true;
        self.is_large = batch.len() >= LARGE_ENTRIES;
        gathered.copy(batch);
        let rows = &mut gathered.rows;
        let examined = match examine {
            Some(examine) => {
                #[cfg(target_os = "linux")]
                ahead.read_batch(&self.directory.dir, batch);
                ahead.observe(|| crate::stat::examine(&mut *examine, &self.directory.dir, batch, rows))
            }
            None => Ok(()),
        };
        if let Err(error) = examined {
            match error.kind() {
                ErrorKind::Unavailable => self.below.clear(),
                _ => self.note_subdirectories(batch, &[], conditions),
            }
            return Some(Output::Error(error));
        }
        if let Some(again) = &mut self.again {
            again.forget_vanished(rows);
        }
        gathered.take_types();
        self.note_subdirectories(batch, &gathered.rows, conditions);
        Some(Output::Batch { directory: Arc::clone(&self.directory), gathered })
    }

    fn is_unread_root(&self) -> bool {
        !self.has_read && self.directory.dir.dir_path().below().is_empty()
    }

    /// `rows` are the attributes of the batch, or empty. What they show to be no directory any more is not entered: another directory of
    /// that name would have no row.
    fn note_subdirectories(
        &mut self,
        batch: Batch<'_>,
        rows: &[Attributes],
        conditions: Option<&Conditions>,
    ) {
        let before = self.below.len();
        for (index, entry) in batch.entries().enumerate() {
            let row = |has| rows.get(index).filter(|row| row.have.contains(has));
            let is_other = |row: &Attributes| row.kind != FileType::Directory;
            if rows.get(index).is_some_and(Attributes::has_vanished)
                || row(StatMask::TYPE).is_some_and(is_other)
            {
                continue;
            }
            let kind = match entry.kind {
                FileType::Unknown => self.resolve(entry.name, rows.get(index)),
                listed => listed,
            };
            let enters = |conditions: &Conditions| conditions.enters(&self.place, entry.name);
            let is_first = |again: &mut Again| again.enters(entry.name);
            if kind == FileType::Directory
                && conditions.is_none_or(enters)
                && self.again.as_mut().is_none_or(is_first)
            {
                let inode = row(StatMask::INODE).map(|row| row.inode);
                let changed = row(StatMask::CHANGED).map(|row| row.changed);
                let name = entry.name.into();
                self.below.push_back(Subdirectory { name, order: entry.inode, inode, changed });
            }
        }
        if self.below.len() > before {
            self.below.make_contiguous().sort_by_key(|subdirectory| subdirectory.order);
        }
    }

    /// Type of an entry whose type neither the directory nor, for the reader, the inode had.
    fn resolve(&mut self, name: &[u8], row: Option<&Attributes>) -> FileType {
        if let Some(row) = row.filter(|row| row.have.contains(StatMask::TYPE)) {
            return row.kind;
        }
        // One message for a directory; nearly always all of its entries have the same reason.
        if self.unresolved.is_some() {
            return FileType::Unknown;
        }
        self.directory.dir.kind_of(name).unwrap_or_else(|error| {
            let name = String::from_utf8_lossy(name).escape_debug().to_string();
            let why = error.reason();
            let reason = format!("subdirectories may be missing: the type of '{name}' cannot be read: {why}");
            self.unresolved = Some(Error::new("read", self.directory.dir.path(), error.kind(), reason));
            FileType::Unknown
        })
    }
}

fn is_not_there(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn backend() -> Result<&'static dyn Backend> {
    let fast = if cfg!(windows) { "by-handle" } else { "getdents" };
    backend::find(fast).map_or_else(|| backend::by_name("std"), Ok)
}

fn read_options(options: &WalkOptions) -> ReadOptions {
    // The attributes of an entry that is examined anyway have its type. Those that come with a listing belong to its batches as
    // they are.
    let are_examined = options
        .examine
        .is_some_and(|(stat_backend, want)| want.contains(StatMask::TYPE) && !stat_backend.is_listed());
    ReadOptions {
        resolve_types: !are_examined,
        read_ahead: options.read_ahead,
        ..ReadOptions::serial(options.buffer_bytes)
    }
}

pub(super) fn check(options: &WalkOptions, path: &DirPath) -> Result<()> {
    let WalkOptions { threads, threads_max, .. } = *options;
    ReadOptions { threads, threads_max, ..read_options(options) }.check("walk", path)?;
    if options.queue_directories_max == 0 {
        let reason = "a queue of 0 directories: must be at least 1";
        return Err(Error::new("walk", path, ErrorKind::BadOption, reason));
    }
    Ok(())
}

/// If the system refuses a thread, the worker that it was to run is dropped.
impl<C> Drop for Worker<C> {
    fn drop(&mut self) {
        if !self.has_begun {
            self.queue.not_started((self.number, self.examine.take()));
        }
    }
}

impl<C> std::fmt::Debug for Worker<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("depth", &self.stack.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::dir::Dir;
    use crate::error::ErrorKind;
    use crate::walk::{WalkOptions, workers};

    #[test]
    fn a_directory_below_one_that_was_renamed_has_not_vanished() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        let root = || Dir::open(scratch.path()).unwrap();
        let worker = workers(root(), (), &WalkOptions::new(1)).unwrap().remove(0);
        let open = || worker.open_from(&root(), b"a/b").map_err(|error| error.kind());
        assert!(matches!(open(), Ok(Ok(_))));
        std::fs::rename(at("a"), at("c")).unwrap();
        assert_eq!(open().unwrap_err(), ErrorKind::Io);
        std::fs::rename(at("c"), at("a")).unwrap();
        std::fs::remove_dir(at("a/b")).unwrap();
        assert_eq!(open().unwrap_err(), ErrorKind::NotFound);
    }
}
