//! Files with several names: one file in the order of removal, which goes with all its names or stays.
//!
//! Its place is that of its last name. A file with a name that stays, or outside the tree if space on the file system is asked for,
//! would free nothing, so its names stay. Memory is bounded: names of further files stay too.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::ranges::{Amount, Key};
use crate::attributes::Time;
use crate::remove::progress::FileId;

#[derive(Debug)]
pub(super) struct LinkedFile {
    /// Names in the tree.
    names: u64,
    /// Names that meet the conditions.
    removable: u64,
    links: u64,
    bytes: u64,
    place: Key,
    removed: u64,
}

#[derive(Debug)]
pub(super) struct LinkedFiles {
    files: HashMap<FileId, LinkedFile>,
    bytes: usize,
    bytes_max: usize,
    /// Names outside count, because the file frees nothing on the file system while one is left.
    counts_outside: bool,
    /// Names of files beyond the memory.
    untracked: u64,
}

/// A name of a file with several names.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkedName<'a> {
    pub(super) id: FileId,
    pub(super) links: u64,
    pub(super) bytes: u64,
    pub(super) time: Time,
    pub(super) path: &'a [u8],
    pub(super) is_removable: bool,
}

/// With its share of the table's free places.
pub(super) const FILE_BYTES: usize = 2 * size_of::<(FileId, LinkedFile)>() + 32;

impl LinkedFile {
    fn is_freed_with_all(&self, counts_outside: bool) -> bool {
        self.removable == self.names && (!counts_outside || self.names >= self.links)
    }
}

impl LinkedFiles {
    pub(super) fn new(bytes_max: usize, counts_outside: bool) -> Self {
        Self { files: HashMap::new(), bytes: 0, bytes_max, counts_outside, untracked: 0 }
    }

    /// Returns what the name adds to the contents of the tree.
    pub(super) fn see(&mut self, name: &LinkedName<'_>) -> Amount {
        let has_room = self.bytes + FILE_BYTES + name.path.len() <= self.bytes_max;
        match self.files.entry(name.id) {
            Entry::Occupied(mut known) => {
                let file = known.get_mut();
                file.names += 1;
                file.removable += u64::from(name.is_removable);
                // Names are in several units, or were seen with different times because the file is in use.
                if file.place.cmp_to(name.time, name.path).is_lt() {
                    self.bytes = self.bytes + name.path.len() - file.place.path.len();
                    file.place = Key { time: name.time, path: name.path.into() };
                }
                Amount { names: 1, ..Amount::default() }
            }
            Entry::Vacant(free) if has_room => {
                self.bytes += FILE_BYTES + name.path.len();
                let place = Key { time: name.time, path: Arc::from(name.path) };
                let (links, bytes) = (name.links, name.bytes);
                let removable = u64::from(name.is_removable);
                free.insert(LinkedFile { names: 1, removable, links, bytes, place, removed: 0 });
                Amount { names: 1, files: 1, bytes }
            }
            Entry::Vacant(_) => {
                self.untracked += 1;
                // The names together count as one file, unless some are outside.
                let is_first = self.untracked.is_multiple_of(name.links.max(1));
                Amount { names: 1, files: u64::from(is_first), bytes: name.bytes / name.links.max(1) }
            }
        }
    }

    /// Files that may go, in any order.
    pub(super) fn removable(&self) -> impl Iterator<Item = (&Key, Amount)> {
        let removable = self.files.values().filter(|file| file.is_freed_with_all(self.counts_outside));
        removable.map(|file| (&file.place, Amount { names: file.names, files: 1, bytes: file.bytes }))
    }

    pub(super) fn is_used(&self) -> bool {
        !self.files.is_empty()
    }

    pub(super) fn untracked(&self) -> u64 {
        self.untracked
    }

    pub(super) fn known(&self, id: FileId, links: u64) -> Known<'_> {
        match self.files.get(&id) {
            Some(file) if file.is_freed_with_all(self.counts_outside) => Known::At(&file.place),
            Some(_) => Known::Stays,
            None if links > 1 => Known::Stays,
            None => Known::Single,
        }
    }

    /// `true` if the removal has removed one of its names.
    pub(super) fn has_lost_a_name(&self, id: FileId) -> bool {
        self.files.get(&id).is_some_and(|file| file.removed > 0)
    }

    /// Returns what the removal of one name of a file has freed.
    pub(super) fn remove(&mut self, id: FileId, bytes: u64) -> Amount {
        let Some(file) = self.files.get_mut(&id) else { return Amount { names: 1, files: 1, bytes } };
        file.removed += 1;
        let is_last = file.removed == file.names && (!self.counts_outside || file.names >= file.links);
        match is_last {
            true => Amount { names: 1, files: 1, bytes: file.bytes },
            false => Amount { names: 1, ..Amount::default() },
        }
    }
}

/// State of a file by its inode and its number of names.
#[derive(Debug)]
pub(super) enum Known<'a> {
    /// It has one name.
    Single,
    /// A name of it stays, so all do.
    Stays,
    /// Its place in the order.
    At(&'a Key),
}
