//! Random trees against an oracle that sorts all files in memory; writers beside the passes; the bounds.

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
use crate::remove::{Progress, RemoveOptions, Removed, remove_tree};

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

/// Directories `0` to `5`, some in each other, with files whose times and sizes repeat, and hard links to earlier files.
fn build(top: &Path, outside: &Path, random: &mut Random, files: u64) {
    let directories = ["", "0", "1", "1/a", "1/a/b", "2", "3-", "3"];
    directories.iter().for_each(|directory| fs::create_dir_all(top.join(directory)).unwrap());
    fs::create_dir_all(outside).unwrap();
    let mut made = Vec::new();
    for index in 0..files {
        let directory = directories[random.below(8) as usize];
        let suffix = if random.below(5) == 0 { ".keep" } else { "" };
        let path = top.join(directory).join(format!("{}{index}{suffix}", random.below(10)));
        match random.below(10) {
            0 if !made.is_empty() => {
                let earlier: &std::path::PathBuf = &made[random.below(made.len() as u64) as usize];
                fs::hard_link(earlier, &path).unwrap();
                if random.below(6) == 0 {
                    fs::hard_link(earlier, outside.join(index.to_string())).unwrap();
                }
            }
            _ => {
                fs::write(&path, vec![b'x'; random.below(5) as usize * 5000]).unwrap();
                made.push(path.clone());
            }
        }
        let times = (1_000_000 + random.below(6), 1_000_000 + random.below(6));
        set_times(&path, times.0, times.1);
    }
    for index in 0..3 {
        std::os::unix::fs::symlink("0", top.join(format!("link{index}"))).unwrap();
    }
}

