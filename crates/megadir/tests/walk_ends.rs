//! A walk reports the end of each directory once, after its last entry.
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use megadir::{Dir, Walk, WalkItem, WalkOptions};

fn options(threads: usize, report_ends: bool) -> WalkOptions {
    WalkOptions {
        buffer_bytes: 4096,
        threads,
        threads_max: threads,
        // So short that workers descend into directories themselves.
        read_ahead: megadir::ReadAhead::Auto,
        queue_directories_max: 2,
        cross_mounts: false,
        examine: None,
        report_ends,
        looks_again: false,
        conditions: None,
    }
}

/// A tree of 156 directories, some empty, some of several batches.
fn tree(top: &Path, depth: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    for file in 0..300 {
        std::fs::File::create_new(top.join(format!("a-file-with-a-long-name-{file}"))).unwrap();
    }
    let below = (0..5).map(|index| {
        let path = top.join(format!("d{index}"));
        std::fs::create_dir(&path).unwrap();
        tree(&path, depth - 1)
    });
    1 + below.sum::<usize>()
}

#[test]
fn each_directory_ends_once_after_its_last_entry() {
    let scratch = tempfile::tempdir().unwrap();
    let directories = tree(scratch.path(), 3);
    assert_eq!(directories, 156);
    for threads in [1, 2, 5] {
        let mut walk = Walk::new(Dir::open(scratch.path()).unwrap(), &options(threads, true)).unwrap();
        let mut entries: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let mut ended: BTreeMap<PathBuf, usize> = BTreeMap::new();
        while let Some(item) = walk.next_item() {
            match item {
                WalkItem::Batch { directory, batch, .. } => {
                    assert!(!ended.contains_key(&**directory), "entries of {directory:?} after its end");
                    *entries.entry(directory.to_path_buf()).or_default() += batch.len();
                }
                WalkItem::End { directory } => {
                    let seen = entries.get(&**directory).copied().unwrap_or(0);
                    assert_eq!(
                        ended.insert(directory.to_path_buf(), seen),
                        None,
                        "{directory:?} ended twice"
                    );
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(ended.len(), directories, "{threads} threads");
        for (directory, seen) in ended {
            assert_eq!(seen, std::fs::read_dir(&directory).unwrap().count(), "{directory:?}");
        }
    }
}

#[test]
fn ends_are_returned_only_on_request() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::create_dir(scratch.path().join("below")).unwrap();
    let mut walk = Walk::new(Dir::open(scratch.path()).unwrap(), &options(1, false)).unwrap();
    while let Some(item) = walk.next_item() {
        assert!(!matches!(item, WalkItem::End { .. }));
    }
}

#[test]
fn parts_equal_the_whole_with_each_directory_on_one_thread() {
    let scratch = tempfile::tempdir().unwrap();
    let directories = tree(scratch.path(), 3);
    for threads in [1, 2, 5] {
        let parts = Walk::parts(Dir::open(scratch.path()).unwrap(), &options(threads, true)).unwrap();
        assert_eq!(parts.len(), threads);
        let ended = std::thread::scope(|scope| {
            let run = |mut part: megadir::WalkPart| {
                let mut entries: BTreeMap<PathBuf, usize> = BTreeMap::new();
                let mut ended = Vec::new();
                while let Some(item) = part.next_item() {
                    match item {
                        WalkItem::Batch { directory, batch, .. } => {
                            *entries.entry(directory.to_path_buf()).or_default() += batch.len();
                        }
                        WalkItem::End { directory } => {
                            let seen = entries.get(&**directory).copied().unwrap_or(0);
                            ended.push((directory.to_owned(), seen));
                        }
                        other => panic!("{other:?}"),
                    }
                }
                ended
            };
            let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(move || run(part))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(ended.len(), directories, "{threads} threads");
        for (directory, seen) in ended {
            assert_eq!(seen, std::fs::read_dir(&directory).unwrap().count(), "{directory:?}");
        }
    }
}

#[test]
fn a_part_that_is_dropped_ends_the_walk_for_all() {
    let scratch = tempfile::tempdir().unwrap();
    tree(scratch.path(), 2);
    let mut parts = Walk::parts(Dir::open(scratch.path()).unwrap(), &options(2, true)).unwrap();
    let (mut first, mut other) = (parts.pop().unwrap(), parts.pop().unwrap());
    // Until directories wait in the queue.
    while !matches!(first.next_item(), Some(WalkItem::End { .. })) {}
    assert!(other.next_item().is_some());
    drop(other);
    // Reads what it has begun to the end, without waiting for other workers.
    while first.next_item().is_some() {}
}

#[test]
fn a_part_that_was_not_begun_leaves_its_work_to_the_others() {
    let scratch = tempfile::tempdir().unwrap();
    let directories = tree(scratch.path(), 2);
    for begun_first in [false, true] {
        let mut parts = Walk::parts(Dir::open(scratch.path()).unwrap(), &options(3, true)).unwrap();
        let mut part = parts.pop().unwrap();
        assert!(!begun_first || part.next_item().is_some());
        drop(parts);
        let mut ended = 0;
        while let Some(item) = part.next_item() {
            ended += usize::from(matches!(item, WalkItem::End { .. }));
        }
        assert_eq!(ended, directories);
    }
}
