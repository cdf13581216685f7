//! Changes by other processes while an entry waits for its time slot.

use std::fs::{self, File};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::{remove_contents, remove_tree};
use crate::attributes::Time;
use crate::conditions::Conditions;
use crate::dir::Dir;
use crate::file_type::FileType;
#[cfg(target_os = "linux")]
use crate::remove::NameCondition;
use crate::remove::{Progress, RemoveOptions, Removed};

/// Entries older than this are removed.
const LIMIT: Time = Time { seconds: 2_000_000, nanoseconds: 0 };

fn old() -> Conditions {
    Conditions { before: Some(LIMIT), ..Conditions::default() }
}

fn options(conditions: &Conditions) -> RemoveOptions<'_> {
    RemoveOptions {
        conditions: Some(conditions),
        // A rate so high that no worker sleeps.
        entries_per_second_max: NonZeroU32::new(u32::MAX),
        ..RemoveOptions::new(1, &|failure| panic!("{failure}"))
    }
}

/// Calls `call` with the number of each wait, starting at 1.
fn meanwhile(mut call: impl FnMut(u32, &Progress) + Send + 'static) -> Progress {
    let (progress, mut waits) = (Progress::new(), 0);
    *progress.meanwhile.0.lock().unwrap() = Some(Box::new(move |progress| {
        waits += 1;
        call(waits, progress);
    }));
    progress
}

/// Creates a directory with old files.
fn filled(tree: &Path, files: u32) {
    fs::create_dir(tree).unwrap();
    for index in 0..files {
        let file = File::create(tree.join(format!("f{index}"))).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
    }
}

fn remove(tree: &Path, options: &RemoveOptions<'_>, progress: &Progress) -> Removed {
    let parent = Dir::open(tree.parent().unwrap()).unwrap();
    remove_tree(&parent, crate::names::from_os(tree.file_name().unwrap()), options, progress).unwrap()
}

fn left(tree: &Path) -> usize {
    fs::read_dir(tree).unwrap().count()
}

#[test]
fn entry_that_takes_a_name_during_the_wait_is_examined() {
    for types in [Vec::new(), vec![FileType::File]] {
        let scratch = tempfile::tempdir().unwrap();
        let tree = scratch.path().join("tree");
        filled(&tree, 6);
        let (at, waits) = (tree.clone(), Arc::new(Mutex::new(0)));
        let seen = Arc::clone(&waits);
        let progress = meanwhile(move |number, _| {
            *seen.lock().unwrap() = number;
            if number == 3 {
                for entry in fs::read_dir(&at).unwrap() {
                    let new = at.with_file_name("new");
                    fs::write(&new, "new").unwrap();
                    fs::rename(&new, entry.unwrap().path()).unwrap();
                }
            }
        });
        let removed = remove(&tree, &options(&Conditions { types, ..old() }), &progress);
        assert_eq!((removed.counts.entries, left(&tree)), (2, 4), "two were old when they went");
        assert!(removed.complete);
        // The third wait was for an entry that stayed and so served the next ones; the fourth was in the second
        // pass.
        assert_eq!(*waits.lock().unwrap(), 4, "what stays takes no place");
    }
}

#[test]
fn nothing_is_removed_after_cancellation() {
    for conditions in [&Conditions::default(), &old()] {
        let scratch = tempfile::tempdir().unwrap();
        let tree = scratch.path().join("tree");
        filled(&tree, 5);
        let third = || {
            meanwhile(|number, progress| {
                if number == 3 {
                    progress.cancel();
                }
            })
        };
        let removed = remove(&tree, &options(conditions), &third());
        assert_eq!((removed.counts.entries, left(&tree)), (2, 3));
        assert!(removed.cancelled && !removed.complete);
        let directory = Dir::open(&tree).unwrap();
        let removed = remove_contents(&directory, &options(conditions), &third()).unwrap();
        assert_eq!((removed.counts.entries, left(&tree), removed.cancelled), (2, 1, true));
        let first = || meanwhile(|_, progress| progress.cancel());
        let file = fs::read_dir(&tree).unwrap().next().unwrap().unwrap().path();
        assert_eq!(remove(&file, &options(conditions), &first()).counts.entries, 0);
        assert!(file.exists(), "a file that is named");
    }
}

#[test]
fn no_directory_is_removed_after_cancellation() {
    // The entry named by the caller, and the entries below it.
    for stop in 1..=3 {
        let scratch = tempfile::tempdir().unwrap();
        let tree = scratch.path().join("tree");
        fs::create_dir_all(tree.join("one").join("two")).unwrap();
        let progress = meanwhile(move |number, progress| {
            if number == stop {
                progress.cancel();
            }
        });
        let removed = remove(&tree, &options(&Conditions::default()), &progress);
        assert_eq!((removed.counts.directories, removed.cancelled), (u64::from(stop) - 1, true));
        let below = tree.join("one");
        assert_eq!((tree.exists(), below.exists(), below.join("two").exists()), (true, stop < 3, stop < 2));
        assert_eq!((removed.counts.failures, removed.counts.directories_kept), (0, 0));
    }
}

