//! Every stat backend passes the suite with every strategy, on every file system available here.
#![cfg(target_os = "linux")]

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use megadir::{
    Dir, ErrorKind, FileSystem, STAT_BACKENDS, StatMask, Strategy, attribute_policy, backend, stat_backend,
};
use megadir_testkit::mount::{self, Mount};
use megadir_testkit::require;
use megadir_testkit::stat_conformance::{Ground, Kept, drain, examining, kept, of_times, trees};
use megadir_testkit::unprivileged::unprivileged;

/// Runs the suite for every stat backend in one directory. `bulk` is the bulk stat backend for this file system, if
/// any.
fn every_stat_backend(directory: &Path, bulk: Option<&str>) {
    for stat_backend in STAT_BACKENDS {
        let outcome = examining(*stat_backend, directory);
        match stat_backend.name() {
            name @ ("std" | "statx" | "statx-fresh" | "fstatat") => {
                assert_eq!(outcome.refused, 0, "{name} examines any directory");
            }
            // Refuses users without privileges.
            name @ ("xfs-bulkstat" | "btrfs-search" | "ext4-device") if bulk == Some(name) => {
                assert!(outcome.examined > 30 && outcome.refused < 5, "{name}: {outcome:?}");
            }
            name @ ("xfs-bulkstat" | "btrfs-search" | "ext4-device") => {
                assert_eq!(outcome.examined, 0, "{name} is not for this");
            }
            name => panic!("{name}: nothing is expected of it"),
        }
    }
}

#[test]
fn here() {
    let directory = tempfile::tempdir().unwrap();
    let bulk = match Dir::open(directory.path()).unwrap().file_system() {
        FileSystem::Xfs if rustix::process::geteuid().is_root() => Some("xfs-bulkstat"),
        FileSystem::Btrfs if rustix::process::geteuid().is_root() => Some("btrfs-search"),
        // Not every ext4 has checksums, and a container may have no file of the device.
        FileSystem::Ext4 if can_read_the_device(directory.path()) => Some("ext4-device"),
        _ => None,
    };
    every_stat_backend(directory.path(), bulk);
}

fn can_read_the_device(directory: &Path) -> bool {
    Dir::open(directory).is_ok_and(|directory| {
        stat_backend("ext4-device").is_ok_and(|ext4_device| ext4_device.probe(&directory).is_ok())
    })
}

/// Root passes all permission checks: without privileges, the same rows or a refusal.
#[test]
fn without_privileges() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let kinds = trees::kinds(directory.path());
    let expected = trees::oracle(&kinds);
    unprivileged(|| {
        assert!(trees::oracle(&kinds) == expected, "users see what root sees");
        for stat_backend in STAT_BACKENDS {
            match stat_backend.probe(&Dir::open(&kinds).unwrap()) {
                Ok(()) => Ground::new(*stat_backend, directory.path()).check_path(&kinds, 4 << 10),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unavailable);
                    assert!(
                        !["std", "statx", "statx-fresh", "fstatat"].contains(&stat_backend.name()),
                        "{error}"
                    );
                }
            }
        }
    });
}

#[test]
fn on_ext4() {
    let mount = require!(Mount::make(&mount::EXT4));
    every_stat_backend(&mount.path(), Some("ext4-device"));
    // 34 bits of seconds from 1901 on; 2^32 - 1 blocks of 4 KiB per file.
    let expected = Kept { seconds: (-(1 << 31), 15_032_385_535), size_bytes: (1 << 44) - 4096 };
    assert_eq!(kept(&mount.path()), expected);
}

#[test]
fn on_ext4_without_room_for_nanoseconds_and_birth() {
    let mount = require!(Mount::make(&mount::EXT4_SMALL_INODES));
    let kinds = trees::kinds(&mount.path());
    assert!(trees::oracle(&kinds).values().all(|row| row.have == StatMask::ALL.without(StatMask::BORN)));
    for stat_backend in STAT_BACKENDS {
        let ground = Ground::new(*stat_backend, &mount.path());
        ground.check_path(&kinds, 4 << 10);
        ground.check_path(&of_times(&mount.path()), 4 << 10);
    }
    assert_eq!(kept(&mount.path()).seconds, (-(1 << 31), (1 << 31) - 1));
}

/// No system call sets these two times, so they are written into the image.
#[test]
fn on_ext4_with_inodes_changed_and_born_at_any_time() {
    let mut mount = require!(Mount::make(&mount::EXT4));
    let path = mount.path().join("d");
    std::fs::create_dir(&path).unwrap();
    let times = [-(1i64 << 31), -86_401, -2, 0, 1 << 31, 1 << 32, 9_223_372_037, 15_032_385_535];
    for time in times {
        std::fs::write(path.join(time.to_string()), "").unwrap();
    }
    let write = |image: &Path| {
        times.iter().flat_map(|time| [("ctime", time), ("crtime", time)]).try_for_each(|(field, time)| {
            let request = format!("set_inode_field d/{time} {field} @{time}");
            mount::run(Command::new("debugfs").args(["-w", "-R", &request]).arg(image))
        })
    };
    mount.remount(write).unwrap();
    let truth = trees::oracle(&path);
    for time in times {
        let row = &truth[time.to_string().as_bytes()];
        assert_eq!(row.changed.seconds, time, "as written");
        // debugfs keeps 32 bits and a sign of this one.
        assert_eq!(row.born.seconds as i32, time as i32, "as written");
    }
    for stat_backend in STAT_BACKENDS {
        Ground::new(*stat_backend, &mount.path()).check_path(&path, 4 << 10);
    }
}

