//! Every method finds what the oracle finds, on every file system; one that loses entries is caught.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use megadir::{Dir, ReadOptions};
use megadir_record::ExpectedFiles;
use megadir_testkit::mount::{BTRFS, EXT4, EXT4_SMALL_INODES, Mount, TMPFS, XFS};
use megadir_testkit::require;

use super::{FileAttributes, Files, Truth, unavailable};
use crate::measure::{Calibration, Stopwatch};
use crate::method::METHODS;
use crate::workload::{Signals, Workload};

const FILES: u64 = 700;

/// Makes files of several sizes and ages, with some names that are not text, among what is no file.
fn fill(directory: &Path) {
    for index in 0..FILES {
        let name = match index {
            0 => vec![b'n'; 255],
            1 => b"new\nline".to_vec(),
            2 => vec![0xff, 0xfe, b'x'],
            _ => format!("file {index}").into_bytes(),
        };
        let file = File::create(directory.join(OsStr::from_bytes(&name))).unwrap();
        file.set_len(index * 37 % 5000).unwrap();
        let age = Duration::new(index * 900_001, (index * 7_654_321 % 1_000_000_000) as u32);
        let time = if index == 5 { UNIX_EPOCH - Duration::new(86_400, 5) } else { SystemTime::now() - age };
        file.set_modified(time).unwrap();
    }
    std::fs::create_dir(directory.join("directory")).unwrap();
    std::os::unix::fs::symlink("file 9", directory.join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", directory.join("broken")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, directory.join("fifo"), fifo, 0o600.into(), 0).unwrap();
}

/// Runs a check with what long operations need.
fn with_signals<R>(check: impl FnOnce(Signals<'_>) -> R) -> R {
    let (stop, beat) = (AtomicBool::new(false), AtomicU64::new(0));
    check(Signals { stop: &stop, beat: &beat })
}

/// Holds every method against the oracle, and returns those that say that they cannot be used, with why.
fn compare(parent: &Path) -> Vec<(&'static str, String)> {
    let path = parent.join("files");
    std::fs::create_dir(&path).unwrap();
    fill(&path);
    let directory = Dir::open(&path).unwrap();
    with_signals(|signals| {
        let truth = Truth::of(&directory, signals).unwrap();
        assert_eq!(truth.with_sizes.files, FILES);
        assert_ne!(truth.with_sizes.hash, truth.times_only.hash);
        let mut refused = Vec::new();
        let mut stopwatch = Stopwatch::new(Calibration::over(Duration::from_millis(1)));
        for method in METHODS {
            let work = |keeps| FileAttributes::new(method.name, method.buffer_bytes, 2, keeps).unwrap();
            if let Some(reason) = work(true).unavailable(&directory) {
                refused.push((method.name, reason));
                continue;
            }
            for keeps in [true, false] {
                let counted = work(keeps).run(&directory, 2, &mut stopwatch, signals).unwrap();
                let expected = truth.expected(method.name).unwrap();
                assert_eq!(
                    (counted.entries, counted.hash),
                    (expected.files, expected.hash),
                    "{}",
                    method.name
                );
            }
        }
        refused
    })
}

/// Asserts that exactly those methods are refused that must be, given those that this file system has for itself.
fn refused(refused: &[(&str, String)], own: &str) {
    let optional = |name: &str| match name {
        "cpp-filesystem" => !cfg!(feature = "cpp"),
        "uring" => !cfg!(feature = "io-uring"),
        _ => name != own,
    };
    let needing = METHODS.iter().filter(|method| method.needs.is_some()).map(|method| method.name);
    let expected: BTreeSet<&str> = needing.filter(|name| optional(name)).collect();
    let names: BTreeSet<&str> = refused.iter().map(|(name, _)| *name).collect();
    // Containers may forbid io_uring, and a feature does not bring a compiler.
    let beyond: Vec<&&str> = names.difference(&expected).collect();
    assert!(beyond.iter().all(|name| matches!(**name, "uring" | "cpp-filesystem")), "{refused:?}");
    assert_eq!(expected.difference(&names).count(), 0, "{refused:?}");
    assert!(refused.iter().all(|(_, reason)| reason.len() > 10 && !reason.contains('\n')), "{refused:?}");
}

#[test]
fn cpp_and_all_other_methods_find_what_the_oracle_finds_here() {
    let parent = tempfile::tempdir().unwrap();
    compare(parent.path());
}

#[test]
fn methods_find_what_the_oracle_finds_on_ext4() {
    refused(&compare(&require!(Mount::make(&EXT4)).path()), "");
}

#[test]
fn methods_find_what_the_oracle_finds_where_times_are_whole_seconds() {
    refused(&compare(&require!(Mount::make(&EXT4_SMALL_INODES)).path()), "");
}

#[test]
fn methods_find_what_the_oracle_finds_on_xfs() {
    refused(&compare(&require!(Mount::make(&XFS)).path()), "xfs-bulkstat");
}

#[test]
fn methods_find_what_the_oracle_finds_on_btrfs() {
    refused(&compare(&require!(Mount::make(&BTRFS)).path()), "btrfs-search");
}

#[test]
fn methods_find_what_the_oracle_finds_on_tmpfs() {
    refused(&compare(&require!(Mount::make(&TMPFS)).path()), "");
}

#[test]
fn a_bulk_call_of_another_file_system_says_why_it_cannot_be_had() {
    let mount = require!(Mount::make(&TMPFS));
    let directory = Dir::open(mount.path()).unwrap();
    for (name, says) in [("xfs-bulkstat", "XFS"), ("btrfs-search", "btrfs")] {
        let method = crate::method::method_named(name).unwrap();
        let reason = unavailable(method, &directory).unwrap();
        assert!(reason.contains(says), "{name}: {reason}");
    }
}

/// Lists by getdents and asks by statx, but loses the last entry of every buffer, as the published loop does.
fn faulty(directory: &Dir, buffer_bytes: usize) -> ExpectedFiles {
    let options = ReadOptions { buffer_bytes, threads: 1, shares: 1, resolve_types: false };
    let mut reader = megadir::backend("getdents").unwrap().open(directory, &options).unwrap();
    let mut files = Files::default();
    while let Some(batch) = reader.next_batch().unwrap() {
        for entry in batch.entries().take(batch.len().saturating_sub(1)) {
            let path = directory.path().join(OsStr::from_bytes(entry.name));
            let metadata = std::fs::symlink_metadata(path).unwrap();
            if metadata.is_file() {
                use std::os::unix::fs::MetadataExt;
                let modified =
                    megadir::Time { seconds: metadata.mtime(), nanoseconds: metadata.mtime_nsec() as u32 };
                files.add(entry.name, metadata.len(), modified);
            }
        }
    }
    files.expected(true)
}

#[test]
fn a_method_that_loses_the_last_entry_of_a_buffer_is_caught() {
    let parent = tempfile::tempdir().unwrap();
    for index in 0..300 {
        std::fs::write(parent.path().join(format!("{index}")), "").unwrap();
    }
    let directory = Dir::open(parent.path()).unwrap();
    with_signals(|signals| {
        let truth = Truth::of(&directory, signals).unwrap().with_sizes;
        for buffer_bytes in [4 << 10, 1 << 20] {
            let lost = faulty(&directory, buffer_bytes);
            assert!(lost.files < truth.files && lost.hash != truth.hash, "{lost:?} {truth:?}");
        }
    });
}

#[test]
fn what_changes_is_seen_in_the_hash() {
    let parent = tempfile::tempdir().unwrap();
    let file = File::create(parent.path().join("file")).unwrap();
    file.set_modified(UNIX_EPOCH).unwrap();
    let directory = Dir::open(parent.path()).unwrap();
    with_signals(|signals| {
        let truth = || Truth::of(&directory, signals).unwrap();
        let before = truth();
        file.set_len(1).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        let longer = truth();
        assert_eq!(longer.times_only, before.times_only, "a size is no part of this one");
        assert_ne!(longer.with_sizes, before.with_sizes);
        file.set_modified(UNIX_EPOCH + Duration::from_nanos(1)).unwrap();
        assert_ne!(truth().times_only, longer.times_only);
        assert_ne!(truth().with_sizes, longer.with_sizes);
    });
}
