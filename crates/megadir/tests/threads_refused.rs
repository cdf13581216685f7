//! If the system refuses threads, a tree is read with the existing ones.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;

use megadir::usage::{By, Item, Usage, UsageOptions, read};
use megadir::{Dir, ReadOptions, TreeEvent, Walk, WalkItem, WalkOptions, backend, stat_backend};
use megadir_testkit::mount::{self, Mount};
use megadir_testkit::require;
use megadir_testkit::tree::Flat;
use megadir_testkit::unprivileged::with_threads_left;

const DIRECTORIES: usize = 30;

fn tree(root: &Path) {
    std::fs::set_permissions(root, std::fs::Permissions::from_mode(0o755)).unwrap();
    for directory in 0..DIRECTORIES {
        let path = root.join(format!("{directory}"));
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("file"), "x").unwrap();
    }
}

/// The limit holds for all threads of the process.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn a_tree_is_read_by_the_threads_that_could_be_started() {
    let _alone = ALONE.lock();
    let scratch = tempfile::tempdir().unwrap();
    tree(scratch.path());
    let examine = Some((stat_backend("statx").unwrap(), Item::WANT));
    let options = WalkOptions { examine, ..WalkOptions::new(4) };
    let root = || Dir::open(scratch.path()).unwrap();
    let walked = with_threads_left(1, || {
        let second = std::thread::Builder::new().spawn(|| std::thread::Builder::new().spawn(|| ()).is_ok());
        assert!(!second.unwrap().join().unwrap(), "the limit holds");
        let mut walk = Walk::new(root(), &options).unwrap();
        let mut entries = 0;
        while let Some(item) = walk.next_item() {
            match item {
                WalkItem::Batch { batch, .. } => entries += batch.len(),
                other => panic!("{other:?}"),
            }
        }
        entries
    });
    assert_eq!(require!(walked), 2 * DIRECTORIES);
    assert_eq!(require!(with_threads_left(1, || used(scratch.path()))), 2 * DIRECTORIES as u64);
}

#[test]
fn a_walk_requests_its_first_threads_after_a_refusal() {
    let _alone = ALONE.lock();
    let scratch = tempfile::tempdir().unwrap();
    tree(scratch.path());
    let walk = || Walk::new(Dir::open(scratch.path()).unwrap(), &WalkOptions::new(4)).unwrap();
    // The walk that was refused threads is dropped where the limit holds.
    require!(with_threads_left(0, || drop(walk())));
    let walk = walk();
    // They wait for the caller, who takes no item.
    let named = |task: std::io::Result<std::fs::DirEntry>| {
        let name = std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default();
        name.starts_with("megadir-walk")
    };
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().map(named).filter(|walks| *walks).count();
    let begun = std::time::Instant::now();
    while threads() < 4 && begun.elapsed().as_secs() < 10 {
        std::thread::yield_now();
    }
    assert_eq!(threads(), 4);
    drop(walk);
}

fn used(root: &Path) -> u64 {
    let now_s = 1_800_000_000;
    let mut usage = Usage::new(UsageOptions { top: 5, depth: None, by: By::Entries, now_s });
    let examine = Some((stat_backend("statx").unwrap(), Item::WANT));
    let options = WalkOptions { examine, ..WalkOptions::new(4) };
    let mut watch = |event: TreeEvent<'_>| {
        assert!(matches!(event, TreeEvent::Read(_)), "{event:?}");
        ControlFlow::Continue(())
    };
    assert!(read(&mut usage, Dir::open(root).unwrap(), options, &mut watch).unwrap().is_continue());
    usage.finish().total.amount.entries
}

#[test]
fn one_directory_is_read_by_the_threads_that_could_be_started() {
    let _alone = ALONE.lock();
    let entries = 5000;
    for recipe in [mount::TMPFS, mount::EXT4, mount::XFS] {
        let mount = require!(Mount::make(&recipe));
        let path = mount.path().join("flat");
        Flat::plain(entries).build(&path);
        assert_eq!(require!(with_threads_left(1, || used(&path))), entries, "{}", recipe.name);
        let directory = Dir::open(&path).unwrap();
        let options = ReadOptions::serial(4096).divided(4, 16);
        let Ok(mut reader) = backend("split").unwrap().open(&directory, &options) else { continue };
        let listed = with_threads_left(1, || {
            let mut listed = 0;
            while let Some(batch) = reader.next_batch().unwrap() {
                listed += batch.len() as u64;
            }
            listed
        });
        assert_eq!(require!(listed), entries, "{}", recipe.name);
    }
}
