//! States that are refused if nothing can be verified, and the verification with a simulated volume.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir::Dir;
use megadir_record::CacheState;
use megadir_stats::permutation::SplitMix64;
use megadir_sys::windows::file_cache;
use megadir_testkit::require::{is_wine, not_run, unavailable};

use super::{counting, drop_contents, drop_names, refusals, verify_names};
use crate::control::{RunControl, WorkError};
use crate::os::At;

static NEVER: AtomicBool = AtomicBool::new(false);
static BEAT: AtomicU64 = AtomicU64::new(0);
const SIGNALS: RunControl<'static> = RunControl { stop: &NEVER, heartbeat: &BEAT };
const FILES: u64 = 70;
const FILE_BYTES: u64 = 5000;

fn tree() -> (tempfile::TempDir, Dir) {
    let made = tempfile::tempdir().unwrap();
    std::fs::create_dir(made.path().join("below")).unwrap();
    for file in 0..FILES {
        let folder = if file % 2 == 0 { made.path().to_owned() } else { made.path().join("below") };
        std::fs::write(folder.join(format!("file{file}")), vec![7; FILE_BYTES as usize]).unwrap();
    }
    let directory = Dir::open(made.path()).unwrap();
    (made, directory)
}

/// A simulated volume that returns these counts in turn.
fn counts(counts: [u64; 3]) -> impl FnMut() -> io::Result<u64> {
    let mut counts = counts.into_iter();
    move || Ok(counts.next().expect("asked three times"))
}

/// Drops contents; the volume reads `each` bytes for each of 64 files, and `again` in all for the second pass.
fn contents_with(directory: &Dir, each: u64, again: u64) -> Result<(), WorkError> {
    let mut queries = 0;
    // Called once before each pass and once after each file.
    let mut read_bytes = || {
        queries += 1;
        let first = (queries - 1_u64).min(64) * each;
        Ok(if queries > 66 { first + again } else { first })
    };
    drop_contents(directory.at(), true, SIGNALS, &mut SplitMix64::new(7), &mut read_bytes)
}

#[test]
fn contents_are_cold_only_if_the_volume_gave_them() {
    let (_made, directory) = tree();
    // 64 files are sampled from both directories.
    contents_with(&directory, FILE_BYTES, 0).unwrap();
    let cached = contents_with(&directory, FILE_BYTES - 1, 0).unwrap_err().to_string();
    assert!(cached.contains("64 of 64 files read"), "{cached}");
    let disturbed = contents_with(&directory, FILE_BYTES, 64 * FILE_BYTES).unwrap_err().to_string();
    assert!(disturbed.contains("stop the programs that read from it"), "{disturbed}");
    for file in 0..FILES {
        let folder = if file % 2 == 0 { "." } else { "below" };
        let path = directory.path().join(folder).join(format!("file{file}"));
        assert_eq!(std::fs::read(path).unwrap(), vec![7; FILE_BYTES as usize]);
    }
}

#[test]
fn files_smaller_than_a_page_give_no_verdict() {
    let made = tempfile::tempdir().unwrap();
    let directory = Dir::open(made.path()).unwrap();
    let refused = contents_with(&directory, 0, 0).unwrap_err().to_string();
    assert!(refused.contains("the files are empty"), "{refused}");
    std::fs::write(made.path().join("small"), "in the file table").unwrap();
    let refused = contents_with(&directory, 0, 0).unwrap_err().to_string();
    assert!(refused.contains("all files are smaller than 4096 bytes"), "{refused}");
}

#[test]
fn names_are_cold_only_if_the_volume_was_read() {
    let (_made, directory) = tree();
    let sample = [b"file0".to_vec(), b"below/file1".to_vec()];
    let come_back = |bytes| {
        let volume = &mut counts(bytes);
        verify_names(CacheState::VfsCold, directory.at(), &sample, volume)
    };
    come_back([0, 16_384, 16_384]).unwrap();
    assert!(come_back([5, 5, 5]).unwrap_err().to_string().contains("2 names were found with 0 bytes"));
}

#[test]
fn cache_states_are_available_or_refused_with_a_reason() {
    let (_made, directory) = tree();
    let unavailable = refusals(&directory);
    assert_eq!(unavailable(CacheState::Warm), None);
    assert!(unavailable(CacheState::FsCold).unwrap().contains("no volume is created on Windows"));
    let counts = counting(directory.at()).and_then(|reads| reads.read_bytes());
    match counts {
        // Wine, and volumes in memory.
        Err(_) => {
            for state in [CacheState::DataCold, CacheState::VfsCold] {
                let reason = unavailable(state).unwrap();
                assert!(reason.contains("does not report how much is read from it"), "{reason}");
            }
        }
        Ok(_) => assert_eq!(unavailable(CacheState::DataCold), None),
    }
}

/// Retries until other processes leave the volume alone.
fn unless_others_read(mut evict: impl FnMut() -> Result<(), WorkError>) -> Result<(), String> {
    let mut left = 50;
    loop {
        match evict().map_err(|error| error.to_string()) {
            Err(reason) if left > 0 && reason.contains("stop the programs that read from it") => {
                left -= 1;
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
            evicted => return evicted,
        }
    }
}

#[test]
fn cache_states_are_available_where_the_volume_counts_reads() {
    let (_made, directory) = tree();
    let reads = match counting(directory.at()).and_then(|reads| reads.read_bytes().map(|_| reads)) {
        Ok(reads) => reads,
        Err(error) => {
            let reason = format!("the volume does not count its reads: {error}");
            let note = if is_wine() { unavailable } else { not_run };
            return note("cold caches", &reason);
        }
    };
    let random = &mut SplitMix64::new(7);
    let read_bytes = &mut || reads.read_bytes();
    unless_others_read(|| drop_contents(directory.at(), true, SIGNALS, random, read_bytes)).unwrap();
    if let Err(error) = file_cache::may_forget() {
        return not_run("cold names", &format!("not an administrator: {error}"));
    }
    let sample = [b"file0".to_vec(), b"below/file1".to_vec()];
    unless_others_read(|| drop_names(directory.at(), &sample, SIGNALS)).unwrap();
}
