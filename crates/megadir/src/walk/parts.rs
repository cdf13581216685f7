//! A walk in parts: each thread processes the items that it reads. A part that may end early returns the directories that it did not visit.

use super::early::{Early, PartialLimits, Unvisited};
use super::worker::{Output, Worker};
use super::{Walk, WalkContext, WalkItem, WalkOptions, item, workers};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::options::PositionRange;

/// Part of a walk that belongs to one thread. Items are processed by the thread that read them, while they are in its cache.
///
/// A part waits for directories that other parts may find, so run each on its own thread until it ends.
/// Dropping a part early ends the walk for all parts. A part that is dropped before its first item, such as with the
/// closure of a thread that could not be started, leaves its work to the others.
///
/// ```
/// use megadir::{Dir, Walk, WalkItem, WalkOptions, WalkPart};
/// let count = |mut part: WalkPart| {
///     let mut entries = 0;
///     while let Some(item) = part.next_item() {
///         if let WalkItem::Batch { batch, .. } = item {
///             entries += batch.len();
///         }
///     }
///     entries
/// };
/// let parts = Walk::parts(Dir::open("/etc")?, &WalkOptions::new(2))?;
/// let entries: usize = std::thread::scope(|scope| {
///     let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(move || count(part))).collect();
///     threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum()
/// });
/// assert!(entries > 0);
/// # Ok::<(), megadir::Error>(())
/// ```
#[derive(Debug)]
pub struct WalkPart<C: WalkContext = ()> {
    worker: Worker<C>,
    current: Option<Output<C>>,
}

impl Walk {
    /// Prepares a walk of the tree below an open directory in `threads` parts; starts no thread. Errors: as
    /// [`Walk::new`].
    pub fn parts(root: Dir, options: &WalkOptions) -> Result<Vec<WalkPart>> {
        Self::parts_with(root, (), options)
    }

    /// As [`Walk::parts`], with a state for each directory: `context` for the root, and for the directories
    /// below what [`WalkContext::below`] makes of it. Errors: as [`Walk::new`].
    pub fn parts_with<C: WalkContext>(
        root: Dir,
        context: C,
        options: &WalkOptions,
    ) -> Result<Vec<WalkPart<C>>> {
        Ok(workers(root, context, options)?.into_iter().map(WalkPart::new).collect())
    }
}

impl<C: WalkContext> WalkPart<C> {
    pub(super) fn new(worker: Worker<C>) -> Self {
        Self { worker, current: None }
    }

    /// Returns the next item, or `None` at the end. Waits while other parts may still find directories.
    pub fn next_item(&mut self) -> Option<WalkItem<'_>> {
        self.next_with_context().map(|(item, _)| item)
    }

    /// As [`WalkPart::next_item`], with the directory's state for a batch and an end.
    pub fn next_with_context(&mut self) -> Option<(WalkItem<'_>, Option<&C>)> {
        if let Some(Output::Batch { gathered, .. }) = self.current.take() {
            self.worker.recycle(gathered);
        }
        let next = self.worker.step()?;
        item(&mut self.current, next)
    }

    /// Returns another part, to be run on a thread of its own, if calls of this part wait for a device and fewer than
    /// [`WalkOptions::threads_max`] parts run. Worth asking after each item.
    pub fn another(&mut self) -> Option<Self> {
        self.worker.another().map(Self::new)
    }
}

impl<C: WalkContext> Drop for WalkPart<C> {
    fn drop(&mut self) {
        if self.worker.has_begun && !self.worker.has_ended {
            self.worker.queue.close();
        }
    }
}

/// Walk by the caller's thread that may end early. The directories that it did not visit may be walked by others.
///
/// Each directory below the first is either visited or returned by [`PartialWalk::unvisited`]. Memory is bounded
/// by [`PartialLimits::unvisited_max`], the queue and the depth of the tree.
///
/// ```
/// use megadir::{Dir, PartialLimits, PartialWalk, WalkItem, WalkOptions};
///
/// let limits = PartialLimits { unvisited_max: 1000, entries_per_range: 100_000 };
/// let mut walk = PartialWalk::new(Dir::open(".")?, None, &WalkOptions::new(1), limits)?;
/// let mut entries = 0;
/// while let Some(item) = walk.next_item() {
///     if let WalkItem::Batch { batch, .. } = item {
///         entries += batch.len();
///     }
///     walk.end_early();
/// }
/// let left = walk.unvisited();
/// assert!(entries > 1 && left.iter().any(|left| left.path.to_vec() == b"src"));
/// # Ok::<(), megadir::Error>(())
/// ```
#[derive(Debug)]
pub struct PartialWalk {
    part: WalkPart,
}

impl PartialWalk {
    /// Prepares a walk below an open directory, or of a range of its entries and everything below these.
    /// Errors: [`ErrorKind::BadOption`] for more than one thread; [`ErrorKind::Unavailable`] for a range on a file system
    /// whose positions cannot be divided; as [`Walk::new`](super::Walk::new).
    pub fn new(
        root: Dir,
        range: Option<PositionRange>,
        options: &WalkOptions,
        limits: PartialLimits,
    ) -> Result<Self> {
        if (options.threads, options.threads_max) != (1, 1) {
            let reason = "a walk that may end early has one thread";
            return Err(Error::new("walk", root.path(), ErrorKind::BadOption, reason));
        }
        let mut part = Walk::parts(root, options)?.remove(0);
        part.worker.early = Some(Early { limits, is_ending: false, unvisited: Vec::new(), range });
        Ok(Self { part })
    }

    /// Returns the next item, or `None` at the end.
    pub fn next_item(&mut self) -> Option<WalkItem<'_>> {
        self.part.next_item()
    }

    /// Requests the end: no more directories are entered, and open ones are read to their end.
    pub fn end_early(&mut self) {
        if let Some(early) = &mut self.part.worker.early {
            early.is_ending = true;
        }
    }

    /// Returns the directories that were not visited, and the ranges of large directories. Call it after the last item.
    pub fn unvisited(mut self) -> Vec<Unvisited> {
        self.part.worker.early.take().map(|early| early.unvisited).unwrap_or_default()
    }
}
