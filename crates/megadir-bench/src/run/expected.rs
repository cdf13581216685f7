//! Expected results, recorded before the first block. For data made by the run they come from the names
//! alone, so that a fault common to all backends shows; for an existing directory from the oracle's listing.
//! Attributes come from the oracle, Rust's standard library, because file systems round times.
//!
//! For the cache state `unseen` the files are re-created, so that no process has seen them before the block.
//!
//! ```text
//!  names by the seed --hash--+                     +--> plan (header): entries and hash of each data set
//!  oracle's listing  --------+--> record_expected -+
//!  oracle's attributes -----------> expect_attributes -> expected hash of the arms that read attributes
//! ```
//!
//! There are two sources, because a listing compared with another listing of the same file system would
//! agree on a missing name.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use megadir::Dir;
use megadir_record::{Counted, Data, DataId, DataSource, Plan, When, Work};
use megadir_stats::permutation::SplitMix64;

use crate::control::{RunControl, WorkError};
use crate::dataset::{Files, FillError, Filling, PlaceBuffer};
use crate::kind::{Expected, name_hash};

use crate::os::{self, At, write_back};
use crate::plan::{in_one_directory, trees};
use crate::run::RunError;

/// Files between two checks whether the run is to end.
const STEP: u64 = 256;

/// Not for data that arms make. The numbers of `counted`, the oracle's listing, become the plan's.
pub(crate) fn record_expected(
    plan: &mut Plan,
    counted: &mut [Counted],
    control: RunControl<'_>,
) -> Result<(), RunError> {
    let expected_hash = |(data, truth): (&Data, &Counted)| -> Result<Option<u64>, RunError> {
        let Some(made) = data.source.made() else { return Ok(Some(truth.hash)) };
        if made.when == When::ByArms {
            return Ok(None);
        }
        let mut hash = 0_u64;
        for files in before_run(plan, data) {
            hash = hash.wrapping_add(made_hash(&files, control)?);
        }
        // Blocks that list one directory are compared with this hash.
        match in_one_directory(plan, data) || truth.hash == hash {
            true => Ok(Some(hash)),
            false => Err(RunError::OtherNames { made: truth.entries }),
        }
    };
    let hashes = plan.data.iter().zip(&*counted).map(expected_hash).collect::<Result<Vec<_>, _>>()?;
    for ((data, truth), hash) in plan.data.iter_mut().zip(counted).zip(hashes) {
        match data.source {
            DataSource::Made(_) => truth.entries = data.entries,
            DataSource::Existing { .. } => data.entries = truth.entries,
        }
        truth.hash = hash.unwrap_or(0);
        data.hash = hash;
    }
    Ok(())
}

/// Trees of a data set that exist before the first block; none for data of the user and for data that arms
/// make.
pub(crate) fn before_run(plan: &Plan, data: &Data) -> Vec<Files> {
    let all = if data.is_made_before_run() { trees(plan, data).unwrap_or_default() } else { Vec::new() };
    all.into_iter().map(|(_, files)| files).collect()
}

fn made_hash(files: &Files, control: RunControl<'_>) -> Result<u64, RunError> {
    let mut buffer = PlaceBuffer::new();
    let mut hash = 0_u64;
    for index in 0..files.entries() {
        control.check_every(STEP, index)?;
        let place = files.placed(index, &mut buffer).map_err(FillError::Files)?;
        hash = hash.wrapping_add(name_hash(place.file()));
    }
    Ok(hash)
}

/// Earliest file time: 2020-01-01, in seconds since 1970.
const FROM_S: u64 = 1_577_836_800;
const WITHIN_S: u64 = 4 * 365 * 86_400;

