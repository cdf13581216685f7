//! Random trees with random changes between scans.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use megadir_inventory::changes::{CompareOptions, Counted, Gains, Watch, compare, compare_inventories};
use megadir_inventory::{Inventory, Rows, Sink, Snapshot, WriteOptions, Writer};

use crate::operations::Changer;
use crate::oracle::{self, Listing};
use crate::replay;

#[cfg(target_os = "linux")]
#[path = "property/linux.rs"]
mod system;
#[cfg(windows)]
#[path = "property/windows.rs"]
mod system;

/// Sequences that share one wait until their trees are older than the clock's granule.
const TOGETHER: u64 = 50;
/// Age at which a timestamp is no longer racy at the start of a scan.
const OLD_AFTER: Duration = Duration::from_millis(130);
/// Scans in a sequence, including the first.
const SCANS: u64 = 3;

struct Sequence {
    seed: u64,
    path: std::path::PathBuf,
    snapshot: Snapshot,
    listed: Listing,
}

/// Runs `sequences` sequences below a directory.
fn sequences(base: &Path, first: u64, sequences: u64) {
    let mut left = sequences;
    while left > 0 {
        let now = left.min(TOGETHER);
        together(base, first + sequences - left, now);
        left -= now;
    }
}

/// Creates trees, scans them (some while still racy), then changes and compares them several times.
fn together(base: &Path, first: u64, number: u64) {
    let paths: Vec<_> = (first..first + number).map(|seed| (seed, base.join(seed.to_string()))).collect();
    for (seed, path) in &paths {
        std::fs::create_dir(path).unwrap();
        let mut changer = Changer::new(path, seed.wrapping_mul(7), system::has_hard_links(*seed));
        let entries = changer.rng().within(0, 30);
        changer.build(entries);
    }
    std::thread::sleep(OLD_AFTER);
    let mut all: Vec<Sequence> = paths
        .into_iter()
        .map(|(seed, path)| {
            // Leaves some entries younger than a granule.
            if seed % 3 == 0 {
                Changer::new(&path, seed, system::has_hard_links(seed)).build(3);
            }
            let threads = 1 + seed as usize % 2;
            let snapshot = system::scan(&path, threads, seed);
            let listed = oracle::listing(&path, system::has_hard_links(seed));
            assert_eq!(oracle::of_rows(&mut snapshot.rows()), listed, "seed {seed}: the scan");
            Sequence { seed, path, snapshot, listed }
        })
        .collect();
    for scan in 1..SCANS {
        for sequence in &mut all {
            round(sequence, scan);
        }
        if scan == 1 {
            // Makes the changes old enough for the next comparison, but not for this scan.
            std::thread::sleep(OLD_AFTER);
        }
    }
    for sequence in all {
        std::fs::remove_dir_all(sequence.path).unwrap();
    }
}

