//! Both suites on real network file systems, only in the full tier (`MEGADIR_FULL=1`).
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use megadir::{BACKENDS, Dir, FileSystem, STAT_BACKENDS, attribute_policy};
use megadir_testkit::conformance::conformance;
use megadir_testkit::network::NetworkMount;
use megadir_testkit::require;
use megadir_testkit::require::full;
use megadir_testkit::stat_conformance::{examining, trees};

/// Runs both suites on a FUSE mount.
fn both_suites(mount: &NetworkMount) {
    let root = Dir::open(mount.path()).unwrap();
    assert_eq!(root.file_system(), FileSystem::Fuse);
    assert_eq!(attribute_policy::row(root.file_system()).file_system, Some(FileSystem::Fuse));
    for backend in BACKENDS {
        let outcome = conformance(*backend, &mount.path());
        assert_eq!(outcome.listed == 0, backend.name() == "split", "{}: {outcome:?}", backend.name());
    }
    for stat_backend in STAT_BACKENDS {
        let outcome = examining(*stat_backend, &mount.path());
        let by_number = ["xfs-bulkstat", "btrfs-search", "ext4-device"].contains(&stat_backend.name());
        assert_eq!(outcome.examined == 0, by_number, "{}: {outcome:?}", stat_backend.name());
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
