//! Mounts on and below entries, and subvolumes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use megadir::{Attributes, Dir, ErrorKind, StatBackend, StatMask, Walk, WalkItem, WalkOptions, stat_backend};
use megadir_testkit::mount::{BTRFS, Mount, XFS, run, unmount};
use megadir_testkit::require;
use megadir_testkit::stat_conformance::trees;

use crate::support::{SETTLED, assert_row, assert_true, places, various};

/// Mounts of one test, unmounted on drop in reverse order.
struct Mounted(Vec<PathBuf>);

impl Mounted {
    fn mount(&mut self, words: &[&str], on: &Path) {
        run(Command::new("mount").args(words).arg(on)).unwrap();
        self.0.push(on.to_owned());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for on in self.0.iter().rev() {
            let _ = unmount(on);
        }
    }
}

#[test]
fn attributes_are_of_the_mount_and_not_of_the_hidden_entry() {
    for (stat_backend, mount) in require!(places()) {
        let path = mount.path().join("mounts");
        various(&path, 300);
        let odd = path.join("a b\\c\td\ne");
        File::create_new(&odd).unwrap();
        std::thread::sleep(SETTLED);
        let mut mounted = Mounted(Vec::new());
        mounted.mount(&["--bind", "/proc/self/mountinfo"], &path.join("data"));
        mounted.mount(&["--bind", path.join("file0000000000000000000000000009").to_str().unwrap()], &odd);
        mounted.mount(&["-t", "tmpfs", "none"], &path.join("directory3"));
        let rows = assert_true(stat_backend, &path);
        assert_eq!(rows[&b"data"[..]].size_bytes, 0);
        assert_ne!(rows[&b"data"[..]].device, rows[&b"char"[..]].device);
        assert_eq!(rows[&b"a b\\c\td\ne"[..]].size_bytes, 9009);
        assert_eq!(rows[&b"a b\\c\td\ne"[..]].device, rows[&b"char"[..]].device);
        assert_ne!(rows[&b"a b\\c\td\ne"[..]].mount, rows[&b"char"[..]].mount);
    }
}

#[test]
fn subvolumes_have_their_own_inode_and_device() {
    let mount = require!(Mount::make(&BTRFS));
    let btrfs = stat_backend("btrfs-search").unwrap();
    let root = mount.path();
    let subvolume = |words: &[&str]| run(Command::new("btrfs").arg("subvolume").args(words)).unwrap();
    // Numbers of subvolumes start at 256, as inode numbers do.
    for index in 0..8 {
        subvolume(&["create", root.join(format!("sub{index}")).to_str().unwrap()]);
        various(&root.join(format!("sub{index}/various")), 30);
        fs::create_dir(root.join(format!("plain{index}"))).unwrap();
        fs::write(root.join(format!("file{index}")), vec![3; index]).unwrap();
    }
    subvolume(&["create", root.join("sub0/nested").to_str().unwrap()]);
    subvolume(&["snapshot", root.join("sub0").to_str().unwrap(), root.join("shot").to_str().unwrap()]);
    std::thread::sleep(SETTLED);
    // In a snapshot, the inode in place of a nested subvolume is created on access, with the current time.
    let _kept = File::open(root.join("shot/nested")).unwrap();
    let rows = assert_true(btrfs, &root);
    assert_eq!(rows[&b"sub1"[..]].inode, 256);
    assert_ne!(rows[&b"sub1"[..]].device, rows[&b"plain1"[..]].device);
    for below in
        ["sub0", "sub0/various", "sub0/nested", "shot", "shot/various", "shot/nested", "sub7/various"]
    {
        assert_true(btrfs, &root.join(below));
    }
    // A walk alternates between subvolumes.
    let errors = walk(btrfs, &root, false, |path, name, row| {
        assert_row(row, &trees::of(&path.join(name)), name.as_bytes());
    });
    assert!(errors.is_empty(), "{errors:?}");
}

/// Walks a tree with two threads; returns the errors.
fn walk(
    stat_backend: &'static dyn StatBackend,
    root: &Path,
    cross_mounts: bool,
    mut each: impl FnMut(&Path, &str, &Attributes),
) -> Vec<megadir::Error> {
    let options = WalkOptions {
        buffer_bytes: 32 << 10,
        threads: 2,
        threads_max: 2,
        read_ahead: megadir::ReadAhead::Auto,
        queue_directories_max: 16,
        cross_mounts,
        examine: Some((stat_backend, StatMask::ALL)),
        report_ends: false,
        looks_again: false,
        conditions: None,
    };
    let mut walk = Walk::new(Dir::open(root).unwrap(), &options).unwrap();
    let mut errors = Vec::new();
    while let Some(item) = walk.next_item() {
        match item {
            WalkItem::Batch { directory, batch, attributes } => {
                assert_eq!(batch.len(), attributes.len());
                for (entry, row) in batch.entries().zip(attributes) {
                    each(directory, std::str::from_utf8(entry.name).unwrap(), row);
                }
            }
            WalkItem::Error(error) => errors.push(error),
            WalkItem::OtherMount(_) | WalkItem::End { .. } => {}
        }
    }
    errors
}

#[test]
fn walk_refuses_each_other_file_system_once_and_continues() {
    let (xfs, other) = (require!(Mount::make(&XFS)), require!(Mount::make(&XFS)));
    various(&xfs.path().join("various"), 100);
    various(&other.path().join("more"), 100);
    for below in ["tmpfs", "xfs", "various/directory1/below/again"] {
        fs::create_dir(xfs.path().join(below)).unwrap();
    }
    std::thread::sleep(SETTLED);
    let mut mounted = Mounted(Vec::new());
    mounted.mount(&["-t", "tmpfs", "none"], &xfs.path().join("tmpfs"));
    fs::create_dir_all(xfs.path().join("tmpfs/below/deeper")).unwrap();
    mounted.mount(&["--bind", other.path().to_str().unwrap()], &xfs.path().join("xfs"));
    let mut seen = 0;
    let errors = walk(stat_backend("xfs-bulkstat").unwrap(), &xfs.path(), true, |path, name, row| {
        assert_row(row, &trees::of(&path.join(name)), name.as_bytes());
        seen += 1;
    });
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!((errors[0].kind(), errors[0].path()), (ErrorKind::Unavailable, &*xfs.path().join("tmpfs")));
    assert_eq!(errors[0].reason(), "xfs-bulkstat is for XFS, and this is tmpfs");
    let of_various = 100 + 20 * 4 + 5;
    assert_eq!(seen, 2 * of_various + 4 + 1);
}
