//! Attributes of some entries by name: openat, one statx per file, close; on Windows one call by whole path per
//! file. Entries are drawn without repetition, and names written before the block. Single calls are not timed,
//! because the compared listings do not time them either.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

use megadir::Dir;
use megadir_record::{Counted, Presence};
use megadir_stats::permutation::{Permutation, SplitMix64};

use crate::control::{RunControl, WorkError};
use crate::kind::lookup::{NAMES_MAX, NameSource};
use crate::kind::{BlockKey, Workload};
use crate::measure::Stopwatch;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

/// Maximum number of names of one operation: 64 MiB of 32 bytes each.
pub(crate) const FILES_MAX: u64 = 1 << 21;
/// Calls between two checks for cancellation.
const STEP: u64 = 1024;

pub(crate) struct Ask<'a> {
    files: u64,
    source: &'a NameSource,
    seed: u64,
    names: Vec<system::Unit>,
    ground: system::Ground,
}

impl<'a> Ask<'a> {
    pub(crate) fn new(files: u64, source: &'a NameSource, seed: u64) -> Self {
        Self { files, source, seed, names: Vec::new(), ground: system::Ground::default() }
    }
}

/// Reads the attributes for the first `files` names; returns the number found, and the remaining names.
fn once<'n>(
    files: u64,
    directory: &Dir,
    ground: &mut system::Ground,
    mut names: &'n [system::Unit],
    control: RunControl<'_>,
) -> Result<(u64, &'n [system::Unit]), WorkError> {
    let mut asker = system::Asker::open(directory, ground)?;
    let mut found = 0;
    for index in 0..files {
        if index % STEP == STEP - 1 {
            control.check()?;
        }
        let Some((is_found, rest)) = asker.ask(names)? else { break };
        found += u64::from(is_found);
        names = rest;
    }
    Ok((found, names))
}

impl Workload for Ask<'_> {
    fn unavailable(&self, _directory: &Dir) -> Option<String> {
        let known = self.source.entries();
        if self.files > FILES_MAX {
            return Some(format!("one operation takes the names of at most {FILES_MAX} files"));
        }
        (self.files > known).then(|| format!("only {known} names in the directory are known"))
    }

    fn setup(
        &mut self,
        directory: &Dir,
        block: BlockKey,
        operations: u64,
        _signals: RunControl<'_>,
    ) -> Result<(), WorkError> {
        let mut random = SplitMix64::new(self.seed ^ block.number());
        let operations = operations.min((NAMES_MAX / self.files.max(1)).max(1));
        self.names.clear();
        self.ground = system::ground(directory)?;
        for _ in 0..operations {
            let drawn = Permutation::new(self.source.entries(), random.next_u64());
            for index in (0..self.files).filter_map(|rank| drawn.get(rank)) {
                let name = self.source.name(Presence::Present, index, self.seed);
                system::push(&mut self.names, &name)?;
            }
        }
        Ok(())
    }

    fn run(
        &mut self,
        directory: &Dir,
        operations: u64,
        _stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<Counted, WorkError> {
        let Self { files, ground, names: all, .. } = self;
        let mut names: &[system::Unit] = all;
        crate::kind::work_hash::repeat(operations, || {
            if names.is_empty() {
                names = all;
            }
            let (found, rest) = once(*files, directory, ground, names, control)?;
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
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let directory = Dir::open(parent.path()).unwrap();
        let listed = NameSource::sample(&directory, 5, 1000, control).unwrap();
        for source in [NameSource::Made { names: NAMES, entries: 500 }, listed] {
            for (files, operations) in [(1, 1), (7, 9000), (500, 3)] {
                let mut ask = Ask::new(files, &source, 9);
                assert_eq!(ask.unavailable(&directory), None);
                ask.setup(&directory, key(1), operations, control).unwrap();
                let counted = ask.run(&directory, operations, &mut stopwatch(), control).unwrap();
                assert_eq!((counted.entries, counted.hash), (files, 0), "{files} {operations}");
            }
            assert!(Ask::new(501, &source, 9).unavailable(&directory).unwrap().starts_with("only 500 names"));
        }
        let source = NameSource::Made { names: NAMES, entries: 501 };
        let mut ask = Ask::new(501, &source, 9);
        ask.setup(&directory, key(1), 1, control).unwrap();
        assert_eq!(ask.run(&directory, 1, &mut stopwatch(), control).unwrap().entries, 500);
    }

    #[test]
    fn every_operation_draws_names_of_its_own_each_once() {
        let source = NameSource::Made { names: NAMES, entries: 10_000 };
        let mut ask = Ask::new(1000, &source, 9);
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let directory = Dir::open(".").unwrap();
        let names = |ask: &mut Ask<'_>, round, operations| -> Vec<Vec<system::Unit>> {
            ask.setup(&directory, key(round), operations, control).unwrap();
            ask.names.split(|unit| *unit == 0).filter(|name| !name.is_empty()).map(<[_]>::to_vec).collect()
        };
        let first = names(&mut ask, 1, 3);
        assert_eq!(first.len(), 3000);
        for operation in first.chunks(1000) {
            assert_eq!(operation.iter().collect::<HashSet<_>>().len(), 1000);
        }
        assert_ne!(first[..1000], first[1000..2000]);
        assert_eq!(names(&mut ask, 1, 3), first);
        assert_ne!(names(&mut ask, 2, 3), first);
        // The buffer is bounded, however many operations a block repeats.
        assert_eq!(names(&mut ask, 1, 1 << 16).len(), 4000);
    }
}
