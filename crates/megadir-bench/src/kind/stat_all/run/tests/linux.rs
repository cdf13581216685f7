//! Every file system of Linux, and the methods that each supports.

use std::collections::BTreeSet;
use std::path::Path;

use megadir::Dir;
use megadir_testkit::mount::{BTRFS, EXT4, EXT4_SMALL_INODES, Mount, TMPFS, XFS};
use megadir_testkit::require;

use super::compare;
use crate::method::{METHODS, method_named, unavailable};

/// Backend that fills one buffer per call.
pub(crate) const BUFFERED: &str = "getdents";
/// Unusual names that every file system accepts.
pub(crate) const ODD_NAMES: &[&[u8]] = &[&[b'n'; 255], b"new\nline", &[0xff, 0xfe, b'x']];
/// `true` if all methods report times before 1970.
pub(crate) const BEFORE_1970: bool = true;

/// Creates entries that are not regular files.
pub(crate) fn others(directory: &Path) {
    std::os::unix::fs::symlink("file 9", directory.join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", directory.join("broken")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, directory.join("fifo"), fifo, 0o600.into(), 0).unwrap();
}

/// Asserts that exactly the expected methods are refused; `own` names the file system's own method.
fn refused(refused: &[(&str, String)], own: &str) {
    let optional = |name: &str| match name {
        "cpp-filesystem" => !cfg!(feature = "cpp"),
        _ => name != own,
    };
    let needing = METHODS.iter().filter(|method| method.needs.is_some()).map(|method| method.name);
    let expected: BTreeSet<&str> = needing.filter(|name| optional(name)).collect();
    let names: BTreeSet<&str> = refused.iter().map(|(name, _)| *name).collect();
    // The C++ compiler may be missing.
    let beyond: Vec<&&str> = names.difference(&expected).collect();
    assert!(beyond.iter().all(|name| **name == "cpp-filesystem"), "{refused:?}");
    assert_eq!(expected.difference(&names).count(), 0, "{refused:?}");
    assert!(refused.iter().all(|(_, reason)| reason.len() > 10 && !reason.contains('\n')), "{refused:?}");
}

#[test]
fn methods_match_the_oracle_on_ext4() {
    refused(&compare(&require!(Mount::make(&EXT4)).path()), "ext4-device");
}

#[test]
fn methods_match_the_oracle_with_times_in_whole_seconds() {
    refused(&compare(&require!(Mount::make(&EXT4_SMALL_INODES)).path()), "ext4-device");
}

#[test]
fn methods_match_the_oracle_on_xfs() {
    refused(&compare(&require!(Mount::make(&XFS)).path()), "xfs-bulkstat");
}

#[test]
fn methods_match_the_oracle_on_btrfs() {
    refused(&compare(&require!(Mount::make(&BTRFS)).path()), "btrfs-search");
}

#[test]
fn methods_match_the_oracle_on_tmpfs() {
    refused(&compare(&require!(Mount::make(&TMPFS)).path()), "");
}

#[test]
fn bulk_call_of_another_file_system_is_refused_with_the_reason() {
    let mount = require!(Mount::make(&TMPFS));
    let directory = Dir::open(mount.path()).unwrap();
    for (name, message) in [("xfs-bulkstat", "XFS"), ("btrfs-search", "btrfs"), ("ext4-device", "ext4")] {
        let method = method_named(name).unwrap();
        let reason = unavailable(method, &directory).unwrap();
        assert!(reason.contains(message), "{name}: {reason}");
    }
}
