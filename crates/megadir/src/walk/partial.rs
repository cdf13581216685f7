//! A walk that may end early and returns the directories that it did not visit.

use super::early::{Early, PartialLimits, Unvisited};
use super::parts::WalkPart;
use super::{Walk, WalkItem, WalkOptions};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::options::PositionRange;

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

    /// Requests the end: no more directories are entered, and those that are open are read to their end.
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
