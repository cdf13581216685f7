//! Dropping a reader early leaves no thread and no descriptor, and does not block for long. Threads are counted
//! for the whole process, so the tests of this file run one at a time.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use megadir::{
    AttributeListing, BACKENDS, Batch, Dir, ReadAhead, ReadOptions, StatMask, THREADS_MAX, Walk, WalkOptions,
    backend,
};
use megadir_testkit::PATIENCE;
use megadir_testkit::leaks::{descriptors_below, library_threads, settled};
use megadir_testkit::mount::{self, Mount, Recipe};
use megadir_testkit::require;
use megadir_testkit::require::full;
use megadir_testkit::stat_conformance::Hooked;
use megadir_testkit::stat_conformance::ways;
use megadir_testkit::tree::Flat;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Drops readers after zero, one and a few batches, repeatedly.
fn give_up_often(recipe: &Recipe) {
    let _alone = alone();
    let mount = require!(Mount::make(recipe));
    let path = Flat::plain(50_000).ensure(&mount.path());
    let directory = Dir::open(&path).unwrap();
    let rounds = if full() { 5000 } else { 150 };
    for backend in BACKENDS {
        let (threads, shares) = if backend.uses_threads() { (4, 64) } else { (1, 1) };
        let options = ReadOptions::serial(32 << 10).divided(threads, shares);
        for round in 0..rounds {
            let mut reader = backend.open(&directory, &options).unwrap();
            for _ in 0..[1, 0, 2, 7][round % 4] {
                reader.next_batch().unwrap().unwrap();
            }
        }
        assert_eq!(settled(library_threads), 0, "{}: threads left", backend.name());
        assert_eq!(settled(|| descriptors_below(&path) - 1), 0, "{}: descriptors left", backend.name());
    }
}

#[test]
fn readers_given_up_on_ext4_leave_nothing() {
    give_up_often(&mount::EXT4);
}

#[test]
fn readers_given_up_on_xfs_leave_nothing() {
    give_up_often(&mount::XFS);
}

#[test]
fn readers_given_up_on_btrfs_leave_nothing() {
    give_up_often(&mount::BTRFS);
}

#[test]
fn examined_listings_and_walks_given_up_or_broken_leave_nothing() {
    let _alone = alone();
    let mount = require!(Mount::make(&mount::EXT4));
    let path = Flat::plain(20_000).ensure(&mount.path());
    let directory = Dir::open(&path).unwrap();
    let stat_backend = megadir::stat_backend("statx").unwrap();
    let failing = |_: Batch<'_>| Err(Dir::open("/no/such/directory").unwrap_err());
    for broken in [false, true] {
        let stat_backend = if broken { Hooked::on_examine(stat_backend, failing) } else { stat_backend };
        for way in ways(stat_backend, &directory, StatMask::ALL, 8 << 10) {
            let rounds = if full() { 500 } else { 20 };
            for batches in [1, 0, 2, 7].into_iter().cycle().take(rounds) {
                let again = directory.again().unwrap();
                let mut listing = AttributeListing::with_choice(again, way).unwrap();
                let given =
                    (0..batches).map_while(|_| listing.next_batch().ok().flatten().map(|_| ())).count();
                assert!(given == 0 || !broken, "{way}");
            }
            assert_eq!(settled(library_threads), 0, "{way}: threads left");
            assert_eq!(settled(|| descriptors_below(&path) - 1), 0, "{way}: descriptors left");
        }
        let options = WalkOptions {
            buffer_bytes: 8 << 10,
            threads: 2,
            threads_max: 4,
            read_ahead: ReadAhead::Auto,
            queue_directories_max: 4,
            cross_mounts: false,
            examine: Some((stat_backend, StatMask::ALL)),
            report_ends: false,
            looks_again: false,
            conditions: None,
        };
        for items in [0, 1, 3] {
            let mut walk = Walk::new(Dir::open(mount.path()).unwrap(), &options).unwrap();
            (0..items).for_each(|_| drop(walk.next_item()));
        }
        assert_eq!(settled(library_threads), 0, "threads of the walk left");
        assert_eq!(settled(|| descriptors_below(&mount.path()) - 1), 0, "descriptors of the walk left");
    }
}

#[test]
fn a_reader_moved_to_another_thread_leaves_nothing() {
    let _alone = alone();
    let mount = require!(Mount::make(&mount::EXT4));
    let path = Flat::plain(20_000).ensure(&mount.path());
    let directory = Dir::open(&path).unwrap();
    let options = ReadOptions { resolve_types: true, ..ReadOptions::serial(4096) }.divided(THREADS_MAX, 1000);
    let mut reader = backend("split").unwrap().open(&directory, &options).unwrap();
    reader.next_batch().unwrap().unwrap();
    // A thread gets the library's name only when it runs. Threads may still wait for space in the queue.
    let deadline = Instant::now() + PATIENCE;
    while library_threads() == 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    let threads = library_threads();
    assert!(
        (1..THREADS_MAX).contains(&threads),
        "{threads}: at most as many as asked for, the caller's among them"
    );
    std::thread::spawn(move || drop(reader)).join().unwrap();
    assert_eq!(settled(library_threads), 0);
    assert_eq!(settled(|| descriptors_below(&path) - 1), 0);
}