#[derive(Clone, Debug)]
struct OfInode {
    names: Vec<String>,
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
            let new = OfInode { names: Vec::new(), bytes: status.blocks() * 512, times };
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

#[derive(Clone, Copy, Debug, PartialEq)]
enum Units {
    Files,
    Directories,
}

/// Names that are left of the tree, by sorting everything in memory.
fn oracle(all: &[OfInode], budget: Budget, by: TimeKind, units: Units, keeps: bool) -> BTreeSet<String> {
    let Budget::Holds(measure, limit) = budget else { unreachable!() };
    let time = |inode: &OfInode| match by {
        TimeKind::Modified => inode.times[0],
        TimeKind::Accessed => inode.times[1],
        _ => inode.times[0].max(inode.times[1]),
    };
    let weight = |inode: &OfInode| if measure == Measure::Bytes { inode.bytes } else { 1 };
    let unit = |name: &str| name.split_once('/').map(|(unit, _)| unit.to_owned());
    let mut of_units: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for inode in all {
        for unit in inode.names.iter().filter_map(|name| unit(name)) {
            let latest = of_units.entry(unit).or_insert((i64::MIN, 0));
            *latest = (*latest).max(time(inode));
        }
    }
    // Place of the last name; `None` if a name stays.
    let place = |inode: &OfInode| -> Option<((i64, i64), String)> {
        let mut last = None;
        for name in &inode.names {
            let place = match units {
                Units::Files if keeps && name.ends_with(".keep") => return None,
                Units::Files => (time(inode), name.clone()),
                Units::Directories => {
                    let unit = unit(name)?;
                    if keeps && unit == "3" {
                        return None;
                    }
                    (of_units[&unit], unit)
                }
            };
            last = last.max(Some(place));
        }
        last
    };
    let mut order: Vec<_> = all.iter().filter_map(|inode| Some((place(inode)?, inode))).collect();
    order.sort_by(|a, b| a.0.cmp(&b.0));
    let mut excess = all.iter().map(weight).sum::<u64>().saturating_sub(limit);
    let mut threshold = None;
    for (place, inode) in &order {
        if excess == 0 {
            break;
        }
        excess = excess.saturating_sub(weight(inode));
        threshold = Some(place.clone());
    }
    let mut left = names(all);
    let Some(threshold) = threshold else { return left };
    match units {
        Units::Files => {
            for (place, inode) in &order {
                if *place <= threshold {
                    inode.names.iter().for_each(|name| assert!(left.remove(name)));
                }
            }
        }
        Units::Directories => left.retain(|name| {
            unit(name).is_none_or(|unit| keeps && unit == "3" || (of_units[&unit], unit) > threshold)
        }),
    }
    left
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
    let parent = Dir::open(top.parent().unwrap()).unwrap();
    let name = top.file_name().unwrap().as_encoded_bytes();
    let removed = remove_tree(&parent, name, &options, &Progress::new()).unwrap();
    (removed, gone.into_inner().unwrap())
}

#[test]
fn kept_files_match_an_oracle_that_sorts_in_memory() {
    for seed in 0..160 {
        let mut random = Random(seed * 7919);
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().join("t");
        let files = 1 + random.below(120);
        build(&top, &scratch.path().join("outside"), &mut random, files);
        let all = inodes(&top);
        let total: u64 = all.iter().map(|inode| inode.bytes).sum();
        let count = all.len() as u64;
        let budget = match random.below(6) {
            0 => Budget::Holds(Measure::Bytes, 0),
            1 => Budget::Holds(Measure::Bytes, total + random.below(2)),
            2 | 3 => Budget::Holds(Measure::Bytes, random.below(total + 1)),
            _ => Budget::Holds(Measure::Files, random.below(count + 2)),
        };
        let by = [TimeKind::Modified, TimeKind::Accessed, TimeKind::Used][random.below(3) as usize];
        let units = if random.below(3) == 0 { Units::Directories } else { Units::Files };
        let keeps = random.below(3) == 0;
        let mut conditions = Conditions { by, ..Conditions::default() };
        if keeps {
            let globs: &[&str] = match units {
                // Everything but names that end in .keep, as `accepts` sees it.
                Units::Files => &["*[!p]"],
                Units::Directories => &["[!3]*", "3-"],
            };
            conditions.names = Globs::of_names(globs).unwrap();
        }
        let conditions = Arc::new(conditions);
        // So little memory that ranges are joined and read again.
        let memory_bytes = if seed % 2 == 0 { 14 << 10 } else { 32 << 20 };
        let options = SelectOptions {
            conditions: Arc::clone(&conditions),
            by_directory: units == Units::Directories,
            threads: Some(1 + random.below(3) as usize),
            memory_bytes,
            ..SelectOptions::new(budget)
        };
        let context = format!("seed {seed}: {budget} by {} {units:?} keeps {keeps}", by.name());
        let expected = oracle(&all, budget, by, units, keeps);
        let dry = selected(&top, &options);
        let (counted, would_go) = remove(&top, &dry, &conditions, true);
        assert_eq!(names(&inodes(&top)), names(&all), "{context}: a dry run removes nothing");
        let stays: BTreeSet<_> = names(&all).difference(&would_go).cloned().collect();
        assert_eq!(stays, expected, "{context}");
        let selection = selected(&top, &options);
        let (removed, gone) = remove(&top, &selection, &conditions, false);
        assert_eq!((removed.counts, &gone), (counted.counts, &would_go), "{context}");
        assert_eq!(dry.outcome(), selection.outcome(), "{context}");
        let left = inodes(&top);
        assert_eq!(names(&left), expected, "{context}");
        let outcome = selection.outcome();
        let (now, held): (u64, u64) = match budget.measure() {
            Measure::Bytes => (left.iter().map(|inode| inode.bytes).sum(), total),
            Measure::Files => (left.len() as u64, count),
        };
        assert_eq!((outcome.now, budget.measure().of(&outcome.held)), (now, held), "{context}");
        assert_eq!(outcome.selected, outcome.freed, "{context}");
        assert_eq!(outcome.is_met, now <= outcome.limit, "{context}");
        assert_eq!(removed.counts.bytes, outcome.freed.bytes, "{context}");
        assert!(removed.complete, "{context}");
    }
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
fn a_file_that_is_used_after_it_was_selected_stays() {
    for by in [TimeKind::Used, TimeKind::Modified, TimeKind::Changed] {
        let (_scratch, top) = flat(10, |index| 1_000_000 + index);
        let conditions = Arc::new(Conditions { by, ..Conditions::default() });
        let options = SelectOptions { conditions: Arc::clone(&conditions), ..files(5) };
        let selection = selected(&top, &options);
        set_times(&top.join("00002"), 2_000_000, 2_000_000);
        remove(&top, &selection, &conditions, false);
        let expected = ["00002", "00005", "00006", "00007", "00008", "00009"];
        assert_eq!(left(&top), expected, "{}", by.name());
        let Outcome { now, is_met, .. } = selection.outcome();
        assert_eq!((now, is_met), (6, false), "the budget is not met, and no other file goes instead");
    }
}

#[test]
fn a_unit_that_is_used_after_it_was_selected_stays() {
    let scratch = tempfile::tempdir().unwrap();
    let top = scratch.path().join("t");
    for unit in ["a", "b", "c"] {
        fs::create_dir_all(top.join(unit).join("d/e")).unwrap();
        for file in ["1", "d/2", "d/e/3"] {
            fs::write(top.join(unit).join(file), "x").unwrap();
            set_times(&top.join(unit).join(file), 1_000_000, 1_000_000);
        }
    }
    let options = SelectOptions { by_directory: true, ..files(3) };
    let selection = selected(&top, &options);
    set_times(&top.join("b/d/e/3"), 2_000_000, 1_000_000);
    let (removed, _) = remove(&top, &selection, &options.conditions, false);
    assert_eq!((removed.counts.entries, removed.counts.directories), (3, 3));
    assert!(!top.join("a").exists() && top.join("b/1").exists() && top.join("c/1").exists());
}

#[test]
fn names_of_one_file_go_together_also_if_their_change_time_orders_them() {
    let (_scratch, top) = flat(4, |index| 1_000_000 + index);
    for name in ["a", "z"] {
        fs::hard_link(top.join("00000"), top.join(name)).unwrap();
    }
    let conditions = Arc::new(Conditions { by: TimeKind::Changed, ..Conditions::default() });
    for path in ["00000", "00001", "00002", "00003"] {
        std::thread::sleep(Duration::from_millis(20));
        set_times(&top.join(path), 1_000_000, 1_000_000);
    }
    let options = SelectOptions { conditions: Arc::clone(&conditions), ..files(3) };
    let selection = selected(&top, &options);
    let (removed, _) = remove(&top, &selection, &conditions, false);
    assert_eq!(
        (removed.counts.entries, left(&top)),
        (3, vec!["00001".into(), "00002".into(), "00003".into()])
    );
    assert!(selection.outcome().is_met);
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
fn units_of_directories_refuse_conditions_on_their_entries() {
    let (_scratch, top) = flat(1, |_| 1_000_000);
    let none = Conditions::default();
    for conditions in [
        Conditions { larger_than: Some(1), ..none.clone() },
        Conditions { types: vec![crate::FileType::File], ..none.clone() },
        Conditions { depth_max: Some(2), ..none.clone() },
        Conditions { exclude: Globs::of_names_or_paths(&["a/b"]).unwrap(), ..none.clone() },
        Conditions { paths: Globs::of_paths(&["*"]).unwrap(), ..none },
    ] {
        let options = SelectOptions { conditions: Arc::new(conditions), by_directory: true, ..files(0) };
        let watch = &mut |_: crate::TreeEvent<'_>| ControlFlow::Continue(());
        let error = select(&Dir::open(&top).unwrap(), &options, watch).unwrap_err();
        assert!(error.to_string().contains("units of directories"), "{error}");
    }
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

/// While a name outside is left, removing the others frees nothing on the file system.
#[test]
fn for_free_space_files_with_names_outside_stay() {
    let (scratch, top) = flat(4, |index| 1_000_000 + index);
    fs::hard_link(top.join("00000"), top.join("inside")).unwrap();
    fs::hard_link(top.join("00001"), scratch.path().join("outside")).unwrap();
    let budget = Budget::Free(Measure::Bytes, super::Portion::Exact(u64::MAX));
    let options = SelectOptions::new(budget);
    let selection = selected(&top, &options);
    remove(&top, &selection, &options.conditions, false);
    assert_eq!(left(&top), ["00001"]);
    let Outcome { freed, now, is_met, .. } = selection.outcome();
    assert!(freed.files == 3 && now >= freed.bytes && !is_met);
    let of_directory = files(0);
    let selection = selected(&top, &of_directory);
    remove(&top, &selection, &of_directory.conditions, false);
    assert!(left(&top).is_empty() && selection.outcome().is_met, "a budget of the directory counts as du");
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

/// A thread creates files, touches old ones and replaces them while each run lasts.
#[test]
fn beside_writers_nothing_that_was_used_since_the_run_began_is_removed() {
    for seed in 0..12_u64 {
        let (_scratch, top) = flat(600, |index| 1_000_000 + index % 50);
        let (began, stop) = (SystemTime::now(), std::sync::atomic::AtomicBool::new(false));
        let used = Mutex::new(BTreeSet::new());
        let options = SelectOptions { memory_bytes: 8 << 10, ..files(300) };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random(seed);
                for new in 0.. {
                    if stop.load(std::sync::atomic::Ordering::Relaxed) {
                        break;
                    }
                    let name = match random.below(3) {
                        0 => format!("new{new}"),
                        _ => format!("{:05}", random.below(600)),
                    };
                    let path = top.join(&name);
                    let replaced = top.join("replacement");
                    let is_done = match random.below(2) {
                        0 => fs::write(&path, "used").is_ok(),
                        // Renamed over it: the name belongs to a new file.
                        _ => fs::write(&replaced, "new").is_ok() && fs::rename(&replaced, &path).is_ok(),
                    };
                    if is_done {
                        used.lock().unwrap().insert(name);
                    }
                    std::thread::sleep(Duration::from_micros(random.below(300)));
                }
            });
            // Also after a failed assertion, or the scope would wait for ever.
            let _stops = crate::threads::OnPanic(|| stop.store(true, std::sync::atomic::Ordering::Relaxed));
            let selection = selected(&top, &options);
            let threshold = selection.shared.threshold.clone().unwrap();
            assert!(threshold.time.seconds < 1_000_050, "seed {seed}: {threshold:?}");
            let newer = Mutex::new(Vec::new());
            let note = |path: &Path, _kind| {
                // The writer may have used it since the look.
                let modified = fs::symlink_metadata(path).and_then(|status| status.modified());
                if modified.is_ok_and(|modified| modified >= began) {
                    newer.lock().unwrap().push(path.to_owned());
                }
                true
            };
            let remove_options = RemoveOptions {
                budget: Some(&selection),
                conditions: Some(&options.conditions),
                on_removal: Some(&note),
                ..RemoveOptions::new(2, &|failure| panic!("{failure}"))
            };
            let parent = Dir::open(top.parent().unwrap()).unwrap();
            let removed = remove_tree(&parent, b"t", &remove_options, &Progress::new()).unwrap();
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(removed.complete && removed.counts.entries > 0, "seed {seed}: {removed:?}");
            // Between the look and the unlink lies one system call.
            assert!(newer.lock().unwrap().len() <= 2, "seed {seed}: {newer:?}");
        });
        let missing = used.lock().unwrap().iter().filter(|name| !top.join(name.as_str()).exists()).count();
        assert!(missing <= 3, "seed {seed}: {missing} files are gone that were used");
    }
}