#[test]
fn on_xfs() {
    let mount = require!(Mount::make(&mount::XFS));
    every_stat_backend(&mount.path(), Some("xfs-bulkstat"));
    // 64 bits of nanoseconds from 1901 on.
    let expected = Kept { seconds: (-(1 << 31), 16_299_260_424), size_bytes: (1 << 63) - 1 };
    assert_eq!(kept(&mount.path()), expected);
}

#[test]
fn on_btrfs() {
    let mount = require!(Mount::make(&mount::BTRFS));
    every_stat_backend(&mount.path(), Some("btrfs-search"));
    let expected = Kept { seconds: (i64::MIN, i64::MAX), size_bytes: (1 << 63) - 1 };
    assert_eq!(kept(&mount.path()), expected);
}

/// Subvolumes have their own devices, and their roots share one inode number.
#[test]
fn on_btrfs_with_subvolumes() {
    let mount = require!(Mount::make(&mount::BTRFS));
    let path = mount.path().join("d");
    trees::ensure(&mount.path(), "d", |path| trees::fill(path, 50));
    let btrfs =
        |words: &[&str], on: &[&Path]| mount::run(Command::new("btrfs").args(words).args(on)).unwrap();
    for name in ["first", "second", "second/third"] {
        btrfs(&["-q", "subvolume", "create"], &[&path.join(name)]);
        trees::fill(&path.join(name), 60);
    }
    btrfs(&["-q", "subvolume", "snapshot"], &[&path.join("first"), &path.join("snapshot")]);
    for stat_backend in STAT_BACKENDS {
        let ground = Ground::new(*stat_backend, &mount.path());
        for below in ["", "first", "second", "second/third", "snapshot"] {
            ground.check_path(&path.join(below), 4 << 10);
        }
        ground.check_tree(&path);
    }
}

/// Modification times stay in memory for a day.
#[test]
fn on_mounts_that_write_times_lazily() {
    for recipe in [&mount::EXT4, &mount::XFS, &mount::BTRFS] {
        let mount = require!(Mount::make(recipe));
        let path = trees::various(&mount.path(), 256);
        mount::run(Command::new("mount").args(["-o", "remount,lazytime"]).arg(mount.path())).unwrap();
        for entry in std::fs::read_dir(&path).unwrap() {
            let file = std::fs::File::options().write(true).open(entry.unwrap().path()).unwrap();
            file.write_all_at(b"x", 0).unwrap();
        }
        for stat_backend in STAT_BACKENDS {
            let ground = Ground::new(*stat_backend, &mount.path());
            ground.settle(&path);
            ground.check_path(&path, 4 << 10);
        }
    }
}

#[test]
fn on_overlayfs() {
    let mount = require!(Mount::make(&mount::TMPFS));
    let [lower, upper, work, merged] = ["lower", "upper", "work", "merged"].map(|name| {
        let path = mount.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    });
    // Some entries lie in the lower layer, and the suite creates its own in the upper.
    trees::various(&lower, 2000);
    let layers =
        format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
    let mut overlay = Command::new("mount");
    require!(mount::run(overlay.args(["-t", "overlay", "overlay", "-o", &layers]).arg(&merged)));
    let checked = std::panic::catch_unwind(|| every_stat_backend(&merged, None));
    mount::unmount(&merged).unwrap();
    checked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

#[test]
fn on_tmpfs() {
    let mount = require!(Mount::make(&mount::TMPFS));
    every_stat_backend(&mount.path(), None);
    let expected = Kept { seconds: (i64::MIN, i64::MAX), size_bytes: (1 << 63) - 1 };
    assert_eq!(kept(&mount.path()), expected);
}

#[test]
fn conflicting_or_out_of_range_options_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let choice = attribute_policy::choose(&Dir::open(directory.path()).unwrap(), StatMask::SIZE, 1).unwrap();
    for (name, strategy, words) in [
        ("getdents", Strategy::Chunks { threads: 0 }, "0 threads"),
        ("getdents", Strategy::Chunks { threads: 257 }, "257 threads"),
        ("getdents", Strategy::Windows { entries: 100, threads: 0 }, "0 threads"),
        ("getdents", Strategy::Windows { entries: 0, threads: 1 }, "0 entries"),
        ("getdents", Strategy::Shares, "getdents does not split"),
        ("std", Strategy::Shares, "std does not split"),
    ] {
        let listing = megadir::policy::Choice { backend: backend(name).unwrap(), ..choice.listing };
        let choice = megadir::AttributeChoice { listing, strategy, ..choice };
        let examined = drain(Dir::open(directory.path()).unwrap(), &choice);
        let error = examined.error.unwrap();
        assert_eq!((error.kind(), error.path()), (ErrorKind::BadOption, directory.path()), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}
