//! Trees that other processes change during the removal, and removals that are cancelled.

use std::fs;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use megadir::remove::{Counts, Failures, Progress, RemoveOptions, Removed, remove_tree};
use megadir::{Dir, ErrorKind};
use megadir_testkit::leaks::{descriptors_below, settled};
use megadir_testkit::tree::Flat;

use crate::support::{empty, options, remove};

fn wide(tree: &Path, directories: u64, files: u64) {
    fs::create_dir(tree).unwrap();
    for index in 0..directories {
        Flat::plain(files).build(&tree.join(format!("d{index}")));
    }
}

fn remove_with(tree: &Path, options: &RemoveOptions<'_>, progress: &Progress) -> Removed {
    let parent = Dir::open(tree.parent().unwrap()).unwrap();
    remove_tree(&parent, megadir::names::from_os(tree.file_name().unwrap()), options, progress).unwrap()
}

#[test]
fn job_cancelled_at_any_moment_resumes() {
    const LAST: u64 = 1000;
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    for workers in [1, 3] {
        wide(&tree, 20, 60);
        let mut total = Counts::default();
        // The last round is not cancelled: on a busy machine, short times may never be enough.
        for round in 0..=LAST {
            let progress = Progress::new();
            let done = AtomicBool::new(round == LAST);
            let removed = std::thread::scope(|scope| {
                scope.spawn(|| {
                    // Counts are updated about every hundred entries; time is finer.
                    let started = Instant::now();
                    while started.elapsed() < Duration::from_micros(200 + 37 * round) {
                        if done.load(Ordering::Relaxed) {
                            return;
                        }
                        std::hint::spin_loop();
                    }
                    progress.cancel();
                });
                let removed = remove_with(&tree, &options(workers), &progress);
                done.store(true, Ordering::Relaxed);
                removed
            });
            total.entries += removed.counts.entries;
            total.directories += removed.counts.directories;
            assert_eq!((removed.counts.failures, removed.counts.directories_kept), (0, 0));
            assert_eq!(settled(|| descriptors_below(&tree)), 0);
            if !tree.exists() {
                break;
            }
            assert!(removed.cancelled && !removed.complete);
        }
        assert!(!tree.exists());
        assert_eq!((total.entries, total.directories), (1200, 21), "nothing is counted twice");
    }
}

/// Recreates a few files in a loop, and meanwhile runs a removal that is slower, so that each pass finds new
/// files. Repeats until one did, because the writer may not be scheduled.
fn met(filled: &Path, remove: impl Fn(&RemoveOptions<'_>) -> Removed) {
    const NAMES: u32 = 6;
    for _ in 0..300 {
        let (stop, failures) = (AtomicBool::new(false), Failures::new(10));
        let on_failure = |failure| failures.add(failure);
        // Start with some files: the writer may not run yet.
        fs::create_dir_all(filled).unwrap();
        (0..NAMES).for_each(|name| fs::write(filled.join(format!("w{name}")), "").unwrap());
        let slowly = NonZeroU32::new(50);
        let removed = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    (0..NAMES).for_each(|name| drop(fs::write(filled.join(format!("w{name}")), "")));
                }
            });
            let options =
                RemoveOptions { entries_per_second_max: slowly, on_failure: &on_failure, ..options(1) };
            let removed = remove(&options);
            stop.store(true, Ordering::Relaxed);
            removed
        });
        let failures = failures.take();
        assert_eq!(removed.complete, failures.is_empty(), "{failures:?}");
        assert_eq!(removed.counts.failures, failures.len() as u64);
        for failure in &failures {
            assert_eq!((failure.kind(), failure.path()), (ErrorKind::NotEmpty, filled), "{failure}");
            assert!(failure.to_string().contains("another process keeps creating entries in it"));
        }
        if !failures.is_empty() {
            assert!(failures.len() == 1 && removed.counts.entries >= 10, "{removed:?}");
            return;
        }
    }
    panic!("300 removals and none met a writer that was faster");
}

#[test]
fn a_live_writer_is_met_with_patience_that_ends() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    met(&tree.join("below"), |options| remove(&tree, options).unwrap());
    let _ = empty(scratch.path(), &options(1)).unwrap();
    met(&tree, |options| remove(&tree, options).unwrap());
    let _ = empty(scratch.path(), &options(1)).unwrap();
    // For a directory that stays the same applies: it is not reported as empty.
    met(&tree, |options| empty(&tree, options).unwrap());
}

#[test]
fn entries_created_during_conditional_removal_are_listed_again() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    for (limit, empties) in [(4, false), (4, true), (u64::MAX, false), (u64::MAX, true)] {
        let _ = fs::remove_dir_all(&tree);
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("0"), "").unwrap();
        let made = AtomicU64::new(0);
        // Creates a new entry before each removal.
        let answers = |_: &[u8]| {
            let number = made.fetch_add(1, Ordering::Relaxed) + 1;
            if number <= limit {
                fs::write(tree.join(number.to_string()), "").unwrap();
            }
            true
        };
        let failures = Failures::new(10);
        let on_failure = |failure| failures.add(failure);
        let remove_options = RemoveOptions { name: Some(&answers), on_failure: &on_failure, ..options(2) };
        let removed =
            if empties { empty(&tree, &remove_options) } else { remove(&tree, &remove_options) }.unwrap();
        let left = fs::read_dir(&tree).unwrap().count();
        let failures = failures.take();
        if limit == 4 {
            assert_eq!((removed.counts.entries, left, removed.complete), (5, 0, true));
        } else {
            assert_eq!((removed.counts.entries, left, removed.complete), (11, 1, false));
            assert!(failures.len() == 1 && failures[0].kind() == ErrorKind::NotEmpty, "{failures:?}");
        }
    }
}

