//! A walk reads with more threads while its calls wait for a device, and only then.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

use megadir::{Dir, StatMask, Walk, WalkItem, WalkOptions, stat_backend};
use megadir_testkit::PATIENCE;
use megadir_testkit::mount::{self, Mount};
use megadir_testkit::require;
use megadir_testkit::stat_conformance::Hooked;

const DIRECTORIES: usize = 200;
const FILES: usize = 20;
/// Uncached, one thread waits for the device many times until then.
const ENOUGH: usize = 100;

/// Number of threads that read the tree. If `waits`, reading halts after [`ENOUGH`] directories until a second thread reads.
fn readers(root: &Path, (threads, threads_max): (usize, usize), waits: bool) -> usize {
    let seen = Arc::new((Mutex::new((0, HashSet::new())), Condvar::new()));
    let shared = Arc::clone(&seen);
    let stat_backend = Hooked::on_examine(stat_backend("statx").unwrap(), move |_| {
        let (state, changed) = &*shared;
        let mut state = state.lock().unwrap();
        state.0 += 1;
        state.1.insert(std::thread::current().id());
        changed.notify_all();
        if waits && state.0 > ENOUGH {
            drop(changed.wait_timeout_while(state, PATIENCE, |state| state.1.len() < 2).unwrap());
        }
        Ok(())
    });
    let options = WalkOptions {
        examine: Some((stat_backend, StatMask::SIZE)),
        threads_max,
        ..WalkOptions::new(threads)
    };
    let mut walk = Walk::new(Dir::open(root).unwrap(), &options).unwrap();
    let mut entries = 0;
    while let Some(item) = walk.next_item() {
        match item {
            WalkItem::Batch { batch, .. } => entries += batch.len(),
            other => panic!("{other:?}"),
        }
    }
    // With lost+found.
    assert_eq!(entries, DIRECTORIES * (FILES + 1) + 1);
    seen.0.lock().unwrap().1.len()
}

#[test]
fn threads_join_a_walk_that_waits_for_the_device_and_no_other() {
    let mut mount = require!(Mount::make(&mount::EXT4));
    for directory in 0..DIRECTORIES {
        let path = mount.path().join(format!("d{directory}"));
        std::fs::create_dir(&path).unwrap();
        (0..FILES).for_each(|file| drop(File::create_new(path.join(format!("f{file}"))).unwrap()));
    }
    // The first of them reads what the file system has not cached yet.
    mount.remount(|_| Ok(())).unwrap();
    assert_eq!(readers(&mount.path(), (1, 1), false), 1, "a fixed number stays");
    assert_eq!(readers(&mount.path(), (1, 4), false), 1, "cached");
    mount.remount(|_| Ok(())).unwrap();
    assert!(readers(&mount.path(), (1, 4), true) > 1, "uncached");
}

#[test]
fn a_largest_number_below_the_number_at_first_is_refused() {
    let options = WalkOptions { threads_max: 1, ..WalkOptions::new(2) };
    let refused = Walk::new(Dir::open(".").unwrap(), &options).unwrap_err();
    assert_eq!(refused.kind(), megadir::ErrorKind::BadOption);
    assert!(
        refused.to_string().contains("at most 1 threads, but 2 to begin with: walk takes 2 to 256"),
        "{refused}"
    );
}
