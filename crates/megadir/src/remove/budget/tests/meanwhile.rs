//! Changes by others between the selection and the removal.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::super::{Outcome, SelectOptions};
use super::{Random, TO_COME, files, flat, left, of_units, remove, selected, set_times};
use crate::conditions::{Conditions, TimeKind};
use crate::dir::Dir;
use crate::remove::{Progress, RemoveOptions, remove_contents};

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
fn a_name_that_a_file_gains_after_it_was_selected_keeps_it() {
    let (scratch, top) = flat(6, |index| 1_000_000 + index);
    fs::hard_link(top.join("00000"), top.join("second")).unwrap();
    let options = files(2);
    let selection = selected(&top, &options);
    // One had two names, the other had one.
    fs::hard_link(top.join("00000"), scratch.path().join("outside")).unwrap();
    fs::hard_link(top.join("00001"), scratch.path().join("outside1")).unwrap();
    remove(&top, &selection, &options.conditions, false);
    assert_eq!(left(&top), ["00000", "00001", "00004", "00005", "second"]);
    let outcome = selection.outcome();
    assert_eq!((outcome.freed.files, outcome.now, outcome.is_met), (2, 4, false));
}

#[test]
fn times_to_come_and_changes_since_the_run_began_keep_files() {
    for by in [TimeKind::Used, TimeKind::Modified, TimeKind::Accessed] {
        let (scratch, top) = flat(8, |index| 1_000_000 + index);
        set_times(&top.join("00007"), TO_COME, TO_COME);
        let conditions = Arc::new(Conditions { by, ..Conditions::default() });
        let options = SelectOptions { conditions: Arc::clone(&conditions), ..files(0) };
        let selection = selected(&top, &options);
        assert_eq!(selection.threshold().unwrap().time.seconds, 1_000_006, "{}", by.name());
        // Written, and given its old times again.
        fs::write(top.join("00000"), "written").unwrap();
        set_times(&top.join("00000"), 1_000_000, 1_000_000);
        fs::set_permissions(top.join("00001"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        // Moved here, with times of long ago.
        fs::write(scratch.path().join("new"), "").unwrap();
        set_times(&scratch.path().join("new"), 1, 1);
        fs::rename(scratch.path().join("new"), top.join("new")).unwrap();
        remove(&top, &selection, &conditions, false);
        assert_eq!(left(&top), ["00000", "00001", "00007", "new"], "{}", by.name());
        let Outcome { now, is_met, .. } = selection.outcome();
        assert_eq!((now, is_met), (4, false), "counted again");
    }
}

/// Its files are as old as those that were selected.
#[test]
fn a_directory_that_was_moved_into_the_tree_meanwhile_loses_nothing() {
    let (_scratch, top) = of_units();
    let (_of_others, others) = of_units();
    std::thread::sleep(Duration::from_millis(30));
    let options = files(0);
    let selection = selected(&top, &options);
    fs::rename(others.join("a"), top.join("new")).unwrap();
    fs::rename(others.join("b"), top.join("b/d/new")).unwrap();
    // The same name, and a directory that was read elsewhere in the tree.
    fs::rename(top.join("c/d"), top.join("a-moved")).unwrap();
    fs::rename(others.join("c/d"), top.join("c/d")).unwrap();
    remove(&top, &selection, &options.conditions, false);
    assert_eq!(left(&top), ["b/d/new/1", "b/d/new/d/2", "c/d/2", "new/1", "new/d/2"]);
}

#[test]
fn another_directory_in_the_place_of_the_selected_one_loses_nothing() {
    let (scratch, top) = flat(6, |index| 1_000_000 + index);
    let options = files(2);
    let selection = selected(&top, &options);
    fs::rename(&top, scratch.path().join("moved")).unwrap();
    let (_other, other) = flat(6, |index| 1_000_000 + index);
    fs::rename(&other, &top).unwrap();
    let remove_options =
        RemoveOptions { budget: Some(&selection), ..RemoveOptions::new(2, &|failure| panic!("{failure}")) };
    let refused = remove_contents(&Dir::open(&top).unwrap(), &remove_options, &Progress::new()).unwrap_err();
    assert_eq!(refused.kind(), crate::ErrorKind::NotFound, "{refused}");
    assert_eq!((left(&top).len(), left(&scratch.path().join("moved")).len()), (6, 6));
    // The selected one, wherever it is.
    let moved = Dir::open(scratch.path().join("moved")).unwrap();
    remove_contents(&moved, &remove_options, &Progress::new()).unwrap();
    assert_eq!((left(&top).len(), left(&scratch.path().join("moved")).len()), (6, 2));
}

#[test]
fn files_that_others_remove_meanwhile_are_no_failure_and_are_counted_again() {
    for by_directory in [false, true] {
        let (_scratch, top) = of_units();
        let options = SelectOptions { by_directory, ..files(2) };
        let selection = selected(&top, &options);
        fs::remove_file(top.join("a/1")).unwrap();
        if by_directory {
            fs::remove_dir_all(top.join("a")).unwrap();
        }
        let (removed, _) = remove(&top, &selection, &options.conditions, false);
        let outcome = selection.outcome();
        assert!(removed.complete, "{removed:?}");
        assert_eq!(outcome.freed.files, if by_directory { 2 } else { 3 });
        assert_eq!((outcome.now, outcome.is_met), (2, true), "by directory: {by_directory}");
    }
}

/// Between the look at a file and its removal.
#[test]
fn a_file_that_vanishes_just_before_its_removal_counts_as_gone() {
    let (_scratch, top) = flat(6, |index| 1_000_000 + index);
    let options = files(2);
    let selection = selected(&top, &options);
    let vanish = |path: &Path, _| {
        if path.ends_with("00001") {
            fs::remove_file(path).unwrap();
        }
        true
    };
    let remove_options = RemoveOptions {
        budget: Some(&selection),
        on_removal: Some(&vanish),
        ..RemoveOptions::new(2, &|failure| panic!("{failure}"))
    };
    let removed = remove_contents(&Dir::open(&top).unwrap(), &remove_options, &Progress::new()).unwrap();
    let outcome = selection.outcome();
    assert_eq!((removed.counts.entries, outcome.freed.files, outcome.now), (3, 3, 2));
    assert!(removed.complete && outcome.is_met);
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
            let threshold = selection.threshold().unwrap();
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
            let removed =
                remove_contents(&Dir::open(&top).unwrap(), &remove_options, &Progress::new()).unwrap();
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(removed.complete && removed.counts.entries > 0, "seed {seed}: {removed:?}");
            // Between the look and the unlink lies one system call.
            assert!(newer.lock().unwrap().len() <= 2, "seed {seed}: {newer:?}");
        });
        let missing = used.lock().unwrap().iter().filter(|name| !top.join(name.as_str()).exists()).count();
        assert!(missing <= 3, "seed {seed}: {missing} files are gone that were used");
    }
}
