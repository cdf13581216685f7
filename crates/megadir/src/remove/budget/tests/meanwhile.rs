//! Changes by others between the selection and the removal, and during it.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use megadir_testkit::{mount, require};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::super::last_look::{Look, Looking};
use super::super::rows::print;
use super::super::{Outcome, SelectOptions};
use super::{Random, TO_COME, files, flat, left, nested, remove, selected, set_times};
use crate::attributes::Time;
use crate::conditions::{Conditions, Globs, TimeKind};
use crate::remove::engine::system;
use crate::remove::{Progress, RemoveOptions};

const KINDS: [TimeKind; 3] = [TimeKind::Used, TimeKind::Modified, TimeKind::Changed];

#[expect(clippy::needless_pass_by_value, reason = "the type of the callback")]
fn panics(failure: crate::Error) {
    panic!("{failure}")
}

#[test]
fn a_file_that_is_used_after_it_was_selected_stays_and_is_left_to_the_next_run() {
    for by in KINDS {
        let (_scratch, top) = flat(10, |index| 1_000_000 + index);
        let conditions = Arc::new(Conditions { by, ..Conditions::default() });
        let mut selection = selected(&top, &SelectOptions { conditions, ..files(5) });
        // Any change counts, whichever time orders the files, and also one to an older time.
        set_times(&top.join("00002"), 900_000, 1_000_002);
        remove(&top, &mut selection, false);
        assert!(left(&top).contains(&"00002".to_owned()), "{}", by.name());
        let Outcome { now, is_met, changed, .. } = selection.outcome();
        assert_eq!((now, is_met, changed), (6, false, 1), "{}", by.name());
    }
}

