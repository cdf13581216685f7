//! Files with several names: one file in the order of removal, which goes with all its names or stays.
//!
//! Its place is that of its last name. A file with a name that stays, outside the tree or excluded would free nothing, so its names stay,
//! also if it gets such a name while the run lasts. Memory is bounded: names of further files stay too.

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
    /// Last change of the inode before any removal.
    changed: Time,
    place: Key,
    /// Names that this removal has begun to remove, and those that it has removed.
    taken: u64,
    removed: u64,
}

#[derive(Debug)]
pub(super) struct LinkedFiles {
    files: HashMap<FileId, LinkedFile>,
    bytes: usize,
    bytes_max: usize,
    /// Names of files beyond the memory.
    untracked: u64,
}

/// A name of a file with several names.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkedName<'a> {
    pub(super) id: FileId,
    pub(super) links: u64,
    pub(super) bytes: u64,
    pub(super) changed: Time,
    pub(super) time: Time,
    pub(super) path: &'a [u8],
    pub(super) is_removable: bool,
}

/// With its share of the table's free places.
pub(super) const FILE_BYTES: usize = 2 * size_of::<(FileId, LinkedFile)>() + 32;

/// Number of links of a file that stays for another reason.
const UNKNOWN: u64 = u64::MAX;

impl LinkedFile {
    fn is_freed_with_all(&self) -> bool {
        self.removable == self.names && self.names >= self.links
    }

    fn amount(&self) -> Amount {
        Amount { names: self.names, files: 1, bytes: self.bytes }
    }
}

impl LinkedFiles {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { files: HashMap::new(), bytes: 0, bytes_max, untracked: 0 }
    }

    /// Returns what the name adds to the contents of the tree.
    pub(super) fn see(&mut self, name: &LinkedName<'_>) -> Amount {
        let has_room = self.bytes + FILE_BYTES + name.path.len() <= self.bytes_max;
        match self.files.entry(name.id) {
            Entry::Occupied(mut known) => {
                let file = known.get_mut();
                file.names += 1;
                file.removable += u64::from(name.is_removable);
                // Linked since: the later count has all names.
                file.links = file.links.max(name.links);
                if file.links == UNKNOWN {
                    self.untracked += 1;
                }
                // Names are in several units, or were seen with different times because the file is in use.
                if file.links != UNKNOWN && file.place.cmp_to(name.time, name.path).is_lt() {
                    let bytes = self.bytes - file.place.path.len() + name.path.len();
                    if bytes > self.bytes_max {
                        // Its place cannot be remembered, so it stays.
                        file.links = UNKNOWN;
                        self.untracked += file.names;
                    } else {
                        self.bytes = bytes;
                        file.place = Key { time: name.time, path: name.path.into() };
                    }
                }
                Amount { names: 1, ..Amount::default() }
            }
            Entry::Vacant(free) if has_room => {
                self.bytes += FILE_BYTES + name.path.len();
                let place = Key { time: name.time, path: Arc::from(name.path) };
                let LinkedName { links, bytes, changed, .. } = *name;
                let removable = u64::from(name.is_removable);
                let (names, taken, removed) = (1, 0, 0);
                free.insert(LinkedFile { names, removable, links, bytes, changed, place, taken, removed });
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
        let removable = self.files.values().filter(|file| file.is_freed_with_all());
        removable.map(|file| (&file.place, file.amount()))
    }

    pub(super) fn is_used(&self) -> bool {
        !self.files.is_empty()
    }

    pub(super) fn untracked(&self) -> u64 {
        self.untracked
    }

    /// `links` is the number of names that it has now; `links_again` looks again, while no name of it is being noted as removed. A dry run
    /// leaves all names.
    pub(super) fn known(
        &mut self,
        id: FileId,
        links: u64,
        dry_run: bool,
        links_again: &mut dyn FnMut() -> Option<u64>,
    ) -> Known<'_> {
        let Some(file) = self.files.get_mut(&id) else {
            return if links > 1 { Known::Stays } else { Known::Single };
        };
        let removed = if dry_run { 0 } else { file.removed };
        let has_gained = |links: u64| links.saturating_add(removed) > file.links;
        // The first look may be older than a removal that was noted since.
        if has_gained(links) && links_again().is_none_or(has_gained) {
            file.links = UNKNOWN;
        }
        if file.is_freed_with_all() {
            Known::At { place: &file.place, taken: file.taken }
        } else {
            Known::Stays
        }
    }

    /// To be called before a name is removed: that changes the inode.
    pub(super) fn take(&mut self, id: FileId) {
        if let Some(file) = self.files.get_mut(&id) {
            file.taken += 1;
        }
    }

    /// Last change of the inode before the removal began to remove one of its names; `None` if it has not.
    pub(super) fn changed_before(&self, id: FileId) -> Option<Time> {
        self.files.get(&id).filter(|file| file.taken > 0).map(|file| file.changed)
    }

    /// Returns what the removal of one name of a file has freed, and what it has taken from the tree without freeing it. `links` is the
    /// number of names that it had before, if it is not known.
    pub(super) fn remove(&mut self, id: FileId, bytes: u64, links: u64) -> (Amount, Amount) {
        let none = Amount { names: 1, ..Amount::default() };
        let Some(file) = self.files.get_mut(&id) else {
            let is_last = u64::from(links <= 1);
            return (Amount { names: 1, files: is_last, bytes: bytes * is_last }, Amount::default());
        };
        file.removed += 1;
        match file.removed >= file.names {
            true if file.names >= file.links => (Amount { names: 1, ..file.amount() }, Amount::default()),
            true => (none, Amount { names: 0, ..file.amount() }),
            false => (none, Amount::default()),
        }
    }

    /// Returns what is gone because another process has removed one name of a file, and whether this removal has freed it.
    pub(super) fn vanish(&mut self, id: FileId, bytes: u64) -> (Amount, bool) {
        let Some(file) = self.files.get_mut(&id) else {
            return (Amount { names: 1, files: 1, bytes }, false);
        };
        (file.names, file.links) = (file.names.saturating_sub(1), file.links.saturating_sub(1));
        let is_gone = file.removed >= file.names && file.links <= file.names;
        let amount = if is_gone { file.amount() } else { Amount::default() };
        (Amount { names: 1, ..amount }, file.removed > 0)
    }
}

