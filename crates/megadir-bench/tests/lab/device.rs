//! A user's device is erased only if the user allowed it, it is unused, and it is empty or was formatted by the
//! lab. A refused device keeps every byte. The disk is the test's own loop device.

use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use megadir_bench::lab::{Backing, Lab, LabError, Mounted};
use megadir_record::{FsId, Place};
use megadir_sys::loop_device::{LoopDevice, attach};
use megadir_testkit::mount::run;
use megadir_testkit::require;
use megadir_testkit::require::unavailable;

use super::support::{SIGNALS, open, spec};

/// The smallest size for XFS.
const DISK_BYTES: u64 = 320 << 20;

/// The test's own disk; removed on drop.
struct Disk {
    image: PathBuf,
    device: LoopDevice,
    /// Removes the image.
    _folder: tempfile::TempDir,
}

impl Disk {
    fn new() -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("disk");
        let file = std::fs::File::create_new(&image).unwrap();
        file.set_len(DISK_BYTES).unwrap();
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&image).unwrap();
        let device = attach(file.as_fd(), 0, false).map_err(|error| format!("no loop device: {error}"))?;
        Ok(Self { image, device, _folder: folder })
    }

    fn path(&self) -> &Path {
        &self.device.path
    }

    fn write(&self, bytes: &[u8], offset: u64) {
        self.device.device.write_all_at(bytes, offset).unwrap();
        self.device.device.sync_all().unwrap();
    }

    fn content(&self) -> Vec<u8> {
        self.device.device.sync_all().unwrap();
        std::fs::read(&self.image).unwrap()
    }

    fn make(&self, lab: &Lab, name: &str, erase: bool) -> Result<Mounted, LabError> {
        lab.make(&spec(name), &Backing::Device { path: self.path().to_owned(), erase }, SIGNALS)
    }

    /// Asserts that the device is refused with a reason, and that no byte of it has changed.
    #[track_caller]
    fn is_refused(&self, lab: &Lab, name: &str, erase: bool, reason: &str) {
        let before = self.content();
        let error = self.make(lab, name, erase).unwrap_err();
        assert!(matches!(error, LabError::Device { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(reason) && text.lines().count() == 1, "{text}");
        assert!(self.content() == before, "it was written to");
    }
}

#[test]
fn only_erasable_devices_are_erased() {
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    let disk = require!(Disk::new());
    disk.is_refused(&lab, "ext4", false, "would be lost; allow that with --erase-device");
    disk.is_refused(&lab, "tmpfs", true, "is in memory");
    // The disk is empty, so it may be erased; afterwards it holds the lab's file systems, which may be erased
    // too.
    for name in ["ext4", "xfs", "btrfs", "ntfs-3g", "ext2"] {
        disk.is_refused(&lab, name, false, "--erase-device");
        let mut mounted = disk.make(&lab, name, true).unwrap();
        std::fs::write(mounted.path().join("file"), "x").unwrap();
        let place = mounted.describe(FsId(0)).place;
        assert_eq!(place, Place::Device { path: disk.path().display().to_string() });
        let refused = disk.make(&lab, "ext4", true).unwrap_err().to_string();
        assert!(refused.contains("it is in use: mounted"), "{refused}");
        let cold = mounted.remount(SIGNALS).unwrap();
        assert_eq!((cold.device_pages, cold.image_pages), (0, 0));
        assert!(mounted.path().join("file").exists());
        mounted.reformat(SIGNALS).unwrap();
        assert!(!mounted.path().join("file").exists());
        mounted.unmount(SIGNALS).unwrap();
    }
}

#[test]
fn devices_taken_by_others_are_not_formatted_again() {
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    let disk = require!(Disk::new());
    let mut mounted = disk.make(&lab, "ext2", true).unwrap();
    std::fs::write(mounted.path().join("file"), "x").unwrap();
    require!(run(Command::new("e2label").arg(disk.path()).arg("home")));
    let error = mounted.reformat(SIGNALS).unwrap_err();
    assert!(matches!(error, LabError::Device { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("it has ext2 labelled 'home', not created by this program"), "{text}");
    drop(mounted);
    let label = Command::new("e2label").arg(disk.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&label.stdout).trim(), "home");
}

#[test]
fn file_systems_of_others_stay() {
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    let disk = require!(Disk::new());
    require!(run(Command::new("mkfs.ext4").args(["-q", "-F", "-L", "home"]).arg(disk.path())));
    disk.is_refused(&lab, "xfs", true, "it has ext4 labelled 'home', not created by this program");
    require!(run(Command::new("mkswap").args(["-f", "-L", "megadir-lab"]).arg(disk.path())));
    disk.is_refused(&lab, "ext4", true, "it has swap labelled 'megadir-lab'");
    let disk = require!(Disk::new());
    // A partition table with one partition.
    let mut table = [0; 512];
    table[446..462].copy_from_slice(&[0, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 8, 0]);
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    disk.write(&table, 0);
    disk.is_refused(&lab, "ext4", true, "it has a partition table (dos)");
    // Content unknown to blkid: at the beginning, at the end, and spread like encrypted data without a header.
    for (at, length) in [(0, 16), (DISK_BYTES - 16, 16), (64 << 20, 64 << 20)] {
        let disk = require!(Disk::new());
        disk.write(&vec![0x5a; length], at);
        disk.is_refused(&lab, "ext4", true, "it has data unknown to blkid (at byte ");
    }
}

#[test]
fn swap_devices_stay() {
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    let disk = require!(Disk::new());
    require!(run(Command::new("mkswap").arg("-f").arg(disk.path())));
    if let Err(why) = run(Command::new("swapon").arg(disk.path())) {
        unavailable("device::swap_devices_stay", &why);
        return;
    }
    let refused = disk.make(&lab, "ext4", true).unwrap_err().to_string();
    run(Command::new("swapoff").arg(disk.path())).unwrap();
    assert!(refused.contains("it is in use: mounted, used for swap"), "{refused}");
}

#[test]
fn files_that_are_not_devices_stay() {
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    let file = directory.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    let refused = |path: &Path| {
        let backing = Backing::Device { path: path.to_owned(), erase: true };
        lab.make(&spec("ext4"), &backing, SIGNALS).unwrap_err().to_string()
    };
    assert!(refused(&file).contains("it is not a block device"));
    assert!(refused(Path::new("/dev/null")).contains("it is not a block device"));
    assert!(refused(Path::new("/dev/no-such-disk")).contains("No such file"));
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
}
