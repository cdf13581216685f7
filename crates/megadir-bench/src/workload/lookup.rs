//! Look-ups: does a name exist? One `fstatat` an operation, relative to the directory, no symbolic link followed.
//!
//! The names of a block are drawn and written out before it starts, at most [`NAMES_MAX`] of them; a longer block
//! goes through them again. Only any absent name is another one for every operation: the system answers the second question
//! about one from what it keeps in mind (negative entries), not from the directory. Present names are drawn from those of the data set; absent ones are names that the
//! scheme gives for indices that were not made, so that both have the same length and the same randomness.

use std::collections::HashSet;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd};

use megadir::{Dir, Listing as Entries};
use megadir_record::{Counted, Keys, NameScheme, Presence};
use megadir_stats::permutation::{Permutation, SplitMix64};
use rand_distr::{Distribution, Zipf};
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use super::{BlockKey, ListError, Signals, Workload};
use crate::dataset::{NAME_BYTES_MAX, Names};
use crate::measure::{Operation, Stopwatch};

/// The most names that a block has: 4096 of 32 bytes and their pointers fit into a second-level cache.
pub(super) const NAMES_MAX: u64 = 4096;
/// Any name that is absent is one of so many, which a run asks for a small part of: 2^38, for which all schemes have room.
pub(crate) const ABSENT_NAMES: u64 = 1 << 38;
/// Names that are kept of a directory that was there already, unless some arm asks for more at once.
pub(crate) const SAMPLE_MAX: usize = 65_536;

/// Where the names of a data set come from.
#[derive(Debug)]
pub(crate) enum NameSource {
    /// Computed: those of the indices below `entries` were made.
    Made {
        /// How.
        names: Names,
        /// How many were made.
        entries: u64,
    },
    /// Drawn from those that were listed, each as likely.
    Listed(Vec<CString>),
}

impl NameSource {
    /// Draws at most so many names of a directory that was there already, by reservoir sampling (Vitter's algorithm R).
    pub(crate) fn sample(
        directory: &Dir,
        seed: u64,
        at_most: usize,
        signals: Signals<'_>,
    ) -> Result<Self, ListError> {
        let mut random = SplitMix64::new(seed);
        let (mut kept, mut seen) = (Vec::new(), 0_u64);
        let mut listing = Entries::open(directory.path())?;
        while let Some(batch) = listing.next_batch()? {
            signals.check()?;
            for entry in batch.entries() {
                seen += 1;
                // A name of a directory has no NUL.
                let Ok(name) = CString::new(entry.name) else { continue };
                if kept.len() < at_most {
                    kept.push(name);
                } else if let Some(place) = kept.get_mut(random.below(seen).unwrap_or(0) as usize) {
                    *place = name;
                }
            }
        }
        Ok(Self::Listed(kept))
    }

    /// Returns how names are computed, where they are; as in the published studies elsewhere.
    pub(super) fn scheme(&self) -> NameScheme {
        match self {
            Self::Made { names, .. } => names.scheme,
            Self::Listed(_) => NameScheme::Md5,
        }
    }

    /// Returns the present names there are to draw from.
    pub(super) fn entries(&self) -> u64 {
        match self {
            Self::Made { entries, .. } => *entries,
            Self::Listed(kept) => kept.len() as u64,
        }
    }

    pub(super) fn name(&self, presence: Presence, index: u64, seed: u64) -> CString {
        let computed = |names: Names, index| {
            let mut buffer = [0; NAME_BYTES_MAX];
            CString::new(names.write(index, &mut buffer)).unwrap_or_default()
        };
        match (self, presence) {
            (Self::Made { names, .. }, Presence::Present) => computed(*names, index),
            (Self::Made { names, entries }, Presence::Absent) => computed(*names, entries + index),
            (Self::Listed(kept), Presence::Present) => kept.get(index as usize).cloned().unwrap_or_default(),
            (Self::Listed(_), Presence::Absent) => {
                computed(Names { scheme: NameScheme::Md5, seed: seed ^ 0x6162_7365_6e74 }, index)
            }
        }
    }
}

