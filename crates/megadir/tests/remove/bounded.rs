//! Depth, memory and descriptors stay bounded.

use std::collections::HashMap;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::DirEntryExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use megadir::FileType;
use megadir::remove::budget::{Budget, Measure, Portion, SelectOptions, Selection, select};
use megadir::remove::{Progress, RemoveOptions};
use megadir_testkit::mount::{self, Mount};
use megadir_testkit::require;
use megadir_testkit::require::full;
use megadir_testkit::tree::{Flat, Maker};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::support::{empty, in_child, only, options, remove, watched};

/// Creates a chain of directories, with a file next to each of the first.
fn chain(directory: &Path, depth: u64) {
    fs::create_dir(directory).unwrap();
    let mut descriptor = rustix::fs::open(directory, OFlags::DIRECTORY, Mode::empty()).unwrap();
    for level in 0..depth {
        if level % 3 == 0 && level < 300 {
            rustix::fs::mknodat(&descriptor, "file", rustix::fs::FileType::RegularFile, Mode::RWXU, 0)
                .unwrap();
        }
        rustix::fs::mkdirat(&descriptor, "directory", Mode::RWXU).unwrap();
        descriptor = rustix::fs::openat(&descriptor, "directory", OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
}

fn limit_descriptors(to: u64) {
    setrlimit(Resource::Nofile, Rlimit { current: Some(to), maximum: Some(to) }).unwrap();
}

fn deep(test: &str, depth: u64, descriptors: u64, workers: usize) {
    let Some(grown_kib) = in_child(test) else {
        let scratch = tempfile::tempdir().unwrap();
        let tree = scratch.path().join("tree");
        chain(&tree, depth);
        limit_descriptors(descriptors);
        let removed = watched(|| remove(&tree, &options(workers))).unwrap();
        assert_eq!(removed.counts, only(depth.min(300).div_ceil(3), depth + 1));
        assert!(removed.complete && !tree.exists());
        return;
    };
    assert!(grown_kib < (8 << 10) + depth / 2, "{grown_kib} KiB for a depth of {depth}");
}

#[test]
fn a_chain_of_10_000_directories_needs_few_descriptors() {
    deep("bounded::a_chain_of_10_000_directories_needs_few_descriptors", 10_000, 64, 4);
}

#[test]
fn a_chain_is_removed_with_hardly_any_descriptor() {
    deep("bounded::a_chain_is_removed_with_hardly_any_descriptor", 300, 8, 2);
}

#[test]
fn a_chain_of_100_000_directories_is_removed() {
    let depth = if full() { 100_000 } else { 20_000 };
    deep("bounded::a_chain_of_100_000_directories_is_removed", depth, 64, 2);
}

/// Runs a closure and returns the peak number of the process's descriptors.
fn watch_descriptors<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let (most, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let open = fs::read_dir("/proc/self/fd").unwrap().count();
                most.fetch_max(open, Ordering::Relaxed);
            }
        });
        let ran = run();
        done.store(true, Ordering::Relaxed);
        (ran, most.load(Ordering::Relaxed))
    })
}

#[test]
fn workers_share_a_wide_and_deep_tree_within_a_limit_of_descriptors() {
    const TEST: &str = "bounded::workers_share_a_wide_and_deep_tree_within_a_limit_of_descriptors";
    let Some(grown_kib) = in_child(TEST) else {
        let scratch = tempfile::tempdir().unwrap();
        let tree = scratch.path().join("tree");
        fs::create_dir(&tree).unwrap();
        for index in 0..12 {
            chain(&tree.join(format!("chain{index}")), 400);
        }
        limit_descriptors(64);
        let (removed, most) = watched(|| watch_descriptors(|| remove(&tree, &options(16)).unwrap()));
        assert_eq!(removed.counts, only(12 * 100, 12 * 401 + 1));
        assert!(most <= 48, "{most} descriptors were open");
        return;
    };
    assert!(grown_kib < 24 << 10, "{grown_kib} KiB");
}

#[test]
fn descriptors_that_others_hold_are_waited_for() {
    const TEST: &str = "bounded::descriptors_that_others_hold_are_waited_for";
    let Some(_) = in_child(TEST) else {
        let scratch = tempfile::tempdir().unwrap();
        let tree = scratch.path().join("tree");
        chain(&tree, 50);
        limit_descriptors(32);
        let mut held: Vec<File> = std::iter::from_fn(|| File::open("/").ok()).collect();
        // Leave three: the parent, the root of the removal, and one more.
        held.truncate(held.len() - 3);
        let releases = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(150));
            drop(held);
        });
        let removed = watched(|| remove(&tree, &options(2)).unwrap());
        releases.join().unwrap();
        assert!(removed.complete, "{removed:?}");
        return;
    };
}

#[test]
fn a_large_directory_takes_no_more_memory_than_its_window() {
    const TEST: &str = "bounded::a_large_directory_takes_no_more_memory_than_its_window";
    let entries = if full() { 390_000 } else { 150_000 };
    require!(Mount::make(&mount::TMPFS).map(drop));
    let Some(grown_kib) = in_child(TEST) else {
        let mount = require!(Mount::make(&mount::EXT4));
        let tree = mount.path().join("tree");
        Flat::plain(entries).build(&tree);
        let removed = watched(|| empty(&tree, &options(2)).unwrap());
        assert_eq!(removed.counts, only(entries, 0));
        return;
    };
    assert!(grown_kib < 32 << 10, "{grown_kib} KiB for {entries} entries");
}

