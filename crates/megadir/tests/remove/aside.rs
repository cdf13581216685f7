//! Directories that are detached and recreated, and the leftovers of a killed process.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use megadir::remove::aside::{Aside, Why, detach, leftovers, renew};
use megadir::remove::{Progress, RemoveOptions};
use megadir::{Dir, ErrorKind};
use megadir_testkit::mount::{self, Mount, Recipe};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, names};
use rustix::fs::{IFlags, XattrFlags};

use crate::support::{only, options};

fn remove(aside: &Aside<'_>) -> megadir::remove::Removed {
    aside.remove(&options(2), &Progress::new()).unwrap()
}

#[test]
fn detached_directory_leaves_its_path_at_once_and_is_then_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    Flat::plain(300).build(&tree);
    let parent = Dir::open(scratch.path()).unwrap();
    let aside = detach(&parent, b"tree").unwrap();
    assert!(!tree.exists());
    let name = std::str::from_utf8(aside.name()).unwrap();
    assert_eq!(names(scratch.path()), [name]);
    assert!(name.starts_with(".megadir-detached-"));
    // It is locked: another process sees that it is being removed.
    assert!(leftovers(&parent, b"tree").unwrap().is_empty());
    let dry = RemoveOptions { dry_run: true, ..options(1) };
    assert_eq!(aside.remove(&dry, &Progress::new()).unwrap_err().kind(), ErrorKind::BadOption);
    let removed = remove(&aside);
    assert!(removed.complete);
    assert_eq!(removed.counts, only(300, 1));
    assert!(names(scratch.path()).is_empty());
}

#[test]
fn a_lock_that_anybody_may_hold_keeps_no_directory_from_going() {
    use rustix::fs::{FlockOperation, flock};
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), "x").unwrap();
    let parent = Dir::open(scratch.path()).unwrap();
    let held = File::open(&tree).unwrap();
    for how in [FlockOperation::NonBlockingLockShared, FlockOperation::NonBlockingLockExclusive] {
        flock(&held, how).unwrap();
        let refused = renew(&parent, b"tree").unwrap_err();
        assert!(refused.to_string().contains("another process holds a lock on it (flock)"), "{refused}");
    }
    let aside = detach(&parent, b"tree").unwrap();
    assert!(!tree.exists() && leftovers(&parent, b"tree").unwrap().is_empty());
    assert_eq!(remove(&aside).counts, only(1, 1));
    assert!(names(scratch.path()).is_empty());
}

#[test]
fn leftover_is_found_by_its_entry_and_no_other() {
    let scratch = tempfile::tempdir().unwrap();
    let parent = Dir::open(scratch.path()).unwrap();
    for (name, kind) in [("one", Why::Detached), ("one", Why::Renewed), ("two", Why::Detached)] {
        let path = scratch.path().join(name);
        let _ = fs::create_dir(&path);
        fs::write(path.join("file"), "x").unwrap();
        // Dropped, as by a killed process.
        let aside = if kind == Why::Detached {
            detach(&parent, name.as_bytes())
        } else {
            renew(&parent, name.as_bytes())
        };
        assert_eq!(aside.unwrap().why(), kind);
    }
    let imitation = scratch.path().join(".megadir-detached-0123456789abcdef-0123456789abcdef");
    fs::create_dir(&imitation).unwrap();
    let mut found = leftovers(&parent, b"one").unwrap();
    found.sort_by_key(|aside| aside.why() == Why::Renewed);
    assert_eq!(found.iter().map(Aside::why).collect::<Vec<_>>(), [Why::Detached, Why::Renewed]);
    for aside in &found {
        assert_eq!(remove(aside).counts, only(1, 1));
    }
    assert!(leftovers(&parent, b"one").unwrap().is_empty());
    assert!(imitation.exists());
    assert_eq!(leftovers(&parent, b"two").unwrap().len(), 1);
    assert!(leftovers(&parent, b"tw").unwrap().is_empty());
}

fn attributes(path: &Path) -> Vec<(String, Vec<u8>)> {
    let file = File::open(path).unwrap();
    let mut list = [0; 4096];
    let bytes = rustix::fs::flistxattr(&file, &mut list[..]).unwrap();
    let mut all: Vec<_> = list[..bytes]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| {
            let name = String::from_utf8(name.to_vec()).unwrap();
            let mut value = [0; 4096];
            let bytes = rustix::fs::fgetxattr(&file, name.as_str(), &mut value[..]).unwrap();
            (name, value[..bytes].to_vec())
        })
        .collect();
    all.sort();
    all
}

/// An ACL in the kernel's format: owner, a named user, group, mask, others.
fn acl(user: u32) -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] =
        [(1, 7, u32::MAX), (2, 5, user), (4, 5, u32::MAX), (0x10, 7, u32::MAX), (0x20, 1, u32::MAX)];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend([tag.to_le_bytes(), permissions.to_le_bytes()].concat());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

