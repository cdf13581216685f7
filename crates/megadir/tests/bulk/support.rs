//! File systems, directories and expected rows.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use megadir::{Attributes, StatBackend, StatMask, stat_backend};
use megadir_testkit::mount::{BTRFS, EXT4, Mount, Recipe, XFS};
use megadir_testkit::stat_conformance::Ground;
use megadir_testkit::stat_conformance::trees::{self, Truth};
use megadir_testkit::stat_conformance::wrong;
use rustix::fs::{CWD, FileType as Kind, Mode, makedev, mknodat};

/// Inodes unchanged for this long are read in bulk.
pub(crate) const SETTLED: Duration = Duration::from_millis(1100);

/// The stat backends and their file systems.
pub(crate) const PLACES: [(&str, &Recipe); 3] =
    [("xfs-bulkstat", &XFS), ("btrfs-search", &BTRFS), ("ext4-device", &EXT4)];

pub(crate) fn places() -> Result<Vec<(&'static dyn StatBackend, Mount)>, String> {
    PLACES.iter().map(|(name, recipe)| Ok((stat_backend(name).unwrap(), Mount::make(recipe)?))).collect()
}

/// Asserts that every strategy returns what `std` and statx return, and returns those rows.
#[track_caller]
pub(crate) fn assert_true(stat_backend: &'static dyn StatBackend, path: &Path) -> Truth {
    let ground = Ground::new(stat_backend, path);
    ground.check_path(path, 16 << 10);
    assert_eq!(ground.outcome().refused, 0);
    trees::oracle(path)
}

/// Asserts a row of one entry.
#[track_caller]
pub(crate) fn assert_row(row: &Attributes, truth: &Attributes, name: &[u8]) {
    let lacking = PLACES.iter().map(|(name, _)| stat_backend(name).unwrap().lacks());
    let lacking = lacking.fold(StatMask::NOTHING, |all, fields| all | fields);
    if let Some(wrong) = wrong(row, truth, StatMask::ALL, lacking) {
        panic!("'{}': {wrong}", name.escape_ascii());
    }
}

/// Creates entries of every type, each with different attributes.
pub(crate) fn various(path: &Path, files: u32) {
    fs::create_dir(path).unwrap();
    for index in 0..files {
        let name = path.join(format!("file{index:028}"));
        let file = File::create_new(&name).unwrap();
        file.set_len(u64::from(index) * 1001).unwrap();
        file.set_permissions(PermissionsExt::from_mode(index % 0o10000)).unwrap();
        let before = Duration::new(u64::from(index) * 40_000, index);
        file.set_times(FileTimes::new().set_modified(UNIX_EPOCH - before)).unwrap();
        chown(&name, Some(index), Some(index + 7)).unwrap();
    }
    for index in 0..20 {
        fs::create_dir_all(path.join(format!("directory{index}/below"))).unwrap();
        symlink("x".repeat(index * 50 + 1), path.join(format!("link{index}"))).unwrap();
        fs::hard_link(path.join(format!("file{index:028}")), path.join(format!("again{index}"))).unwrap();
    }
    let device = [(Kind::CharacterDevice, "char"), (Kind::BlockDevice, "block")];
    for (kind, name) in device.into_iter().chain([(Kind::Fifo, "fifo"), (Kind::Socket, "socket")]) {
        mknodat(CWD, path.join(name), kind, Mode::from_raw_mode(0o640), makedev(7, 300)).unwrap();
    }
    fs::write(path.join("data"), vec![7; 3_000_000]).unwrap();
}
