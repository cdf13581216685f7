//! Reading a directory's blocks ahead: what the device's cache then holds, and that the listing is the same.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use megadir::policy::{self, Choice};
use megadir::{
    AttributeListing, Dir, ErrorKind, Listing, PartialLimits, PartialWalk, ReadAhead, ReadOptions, StatMask,
    Strategy, WalkItem, WalkOptions, attribute_policy, backend, block_device,
};
use megadir_sys::page_cache::resident;
use megadir_testkit::PATIENCE;
use megadir_testkit::mount::{BTRFS, EXT4, EXT4_LINEAR, Mount, Recipe, XFS};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Names};
use megadir_testkit::unprivileged::unprivileged;

const ENTRIES: u64 = 18_000;

/// Names of 255 bytes: a directory of more than 4 MiB.
fn tree(entries: u64) -> Flat {
    Flat { names: Names::Longest, ..Flat::plain(entries) }
}

fn mounted(recipe: &Recipe, entries: u64) -> Result<Mount, String> {
    let mut mount = Mount::make(recipe)?;
    tree(entries).build(&mount.path().join("large"));
    // Uncached.
    mount.remount(|_| Ok(()))?;
    Ok(mount)
}

fn open(directory: &Dir, read_ahead: ReadAhead, threads: usize) -> megadir::Result<Listing> {
    let mut choice = policy::choose(directory, threads)?;
    choice.options.read_ahead = read_ahead;
    choice.options.buffer_bytes = 32 << 10;
    Listing::with_choice(directory, choice)
}

fn cached_bytes(directory: &Dir) -> u64 {
    let device = block_device(directory).unwrap();
    resident(device.as_fd()).unwrap().cached * rustix::param::page_size() as u64
}

/// Time for the device: ample where blocks must come.
fn limit(read_ahead: ReadAhead) -> Duration {
    match read_ahead {
        ReadAhead::Always => PATIENCE,
        ReadAhead::Auto | ReadAhead::Never => Duration::from_millis(500),
    }
}

/// Reads the first batch, and waits until the device has read what it was asked for.
fn cached_after_the_first_batch(mount: &Mount, read_ahead: ReadAhead, threads: usize) -> (u64, u64) {
    let directory = Dir::open(mount.path().join("large")).unwrap();
    let before = cached_bytes(&directory);
    let mut listing = open(&directory, read_ahead, threads).unwrap();
    let first = listing.next_batch().unwrap().unwrap().len() as u64;
    let directory_bytes = directory.size_bytes().unwrap();
    let started = Instant::now();
    let mut cached = cached_bytes(&directory) - before;
    while cached < directory_bytes && started.elapsed() < limit(read_ahead) {
        std::thread::sleep(Duration::from_millis(5));
        cached = cached_bytes(&directory) - before;
    }
    assert_eq!(first + count(listing), ENTRIES);
    (cached, directory_bytes)
}

#[test]
fn an_uncached_directory_is_read_ahead_and_otherwise_block_by_block() {
    let mut mount = require!(mounted(&EXT4, ENTRIES));
    let (cached, directory_bytes) = cached_after_the_first_batch(&mount, ReadAhead::Never, 1);
    assert!(directory_bytes >= 4 << 20 && cached < directory_bytes / 2, "{cached} of {directory_bytes}");
    for (read_ahead, threads) in [(ReadAhead::Auto, 1), (ReadAhead::Auto, 2), (ReadAhead::Always, 1)] {
        mount.remount(|_| Ok(())).unwrap();
        let (cached, directory_bytes) = cached_after_the_first_batch(&mount, read_ahead, threads);
        assert!(cached >= directory_bytes, "{read_ahead:?}: {cached} of {directory_bytes}");
    }
}

/// Walks the first of the ranges that the directory `large` is divided into. Returns the cached bytes, once the device has
/// read what it was asked for.
fn cached_after_a_range(mount: &Mount, read_ahead: ReadAhead) -> Result<(u64, u64), String> {
    let directory = || Dir::open(mount.path().join("large")).unwrap();
    let options = WalkOptions { read_ahead: ReadAhead::Never, ..WalkOptions::new(1) };
    let limits = PartialLimits { unvisited_max: 10, entries_per_range: ENTRIES / 4 };
    let mut whole = PartialWalk::new(directory(), None, &options, limits).unwrap();
    assert!(whole.next_item().is_none());
    let range = whole.unvisited()[0].range.unwrap();
    let directory_bytes = directory().size_bytes().unwrap();
    let before = cached_bytes(&directory());
    let options = WalkOptions { read_ahead, ..options };
    let mut walk = PartialWalk::new(directory(), Some(range), &options, limits).unwrap();
    match walk.next_item() {
        Some(WalkItem::Batch { .. }) => {}
        Some(WalkItem::Error(error)) => return Err(error.to_string()),
        other => panic!("{other:?}"),
    }
    let started = Instant::now();
    let mut cached = cached_bytes(&directory()) - before;
    while cached < directory_bytes / 2 && started.elapsed() < limit(read_ahead) {
        std::thread::sleep(Duration::from_millis(5));
        cached = cached_bytes(&directory()) - before;
    }
    Ok((cached, directory_bytes))
}

