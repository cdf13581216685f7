//! The examiners that ask for inodes by number tell of every *name* what `std` and statx tell of it: where
//! something is mounted on a file, below a subvolume, where names change hands, and without waiting for the disk.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::fs::{self, File, FileTimes};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use megadir::{
    Attributes, Dir, ErrorKind, Examiner, FileType, ReadOptions, Time, Walk, WalkItem, WalkOptions, Want,
    backend, examiner,
};
use megadir_testkit::examining::Ground;
use megadir_testkit::examining::fields::wrong;
use megadir_testkit::examining::oracle::{self, Truth};
use megadir_testkit::mount::{BTRFS, Mount, Recipe, TMPFS, XFS, run};
use megadir_testkit::require;
use rustix::fs::{CWD, FileType as Kind, Mode, makedev, mknodat};

/// What has not been changed for so long is asked for in bulk.
const SETTLED: Duration = Duration::from_millis(1100);

/// The examiners, and the file systems that they are for.
const PLACES: [(&str, &Recipe); 2] = [("xfs-bulkstat", &XFS), ("btrfs-search", &BTRFS)];

fn places() -> Result<Vec<(&'static dyn Examiner, Mount)>, String> {
    PLACES.iter().map(|(name, recipe)| Ok((examiner(name).unwrap(), Mount::make(recipe)?))).collect()
}

/// Asserts that every strategy gives what `std` and statx give, and returns that.
#[track_caller]
fn assert_true(examiner: &'static dyn Examiner, path: &Path) -> Truth {
    let ground = Ground::new(examiner, path);
    ground.check_path(path, 16 << 10);
    assert_eq!(ground.outcome().refused, 0);
    oracle::oracle(path)
}

/// Asserts that a row is what is true of an entry.
#[track_caller]
fn assert_told(row: &Attributes, truth: &Attributes, name: &[u8]) {
    if let Some(wrong) = wrong(row, truth, Want::ALL, Want::NOTHING) {
        panic!("'{}': {wrong}", name.escape_ascii());
    }
}

/// Makes entries of every type, each with attributes of its own.
fn various(path: &Path, files: u32) {
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

#[test]
fn settled_entries_of_every_type_are_told_truly() {
    for (examiner, mount) in require!(places()) {
        let path = mount.path().join("various");
        various(&path, 5000);
        // Holes: most are gone, so that few inodes are far apart, then none, then all.
        for index in (1000..4000).filter(|index| index % 97 != 0) {
            fs::remove_file(path.join(format!("file{index:028}"))).unwrap();
        }
        std::thread::sleep(SETTLED);
        let told = assert_true(examiner, &path);
        assert_eq!(told[&b"file0000000000000000000000000017"[..]].modified.seconds, -17 * 40_000 - 1);
        assert!(told.values().all(|row| row.have == Want::ALL));
    }
}

#[test]
fn entries_of_all_allocation_groups_are_told_truly() {
    let mount = require!(Mount::make(&XFS));
    // XFS makes each directory in the next group, and files in the group of their directory.
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
    let told = assert_true(examiner("xfs-bulkstat").unwrap(), &together);
    let largest = told.values().map(|row| row.inode).max().unwrap();
    let smallest = told.values().map(|row| row.inode).min().unwrap();
    assert!(largest - smallest > 1 << 18, "all in one group: {smallest} to {largest}");
    assert_true(examiner("xfs-bulkstat").unwrap(), &apart);
}

#[test]
fn the_tree_is_searched_past_extents_and_directories() {
    let mount = require!(Mount::make(&BTRFS));
    let path = mount.path().join("between");
    various(&path, 50);
    // A file of very many extents, and a directory of very many entries, among the inodes.
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
    assert_true(examiner("btrfs-search").unwrap(), &path);
    assert_true(examiner("btrfs-search").unwrap(), &path.join("large"));
}

/// Mounts for one test; unmounted when dropped, the last first.
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
            let _ = run(Command::new("umount").arg(on));
        }
    }
}