/// One arm's look-ups.
pub(super) struct Lookup<'a> {
    presence: Presence,
    keys: Keys,
    source: &'a NameSource,
    seed: u64,
    names: Vec<CString>,
    /// Blocks made ready so far.
    blocks: u64,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(presence: Presence, keys: Keys, source: &'a NameSource, seed: u64) -> Self {
        Self { presence, keys, source, seed, names: Vec::new(), blocks: 0 }
    }

    /// Returns the indices of a block's names.
    fn draw(&self, block: BlockKey, count: u64) -> Vec<u64> {
        let entries = self.source.entries().max(1);
        let mut random = SplitMix64::new(self.seed ^ block.number());
        // Which names are popular, or the one, is the same in all blocks and nothing to do with their age.
        let shuffled = Permutation::new(entries, self.seed);
        let at = |rank| shuffled.get(rank).unwrap_or(0);
        match self.keys {
            Keys::Fixed => vec![at(0)],
            Keys::Random if self.presence == Presence::Absent => {
                // The system keeps in mind which names were not there: one that was asked for is no longer any name.
                let mut fresh = SplitMix64::new(random.next_u64() ^ self.blocks.rotate_left(32));
                (0..count).map(|_| entries + fresh.below(ABSENT_NAMES).unwrap_or(0)).collect()
            }
            // The first so many ranks of a shuffling of the block's own.
            Keys::Random if block.distinct => {
                let own = Permutation::new(entries, random.next_u64());
                (0..count.min(entries)).map(|rank| own.get(rank).unwrap_or(0)).collect()
            }
            Keys::Random => (0..count).map(|_| random.below(entries).unwrap_or(0)).collect(),
            Keys::Zipf => {
                let Ok(zipf) = Zipf::new(entries as f64, 1.0) else { return vec![at(0)] };
                let mut random = Source(random);
                let rank = |_| (zipf.sample(&mut random) as u64).clamp(1, entries) - 1;
                if block.distinct {
                    let mut seen = HashSet::new();
                    let ranks = std::iter::repeat(0).map(rank).filter(|rank| seen.insert(*rank));
                    return ranks.take(count.min(entries) as usize).map(at).collect();
                }
                (0..count).map(rank).map(at).collect()
            }
        }
    }
}

impl Workload for Lookup<'_> {
    fn unavailable(&self, _directory: &Dir) -> Option<String> {
        let none = self.presence == Presence::Present && self.source.entries() == 0;
        none.then(|| "there is no name to ask for".to_owned())
    }

    fn ready(
        &mut self,
        _directory: &Dir,
        block: BlockKey,
        operations: u64,
        _signals: Signals<'_>,
    ) -> Result<(), ListError> {
        let anew = self.presence == Presence::Absent && self.keys == Keys::Random;
        self.blocks += 1;
        let indices = self.draw(block, if anew { operations } else { operations.min(NAMES_MAX) });
        let name = |index| self.source.name(self.presence, index, self.seed);
        self.names = indices.into_iter().map(name).collect();
        Ok(())
    }

    fn run(
        &mut self,
        directory: &Dir,
        operations: u64,
        stopwatch: &mut Stopwatch,
        signals: Signals<'_>,
    ) -> Result<Counted, ListError> {
        let mut ask = Ask { directory: directory.as_fd(), names: &self.names, next: 0, signals };
        let found = stopwatch.time(&mut ask, operations)?;
        let all = found == operations;
        let mixed = if all { 0 } else { found };
        Ok(Counted { entries: u64::from(all), hash: mixed, calls: Some(1), written_bytes: 0 })
    }
}

/// One look-up after the other, of the names of a block.
struct Ask<'a> {
    directory: BorrowedFd<'a>,
    names: &'a [CString],
    next: usize,
    signals: Signals<'a>,
}

impl Operation for Ask<'_> {
    type Error = ListError;

    /// Returns 1 for a name that exists.
    #[inline]
    fn run(&mut self, _index: u64) -> Result<u64, ListError> {
        // A division would take longer than the rest of what is done here.
        if self.next == self.names.len() {
            self.next = 0;
        }
        let name = &self.names[self.next];
        self.next += 1;
        match statat(self.directory, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(1),
            Err(Errno::NOENT) => Ok(0),
            Err(error) => Err(ListError::Stage { stage: "fstatat", source: error.into() }),
        }
    }

    fn between(&mut self) -> Result<(), ListError> {
        self.signals.check()
    }
}

/// The generator of the plan's randomness as the library of distributions takes it.
struct Source(SplitMix64);