#[test]
fn changes_since_the_run_began_keep_files() {
    let (scratch, top) = flat(9, |index| 1_000_000 + index);
    set_times(&top.join("00007"), TO_COME, 1);
    set_times(&top.join("00008"), 1, TO_COME);
    for by in KINDS {
        let conditions = Arc::new(Conditions { by, ..Conditions::default() });
        let mut selection = selected(&top, &SelectOptions { conditions, ..files(2) });
        // Written and given its old times again; owner, mode and names changed; replaced by an equal file; moved here.
        fs::write(top.join("00000"), "written").unwrap();
        set_times(&top.join("00000"), 1_000_000, 1_000_000);
        fs::set_permissions(top.join("00001"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::hard_link(top.join("00002"), scratch.path().join(by.name())).unwrap();
        fs::remove_file(scratch.path().join(by.name())).unwrap();
        fs::hard_link(top.join("00003"), scratch.path().join(format!("{} stays", by.name()))).unwrap();
        fs::copy(top.join("00004"), scratch.path().join("equal")).unwrap();
        set_times(&scratch.path().join("equal"), 1_000_004, 1_000_004);
        fs::rename(scratch.path().join("equal"), top.join("00004")).unwrap();
        fs::write(scratch.path().join("new"), "").unwrap();
        set_times(&scratch.path().join("new"), 1, 1);
        fs::rename(scratch.path().join("new"), top.join("new")).unwrap();
        let expected = ["00000", "00001", "00002", "00003", "00004", "00007", "00008", "new"];
        remove(&top, &mut selection, false);
        assert_eq!(left(&top), expected, "{}: {:?}", by.name(), selection.outcome());
        let Outcome { now, is_met, .. } = selection.outcome();
        assert_eq!((now, is_met), (8, false), "counted again");
        // For the next round.
        for index in [5, 6] {
            fs::write(top.join(format!("0000{index}")), "x").unwrap();
        }
        fs::remove_file(scratch.path().join(format!("{} stays", by.name()))).unwrap();
        for index in 0..7 {
            set_times(&top.join(format!("{index:05}")), 1_000_000 + index, 1_000_000 + index);
        }
        fs::remove_file(top.join("new")).unwrap();
    }
}

/// Its files are as old as the selected ones.
#[test]
fn directories_that_are_renamed_exchanged_or_moved_here_lose_nothing() {
    let (_scratch, top) = nested();
    let (_of_others, others) = nested();
    std::thread::sleep(Duration::from_millis(30));
    let mut selection = selected(&top, &files(1));
    fs::rename(others.join("a"), top.join("new")).unwrap();
    fs::rename(others.join("b"), top.join("b/d/new")).unwrap();
    fs::rename(top.join("c/d"), top.join("a-moved")).unwrap();
    fs::rename(others.join("c/d"), top.join("c/d")).unwrap();
    remove(&top, &mut selection, false);
    // Moved files make nothing else go either, so the youngest of the rest stays.
    assert_eq!(left(&top), ["a-moved/2", "b/d/new/1", "b/d/new/d/2", "c/1", "c/d/2", "new/1", "new/d/2"]);
}

#[test]
fn an_excluded_directory_stays_under_any_name() {
    let exclude = || Globs::of_names_or_paths(&["a", "b/d"]).unwrap();
    for memory_bytes in [0, 1 << 20] {
        for exchange in [false, true] {
            let (_scratch, top) = nested();
            // Enough that another pass is needed if memory is short.
            for index in 0..20 {
                fs::write(top.join(format!("c/{index:02}")), "x").unwrap();
                set_times(&top.join(format!("c/{index:02}")), 1, 1);
            }
            std::thread::sleep(Duration::from_millis(30));
            let conditions =
                Arc::new(Conditions { exclude: exclude(), by: TimeKind::Used, ..Conditions::default() });
            let options = SelectOptions { conditions, memory_bytes, ..files(1) };
            let mut selection = selected(&top, &options);
            let (from, to) = (top.join("a"), top.join("c/d"));
            match exchange {
                true => renameat_with(CWD, &from, CWD, &to, RenameFlags::EXCHANGE).unwrap(),
                false => fs::rename(&from, top.join("x")).unwrap(),
            }
            fs::rename(top.join("b/d"), top.join("y")).unwrap();
            // Later modifications of the directories hide that they were renamed.
            for moved in ["x", "y", "c/d", "a"] {
                let _ = fs::write(top.join(moved).join("new"), "");
            }
            let written = SystemTime::now();
            remove(&top, &mut selection, false);
            let names = left(&top);
            let of_a = if exchange { ["c/d/1", "c/d/d/2"] } else { ["x/1", "x/d/2"] };
            for name in of_a.into_iter().chain(["y/2"]) {
                assert!(names.contains(&name.to_owned()), "{memory_bytes} {exchange}: {names:?} {written:?}");
            }
        }
    }
}

/// The start is before the first pass, which the rename is as well here: as if it came before the parent was read.
#[test]
fn a_directory_that_may_have_been_protected_elsewhere_stays() {
    for (globs, expected) in [(&["keep"][..], 2), (&[], 1)] {
        let (_scratch, top) = nested();
        let exclude = Globs::of_names(globs).unwrap();
        let conditions = Arc::new(Conditions { exclude, by: TimeKind::Used, ..Conditions::default() });
        let mut selection = selected(&top, &SelectOptions { conditions, ..files(1) });
        // Another program changes a directory.
        fs::write(top.join("a/new"), "").unwrap();
        remove(&top, &mut selection, false);
        let names = left(&top);
        assert_eq!(names.iter().filter(|name| !name.ends_with("new")).count(), expected, "{names:?}");
    }
}

/// The rest of its files has the same paths below the moved directory, but none below the tree.
#[test]
fn a_directory_that_is_moved_away_while_it_is_emptied_keeps_the_rest() {
    for link in [false, true] {
        let (scratch, top) = flat(1, |_| TO_COME);
        let (inner, away) = (top.join("d"), scratch.path().join("away"));
        fs::create_dir(&inner).unwrap();
        for index in 0..50 {
            fs::write(inner.join(format!("{index:02}")), "x").unwrap();
            set_times(&inner.join(format!("{index:02}")), 1_000_000 + index, 1);
        }
        std::thread::sleep(Duration::from_millis(30));
        let mut selection = selected(&top, &files(1));
        let count = AtomicU64::new(0);
        let moves = |_: &Path, _| {
            if count.fetch_add(1, Ordering::Relaxed) == 10 {
                fs::rename(&inner, &away).unwrap();
                if link {
                    std::os::unix::fs::symlink(&away, &inner).unwrap();
                }
            }
            true
        };
        let options = RemoveOptions { on_removal: Some(&moves), ..RemoveOptions::new(2, &panics) };
        let removed = selection.remove(&options, &Progress::new()).unwrap();
        assert_eq!((removed.counts.entries, fs::read_dir(&away).unwrap().count()), (10, 40), "{link}");
    }
}

/// A link, a mount or a file takes the place of the directory with the oldest files: the rest fits by then.
#[test]
fn files_whose_path_leads_elsewhere_cause_no_other_removals() {
    for replacement in ["a link", "a file", "directories for files"] {
        let (scratch, top) = flat(50, |index| 2_000_000 + index);
        let (inner, away) = (top.join("d"), scratch.path().join("away"));
        fs::create_dir(&inner).unwrap();
        for index in 0..50 {
            fs::write(inner.join(format!("{index:02}")), "x").unwrap();
            set_times(&inner.join(format!("{index:02}")), 1_000_000 + index, 1);
        }
        let mut selection = selected(&top, &files(60));
        let count = AtomicU64::new(0);
        let moves = |_: &Path, _| {
            if count.fetch_add(1, Ordering::Relaxed) == 5 {
                fs::rename(&inner, &away).unwrap();
                match replacement {
                    "a link" => std::os::unix::fs::symlink(&away, &inner).unwrap(),
                    "a file" => fs::write(&inner, "").unwrap(),
                    _ => {
                        (0..50)
                            .for_each(|file| fs::create_dir_all(inner.join(format!("{file:02}"))).unwrap());
                    }
                }
            }
            true
        };
        let options = RemoveOptions { on_removal: Some(&moves), ..RemoveOptions::new(2, &panics) };
        let removed = selection.remove(&options, &Progress::new()).unwrap();
        let left = left(&top).iter().filter(|name| !name.starts_with('d')).count();
        assert_eq!(
            (removed.counts.entries, left, away.read_dir().unwrap().count()),
            (5, 50, 45),
            "{replacement}"
        );
        assert!(selection.outcome().is_met, "{replacement}");
    }
}

#[test]
fn a_tree_that_is_moved_or_replaced_loses_nothing_more() {
    let (scratch, top) = flat(6, |index| 1_000_000 + index);
    let mut selection = selected(&top, &files(2));
    fs::rename(&top, scratch.path().join("moved")).unwrap();
    let (_other, other) = flat(6, |index| 1_000_000 + index);
    fs::rename(&other, &top).unwrap();
    let options = RemoveOptions::new(2, &panics);
    let refused = selection.remove(&options, &Progress::new()).unwrap_err();
    assert_eq!(refused.kind(), crate::ErrorKind::NotFound, "{refused}");
    assert_eq!((left(&top).len(), left(&scratch.path().join("moved")).len()), (6, 6));
}

#[test]
fn files_that_others_remove_after_the_selection_reduce_the_removal() {
    // Young ones during the question, which are no part of the selection.
    let (_scratch, top) = flat(20, |index| 1_000_000 + index);
    let mut selection = selected(&top, &files(10));
    for index in 14..20 {
        fs::remove_file(top.join(format!("{index:05}"))).unwrap();
    }
    remove(&top, &mut selection, false);
    assert_eq!(left(&top).first().unwrap(), "00004");
    assert_eq!((left(&top).len(), selection.outcome().is_met), (10, true));
    // All that is over.
    let mut selection = selected(&top, &files(5));
    for index in 4..10 {
        fs::remove_file(top.join(format!("{index:05}"))).unwrap();
    }
    let (removed, _) = remove(&top, &mut selection, false);
    assert_eq!((removed.counts.entries, left(&top).len()), (0, 4));
    // The selected files.
    let mut selection = selected(&top, &files(1));
    fs::remove_file(top.join("00010")).unwrap();
    let (removed, _) = remove(&top, &mut selection, false);
    assert_eq!((removed.counts.entries, left(&top)), (2, vec!["00013".to_owned()]));
    assert!(removed.complete);
}

/// A directory that is renamed into a part of the tree that is still to be read is found twice.
#[test]
fn files_counted_twice_after_a_rename_cause_no_other_removals() {
    let (scratch, top) = flat(300, |index| 1_000_000 + index);
    // As if 200 files had counted twice.
    for index in 0..200 {
        fs::write(top.join(format!("again{index}")), "x").unwrap();
    }
    let mut selection = selected(&top, &files(350));
    assert_eq!(selection.outcome().selected.files, 150);
    for index in 0..200 {
        fs::remove_file(top.join(format!("again{index}"))).unwrap();
    }
    let (removed, _) = remove(&top, &mut selection, false);
    assert_eq!((removed.counts.entries, left(&top).len()), (0, 300));
    drop(scratch);
    // A directory that is renamed while the tree is read.
    for seed in 0..20 {
        let (_scratch, top) = flat(100, |index| 1_000_000 + index);
        for directory in ["a", "b", "c", "d"] {
            fs::create_dir(top.join(directory)).unwrap();
        }
        for index in 0..100 {
            fs::write(top.join(format!("a/{index}")), "x").unwrap();
            set_times(&top.join(format!("a/{index}")), 2_000_000, 2_000_000);
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let places = ["a", "b/a", "c/a", "d/a"];
                let mut place = 0;
                while !stop.load(Ordering::Relaxed) {
                    let next = (place + 1) % places.len();
                    fs::rename(top.join(places[place]), top.join(places[next])).unwrap();
                    place = next;
                    std::thread::sleep(Duration::from_micros(seed * 50));
                }
            });
            let _stops = crate::threads::OnPanic(|| stop.store(true, Ordering::Relaxed));
            let options = SelectOptions { threads: Some(1), ..files(210) };
            let mut selection = selected(&top, &options);
            let removed = selection.remove(&RemoveOptions::new(2, &panics), &Progress::new());
            stop.store(true, Ordering::Relaxed);
            assert_eq!(removed.unwrap().counts.entries, 0, "{seed}");
        });
        assert_eq!(left(&top).len(), 200, "{seed}");
    }
}

