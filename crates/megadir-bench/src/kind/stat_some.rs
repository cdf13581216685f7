//! Reading the attributes of some of a directory's files by name, compared with listing all of them.
//!
//! ```text
//!  time |            / asking for k files
//!       |          /
//!       |--------x---------- listing all, with attributes
//!       |      / |
//!       +-----------------> k / n
//!                break-even share, found by the report
//! ```
//!
//! A program that must check some of its files has this choice. Names are drawn at random for each
//! operation, as from a list that is independent of the directory's order.

use megadir::Dir;
use megadir_record::{ArmId, BreakEvenArms, Counted, Group, GroupRule, Presence, Work};
use megadir_stats::permutation::{Permutation, SplitMix64};
use serde::Deserialize;

use crate::control::Result;
use crate::kind::arms::Arms;
use crate::kind::cost::{BLOCK_NS, STAT_NS};
use crate::kind::lookup::{NAMES_MAX, NameSource, SAMPLE_MAX};
use crate::kind::stat_all::{available, work_of};
use crate::kind::{Traits, WorkBlock, Workload, repeat};
use crate::measure::Stopwatch;
use crate::method::method_named;
use crate::request::{PlanError, Request};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

/// `[ask]` of a study: shares of the files to ask for, and methods of listing to compare with.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatSomeSpec {
    pub title: String,
    pub list: Vec<String>,
    /// Ascending, at most 1.
    pub shares: Vec<f64>,
}

impl StatSomeSpec {
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.list.is_empty() {
            return Some("ask.list needs at least one method".into());
        }
        let shares = &self.shares;
        let bounds = shares.first().is_some_and(|first| *first > 0.0)
            && shares.last().is_some_and(|last| *last <= 1.0);
        if !(bounds && shares.is_sorted_by(|a, b| a < b)) {
            return Some("ask.shares must ascend from above 0 to at most 1".into());
        }
        self.list.iter().find_map(|name| method_named(name).err())
    }
}

pub(crate) fn traits(files: u64) -> Traits {
    let names = (files.min(FILES_MAX) as usize).max(SAMPLE_MAX);
    Traits { block_ns: BLOCK_NS + files * STAT_NS, cold_operations: Some(1), names: Some(names) }
}

const GROUP: &str = "break-even";

/// For each size, arms that ask for a growing share of the files, and arms that list all of them. The listing
/// of the largest size is the baseline of the whole study. The names are drawn
/// at random, as a program would ask for them.
pub(crate) fn break_even(
    spec: &StatSomeSpec,
    request: &Request<'_>,
    arms: &mut Arms<'_>,
) -> Result<(), PlanError> {
    let names: Vec<&str> = spec.list.iter().map(String::as_str).collect();
    let facts = available(&names, request, arms)?.into_iter();
    let lists: Vec<(&str, Work)> = facts.map(|fact| (fact.method.name, work_of(fact))).collect();
    let sets = arms.ascending();
    let mut series = Vec::new();
    for &(entries, data) in &sets {
        let stat_some: Vec<ArmId> = counts(&spec.shares, entries)
            .into_iter()
            .map(|files| arms.arm(GROUP, data, &Work::StatSome { files }))
            .collect();
        let largest = Some(&(entries, data)) == sets.last();
        for (place, (name, work)) in lists.iter().enumerate() {
            let list = if largest && place == 0 {
                let baseline = arms.baseline(data, work.clone());
                arms.join_baseline(baseline, GROUP);
                baseline
            } else {
                arms.arm(GROUP, data, work)
            };
            series.push(BreakEvenArms { name: name_of(name, work), list, stat_some: stat_some.clone() });
        }
    }
    let rule = GroupRule::BreakEven { series };
    arms.groups.push(Group::new(GROUP, &spec.title, true, rule));
    Ok(())
}

fn name_of(name: &str, work: &Work) -> String {
    match work {
        Work::Attributes { threads, .. } if *threads > 1 => format!("{name}, {threads} threads"),
        _ => name.to_owned(),
    }
}

/// Numbers of files for the shares; in small directories several shares are one number, and one arm.
fn counts(shares: &[f64], entries: u64) -> Vec<u64> {
    let count = |share: &f64| ((entries as f64 * share).round() as u64).clamp(1, entries.max(1));
    let mut counts: Vec<u64> = shares.iter().map(count).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Maximum number of names of one operation: 64 MiB of 32 bytes each.
const FILES_MAX: u64 = 1 << 21;
const STEP: u64 = 1024;

/// `names` are drawn before the block, and only the queries of them are timed. `ground` is what a query needs in addition to the name on this system.
pub(crate) struct StatSome<'a> {
    files: u64,
    source: &'a NameSource,
    seed: u64,
    names: Vec<system::Unit>,
    ground: system::Ground,
}

