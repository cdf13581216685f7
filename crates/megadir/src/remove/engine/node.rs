//! A directory that is being removed: what its workers must know of it together.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::system::Identity;
use crate::names;

/// The longest path in a message, bytes; of a longer one, the end.
const PATH_BYTES_MAX: usize = 16 << 10;

/// Something below could not be removed.
pub(super) const FAILED: u8 = 1;
/// Something below is to stay.
pub(super) const KEPT: u8 = 2;

/// A directory that is being removed. Its descriptor is with the workers.
#[derive(Debug)]
pub(super) struct Node {
    /// `None` for the root of the removal.
    pub(super) parent: Option<Arc<Node>>,
    pub(super) name: CString,
    /// Whoever reads it, its directories, and who has been given some of them: who ends the last part removes it.
    parts: AtomicUsize,
    /// [`FAILED`] and [`KEPT`].
    stays: AtomicU8,
    /// How often it has been read again since something was left in it.
    pub(super) passes: AtomicU8,
    /// Known of every directory that somebody may come back to by way of `..`, and of all above it.
    identity: OnceLock<Identity>,
    /// Its space on the disk, bytes, where it was looked at.
    pub(super) bytes: u64,
}

impl Node {
    /// Makes a directory with one part: its reader's.
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
        }
    }

    pub(super) fn add_part(&self) {
        self.parts.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a part; true if it was the last, and all that the others did has been seen.
    pub(super) fn end_part(&self) -> bool {
        self.parts.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub(super) fn stay(&self, why: u8) {
        // Most often it is known already.
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

    /// Returns the names from below the root to this directory.
    pub(super) fn names(&self) -> Vec<&CStr> {
        self.names_up_to(None).unwrap_or_default()
    }

    /// Returns the names from below a directory to this one; nothing where this one does not lie there.
    pub(super) fn names_below(&self, above: &Self) -> Option<Vec<&CStr>> {
        self.names_up_to(Some(above))
    }

    fn names_up_to(&self, above: Option<&Self>) -> Option<Vec<&CStr>> {
        let mut names = Vec::new();
        let mut node = self;
        while !above.is_some_and(|above| std::ptr::eq(above, node)) {
            let Some(parent) = &node.parent else {
                if above.is_some() {
                    return None;
                }
                break;
            };
            names.push(node.name.as_c_str());
            node = parent;
        }
        names.reverse();
        Some(names)
    }

    /// Returns the path of an entry, for a message; of this directory itself where the name is empty.
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

/// Gives up the directories above one by one: a chain of a million would overflow the stack.
impl Drop for Node {
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(mut above) = parent.and_then(Arc::into_inner) {
            parent = above.parent.take();
        }
    }
}