#[test]
fn an_excluded_directory_does_not_count_under_another_name() {
    let (_scratch, top) = flat(20, |index| 1_000_000 + index);
    for directory in ["keep", "young"] {
        fs::create_dir(top.join(directory)).unwrap();
        for index in 0..20 {
            fs::write(top.join(directory).join(index.to_string()), "x").unwrap();
            set_times(&top.join(directory).join(index.to_string()), 2_000_000, 2_000_000);
        }
    }
    let exclude = Globs::of_names(&["keep"]).unwrap();
    let conditions = Arc::new(Conditions { exclude, by: TimeKind::Used, ..Conditions::default() });
    let mut selection = selected(&top, &SelectOptions { conditions, ..files(20) });
    assert_eq!(selection.outcome().excess, 20);
    fs::remove_dir_all(top.join("young")).unwrap();
    fs::rename(top.join("keep"), top.join("other")).unwrap();
    let (removed, _) = remove(&top, &mut selection, false);
    assert_eq!((removed.counts.entries, left(&top).len()), (0, 40));
    assert_eq!((selection.outcome().now, selection.outcome().is_met), (20, true));
}

/// As if it was renamed before its parent was read, when nothing knows yet that it was excluded.
#[test]
fn a_directory_renamed_since_the_start_causes_no_other_removals() {
    let (_scratch, top) = flat(20, |index| 1_000_000 + index);
    for directory in ["keep", "keep/inner"] {
        fs::create_dir(top.join(directory)).unwrap();
        for index in 0..10 {
            fs::write(top.join(directory).join(index.to_string()), "x").unwrap();
            set_times(&top.join(directory).join(index.to_string()), 2_000_000, 2_000_000);
        }
    }
    fs::hard_link(top.join("keep/0"), top.join("keep/inner/linked")).unwrap();
    let exclude = Globs::of_names(&["keep"]).unwrap();
    let conditions = Arc::new(Conditions { exclude, by: TimeKind::Used, ..Conditions::default() });
    let selection = selected(&top, &SelectOptions { conditions, ..files(20) });
    fs::rename(top.join("keep"), top.join("other")).unwrap();
    crate::threads::lock(&selection.reading.excluded).clear();
    let watch = &mut |_: crate::TreeEvent<'_>| ControlFlow::Continue(());
    let (sums, _) = selection.reading.pass(&selection.directory, None, watch).unwrap().unwrap();
    assert_eq!((sums.held.files, sums.settled.files), (40, 20));
}

