//! Which entries are read in bulk and which by statx, on real file systems. `tests/bulk` checks the rows.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use megadir_testkit::mount::{BTRFS, EXT4, Mount as Mounted, XFS};
use megadir_testkit::require;

use super::btrfs::TreeSearch;
use super::ext4::InodeTables;
use super::xfs::Bulkstat;
use super::{Bulk, BulkReader, UNSETTLED, readers};
use crate::batch::Batch;
use crate::decode::Checked;
use crate::mounts::Mount;
use crate::stat::Examine;
use crate::{BatchBuilder, Dir, FileType, ReadOptions, StatMask, backend};

/// Creates files and waits until the newest is settled.
fn settled(directory: &Path, files: u64) -> Dir {
    std::fs::create_dir(directory).unwrap();
    for file in 0..files {
        File::create_new(directory.join(format!("{file:032}"))).unwrap();
    }
    std::thread::sleep(UNSETTLED + Duration::from_millis(100));
    Dir::open(directory).unwrap()
}

/// Reads the attributes of a whole directory; returns the number of entries.
fn all<B: Bulk>(bulk: &mut BulkReader<B>, directory: &Dir) -> u64 {
    let options = ReadOptions::serial(64 << 10);
    let mut reader = backend("getdents").unwrap().open(directory, &options).unwrap();
    let (mut entries, mut rows) = (0, Vec::new());
    while let Some(batch) = reader.next_batch().unwrap() {
        bulk.examine(directory, batch, &mut rows).unwrap();
        entries += rows.len() as u64;
        assert!(batch.entries().zip(&rows).all(|(entry, row)| row.error == 0 && row.inode == entry.inode));
    }
    entries
}

fn reader_of<B: Bulk>(directory: &Dir) -> BulkReader<B> {
    readers(directory, StatMask::ALL, 1).unwrap().pop().unwrap()
}

fn in_bulk<B: Bulk>(mounted: &Mounted) {
    let path = mounted.path().join("files");
    let directory = settled(&path, 5000);
    let mut reader = reader_of::<B>(&directory);
    assert_eq!((all(&mut reader, &directory), reader.singly), (5000, 0));
    // One inode under many names.
    for link in 0..300 {
        std::fs::hard_link(path.join(format!("{:032}", link / 100)), path.join(format!("link{link}")))
            .unwrap();
    }
    std::thread::sleep(UNSETTLED + Duration::from_millis(100));
    let mut reader = reader_of::<B>(&directory);
    assert_eq!((all(&mut reader, &directory), reader.singly), (5300, 0));
    // Two files changed and one created after the listing began.
    std::fs::write(path.join(format!("{:032}", 17)), "longer").unwrap();
    std::fs::write(path.join("another"), "new").unwrap();
    let singly = reader.singly;
    all(&mut reader, &directory);
    let expected = if B::ALL_IS_LATE { 1..=2 } else { 2..=2 };
    assert!(expected.contains(&(reader.singly - singly)), "{} asked singly", reader.singly);
}

#[test]
fn settled_entries_are_queried_in_bulk() {
    in_bulk::<Bulkstat>(&require!(Mounted::make(&XFS)));
    in_bulk::<TreeSearch>(&require!(Mounted::make(&BTRFS)));
    in_bulk::<InodeTables>(&require!(Mounted::make(&EXT4)));
}

/// Every tenth of many inodes is in the directory, or a few distant ones.
fn thinly<B: Bulk>(mounted: &Mounted) {
    let path = mounted.path().join("thin");
    let directory = settled(&path, 20_000);
    let elsewhere = mounted.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    for file in (0..20_000).filter(|file| file % 5 != 0) {
        let name = format!("{file:032}");
        std::fs::rename(path.join(&name), elsewhere.join(&name)).unwrap();
    }
    // Moving changed only the moved files.
    let mut reader = reader_of::<B>(&directory);
    assert_eq!(all(&mut reader, &directory), 4000);
    assert!((3000..=4000).contains(&reader.singly), "{} asked singly", reader.singly);
}

#[test]
fn distant_entries_are_queried_singly() {
    thinly::<Bulkstat>(&require!(Mounted::make(&XFS)));
    thinly::<TreeSearch>(&require!(Mounted::make(&BTRFS)));
}