/// The oracle reads the attributes of every file; their hash goes into the work of the arms that read them.
pub(crate) fn expect_attributes(
    plan: &mut Plan,
    directories: &[Dir],
    control: RunControl<'_>,
) -> Result<(), WorkError> {
    let needs_attributes = |data: &Data| {
        plan.arms.iter().any(|arm| arm.data == data.id && matches!(arm.work, Work::Attributes { .. }))
    };
    for (data, directory) in plan.data.iter().zip(directories).filter(|(data, _)| needs_attributes(data)) {
        for files in before_run(plan, data) {
            set_times(directory, &files, control)?;
        }
    }
    let mut truths: BTreeMap<u32, Expected> = BTreeMap::new();
    for arm in &mut plan.arms {
        let Work::Attributes { method, expected, .. } = &mut arm.work else { continue };
        let truth = match truths.entry(arm.data.0) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => *place.insert(Expected::of(&directories[arm.data.0 as usize], control)?),
        };
        *expected = truth.expected(method);
    }
    Ok(())
}

/// Gives each file a modification time that follows from the seed. Files made in one go would have nearly
/// equal times, and a method that returned the time of another file would go unnoticed.
pub(crate) fn set_times(directory: &Dir, files: &Files, control: RunControl<'_>) -> Result<(), WorkError> {
    let failed = WorkError::at("setting the times of files");
    let mut buffer = PlaceBuffer::new();
    for index in 0..files.entries() {
        control.check_every(STEP, index)?;
        let place = files.place(index, &mut buffer).map_err(|error| failed(std::io::Error::other(error)))?;
        os::set_times(directory.at(), place.path(), time_of(files.seed(), index)).map_err(failed)?;
    }
    write_back(directory, control.heartbeat).map(drop).map_err(failed)
}

fn time_of(seed: u64, index: u64) -> Duration {
    let mut random = SplitMix64::new(seed ^ SplitMix64::new(index).next_u64());
    let seconds = FROM_S + random.below(WITHIN_S).unwrap_or(0);
    let nanoseconds = random.below(1_000_000_000).unwrap_or(0);
    Duration::new(seconds, nanoseconds as u32)
}

/// Removes the files of a data set and creates them again, for the cache state `unseen`, with the same
/// names, contents and times, written back if the system permits.
pub(crate) fn recreate_files(
    plan: &Plan,
    data: DataId,
    directory: &Dir,
    control: RunControl<'_>,
) -> Result<(), WorkError> {
    for files in before_run(plan, &plan.data[data.0 as usize]) {
        remove(&files, directory, control)?;
        let mut filling = Filling::new(directory.at(), &files);
        let mut heartbeat = |_| _ = control.check();
        filling.to(files.entries(), &mut heartbeat, control.stop).map_err(failed)?;
        control.check()?;
        let (made, all) = (filling.sweep.filled.made, files.entries());
        if made != all {
            return Err(failed(format!("{made} of {all} files were created")));
        }
        set_times(directory, &files, control)?;
    }
    Ok(())
}

fn remove(files: &Files, directory: &Dir, control: RunControl<'_>) -> Result<(), WorkError> {
    let mut buffer = PlaceBuffer::new();
    for index in 0..files.entries() {
        control.check_every(STEP, index)?;
        let place = files.place(index, &mut buffer).map_err(failed)?;
        // A stop may have left the data set incomplete.
        os::if_there(os::remove_file(directory.at(), place.path())).map_err(WorkError::at(RECREATING))?;
    }
    Ok(())
}

const RECREATING: &str = "recreating the files";