/// bindfs keeps attributes for an hour here, as NFS does for a minute.
#[test]
fn a_file_that_another_client_has_used_is_changed_whatever_the_cache_of_this_one_has() {
    let scratch = tempfile::tempdir().unwrap();
    let [below, here] = ["below", "here"].map(|name| scratch.path().join(name));
    for directory in [&below, &here] {
        fs::create_dir(directory).unwrap();
    }
    fs::write(below.join("file"), "x").unwrap();
    let times = "entry_timeout=3600,attr_timeout=3600";
    require!(mount::run(std::process::Command::new("bindfs").args(["-o", times]).args([&below, &here])));
    let directory = crate::Dir::open(&here).unwrap();
    let fresh = || system::facts_at_the_server(&directory, c"file").unwrap().0;
    let looking = Looking {
        root: &directory,
        began: Time { seconds: TO_COME.cast_signed(), nanoseconds: 0 },
        excluded: &HashSet::new(),
        changed_here: &HashSet::new(),
        protects_places: false,
    };
    let expected = print(&fresh());
    let is_same = |look| matches!(look, Look::Same(_));
    let before = is_same(looking.look(b"file", expected));
    fs::write(below.join("file"), "used").unwrap();
    let is_cached = fs::metadata(here.join("file")).unwrap().len() == 1;
    let after = is_same(looking.look(b"file", expected));
    drop(directory);
    mount::unmount(&here).unwrap();
    assert_eq!((before, is_cached, after), (true, true, false));
}

