//! Filling a directory: complete, resumable, never touches existing files, names the exhausted limit.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use megadir::limits::Limit;
use megadir_bench::dataset::{Files, FillError, Filled, NAME_BYTES_MAX, Names, fill};
use megadir_record::{Made, NameScheme};
use megadir_testkit::mount::{EXT4, Mount, Recipe};
use megadir_testkit::require;

static NEVER: AtomicBool = AtomicBool::new(false);

fn spec(entries: u64, size_bytes: u64) -> Files {
    Files::new(&Made::flat(NameScheme::Md5, size_bytes), 1, entries).expect("files that can be")
}

fn run(path: &Path, spec: &Files) -> Result<Filled, FillError> {
    fill(path, spec, &mut |_| {}, &NEVER)
}

fn name(index: u64) -> String {
    let mut buffer = [0; NAME_BYTES_MAX];
    let names = Names { scheme: NameScheme::Md5, seed: 1 };
    names.write(index, &mut buffer).iter().copied().map(char::from).collect()
}

#[test]
fn filling_again_creates_missing_files_and_completes_short_files() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("made");
    let spec = spec(500, 100_000);
    assert_eq!(run(&directory, &spec).unwrap().made, 500);
    let whole = std::fs::read(directory.join(name(7))).unwrap();
    std::fs::remove_file(directory.join(name(3))).unwrap();
    for (index, length) in [(7, 0), (8, 1), (9, 65_536), (10, 70_001)] {
        let file = std::fs::OpenOptions::new().write(true).open(directory.join(name(index))).unwrap();
        file.set_len(length).unwrap();
    }
    let again = run(&directory, &spec).unwrap();
    assert_eq!((again.made, again.already, again.completed, again.taken), (1, 495, 4, 0));
    assert_eq!(std::fs::read(directory.join(name(7))).unwrap(), whole);
    let last = run(&directory, &spec).unwrap();
    assert_eq!((last.made, last.already, last.completed), (0, 500, 0));
}

#[test]
fn foreign_files_stay() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path();
    let outside = parent.path().join("outside");
    std::fs::write(&outside, "precious").unwrap();
    std::fs::create_dir(directory.join(name(0))).unwrap();
    std::os::unix::fs::symlink(&outside, directory.join(name(1))).unwrap();
    std::fs::write(directory.join(name(2)), "longer than ten bytes").unwrap();
    std::fs::write(directory.join(name(3)), "other").unwrap();
    std::fs::write(directory.join(name(4)), "0123456789").unwrap();
    let filled = run(directory, &spec(100, 10)).unwrap();
    assert_eq!((filled.made, filled.taken), (95, 5));
    assert_eq!(filled.taken_names[0], name(0).as_bytes());
    assert_eq!(std::fs::read(&outside).unwrap(), b"precious");
    assert_eq!(std::fs::read(directory.join(name(3))).unwrap(), b"other");
}

#[test]
fn nothing_is_written_through_a_second_name_or_into_another_users_file() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path();
    let linked = directory.join("precious");
    std::fs::write(&linked, "").unwrap();
    std::fs::hard_link(&linked, directory.join(name(0))).unwrap();
    std::fs::write(directory.join(name(1)), "").unwrap();
    let filled = run(directory, &spec(10, 10)).unwrap();
    assert_eq!((filled.made, filled.completed, filled.taken), (8, 1, 1));
    assert_eq!(filled.taken_names, [name(0).as_bytes()]);
    assert_eq!(std::fs::read(&linked).unwrap(), b"");
    let other = directory.join(name(2));
    std::fs::write(&other, "").unwrap();
    let given = std::os::unix::fs::chown(&other, Some(65_534), None);
    require!(given.map_err(|error| format!("a file can be given away by root only: {error}")));
    assert_eq!(run(directory, &spec(10, 10)).unwrap().taken, 2);
    assert_eq!(std::fs::read(&other).unwrap(), b"");
}

