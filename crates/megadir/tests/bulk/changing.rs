//! Entries that change while they are listed and examined, or did just before.

use std::fs::{self, File, FileTimes};
use std::io::Write;
use std::path::Path;
use std::time::UNIX_EPOCH;

use megadir::{Dir, ReadOptions, StatBackend, StatMask, Time, backend, stat_backend};
use megadir_testkit::mount::{Mount, XFS};
use megadir_testkit::require;
use megadir_testkit::stat_conformance::trees::{self, Truth};

use crate::support::{SETTLED, assert_row, assert_true, places, various};

/// Lists a directory, runs `change`, and then examines the listed entries.
fn examined_after(stat_backend: &'static dyn StatBackend, path: &Path, change: impl FnOnce()) -> Truth {
    let directory = Dir::open(path).unwrap();
    let options = ReadOptions::serial(1 << 20);
    let mut examine = stat_backend.start(&directory, StatMask::ALL).unwrap();
    let mut reader = backend("getdents").unwrap().open(&directory, &options).unwrap();
    let batch = reader.next_batch().unwrap().unwrap();
    change();
    let mut rows = Vec::new();
    examine.examine(&directory, batch, &mut rows).unwrap();
    assert_eq!(rows.len(), batch.len());
    batch.entries().zip(rows).map(|(entry, row)| (entry.name.to_vec(), row)).collect()
}

#[test]
fn names_reused_by_other_files_have_current_attributes() {
    for (stat_backend, mount) in require!(places()) {
        let path = mount.path().join("changing");
        fs::create_dir(&path).unwrap();
        for index in 0..2000 {
            fs::write(path.join(format!("{index:04}")), vec![1; index]).unwrap();
        }
        std::thread::sleep(SETTLED);
        let rows = examined_after(stat_backend, &path, || {
            for index in 0..1000 {
                let name = path.join(format!("{index:04}"));
                match index % 5 {
                    // XFS reuses numbers at once.
                    0 => fs::remove_file(&name).unwrap(),
                    1 => {
                        fs::remove_file(&name).unwrap();
                        fs::write(&name, "another one").unwrap();
                    }
                    2 => {
                        fs::remove_file(&name).unwrap();
                        fs::create_dir(&name).unwrap();
                    }
                    3 => fs::rename(path.join(format!("{:04}", index + 1000)), &name).unwrap(),
                    _ => {}
                }
            }
        });
        let now = trees::oracle(&path);
        for (name, row) in &rows {
            match now.get(name) {
                Some(truth) => assert_row(row, truth, name),
                // A moved entry may be reported as what it was, under its old name.
                None => {
                    let index: usize = std::str::from_utf8(name).unwrap().parse().unwrap();
                    let moved = index >= 1000 && row.error == 0 && row.size_bytes == index as u64;
                    assert!(row.has_vanished() || moved, "{index}: {row:?}");
                    assert!(index >= 1000 || index.is_multiple_of(5));
                }
            }
        }
    }
}

#[test]
fn recent_writes_are_seen() {
    for (stat_backend, mount) in require!(places()) {
        let path = mount.path().join("written");
        various(&path, 500);
        std::thread::sleep(SETTLED);
        // Not on the disk yet, and with old times.
        for index in 0..200 {
            let mut file = File::options().append(true).open(path.join(format!("file{index:028}"))).unwrap();
            file.write_all(&vec![1; 10_000 + index]).unwrap();
            file.set_times(FileTimes::new().set_modified(UNIX_EPOCH)).unwrap();
        }
        assert_true(stat_backend, &path);
        // Written long after it settled, and not flushed: only the sync at the beginning helps.
        std::thread::sleep(SETTLED);
        assert_true(stat_backend, &path);
    }
}

#[test]
fn on_xfs_writes_during_the_listing_are_seen() {
    let mount = require!(Mount::make(&XFS));
    let path = mount.path().join("written");
    various(&path, 500);
    std::thread::sleep(SETTLED);
    let rows = examined_after(stat_backend("xfs-bulkstat").unwrap(), &path, || {
        for index in 0..200 {
            let mut file = File::options().append(true).open(path.join(format!("file{index:028}"))).unwrap();
            file.write_all(&vec![1; 10_000 + index]).unwrap();
            file.set_times(FileTimes::new().set_modified(UNIX_EPOCH)).unwrap();
        }
    });
    let now = trees::oracle(&path);
    for (name, row) in &rows {
        assert_row(row, &now[name], name);
    }
    assert_eq!(rows[&b"file0000000000000000000000000003"[..]].modified, Time::EPOCH);
}
