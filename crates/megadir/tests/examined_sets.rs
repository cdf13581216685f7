//! Listings with attributes return every entry once with the attributes that a serial `std` returns, for any
//! strategy, threads, buffers and windows, on real ext4, XFS, btrfs and tmpfs.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::cell::Cell;
use std::path::Path;

use megadir::policy::{self, Choice};
use megadir::{AttributeChoice, Dir, ReadOptions, STAT_BACKENDS, StatMask, Strategy as Way, backend};
use megadir_testkit::mount::{self, Mount, Recipe};
use megadir_testkit::require;
use megadir_testkit::stat_conformance::FIELDS;
use megadir_testkit::stat_conformance::{Ground, trees};
use megadir_testkit::tree::{Flat, Kinds, Maker, Names};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A directory, and how it is listed.
#[derive(Clone, Debug)]
struct Case {
    entries: u64,
    names: Names,
    kinds: Kinds,
    seed: u64,
    /// Every `removed`-th entry is removed before the listing.
    removed: u64,
    buffer_bytes: usize,
    threads: usize,
    shares: usize,
    window: usize,
    want: Vec<usize>,
}

fn cases() -> impl Strategy<Value = Case> {
    let entries = prop_oneof![0..40u64, 200..400u64, 1000..3000u64];
    let names = prop_oneof![
        Just(Names::Plain),
        Just(Names::Varied),
        Just(Names::Shortest),
        Just(Names::Longest),
        Just(Names::NotUtf8)
    ];
    let kinds = prop_oneof![Just(Kinds::Files), Just(Kinds::Mixed)];
    let directory = (entries, names, kinds, any::<u64>(), prop_oneof![Just(u64::MAX), 2..5u64]);
    let buffer_bytes = prop_oneof![Just(4 << 10), 4096..16_384usize, Just(128 << 10)];
    let window = prop_oneof![1..10usize, 250..520usize, 1..5000usize];
    let listing =
        (buffer_bytes, 1..6usize, 1..40usize, window, prop::collection::vec(0..FIELDS.len(), 0..11));
    (directory, listing).prop_map(
        |((entries, names, kinds, seed, removed), (buffer_bytes, threads, shares, window, want))| Case {
            entries,
            names,
            kinds,
            seed,
            removed,
            buffer_bytes,
            threads,
            shares,
            window,
            want,
        },
    )
}

/// Tries random cases on a file system.
fn hold(recipe: &Recipe) {
    let mount = require!(Mount::make(recipe));
    let cases_tried = if require::full() { 500 } else { 12 };
    let config = Config { cases: cases_tried, failure_persistence: None, ..Config::default() };
    let number = Cell::new(0);
    TestRunner::new(config)
        .run(&cases(), |case| {
            let number = number.replace(number.get() + 1);
            let path = mount.path().join(number.to_string());
            std::fs::create_dir(&path).unwrap();
            every_strategy(&case, &path, number % 3 == 0);
            std::fs::remove_dir_all(&path).unwrap();
            Ok(())
        })
        .unwrap_or_else(|failed| panic!("{failed}"));
}

fn every_strategy(case: &Case, path: &Path, settled: bool) {
    let flat = Flat { entries: case.entries, names: case.names, kinds: case.kinds, seed: case.seed };
    trees::fill_with(path, &flat);
    let maker = Maker::open(path);
    let files = (0..case.entries).filter(|index| flat.kind(*index) == megadir::FileType::File);
    files.filter(|index| index % case.removed == 1).for_each(|index| maker.remove(&flat.name(index)));
    let truth = trees::oracle(path);
    let directory = Dir::open(path).unwrap();
    let picked = policy::choose(&directory, 1).unwrap();
    let listed = |name, threads, shares| {
        let options = ReadOptions::serial(case.buffer_bytes).divided(threads, shares);
        Choice { backend: backend(name).unwrap(), options, ..picked }
    };
    let threads = case.threads;
    let mut ways = vec![
        (listed("getdents", 1, 1), Way::Chunks { threads }),
        (listed("getdents", 1, 1), Way::Windows { entries: case.window, threads }),
    ];
    if backend("split").unwrap().probe(&directory).is_ok() {
        ways.push((listed("split", threads, case.shares), Way::Shares));
    }
    let want = case.want.iter().map(|index| FIELDS[*index]).collect::<StatMask>();
    for stat_backend in STAT_BACKENDS.iter().filter(|stat_backend| stat_backend.probe(&directory).is_ok()) {
        let ground = Ground::new(*stat_backend, path);
        if settled {
            ground.settle(path);
        }
        for (listing, strategy) in &ways {
            let reason = "the test tries every strategy";
            let choice = AttributeChoice {
                listing: *listing,
                strategy: *strategy,
                stat_backend: *stat_backend,
                want,
                slow_device: matches!(strategy, Way::Windows { .. }),
                reason,
            };
            ground.same(&directory, &choice, &truth);
        }
    }
}

#[test]
fn the_set_equals_the_set_of_std_on_ext4() {
    hold(&mount::EXT4);
}

#[test]
fn the_set_equals_the_set_of_std_on_xfs() {
    hold(&mount::XFS);
}

#[test]
fn the_set_equals_the_set_of_std_on_btrfs() {
    hold(&mount::BTRFS);
}

#[test]
fn the_set_equals_the_set_of_std_on_tmpfs() {
    hold(&mount::TMPFS);
}
