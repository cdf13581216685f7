//! Walks a tree by threads that share a bounded queue of directories. Each is opened relative to its parent, never through a
//! symbolic link. If the queue is full, a worker descends itself, so memory is bounded by queue and depth, not by the width of
//! the tree. An unreadable directory is an item of the walk, not its end.
//!
//! ```text
//! Walk::new        starts threads; next_item() returns what any of them read
//! Walk::parts      a WalkPart for each thread of the caller, which processes its own items while they are in its cache
//! PartialWalk      enters no further directory once a budget is spent, and returns the waiting ones
//! ```
//!
//! While workers wait for the device, others join (`WalkOptions::threads_max`), and they leave when all is cached: once
//! a millisecond each worker compares its voluntary context switches and device reads (getrusage(2)) with the figures
//! before. A finished reader passes its buffer on to the next without clearing it.
//!
//! A `WalkContext` is a state that each directory gets from its parent's, e.g. a counter that holds its parent's
//! counter. The last user of a subtree then knows that the subtree is complete.
//!
//! Each directory is read by one thread with getdents64: splitting one directory of a tree gains nothing while other
//! directories keep the threads busy. A tree that is one huge directory is better listed without recursion. Other
//! mounts are not entered by default, unlike in find(1), because a tool for huge directories that enters `/proc` or a
//! network mount by accident does harm; each mount that is not entered is an item.
//!
//! | file | subject |
//! |---|---|
//! | `queue.rs` | directories that wait, and the workers that are admitted |
//! | `worker.rs` | one thread: a stack of directories, one item a step |
//! | `parts.rs`, `collect.rs` | parts of a walk for the caller's threads; threads that read them and collect |
//! | `again.rs` | further looks at a directory that changed while it was read |
//! | `ahead.rs` | inodes that are read ahead where the device is slow |
//! | `early.rs` | walks with a budget: the directories that are left out or divided |

mod again;
mod ahead;
pub mod collect;
mod early;
mod parts;
mod queue;
mod worker;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};

use self::ahead::Ahead;
use self::queue::{Pending, Queue};
use self::worker::{Output, Worker};
use crate::attributes::{Attributes, StatMask};
use crate::batch::{Batch, OwnedBatch};
use crate::conditions::Conditions;
use crate::dir::Dir;
use crate::dir_path::DirPath;
use crate::error::{Error, Result};
use crate::options::ReadAhead;
use crate::stat::StatBackend;
use crate::threads::{Attempt, Handed, OnPanic, join, lock, started};

pub use self::early::{PartialLimits, Unvisited};
pub use self::parts::{PartialWalk, WalkPart};

/// Options of a walk; [`WalkOptions::new`] has defaults that suit most trees. The [crate] has an example.
#[derive(Clone)]
pub struct WalkOptions {
    /// Buffer of one call, bytes. Each thread has one per directory being read, at least one.
    pub buffer_bytes: usize,
    /// Threads that read; with 1, and no more in [`threads_max`](Self::threads_max), the caller's thread reads. The first four start at
    /// once, others as directories appear.
    pub threads: usize,
    /// Most threads that read while their calls wait for a device, at least `threads`. Those beyond `threads` start when calls wait, and
    /// sleep while none does; [`WalkPart::another`] returns their parts. Only Linux counts the device reads of a thread.
    pub threads_max: usize,
    /// Most directories waiting to be read; each may keep its parent open.
    pub queue_directories_max: usize,
    /// Enter other file systems mounted below the root.
    pub cross_mounts: bool,
    /// Examine each entry: the backend, and the attributes wanted.
    pub examine: Option<(&'static dyn StatBackend, StatMask)>,
    /// Have the device read large directories ahead.
    pub read_ahead: ReadAhead,
    /// Return [`WalkItem::End`] for each directory, for callers that keep state per directory.
    pub report_ends: bool,
    /// List directories again that changed while they were read, until a listing has no new name, unless attributes come with the listing. Entries
    /// that only a later listing has come in batches of their own. Takes 8 bytes per entry of the directories that are read, at most
    /// 32 MB in a walk: directories that get none are listed once. Space doubles, so that one directory alone gets too large
    /// for it somewhere between two and four million entries.
    pub looks_again: bool,
    /// Enter only directories that these conditions let see. Batches hold all entries: the caller checks them.
    pub conditions: Option<Arc<Conditions>>,
}

impl WalkOptions {
    /// Defaults for most trees: 32 KiB buffers, at most 256 waiting directories, names only, one mount.
    /// [`std::thread::available_parallelism`] up to 8 is a good number of threads;
    /// [`attribute_policy::threads_max`](crate::attribute_policy::threads_max) knows the most that help
    /// where directories are not cached.
    #[must_use]
    pub const fn new(threads: usize) -> Self {
        Self {
            buffer_bytes: 32 << 10,
            threads,
            threads_max: threads,
            queue_directories_max: 256,
            cross_mounts: false,
            examine: None,
            read_ahead: ReadAhead::Auto,
            report_ends: false,
            looks_again: false,
            conditions: None,
        }
    }
}

/// One item of a walk.
#[derive(Debug)]
pub enum WalkItem<'a> {
    /// Entries of a directory.
    Batch {
        /// Path of the directory, beginning with the root's.
        directory: &'a DirPath,
        /// Entries of the directory.
        batch: Batch<'a>,
        /// Attributes of the entries, in the order of the batch; empty if not asked for.
        attributes: &'a [Attributes],
    },
    /// End of a directory that was opened, even if reading it failed; once each, if [`WalkOptions::report_ends`]
    /// is set. Batches of other directories may come between.
    End {
        /// Path of the directory, beginning with the root's.
        directory: &'a DirPath,
    },
    /// A directory that could not be opened or read to its end; the walk continues.
    Error(Error),
    /// A directory on another mount, not entered.
    OtherMount(PathBuf),
}

