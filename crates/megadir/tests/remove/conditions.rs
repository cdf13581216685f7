//! Only entries that meet the conditions are removed, and a dry run predicts them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use megadir::remove::{Counts, NameCondition, RemoveOptions};
use megadir::{Conditions, FileType, Time};
use megadir_testkit::rng::Rng;
use megadir_testkit::tree::Maker;

use crate::support::{empty, options, remove};

const LIMIT: Time = Time { seconds: 1_000_000, nanoseconds: 500 };

/// Entries below a directory, with types and modification times.
fn all(directory: &Path, into: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            all(&entry.path(), into);
        }
        into.insert(entry.path());
    }
}

fn age(path: &Path, seconds: i64, nanoseconds: u32) {
    let times = rustix::fs::Timestamps {
        last_access: rustix::fs::Timespec { tv_sec: 0, tv_nsec: 0 },
        last_modification: rustix::fs::Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() },
    };
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// Creates a tree of varied names, types and ages. Ages are set bottom-up, so that they stay.
fn random(directory: &Path, rng: &mut Rng, depth: u32) {
    fs::create_dir(directory).unwrap();
    let maker = Maker::open(directory);
    let kinds = [FileType::File, FileType::File, FileType::Symlink, FileType::Fifo, FileType::Socket];
    for index in 0..rng.within(0, 12) {
        let name = format!("{}{index}", if rng.chance(50) { "x" } else { "y" });
        maker.make(name.as_bytes(), rng.pick(&kinds));
    }
    for index in 0..rng.within(0, if depth == 0 { 0 } else { 4 }) {
        let name = format!("{}d{index}", if rng.chance(60) { "x" } else { "y" });
        random(&directory.join(name), rng, depth - 1);
    }
    let entries: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in entries {
        age(&path, LIMIT.seconds, rng.pick(&[0, 499, 500, 501]));
    }
}

/// Entries that should stay, by the simplest possible recursion. Returns `true` if the directory itself would
/// be empty.
fn expected(
    directory: &Path,
    conditions: &Conditions,
    named: Option<NameCondition<'_>>,
    stays: &mut BTreeSet<PathBuf>,
) -> bool {
    let mut is_empty = true;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let status = fs::symlink_metadata(&path).unwrap();
        let modified = status.modified().unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let modified = Time { seconds: modified.as_secs() as i64, nanoseconds: modified.subsec_nanos() };
        let kind = match status.file_type() {
            kind if kind.is_dir() => FileType::Directory,
            kind if kind.is_symlink() => FileType::Symlink,
            kind if kind.is_fifo() => FileType::Fifo,
            kind if kind.is_socket() => FileType::Socket,
            _ => FileType::File,
        };
        let name = path.file_name().unwrap();
        let goes = conditions.before.is_none_or(|limit| modified < limit)
            && named.is_none_or(|accepts| accepts(megadir::names::from_os(name)))
            && (conditions.types.is_empty() || conditions.types.contains(&kind))
            && (kind != FileType::Directory || expected(&path, conditions, named, &mut BTreeSet::new()));
        if kind == FileType::Directory {
            expected(&path, conditions, named, stays);
        }
        if !goes {
            stays.insert(path);
            is_empty = false;
        }
    }
    is_empty
}

#[test]
fn exactly_the_entries_that_meet_the_conditions_are_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(11);
    for round in 0..48_usize {
        let tree = scratch.path().join(format!("tree{round}"));
        random(&tree, &mut rng, 4);
        let begins_with_x = |name: &[u8]| name[0] == b'x';
        let types: [&[FileType]; 4] =
            [&[], &[FileType::File], &[FileType::Directory], &[FileType::Symlink, FileType::Directory]];
        let conditions = Conditions {
            before: (round % 2 == 0).then_some(LIMIT),
            types: types[round % 4].to_vec(),
            ..Conditions::default()
        };
        let named: Option<NameCondition<'_>> = if round % 3 == 0 { Some(&begins_with_x) } else { None };
        let is_none = conditions.is_none() && named.is_none();
        let (mut before, mut stays) = (BTreeSet::new(), BTreeSet::new());
        all(&tree, &mut before);
        let would_be_empty = expected(&tree, &conditions, named, &mut stays);
        let remove_options =
            RemoveOptions { conditions: Some(&conditions), name: named, ..options([1, 2, 4][round % 3]) };
        let dry = remove(&tree, &RemoveOptions { dry_run: true, ..remove_options }).unwrap();
        let mut untouched = BTreeSet::new();
        all(&tree, &mut untouched);
        assert_eq!(before, untouched, "a dry run removes nothing");
        let removed =
            if round % 5 == 0 { empty(&tree, &remove_options) } else { remove(&tree, &remove_options) }
                .unwrap();
        let mut left = BTreeSet::new();
        if tree.exists() {
            all(&tree, &mut left);
        }
        assert_eq!(left, stays, "round {round}: {conditions:?}");
        let removed_entries = (before.len() - left.len()) as u64;
        let top = u64::from(is_none && round % 5 != 0);
        assert_eq!(removed.counts.entries + removed.counts.directories, removed_entries + top);
        assert!(would_be_empty || !is_none);
        assert_eq!(tree.exists(), top == 0, "the directory that is named stays where there are conditions");
        let without = |counts: Counts| Counts { bytes: 0, linked: 0, ..counts };
        let top = u64::from(is_none && round % 5 == 0);
        assert_eq!(
            without(dry.counts),
            Counts { directories: removed.counts.directories + top, ..without(removed.counts) },
            "round {round}: {conditions:?}"
        );
        assert!(removed.complete && dry.complete);
    }
}

