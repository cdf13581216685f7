//! Runs the property tests on the volume of temporary files, with metadata from listings and from opened files.
//! Listings are tested without hard links: NTFS updates only the directory entry a file was opened by; the
//! others follow late or never.

use std::ops::ControlFlow;
use std::path::PathBuf;

use megadir_inventory::{
    Inventory, ScanOptions, Snapshot, WriteOptions, Writer, root_path, scan as scan_trees,
};
use megadir_testkit::require;
use megadir_testkit::require::full;

use super::sequences;

/// `true` if the sequence opens each file.
pub(super) fn has_hard_links(seed: u64) -> bool {
    seed % 2 == 1
}

/// Scans by listing, or by opening each file like `scan --stat-backend open-each`; `changes` then uses the same
/// method.
pub(super) fn scan(path: &PathBuf, threads: usize, seed: u64) -> Snapshot {
    if !has_hard_links(seed) {
        return Snapshot::from_scan(std::slice::from_ref(path), threads).unwrap();
    }
    let options = ScanOptions {
        threads,
        threads_max: threads,
        attributes: true,
        cross_mounts: false,
        stat_backend: Some(megadir::stat_backend("open-each").unwrap()),
        read_ahead: megadir::ReadAhead::Auto,
        buffer_bytes: 64 << 10,
        queue_directories_max: 16,
        memory_bytes: 1 << 20,
        spill_directory: std::env::temp_dir(),
        exclude: Vec::new(),
        conditions: None,
        entries_per_second_max: None,
    };
    let file = path.with_extension("opened");
    let written = WriteOptions { threads: 0, level: 1, group_rows: 1000 };
    let mut writer = Writer::create(&file, vec![root_path(path).unwrap()], written).unwrap();
    let mut watch = |_: megadir::TreeEvent<'_>| ControlFlow::Continue(());
    let metadata =
        scan_trees(std::slice::from_ref(path), &options, &mut watch, &mut writer).unwrap().unwrap();
    writer.finish(&metadata).unwrap();
    let snapshot = Snapshot::from_inventory(Inventory::open(&file).unwrap()).unwrap();
    std::fs::remove_file(file).unwrap();
    snapshot
}

#[test]
fn changes_equal_the_oracle() {
    for operation in ["chmod", "make a link", "make a pipe", "swap in one call"] {
        require::unavailable("changes_equal_the_oracle", &format!("{operation}: not on Windows"));
    }
    let scratch = tempfile::tempdir().unwrap();
    sequences(scratch.path(), 6_000_000, if full() { 600 } else { 40 });
}