#[test]
fn a_directory_that_takes_the_name_of_one_that_met_the_conditions_stays() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    fs::create_dir_all(tree.join("d")).unwrap();
    let at = tree.join("d");
    let progress = meanwhile(move |number, _| {
        assert_eq!(number, 1);
        fs::rename(&at, at.with_file_name("moved")).unwrap();
        fs::create_dir(&at).unwrap();
    });
    let failures = crate::remove::Failures::new(9);
    let note_failure = |failure| failures.add(failure);
    let conditions = Conditions { types: vec![FileType::Directory], ..Conditions::default() };
    let removed =
        remove(&tree, &RemoveOptions { on_failure: &note_failure, ..options(&conditions) }, &progress);
    assert_eq!((removed.counts.directories, removed.counts.failures, left(&tree)), (0, 1, 2));
    let failures = failures.take();
    assert!(failures[0].to_string().contains("moved or replaced"), "{failures:?}");
}

/// Links become files after two of them have been removed.
#[cfg(target_os = "linux")]
#[test]
fn entry_whose_type_changed_after_listing_stays() {
    for rated in [true, false] {
        let scratch = tempfile::tempdir().unwrap();
        let tree = scratch.path().join("tree");
        fs::create_dir(&tree).unwrap();
        for index in 0..6 {
            std::os::unix::fs::symlink("none", tree.join(format!("l{index}"))).unwrap();
        }
        let change = {
            let at = tree.clone();
            move |number| {
                if number == 3 {
                    for entry in fs::read_dir(&at).unwrap() {
                        let path = entry.unwrap().path();
                        fs::remove_file(&path).unwrap();
                        fs::write(&path, "new").unwrap();
                    }
                }
            }
        };
        let (links, numbers) = (vec![FileType::Symlink], std::sync::atomic::AtomicU32::new(0));
        let by_name = |_: &[u8]| {
            change(numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1);
            true
        };
        // During the wait or, without a rate, at the last moment before the entry is examined.
        let (name, progress): (Option<NameCondition<'_>>, _) = match rated {
            true => (
                None,
                meanwhile({
                    let change = change.clone();
                    move |number, _| change(number)
                }),
            ),
            false => (Some(&by_name), Progress::new()),
        };
        let conditions = Conditions { types: links, ..Conditions::default() };
        let rate = NonZeroU32::new(u32::MAX).filter(|_| rated);
        let options = RemoveOptions { entries_per_second_max: rate, name, ..options(&conditions) };
        let removed = remove(&tree, &options, &progress);
        assert_eq!((removed.counts.entries, left(&tree), removed.complete), (2, 4, true));
        assert_eq!((removed.counts.bytes, removed.counts.linked), (0, 0), "with an age or not at all");
    }
}

#[test]
fn a_file_that_is_named_is_looked_at_after_the_wait() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    filled(&tree, 1);
    let file = tree.join("f0");
    let at = file.clone();
    let progress = meanwhile(move |_, _| fs::write(&at, "new").unwrap());
    assert_eq!(remove(&file, &options(&old()), &progress).counts.entries, 0);
    assert_eq!(fs::read(&file).unwrap(), b"new");
    let directory = Dir::open(&tree).unwrap();
    assert_eq!(remove_contents(&directory, &options(&old()), &progress).unwrap().counts.entries, 0);
    assert!(file.exists());
}

#[test]
fn a_call_counts_its_own_entries_if_another_one_has_the_same_progress() {
    let scratch = tempfile::tempdir().unwrap();
    let (tree, other) = (scratch.path().join("tree"), scratch.path().join("other"));
    filled(&tree, 3);
    filled(&other, 5);
    let conditions = old();
    let second = Mutex::new(None);
    let progress = Progress::new();
    let on_removal = |path: &Path, _: FileType| {
        if path.starts_with(&tree) && second.lock().unwrap().is_none() {
            *second.lock().unwrap() = Some(remove(&other, &options(&conditions), &progress));
        }
        true
    };
    let first =
        remove(&tree, &RemoveOptions { on_removal: Some(&on_removal), ..options(&conditions) }, &progress);
    let second = second.into_inner().unwrap().unwrap();
    assert_eq!((first.counts.entries, second.counts.entries), (3, 5));
    assert_eq!(progress.counts().entries, 8);
}
