//! Every method agrees with the oracle on every file system; a method that loses entries is detected.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use megadir::{Dir, ReadOptions, names};
use megadir_record::ExpectedFiles;

use super::{Expected, FileAttributes, Files};
use crate::control::RunControl;
use crate::kind::{BlockKey, WorkBlock, Workload};
use crate::measure::{Calibration, Stopwatch};
use crate::method::{METHODS, Method, Reported};

#[cfg(target_os = "linux")]
#[path = "tests/linux.rs"]
mod system;
#[cfg(windows)]
#[path = "tests/windows.rs"]
mod system;

const FILES: u64 = 700;

/// Creates files of several sizes and ages, some with names that are not UTF-8, and entries that are not files.
fn fill(directory: &Path) {
    for index in 0..FILES {
        let name = match system::ODD_NAMES.get(index as usize) {
            Some(name) => name.to_vec(),
            None => format!("file {index}").into_bytes(),
        };
        let file = File::create(directory.join(names::to_os(&name).unwrap())).unwrap();
        file.set_len(index * 37 % 5000).unwrap();
        let age = Duration::new(index * 900_001, (index * 7_654_321 % 1_000_000_000) as u32);
        let old = index == 5 && system::BEFORE_1970;
        let time = if old { UNIX_EPOCH - Duration::new(86_400, 5) } else { SystemTime::now() - age };
        file.set_modified(time).unwrap();
    }
    std::fs::create_dir(directory.join("directory")).unwrap();
    system::others(directory);
}

fn with_signals<R>(check: impl FnOnce(RunControl<'_>) -> R) -> R {
    let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
    check(RunControl { stop: &stop, heartbeat: &heartbeat })
}

/// Compares every method with the oracle; returns the unavailable ones with the reason.
fn compare(parent: &Path) -> Vec<(&'static str, String)> {
    let path = parent.join("files");
    std::fs::create_dir(&path).unwrap();
    fill(&path);
    let (files, refused) = hold(&path, &[true, false], |_| true);
    assert_eq!(files, FILES);
    refused
}

/// Compares the selected methods with the oracle in a directory, with and without keeping files. Returns the
/// number of files, and the unavailable methods with the reason.
fn hold(path: &Path, keeps: &[bool], wanted: impl Fn(&Method) -> bool) -> (u64, Vec<(&'static str, String)>) {
    let directory = Dir::open(path).unwrap();
    with_signals(|control| {
        let truth = Expected::of(&directory, control).unwrap();
        if truth.with_sizes.files > 0 {
            assert_ne!(truth.with_sizes.hash, truth.times_only.hash);
        }
        let mut refused = Vec::new();
        let mut stopwatch = Stopwatch::new(Calibration::over(Duration::from_millis(1)));
        for method in METHODS.iter().filter(|method| wanted(method)) {
            let work = |keeps| FileAttributes::new(method.name, method.buffer_bytes, 2, keeps).unwrap();
            if let Some(reason) = work(true).unavailable(&directory) {
                refused.push((method.name, reason));
                continue;
            }
            for kept in keeps {
                let (key, operations) = (BlockKey::FIRST, keeps.len() as u64);
                let block = WorkBlock { directory: &directory, key, operations, control };
                let counted = work(*kept).run(&block, &mut stopwatch).unwrap();
                let expected = truth.expected(method.name).unwrap();
                assert_eq!(
                    (counted.entries, counted.hash),
                    (expected.files, expected.hash),
                    "{}",
                    method.name
                );
            }
        }
        (truth.with_sizes.files, refused)
    })
}

#[test]
fn all_methods_match_the_oracle_here() {
    let parent = tempfile::tempdir().unwrap();
    compare(parent.path());
}

/// Lists one buffer at a time and reads attributes by path, but loses the last entry of every buffer, as the
/// published loop does.
fn faulty(directory: &Dir, buffer_bytes: usize) -> ExpectedFiles {
    let options = ReadOptions::serial(buffer_bytes);
    let mut reader = megadir::backend(system::BUFFERED).unwrap().open(directory, &options).unwrap();
    let mut files = Files::default();
    while let Some(batch) = reader.next_batch().unwrap() {
        for entry in batch.entries().take(batch.len().saturating_sub(1)) {
            let path = directory.path().join(names::to_os(entry.name).unwrap());
            let metadata = std::fs::symlink_metadata(path).unwrap();
            if metadata.is_file() {
                files.add(entry.name, metadata.len(), super::system::modified(&metadata));
            }
        }
    }
    files.expected(Reported::SizesAndTimes)
}

#[test]
fn a_method_that_loses_the_last_entry_of_a_buffer_is_caught() {
    let parent = tempfile::tempdir().unwrap();
    for index in 0..300 {
        std::fs::write(parent.path().join(format!("{index}")), "").unwrap();
    }
    let directory = Dir::open(parent.path()).unwrap();
    with_signals(|control| {
        let truth = Expected::of(&directory, control).unwrap().with_sizes;
        for buffer_bytes in [4 << 10, 1 << 20] {
            let lost = faulty(&directory, buffer_bytes);
            assert!(lost.files < truth.files && lost.hash != truth.hash, "{lost:?} {truth:?}");
        }
    });
}

#[test]
fn hash_depends_on_every_attribute() {
    let parent = tempfile::tempdir().unwrap();
    let file = File::create(parent.path().join("file")).unwrap();
    file.set_modified(UNIX_EPOCH).unwrap();
    let directory = Dir::open(parent.path()).unwrap();
    with_signals(|control| {
        let truth = || Expected::of(&directory, control).unwrap();
        let before = truth();
        file.set_len(1).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        let longer = truth();
        assert_eq!(longer.times_only, before.times_only, "a size is no part of this one");
        assert_ne!(longer.with_sizes, before.with_sizes);
        file.set_modified(UNIX_EPOCH + Duration::from_nanos(100)).unwrap();
        assert_ne!(truth().times_only, longer.times_only);
        assert_ne!(truth().with_sizes, longer.with_sizes);
    });
}
