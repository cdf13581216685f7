//! Further looks at a directory that changed while it was read. A listing lacks names that were renamed from a part that was not
//! read yet to one that was, and on btrfs and tmpfs names that were replaced by rename.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use crate::attributes::{Attributes, StatMask, Time};
use crate::batch::{Batch, BatchBuilder};
use crate::dir::Dir;

/// Most hashes that all directories of a walk hold at a time: 32 MB. Directories that get none are looked at once, and as
/// their space doubles, that is so from between two and four million names on.
const NAMES_MAX: usize = 4 << 20;
/// Each look lists names, and examines only new ones; the first without a new name is the last.
const LOOKS_MAX: u32 = 5;
/// Clocks of file systems tick in steps of up to 10 ms, so that a second change within a step does not change the time.
const STEP: Duration = Duration::from_millis(20);
/// A hash set takes about twice the space of a vector.
const WORDS_PER_DIRECTORY: usize = 2;

/// Names of a directory that were seen, and its time of change.
///
/// A listing is repeated while it has brought a new name and the directory's time of change differs from the
/// one before. Only hashes are kept, within a share of what all directories of the walk may hold; a directory
/// that exceeds it is listed once.
#[derive(Debug)]
pub(super) struct Again {
    changed: Option<Time>,
    /// Hashes; the first `sorted` are in order. The probability that a name is left out because two of four million are equal is 1 in
    /// a million.
    names: Vec<u64>,
    sorted: usize,
    /// Directories that were entered: a listing may have a name twice that was renamed away and back.
    entered: HashSet<u64>,
    share: Share,
    looks: u32,
    found_new: bool,
}

/// Part of the hashes of a walk that one directory holds.
#[derive(Debug)]
struct Share {
    /// Hashes of all directories.
    held: Arc<AtomicUsize>,
    taken: usize,
    is_exhausted: bool,
}

impl Again {
    /// `changed` is the directory's time of change before it is read, if that is known; `held` counts the hashes of all directories.
    pub(super) fn new(directory: &Dir, changed: Option<Time>, held: &Arc<AtomicUsize>) -> Self {
        let changed = changed.or_else(|| time_of_change(directory));
        let share = Share { held: Arc::clone(held), taken: 0, is_exhausted: false };
        let (names, entered) = (Vec::new(), HashSet::new());
        Self { changed, names, sorted: 0, entered, share, looks: 0, found_new: false }
    }

    /// Entries that no earlier look has returned; `None` in the first look, in which all are new.
    pub(super) fn fresh(&mut self, batch: Batch<'_>) -> Option<BatchBuilder> {
        let hashes = batch.entries().map(|entry| hash(entry.name));
        if self.looks == 0 {
            if self.has_room(batch.len()) {
                self.names.extend(hashes);
            }
            return None;
        }
        let mut fresh = BatchBuilder::new(0, false);
        for (entry, hash) in batch.entries().zip(hashes) {
            if self.names[..self.sorted].binary_search(&hash).is_err() {
                if self.has_room(1) {
                    self.names.push(hash);
                }
                fresh.push(entry.name, entry.inode, entry.kind, 0);
            }
        }
        self.found_new |= !fresh.is_empty();
        Some(fresh)
    }

    /// Forgets names of the last batch of new entries that were gone when they were examined: one that returns is new again.
    pub(super) fn forget_vanished(&mut self, rows: &[Attributes]) {
        if self.share.is_exhausted || !rows.iter().any(Attributes::has_vanished) {
            return;
        }
        let Some(first) = self.names.len().checked_sub(rows.len()) else { return };
        let last = self.names.split_off(first);
        let stay = last.iter().zip(rows).filter(|(_, row)| !row.has_vanished());
        self.names.extend(stay.map(|(hash, _)| hash));
    }

    /// `true` for the first directory of this name.
    pub(super) fn enters(&mut self, name: &[u8]) -> bool {
        if self.entered.len() == self.entered.capacity() {
            let more = self.entered.capacity().max(4);
            if !self.share.take(more * WORDS_PER_DIRECTORY) {
                return true;
            }
            self.entered.reserve(more);
        }
        self.entered.insert(hash(name))
    }

    /// At the end of a look: `true` if the directory changed meanwhile, so that it is to be listed again.
    pub(super) fn is_needed(&mut self, directory: &Dir) -> bool {
        let is_needed = self.may_be_needed(directory);
        if is_needed {
            self.names.sort_unstable();
            (self.sorted, self.looks, self.found_new) = (self.names.len(), self.looks + 1, false);
        } else {
            // The frame stays until the directories below are read.
            (self.names, self.entered) = (Vec::new(), HashSet::new());
            self.share.release();
        }
        is_needed
    }

    fn may_be_needed(&mut self, directory: &Dir) -> bool {
        let is_last = self.looks > 0 && !self.found_new || self.looks == LOOKS_MAX;
        if is_last || self.share.is_exhausted {
            return false;
        }
        let changed = time_of_change(directory);
        changed != std::mem::replace(&mut self.changed, changed) || changed.is_some_and(is_just_now)
    }

