//! What every listing must see, settled before the first block and written into the record's header.
//!
//! Of made data it is computed from the names alone, without the file system or any backend: a fault that all
//! backends share cannot pass for the truth. Of an existing directory it is what the oracle listed.

use std::sync::atomic::Ordering;

use megadir_record::DataSource;

use super::RunError;
use super::prepare::Prepared;
use crate::dataset::{NAME_BYTES_MAX, Names};
use crate::workload::{Signals, name_hash};

/// Signs of life come every so many names.
const STEP: u64 = 4096;

/// Writes into the plan's data sets what every listing of them must see.
pub(super) fn settle(prepared: &mut Prepared<'_>) -> Result<(), RunError> {
    let seed = prepared.plan.seed;
    for (data, truth) in prepared.plan.data.iter_mut().zip(&mut prepared.truths) {
        match &data.source {
            DataSource::Made(made) => {
                truth.entries = data.entries;
                truth.hash = made_hash(Names { scheme: made.names, seed }, data.entries, prepared.signals)?;
            }
            DataSource::Existing { .. } => data.entries = truth.entries,
        }
        data.hash = Some(truth.hash);
    }
    Ok(())
}

/// Returns the hash of a data set's names.
fn made_hash(names: Names, entries: u64, signals: Signals<'_>) -> Result<u64, RunError> {
    let mut buffer = [0; NAME_BYTES_MAX];
    let mut hash = 0_u64;
    for index in 0..entries {
        if index % STEP == 0 {
            signals.beat.fetch_add(1, Ordering::Relaxed);
            if signals.stop.load(Ordering::Relaxed) {
                return Err(RunError::Interrupted);
            }
        }
        hash = hash.wrapping_add(name_hash(names.write(index, &mut buffer)));
    }
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use megadir::Dir;
    use megadir_record::{Made, NameScheme, Stage, Work};

    use super::{Names, Signals, made_hash};
    use crate::dataset::{Files, fill};
    use crate::workload::Listing;

    #[test]
    fn every_backend_lists_what_the_names_say() {
        let (stop, beat) = (AtomicBool::new(false), AtomicU64::new(0));
        let signals = Signals { stop: &stop, beat: &beat };
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
            let files = Files::new(&Made::flat(scheme, 0), 7, 3000).unwrap();
            fill(&path, &files, &mut |_| {}, &stop).unwrap();
            let expected = (3000, made_hash(Names { scheme, seed: 7 }, 3000, signals).unwrap());
            let directory = Dir::open(&path).unwrap();
            let list = |backend: &str| {
                let work = Work::List {
                    backend: backend.into(),
                    buffer_bytes: 32 << 10,
                    threads: 1,
                    shares: 1,
                    stages: vec![Stage::Read],
                };
                let counted = Listing::new(&work).unwrap().once(&directory, signals).unwrap();
                (counted.entries, counted.hash)
            };
            for backend in ["std", "readdir", "getdents"] {
                assert_eq!(list(backend), expected, "{backend} {scheme:?}");
            }
            std::fs::remove_file(std::fs::read_dir(&path).unwrap().next().unwrap().unwrap().path()).unwrap();
            assert_ne!(list("getdents").1, expected.1);
        }
    }
}
