//! The choices for directories on real file systems, and their reasons.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::path::Path;

use megadir::policy::{Choice, choose, choose_freely, processors, threads};
use megadir::{Dir, Listing};
use megadir_testkit::mount::{self, Mount};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Names};

/// At least 1 MiB on ext4, XFS and btrfs.
const LARGE: Flat = Flat { entries: 16_000, names: Names::Longest, kinds: Kinds::Files, seed: 0 };

fn chosen(mount: &Path, flat: Flat, threads: usize) -> Choice {
    let path = flat.ensure(mount);
    let choice = choose(&Dir::open(&path).unwrap(), threads).unwrap();
    let mut listing = Listing::with_threads(&path, threads).unwrap();
    let mut entries = 0;
    while let Some(batch) = listing.next_batch().unwrap() {
        entries += batch.len() as u64;
    }
    assert_eq!(entries, flat.entries);
    assert_eq!(listing.choice().backend.name(), choice.backend.name());
    choice
}

fn is_split(mount: &Mount, shares: usize) {
    let choice = chosen(&mount.path(), LARGE, 2);
    assert_eq!(choice.backend.name(), "split", "{choice}");
    assert_eq!((choice.options.threads, choice.options.shares), (2, shares), "{choice}");
    assert!(choice.reason.contains("threads can read"), "{choice}");
    let directory = Dir::open(LARGE.ensure(&mount.path())).unwrap();
    let (freely, processors) = (choose_freely(&directory).unwrap(), processors());
    let most = threads(freely.file_system, processors);
    if most > 1 {
        assert_eq!((freely.options.threads, freely.options.threads_max), (processors, most), "{freely}");
        assert_eq!(freely.to_string().contains(" if uncached), up to "), most > processors, "{freely}");
    }
    let choice = chosen(&mount.path(), LARGE, 1);
    assert_eq!(choice.backend.name(), "getdents", "{choice}");
    assert!(choice.reason.contains("only one thread is allowed"), "{choice}");
    let choice = chosen(&mount.path(), Flat::plain(100), 2);
    assert_eq!(choice.backend.name(), "getdents", "{choice}");
    assert!(choice.reason.contains("too small"), "{choice}");
}

#[test]
fn large_directories_on_ext4_are_split() {
    is_split(&require!(Mount::make(&mount::EXT4)), 16);
}

#[test]
fn large_directories_on_xfs_are_split() {
    is_split(&require!(Mount::make(&mount::XFS)), 32);
}

#[test]
fn large_directories_on_btrfs_are_split() {
    is_split(&require!(Mount::make(&mount::BTRFS)), 32);
}

#[test]
fn tmpfs_is_read_by_getdents() {
    let mount = require!(Mount::make(&mount::TMPFS));
    let choice = chosen(&mount.path(), LARGE, 2);
    assert_eq!(choice.backend.name(), "getdents");
    let text = choice.to_string();
    assert!(text.starts_with("getdents on tmpfs, buffer 128 KiB, directory of "), "{text}");
    assert!(text.contains("descending positions"), "{text}");
}

#[test]
fn an_ext4_directory_without_index_is_read_by_getdents() {
    let mount = require!(Mount::make(&mount::EXT4_LINEAR));
    // Long names fill 1 MiB with few entries: without an index each create searches all entries before it.
    let flat = Flat { entries: 4500, ..LARGE };
    let choice = chosen(&mount.path(), flat, 2);
    assert!(choice.directory_bytes >= 1 << 20, "{choice}");
    assert_eq!(choice.backend.name(), "getdents");
    assert!(choice.reason.contains("cannot be divided"), "{choice}");
}
