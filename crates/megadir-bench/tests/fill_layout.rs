//! Filling a tree: every file in its place, nothing outside, correct counts, and a dry run with the same
//! result.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use megadir::layout::{Layout, PRESETS, Refused, Source};
use megadir_bench::dataset::{
    Files, FilesError, FillError, FillProgress, Filled, PlaceBuffer, Rehearsed, fill, rehearse,
};
use megadir_record::{Made, NameScheme, Spread};
use megadir_testkit::mount::{EXT4, Mount, Recipe};
use megadir_testkit::require;

static NEVER: AtomicBool = AtomicBool::new(false);

fn spec(layout: &str, entries: u64, size_bytes: u64) -> Files {
    let names = match layout.parse::<Layout>().unwrap().source() {
        Source::Decimal => NameScheme::Decimal,
        Source::Sequence => NameScheme::UpperHex,
        _ => NameScheme::Md5,
    };
    named(names, layout, entries, size_bytes).unwrap()
}

fn named(names: NameScheme, layout: &str, entries: u64, size_bytes: u64) -> Result<Files, FilesError> {
    let spread = Spread::Layout { layout: layout.to_owned() };
    Files::new(&Made { spread, ..Made::flat(names, size_bytes) }, 1, entries)
}

fn run(path: &Path, spec: &Files) -> Result<Filled, FillError> {
    fill(path, spec, &mut |_| {}, &NEVER)
}

fn rehearsed(path: &Path, spec: &Files) -> Rehearsed {
    rehearse(path, spec, &mut |_| {}, &NEVER).unwrap()
}

/// Returns the path of a file according to the library.
fn place(spec: &Files, index: u64) -> PathBuf {
    let mut buffer = PlaceBuffer::new();
    let path = spec.place(index, &mut buffer).unwrap().path().to_vec();
    PathBuf::from(String::from_utf8(path).unwrap())
}

/// Everything below a directory: paths, with length and modification time of files.
type Tree = BTreeMap<PathBuf, Option<(u64, std::time::SystemTime)>>;

fn tree(top: &Path) -> Tree {
    fn walk(top: &Path, below: &Path, tree: &mut Tree) {
        for entry in std::fs::read_dir(top.join(below)).unwrap() {
            let path = below.join(entry.unwrap().file_name());
            let metadata = top.join(&path).symlink_metadata().unwrap();
            if metadata.is_dir() {
                walk(top, &path, tree);
            }
            let file = metadata.is_file().then(|| (metadata.len(), metadata.modified().unwrap()));
            tree.insert(path, file);
        }
    }
    let mut found = Tree::new();
    walk(top, Path::new(""), &mut found);
    found
}

fn files(tree: &Tree) -> u64 {
    tree.values().filter(|file| file.is_some()).count() as u64
}

#[test]
fn every_preset_places_files_at_their_computed_paths() {
    let parent = tempfile::tempdir().unwrap();
    let others = ["flat", "digest:1/1", "prefix:1/1/1+label=x-", "next-to-last:1/2", "sequence:3/5/7"];
    for layout in PRESETS.iter().map(|preset| preset.name).chain(others) {
        let top = parent.path().join(layout.replace('/', "_"));
        let spec = spec(layout, 150, 20);
        let before = rehearsed(&top, &spec);
        assert!(!top.exists(), "{layout}");
        let filled = run(&top, &spec).unwrap();
        let found = tree(&top);
        assert_eq!((filled.made, files(&found)), (150, 150), "{layout}");
        assert_eq!(filled.directories_made, found.len() as u64 - 150, "{layout}");
        for index in 0..150 {
            let file = found.get(&place(&spec, index)).copied().flatten();
            assert_eq!(file.map(|file| file.0), Some(20), "{layout} {index}");
        }
        assert_eq!(before, Rehearsed { filled, more_directories: false, bytes: 3000 }, "{layout}");
        let again = run(&top, &spec).unwrap();
        assert_eq!((again.made, again.already, again.directories_made), (0, 150, 0), "{layout}");
    }
}

#[test]
fn rehearsal_predicts_filling_and_writes_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let top = parent.path().join("top");
    let some = spec("prefix:1/1", 60, 100_000);
    run(&top, &some).unwrap();
    std::fs::remove_file(top.join(place(&some, 3))).unwrap();
    for (index, length) in [(7, 0), (8, 70_001)] {
        let file = std::fs::OpenOptions::new().write(true).open(top.join(place(&some, index))).unwrap();
        file.set_len(length).unwrap();
    }
    std::fs::write(top.join(place(&some, 9)), "something else").unwrap();
    let all = spec("prefix:1/1", 200, 100_000);
    let before = tree(&top);
    let predicted = rehearsed(&top, &all);
    assert_eq!(tree(&top), before);
    let done = run(&top, &all).unwrap();
    assert_eq!((done.made, done.already, done.completed, done.taken), (141, 56, 2, 1));
    assert!(done.directories_made > 0);
    assert_eq!(
        predicted,
        Rehearsed { filled: done, more_directories: false, bytes: 141 * 100_000 + 100_000 + 29_999 }
    );
}