impl<'a> StatSome<'a> {
    pub(crate) fn new(files: u64, source: &'a NameSource, seed: u64) -> Self {
        Self { files, source, seed, names: Vec::new(), ground: system::Ground::default() }
    }
}

impl Workload for StatSome<'_> {
    fn unavailable(&self, _directory: &Dir) -> Option<String> {
        let known = self.source.entries();
        if self.files > FILES_MAX {
            return Some(format!("one operation takes the names of at most {FILES_MAX} files"));
        }
        (self.files > known).then(|| format!("only {known} names in the directory are known"))
    }

    fn setup(&mut self, block: &WorkBlock<'_>) -> Result<()> {
        let mut random = SplitMix64::new(self.seed ^ block.key.number());
        let operations = block.operations.min((NAMES_MAX / self.files.max(1)).max(1));
        self.names.clear();
        self.ground = system::ground(block.directory)?;
        for _ in 0..operations {
            let drawn = Permutation::new(self.source.entries(), random.next_u64());
            for index in (0..self.files).filter_map(|rank| drawn.get(rank)) {
                system::push(&mut self.names, &self.source.name(Presence::Present, index, self.seed))?;
            }
        }
        Ok(())
    }

    fn run(&mut self, block: &WorkBlock<'_>, _stopwatch: &mut Stopwatch) -> Result<Counted> {
        let Self { files, ground, names: all, .. } = self;
        let mut names: &[system::Unit] = all;
        repeat(block.operations, || {
            if names.is_empty() {
                names = all;
            }
            let mut asker = system::Asker::open(block.directory, ground)?;
            let mut found = 0;
            for index in 0..*files {
                if index % STEP == STEP - 1 {
                    block.control.check()?;
                }
                let Some((is_found, rest)) = asker.stat_next(names)? else { break };
                found += u64::from(is_found);
                names = rest;
            }
            Ok(Counted { entries: found, hash: 0, calls: Some(found), written_bytes: 0 })
        })
    }
}

#[cfg(target_os = "linux")]
mod linux {
    //! Linux: open the directory, one statx per file, close it.

    use std::ffi::CStr;
    use std::os::fd::OwnedFd;

    use megadir::Dir;
    use rustix::fs::{AtFlags, StatxFlags, statx};
    use rustix::io::Errno;

    use crate::control::{Result, WorkError};

    pub(crate) type Unit = u8;
    pub(crate) type Ground = ();

    const MASK: StatxFlags = StatxFlags::TYPE.union(StatxFlags::SIZE).union(StatxFlags::MTIME);
    const FLAGS: AtFlags =
        AtFlags::SYMLINK_NOFOLLOW.union(AtFlags::NO_AUTOMOUNT).union(AtFlags::STATX_DONT_SYNC);

    pub(crate) fn ground(_directory: &Dir) -> Result<Ground> {
        Ok(())
    }

    pub(crate) fn push(names: &mut Vec<Unit>, name: &CStr) -> Result<()> {
        names.extend_from_slice(name.to_bytes_with_nul());
        Ok(())
    }

    pub(crate) struct Asker {
        directory: OwnedFd,
    }

    impl Asker {
        pub(crate) fn open(directory: &Dir, _ground: &mut Ground) -> Result<Self> {
            Ok(Self { directory: directory.reopen()? })
        }

        /// `true` if all attributes of the first name were reported; `None` without a name.
        #[inline]
        pub(crate) fn stat_next<'n>(&mut self, names: &'n [Unit]) -> Result<Option<(bool, &'n [Unit])>> {
            let Ok(name) = CStr::from_bytes_until_nul(names) else { return Ok(None) };
            let found = match statx(&self.directory, name, FLAGS, MASK) {
                Ok(status) => StatxFlags::from_bits_retain(status.stx_mask).contains(MASK),
                Err(Errno::NOENT) => false,
                Err(error) => return Err(WorkError::Stage { stage: "statx", source: error.into() }),
            };
            Ok(Some((found, names.get(name.count_bytes() + 1..).unwrap_or_default())))
        }
    }
}

#[cfg(windows)]
mod windows {
    //! Windows: `GetFileAttributesExW` with the whole path, which leaves no handle to close.

    use std::ffi::CStr;
    use std::os::windows::ffi::OsStrExt;

    use megadir::Dir;
    use megadir_sys::windows::facts;

    use crate::control::{Result, WorkError};
    use crate::os;

    pub(crate) type Unit = u16;
    /// The directory's path with `\` at its end, and space for a name.
    pub(crate) type Ground = Vec<u16>;

    const STAGE: &str = "GetFileAttributesExW";
    /// Includes the NUL, UTF-16 units.
    const NAME_UNITS_MAX: usize = 256;