    fn has_room(&mut self, more: usize) -> bool {
        let (length, capacity) = (self.names.len() + more, self.names.capacity());
        if length <= capacity {
            return !self.share.is_exhausted;
        }
        let capacity_then = length.max(capacity * 2);
        let has_room = self.share.take(capacity_then - capacity);
        if has_room {
            self.names.reserve_exact(capacity_then - self.names.len());
        } else if self.looks == 0 {
            // There will be no other look. In a later one, the names that were seen are needed up to its end.
            self.names = Vec::new();
            self.share.give_back(capacity);
        }
        has_room
    }
}

impl Share {
    /// Once none are left, it stays so: the names of the directory are not complete.
    fn take(&mut self, more: usize) -> bool {
        if self.is_exhausted {
            return false;
        }
        let taken = |held: usize| held.checked_add(more).filter(|held| *held <= NAMES_MAX);
        self.is_exhausted = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_err();
        if !self.is_exhausted {
            self.taken += more;
        }
        !self.is_exhausted
    }

    fn give_back(&mut self, words: usize) {
        let words = words.min(self.taken);
        self.taken -= words;
        self.held.fetch_sub(words, Ordering::Relaxed);
    }

    fn release(&mut self) {
        self.give_back(self.taken);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.release();
    }
}

fn time_of_change(directory: &Dir) -> Option<Time> {
    let attributes = directory.attributes(StatMask::CHANGED).ok()?;
    attributes.have.contains(StatMask::CHANGED).then_some(attributes.changed)
}

fn is_just_now(changed: Time) -> bool {
    Time::from_system(SystemTime::now() - STEP) <= changed
}

