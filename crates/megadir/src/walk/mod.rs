//! Walking a tree: many directories, a bounded queue between the threads that read them.
//!
//! A directory is opened relative to its parent's descriptor, never by path, and never through a symbolic
//! link. What is found waits in a queue of bounded length; when that is full, a worker puts the directory
//! it is reading aside and goes down itself, so that memory is bounded by the queue and the depth of the
//! tree, not by its width. A bad directory is an item of the walk, not its end.

mod parts;
mod queue;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};

pub use self::parts::WalkPart;
use self::queue::{Pending, Queue};
use self::worker::{Gathered, Output, Worker};
use crate::attributes::examiner::Examiner;
use crate::attributes::{Attributes, Want};
use crate::batch::Batch;
use crate::dir::Dir;
use crate::error::{Error, Result};
use crate::threads::join;

/// How a tree is walked.
///
/// [`WalkOptions::new`] has what suits most trees; change what should differ.
///
/// ```
/// use megadir::{Dir, Walk, WalkItem, WalkOptions};
///
/// let options = WalkOptions { cross_mounts: true, ..WalkOptions::new(2) };
/// let mut walk = Walk::new(Dir::open("src")?, &options)?;
/// let mut entries = 0;
/// while let Some(item) = walk.next_item() {
///     match item {
///         WalkItem::Batch { batch, .. } => entries += batch.len(),
///         WalkItem::Error(error) => eprintln!("{error}"),
///         WalkItem::OtherMount(_) | WalkItem::End { .. } => {}
///     }
/// }
/// assert!(entries > 10);
/// # Ok::<(), megadir::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct WalkOptions {
    /// The buffer for one call, bytes; every thread has one for each directory it is reading, and one at least.
    pub buffer_bytes: usize,
    /// Threads that read; 1 means the caller's own, and none is started.
    pub threads: usize,
    /// The most directories that wait to be read; each may hold its parent's descriptor open.
    pub queue_directories_max: usize,
    /// Enter other file systems mounted below the root.
    pub cross_mounts: bool,
    /// Examine every entry: by what, and what is wanted.
    pub examine: Option<(&'static dyn Examiner, Want)>,
    /// Tell the end of each directory with [`WalkItem::End`], for callers that keep something for each.
    pub tell_ends: bool,
}

impl WalkOptions {
    /// Returns what suits most trees: 32 KiB a buffer, at most 256 directories waiting, names only, other mounts not entered.
    /// Several threads gain across directories; [`std::thread::available_parallelism`] up to 8 is a good number.
    #[must_use]
    pub const fn new(threads: usize) -> Self {
        Self {
            buffer_bytes: 32 << 10,
            threads,
            queue_directories_max: 256,
            cross_mounts: false,
            examine: None,
            tell_ends: false,
        }
    }
}

/// One item of a walk.
#[derive(Debug)]
pub enum WalkItem<'a> {
    /// Entries of a directory.
    Batch {
        /// The directory, as a path that begins with the root's.
        directory: &'a Path,
        /// Its entries.
        batch: Batch<'a>,
        /// The attributes of each entry, in the order of the batch; empty where none were asked for.
        attributes: &'a [Attributes],
    },
    /// No more entries of this directory follow, whether it could be read to its end or not. Given once for each
    /// directory that was opened, where [`WalkOptions::tell_ends`] asks for it; batches of others may come between.
    End {
        /// The directory, as a path that begins with the root's.
        directory: &'a Path,
    },
    /// A directory that could not be opened or read to its end; the walk goes on.
    Error(Error),
    /// A directory on another mount, not entered.
    OtherMount(PathBuf),
}

/// A tree being walked; the root itself is not among its entries.
#[derive(Debug)]
pub struct Walk {
    source: Source,
    current: Option<Output>,
}

/// Where the items come from.
#[derive(Debug)]
enum Source {
    Inline(Box<Worker>),
    Threads { filled: Receiver<Output>, empty: Sender<Gathered>, handles: Handles },
}

/// Stops and joins the threads when dropped.
#[derive(Debug)]
struct Handles {
    threads: Vec<JoinHandle<()>>,
    queue: Arc<Queue>,
    stop: Arc<AtomicBool>,
}