#[test]
fn what_is_mounted_on_an_entry_is_told_not_what_it_hides() {
    for (examiner, mount) in require!(places()) {
        let path = mount.path().join("mounts");
        various(&path, 300);
        let odd = path.join("a b\\c\td\ne");
        File::create_new(&odd).unwrap();
        std::thread::sleep(SETTLED);
        let mut mounted = Mounted(Vec::new());
        mounted.mount(&["--bind", "/proc/self/mountinfo"], &path.join("data"));
        mounted.mount(&["--bind", path.join("file0000000000000000000000000009").to_str().unwrap()], &odd);
        mounted.mount(&["-t", "tmpfs", "none"], &path.join("directory3"));
        let told = assert_true(examiner, &path);
        assert_eq!(told[&b"data"[..]].size_bytes, 0);
        assert_ne!(told[&b"data"[..]].device, told[&b"char"[..]].device);
        assert_eq!(told[&b"a b\\c\td\ne"[..]].size_bytes, 9009);
        assert_eq!(told[&b"a b\\c\td\ne"[..]].device, told[&b"char"[..]].device);
        assert_ne!(told[&b"a b\\c\td\ne"[..]].mount, told[&b"char"[..]].mount);
    }
}

#[test]
fn subvolumes_are_told_by_their_own_inode_and_device() {
    let mount = require!(Mount::make(&BTRFS));
    let btrfs = examiner("btrfs-search").unwrap();
    let root = mount.path();
    let subvolume = |words: &[&str]| run(Command::new("btrfs").arg("subvolume").args(words)).unwrap();
    // Numbers of subvolumes begin with 256, like those of inodes.
    for index in 0..8 {
        subvolume(&["create", root.join(format!("sub{index}")).to_str().unwrap()]);
        various(&root.join(format!("sub{index}/various")), 30);
        fs::create_dir(root.join(format!("plain{index}"))).unwrap();
        fs::write(root.join(format!("file{index}")), vec![3; index]).unwrap();
    }
    subvolume(&["create", root.join("sub0/nested").to_str().unwrap()]);
    subvolume(&["snapshot", root.join("sub0").to_str().unwrap(), root.join("shot").to_str().unwrap()]);
    std::thread::sleep(SETTLED);
    // What a snapshot has in the place of another subvolume is made when it is asked for, with the time of then.
    let _kept = File::open(root.join("shot/nested")).unwrap();
    let told = assert_true(btrfs, &root);
    assert_eq!(told[&b"sub1"[..]].inode, 256);
    assert_ne!(told[&b"sub1"[..]].device, told[&b"plain1"[..]].device);
    for below in
        ["sub0", "sub0/various", "sub0/nested", "shot", "shot/various", "shot/nested", "sub7/various"]
    {
        assert_true(btrfs, &root.join(below));
    }
    // A walk stands now in this subvolume, now in that.
    let errors = walk(btrfs, &root, false, |path, name, row| {
        assert_told(row, &oracle::of(&path.join(name)), name.as_bytes());
    });
    assert!(errors.is_empty(), "{errors:?}");
}

