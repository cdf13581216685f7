//! Files that go and files that stay, and the bounds.

mod meanwhile;
mod oracle;
mod units;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::{Budget, Measure, Outcome, SelectOptions, Selection, select};
use crate::attributes::Time;
use crate::conditions::{Conditions, Globs, TimeKind};
use crate::dir::Dir;
use crate::remove::{Progress, RemoveOptions, Removed, remove_contents, remove_tree};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn set_times(path: &Path, accessed: u64, modified: u64) {
    let times = fs::FileTimes::new().set_accessed(at(accessed)).set_modified(at(modified));
    fs::File::options().write(true).open(path).unwrap().set_times(times).unwrap();
}

/// A time after any run.
const TO_COME: u64 = 10_000_000_000;

#[derive(Clone, Debug)]
struct OfInode {
    names: Vec<String>,
    links: u64,
    bytes: u64,
    times: [(i64, i64); 2],
}

fn inodes(top: &Path) -> Vec<OfInode> {
    fn walk(top: &Path, below: &str, found: &mut BTreeMap<(u64, u64), OfInode>) {
        for entry in fs::read_dir(top.join(below)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            let status = fs::symlink_metadata(top.join(&path)).unwrap();
            if status.is_dir() {
                walk(top, &path, found);
                continue;
            }
            let times = [(status.mtime(), status.mtime_nsec()), (status.atime(), status.atime_nsec())];
            let (links, bytes) = (status.nlink(), status.blocks() * 512);
            let new = OfInode { names: Vec::new(), links, bytes, times };
            found.entry((status.dev(), status.ino())).or_insert(new).names.push(path);
        }
    }
    let mut found = BTreeMap::new();
    walk(top, "", &mut found);
    found.into_values().collect()
}

fn names(of: &[OfInode]) -> BTreeSet<String> {
    of.iter().flat_map(|inode| inode.names.clone()).collect()
}

fn selected(top: &Path, options: &SelectOptions) -> Selection {
    let watch = &mut |_: crate::TreeEvent<'_>| ControlFlow::Continue(());
    select(&Dir::open(top).unwrap(), options, watch).unwrap().unwrap()
}

fn remove(
    top: &Path,
    selection: &Selection,
    conditions: &Conditions,
    dry_run: bool,
) -> (Removed, BTreeSet<String>) {
    let gone = Mutex::new(BTreeSet::new());
    let note = |path: &Path, kind: crate::FileType| {
        if kind != crate::FileType::Directory {
            gone.lock().unwrap().insert(path.strip_prefix(top).unwrap().to_str().unwrap().to_owned());
        }
        true
    };
    let options = RemoveOptions {
        budget: Some(selection),
        conditions: Some(conditions),
        on_removal: Some(&note),
        dry_run,
        ..RemoveOptions::new(2, &|failure| panic!("{failure}"))
    };
    let removed = remove_contents(&Dir::open(top).unwrap(), &options, &Progress::new()).unwrap();
    (removed, gone.into_inner().unwrap())
}

fn flat(files: u64, time: impl Fn(u64) -> u64) -> (tempfile::TempDir, std::path::PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let top = scratch.path().join("t");
    fs::create_dir(&top).unwrap();
    for index in 0..files {
        let path = top.join(format!("{index:05}"));
        fs::write(&path, "x").unwrap();
        set_times(&path, time(index), time(index));
    }
    (scratch, top)
}

fn files(limit: u64) -> SelectOptions {
    SelectOptions::new(Budget::Holds(Measure::Files, limit))
}

fn left(top: &Path) -> Vec<String> {
    names(&inodes(top)).into_iter().collect()
}

#[test]
fn of_files_with_one_time_the_first_paths_go_with_any_memory() {
    for memory_bytes in [2 << 10, 16 << 10, 32 << 20] {
        let (_scratch, top) = flat(3000, |_| 1_000_000);
        let options = SelectOptions { memory_bytes, ..files(1234) };
        let selection = selected(&top, &options);
        remove(&top, &selection, &options.conditions, false);
        let expected: Vec<String> = (3000 - 1234..3000).map(|index| format!("{index:05}")).collect();
        assert_eq!(left(&top), expected, "{memory_bytes}");
    }
}