/// Progress of an operation that reads a tree.
#[derive(Debug)]
pub enum TreeEvent<'a> {
    /// Number of entries read so far; repeated every 20 ms, also if it is the same.
    Read(u64),
    /// Number of rows written so far, if the operation writes rows after everything was read.
    Written(u64),
    /// A directory could not be opened or listed completely.
    Failed(&'a Error),
    /// Entries of a directory could not be examined.
    Unexamined {
        /// The directory.
        directory: &'a Path,
        /// Name of the first.
        first: &'a [u8],
        /// Its errno.
        errno: i32,
        /// Their number. A large directory may be reported in parts.
        count: u64,
    },
    /// A directory on another mount, not entered.
    OtherMount(&'a Path),
}

/// A walk in progress; the root itself is not among its entries.
#[derive(Debug)]
pub struct Walk {
    source: Source,
    current: Option<Output<()>>,
}

#[derive(Debug)]
enum Source {
    Inline(Box<WalkPart>),
    Threads { filled: Receiver<Output<()>>, empty: Sender<OwnedBatch>, threads: Threads },
}

#[derive(Debug)]
struct Threads(Arc<Team>);

#[derive(Debug)]
struct Team {
    handles: Mutex<Vec<JoinHandle<()>>>,
    queue: Arc<Queue<()>>,
    stop: AtomicBool,
}

impl Walk {
    /// Starts a walk of the tree below an open directory. Errors:
    /// [`ErrorKind::BadOption`](crate::ErrorKind::BadOption) if an option is out of range. If a thread cannot be started, the
    /// walk continues without it; if none can, in the caller's thread.
    pub fn new(root: Dir, options: &WalkOptions) -> Result<Self> {
        if options.threads_max == 1 {
            let part = Self::parts(root, options)?.remove(0);
            return Ok(Self { source: Source::Inline(Box::new(part)), current: None });
        }
        let workers = workers(root, (), options)?;
        let queue = Arc::clone(&workers[0].queue);
        let (filled_in, filled) = bounded(options.threads * 4);
        let (empty, empty_out) = bounded(options.threads * 8);
        let team = Team { handles: Mutex::default(), queue, stop: AtomicBool::new(false) };
        let team = Arc::new(team);
        let start = |worker| team.start(worker, filled_in.clone(), empty_out.clone());
        let source = match started(Attempt::Always, at_once(workers), start) {
            Ok(_) => Source::Threads { filled, empty, threads: Threads(team) },
            Err(worker) => Source::Inline(Box::new(WalkPart::new(worker))),
        };
        Ok(Self { source, current: None })
    }

    /// Returns the next item, or `None` at the end of the walk.
    pub fn next_item(&mut self) -> Option<WalkItem<'_>> {
        let (filled, empty, threads) = match &mut self.source {
            Source::Inline(part) => return part.next_item(),
            Source::Threads { filled, empty, threads } => (filled, empty, threads),
        };
        if let Some(Output::Batch { gathered, .. }) = self.current.take() {
            let _ = empty.try_send(gathered);
        }
        let Ok(next) = filled.recv() else {
            join(&mut lock(&threads.0.handles));
            return None;
        };
        item(&mut self.current, next).map(|(item, _)| item)
    }
}