fn renew_on(recipe: &Recipe) {
    let mount = require!(Mount::make(recipe));
    let root = mount.path();
    // The new directory would inherit this, but the old one does not have it.
    let of_root = File::open(&root).unwrap();
    rustix::fs::fsetxattr(&of_root, "system.posix_acl_default", &acl(4321), XattrFlags::empty()).unwrap();
    let tree = root.join("tree");
    Flat::plain(5000).build(&tree);
    let old = File::open(&tree).unwrap();
    rustix::fs::fremovexattr(&old, "system.posix_acl_default").unwrap();
    rustix::fs::fsetxattr(&old, "system.posix_acl_access", &acl(1234), XattrFlags::empty()).unwrap();
    rustix::fs::fsetxattr(&old, "user.kept", b"\0value\xff", XattrFlags::empty()).unwrap();
    rustix::fs::fsetxattr(&old, "trusted.kept", b"", XattrFlags::empty()).unwrap();
    chown(&tree, Some(4711), Some(4712)).unwrap();
    fs::set_permissions(&tree, fs::Permissions::from_mode(0o3751)).unwrap();
    let flags = rustix::fs::ioctl_getflags(&old).unwrap() | IFlags::NOATIME | IFlags::NODUMP;
    rustix::fs::ioctl_setflags(&old, flags).unwrap();
    let _ = megadir_sys::quota::set_project(old.as_fd(), 77);
    let chosen = |file: &File| rustix::fs::ioctl_getflags(file).unwrap() & (IFlags::NOATIME | IFlags::NODUMP);
    let project = |file: &File| megadir_sys::quota::project(file.as_fd()).ok();
    let (before, of_before) = (fs::metadata(&tree).unwrap(), attributes(&tree));
    let parent = Dir::open(&root).unwrap();
    let aside = renew(&parent, b"tree").unwrap();
    let (after, of_after) = (fs::metadata(&tree).unwrap(), attributes(&tree));
    assert_eq!(names(&tree), [""; 0], "{}", recipe.name);
    assert_ne!(before.ino(), after.ino());
    assert_eq!((before.uid(), before.gid(), before.mode()), (after.uid(), after.gid(), after.mode()));
    assert_eq!(of_before, of_after);
    assert_eq!(of_before.iter().filter(|(name, _)| name.contains("acl")).count(), 1);
    let new = File::open(&tree).unwrap();
    assert_eq!(chosen(&old), chosen(&new));
    assert_eq!(project(&old), project(&new));
    assert_eq!(aside.why(), Why::Renewed);
    assert_eq!(remove(&aside).counts, only(5000, 1));
    assert_eq!(names(&root).iter().filter(|name| name.starts_with(".megadir")).count(), 0);
    if recipe.kind == "ext4" {
        assert!(before.size() > after.size(), "{} bytes to {}", before.size(), after.size());
    }
}

#[test]
fn renewed_directory_on_ext4_is_equal_but_small() {
    renew_on(&mount::EXT4);
}

#[test]
fn renewed_directory_on_xfs_is_equal() {
    renew_on(&mount::XFS);
}

#[test]
fn renewed_directory_on_btrfs_is_equal() {
    renew_on(&mount::BTRFS);
}

#[test]
fn entries_that_cannot_be_put_aside_stay_unchanged() {
    let mount = require!(Mount::make(&mount::BTRFS));
    let root = mount.path();
    let parent = Dir::open(&root).unwrap();
    require!(mount::run(
        std::process::Command::new("btrfs").args(["subvolume", "create"]).arg(root.join("sub"))
    ));
    fs::write(root.join("file"), "x").unwrap();
    std::os::unix::fs::symlink("sub", root.join("link")).unwrap();
    assert_eq!(renew(&parent, b"sub").unwrap_err().kind(), ErrorKind::Unavailable);
    for name in ["file", "link"] {
        assert_eq!(renew(&parent, name.as_bytes()).unwrap_err().kind(), ErrorKind::NotADirectory, "{name}");
        assert_eq!(detach(&parent, name.as_bytes()).unwrap_err().kind(), ErrorKind::NotADirectory, "{name}");
    }
    assert_eq!(detach(&parent, b"none").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(detach(&parent, b"..").unwrap_err().kind(), ErrorKind::BadOption);
    let above = Dir::open(root.parent().unwrap()).unwrap();
    assert_eq!(detach(&above, b"root").unwrap_err().kind(), ErrorKind::MountPoint);
    assert_eq!(renew(&above, b"root").unwrap_err().kind(), ErrorKind::MountPoint);
    let first = detach(&parent, b"sub").unwrap();
    assert_eq!(remove(&first).counts, only(0, 1));
    assert_eq!(names(&root), ["file", "link"]);
}