#[test]
fn obstacles_at_directory_paths_stay_and_are_not_written_through() {
    let parent = tempfile::tempdir().unwrap();
    let (top, outside) = (parent.path().join("top"), parent.path().join("outside"));
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir_all(top.join("1")).unwrap();
    std::os::unix::fs::symlink(&outside, top.join("0")).unwrap();
    std::os::unix::fs::symlink(&outside, top.join("1/2")).unwrap();
    std::os::unix::fs::symlink("nowhere", top.join("3")).unwrap();
    std::fs::write(top.join("4"), "precious").unwrap();
    let spec = spec("prefix:1/1", 500, 10);
    let below = |start: &str| (0..500).filter(|index| place(&spec, *index).starts_with(start)).count() as u64;
    let expected = below("0") + below("1/2") + below("3") + below("4");
    let predicted = rehearsed(&top, &spec);
    let filled = run(&top, &spec).unwrap();
    assert_eq!((filled.made, filled.taken, filled.taken_named), (500 - expected, expected, expected));
    let mut names = filled.taken_names.clone();
    names.sort();
    assert_eq!(names, [&b"0"[..], b"1/2", b"3", b"4"]);
    assert_eq!(predicted.filled, filled);
    assert_eq!(tree(&outside).len(), 0);
    assert!(!top.join("nowhere").exists());
    assert_eq!(std::fs::read(top.join("4")).unwrap(), b"precious");
}

/// A bind mount; unmounted on drop.
struct Bound(PathBuf);

impl Bound {
    fn make(from: &Path, at: &Path) -> Result<Self, String> {
        megadir_testkit::mount::run(Command::new("mount").arg("--bind").args([from, at]))?;
        Ok(Self(at.to_owned()))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = megadir_testkit::mount::run(Command::new("umount").arg("--lazy").arg(&self.0));
    }
}

#[test]
fn nothing_is_written_into_mounts_below() {
    let mount = require!(Mount::make(&EXT4));
    let (top, precious) = (mount.path().join("top"), mount.path().join("precious"));
    std::fs::create_dir_all(top.join("a")).unwrap();
    std::fs::create_dir(&precious).unwrap();
    let bound = require!(Bound::make(&precious, &top.join("a")));
    let spec = spec("prefix:1", 500, 10);
    let (predicted, filled) = (rehearsed(&top, &spec), run(&top, &spec));
    let left = tree(&precious).len();
    drop(bound);
    let filled = filled.unwrap();
    assert_eq!(left, 0);
    assert!(filled.taken > 10 && filled.made + filled.taken == 500);
    assert_eq!((filled.taken_names.as_slice(), predicted.filled.taken), (&[b"a".to_vec()][..], filled.taken));
}

#[test]
fn names_without_a_place_are_refused_before_anything_is_made() {
    let parent = tempfile::tempdir().unwrap();
    let top = parent.path().join("top");
    let decimal = |layout, entries| named(NameScheme::Decimal, layout, entries, 1);
    for (files, name, reason) in [
        (named(NameScheme::Hex, "prefix:9/9", 10, 1), None, Refused::TooShort { bytes: 16, least: 18 }),
        (decimal("prefix:1/1", 100), Some("0"), Refused::TooShort { bytes: 1, least: 2 }),
        (decimal("decimal:1/2", 1001), Some("1000"), Refused::NotDecimal { digits: 3 }),
        // Neither the first nor the last of these names looks like a directory.
        (decimal("digest:3+from=0+under=1", 100_000), Some("100"), Refused::LikeDirectory),
        (decimal("squid", 1), Some("0"), Refused::NotSequence),
    ] {
        let Err(FilesError::Refused { name: found, reason: why, .. }) = files else { panic!("{files:?}") };
        assert!(name.is_none_or(|name| name == found) && why == reason, "{found} {why:?}");
    }
    assert_eq!(run(&top, &decimal("decimal:1/2", 1000).unwrap()).unwrap().made, 1000);
}

#[test]
fn interrupted_tree_is_completed() {
    let directory = tempfile::tempdir().unwrap();
    let spec = spec("prefix:1", 1500, 10);
    let stop = AtomicBool::new(false);
    let mut progress = |progress: FillProgress| stop.store(progress.done >= 512, Ordering::Relaxed);
    let first = fill(directory.path(), &spec, &mut progress, &stop).unwrap();
    assert!(first.stopped && first.made >= 512 && first.made < 1000 && first.directories_made == 16);
    let second = run(directory.path(), &spec).unwrap();
    assert_eq!(first.made + second.made, 1500);
    assert_eq!((second.already, second.directories_made), (first.made, 0));
    stop.store(true, Ordering::Relaxed);
    assert!(rehearse(directory.path(), &spec, &mut |_| {}, &stop).unwrap().filled.stopped);
}

#[test]
fn failed_rehearsal_names_the_reason() {
    let parent = tempfile::tempdir().unwrap();
    std::fs::write(parent.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink("nowhere", parent.path().join("link")).unwrap();
    for (path, words) in [
        ("file", "Not a directory"),
        ("file/below", "Not a directory"),
        ("no/such", "No such file or directory"),
        ("link", "No such file or directory"),
    ] {
        let path = parent.path().join(path);
        let error = rehearse(&path, &spec("git", 1, 1), &mut |_| {}, &NEVER).unwrap_err().to_string();
        assert!(error.starts_with("cannot open") && error.contains(words), "{error}");
        let error = run(&path, &spec("git", 1, 1)).unwrap_err().to_string();
        let doing =
            if path.symlink_metadata().is_ok() { "cannot open" } else { "cannot create the directory" };
        assert!(error.starts_with(doing) && error.contains(words), "{error}");
    }
}

/// An ext4 with very few inodes.
const FEW_INODES: Recipe = Recipe {
    name: "ext4 of 128 inodes for a tree",
    mkfs: &["mkfs.ext4", "-q", "-F", "-N", "128"],
    image_bytes: 32 << 20,
    ..EXT4
};

#[test]
fn inode_exhaustion_by_directories_is_reported() {
    let mount = require!(Mount::make(&FEW_INODES));
    let error = run(&mount.path().join("tree"), &spec("prefix:2", 1000, 0)).unwrap_err();
    let FillError::NoRoom { made: 30..100, met, .. } = error else { panic!("{error}") };
    assert_eq!(met.limit, megadir::limits::Limit::Inodes, "{met}");
}