#[test]
fn moved_directory_leads_no_removal_outside() {
    let scratch = tempfile::tempdir().unwrap();
    let (tree, outside) = (scratch.path().join("tree"), scratch.path().join("outside"));
    for workers in [1, 2] {
        // If the move comes too late, the round proves nothing.
        let is_met = (0..100).any(|_| {
            let is_moved = moved_meanwhile(&tree, &outside, workers);
            fs::remove_dir_all(&outside).unwrap();
            is_moved
        });
        assert!(is_met, "a hundred removals were over before the directory was moved");
    }
}

/// Removes a deep tree while one of its directories is moved outside; returns `true` if the move came in time.
fn moved_meanwhile(tree: &Path, outside: &Path, workers: usize) -> bool {
    const LEVELS: usize = 150;
    // So deep that upper levels are closed, with files at the end. Outside is a file of the same name.
    let chain = |root: &Path, levels: usize| (0..levels).fold(root.to_owned(), |path, _| path.join("d"));
    let end = chain(tree, LEVELS);
    fs::create_dir_all(&end).unwrap();
    fs::create_dir_all(chain(outside, LEVELS)).unwrap();
    fs::write(outside.join("file"), "kept").unwrap();
    for index in 0..300 {
        fs::write(end.join(format!("{index}")), "").unwrap();
    }
    let progress = Progress::new();
    let slowly = RemoveOptions { entries_per_second_max: NonZeroU32::new(1000), ..options(workers) };
    let (removed, is_moved) = std::thread::scope(|scope| {
        let moves = scope.spawn(|| {
            while progress.counts().entries == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Its contents are being removed; from now on its `..` leads outside.
            fs::rename(chain(tree, 40), outside.join("moved"))
        });
        let removed = remove_with(tree, &slowly, &progress);
        (removed, moves.join().unwrap())
    });
    assert!(removed.complete, "{removed:?}");
    assert!(!tree.exists());
    assert!(chain(outside, LEVELS).is_dir() && outside.join("file").exists());
    assert_eq!(removed.counts.entries, 300);
    let all = LEVELS as u64 + 1;
    match is_moved {
        Ok(()) => {
            // An opened directory is emptied wherever it is, but is no longer the one to remove.
            assert_eq!(fs::read_dir(outside.join("moved")).unwrap().count(), 0);
            assert_eq!(removed.counts.directories, all - 1, "all but the one that was moved");
            true
        }
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
            assert_eq!(removed.counts.directories, all);
            false
        }
    }
}

#[test]
fn a_rate_is_kept_by_all_workers_together() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    wide(&tree, 4, 100);
    let slowly = RemoveOptions { entries_per_second_max: NonZeroU32::new(1000), ..options(4) };
    let started = Instant::now();
    assert!(remove(&tree, &slowly).unwrap().complete);
    // 405 entries, with a burst of about ten: a lower bound that holds under any load.
    assert!(started.elapsed() >= Duration::from_millis(390), "{:?}", started.elapsed());
}

#[test]
fn a_rate_is_kept_over_several_removals_and_by_roots_but_not_by_a_dry_run() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    wide(&tree, 4, 50);
    let slowly = RemoveOptions { entries_per_second_max: NonZeroU32::new(100), ..options(2) };
    let hours = RemoveOptions { entries_per_second_max: NonZeroU32::new(1), dry_run: true, ..options(2) };
    let started = Instant::now();
    assert_eq!(remove_with(&tree, &hours, &Progress::new()).counts.entries, 200);
    // At that rate it would take 205 s.
    assert!(started.elapsed() < Duration::from_secs(100), "{:?}", started.elapsed());
    for index in 0..20 {
        fs::write(scratch.path().join(format!("f{index}")), "").unwrap();
        fs::create_dir(scratch.path().join(format!("e{index}"))).unwrap();
    }
    let (started, progress) = (Instant::now(), Progress::new());
    for index in 0..20 {
        for kind in ["f", "e"] {
            assert!(remove_with(&scratch.path().join(format!("{kind}{index}")), &slowly, &progress).complete);
        }
    }
    // 40 entries, with a burst of one.
    assert!(started.elapsed() >= Duration::from_millis(370), "{:?}", started.elapsed());
}

#[test]
fn two_removals_of_the_same_tree_end_well_together() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    for _ in 0..5 {
        wide(&tree, 30, 30);
        let parent = Dir::open(scratch.path()).unwrap();
        let removed: Vec<_> = std::thread::scope(|scope| {
            let run = || {
                // A second removal finds nothing.
                remove_tree(&parent, b"tree", &options(2), &Progress::new())
                    .map(|removed| removed.counts)
                    .unwrap_or_default()
            };
            let both = [scope.spawn(run), scope.spawn(run)];
            both.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(!tree.exists());
        assert_eq!(removed.iter().map(|counts| counts.entries).sum::<u64>(), 900);
        assert_eq!(removed.iter().map(|counts| counts.directories).sum::<u64>(), 31);
    }
}