#[test]
fn names_of_files_beyond_the_memory_stay() {
    let (_scratch, top) = flat(400, |index| 1_000_000 + index);
    for index in 0..400 {
        fs::hard_link(top.join(format!("{index:05}")), top.join(format!("{index:05}b"))).unwrap();
    }
    let options = SelectOptions { memory_bytes: 64 << 10, ..files(0) };
    let selection = selected(&top, &options);
    remove(&top, &selection, &options.conditions, false);
    let (outcome, inodes) = (selection.outcome(), inodes(&top));
    assert!(!outcome.is_met && outcome.untracked > 0, "{outcome:?}");
    assert_eq!(outcome.untracked, names(&inodes).len() as u64);
    assert!(inodes.iter().all(|inode| inode.names.len() == 2), "no file loses one of its names");
    assert_eq!(outcome.now, inodes.len() as u64);
}

#[test]
fn a_stop_requested_during_a_pass_selects_nothing() {
    let (_scratch, top) = flat(10, |_| 1_000_000);
    let watch = &mut |_: crate::TreeEvent<'_>| ControlFlow::Break(());
    assert!(select(&Dir::open(&top).unwrap(), &files(5), watch).unwrap().is_none());
}

#[test]
fn a_minimum_age_protects_files_beyond_the_budget() {
    let (_scratch, top) = flat(10, |index| 1_000_000 + index);
    let before = Some(Time { seconds: 1_000_004, nanoseconds: 0 });
    let conditions = Arc::new(Conditions { by: TimeKind::Used, before, ..Conditions::default() });
    let options = SelectOptions { conditions: Arc::clone(&conditions), ..files(2) };
    let selection = selected(&top, &options);
    remove(&top, &selection, &conditions, false);
    let outcome = selection.outcome();
    assert_eq!((left(&top).len(), outcome.now, outcome.is_met), (6, 6, false));
}

/// While a name outside is left, removing the others frees nothing.
#[test]
fn files_with_names_outside_or_excluded_stay_and_count_once() {
    let (scratch, top) = flat(4, |index| 1_000_000 + index);
    fs::hard_link(top.join("00000"), top.join("inside")).unwrap();
    fs::hard_link(top.join("00001"), scratch.path().join("outside")).unwrap();
    fs::hard_link(top.join("00002"), top.join("excluded")).unwrap();
    let exclude = Globs::of_names(&["excluded"]).unwrap();
    let conditions = Arc::new(Conditions { exclude, by: TimeKind::Used, ..Conditions::default() });
    let free = Budget::Free(Measure::Bytes, super::Portion::Percent(100.0));
    for budget in [free, Budget::Holds(Measure::Files, 0)] {
        let options = SelectOptions { conditions: Arc::clone(&conditions), ..SelectOptions::new(budget) };
        let selection = selected(&top, &options);
        assert_eq!(selection.outcome().held.files, if budget == free { 4 } else { 2 });
        remove(&top, &selection, &options.conditions, false);
        assert_eq!(left(&top), ["00001", "00002", "excluded"]);
        let Outcome { freed, now, is_met, .. } = selection.outcome();
        match budget == free {
            true => assert!(freed.files == 2 && !is_met, "{freed:?}"),
            false => assert_eq!((freed.files, now, is_met), (0, 2, false)),
        }
    }
}

/// Units `a`, `b` and `c` of two files each, used in this order.
fn of_units() -> (tempfile::TempDir, std::path::PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let top = scratch.path().join("t");
    for (unit, seconds) in [("a", 1), ("b", 2), ("c", 3)] {
        fs::create_dir_all(top.join(unit).join("d")).unwrap();
        for file in ["1", "d/2"] {
            fs::write(top.join(unit).join(file), "x").unwrap();
            set_times(&top.join(unit).join(file), 1_000_000 + seconds, 1_000_000);
        }
    }
    (scratch, top)
}