impl rand_core::TryRng for Source {
    type Error = rand_core::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok((self.0.next_u64() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.0.next_u64().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use megadir_record::Phase;
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::time::Duration;

    use crate::measure::Calibration;

    const NAMES: Names = Names { scheme: NameScheme::Md5, seed: 3 };

    fn key(round: u32) -> BlockKey {
        BlockKey { phase: Phase::Measure, round, attempt: 0, distinct: false }
    }

    fn made(entries: u64) -> NameSource {
        NameSource::Made { names: NAMES, entries }
    }

    #[test]
    fn present_names_are_found_and_absent_ones_are_not() {
        let parent = tempfile::tempdir().unwrap();
        let mut buffer = [0; NAME_BYTES_MAX];
        for index in 0..300 {
            let name = String::from_utf8(NAMES.write(index, &mut buffer).to_vec()).unwrap();
            std::fs::write(parent.path().join(name), "").unwrap();
        }
        let (stop, beat) = (AtomicBool::new(false), AtomicU64::new(0));
        let signals = Signals { stop: &stop, beat: &beat };
        let directory = Dir::open(parent.path()).unwrap();
        let listed = NameSource::sample(&directory, 5, SAMPLE_MAX, signals).unwrap();
        let mut stopwatch = Stopwatch::new(Calibration::over(Duration::from_millis(1)));
        for source in [made(300), listed] {
            for presence in [Presence::Present, Presence::Absent] {
                for keys in [Keys::Fixed, Keys::Random, Keys::Zipf] {
                    let mut lookup = Lookup::new(presence, keys, &source, 9);
                    lookup.ready(&directory, key(1), 5000, signals).unwrap();
                    let counted = lookup.run(&directory, 5000, &mut stopwatch, signals).unwrap();
                    let found = u64::from(presence == Presence::Present);
                    assert_eq!((counted.entries, counted.hash), (found, 0), "{presence:?} {keys:?}");
                    assert_eq!(stopwatch.latency().unwrap().operations(), 5000);
                    stopwatch.clear();
                }
            }
        }
        // A file that is missing shows: 301 were made, it is said, and there are 300.
        let source = made(301);
        let mut lookup = Lookup::new(Presence::Present, Keys::Random, &source, 9);
        lookup.ready(&directory, key(1), 4096, signals).unwrap();
        let counted = lookup.run(&directory, 4096, &mut stopwatch, signals).unwrap();
        assert_eq!(counted.entries, 0);
        assert!(counted.hash > 3900, "{}", counted.hash);
    }

    #[test]
    fn a_block_allocates_nothing() {
        let parent = tempfile::tempdir().unwrap();
        std::fs::write(parent.path().join("here"), "").unwrap();
        let (stop, beat) = (AtomicBool::new(false), AtomicU64::new(0));
        let signals = Signals { stop: &stop, beat: &beat };
        let directory = Dir::open(parent.path()).unwrap();
        let mut stopwatch = Stopwatch::new(Calibration::over(Duration::from_millis(1)));
        for (presence, source) in
            [(Presence::Present, NameSource::Listed(vec![c"here".into()])), (Presence::Absent, made(1000))]
        {
            let mut lookup = Lookup::new(presence, Keys::Random, &source, 9);
            let mut allocated = Vec::new();
            for operations in [1, 20_000] {
                lookup.ready(&directory, key(1), operations, signals).unwrap();
                stopwatch.clear();
                let counted = allocation_counter::measure(|| {
                    lookup.run(&directory, operations, &mut stopwatch, signals).unwrap();
                });
                allocated.push(counted.count_total);
            }
            assert_eq!(allocated, [0, 0], "{presence:?}");
        }
        // What is counted can be counted.
        assert!(allocation_counter::measure(|| drop(std::hint::black_box(vec![0_u8; 9]))).count_total > 0);
    }

    #[test]
    fn blocks_draw_their_own_names_and_the_same_ones_again() {
        let source = made(1_000_000);
        let lookup = Lookup::new(Presence::Present, Keys::Random, &source, 9);
        assert_eq!(lookup.draw(key(1), 100), lookup.draw(key(1), 100));
        assert_ne!(lookup.draw(key(1), 100), lookup.draw(key(2), 100));
        let all: HashSet<u64> = (0..40).flat_map(|round| lookup.draw(key(round), 1000)).collect();
        // 40 000 draws of 1 000 000 hit 39 211 different ones in the mean, with a deviation of 28.
        assert!((39_000..39_400).contains(&all.len()), "{}", all.len());
        let fixed = Lookup::new(Presence::Absent, Keys::Fixed, &source, 9);
        assert_eq!(fixed.draw(key(1), 100), fixed.draw(key(7), 100));
    }

    #[test]
    fn after_a_drop_no_name_is_asked_for_twice() {
        let source = made(5000);
        for keys in [Keys::Random, Keys::Zipf] {
            let lookup = Lookup::new(Presence::Present, keys, &source, 9);
            let cold = |round| lookup.draw(BlockKey { distinct: true, ..key(round) }, 50);
            let names: HashSet<u64> = cold(1).into_iter().collect();
            assert!(names.len() == 50 && names.iter().all(|index| *index < 5000), "{keys:?}");
            assert_eq!(cold(1), cold(1));
            assert_ne!(cold(1), cold(2));
        }
        let one = made(1);
        for keys in [Keys::Fixed, Keys::Random, Keys::Zipf] {
            let lookup = Lookup::new(Presence::Present, keys, &one, 9);
            assert_eq!(lookup.draw(BlockKey { distinct: true, ..key(1) }, 1), [0], "{keys:?}");
        }
    }

    #[test]
    fn popular_names_are_popular() {
        let source = made(1000);
        let lookup = Lookup::new(Presence::Present, Keys::Zipf, &source, 9);
        let mut counts: HashMap<u64, u64> = HashMap::new();
        for index in (0..50).flat_map(|round| lookup.draw(key(round), 2000)) {
            assert!(index < 1000);
            *counts.entry(index).or_default() += 1;
        }
        let mut counts: Vec<u64> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // 100 000 draws; the harmonic number of 1000 is 7.4855, so the first has 13 360 in the mean, the tenth 1336.
        assert!((12_800..13_900).contains(&counts[0]), "{}", counts[0]);
        assert!((1150..1550).contains(&counts[9]), "{}", counts[9]);
    }
}