fn mistaken<B: Bulk>(mounted: &Mounted) {
    let path = mounted.path().join("mistaken");
    let directory = settled(&path, 30);
    let mut entries: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap()).collect();
    entries.sort_unstable_by_key(std::fs::DirEntry::file_name);
    let inodes: Vec<u64> = entries.iter().map(std::os::unix::fs::DirEntryExt::ino).collect();
    let mut listed = BatchBuilder::new(64 << 10, false);
    for (index, entry) in entries.iter().enumerate() {
        // One of another type, one whose number is unused, and one that is missing.
        let kind = if index == 7 { FileType::Symlink } else { FileType::File };
        let inode = if index == 9 { u64::from(u32::MAX) } else { inodes[index] };
        assert!(listed.push(entry.file_name().as_encoded_bytes(), inode, kind, 0));
    }
    assert!(listed.push(b"gone", u64::from(u32::MAX) + 1, FileType::File, 0));
    let mut reader = reader_of::<B>(&directory);
    // A few may be distant from the others.
    assert_eq!(all(&mut reader, &directory), 30);
    let apart = reader.singly;
    assert!(apart < 5, "{apart} asked singly");
    let mut rows = Vec::new();
    reader.examine(&directory, listed.batch(), &mut rows).unwrap();
    assert_eq!(reader.singly - apart, apart + 3);
    assert!(rows[..30].iter().all(|row| row.error == 0 && row.kind == FileType::File));
    assert_eq!(rows[..30].iter().map(|row| row.inode).collect::<Vec<_>>(), inodes);
    assert!(rows[30].has_vanished());
}

#[test]
fn entries_unlike_their_listing_are_queried_singly() {
    mistaken::<Bulkstat>(&require!(Mounted::make(&XFS)));
    mistaken::<TreeSearch>(&require!(Mounted::make(&BTRFS)));
    mistaken::<InodeTables>(&require!(Mounted::make(&EXT4)));
}

#[test]
fn threads_sync_once_and_know_the_same() {
    let mounted = require!(Mounted::make(&XFS));
    let directory = settled(&mounted.path().join("files"), 10);
    let mut readers = readers::<Bulkstat>(&directory, StatMask::ALL, 3).unwrap();
    let settled = readers[0].volume.settled;
    let below = mounted.path().join("below");
    std::fs::create_dir(&below).unwrap();
    for reader in &mut readers {
        assert_eq!((all(reader, &directory), reader.singly), (10, 0));
        reader.switch_to(&Dir::open(&below).unwrap()).unwrap();
        assert_eq!(reader.volume.settled, settled);
    }
    assert_eq!(readers[0].shared.volumes.lock().unwrap().len(), 1);
}

#[test]
fn nothing_but_a_whole_batch_is_examined_on_another_file_system() {
    let mounted = require!(Mounted::make(&BTRFS));
    let mut reader = reader_of::<TreeSearch>(&Dir::open(mounted.path()).unwrap());
    let mut rows = vec![crate::Attributes::NOTHING];
    let empty = Batch::from_checked(&[], Checked::default(), false);
    let error = reader.examine(&Dir::open("/proc").unwrap(), empty, &mut rows).unwrap_err();
    assert_eq!((error.kind(), rows.len()), (crate::ErrorKind::Unavailable, 0));
    assert!(error.reason().starts_with("btrfs-search is for btrfs, and this is "), "{error}");
}

#[test]
fn mount_that_changes_the_meaning_of_the_device_is_refused() {
    let mounted = require!(Mounted::make(&EXT4));
    let directory = Dir::open(mounted.path()).unwrap();
    let mount = |maps_users, driver: &str, options: &str| Mount {
        id: 1,
        maps_users,
        driver: driver.as_bytes().into(),
        options: options.as_bytes().into(),
    };
    let refused = |mount: &Mount| InodeTables::probe(&directory, mount).map(|_| ()).unwrap_err();
    assert!(refused(&mount(true, "ext4", "rw")).contains("idmapped"));
    assert!(refused(&mount(false, "ext2", "rw")).contains("mounted as ext2"));
    assert!(refused(&mount(false, "ext4", "rw,sb=32768")).contains("option sb"));
    assert!(InodeTables::probe(&directory, &mount(false, "ext4", "rw,sync")).is_ok());
}

#[test]
fn a_mount_that_maps_users_is_refused() {
    let mounted = require!(Mounted::make(&BTRFS));
    let directory = Dir::open(mounted.path()).unwrap();
    let mapped =
        |maps_users| Mount { id: 1, maps_users, driver: b"btrfs"[..].into(), options: Box::default() };
    assert!(TreeSearch::probe(&directory, &mapped(true)).unwrap_err().contains("idmapped"));
    assert_eq!(TreeSearch::probe(&directory, &mapped(false)), Ok(()));
}
