//! Both suites on real network file systems, only in the full tier (`MEGADIR_FULL=1`).
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use megadir::{BACKENDS, Dir, EXAMINERS, FileSystem, attribute_policy};
use megadir_testkit::conformance::conformance;
use megadir_testkit::examining::{examining, trees};
use megadir_testkit::network::NetworkMount;
use megadir_testkit::require;
use megadir_testkit::require::full;

/// Runs both suites on a FUSE mount.
fn both_suites(mount: &NetworkMount) {
    let root = Dir::open(mount.path()).unwrap();
    assert_eq!(root.file_system(), FileSystem::Fuse);
    assert_eq!(attribute_policy::row(root.file_system()).file_system, Some(FileSystem::Fuse));
    for backend in BACKENDS {
        let outcome = conformance(*backend, &mount.path());
        assert_eq!(outcome.listed == 0, backend.name() == "split", "{}: {outcome:?}", backend.name());
    }
    for examiner in EXAMINERS {
        let outcome = examining(*examiner, &mount.path());
        let by_number = ["xfs-bulkstat", "btrfs-search"].contains(&examiner.name());
        assert_eq!(outcome.examined == 0, by_number, "{}: {outcome:?}", examiner.name());
    }
}

#[test]
fn on_moosefs() {
    if full() {
        both_suites(&require!(NetworkMount::moosefs()));
    }
}

#[test]
fn on_glusterfs() {
    if full() {
        let mount = require!(NetworkMount::glusterfs());
        both_suites(&mount);
        let names = trees::oracle(&trees::various(&mount.path(), 2000));
        let beyond = names.values().filter(|row| row.inode > i64::MAX as u64).count();
        assert!(beyond > 500, "{beyond} of {} inodes are beyond 2^63", names.len());
    }
}
