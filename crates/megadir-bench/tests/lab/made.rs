//! Every file system of this machine is made, mounted, identified by its driver, cold after a remount, and
//! removed.

use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use megadir_bench::lab::LabError;
use megadir_record::{FsId, Place};
use megadir_testkit::require;

use super::support::{SIGNALS, attached, device_of, left, make, open};

/// Required on this machine: the file systems of its kernel, and NTFS through FUSE.
const FILE_SYSTEMS: [(&str, &str); 7] = [
    ("ext2", "ext2 (ext4 driver)"),
    ("ext3", "ext3 (ext4 driver)"),
    ("ext4", "ext4"),
    ("xfs", "xfs"),
    ("btrfs", "btrfs"),
    ("tmpfs", "tmpfs"),
    ("ntfs-3g", "ntfs-3g (FUSE driver)"),
];

#[test]
fn each_file_system_is_made_mounted_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    for (name, label) in FILE_SYSTEMS {
        let mounted = require!(make(&lab, name).map_err(|error| error.to_string()));
        std::fs::write(mounted.path().join("file"), "x").unwrap();
        let described = mounted.describe(FsId(3));
        assert_eq!((described.name.as_str(), described.label.as_str(), described.id), (name, label, FsId(3)));
        assert!(described.mount_options.starts_with("noatime"), "{}", described.mount_options);
        match described.place {
            Place::Memory { .. } => assert_eq!(name, "tmpfs"),
            Place::Image { direct_io, .. } => {
                assert_eq!(attached(directory.path()).len(), 1);
                assert!(direct_io.is_some());
                assert!(described.tool.unwrap().contains('.'), "{name} prints its version");
            }
            Place::Device { .. } | Place::Directory { .. } => panic!("neither was named"),
        }
        mounted.unmount(SIGNALS).unwrap();
        assert!(left(directory.path()).is_empty(), "{name} leaves a loop device");
    }
    lab.close(SIGNALS).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn mounts_are_private() {
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    let mounted = require!(make(&lab, "ext4").map_err(|error| error.to_string()));
    let path = mounted.path().to_str().unwrap().to_owned();
    let seen = |table: &str| std::fs::read_to_string(table).unwrap().contains(&path);
    assert!(seen("/proc/thread-self/mountinfo"));
    assert!(!seen("/proc/1/mountinfo"));
    // Threads started later are in the same namespace.
    let path = mounted.path().to_owned();
    std::thread::spawn(move || std::fs::write(path.join("file"), "x").unwrap()).join().unwrap();
    assert!(mounted.path().join("file").exists());
}

#[test]
fn a_panic_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    drop(require!(open(directory.path())));
    let thread = std::thread::spawn(move || {
        let lab = open(&path).unwrap();
        let _mounted = make(&lab, "ext4").unwrap();
        panic!("wanted by the test");
    });
    assert!(thread.join().is_err());
    assert!(left(directory.path()).is_empty());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn remount_clears_the_cache_and_keeps_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    for (name, _) in FILE_SYSTEMS {
        let mut mounted = require!(make(&lab, name).map_err(|error| error.to_string()));
        let file = mounted.path().join("file");
        std::fs::write(&file, vec![7; 1 << 20]).unwrap();
        if name == "tmpfs" {
            let error = mounted.remount(SIGNALS).unwrap_err().to_string();
            assert!(error.contains("would lose its content"), "{error}");
            assert!(file.exists());
            continue;
        }
        // An open file prevents unmounting, and the error says so.
        let held = std::fs::File::open(&file).unwrap();
        let error = mounted.remount(SIGNALS).unwrap_err().to_string();
        assert!(error.contains("unmount") && error.contains("busy"), "{error}");
        drop(held);
        let cold = mounted.remount(SIGNALS).unwrap();
        assert_eq!((cold.device_pages, cold.image_pages), (0, 0), "{name}");
        let opened = std::fs::File::open(&file).unwrap();
        let cached = megadir_sys::page_cache::resident(opened.as_fd()).unwrap();
        assert_eq!((cached.cached, cached.pages), (0, 256), "{name}");
        assert_eq!(std::fs::read(&file).unwrap().len(), 1 << 20);
        drop(opened);
        mounted.unmount(SIGNALS).unwrap();
    }
}

#[test]
fn a_remount_waits_for_others_that_hold_the_file_system_or_its_device_for_a_moment() {
    const MOMENT: Duration = Duration::from_secs(2);
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    let mut mounted = require!(make(&lab, "ext4").map_err(|error| error.to_string()));
    let file = mounted.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let held = std::fs::File::open(&file).unwrap();
    let device = std::fs::File::open(Path::new("/dev").join(device_of(mounted.path()))).unwrap();
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(MOMENT);
            drop(held);
        });
        // Programs that look for file systems read far more of a device than a mounted file system holds.
        scope.spawn(move || {
            let mut buffer = vec![0; 1 << 20];
            while began.elapsed() < 2 * MOMENT {
                device.read_at(&mut buffer, 0).unwrap();
            }
        });
        assert!(mounted.remount(SIGNALS).unwrap().is_cold());
    });
    assert!(began.elapsed() >= MOMENT);
    assert_eq!(std::fs::read(&file).unwrap(), b"x");
}

#[test]
fn unavailable_file_systems_are_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    for name in ["reiserfs", "xfs:ftype=0", "ext4:mount=nonsense"] {
        match make(&lab, name) {
            Err(LabError::Unavailable { name: unavailable, reason }) => {
                assert_eq!(unavailable, name);
                assert!(reason.len() > 20 && !reason.contains('\n'), "{reason}");
            }
            // Kernels before 6.13 have ReiserFS, and some support old XFS formats.
            made => assert!(name != "ext4:mount=nonsense" && made.is_ok(), "{name}: {made:?}"),
        }
    }
    assert!(left(directory.path()).is_empty());
}

#[test]
fn recreated_file_system_is_empty() {
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    for (name, remembers) in [("ext2", true), ("ext4:^has_journal", true), ("ext3", false)] {
        let mut mounted = require!(make(&lab, name).map_err(|error| error.to_string()));
        let before = mounted.describe(FsId(0));
        assert_eq!(mounted.spec().remembers_removed(&before.driver), remembers, "{name}");
        let free = || rustix::fs::statvfs(mounted.path()).unwrap().f_ffree;
        let empty = free();
        std::fs::write(mounted.path().join("file"), "x").unwrap();
        assert_eq!(free(), empty - 1);
        mounted.reformat(SIGNALS).unwrap();
        let names: Vec<_> =
            std::fs::read_dir(mounted.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["lost+found"], "{name}");
        assert_eq!(rustix::fs::statvfs(mounted.path()).unwrap().f_ffree, empty, "{name}");
        assert_eq!(mounted.describe(FsId(0)), before);
        if remembers {
            mounted.unmount(SIGNALS).unwrap();
            continue;
        }
        // An open descriptor keeps it mounted.
        let held = mounted.open().unwrap();
        std::fs::write(mounted.path().join("file"), "x").unwrap();
        assert!(mounted.reformat(SIGNALS).is_err());
        drop(held);
        assert!(mounted.path().join("file").exists(), "{name}");
    }
    let mut memory = require!(make(&lab, "tmpfs").map_err(|error| error.to_string()));
    assert!(memory.reformat(SIGNALS).unwrap_err().to_string().contains("would lose its content"));
    drop(memory);
    lab.close(SIGNALS).unwrap();
}
