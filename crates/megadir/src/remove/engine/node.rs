//! A directory that is being removed.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::system::{self, Directory, Identity, Permit};
use crate::attributes::Time;
use crate::conditions::{Conditions, Place};
use crate::mount_traits::RemovedOpen;
use crate::names;
use crate::threads::lock;

const PATH_BYTES_MAX: usize = 16 << 10;

pub(super) const FAILED: u8 = 1;
pub(super) const KEPT: u8 = 2;
/// The directory itself does not meet the conditions, with [`KEPT`].
pub(super) const UNMATCHED: u8 = 4;

/// libfuse's beginning of their names.
const HIDDEN: &[u8] = b".fuse_hidden";

/// Files in a directory that a process still has open.
#[derive(Debug, Default)]
pub(super) struct StillOpen {
    pub(super) first: Option<CString>,
    pub(super) count: u64,
    /// Names beginning with [`HIDDEN`] that were removed: each was a file that was closed by then, or it has another such name now.
    pub(super) hidden: u64,
    /// A directory below holds such files, so that this one stays and gets no second pass.
    pub(super) is_below: bool,
}

/// It has no descriptor, so that any number of directories may wait. `stays` collects the reasons for which the
/// directory stays, as bits; a bit is never cleared. Values that need a system call are filled in on first use,
/// because most directories need none of them.
///
/// ```text
/// parts: 1 (reader) + subdirectories + jobs of other workers -> 0: removed by the worker that ended the last
/// ```
#[derive(Debug)]
pub(super) struct Node {
    pub(super) parent: Option<Arc<Node>>,
    pub(super) name: CString,
    /// Reader, subdirectories and shared jobs; the worker that ends the last part removes the directory.
    parts: AtomicUsize,
    stays: AtomicU8,
    pub(super) passes: AtomicU8,
    /// Known for directories that a worker may return to by `..`, and their ancestors.
    identity: OnceLock<Identity>,
    pub(super) bytes: u64,
    /// Entries from this time on stay; `None` inside if all do.
    pub(super) newest: OnceLock<Option<Time>>,
    place: OnceLock<Box<Place>>,
    /// Only in dry runs.
    permit: OnceLock<Permit>,
    removed_open: OnceLock<RemovedOpen>,
    pub(super) still_open: Mutex<StillOpen>,
}

impl Node {
    pub(super) fn new(parent: Option<Arc<Self>>, name: CString, stays: u8, bytes: u64) -> Self {
        if let Some(parent) = &parent {
            parent.add_part();
        }
        Self {
            parent,
            name,
            parts: AtomicUsize::new(1),
            stays: AtomicU8::new(stays),
            passes: AtomicU8::new(0),
            identity: OnceLock::new(),
            bytes,
            newest: OnceLock::new(),
            place: OnceLock::new(),
            permit: OnceLock::new(),
            removed_open: OnceLock::new(),
            still_open: Mutex::default(),
        }
    }

    /// Returns the permission of this process to remove entries of `directory`, which is this one.
    pub(super) fn permit(&self, directory: &Directory, is_read_only: bool) -> &Permit {
        self.permit.get_or_init(|| Permit::of(directory, is_read_only))
    }

    /// Returns the fate of open files that are removed from `directory`, which is this one. Reads the mount table.
    pub(super) fn removed_open(&self, directory: &Directory) -> RemovedOpen {
        *self.removed_open.get_or_init(|| system::removed_open(directory))
    }

    pub(super) fn add_part(&self) {
        self.parts.fetch_add(1, Ordering::Relaxed);
    }

    /// The last part sees the effects of all others.
    pub(super) fn end_part(&self) -> bool {
        self.parts.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub(super) fn stay(&self, why: u8) {
        if self.stays() & why != why {
            self.stays.fetch_or(why, Ordering::Relaxed);
        }
    }

    pub(super) fn stays(&self) -> u8 {
        self.stays.load(Ordering::Relaxed)
    }

    pub(super) fn identity(&self) -> Option<Identity> {
        self.identity.get().copied()
    }

    pub(super) fn identify(&self, identity: Identity) {
        let _ = self.identity.set(identity);
    }

    pub(super) fn place(&self, conditions: Option<&Conditions>) -> &Place {
        match (&self.parent, conditions.filter(|conditions| conditions.needs_places())) {
            (Some(parent), Some(conditions)) => self.place.get_or_init(|| {
                let above = parent.place(Some(conditions));
                Box::new(conditions.place_below(above, self.name.to_bytes()))
            }),
            _ => const { &Place::TOP },
        }
    }

    pub(super) fn removed_hidden(&self, name: &CStr) {
        if name.to_bytes().starts_with(HIDDEN) {
            lock(&self.still_open).hidden += 1;
        }
    }

    pub(super) fn holds_open_below(&self) {
        lock(&self.still_open).is_below = true;
    }

    pub(super) fn keeps_open(&self, name: &CStr) {
        let mut still_open = lock(&self.still_open);
        still_open.first.get_or_insert_with(|| name.to_owned());
        still_open.count += 1;
        self.stay(FAILED);
    }

    /// Names below a directory, or without one below the root; `None` if it is not above.
    pub(super) fn names_below(&self, above: Option<&Self>) -> Option<Vec<&CStr>> {
        let mut names = Vec::new();
        let mut node = self;
        while !above.is_some_and(|above| std::ptr::eq(above, node)) {
            match &node.parent {
                Some(parent) => {
                    names.push(node.name.as_c_str());
                    node = parent;
                }
                None if above.is_some() => return None,
                None => break,
            }
        }
        names.reverse();
        Some(names)
    }

    /// Path of the directory itself if the name is empty.
    pub(super) fn path(&self, root: &Path, name: &[u8]) -> PathBuf {
        let mut parts = vec![name];
        let mut bytes = name.len();
        let mut node = self;
        while let Some(parent) = &node.parent {
            if bytes > PATH_BYTES_MAX {
                parts.push(b"...");
                break;
            }
            parts.push(node.name.to_bytes());
            bytes += node.name.count_bytes() + 1;
            node = parent;
        }
        let mut path = root.to_owned();
        path.extend(
            parts.iter().rev().filter(|part| !part.is_empty()).filter_map(|part| names::to_os(part).ok()),
        );
        path
    }
}

/// Recursion on a chain of a million directories would overflow the stack.
impl Drop for Node {
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(mut above) = parent.and_then(Arc::into_inner) {
            parent = above.parent.take();
        }
    }
}