#[test]
fn the_stop_flag_ends_the_filling_within_a_file_which_is_completed_later() {
    const SIZE_BYTES: u64 = 10 << 20;
    let directory = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let mut calls = 0;
    let mut progress = |_| {
        calls += 1;
        stop.store(calls == 4, std::sync::atomic::Ordering::Relaxed);
    };
    let filled = fill(directory.path(), &spec(1, SIZE_BYTES), &mut progress, &stop).unwrap();
    assert!(filled.stopped && filled.made == 0);
    assert_eq!(std::fs::metadata(directory.path().join(name(0))).unwrap().len(), 3 << 20);
    let again = run(directory.path(), &spec(1, SIZE_BYTES)).unwrap();
    assert_eq!((again.completed, again.stopped), (1, false));
    assert_eq!(run(directory.path(), &spec(1, SIZE_BYTES)).unwrap().already, 1);
}

#[test]
fn the_stop_flag_ends_the_filling() {
    let directory = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let mut progress = |progress: megadir_bench::dataset::FillProgress| {
        stop.store(progress.done >= 512, std::sync::atomic::Ordering::Relaxed);
    };
    let filled = fill(directory.path(), &spec(10_000, 0), &mut progress, &stop).unwrap();
    assert!(filled.stopped && filled.made >= 512 && filled.made < 2_000);
}

#[test]
fn a_missing_parent_is_one_clear_error() {
    let error = run(Path::new("no/such/parent"), &spec(1, 0)).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot create the directory 'no/such/parent': No such file or directory"),
        "{error}"
    );
    assert!(error.contains("its parent directory, or the target of the link, must exist"), "{error}");
}

/// An ext4 with very few inodes.
const FEW_INODES: Recipe = Recipe {
    name: "ext4 of 128 inodes",
    mkfs: &["mkfs.ext4", "-q", "-F", "-N", "128"],
    image_bytes: 32 << 20,
    ..EXT4
};
/// An ext4 with very few blocks.
const FEW_BLOCKS: Recipe = Recipe {
    name: "ext4 of 2 MiB",
    mkfs: &["mkfs.ext4", "-q", "-F", "-N", "4096", "-O", "^has_journal", "-m", "0"],
    image_bytes: 2 << 20,
    ..EXT4
};
/// An ext4 whose directories are full after about 160 000 names of 32 characters.
const SMALL_INDEX: Recipe = Recipe {
    name: "ext4 with 1 KiB blocks and no journal",
    mkfs: &[
        "mkfs.ext4",
        "-q",
        "-F",
        "-b",
        "1024",
        "-N",
        "220000",
        "-O",
        "^has_journal,^large_dir",
        "-m",
        "0",
    ],
    image_bytes: 160 << 20,
    ..EXT4
};

#[test]
fn inode_exhaustion_is_reported() {
    let mount = require!(Mount::make(&FEW_INODES));
    let error = run(&mount.path(), &spec(1000, 0)).unwrap_err();
    let FillError::NoRoom { made: 50..128, ref met, .. } = error else { panic!("{error}") };
    assert_eq!(met.limit, Limit::Inodes);
    assert!(error.to_string().contains("inodes are used up"));
}

#[test]
fn block_exhaustion_is_reported_and_leaves_no_truncated_file() {
    let mount = require!(Mount::make(&FEW_BLOCKS));
    let directory = mount.path().join("flat");
    let error = run(&directory, &spec(3000, 4096)).unwrap_err();
    let FillError::NoRoom { met, .. } = error else { panic!("{error}") };
    assert_eq!(met.limit, Limit::Blocks, "{met}");
    let entries = std::fs::read_dir(directory).unwrap();
    assert!(entries.into_iter().all(|entry| entry.unwrap().metadata().unwrap().len() == 4096));
}

#[test]
fn a_full_index_is_recognised() {
    let mount = require!(Mount::make(&SMALL_INDEX));
    let error = run(&mount.path().join("flat"), &spec(210_000, 0)).unwrap_err();
    let FillError::NoRoom { made, ref met, .. } = error else { panic!("{error}") };
    assert_eq!((met.limit, met.another_name_may_do), (Limit::DirectoryIndex, true));
    assert!((120_000..200_000).contains(&made), "{made}");
    assert!(error.to_string().contains("the directory's index is full"));
}