/// As rsnapshot makes them, or `cp -al`.
#[test]
fn hard_links_made_to_most_files_after_the_selection_cause_no_other_removals() {
    let (scratch, top) = flat(30, |index| 1_000_000 + index);
    let mut selection = selected(&top, &files(20));
    for index in 0..25 {
        fs::hard_link(top.join(format!("{index:05}")), scratch.path().join(index.to_string())).unwrap();
    }
    let (removed, _) = remove(&top, &mut selection, false);
    assert_eq!((removed.counts.entries, left(&top).len(), selection.outcome().is_met), (0, 30, false));
}

#[test]
fn a_slow_removal_counts_again_and_ends_when_the_rest_fits() {
    let (_scratch, top) = flat(400, |index| 1_000_000 + index);
    let mut selection = selected(&top, &files(200));
    let count = AtomicU64::new(0);
    let others_remove = |_: &Path, _| {
        if count.fetch_add(1, Ordering::Relaxed) == 10 {
            (210..400).for_each(|index| fs::remove_file(top.join(format!("{index:05}"))).unwrap());
        }
        true
    };
    let options = RemoveOptions {
        on_removal: Some(&others_remove),
        entries_per_second_max: std::num::NonZeroU32::new(40),
        ..RemoveOptions::new(2, &panics)
    };
    let removed = selection.remove(&options, &Progress::new()).unwrap();
    assert!((11..150).contains(&removed.counts.entries), "{removed:?}");
    assert!(selection.outcome().is_met);
}

