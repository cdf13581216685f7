//! If the system refuses threads, a tree is scanned with the existing ones.
#![cfg(target_os = "linux")]

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;

use megadir_inventory::{OwnedRow, ScanOptions, scan};
use megadir_testkit::require;
use megadir_testkit::unprivileged::with_threads_left;

#[test]
fn a_scan_reads_a_tree_by_the_threads_that_could_be_started() {
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for directory in 0..30 {
        let path = scratch.path().join(format!("{directory}"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
    }
    let options = ScanOptions {
        threads: 4,
        threads_max: 4,
        attributes: true,
        cross_mounts: false,
        stat_backend: None,
        read_ahead: megadir::ReadAhead::Auto,
        buffer_bytes: 4096,
        queue_directories_max: 4,
        memory_bytes: 1 << 20,
        spill_directory: std::env::temp_dir(),
        exclude: Vec::new(),
        conditions: None,
        entries_per_second_max: None,
    };
    let rows = with_threads_left(1, || {
        let mut rows: Vec<OwnedRow> = Vec::new();
        let mut watch = |event: megadir::TreeEvent<'_>| {
            assert!(!matches!(event, megadir::TreeEvent::Failed(_)), "{event:?}");
            ControlFlow::Continue(())
        };
        scan(&[scratch.path().to_owned()], &options, &mut watch, &mut rows).unwrap().unwrap();
        rows.len()
    });
    // With the root.
    assert_eq!(require!(rows), 61);
}