#[test]
fn files_below_the_greatest_depth_count_and_stay() {
    let (_scratch, top) = of_units();
    let conditions = Arc::new(Conditions { depth_max: Some(2), by: TimeKind::Used, ..Conditions::default() });
    let options = SelectOptions { conditions: Arc::clone(&conditions), ..files(4) };
    let selection = selected(&top, &options);
    assert_eq!(selection.outcome().held.files, 6);
    remove(&top, &selection, &conditions, false);
    assert_eq!(left(&top), ["a/d/2", "b/d/2", "c/1", "c/d/2"]);
    assert!(selection.outcome().is_met);
}

#[test]
fn a_budget_refuses_options_that_would_take_more() {
    let (scratch, top) = flat(6, |index| 1_000_000 + index);
    let options = files(2);
    let selection = selected(&top, &options);
    let fail = |failure| panic!("{failure}");
    let within = RemoveOptions { budget: Some(&selection), ..RemoveOptions::new(2, &fail) };
    let others = Conditions { names: Globs::of_names(&["*"]).unwrap(), ..Conditions::default() };
    let parent = Dir::open(scratch.path()).unwrap();
    let tree = remove_tree(&parent, b"t", &within, &Progress::new()).unwrap_err();
    assert_eq!(tree.kind(), crate::ErrorKind::BadOption);
    for refused in [
        RemoveOptions { cross_mounts: true, ..within },
        RemoveOptions { keep_newest: std::num::NonZeroUsize::new(1), ..within },
        RemoveOptions { name: Some(&|_| true), ..within },
        RemoveOptions { keep: Some(b"00001"), ..within },
        RemoveOptions { conditions: Some(&others), ..within },
    ] {
        let error = remove_contents(&Dir::open(&top).unwrap(), &refused, &Progress::new()).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::BadOption, "{refused:?}");
        assert_eq!(left(&top).len(), 6, "{refused:?}");
    }
    // A directory that was put aside goes as a whole.
    let aside = crate::remove::aside::renew(&parent, b"t").unwrap();
    assert_eq!(aside.remove(&within, &Progress::new()).unwrap_err().kind(), crate::ErrorKind::BadOption);
    assert_eq!(left(&scratch.path().join(std::str::from_utf8(aside.name()).unwrap())).len(), 6);
}

#[test]
fn sums_of_sizes_that_no_number_holds_stop_at_the_largest() {
    let mut sum = super::Amount { names: 1, files: 1, bytes: u64::MAX - 1 };
    sum.add(&super::Amount { names: u64::MAX, files: u64::MAX, bytes: u64::MAX });
    assert_eq!(sum, super::Amount { names: u64::MAX, files: u64::MAX, bytes: u64::MAX });
    let mut ranges = super::Ranges::new(1 << 20);
    for name in [b"a", b"b", b"c"] {
        let mut keys = super::Keys::default();
        keys.add(Time::EPOCH, name, sum);
        ranges.add(&mut keys);
    }
    let excess = u64::MAX;
    let mut search = super::Search {
        measure: Measure::Bytes,
        excess,
        threshold: None,
        selected: super::Amount::default(),
    };
    assert!(search.look(ranges.sorted()).is_none());
    assert_eq!((search.selected.bytes, &*search.threshold.unwrap().path), (u64::MAX, b"a".as_slice()));
}

#[test]
fn holes_of_sparse_files_count_nothing() {
    let (_scratch, top) = flat(3, |index| 1_000_000 + index);
    fs::File::options().write(true).open(top.join("00000")).unwrap().set_len(1 << 40).unwrap();
    set_times(&top.join("00000"), 999_999, 999_999);
    let all: u64 = inodes(&top).iter().map(|inode| inode.bytes).sum();
    assert!(all < 1 << 20);
    for (limit, expected) in [(all, 3), (all - 1, 2)] {
        let options = SelectOptions::new(Budget::Holds(Measure::Bytes, limit));
        let selection = selected(&top, &options);
        assert_eq!(selection.is_empty(), expected == 3);
        remove(&top, &selection, &options.conditions, false);
        assert_eq!(left(&top).len(), expected, "{limit}");
    }
}
