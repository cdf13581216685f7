//! Files that go and files that stay, and the bounds.

mod meanwhile;
mod oracle;

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
use crate::remove::{Progress, RemoveOptions, Removed};

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

/// Regular files.
fn inodes(top: &Path) -> Vec<OfInode> {
    fn walk(top: &Path, below: &str, found: &mut BTreeMap<(u64, u64), OfInode>) {
        for entry in fs::read_dir(top.join(below)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            let status = fs::symlink_metadata(top.join(&path)).unwrap();
            if status.is_dir() {
                walk(top, &path, found);
            }
            if !status.is_file() {
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

fn remove(top: &Path, selection: &mut Selection, dry_run: bool) -> (Removed, BTreeSet<String>) {
    let removed_names = Mutex::new(BTreeSet::new());
    let below = |path: &Path| path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
    let note = |path: &Path, _| removed_names.lock().unwrap().insert(below(path));
    let stays = |path: &Path, _: &str| {
        removed_names.lock().unwrap().remove(&below(path));
    };
    let options = RemoveOptions {
        on_removal: Some(&note),
        on_stay: Some(&stays),
        dry_run,
        ..RemoveOptions::new(None, &|failure| panic!("{failure}"))
    };
    let removed = selection.remove(&options, &Progress::new()).unwrap();
    (removed, removed_names.into_inner().unwrap())
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

/// Directories `a`, `b` and `c` of two files each, used in this order.
fn nested() -> (tempfile::TempDir, std::path::PathBuf) {
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

fn files(limit: u64) -> SelectOptions {
    SelectOptions::new(Budget::Holds(Measure::Files, limit))
}

fn left(top: &Path) -> Vec<String> {
    names(&inodes(top)).into_iter().collect()
}

#[test]
fn files_with_equal_times_are_removed_in_path_order_with_any_memory() {
    for memory_bytes in [2 << 10, 16 << 10, 32 << 20] {
        let (_scratch, top) = flat(3000, |_| 1_000_000);
        let mut selection = selected(&top, &SelectOptions { memory_bytes, ..files(1234) });
        remove(&top, &mut selection, false);
        let expected: Vec<String> = (3000 - 1234..3000).map(|index| format!("{index:05}")).collect();
        assert_eq!(left(&top), expected, "{memory_bytes}");
    }
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
    let mut selection = selected(&top, &SelectOptions { conditions, ..files(2) });
    remove(&top, &mut selection, false);
    let outcome = selection.outcome();
    assert_eq!((left(&top).len(), outcome.now, outcome.is_met), (6, 6, false));
}

/// While a name is left, removing the others frees nothing.
#[test]
fn files_with_several_names_count_once_and_stay() {
    let (scratch, top) = flat(5, |index| 1_000_000 + index);
    fs::hard_link(top.join("00000"), top.join("inside")).unwrap();
    fs::hard_link(top.join("00001"), scratch.path().join("outside")).unwrap();
    let mut selection = selected(&top, &files(3));
    let Outcome { held, linked, selected, .. } = selection.outcome();
    assert_eq!((held.files, linked.files, selected.files), (5, 2, 2));
    remove(&top, &mut selection, false);
    assert_eq!(left(&top), ["00000", "00001", "00004", "inside"]);
    let Outcome { freed, now, is_met, .. } = selection.outcome();
    assert_eq!((freed.files, now, is_met), (2, 3, true));
}

/// Everything that may go would go, for nothing.
#[test]
fn a_budget_out_of_reach_removes_nothing() {
    let (scratch, top) = flat(6, |index| 1_000_000 + index);
    for linked in ["00000", "00001", "00002"] {
        fs::hard_link(top.join(linked), scratch.path().join(linked)).unwrap();
    }
    let mut selection = selected(&top, &files(2));
    assert!(selection.is_empty());
    remove(&top, &mut selection, false);
    let Outcome { is_out_of_reach, is_met, now, .. } = selection.outcome();
    assert_eq!((is_out_of_reach, is_met, now, left(&top).len()), (true, false, 6, 6));
    let mut selection = selected(&top, &files(3));
    remove(&top, &mut selection, false);
    assert_eq!((left(&top).len(), selection.outcome().is_met), (3, true));
    // Times to come, which no condition names.
    let (_scratch, to_come) = flat(80, |index| if index < 30 { 1_000_000 } else { TO_COME });
    let mut selection = selected(&to_come, &files(40));
    remove(&to_come, &mut selection, false);
    let Outcome { is_out_of_reach, reachable, .. } = selection.outcome();
    assert_eq!((is_out_of_reach, reachable, left(&to_come).len()), (true, 50, 80));
    // More than the files of the tree have.
    let status = rustix::fs::statvfs(&top).unwrap();
    let wanted = (status.f_bavail + 100_000) * status.f_frsize;
    if wanted < status.f_blocks.saturating_sub(status.f_bfree - status.f_bavail) * status.f_frsize {
        let budget = Budget::Free(Measure::Bytes, super::Portion::Exact(wanted));
        let mut selection = selected(&top, &SelectOptions::new(budget));
        remove(&top, &mut selection, false);
        assert!(selection.outcome().is_out_of_reach && left(&top).len() == 3);
    }
}

#[test]
fn empty_files_stay_under_a_budget_of_bytes() {
    let (_scratch, top) = flat(6, |index| 1_000_000 + index);
    for (index, empty) in ["00000", "00001"].iter().enumerate() {
        fs::write(top.join(empty), "").unwrap();
        set_times(&top.join(empty), index as u64, index as u64);
    }
    std::os::unix::fs::symlink("00003", top.join("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(top.join("socket")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, top.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let mut selection = selected(&top, &SelectOptions::new(Budget::Holds(Measure::Bytes, 1)));
    remove(&top, &mut selection, false);
    assert_eq!(left(&top), ["00000", "00001"]);
    let mut selection = selected(&top, &files(1));
    remove(&top, &mut selection, false);
    assert_eq!((left(&top), selection.outcome().is_met), (vec!["00001".to_owned()], true));
    for other in ["link", "socket", "pipe"] {
        assert!(fs::symlink_metadata(top.join(other)).is_ok(), "{other}");
    }
}

#[test]
fn files_below_the_greatest_depth_count_and_stay() {
    let (_scratch, top) = nested();
    let conditions = Arc::new(Conditions { depth_max: Some(2), by: TimeKind::Used, ..Conditions::default() });
    let mut selection = selected(&top, &SelectOptions { conditions, ..files(4) });
    assert_eq!(selection.outcome().held.files, 6);
    remove(&top, &mut selection, false);
    assert_eq!(left(&top), ["a/d/2", "b/d/2", "c/1", "c/d/2"]);
    assert!(selection.outcome().is_met);
}

#[test]
fn a_budget_refuses_options_that_it_excludes() {
    let (_scratch, top) = flat(6, |index| 1_000_000 + index);
    let mut selection = selected(&top, &files(2));
    let fail = |failure| panic!("{failure}");
    let within = RemoveOptions::new(2, &fail);
    let others = Conditions { names: Globs::of_names(&["*"]).unwrap(), ..Conditions::default() };
    for refused in [
        RemoveOptions { cross_mounts: true, ..within },
        RemoveOptions { keep_newest: std::num::NonZeroUsize::new(1), ..within },
        RemoveOptions { name: Some(&|_| true), ..within },
        RemoveOptions { keep: Some(b"00001"), ..within },
        RemoveOptions { conditions: Some(&others), ..within },
        RemoveOptions { counts_once: true, ..within },
    ] {
        let error = selection.remove(&refused, &Progress::new()).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::BadOption, "{refused:?}");
        assert_eq!(left(&top).len(), 6, "{refused:?}");
    }
}

#[test]
fn sums_of_sizes_that_no_number_holds_stop_at_the_largest() {
    let mut sum = super::Amount { files: 1, bytes: u64::MAX - 1 };
    sum.add(&super::Amount { files: u64::MAX, bytes: u64::MAX });
    assert_eq!(sum, super::Amount { files: u64::MAX, bytes: u64::MAX });
}

#[test]
fn holes_of_sparse_files_count_nothing() {
    let (_scratch, top) = flat(3, |index| 1_000_000 + index);
    fs::File::options().write(true).open(top.join("00000")).unwrap().set_len(1 << 40).unwrap();
    set_times(&top.join("00000"), 999_999, 999_999);
    let all: u64 = inodes(&top).iter().map(|inode| inode.bytes).sum();
    assert!(all < 1 << 20);
    for (limit, expected) in [(all, 3), (all - 1, 2)] {
        let mut selection = selected(&top, &SelectOptions::new(Budget::Holds(Measure::Bytes, limit)));
        assert_eq!(selection.is_empty(), expected == 3);
        remove(&top, &mut selection, false);
        assert_eq!(left(&top).len(), expected, "{limit}");
    }
}

#[test]
fn deep_paths_are_reached() {
    let scratch = tempfile::tempdir().unwrap();
    let top = scratch.path().join("t");
    fs::create_dir(&top).unwrap();
    let mut directory = rustix::fs::open(&top, rustix::fs::OFlags::DIRECTORY, 0.into()).unwrap();
    let name = "d".repeat(250);
    for _ in 0..30 {
        rustix::fs::mkdirat(&directory, &name, 0o700.into()).unwrap();
        directory = rustix::fs::openat(&directory, &name, rustix::fs::OFlags::DIRECTORY, 0.into()).unwrap();
    }
    for file in ["1", "2", "3"] {
        rustix::fs::mknodat(&directory, file, rustix::fs::FileType::RegularFile, 0o600.into(), 0).unwrap();
    }
    let mut selection = selected(&top, &files(1));
    remove(&top, &mut selection, false);
    assert_eq!((selection.outcome().freed.files, selection.outcome().is_met), (2, true));
}