/// Workers or parts whose threads are started at the beginning; others follow as directories appear ([`WalkPart::another`]). A thread
/// takes longer to start than a small tree to read where 32 of them may wait for a server.
const STARTED_AT_ONCE: usize = 4;

/// The rest is dropped, which leaves its seats to others.
fn at_once<T>(all: Vec<T>) -> impl Iterator<Item = T> {
    all.into_iter().take(STARTED_AT_ONCE)
}

fn workers<C: WalkContext>(root: Dir, context: C, options: &WalkOptions) -> Result<Vec<Worker<C>>> {
    worker::check(options, root.dir_path())?;
    let mut examine = match options.examine {
        Some((stat_backend, want)) => stat_backend.start_threads(&root, want, options.threads_max)?,
        None => Vec::new(),
    };
    let examine_later = examine.split_off(options.threads.min(examine.len()));
    let numbers = (options.threads, options.threads_max);
    let ahead = Ahead::new(root.file_system());
    let queue = Arc::new(Queue::new(numbers, options.queue_directories_max, examine_later, ahead));
    let root = Arc::new(root);
    let _ = queue.root.set(Arc::clone(&root));
    if queue.push(Pending::Root(Box::new(Opened { dir: root, context }))).is_err() {
        unreachable!("an empty queue has room for the root");
    }
    let worker = |number| Worker::new((number, Arc::clone(&queue)), options.clone(), examine.pop());
    Ok((0..options.threads).map(worker).collect())
}

fn item<C>(current: &mut Option<Output<C>>, next: Output<C>) -> Option<(WalkItem<'_>, Option<&C>)> {
    match next {
        Output::Error(error) => Some((WalkItem::Error(error), None)),
        Output::OtherMount(path) => Some((WalkItem::OtherMount(path), None)),
        borrowed => match current.insert(borrowed) {
            Output::Batch { directory, gathered } => {
                let (directory, context) = (directory.dir.dir_path(), &directory.context);
                let (batch, attributes) = (gathered.batch(), &gathered.rows[..]);
                Some((WalkItem::Batch { directory, batch, attributes }, Some(context)))
            }
            Output::End(directory) => {
                Some((WalkItem::End { directory: directory.dir.dir_path() }, Some(&directory.context)))
            }
            Output::Error(_) | Output::OtherMount(_) => None,
        },
    }
}

impl Team {
    fn start(
        self: &Arc<Self>,
        worker: Handed<Worker<()>>,
        filled: Sender<Output<()>>,
        empty: Receiver<OwnedBatch>,
    ) -> io::Result<()> {
        let mut handles = lock(&self.handles);
        let (name, team) = (format!("megadir-walk-{}", handles.len()), Arc::clone(self));
        let run = move || {
            // Other workers would wait for its directories forever.
            let _closes = OnPanic(|| team.queue.close());
            team.run(worker.take(), &filled, &empty);
        };
        handles.push(std::thread::Builder::new().name(name).spawn(run)?);
        Ok(())
    }

    fn run(
        self: &Arc<Self>,
        mut worker: Worker<()>,
        filled: &Sender<Output<()>>,
        empty: &Receiver<OwnedBatch>,
    ) {
        while !self.stop.load(Ordering::Relaxed) {
            if let Ok(gathered) = empty.try_recv() {
                worker.recycle(gathered);
            }
            let Some(output) = worker.step() else { return };
            if filled.send(output).is_err() {
                return;
            }
            if let Some(another) = worker.another() {
                // If the system refuses the thread, the others read on.
                let start = |worker| self.start(worker, filled.clone(), empty.clone());
                let _ = started(Attempt::UnlessRefused, std::iter::once(another), start);
            }
        }
    }
}

/// After the channels of the walk, whose closing ends each thread at its next item.
impl Drop for Threads {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
        self.0.queue.close();
        // A joined thread may have started others.
        while let Some(thread) = { lock(&self.0.handles).pop() } {
            let _ = thread.join();
        }
    }
}

/// State of a directory of a walk, derived from its parent's.
///
/// The walk keeps it until the directory is read and each directory in it was opened. A state that refers to its
/// parent's by an [`Arc`] is therefore dropped when everything below has been read.
pub trait WalkContext: Send + Sync + 'static {
    /// Makes the state of the directory `name` in this directory.
    #[must_use]
    fn below(&self, name: &[u8]) -> Self;
}

impl WalkContext for () {
    fn below(&self, _name: &[u8]) -> Self {}
}

#[derive(Debug)]
struct Opened<C> {
    /// Shared with its reader.
    dir: Arc<Dir>,
    context: C,
}
