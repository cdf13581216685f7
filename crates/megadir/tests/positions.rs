//! Positions in directories of the file systems that the lab can make: the reason for each row of
//! the policy, and the table in docs/file-systems.md. `cargo xtask emulated` runs it on kernels that have
//! the drivers.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]
#![expect(clippy::print_stdout, reason = "the ranges of positions are worth seeing")]

use std::collections::BTreeMap;
use std::fs::File;
use std::mem::MaybeUninit;
use std::path::Path;

use megadir::{Dir, FileType, ReadOptions, backend};
use megadir_testkit::mount::{Mount, Recipe};
use megadir_testkit::require;
use megadir_testkit::seen::{assert_same, identities, list, oracle};
use megadir_testkit::tree::{Flat, Maker};
use rustix::fs::{RawDir, SeekFrom, seek};

const ENTRIES: u64 = 2000;
const NAME_BYTES: usize = 16;

/// An entry's position is the offset in the record before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Positions {
    ascend: bool,
    /// A reader that starts at an entry's position begins with that entry.
    resume: bool,
    /// A reader that starts between two positions begins with one of the two entries. With `ascend`, a listing
    /// can be divided.
    divide: bool,
    /// A reader that starts at the position of a removed entry begins with the next.
    outlast_removal: bool,
    /// Entries keep their positions while others are created and removed.
    stay: bool,
}

/// A listing can be divided.
const DIVISIBLE: Positions =
    Positions { ascend: true, resume: true, divide: true, outlast_removal: true, stay: true };

#[test]
fn on_ext4() {
    expect("ext4", &[DIVISIBLE]);
}

#[test]
fn on_xfs() {
    expect("xfs", &[DIVISIBLE]);
}

#[test]
fn on_btrfs() {
    expect("btrfs", &[DIVISIBLE]);
}

#[test]
fn on_f2fs() {
    expect("f2fs", &[DIVISIBLE]);
}

#[test]
fn on_reiserfs() {
    // The offset before an entry is the previous entry's offset plus one.
    expect("reiserfs", &[Positions { stay: false, ..DIVISIBLE }]);
}

#[test]
fn on_jfs() {
    expect("jfs", &[Positions { ascend: false, divide: false, ..DIVISIBLE }]);
}

#[test]
fn on_nilfs2() {
    // Linux 5.10 cannot begin to read in the middle of a record.
    expect("nilfs2", &[DIVISIBLE, Positions { divide: false, ..DIVISIBLE }]);
}

#[test]
fn on_ntfs3() {
    expect("ntfs3", &[Positions { outlast_removal: false, stay: false, ..DIVISIBLE }]);
}

#[test]
fn on_exfat() {
    expect("exfat", &[DIVISIBLE]);
}

/// More than one if it depends on the version of the kernel.
fn expect(name: &str, expected: &[Positions]) {
    let mount = match Mount::make(&Recipe::of_lab(name)) {
        Ok(mount) => mount,
        Err(why) => return require::unavailable(&format!("positions::on_{name}"), &why),
    };
    let directory = mount.path().join("d");
    let flat = Flat::plain(ENTRIES);
    flat.build(&directory);
    every_backend_lists_it(&directory);
    let found = measured(&directory, &flat);
    assert!(expected.contains(&found), "{name}: {found:?}, expected {expected:?}");
    every_backend_lists_it(&directory);
}

fn every_backend_lists_it(directory: &Path) {
    let directory = Dir::open(directory).unwrap();
    let expected = oracle(&directory);
    for name in ["std", "readdir", "getdents"] {
        for buffer_bytes in [4 << 10, 128 << 10] {
            // JFS and ReiserFS have no types in their directories.
            let options = ReadOptions { resolve_types: true, ..ReadOptions::serial(buffer_bytes) };
            let found = list(backend(name).unwrap(), &directory, &options).unwrap();
            assert_same(&identities(&found), &expected, name);
        }
    }
}

fn measured(directory: &Path, flat: &Flat) -> Positions {
    let before = entries(directory);
    assert_eq!(before.len() as u64, ENTRIES);
    let positions: Vec<u64> = before.iter().map(|entry| entry.1).collect();
    println!(
        "{} positions from {:#x} to {:#x}",
        positions.len(),
        positions[0],
        positions[positions.len() - 1]
    );
    println!("first {:x?}", &positions[..8]);
    let begins_with =
        |at: u64, index: usize| first_from(directory, at).is_some_and(|name| name == before[index].0);
    let sample = (1..before.len() - 1).step_by(29);
    // Entries with the same position are indistinguishable.
    let distinct = sample.clone().filter(|index| positions[index - 1] != positions[*index]);
    let resume = distinct.clone().all(|index| begins_with(positions[index], index));
    let divide = distinct.clone().all(|index| {
        let gap = positions[index].saturating_sub(positions[index - 1]);
        let begins = [1, gap / 2].map(|part| {
            let at = positions[index - 1] + part;
            (begins_with(at, index - 1), begins_with(at, index))
        });
        gap < 2 || matches!(begins, [(true, _), (true, _)] | [(true, _), (_, true)] | [(_, true), (_, true)])
    });
    let maker = Maker::open(directory);
    let outlast_removal = distinct.clone().all(|index| {
        maker.remove(&before[index].0);
        begins_with(positions[index], index + 1)
    });
    for number in 0..ENTRIES {
        maker.make(&Flat { seed: 1, ..*flat }.name(number), FileType::File);
    }
    let after: BTreeMap<Name, u64> = entries(directory).into_iter().collect();
    let stay = before.iter().all(|(name, position)| after.get(name).is_none_or(|now| now == position));
    Positions { ascend: positions.is_sorted(), resume, divide, outlast_removal, stay }
}

type Name = [u8; NAME_BYTES];

/// In the order of the listing, with positions; without `.` and `..`.
fn entries(directory: &Path) -> Vec<(Name, u64)> {
    let file = File::open(directory).unwrap();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = RawDir::new(&file, &mut buffer);
    let (mut all, mut position) = (Vec::new(), 0);
    while let Some(entry) = reader.next() {
        let entry = entry.unwrap();
        all.extend(name(entry.file_name().to_bytes()).map(|name| (name, position)));
        position = entry.next_entry_cookie();
    }
    all
}

/// `None` at the end, and for a position that is an error.
fn first_from(directory: &Path, position: u64) -> Option<Name> {
    let file = File::open(directory).unwrap();
    seek(&file, SeekFrom::Start(position)).ok()?;
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = RawDir::new(&file, &mut buffer);
    while let Some(Ok(entry)) = reader.next() {
        if let Some(name) = name(entry.file_name().to_bytes()) {
            return Some(name);
        }
    }
    None
}

fn name(bytes: &[u8]) -> Option<Name> {
    bytes.try_into().ok()
}