fn failed(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> WorkError {
    WorkError::other(RECREATING, reason)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use megadir::Dir;
    use megadir_record::{Made, NameScheme, Stage, Work};

    use super::{RunControl, made_hash};
    use crate::dataset::{Files, fill};
    use crate::kind::Listing;

    /// Wine creates files slowly.
    const ENTRIES: u64 = if cfg!(windows) { 200 } else { 3000 };
    const BACKENDS: [&str; 3] = match cfg!(windows) {
        true => ["std", "find-first-file", "by-handle"],
        false => ["std", "readdir", "getdents"],
    };

    #[test]
    fn every_backend_lists_the_generated_names() {
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let parent = tempfile::tempdir().unwrap();
        let schemes = [
            NameScheme::Md5,
            NameScheme::Hex,
            NameScheme::Sequence,
            NameScheme::Decimal,
            NameScheme::UpperHex,
        ];
        for (number, scheme) in schemes.into_iter().enumerate() {
            let path = parent.path().join(number.to_string());
            let files = Files::new(&Made::flat(scheme, 0), 7, ENTRIES).unwrap();
            fill(&path, &files, &mut |_| {}, &stop).unwrap();
            let expected = (ENTRIES, made_hash(&files, control).unwrap());
            let directory = Dir::open(&path).unwrap();
            let list = |backend: &str| {
                let work = Work::List {
                    backend: backend.into(),
                    buffer_bytes: 32 << 10,
                    threads: 1,
                    shares: 1,
                    stages: vec![Stage::Read],
                };
                let counted = Listing::new(&work).unwrap().once(&directory, control).unwrap();
                (counted.entries, counted.hash)
            };
            for backend in BACKENDS {
                assert_eq!(list(backend), expected, "{backend} {scheme:?}");
            }
            std::fs::remove_file(std::fs::read_dir(&path).unwrap().next().unwrap().unwrap().path()).unwrap();
            assert_ne!(list(BACKENDS[2]).1, expected.1);
        }
    }
}

#[cfg(test)]
mod tests_of_expected_attributes {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use megadir_record::{Made, NameScheme};

    use crate::dataset::NAME_BYTES_MAX;
    use crate::run::expected::*;

    #[test]
    fn a_data_set_that_is_made_again_is_the_same_one() {
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let truth = |seed| {
            let parent = tempfile::tempdir().unwrap();
            let directory = Dir::open(parent.path()).unwrap();
            let files = Files::new(&Made::flat(NameScheme::Md5, 10), seed, 50).unwrap();
            make(&directory, &files);
            set_times(&directory, &files, control).unwrap();
            Expected::of(&directory, control).unwrap()
        };
        assert_eq!(truth(3), truth(3));
        assert_ne!(truth(3), truth(4));
        let times: std::collections::BTreeSet<u64> =
            (0..1000).map(|index| time_of(1, index).as_secs()).collect();
        assert!(times.len() > 990, "{}", times.len());
    }

    fn make(directory: &Dir, files: &Files) {
        let mut buffer = [0; NAME_BYTES_MAX];
        for index in 0..files.entries() {
            let name = String::from_utf8(files.names().write(index, &mut buffer).to_vec()).unwrap();
            std::fs::write(directory.path().join(name), "ten bytes.").unwrap();
        }
    }
}

#[cfg(test)]
mod tests_of_recreate_files {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use megadir_record::{Arm, Preset};

    use crate::kind::Expected;
    use crate::plan::{Request, plan};
    use crate::run::expected::*;
    use crate::study::built_in;

    #[test]
    fn recreated_files_are_new_inodes_with_equal_attributes() {
        let study = built_in("lookup").unwrap();
        let request = Request {
            target: crate::plan::Target::Made { entries: vec![40] },
            ..Request::bare(Preset::Quick, 5)
        };
        let plan = plan(&study, &request).unwrap().plan;
        let Arm { data, .. } = plan.arms[0];
        let parent = tempfile::tempdir().unwrap();
        let directory = Dir::open(parent.path()).unwrap();
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let truth = || {
            recreate_files(&plan, data, &directory, control).unwrap();
            Expected::of(&directory, control).unwrap()
        };
        let first = truth();
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 40);
        let old = std::fs::read_dir(parent.path()).unwrap().next().unwrap().unwrap().path();
        std::fs::write(&old, "more").unwrap();
        assert_ne!(Expected::of(&directory, control).unwrap(), first);
        assert_eq!(truth(), first);
        // Only if an open file loses its name at once.
        if cfg!(unix) {
            let held = std::fs::File::options().append(true).open(&old).unwrap();
            assert_eq!(truth(), first);
            std::io::Write::write_all(&mut &held, b"more").unwrap();
            assert_eq!(std::fs::metadata(&old).unwrap().len(), 0, "it was written to one without a name");
        }
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(recreate_files(&plan, data, &directory, control), Err(WorkError::Stopped)));
    }
}
