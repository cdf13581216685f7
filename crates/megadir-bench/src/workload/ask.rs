//! Asking for the attributes of some entries by name: open the directory, statx for each, close it.
//!
//! Which entries is drawn for every operation, each at most once, and their names are written out before the block starts, one after
//! the other in one buffer, as a program that has a list of names finds them. Where a block has more operations than the buffer has
//! names for, it goes through them again. Single questions are not timed: the arm is compared with listings, whose parts are not timed
//! either.

use std::ffi::CStr;

use megadir::Dir;
use megadir_record::{Counted, Presence};
use megadir_stats::permutation::{Permutation, SplitMix64};
use rustix::fs::{AtFlags, StatxFlags, statx};
use rustix::io::Errno;

use super::lookup::{NAMES_MAX, NameSource};
use super::{BlockKey, ListError, Signals, Workload};
use crate::measure::Stopwatch;

/// The most names of one operation: 64 MiB of 32 bytes each.
pub(crate) const FILES_MAX: u64 = 1 << 21;
/// Calls between two looks at whether the run is to end.
const STEP: u64 = 1024;
/// What is asked for, and how: as the library's examiner `statx` does for the same attributes.
const MASK: StatxFlags = StatxFlags::TYPE.union(StatxFlags::SIZE).union(StatxFlags::MTIME);
const FLAGS: AtFlags = AtFlags::SYMLINK_NOFOLLOW.union(AtFlags::NO_AUTOMOUNT).union(AtFlags::STATX_DONT_SYNC);

/// One arm's questions.
pub(super) struct Ask<'a> {
    files: u64,
    source: &'a NameSource,
    seed: u64,
    /// The names of the block, each with its NUL.
    names: Vec<u8>,
}

impl<'a> Ask<'a> {
    pub(super) fn new(files: u64, source: &'a NameSource, seed: u64) -> Self {
        Self { files, source, seed, names: Vec::new() }
    }

    /// Asks for the names at the beginning of `names`; returns how many were found, and the names after them.
    fn once<'n>(
        &self,
        directory: &Dir,
        mut names: &'n [u8],
        signals: Signals<'_>,
    ) -> Result<(u64, &'n [u8]), ListError> {
        let again = directory.reopen()?;
        let mut found = 0;
        for index in 0..self.files {
            if index % STEP == STEP - 1 {
                signals.check()?;
            }
            let Ok(name) = CStr::from_bytes_until_nul(names) else { break };
            names = names.get(name.count_bytes() + 1..).unwrap_or_default();
            match statx(&again, name, FLAGS, MASK) {
                Ok(status) => {
                    found += u64::from(StatxFlags::from_bits_retain(status.stx_mask).contains(MASK));
                }
                Err(Errno::NOENT) => {}
                Err(error) => return Err(ListError::Stage { stage: "statx", source: error.into() }),
            }
        }
        Ok((found, names))
    }
}

