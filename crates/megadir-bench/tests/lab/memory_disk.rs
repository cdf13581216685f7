//! File systems on disks in memory: cold after a remount, within their limit, and removed with their devices.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;

use megadir_record::FsId;
use megadir_testkit::require;
use megadir_testkit::rng::Rng;

use super::support::{SIGNALS, device_of, make_on, open};

const LIMIT_BYTES: u64 = 64 << 20;

fn zram() -> Result<(), String> {
    let is_there = Path::new("/sys/class/zram-control").exists();
    is_there.then_some(()).ok_or_else(|| "this kernel has no zram".to_owned())
}

fn sectors_read(device: &str) -> u64 {
    let stat = std::fs::read_to_string(format!("/sys/block/{device}/stat")).unwrap();
    stat.split_whitespace().nth(2).unwrap().parse().unwrap()
}

fn incompressible(bytes: usize) -> Vec<u8> {
    let mut random = Rng::new(7);
    (0..bytes / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect()
}

#[test]
fn after_a_remount_files_are_read_from_the_disk_in_memory() {
    require!(zram());
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    for name in ["ext2", "ext4", "xfs", "btrfs"] {
        let mut mounted =
            require!(make_on(&lab, name, "memory", LIMIT_BYTES).map_err(|error| error.to_string()));
        let described = mounted.describe(FsId(0)).disk.unwrap();
        assert_eq!((described.name.as_str(), described.memory_bytes), ("memory", Some(LIMIT_BYTES)));
        assert!(described.compression.is_some(), "{described:?}");
        let content = incompressible(1 << 20);
        let file = mounted.path().join("file");
        std::fs::write(&file, &content).unwrap();
        let cold = mounted.remount(SIGNALS).unwrap();
        assert_eq!((cold.device_pages, cold.image_pages), (0, 0), "{name}");
        assert!(mounted.memory_used_max().unwrap() >= 1 << 20, "{name}");
        let device = device_of(mounted.path());
        let before = sectors_read(&device);
        let opened = File::open(&file).unwrap();
        assert_eq!(megadir_sys::page_cache::resident(opened.as_fd()).unwrap().cached, 0, "{name}");
        drop(opened);
        assert!(std::fs::read(&file).unwrap() == content, "{name}");
        assert!(sectors_read(&device) - before >= (1 << 20) / 512, "{name}");
        mounted.unmount(SIGNALS).unwrap();
        assert!(!Path::new("/sys/block").join(&device).exists(), "{name} leaves {device}");
    }
    lab.close(SIGNALS).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn no_more_memory_than_the_limit_is_taken() {
    require!(zram());
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    let mounted = require!(make_on(&lab, "ext4", "memory", LIMIT_BYTES).map_err(|error| error.to_string()));
    // Another run must not count on that memory, though nothing is written yet. Other tests have disks too.
    assert!(megadir_lab::memory::promised_bytes() >= LIMIT_BYTES / 2);
    assert_eq!(mounted.exceeded_memory(), None);
    let mut file = File::create(mounted.path().join("file")).unwrap();
    let content = incompressible(1 << 20);
    let written = (0..2 * (LIMIT_BYTES >> 20)).try_for_each(|_| file.write_all(&content));
    assert!(written.and_then(|()| file.sync_all()).is_err(), "twice the limit fits");
    assert_eq!(mounted.exceeded_memory(), Some(LIMIT_BYTES));
    // The kernel counts the page that it then refuses.
    assert!(mounted.memory_used_max().unwrap() <= LIMIT_BYTES + (1 << 20));
}

#[test]
fn memory_of_removed_files_is_given_back_by_a_remount() {
    require!(zram());
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    for name in ["ext4", "xfs", "btrfs"] {
        let mut mounted =
            require!(make_on(&lab, name, "memory", LIMIT_BYTES).map_err(|error| error.to_string()));
        let content = incompressible(LIMIT_BYTES as usize / 2);
        // Without that the third file would not fit.
        for file in 0..4 {
            let path = mounted.path().join(file.to_string());
            std::fs::write(&path, &content).unwrap();
            File::open(&path).unwrap().sync_all().unwrap();
            std::fs::remove_file(&path).unwrap();
            mounted.remount(SIGNALS).unwrap_or_else(|error| panic!("{name}, file {file}: {error}"));
        }
    }
}

#[test]
fn blocks_smaller_than_blocks_of_zram_are_in_a_file_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let lab = require!(open(directory.path()));
    let mut mounted =
        require!(make_on(&lab, "ext4:block=1k", "memory", 512 << 20).map_err(|error| error.to_string()));
    let described = mounted.describe(FsId(0)).disk.unwrap();
    assert_eq!((described.compression, described.memory_bytes), (None, Some(512 << 20)));
    assert!(described.no_zram.unwrap().starts_with("ext4:block=1k needs sectors"));
    let file = mounted.path().join("file");
    std::fs::write(&file, "x").unwrap();
    assert_eq!(mounted.remount(SIGNALS).unwrap().device_pages, 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x");
    mounted.unmount(SIGNALS).unwrap();
    lab.close(SIGNALS).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