    pub(crate) fn ground(directory: &Dir) -> Result<Ground> {
        let mut path: Ground = directory.present_path()?.as_os_str().encode_wide().collect();
        path.push(u16::from(b'\\'));
        path.reserve(NAME_UNITS_MAX);
        Ok(path)
    }

    pub(crate) fn push(names: &mut Vec<Unit>, name: &CStr) -> Result<()> {
        let invalid =
            || WorkError::Stage { stage: STAGE, source: std::io::ErrorKind::InvalidFilename.into() };
        names.extend(megadir::names::to_wide(name.to_bytes()).ok_or_else(invalid)?);
        names.push(0);
        Ok(())
    }

    pub(crate) struct Asker<'g> {
        path: &'g mut Ground,
    }

    impl<'g> Asker<'g> {
        pub(crate) fn open(_directory: &Dir, ground: &'g mut Ground) -> Result<Self> {
            Ok(Self { path: ground })
        }

        #[inline]
        pub(crate) fn stat_next<'n>(&mut self, names: &'n [Unit]) -> Result<Option<(bool, &'n [Unit])>> {
            let Some(end) = names.iter().position(|unit| *unit == 0) else { return Ok(None) };
            let (name, rest) = names.split_at(end + 1);
            self.path.extend_from_slice(name);
            let found = os::if_file_there(facts::of_terminated(self.path));
            self.path.truncate(self.path.len() - name.len());
            Ok(Some((found.map_err(WorkError::at(STAGE))?.is_some(), rest)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::time::Duration;

    use megadir_record::{NameScheme, Phase};

    use super::*;
    use crate::control::RunControl;
    use crate::dataset::{NAME_BYTES_MAX, Names};
    use crate::kind::BlockKey;
    use crate::measure::Calibration;

    #[test]
    fn shares_become_numbers_of_files_each_once() {
        let shares = [0.001, 0.003, 0.01, 0.1, 1.0];
        assert_eq!(counts(&shares, 100_000), [100, 300, 1000, 10_000, 100_000]);
        assert_eq!(counts(&shares, 100), [1, 10, 100]);
        assert_eq!(counts(&shares, 1), [1]);
    }

    const NAMES: Names = Names { scheme: NameScheme::Md5, seed: 3 };

    fn stopwatch() -> Stopwatch {
        Stopwatch::new(Calibration::over(Duration::from_millis(1)))
    }

    fn key(round: u32) -> BlockKey {
        BlockKey { phase: Phase::Measure, round, attempt: 0, distinct: false, salt: 0 }
    }

    #[test]
    fn missing_entries_show_in_the_count() {
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
                let mut work = StatSome::new(files, &source, 9);
                assert_eq!(work.unavailable(&directory), None);
                let block = WorkBlock { directory: &directory, key: key(1), operations, control };
                work.setup(&block).unwrap();
                let counted = work.run(&block, &mut stopwatch()).unwrap();
                assert_eq!((counted.entries, counted.hash), (files, 0), "{files} {operations}");
            }
            assert!(
                StatSome::new(501, &source, 9).unavailable(&directory).unwrap().starts_with("only 500 names")
            );
        }
        let source = NameSource::Made { names: NAMES, entries: 501 };
        let mut work = StatSome::new(501, &source, 9);
        let block = WorkBlock { directory: &directory, key: key(1), operations: 1, control };
        work.setup(&block).unwrap();
        assert_eq!(work.run(&block, &mut stopwatch()).unwrap().entries, 500);
    }

    #[test]
    fn every_operation_draws_names_of_its_own_each_once() {
        let source = NameSource::Made { names: NAMES, entries: 10_000 };
        let mut work = StatSome::new(1000, &source, 9);
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let directory = Dir::open(".").unwrap();
        let names = |work: &mut StatSome<'_>, round, operations| -> Vec<Vec<system::Unit>> {
            work.setup(&WorkBlock { directory: &directory, key: key(round), operations, control }).unwrap();
            work.names.split(|unit| *unit == 0).filter(|name| !name.is_empty()).map(<[_]>::to_vec).collect()
        };
        let first = names(&mut work, 1, 3);
        assert_eq!(first.len(), 3000);
        for operation in first.chunks(1000) {
            assert_eq!(operation.iter().collect::<HashSet<_>>().len(), 1000);
        }
        assert_ne!(first[..1000], first[1000..2000]);
        assert_eq!(names(&mut work, 1, 3), first);
        assert_ne!(names(&mut work, 2, 3), first);
        // The buffer is bounded, however many operations a block repeats.
        assert_eq!(names(&mut work, 1, 1 << 16).len(), 4000);
    }
}