/// Walks a tree by two threads; returns what could not be read.
fn walk(
    examiner: &'static dyn Examiner,
    root: &Path,
    cross_mounts: bool,
    mut each: impl FnMut(&Path, &str, &Attributes),
) -> Vec<megadir::Error> {
    let options = WalkOptions {
        buffer_bytes: 32 << 10,
        threads: 2,
        queue_directories_max: 16,
        cross_mounts,
        examine: Some((examiner, Want::ALL)),
        tell_ends: false,
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
fn a_walk_refuses_other_file_systems_once_each_and_goes_on_elsewhere() {
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
    let errors = walk(examiner("xfs-bulkstat").unwrap(), &xfs.path(), true, |path, name, row| {
        assert_told(row, &oracle::of(&path.join(name)), name.as_bytes());
        seen += 1;
    });
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!((errors[0].kind(), errors[0].path()), (ErrorKind::Unavailable, &*xfs.path().join("tmpfs")));
    assert_eq!(errors[0].reason(), "xfs-bulkstat is for XFS, and this is tmpfs");
    let of_various = 100 + 20 * 4 + 5;
    assert_eq!(seen, 2 * of_various + 4 + 1);
}

/// Lists a directory, lets `change` work on it, and examines what was listed before.
fn examined_after(examiner: &'static dyn Examiner, path: &Path, change: impl FnOnce()) -> Truth {
    let directory = Dir::open(path).unwrap();
    let options = ReadOptions { buffer_bytes: 1 << 20, threads: 1, shares: 1, resolve_types: false };
    let mut examine = examiner.start(&directory, Want::ALL).unwrap();
    let mut reader = backend("getdents").unwrap().open(&directory, &options).unwrap();
    let batch = reader.next_batch().unwrap().unwrap();
    change();
    let mut rows = Vec::new();
    examine.examine(&directory, batch, &mut rows).unwrap();
    assert_eq!(rows.len(), batch.len());
    batch.entries().zip(rows).map(|(entry, row)| (entry.name.to_vec(), row)).collect()
}

#[test]
fn names_that_changed_hands_are_told_as_they_are_now() {
    for (examiner, mount) in require!(places()) {
        let path = mount.path().join("changing");
        fs::create_dir(&path).unwrap();
        for index in 0..2000 {
            fs::write(path.join(format!("{index:04}")), vec![1; index]).unwrap();
        }
        std::thread::sleep(SETTLED);
        let told = examined_after(examiner, &path, || {
            for index in 0..1000 {
                let name = path.join(format!("{index:04}"));
                match index % 5 {
                    // Numbers are given again at once on XFS.
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
        let now = oracle::oracle(&path);
        for (name, row) in &told {
            match now.get(name) {
                Some(truth) => assert_told(row, truth, name),
                // What was moved may be told as what it was, under its old name.
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
fn what_was_written_a_moment_ago_is_told() {
    for (examiner, mount) in require!(places()) {
        let path = mount.path().join("written");
        various(&path, 500);
        std::thread::sleep(SETTLED);
        // Not on the disk yet, and with times that say nothing of it.
        for index in 0..200 {
            let mut file = File::options().append(true).open(path.join(format!("file{index:028}"))).unwrap();
            file.write_all(&vec![1; 10_000 + index]).unwrap();
            file.set_times(FileTimes::new().set_modified(UNIX_EPOCH)).unwrap();
        }
        assert_true(examiner, &path);
        // Written when it has been settled for long, and not flushed: the sync at the beginning is what helps.
        std::thread::sleep(SETTLED);
        assert_true(examiner, &path);
    }
}

#[test]
fn on_xfs_what_is_written_while_it_is_listed_is_told() {
    let mount = require!(Mount::make(&XFS));
    let path = mount.path().join("written");
    various(&path, 500);
    std::thread::sleep(SETTLED);
    let told = examined_after(examiner("xfs-bulkstat").unwrap(), &path, || {
        for index in 0..200 {
            let mut file = File::options().append(true).open(path.join(format!("file{index:028}"))).unwrap();
            file.write_all(&vec![1; 10_000 + index]).unwrap();
            file.set_times(FileTimes::new().set_modified(UNIX_EPOCH)).unwrap();
        }
    });
    let now = oracle::oracle(&path);
    for (name, row) in &told {
        assert_told(row, &now[name], name);
    }
    assert_eq!(told[&b"file0000000000000000000000000003"[..]].modified, Time::EPOCH);
}

#[test]
fn other_file_systems_are_refused_in_one_line() {
    let mount = require!(Mount::make(&TMPFS));
    for (name, _) in PLACES {
        for path in [mount.path(), PathBuf::from("/proc")] {
            let error = examiner(name).unwrap().probe(&Dir::open(&path).unwrap()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            let said = error.to_string();
            assert!(said.contains(&format!(": {name} is for ")) && said.lines().count() == 1, "{said}");
        }
    }
}

#[test]
fn users_without_privileges_are_refused_in_one_line() {
    for (examiner, mount) in require!(places()) {
        fs::set_permissions(mount.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let directory = Dir::open(mount.path()).unwrap();
        examiner.probe(&directory).unwrap();
        let error = std::thread::scope(|scope| {
            let unprivileged = scope.spawn(|| {
                let nobody = rustix::process::Uid::from_raw(65534);
                // The system call, not the C library's function: it changes this thread alone.
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
                assert!(examiner.start(&directory, Want::SIZE).is_err());
                examiner.probe(&directory).unwrap_err()
            });
            unprivileged.join().unwrap()
        });
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.reason().ends_with(" is for root only, or who has CAP_SYS_ADMIN"), "{error}");
    }
}

#[test]
fn an_empty_directory_and_a_removed_one_have_no_entries() {
    for (examiner, mount) in require!(places()) {
        let path = mount.path().join("empty");
        fs::create_dir(&path).unwrap();
        assert!(assert_true(examiner, &path).is_empty());
        let directory = Dir::open(&path).unwrap();
        fs::remove_dir(&path).unwrap();
        assert_eq!(directory.kind_of(b"x"), FileType::Unknown);
        examiner.start(&directory, Want::ALL).unwrap();
    }
}
