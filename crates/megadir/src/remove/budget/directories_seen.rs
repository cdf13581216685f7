//! Directories that the first pass has read: the removal enters no other one, such as one that was moved into the tree since, whose files
//! look as old as they are.
//!
//! A Bloom filter: bounded memory for any number of directories, and no directory that was read is missing from it. With the memory of
//! [`SelectOptions::new`](super::SelectOptions::new), another directory passes for one that was read with a probability of 1 in 80 000
//! after a million directories, of 0.2 % after four million, and of 4 % after ten million.

use std::hash::{BuildHasher, RandomState};

use crate::remove::progress::FileId;

const HASHES: u64 = 4;

#[derive(Debug)]
pub(super) struct DirectoriesSeen {
    words: Vec<u64>,
    keys: RandomState,
}

impl DirectoriesSeen {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { words: vec![0; (bytes_max / size_of::<u64>()).max(1)], keys: RandomState::new() }
    }

    fn bits(&self, id: FileId) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (hash, bits) = (self.keys.hash_one(id), self.words.len() as u64 * 64);
        let step = hash.rotate_left(32) | 1;
        (0..HASHES).map(move |index| {
            let bit = hash.wrapping_add(step.wrapping_mul(index)) % bits;
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    pub(super) fn see(&mut self, id: FileId) {
        for (word, bit) in self.bits(id) {
            self.words[word] |= bit;
        }
    }

    pub(super) fn has(&self, id: FileId) -> bool {
        self.bits(id).all(|(word, bit)| self.words[word] & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::DirectoriesSeen;

    #[test]
    fn directories_that_were_read_are_known_and_hardly_any_other() {
        let mut seen = DirectoriesSeen::new(1 << 20);
        let id = |inode| ((8, 1), inode);
        (0..100_000).for_each(|inode| seen.see(id(inode)));
        assert!((0..100_000).all(|inode| seen.has(id(inode))));
        let wrong = (100_000..200_000).filter(|inode| seen.has(id(*inode))).count();
        assert!(wrong < 3_000, "{wrong} of 100 000");
        assert_eq!(seen.words.len() * 8, 1 << 20);
    }
}