fn round(sequence: &mut Sequence, scan: u64) {
    let Sequence { seed, path, snapshot, listed } = sequence;
    let mut changer =
        Changer::new(path, seed.wrapping_mul(1000).wrapping_add(scan), system::has_hard_links(*seed));
    let mut done = Vec::new();
    for _ in 0..changer.rng().within(0, 12) {
        done.push(changer.change());
    }
    let started_ns = snapshot.metadata().started_ns;
    let options = CompareOptions {
        threads: 1 + changer.rng().within(0, 1) as usize,
        skip_unchanged: changer.rng().chance(75),
        gains: Some(Counted(Arc::new(|_, _| true))),
        ..CompareOptions::new(1)
    };
    let now = oracle::listing(path, system::has_hard_links(*seed));
    let expected = oracle::compare(listed, &now, started_ns);
    let lines = compare_without_keeping(snapshot, *seed, path, &options);
    assert_eq!(lines, expected, "seed {seed}, scan {scan}, {options:?}\n{done:?}");
    let watch = Watch::default();
    let before = snapshot.clone();
    let compared = snapshot.refresh(&options, &watch).unwrap();
    assert!(compared.is_complete() && compared.failures.is_empty(), "seed {seed}: {compared:?}");
    replay::check(listed, &now, &compared.changes);
    let gained = oracle::gained(listed, &now);
    assert_eq!(sums(&compared.gains.unwrap()), gained, "seed {seed}, scan {scan}\n{done:?}");
    let lines = oracle::lines(&compared.changes);
    assert_eq!(
        lines, expected,
        "seed {seed}, scan {scan}, {options:?}\n{done:?}\nbefore {listed:#?}\nnow {now:#?}"
    );
    // A second scan gives the same rows as the refreshed snapshot, from listings.
    let scanned = seed.is_multiple_of(2).then(|| system::scan(path, options.threads, *seed));
    let (lines, gains) = compare_two(&before, scanned.as_ref().unwrap_or(snapshot), path, &options);
    assert_eq!(sums(&gains), gained, "seed {seed}, scan {scan}, two inventories\n{done:?}");
    assert_eq!(lines, expected, "seed {seed}, scan {scan}, two inventories, {options:?}\n{done:?}");
    assert_eq!(oracle::of_rows(&mut snapshot.rows()), now, "seed {seed}: rows after scan {scan}");
    assert_eq!(watch.entries.load(Ordering::Relaxed), now.len() as u64 - 1, "each entry is asked about once");
    *listed = now;
}

/// Compares like `megadir changes`, which requests less metadata; sometimes against a written inventory.
fn compare_without_keeping(
    snapshot: &Snapshot,
    seed: u64,
    path: &Path,
    options: &CompareOptions,
) -> BTreeSet<String> {
    let (roots, watch) = (vec![megadir::Dir::open(path)], Watch::default());
    let compared = if seed.is_multiple_of(8) {
        let file = path.with_extension("parquet");
        let compared = compare(written(snapshot, &file), roots, options, &watch);
        std::fs::remove_file(file).unwrap();
        compared
    } else {
        compare(snapshot.rows(), roots, options, &watch)
    };
    let compared = compared.unwrap();
    assert!(compared.is_complete() && compared.failures.is_empty(), "seed {seed}: {compared:?}");
    oracle::lines(&compared.changes)
}

/// Compares two snapshots without the tree; the first one is sometimes a written inventory.
fn compare_two(
    before: &Snapshot,
    now: &Snapshot,
    path: &Path,
    options: &CompareOptions,
) -> (BTreeSet<String>, Gains) {
    let watch = Watch::default();
    let compared = if options.skip_unchanged {
        compare_inventories(before.rows(), now.rows(), options, &watch)
    } else {
        let file = path.with_extension("parquet");
        let compared = compare_inventories(written(before, &file), now.rows(), options, &watch);
        std::fs::remove_file(file).unwrap();
        compared
    };
    let compared = compared.unwrap();
    assert!(compared.is_complete() && compared.failures.is_empty(), "{compared:?}");
    assert_eq!(watch.entries.load(Ordering::Relaxed), now.len() - 1, "each entry is compared once");
    (oracle::lines(&compared.changes), compared.gains.unwrap())
}

/// Entries and bytes that directories gained, without those where both cancel out.
fn sums(gains: &Gains) -> BTreeMap<String, (i64, i128)> {
    let sums = gains.directories.iter().map(|gain| (gain.path.to_string(), (gain.entries, gain.apparent)));
    sums.filter(|(_, sum)| *sum != (0, 0)).collect()
}

fn written(snapshot: &Snapshot, file: &Path) -> Inventory {
    let options = WriteOptions { threads: 0, level: 1, group_rows: 7 };
    let names = snapshot.metadata().roots.iter().map(|root| root.path.clone());
    let mut writer = Writer::create(file, names.collect(), options).unwrap();
    let mut rows = snapshot.rows();
    while let Some(row) = rows.next_row().unwrap() {
        writer.add(&row).unwrap();
    }
    writer.finish(snapshot.metadata()).unwrap();
    Inventory::open(file).unwrap()
}
