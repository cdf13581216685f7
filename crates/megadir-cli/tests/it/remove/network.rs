//! Removal on a real network file system; in the long tier only (`MEGADIR_FULL=1`).

use std::path::Path;

use megadir_testkit::network::NetworkMount;
use megadir_testkit::require;
use megadir_testkit::require::full;

use crate::support::{by_std, fill, named, run};

/// Creates and removes a tree, and a directory larger than any buffer.
fn removes(at: &Path) {
    for directory in 0..30 {
        fill(at, &[&format!("t/{directory}/a/b/")]);
        (0..20).for_each(|file| {
            fill(at, &[&format!("t/{directory}/{file}"), &format!("t/{directory}/a/{file}")]);
        });
    }
    fill(at, &["flat/", "kept/", "kept/f"]);
    (0..5000).for_each(|file| fill(at, &[&format!("flat/{file:064}")]));
    std::os::unix::fs::symlink("../kept", at.join("t/link")).unwrap();
    let ran = run(at, &["remove", "--dry-run", "t", "flat"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = run(at, &["remove", "--yes", "--match", "*7", "flat"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(std::fs::read_dir(at.join("flat")).unwrap().count(), 4500);
    let ran = run(at, &["remove", "--yes", "t", "flat"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(by_std(at), named(&["kept"]));
    assert_eq!(by_std(&at.join("kept")), named(&["f"]));
}

#[test]
fn on_moosefs() {
    if full() {
        let mount = require!(NetworkMount::moosefs());
        let at = mount.path().join("here");
        std::fs::create_dir(&at).unwrap();
        removes(&at);
    }
}

#[test]
fn on_glusterfs() {
    if full() {
        let mount = require!(NetworkMount::glusterfs());
        let at = mount.path().join("here");
        std::fs::create_dir(&at).unwrap();
        removes(&at);
    }
}