fn hash(name: &[u8]) -> u64 {
    // Fractional part of the golden ratio.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    name.chunks(8).fold(name.len() as u64, |state, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let wide = u128::from(state ^ u64::from_le_bytes(word) ^ FACTOR) * u128::from(FACTOR);
        wide as u64 ^ (wide >> 64) as u64
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Again, LOOKS_MAX, NAMES_MAX, hash};
    use crate::attributes::Attributes;
    use crate::batch::BatchBuilder;
    use crate::dir::Dir;
    use crate::file_type::FileType;

    fn batch(names: &[&str]) -> BatchBuilder {
        let mut batch = BatchBuilder::new(0, false);
        names.iter().for_each(|name| assert!(batch.push(name.as_bytes(), 1, FileType::File, 0)));
        batch
    }

    fn fresh(again: &mut Again, names: &[&str]) -> Vec<String> {
        let fresh = again.fresh(batch(names).batch()).unwrap();
        let names = fresh.batch().entries().map(|entry| String::from_utf8(entry.name.to_vec()).unwrap());
        names.collect()
    }

    #[test]
    fn looks_end_with_the_first_that_has_no_new_name() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = Dir::open(scratch.path()).unwrap();
        let touch = |name: &str| std::fs::write(scratch.path().join(name), "").unwrap();
        let mut again = Again::new(&directory, None, &Arc::default());
        assert!(again.fresh(batch(&["a", "b"]).batch()).is_none());
        touch("a");
        assert!(again.is_needed(&directory));
        assert_eq!(fresh(&mut again, &["a", "c", "b"]), ["c"]);
        touch("b");
        assert!(again.is_needed(&directory));
        assert_eq!(fresh(&mut again, &["a", "c", "b"]), [""; 0]);
        touch("c");
        assert!(!again.is_needed(&directory), "nothing was new");
    }

    #[test]
    fn a_directory_that_did_not_change_is_listed_once() {
        let scratch = tempfile::tempdir().unwrap();
        std::thread::sleep(2 * super::STEP);
        let directory = Dir::open(scratch.path()).unwrap();
        assert!(!Again::new(&directory, None, &Arc::default()).is_needed(&directory));
    }

    #[test]
    fn a_name_that_vanished_is_new_when_it_returns() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = Dir::open(scratch.path()).unwrap();
        let mut again = Again::new(&directory, None, &Arc::default());
        let rows = |names: &[&str]| -> Vec<Attributes> {
            let row =
                |name: &&str| Attributes { error: if *name == "b" { 2 } else { 0 }, ..Attributes::NOTHING };
            names.iter().map(row).collect()
        };
        for few in [["a", "b"], ["c", "d"]] {
            assert!(again.fresh(batch(&few).batch()).is_none());
            again.forget_vanished(&rows(&few));
        }
        std::fs::write(scratch.path().join("a"), "").unwrap();
        assert!(again.is_needed(&directory));
        for _ in 0..2 {
            assert_eq!(fresh(&mut again, &["a", "b", "c", "d"]), ["b"]);
            again.forget_vanished(&rows(&["b"]));
            std::fs::write(scratch.path().join("a"), "").unwrap();
            assert!(again.is_needed(&directory));
        }
        assert_eq!(fresh(&mut again, &["a", "b", "c", "d", "e"]), ["b", "e"]);
        again.forget_vanished(&rows(&["d", "e"]));
        assert!(again.is_needed(&directory));
        assert_eq!(fresh(&mut again, &["a", "b", "c", "d", "e"]), [""; 0]);
    }

    #[test]
    fn a_directory_that_is_listed_twice_is_entered_once() {
        let scratch = tempfile::tempdir().unwrap();
        let mut again = Again::new(&Dir::open(scratch.path()).unwrap(), None, &Arc::default());
        let names: Vec<String> = (0..1000).map(|index| index.to_string()).collect();
        assert!(names.iter().all(|name| again.enters(name.as_bytes())));
        assert!(!names.iter().any(|name| again.enters(name.as_bytes())));
    }

    #[test]
    fn all_directories_of_a_walk_share_the_hashes_and_return_them() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = Dir::open(scratch.path()).unwrap();
        let held = Arc::new(AtomicUsize::new(0));
        let held_now = || held.load(Ordering::Relaxed);
        let few = batch(&["a", "b", "c", "d"]);
        let mut first = Again::new(&directory, None, &held);
        for _ in 0..NAMES_MAX / 4 {
            first.fresh(few.batch());
        }
        assert_eq!((held_now(), first.names.capacity()), (NAMES_MAX, NAMES_MAX));
        let mut second = Again::new(&directory, None, &held);
        second.fresh(few.batch());
        assert!(second.enters(b"a") && second.enters(b"a"), "it is not known");
        std::fs::write(scratch.path().join("new"), "").unwrap();
        assert!(!second.is_needed(&directory), "none were left");
        assert!(first.is_needed(&directory));
        assert_eq!(fresh(&mut first, &["a", "e"]), ["e"]);
        assert!(!first.is_needed(&directory), "nor for a name that came");
        assert_eq!((held_now(), first.names.capacity()), (0, 0), "while directories below are read");
        let mut third = Again::new(&directory, None, &held);
        third.fresh(few.batch());
        assert!(held_now() >= 4);
        drop(third);
        assert_eq!(held_now(), 0);
    }

    #[test]
    fn a_directory_without_room_for_hashes_releases_its_own() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = Dir::open(scratch.path()).unwrap();
        let held = Arc::new(AtomicUsize::new(NAMES_MAX - 10));
        let held_now = || held.load(Ordering::Relaxed) + 10 - NAMES_MAX;
        let few = batch(&["a", "b", "c", "d"]);
        let mut again = Again::new(&directory, None, &held);
        again.fresh(few.batch());
        again.fresh(few.batch());
        assert_eq!(held_now(), 8);
        again.fresh(few.batch());
        assert_eq!((held_now(), again.names.capacity()), (0, 0));
        again.fresh(few.batch());
        assert!(again.enters(b"a") && again.enters(b"a"));
        assert_eq!(held_now(), 0, "nor are others taken");
        std::fs::write(scratch.path().join("new"), "").unwrap();
        assert!(!again.is_needed(&directory));
    }

    #[test]
    fn a_look_in_which_the_hashes_run_out_has_the_names_that_were_seen() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = Dir::open(scratch.path()).unwrap();
        let held = Arc::new(AtomicUsize::new(NAMES_MAX - 4));
        let mut again = Again::new(&directory, None, &held);
        again.fresh(batch(&["a", "b", "c", "d"]).batch());
        std::fs::write(scratch.path().join("new"), "").unwrap();
        assert!(again.is_needed(&directory));
        assert_eq!(fresh(&mut again, &["e", "a"]), ["e"]);
        assert_eq!(fresh(&mut again, &["b", "f"]), ["f"]);
        assert!(!again.is_needed(&directory));
        assert_eq!(held.load(Ordering::Relaxed), NAMES_MAX - 4);
    }

    #[test]
    fn looks_at_a_directory_that_never_rests_come_to_an_end() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = Dir::open(scratch.path()).unwrap();
        let mut again = Again::new(&directory, None, &Arc::default());
        again.fresh(batch(&["first"]).batch());
        let mut looks = 0;
        std::fs::write(scratch.path().join("new"), "").unwrap();
        while again.is_needed(&directory) {
            looks += 1;
            let name = format!("new{looks}");
            std::fs::write(scratch.path().join(&name), "").unwrap();
            assert_eq!(fresh(&mut again, &[&name]), [name.as_str()]);
        }
        assert_eq!(looks, LOOKS_MAX);
    }

    #[test]
    fn names_that_differ_in_a_byte_or_in_length_have_other_hashes() {
        let mut hashes = HashSet::new();
        for index in 0..100_000 {
            for name in [
                format!("{index}"),
                format!("file-{index:09}.txt"),
                "a".repeat(1 + index % 255) + &index.to_string(),
            ] {
                hashes.insert(hash(name.as_bytes()));
            }
        }
        assert_eq!(hashes.len(), 300_000);
    }
}
