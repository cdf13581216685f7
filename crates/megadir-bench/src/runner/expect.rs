//! What arms that find out attributes must find, settled before the first block and written into their work.
//!
//! The files that are made get times that follow from the seed and their numbers, as names and sizes do: a data set that is made again,
//! for a run that is resumed, is the same one. What must be found is what the oracle, Rust's standard library, then finds; file systems keep
//! times as finely as they can, so that it cannot be computed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use super::truth::before_run;
use crate::at::{self, At};
use crate::control::{RunControl, WorkError};
use crate::dataset::{Files, PlaceBuffer};
use crate::workload::Truth;
use crate::write_back::write_back;
use megadir::Dir;
use megadir_record::{Data, Plan, Work};
use megadir_stats::permutation::SplitMix64;

/// The earliest time that a file gets: 2020-01-01, seconds since 1970.
const FROM_S: u64 = 1_577_836_800;
/// Times lie within so many seconds after it: four years.
const WITHIN_S: u64 = 4 * 365 * 86_400;
/// Signs of life come every so many files.
const STEP: u64 = 1024;

/// Lets the oracle find the attributes of every file, and writes their sum into the work of the arms that must find them too.
pub(super) fn expect_files(
    plan: &mut Plan,
    directories: &[Dir],
    control: RunControl<'_>,
) -> Result<(), WorkError> {
    let asked = |plan: &Plan, data: &Data| {
        let finds_out = |work: &Work| matches!(work, Work::Attributes { .. });
        plan.cells.iter().any(|cell| cell.data == data.id && finds_out(&cell.work))
    };
    for (data, directory) in plan.data.iter().zip(directories) {
        if asked(plan, data) {
            for files in before_run(plan, data) {
                set_times(directory, &files, control)?;
            }
        }
    }
    let mut truths: BTreeMap<u32, Truth> = BTreeMap::new();
    for cell in &mut plan.cells {
        let Work::Attributes { method, expected, .. } = &mut cell.work else { continue };
        let truth = match truths.entry(cell.data.0) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => *place.insert(Truth::of(&directories[cell.data.0 as usize], control)?),
        };
        *expected = truth.expected(method);
    }
    Ok(())
}

/// Sets the times of the files of a directory.
pub(super) fn set_times(directory: &Dir, files: &Files, control: RunControl<'_>) -> Result<(), WorkError> {
    let failed = |source: std::io::Error| WorkError::Stage { stage: "setting the times of files", source };
    let mut buffer = PlaceBuffer::new();
    for index in 0..files.entries() {
        if index % STEP == 0 {
            control.check()?;
        }
        let place = files.place(index, &mut buffer).map_err(|error| failed(std::io::Error::other(error)))?;
        at::set_times(directory.at(), place.path(), time_of(files.seed(), index)).map_err(failed)?;
    }
    // What is still to be written would be written while we measure.
    write_back(directory, control.heartbeat).map(drop).map_err(failed)
}

/// Returns the time of the file of a number, since 1970.
fn time_of(seed: u64, index: u64) -> Duration {
    let mut random = SplitMix64::new(seed ^ SplitMix64::new(index).next_u64());
    let seconds = FROM_S + random.below(WITHIN_S).unwrap_or(0);
    let nanoseconds = random.below(1_000_000_000).unwrap_or(0);
    Duration::new(seconds, nanoseconds as u32)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use megadir_record::{Made, NameScheme};

    use super::*;
    use crate::dataset::NAME_BYTES_MAX;

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
            Truth::of(&directory, control).unwrap()
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
