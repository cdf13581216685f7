//! Rewriting a file within one clock tick is never missed silently.

use std::fs;
use std::path::Path;

use megadir_inventory::Snapshot;
use megadir_inventory::changes::{ChangeKind, Watch};

/// Writes a file, scans, rewrites it immediately, and expects each change to be reported.
fn hammer(base: &Path, times: u32) {
    let options = crate::options(1, true);
    let path = base.join("file");
    let (mut modified, mut suspects) = (0, 0);
    for time in 0..times {
        fs::write(&path, "aaaa").unwrap();
        let other = base.join(format!("new{time}"));
        let mut snapshot = Snapshot::from_scan(&[base.into()], 1).unwrap();
        fs::write(&path, "bbbb").unwrap();
        // The same in a directory changed within the granule.
        fs::write(&other, "").unwrap();
        let changes = snapshot.refresh(&options, &Watch::default()).unwrap().changes;
        let of_file = changes.iter().find(|change| change.path == b"file"[..]);
        match of_file.map(|change| change.kind) {
            Some(ChangeKind::Modified) => modified += 1,
            Some(ChangeKind::Suspect) => suspects += 1,
            other => panic!("missed in round {time}: {other:?}"),
        }
        let name = format!("new{time}");
        assert!(
            changes.iter().any(|change| change.kind == ChangeKind::Added && change.path == *name.as_bytes()),
            "round {time}: the new name was missed"
        );
    }
    assert_eq!(modified + suspects, times);
}

#[cfg(target_os = "linux")]
#[test]
fn file_rewritten_in_the_same_clock_step_is_reported() {
    use megadir_testkit::mount::{BTRFS, EXT4, EXT4_SMALL_INODES, Mount, TMPFS, XFS};
    use megadir_testkit::require;
    for recipe in [TMPFS, EXT4, EXT4_SMALL_INODES, XFS, BTRFS] {
        let mount = require!(Mount::make(&recipe));
        let tree = mount.path().join("tree");
        fs::create_dir(&tree).unwrap();
        hammer(&tree, 100);
    }
}

#[cfg(windows)]
#[test]
fn file_rewritten_in_the_same_clock_step_is_reported() {
    hammer(tempfile::tempdir().unwrap().path(), 20);
}
