//! Runs the property tests on each file system.

use std::path::PathBuf;

use megadir_inventory::Snapshot;
use megadir_testkit::mount::{BTRFS, EXT4, EXT4_SMALL_INODES, Mount, Recipe, TMPFS, XFS};
use megadir_testkit::require;
use megadir_testkit::require::full;

use super::sequences;

pub(super) fn has_hard_links(_seed: u64) -> bool {
    true
}

pub(super) fn scan(path: &PathBuf, threads: usize, _seed: u64) -> Snapshot {
    Snapshot::from_scan(std::slice::from_ref(path), threads).unwrap()
}

fn on(recipe: &Recipe, first: u64, number: u64) {
    let mount = require!(Mount::make(recipe));
    sequences(&mount.path(), first, number);
}

/// Number of sequences for one file system, scaled from a thousand (or ten thousand).
fn share(of_1000: u64) -> u64 {
    if full() { of_1000 * 10 } else { of_1000 }
}

#[test]
fn changes_equal_the_oracle_on_tmpfs() {
    on(&TMPFS, 1_000_000, share(300));
}

#[test]
fn changes_equal_the_oracle_on_ext4() {
    on(&EXT4, 2_000_000, share(250));
}

#[test]
fn changes_equal_the_oracle_on_ext4_without_time_of_birth() {
    on(&EXT4_SMALL_INODES, 3_000_000, share(100));
}

#[test]
fn changes_equal_the_oracle_on_xfs() {
    on(&XFS, 4_000_000, share(200));
}

#[test]
fn changes_equal_the_oracle_on_btrfs() {
    on(&BTRFS, 5_000_000, share(150));
}
