//! What every listing must see, settled before the first block and written into the record's header.
//!
//! Of made data it is computed from the names alone, without the file system or any backend: a fault that all
//! backends share cannot pass for the truth. Of an existing directory it is what the oracle listed.

use std::sync::atomic::Ordering;

use megadir_record::{Counted, Data, DataSource, Plan, When};

use super::RunError;
use crate::control::RunControl;
use crate::dataset::{Files, FillError, PlaceBuffer};
use crate::plan::{in_one_directory, trees};
use crate::workload::name_hash;

/// Signs of life come every so many names.
const STEP: u64 = 4096;

/// Writes into the plan's data sets what every listing of them must see; the data that arms make are not there yet.
///
/// `counted` is what the oracle listed of each data set; it gets the same numbers.
pub(super) fn settle(
    plan: &mut Plan,
    counted: &mut [Counted],
    control: RunControl<'_>,
) -> Result<(), RunError> {
    let mut hashes = Vec::new();
    for (data, truth) in plan.data.iter().zip(&*counted) {
        let Some(made) = data.source.made() else {
            hashes.push(Some(truth.hash));
            continue;
        };
        if made.when == When::ByArms {
            hashes.push(None);
            continue;
        }
        let mut hash = 0_u64;
        for files in before_run(plan, data) {
            hash = hash.wrapping_add(made_hash(&files, control)?);
        }
        // Every block that lists one directory is compared with this hash; a tree is not listed again.
        if !in_one_directory(plan, data) && truth.hash != hash {
            return Err(RunError::OtherNames { made: truth.entries });
        }
        hashes.push(Some(hash));
    }
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

/// Returns what is made of a data set before anything is measured, tree by tree.
pub(super) fn before_run(plan: &Plan, data: &Data) -> Vec<Files> {
    let before = data.source.made().is_some_and(|made| made.when == When::BeforeRun);
    let all = if before { trees(plan, data).unwrap_or_default() } else { Vec::new() };
    all.into_iter().map(|(_, files)| files).collect()
}

/// Returns the hash of the files' own names.
fn made_hash(files: &Files, control: RunControl<'_>) -> Result<u64, RunError> {
    let mut buffer = PlaceBuffer::new();
    let mut hash = 0_u64;
    for index in 0..files.entries() {
        if index % STEP == 0 {
            control.heartbeat.fetch_add(1, Ordering::Relaxed);
            if control.stop.load(Ordering::Relaxed) {
                return Err(RunError::Interrupted);
            }
        }
        let place = files.place(index, &mut buffer);
        let place = place.map_err(|reason| FillError::Files(files.refused(index, reason)))?;
        hash = hash.wrapping_add(name_hash(place.file()));
    }
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use megadir::Dir;
    use megadir_record::{Made, NameScheme, Stage, Work};

    use super::{RunControl, made_hash};
    use crate::dataset::{Files, fill};
    use crate::workload::Listing;

    /// Wine is slow at making files.
    const ENTRIES: u64 = if cfg!(windows) { 200 } else { 3000 };
    const BACKENDS: [&str; 3] = match cfg!(windows) {
        true => ["std", "find-first-file", "by-handle"],
        false => ["std", "readdir", "getdents"],
    };

    #[test]
    fn every_backend_lists_what_the_names_say() {
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
