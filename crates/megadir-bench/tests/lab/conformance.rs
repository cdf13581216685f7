//! Every backend passes the conformance suite on every file system of the lab. The library's own tests always
//! run it on ext4, XFS, btrfs and tmpfs, so here it belongs to the long tier, but for NTFS through FUSE, which no other test has.

use megadir::{BACKENDS, Dir, ReadOptions};
use megadir_bench::lab::{Backing, DiskSpec};
use megadir_testkit::conformance::conformance;
use megadir_testkit::require;
use megadir_testkit::require::full;
use megadir_testkit::seen;
use megadir_testkit::tree::Flat;

use super::support::{SIGNALS, make, open, spec};

/// A little more than the number of files that the suite makes.
const INODES: u64 = 250_000;

fn conforms(name: &str) {
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    let spec = spec(name);
    let bytes = spec.image_bytes(INODES, INODES * 4096);
    let backing = Backing::Image { bytes, written_bytes: bytes, disk: DiskSpec::default() };
    let mounted = require!(lab.make(&spec, &backing, SIGNALS).map_err(|error| error.to_string()));
    for backend in BACKENDS {
        let outcome = conformance(*backend, mounted.path());
        // Only `split` may refuse a directory.
        assert!(outcome.refused == 0 || backend.name() == "split", "{name}: {} refuses", backend.name());
    }
    mounted.unmount(SIGNALS).unwrap();
    lab.close(SIGNALS).unwrap();
}

/// Runs the complete suite in the long tier, otherwise a quick part of it.
fn conforms_in_full(name: &str) {
    if full() {
        return conforms(name);
    }
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    let mounted = require!(make(&lab, name).map_err(|error| error.to_string()));
    let path = Flat::plain(2_000).ensure(mounted.path());
    let directory = Dir::open(&path).unwrap();
    let options = ReadOptions { resolve_types: true, ..ReadOptions::serial(32 << 10) };
    for backend in BACKENDS.iter().filter(|backend| !backend.uses_threads()) {
        let found = seen::list(*backend, &directory, &options).unwrap();
        assert_eq!(seen::identities(&found), seen::oracle(&directory), "{name}: {}", backend.name());
    }
}

macro_rules! on {
    ($($test:ident: $run:ident $name:literal,)*) => {
        $(#[test] fn $test() { $run($name); })*
    };
}

on! {
    // The kernel's driver of ext4 reads both.
    on_ext2: conforms_in_full "ext2",
    on_ext3: conforms_in_full "ext3",
    on_ext4: conforms_in_full "ext4",
    on_xfs: conforms_in_full "xfs",
    on_btrfs: conforms_in_full "btrfs",
    on_tmpfs: conforms_in_full "tmpfs",
    // Without that option NTFS ignores modes, so no access is ever denied.
    on_ntfs_3g: conforms "ntfs-3g:mount=permissions",
}
