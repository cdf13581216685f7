//! Entries that do not change, in any arrangement.

use std::fs::{self, File};
use std::io::Write;

use megadir::{Dir, FileType, StatMask, stat_backend};
use megadir_testkit::mount::{BTRFS, Mount, XFS};
use megadir_testkit::require;

use crate::support::{SETTLED, assert_true, places, various};

#[test]
fn attributes_are_exact_for_settled_entries_of_every_type() {
    for (stat_backend, mount) in require!(places()) {
        let path = mount.path().join("various");
        various(&path, 5000);
        // Holes: a stretch of few distant inodes, one of none, and full ones.
        for index in (1000..4000).filter(|index| index % 97 != 0) {
            fs::remove_file(path.join(format!("file{index:028}"))).unwrap();
        }
        std::thread::sleep(SETTLED);
        let rows = assert_true(stat_backend, &path);
        assert_eq!(rows[&b"file0000000000000000000000000017"[..]].modified.seconds, -17 * 40_000 - 1);
        assert!(rows.values().all(|row| row.have == StatMask::ALL));
    }
}

#[test]
fn attributes_are_exact_in_all_allocation_groups() {
    let mount = require!(Mount::make(&XFS));
    // XFS creates each directory in the next group, and files in the group of their directory.
    let (together, apart) = (mount.path().join("together"), mount.path().join("apart"));
    fs::create_dir(&together).unwrap();
    for index in 0..40 {
        let directory = apart.join(format!("{index}"));
        fs::create_dir_all(&directory).unwrap();
        for file in 0..100 {
            let name = directory.join(format!("{file}"));
            fs::write(&name, vec![1; file]).unwrap();
            fs::rename(name, together.join(format!("{file:010}-{index:020}"))).unwrap();
        }
    }
    std::thread::sleep(SETTLED);
    let rows = assert_true(stat_backend("xfs-bulkstat").unwrap(), &together);
    let largest = rows.values().map(|row| row.inode).max().unwrap();
    let smallest = rows.values().map(|row| row.inode).min().unwrap();
    assert!(largest - smallest > 1 << 18, "all in one group: {smallest} to {largest}");
    assert_true(stat_backend("xfs-bulkstat").unwrap(), &apart);
}

#[test]
fn the_tree_is_searched_past_extents_and_directories() {
    let mount = require!(Mount::make(&BTRFS));
    let path = mount.path().join("between");
    various(&path, 50);
    // A file of very many extents and a directory of very many entries among the inodes.
    let mut holes = File::create_new(path.join("extents")).unwrap();
    for extent in 0..3000_u64 {
        use std::io::{Seek, SeekFrom};
        holes.seek(SeekFrom::Start(extent * 16384)).unwrap();
        holes.write_all(&[1; 4096]).unwrap();
    }
    drop(holes);
    fs::create_dir(path.join("large")).unwrap();
    for entry in 0..3000 {
        File::create_new(path.join(format!("large/{entry}"))).unwrap();
    }
    for after in 0..100 {
        fs::write(path.join(format!("after{after}")), vec![1; after * 50]).unwrap();
    }
    std::thread::sleep(SETTLED);
    assert_true(stat_backend("btrfs-search").unwrap(), &path);
    assert_true(stat_backend("btrfs-search").unwrap(), &path.join("large"));
}

#[test]
fn an_empty_directory_and_a_removed_one_have_no_entries() {
    for (stat_backend, mount) in require!(places()) {
        let path = mount.path().join("empty");
        fs::create_dir(&path).unwrap();
        assert!(assert_true(stat_backend, &path).is_empty());
        let directory = Dir::open(&path).unwrap();
        fs::remove_dir(&path).unwrap();
        assert_eq!(directory.kind_of(b"x").unwrap(), FileType::Unknown);
        stat_backend.start(&directory, StatMask::ALL).unwrap();
    }
}
