//! Walks while few files may be open. The limit holds for this process, so that this is a test program of its own.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use megadir::{Dir, ErrorKind, Walk, WalkItem, WalkOptions};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const LEVELS: usize = 60;
const DIRECTORIES: usize = 10;

static ALONE: Mutex<()> = Mutex::new(());

struct Limited(Rlimit);

impl Limited {
    fn to(more: u64) -> Self {
        let before = getrlimit(Resource::Nofile);
        let first_free = u64::try_from(File::open("/dev/null").unwrap().as_raw_fd()).unwrap();
        setrlimit(Resource::Nofile, Rlimit { current: Some(first_free + more), ..before }).unwrap();
        Self(before)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Nofile, self.0);
    }
}

fn wide(at: &Path) {
    for index in 0..DIRECTORIES {
        std::fs::create_dir(at.join(index.to_string())).unwrap();
    }
}

/// Number of entries, and of directories that could not be opened.
fn walked(mut walk: Walk) -> (usize, usize) {
    let (mut entries, mut failed) = (0, 0);
    while let Some(item) = walk.next_item() {
        match item {
            WalkItem::Batch { batch, .. } => entries += batch.len(),
            WalkItem::Error(error) if error.kind() == ErrorKind::TooManyOpenFiles => failed += 1,
            other => panic!("{other:?}"),
        }
    }
    (entries, failed)
}

#[test]
fn a_walk_below_a_directory_that_was_opened_by_path_returns_everything() {
    let _alone = ALONE.lock();
    let scratch = tempfile::tempdir().unwrap();
    let mut at = scratch.path().join("b");
    for _ in 0..LEVELS {
        std::fs::create_dir(&at).unwrap();
        ["1", "2", "3"].iter().for_each(|name| std::fs::create_dir(at.join(name)).unwrap());
        at.push("2");
        at.push("deeper");
        std::fs::create_dir(at.parent().unwrap().join("file")).unwrap();
    }
    let expected = LEVELS * 4 + LEVELS - 1;
    for threads in [1, 4] {
        for below in [&b"b"[..], b"b/2"] {
            let mut root = Dir::open(scratch.path()).unwrap();
            for name in below.split(|byte| *byte == b'/') {
                root = root.open_below(name).unwrap();
            }
            let _limited = Limited::to(20);
            let entries = walked(Walk::new(root, &WalkOptions::new(threads)).unwrap());
            let above = if below.len() > 1 { 3 } else { 0 };
            assert_eq!(entries, (expected - above, 0), "{threads} threads");
        }
    }
}

#[test]
fn directories_without_a_descriptor_are_waited_for_once_in_a_walk() {
    let _alone = ALONE.lock();
    let scratch = tempfile::tempdir().unwrap();
    wide(scratch.path());
    for (threads, most) in [(1, Duration::from_secs(1)), (4, Duration::from_secs(10))] {
        let root = Dir::open(scratch.path()).unwrap();
        let _limited = Limited::to(0);
        let begun = Instant::now();
        let outcome = walked(Walk::new(root, &WalkOptions::new(threads)).unwrap());
        let elapsed = begun.elapsed();
        assert_eq!(outcome, (DIRECTORIES, DIRECTORIES));
        assert!(elapsed < most, "{threads} threads: {elapsed:?}");
    }
}

#[test]
fn a_walk_that_waits_for_a_descriptor_ends_when_it_is_dropped() {
    let _alone = ALONE.lock();
    let scratch = tempfile::tempdir().unwrap();
    wide(scratch.path());
    let root = Dir::open(scratch.path()).unwrap();
    let _limited = Limited::to(0);
    let mut walk = Walk::new(root, &WalkOptions::new(2)).unwrap();
    assert!(matches!(walk.next_item(), Some(WalkItem::Batch { .. })));
    std::thread::sleep(Duration::from_millis(50));
    let begun = Instant::now();
    drop(walk);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[test]
fn a_directory_is_read_once_descriptors_are_free_again() {
    let _alone = ALONE.lock();
    let scratch = tempfile::tempdir().unwrap();
    wide(scratch.path());
    std::fs::write(scratch.path().join("5/file"), "").unwrap();
    let root = Dir::open(scratch.path()).unwrap();
    let limited = Limited::to(0);
    let walk = Walk::new(root, &WalkOptions::new(2)).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    drop(limited);
    assert_eq!(walked(walk), (DIRECTORIES + 1, 0));
}