#[test]
fn files_that_others_add_after_the_selection_do_not_enlarge_the_removal() {
    let (_scratch, top) = flat(20, |index| 1_000_000 + index);
    let mut selection = selected(&top, &files(15));
    for index in 20..40 {
        fs::write(top.join(format!("{index:05}")), "x").unwrap();
        set_times(&top.join(format!("{index:05}")), 1, 1);
    }
    let (removed, _) = remove(&top, &mut selection, false);
    assert_eq!((removed.counts.entries, left(&top).len()), (5, 35));
    assert_eq!(left(&top).first().unwrap(), "00005");
    assert_eq!((selection.outcome().now, selection.outcome().is_met), (35, false));
}

/// Between the announcement of a file and its removal.
#[test]
fn the_announcement_of_a_file_that_stays_is_withdrawn() {
    let (_scratch, top) = flat(8, |index| 1_000_000 + index);
    let mut selection = selected(&top, &files(4));
    let change = |path: &Path, _| {
        match path.file_name().unwrap().to_str().unwrap() {
            "00001" => fs::remove_file(path).unwrap(),
            "00002" => fs::write(path, "used").unwrap(),
            _ => {}
        }
        true
    };
    let back = Mutex::new(Vec::new());
    let stays = |path: &Path, why: &str| {
        back.lock().unwrap().push((path.file_name().unwrap().to_str().unwrap().to_owned(), why.to_owned()));
    };
    let options =
        RemoveOptions { on_removal: Some(&change), on_stay: Some(&stays), ..RemoveOptions::new(2, &panics) };
    let removed = selection.remove(&options, &Progress::new()).unwrap();
    assert_eq!((removed.counts.entries, removed.complete), (3, true));
    let expected = [("00001", super::super::removal::MISSING), ("00002", super::super::removal::USED)];
    assert_eq!(back.into_inner().unwrap(), expected.map(|(name, why)| (name.to_owned(), why.to_owned())));
    assert_eq!(left(&top), ["00002", "00005", "00006", "00007"]);
}

/// A thread creates files, touches old ones and replaces them while each run lasts.
#[test]
fn files_used_since_the_run_began_stay_while_others_write() {
    for seed in 0..12_u64 {
        let (_scratch, top) = flat(600, |index| 1_000_000 + index % 50);
        let stop = AtomicBool::new(false);
        let used = Mutex::new(BTreeSet::new());
        let options = SelectOptions { memory_bytes: 8 << 10, ..files(300) };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random(seed);
                for new in 0.. {
                    if stop.load(Ordering::Relaxed) {
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
            let _stops = crate::threads::OnPanic(|| stop.store(true, Ordering::Relaxed));
            let mut selection = selected(&top, &options);
            let removed = selection.remove(&RemoveOptions::new(2, &panics), &Progress::new()).unwrap();
            stop.store(true, Ordering::Relaxed);
            assert!(removed.complete && removed.counts.entries > 0, "seed {seed}: {removed:?}");
        });
        // Between the look and the unlink lies one system call.
        let missing = used.lock().unwrap().iter().filter(|name| !top.join(name.as_str()).exists()).count();
        assert!(missing <= 2, "seed {seed}: {missing} files are gone that were used");
    }
}

#[test]
fn two_removals_at_once_remove_no_more_than_one() {
    for _ in 0..8 {
        let (_scratch, top) = flat(400, |index| 1_000_000 + index);
        let selections = [selected(&top, &files(200)), selected(&top, &files(200))];
        std::thread::scope(|scope| {
            for mut selection in selections {
                scope.spawn(move || {
                    let removed = selection.remove(&RemoveOptions::new(2, &panics), &Progress::new());
                    assert!(removed.unwrap().complete && selection.outcome().is_met);
                });
            }
        });
        assert_eq!((left(&top).len(), left(&top)[0].as_str()), (200, "00200"));
    }
}