#[test]
fn a_dry_run_counts_the_space_of_files_all_of_whose_names_go() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    fs::create_dir_all(tree.join("below")).unwrap();
    fs::write(tree.join("large"), vec![1; 300_000]).unwrap();
    fs::write(tree.join("below/one"), vec![1; 5000]).unwrap();
    fs::hard_link(tree.join("below/one"), tree.join("below/two")).unwrap();
    File::open(&tree).unwrap().sync_all().unwrap();
    rustix::fs::syncfs(File::open(&tree).unwrap()).unwrap();
    let blocks = |path: &str| {
        use std::os::unix::fs::MetadataExt;
        fs::symlink_metadata(tree.join(path)).unwrap().blocks() * 512
    };
    let others = blocks("large") + blocks("below") + blocks(".");
    assert!(others >= 300_000);
    let dry =
        |name: &str| remove(&tree.join(name), &RemoveOptions { dry_run: true, ..options(1) }).unwrap().counts;
    // All names of a file go, or only some.
    let bytes = others + blocks("below/one");
    assert_eq!(dry(""), Counts { entries: 3, directories: 2, bytes, ..Counts::default() });
    fs::hard_link(tree.join("below/one"), scratch.path().join("three")).unwrap();
    assert_eq!(dry(""), Counts { entries: 3, directories: 2, bytes: others, linked: 2, ..Counts::default() });
    assert_eq!(dry("below/one"), Counts { entries: 1, linked: 1, ..Counts::default() });
    fs::remove_file(scratch.path().join("three")).unwrap();
    // Ages are conditions too, so sizes are known. The first hard link leaves another one, the last none.
    let known = blocks("large") + blocks("below") + blocks("below/one");
    let now = SystemTime::now() + Duration::from_secs(3600);
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64;
    let before = Some(Time { seconds: now, nanoseconds: 0 });
    let old = Conditions { before, ..Conditions::default() };
    let removed = remove(&tree, &RemoveOptions { conditions: Some(&old), ..options(1) }).unwrap();
    let expected = Counts { entries: 3, directories: 1, bytes: known, linked: 1, ..Counts::default() };
    assert_eq!(removed.counts, expected);
}

#[test]
fn a_single_file_is_held_against_the_conditions_too() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("file");
    fs::write(&file, "x").unwrap();
    let directories = Conditions { types: vec![FileType::Directory], ..Conditions::default() };
    let kept = remove(&file, &RemoveOptions { conditions: Some(&directories), ..options(1) }).unwrap();
    assert!(file.exists() && kept.counts == Counts::default());
    let removed = remove(&file, &options(1)).unwrap();
    assert!(!file.exists() && removed.counts.entries == 1);
}

#[test]
fn kept_directories_stay_with_their_contents() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    for path in ["keep/below", "other/keep"] {
        fs::create_dir_all(tree.join(path)).unwrap();
    }
    for path in ["keep/file", "other/keep/file", "file"] {
        fs::write(tree.join(path), "x").unwrap();
    }
    for _ in 0..2 {
        let removed = remove(&tree, &RemoveOptions { keep: Some(b"keep"), ..options(2) }).unwrap();
        assert!(removed.complete);
        let mut left = BTreeSet::new();
        all(&tree, &mut left);
        assert_eq!(left.len(), 3, "{left:?}");
        assert!(tree.join("keep/file").exists() && tree.join("keep/below").exists());
    }
}