#[test]
fn for_a_range_it_is_done_or_refused_if_it_is_demanded_and_else_left() {
    let mut mount = require!(mounted(&EXT4, ENTRIES));
    let (cached, directory_bytes) = cached_after_a_range(&mount, ReadAhead::Auto).unwrap();
    assert!(cached < directory_bytes / 2, "{cached} of {directory_bytes}");
    mount.remount(|_| Ok(())).unwrap();
    let (cached, directory_bytes) = cached_after_a_range(&mount, ReadAhead::Always).unwrap();
    assert!(cached >= directory_bytes / 2, "{cached} of {directory_bytes}");
    let mount = require!(mounted(&XFS, ENTRIES));
    let refused = cached_after_a_range(&mount, ReadAhead::Always).unwrap_err();
    assert!(refused.contains("xfs does not keep its directories in the device's cache"), "{refused}");
}

#[test]
fn where_it_is_impossible_it_is_refused_only_if_it_was_demanded() {
    for recipe in [XFS, EXT4_LINEAR] {
        let mount = require!(mounted(&recipe, 2000));
        let directory = Dir::open(mount.path().join("large")).unwrap();
        let opened = open(&directory, ReadAhead::Always, 1).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(opened.is_ok(), recipe.kind == "ext4", "{opened:?}");
        assert!(opened.is_ok() || opened.unwrap_err().contains("ext2, ext3 and ext4"));
        let entries = count(open(&directory, ReadAhead::Auto, 2).unwrap());
        let refused = unprivileged(|| {
            assert_eq!(count(open(&directory, ReadAhead::Auto, 2).unwrap()), entries);
            open(&directory, ReadAhead::Always, 1).map(|_| ()).unwrap_err()
        });
        assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
    }
}

/// The other tests of this program have at most one thread more than the caller's. A thread is named after it starts.
fn has_a_fifth_thread(is_expected: bool) -> bool {
    let is_fifth = |task: std::io::Result<std::fs::DirEntry>| {
        let name = std::fs::read_to_string(task.unwrap().path().join("comm"));
        name.is_ok_and(|name| name.trim_end() == "megadir-split-4")
    };
    let limit = Duration::from_millis(if is_expected { 5000 } else { 50 });
    let started = Instant::now();
    let mut found = false;
    while !found && started.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(5));
        found = std::fs::read_dir("/proc/self/task").unwrap().any(is_fifth);
    }
    found
}

#[test]
fn more_threads_read_an_uncached_directory() {
    for recipe in [EXT4, XFS, BTRFS] {
        let mut mount = require!(mounted(&recipe, ENTRIES));
        for is_cached in [false, true, false] {
            if !is_cached {
                mount.remount(|_| Ok(())).unwrap();
            }
            let directory = Dir::open(mount.path().join("large")).unwrap();
            let options =
                ReadOptions { threads: 2, threads_max: 6, ..ReadOptions::serial(32 << 10).divided(2, 60) };
            let choice = Choice {
                backend: backend("split").unwrap(),
                options,
                ..policy::choose(&directory, 1).unwrap()
            };
            let mut listing = Listing::with_choice(&directory, choice).unwrap();
            let first = listing.next_batch().unwrap().unwrap().len() as u64;
            assert_eq!(has_a_fifth_thread(!is_cached), !is_cached, "{}", recipe.kind);
            assert_eq!(first + count(listing), ENTRIES, "{}", recipe.kind);
        }
        mount.remount(|_| Ok(())).unwrap();
        let directory = Dir::open(mount.path().join("large")).unwrap();
        let choice = attribute_policy::choose_freely(&directory, StatMask::SIZE).unwrap();
        // On a busy machine the image may answer as slowly as a rotating disk.
        assert_eq!(choice.strategy == Strategy::Shares, !choice.slow_device, "{choice}");
        let mut listing = AttributeListing::with_choice(directory, choice).unwrap();
        let mut entries = 0;
        while let Some(batch) = listing.next_batch().unwrap() {
            assert!(batch.entries().all(|(_, row)| row.have == StatMask::SIZE && row.error == 0));
            entries += batch.len() as u64;
        }
        assert_eq!(entries, ENTRIES, "{}", recipe.kind);
    }
}

fn count(mut listing: Listing) -> u64 {
    let mut entries = 0;
    while let Some(batch) = listing.next_batch().unwrap() {
        entries += batch.len() as u64;
    }
    entries
}