/// Unbounded, the longest names would take 15 MiB here, and 250 MiB for a million.
#[test]
fn directories_that_wait_are_bounded() {
    const TEST: &str = "bounded::directories_that_wait_are_bounded";
    let directories = if full() { 400_000 } else { 60_000 };
    require!(Mount::make(&mount::TMPFS).map(drop));
    let Some(grown_kib) = in_child(TEST) else {
        let mount = require!(Mount::make(&mount::TMPFS));
        let tree = mount.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let maker = Maker::open(&tree);
        for index in 0..directories {
            maker.make(format!("{index:0250}").as_bytes(), FileType::Directory);
        }
        for index in 0..100 {
            maker.make(format!("file{index}").as_bytes(), FileType::File);
        }
        let dry = RemoveOptions { dry_run: true, ..options(2) };
        let removed = watched(|| {
            let counted = remove(&tree, &dry).unwrap().counts;
            assert_eq!((counted.entries, counted.directories), (100, directories + 1));
            remove(&tree, &options(2)).unwrap()
        });
        assert_eq!(removed.counts, only(100, directories + 1));
        return;
    };
    assert!(grown_kib < 20 << 10, "{grown_kib} KiB for {directories} directories");
}

/// Names so long that the records take 5 MiB.
#[test]
fn ext4_directory_is_removed_in_one_order_of_inodes() {
    let mount = require!(Mount::make(&mount::EXT4));
    let tree = mount.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let maker = Maker::open(&tree);
    for index in 0..24_000 {
        maker.make(format!("{index:0200}").as_bytes(), FileType::File);
    }
    let inodes: HashMap<Vec<u8>, u64> = fs::read_dir(&tree)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_encoded_bytes(), entry.ino()))
        .collect();
    let (last, begun_again) = (AtomicU64::new(0), AtomicUsize::new(0));
    let watches = |name: &[u8]| {
        let before = last.swap(inodes[name], Ordering::Relaxed);
        begun_again.fetch_add(usize::from(before > inodes[name]), Ordering::Relaxed);
        true
    };
    let removed = empty(&tree, &RemoveOptions { name: Some(&watches), ..options(2) }).unwrap();
    assert_eq!(removed.counts, only(24_000, 0));
    assert_eq!(begun_again.load(Ordering::Relaxed), 0, "each block of inodes is gone through once");
}

fn selected(tree: &Path, options: &SelectOptions) -> Selection {
    let opened = megadir::Dir::open(tree).unwrap();
    select(&opened, options, &mut |_| ControlFlow::Continue(())).unwrap().unwrap()
}

/// Rows of all files would take 12 MiB here: the tree is read several times.
#[test]
fn a_budget_selects_exactly_from_many_files_in_bounded_memory() {
    const TEST: &str = "bounded::a_budget_selects_exactly_from_many_files_in_bounded_memory";
    require!(Mount::make(&mount::TMPFS).map(drop));
    let entries = if full() { 1_000_000 } else { 150_000 };
    let Some(grown_kib) = in_child(TEST) else {
        let mount = require!(Mount::make(&mount::TMPFS));
        let tree = mount.path().join("tree");
        Flat::plain(entries).build(&tree);
        let budget = Budget::Holds(Measure::Files, entries / 2);
        let select_options = SelectOptions { memory_bytes: 2 << 20, ..SelectOptions::new(budget) };
        let (removed, outcome) = watched(|| {
            let mut selection = selected(&tree, &select_options);
            (selection.remove(&options(2), &Progress::new()).unwrap(), selection.outcome())
        });
        assert_eq!((removed.counts.entries, outcome.now, outcome.is_met), (entries / 2, entries / 2, true));
        return;
    };
    assert!(grown_kib < 16 << 10, "{grown_kib} KiB for {entries} files");
}

/// As soon as someone has freed enough, no further file goes.
#[test]
fn a_budget_of_free_space_ends_when_others_have_freed_enough() {
    let mount = require!(Mount::make(&mount::TMPFS));
    let tree = mount.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let ballast = mount.path().join("ballast");
    fs::write(&ballast, vec![1; 8 << 20]).unwrap();
    for index in 0..500 {
        fs::write(tree.join(index.to_string()), vec![1; 4096]).unwrap();
    }
    let status = rustix::fs::statvfs(mount.path().as_path()).unwrap();
    let wanted = status.f_bavail * status.f_frsize + 400 * 4096;
    let budget = Budget::Free(Measure::Bytes, Portion::Exact(wanted));
    let mut selection = selected(&tree, &SelectOptions::new(budget));
    assert_eq!(selection.outcome().selected.files, 400);
    let announced = AtomicU64::new(0);
    let frees = |_: &Path, _| {
        if announced.fetch_add(1, Ordering::Relaxed) == 10 {
            fs::remove_file(&ballast).unwrap();
        }
        true
    };
    let options = RemoveOptions { on_removal: Some(&frees), ..options(2) };
    let removed = selection.remove(&options, &Progress::new()).unwrap();
    let outcome = selection.outcome();
    assert_eq!(removed.counts.entries, 11);
    assert!(outcome.is_met && outcome.now >= wanted, "{outcome:?}");
}