impl Walk {
    /// Starts a walk of the tree below an open directory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadOption`](crate::ErrorKind::BadOption) for an option out of range, or when a thread cannot be started.
    pub fn new(root: Dir, options: &WalkOptions) -> Result<Self> {
        let path = root.path().to_owned();
        let (queue, mut workers) = workers(root, options)?;
        if options.threads == 1
            && let Some(worker) = workers.pop()
        {
            return Ok(Self { source: Source::Inline(Box::new(worker)), current: None });
        }
        let (filled_in, filled) = bounded(options.threads * 4);
        let (empty, empty_out) = bounded(options.threads * 8);
        let stop = Arc::new(AtomicBool::new(false));
        let handles = Handles { threads: Vec::new(), queue: Arc::clone(&queue), stop: Arc::clone(&stop) };
        // Made before the threads, so that those that have started end if one cannot.
        let mut walk = Self { source: Source::Threads { filled, empty, handles }, current: None };
        for (index, worker) in workers.into_iter().enumerate() {
            let (filled, empty) = (filled_in.clone(), empty_out.clone());
            let (queue, stop) = (Arc::clone(&queue), Arc::clone(&stop));
            let thread = std::thread::Builder::new()
                .name(format!("megadir-walk-{index}"))
                .spawn(move || {
                    let _closes = CloseOnPanic(queue);
                    run(worker, &filled, &empty, &stop);
                })
                .map_err(|error| Error::io("start a thread to walk", &path, error))?;
            if let Source::Threads { handles, .. } = &mut walk.source {
                handles.threads.push(thread);
            }
        }
        Ok(walk)
    }

    /// Returns the next item, or `None` when the whole tree has been walked.
    pub fn next_item(&mut self) -> Option<WalkItem<'_>> {
        let done = self.current.take();
        let next = match &mut self.source {
            Source::Inline(worker) => {
                if let Some(Output::Batch { gathered, .. }) = done {
                    worker.recycle(gathered);
                }
                worker.step()
            }
            Source::Threads { filled, empty, handles } => {
                if let Some(Output::Batch { gathered, .. }) = done {
                    let _ = empty.try_send(gathered);
                }
                let next = filled.recv().ok();
                if next.is_none() {
                    join(&mut handles.threads);
                }
                next
            }
        };
        next.and_then(|next| item(&mut self.current, next))
    }
}

/// Returns a worker for each thread, and the queue that they share, with the root in it.
fn workers(root: Dir, options: &WalkOptions) -> Result<(Arc<Queue>, Vec<Worker>)> {
    worker::check(options, root.path())?;
    let queue = Arc::new(Queue::new(options.threads, options.queue_directories_max));
    let mut examine = match options.examine {
        Some((examiner, want)) => examiner.start_threads(&root, want, options.threads)?,
        None => Vec::new(),
    };
    if queue.push(Pending::Root(Box::new(root))).is_err() {
        unreachable!("an empty queue has room for the root");
    }
    let worker = |_| Worker::new(Arc::clone(&queue), *options, examine.pop());
    let workers = (0..options.threads).map(worker).collect();
    Ok((queue, workers))
}

/// Returns what a step gave as an item; what the item borrows lies in `current`.
fn item(current: &mut Option<Output>, next: Output) -> Option<WalkItem<'_>> {
    match next {
        Output::Error(error) => Some(WalkItem::Error(error)),
        Output::OtherMount(path) => Some(WalkItem::OtherMount(path)),
        borrowed => match current.insert(borrowed) {
            Output::Batch { directory, gathered } => match gathered.batch() {
                Ok(batch) => {
                    Some(WalkItem::Batch { directory: directory.path(), batch, attributes: &gathered.rows })
                }
                Err(_) => unreachable!("the bytes of a batch are a batch"),
            },
            Output::End(directory) => Some(WalkItem::End { directory: directory.path() }),
            Output::Error(_) | Output::OtherMount(_) => None,
        },
    }
}

/// Walks until the queue has run dry or the consumer has gone.
fn run(mut worker: Worker, filled: &Sender<Output>, empty: &Receiver<Gathered>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        if let Ok(gathered) = empty.try_recv() {
            worker.recycle(gathered);
        }
        let Some(output) = worker.step() else { return };
        if filled.send(output).is_err() {
            return;
        }
    }
}

/// Closes the queue when its thread panics: the others would wait for what it might have added.
struct CloseOnPanic(Arc<Queue>);

impl Drop for CloseOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

/// Dropped after the queues of the walk, without which every thread comes to its end at the next item.
impl Drop for Handles {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.queue.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