/// State of a file by its inode and its number of names.
#[derive(Debug)]
pub(super) enum Known<'a> {
    /// It has one name.
    Single,
    /// A name of it stays, so all do.
    Stays,
    /// Its place in the order, and the number of its names that are gone or about to go.
    At { place: &'a Key, taken: u64 },
}

#[cfg(test)]
mod tests {
    use super::{FILE_BYTES, Known, LinkedFiles, LinkedName};
    use crate::attributes::Time;

    const ID: ((u32, u32), u64) = ((1, 2), 3);

    fn name(inode: u64, links: u64, path: &[u8]) -> LinkedName<'_> {
        let (id, bytes, changed, time) = ((ID.0, inode), 4096, Time::EPOCH, Time::EPOCH);
        LinkedName { id, links, bytes, changed, time, path, is_removable: true }
    }

    fn seen(files: &mut LinkedFiles, links: u64, path: &[u8]) -> u64 {
        files.see(&name(ID.1, links, path)).bytes
    }

    fn see_each(files: &mut LinkedFiles, links: u64, paths: &[&str]) {
        for path in paths {
            seen(files, links, path.as_bytes());
        }
    }

    #[test]
    fn a_look_that_is_older_than_a_removal_is_no_gained_link() {
        let mut files = LinkedFiles::new(1 << 20);
        assert_eq!((seen(&mut files, 2, b"a"), seen(&mut files, 2, b"b")), (4096, 0), "counted once");
        files.take(ID);
        assert_eq!(files.remove(ID, 4096, 2).0.bytes, 0);
        // The look was before the removal; the next one is not.
        assert!(matches!(files.known(ID, 2, false, &mut || Some(1)), Known::At { taken: 1, .. }));
        assert_eq!(files.remove(ID, 4096, 1).0.bytes, 4096);
        let mut files = LinkedFiles::new(1 << 20);
        see_each(&mut files, 2, &["a", "b"]);
        files.remove(ID, 4096, 2);
        assert!(matches!(files.known(ID, 2, true, &mut || Some(2)), Known::At { .. }), "a dry run");
        let mut files = LinkedFiles::new(1 << 20);
        see_each(&mut files, 2, &["a", "b"]);
        assert!(
            matches!(files.known(ID, 3, false, &mut || Some(3)), Known::Stays),
            "it has a name elsewhere"
        );
        assert!(matches!(files.known(ID, 2, false, &mut || Some(2)), Known::Stays));
    }

    #[test]
    fn a_file_is_freed_once_by_whoever_removes_its_last_name() {
        let mut files = LinkedFiles::new(1 << 20);
        see_each(&mut files, 3, &["a", "b", "c"]);
        assert_eq!((files.remove(ID, 4096, 3).0.bytes, files.vanish(ID, 4096).0.bytes), (0, 0));
        assert_eq!(files.remove(ID, 4096, 1).0.bytes, 4096);
        let mut files = LinkedFiles::new(1 << 20);
        see_each(&mut files, 2, &["a", "b"]);
        assert_eq!(files.remove(ID, 4096, 2).0.bytes, 0);
        let (gone, is_ours) = files.vanish(ID, 4096);
        assert!(gone.bytes == 4096 && is_ours);
    }

    #[test]
    fn a_file_with_a_name_elsewhere_leaves_the_tree_and_frees_nothing() {
        let mut files = LinkedFiles::new(1 << 20);
        see_each(&mut files, 3, &["a", "b"]);
        assert_eq!(files.removable().count(), 0);
        assert_eq!(files.remove(ID, 4096, 3).1.bytes, 0);
        let (freed, left) = files.remove(ID, 4096, 2);
        assert_eq!((freed.files, freed.bytes, left.files, left.bytes), (0, 0, 1, 4096));
    }

    #[test]
    fn longer_paths_of_further_names_take_no_more_memory() {
        let mut files = LinkedFiles::new(4 * FILE_BYTES);
        for path in [b"".as_slice(), &[b'x'; 4000], &[b'y'; 4000]] {
            for index in 0..3 {
                files.see(&name(index, 3, path));
                assert!(files.bytes <= files.bytes_max);
            }
        }
        assert!(files.untracked() > 0);
        assert_eq!(files.removable().count(), 0, "their places are not known");
    }
}
