//! The strategy for reading attributes on real file systems, and the reason given for it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::path::Path;

use megadir::attribute_policy::{choose, row};
use megadir::{AttributeChoice, AttributeListing, Dir, FileSystem, StatMask, Strategy};
use megadir_testkit::mount::{self, Mount};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Names};

/// At least 1 MiB on ext4, XFS and btrfs, so it is split there.
const LARGE: Flat = Flat { entries: 16_000, names: Names::Longest, kinds: Kinds::Files, seed: 0 };
/// At least 256 KiB, and less than 1 MiB on ext4, XFS and btrfs.
const MIDDLE: Flat = Flat { entries: 1500, ..LARGE };
const SMALL: Flat = Flat { entries: 100, ..LARGE };

const TOO_SMALL: &str = "the directory is too small for a second thread to help";

/// Returns the choice for a directory, after checking that it lists and examines all entries.
fn chosen(mount: &Path, flat: Flat, threads: usize) -> AttributeChoice {
    let path = flat.ensure(mount);
    let choice = choose(&Dir::open(&path).unwrap(), StatMask::SIZE, threads).unwrap();
    let mut listing = AttributeListing::open(&path, StatMask::SIZE, threads).unwrap();
    assert_eq!(listing.choice().to_string(), choice.to_string());
    let mut entries = 0;
    while let Some(batch) = listing.next_batch().unwrap() {
        assert!(batch.entries().all(|(_, row)| row.have == StatMask::SIZE && row.error == 0));
        entries += batch.len() as u64;
    }
    assert_eq!(entries, flat.entries);
    assert_eq!(choice.stat_backend.name(), "statx", "{choice}");
    choice
}

/// Asserts the choices on a file system whose large directories are split.
fn is_shared_out(mount: &Path, file_system: FileSystem) {
    assert_eq!(Dir::open(mount).unwrap().file_system(), file_system);
    let choice = chosen(mount, LARGE, 2);
    let reason = row(file_system).reason;
    assert_eq!((choice.strategy, choice.reason), (Strategy::Shares, reason), "{choice}");
    assert_eq!((choice.listing.backend.name(), choice.listing.options.threads), ("split", 2), "{choice}");
    assert!(choice.to_string().contains(&format!(" shares ({reason}); listed by split on ")), "{choice}");
    let choice = chosen(mount, MIDDLE, 2);
    assert_eq!(choice.strategy, Strategy::Chunks { threads: 2 }, "{choice}");
    assert!(choice.reason.starts_with("one thread lists this directory"), "{choice}");
    assert_eq!((choice.listing.backend.name(), choice.listing.options.buffer_bytes), ("getdents", 72 << 10));
    for flat in [SMALL, MIDDLE, LARGE] {
        let choice = chosen(mount, flat, 1);
        assert_eq!((choice.strategy, choice.reason), (Strategy::AtOnce, "only one thread is allowed"));
        assert_eq!(choice.listing.backend.name(), "getdents");
    }
}

#[test]
fn ext4() {
    let mount = require!(Mount::make(&mount::EXT4));
    is_shared_out(&mount.path(), FileSystem::Ext4);
    let choice = chosen(&mount.path(), SMALL, 2);
    assert_eq!((choice.strategy, choice.reason), (Strategy::AtOnce, TOO_SMALL), "{choice}");
}

#[test]
fn ext4_without_indices() {
    let mount = require!(Mount::make(&mount::EXT4_LINEAR));
    let flat = Flat { entries: 4500, ..LARGE };
    let choice = chosen(&mount.path(), flat, 2);
    assert_eq!(choice.strategy, Strategy::Chunks { threads: 2 }, "{choice}");
    assert!(choice.listing.directory_bytes > 1 << 20, "{choice}");
    assert!(choice.reason.starts_with("one thread lists this directory"), "{choice}");
}

#[test]
fn xfs() {
    let mount = require!(Mount::make(&mount::XFS));
    is_shared_out(&mount.path(), FileSystem::Xfs);
    let choice = chosen(&mount.path(), SMALL, 2);
    assert_eq!((choice.strategy, choice.reason), (Strategy::AtOnce, TOO_SMALL), "{choice}");
}

#[test]
fn btrfs() {
    let mount = require!(Mount::make(&mount::BTRFS));
    is_shared_out(&mount.path(), FileSystem::Btrfs);
    let choice = chosen(&mount.path(), SMALL, 2);
    assert_eq!(choice.strategy, Strategy::Chunks { threads: 2 }, "{choice}");
}

#[test]
fn tmpfs() {
    let mount = require!(Mount::make(&mount::TMPFS));
    let reason = row(FileSystem::Tmpfs).reason;
    let choice = chosen(&mount.path(), LARGE, 2);
    assert_eq!((choice.strategy, choice.reason), (Strategy::Chunks { threads: 2 }, reason), "{choice}");
    let shown = choice.to_string();
    assert!(shown.contains(" in chunks, 2 threads (the listing cannot be divided, but "), "{shown}");
    let choice = chosen(&mount.path(), SMALL, 2);
    assert_eq!((choice.strategy, choice.reason), (Strategy::AtOnce, TOO_SMALL), "{choice}");
}

#[test]
fn a_file_system_without_a_row() {
    let choice = choose(&Dir::open("/proc").unwrap(), StatMask::SIZE, 2).unwrap();
    assert_eq!((choice.strategy, choice.reason), (Strategy::AtOnce, TOO_SMALL), "{choice}");
    assert_eq!(choice.listing.file_system, FileSystem::Other(0x9fa0));
}