impl Workload for Ask<'_> {
    fn unavailable(&self, _directory: &Dir) -> Option<String> {
        let known = self.source.entries();
        if self.files > FILES_MAX {
            return Some(format!("names of at most {FILES_MAX} files are kept for one operation"));
        }
        (self.files > known).then(|| format!("only {known} names of the directory are known"))
    }

    fn ready(
        &mut self,
        _directory: &Dir,
        block: BlockKey,
        operations: u64,
        _signals: Signals<'_>,
    ) -> Result<(), ListError> {
        let mut random = SplitMix64::new(self.seed ^ block.number());
        let operations = operations.min((NAMES_MAX / self.files.max(1)).max(1));
        self.names.clear();
        for _ in 0..operations {
            let drawn = Permutation::new(self.source.entries(), random.next_u64());
            for index in (0..self.files).filter_map(|rank| drawn.get(rank)) {
                let name = self.source.name(Presence::Present, index, self.seed);
                self.names.extend_from_slice(name.as_bytes_with_nul());
            }
        }
        Ok(())
    }

    fn run(
        &mut self,
        directory: &Dir,
        operations: u64,
        _stopwatch: &mut Stopwatch,
        signals: Signals<'_>,
    ) -> Result<Counted, ListError> {
        let mut names: &[u8] = &self.names;
        super::same_work::repeat(operations, || {
            if names.is_empty() {
                names = &self.names;
            }
            let (found, rest) = self.once(directory, names, signals)?;
            names = rest;
            Ok(Counted { entries: found, hash: 0, calls: Some(found), written_bytes: 0 })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::time::Duration;

    use super::*;
    use crate::dataset::{NAME_BYTES_MAX, Names};
    use crate::measure::Calibration;
    use megadir_record::{NameScheme, Phase};

    const NAMES: Names = Names { scheme: NameScheme::Md5, seed: 3 };

    fn stopwatch() -> Stopwatch {
        Stopwatch::new(Calibration::over(Duration::from_millis(1)))
    }

    fn key(round: u32) -> BlockKey {
        BlockKey { phase: Phase::Measure, round, attempt: 0, distinct: false }
    }

    #[test]
    fn as_many_are_found_as_asked_for_and_those_that_are_missing_show() {
        let parent = tempfile::tempdir().unwrap();
        let mut buffer = [0; NAME_BYTES_MAX];
        for index in 0..500 {
            let name = String::from_utf8(NAMES.write(index, &mut buffer).to_vec()).unwrap();
            std::fs::write(parent.path().join(name), "").unwrap();
        }
        let (stop, beat) = (AtomicBool::new(false), AtomicU64::new(0));
        let signals = Signals { stop: &stop, beat: &beat };
        let directory = Dir::open(parent.path()).unwrap();
        let listed = NameSource::sample(&directory, 5, 1000, signals).unwrap();
        for source in [NameSource::Made { names: NAMES, entries: 500 }, listed] {
            for (files, operations) in [(1, 1), (7, 9000), (500, 3)] {
                let mut ask = Ask::new(files, &source, 9);
                assert_eq!(ask.unavailable(&directory), None);
                ask.ready(&directory, key(1), operations, signals).unwrap();
                let counted = ask.run(&directory, operations, &mut stopwatch(), signals).unwrap();
                assert_eq!((counted.entries, counted.hash), (files, 0), "{files} {operations}");
            }
            assert!(Ask::new(501, &source, 9).unavailable(&directory).unwrap().starts_with("only 500 names"));
        }
        let source = NameSource::Made { names: NAMES, entries: 501 };
        let mut ask = Ask::new(501, &source, 9);
        ask.ready(&directory, key(1), 1, signals).unwrap();
        assert_eq!(ask.run(&directory, 1, &mut stopwatch(), signals).unwrap().entries, 500);
    }

    #[test]
    fn every_operation_draws_names_of_its_own_each_once() {
        let source = NameSource::Made { names: NAMES, entries: 10_000 };
        let mut ask = Ask::new(1000, &source, 9);
        let (stop, beat) = (AtomicBool::new(false), AtomicU64::new(0));
        let signals = Signals { stop: &stop, beat: &beat };
        let directory = Dir::open(".").unwrap();
        let names = |ask: &mut Ask<'_>, round, operations| -> Vec<Vec<u8>> {
            ask.ready(&directory, key(round), operations, signals).unwrap();
            ask.names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()
        };
        let first = names(&mut ask, 1, 3);
        assert_eq!(first.len(), 3000);
        for operation in first.chunks(1000) {
            assert_eq!(operation.iter().collect::<HashSet<_>>().len(), 1000);
        }
        assert_ne!(first[..1000], first[1000..2000]);
        assert_eq!(names(&mut ask, 1, 3), first);
        assert_ne!(names(&mut ask, 2, 3), first);
        // The buffer is bounded, whatever a block repeats.
        assert_eq!(names(&mut ask, 1, 1 << 16).len(), 4000);
    }
}
