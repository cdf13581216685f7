//! Further looks at a directory that changed while it was read. A listing lacks names that were renamed from a part that was not
//! read yet to one that was, and on btrfs and tmpfs names that were replaced by rename.

use std::time::{Duration, SystemTime};

use crate::attributes::{StatMask, Time};
use crate::batch::{Batch, BatchBuilder};
use crate::dir::Dir;

/// Larger directories are looked at once, so that the hashes of a directory take at most 32 MB.
const NAMES_MAX: usize = 4 << 20;
/// Each look lists names, and examines only those that are new; the first without a new name is the last.
const LOOKS_MAX: u32 = 5;
/// Clocks of file systems tick in steps of up to 10 ms, so that a second change within a step leaves the time as it is.
const STEP: Duration = Duration::from_millis(20);

/// Names of a directory that were seen, and its time of change.
#[derive(Debug)]
pub(super) struct Again {
    changed: Option<Time>,
    /// Hashes; the first `sorted` are in order. The probability that a name is left out because two of four million are equal is 1 in
    /// a million.
    names: Vec<u64>,
    sorted: usize,
    looks: u32,
    found_new: bool,
}

impl Again {
    /// `changed` is the directory's time of change before it is read, if that is known.
    pub(super) fn new(directory: &Dir, changed: Option<Time>) -> Self {
        let changed = changed.or_else(|| time_of_change(directory));
        Self { changed, names: Vec::new(), sorted: 0, looks: 0, found_new: false }
    }

    /// Entries that no earlier look has returned; `None` in the first look, in which all are new.
    pub(super) fn fresh(&mut self, batch: Batch<'_>) -> Option<BatchBuilder> {
        let hashes = batch.entries().map(|entry| hash(entry.name));
        if self.looks == 0 {
            if self.names.len() <= NAMES_MAX {
                self.names.extend(hashes);
            }
            return None;
        }
        let mut fresh = BatchBuilder::new(0, false);
        for (entry, hash) in batch.entries().zip(hashes) {
            if self.names[..self.sorted].binary_search(&hash).is_err() {
                self.names.push(hash);
                fresh.push(entry.name, entry.inode, entry.kind, 0);
            }
        }
        self.found_new |= !fresh.is_empty();
        Some(fresh)
    }

    /// At the end of a look: `true` if the directory changed meanwhile, so that it is to be listed again.
    pub(super) fn is_needed(&mut self, directory: &Dir) -> bool {
        let is_last = self.looks > 0 && !self.found_new || self.looks == LOOKS_MAX;
        if is_last || self.names.len() > NAMES_MAX {
            return false;
        }
        let changed = time_of_change(directory);
        if changed == std::mem::replace(&mut self.changed, changed) && !changed.is_some_and(is_just_now) {
            return false;
        }
        self.names.sort_unstable();
        (self.sorted, self.looks, self.found_new) = (self.names.len(), self.looks + 1, false);
        true
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

    use super::{Again, hash};
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
        let mut again = Again::new(&directory, None);
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
        assert!(!Again::new(&directory, None).is_needed(&directory));
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
