//! Another process keeps replacing directories of the tree with symbolic links: nothing outside is touched.
//!
//! A program that moves by path shows that the attack is effective.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use megadir_testkit::require::full;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};

use crate::remove::witness::{Witness, scratch_in_memory};
use crate::support::{fill, run};

const DIRECTORIES: usize = 4;

/// Creates `t` in git's layout and flat at once, with directories named as the witness's, and links to these.
fn prepare(at: &Path) {
    for name in ["t", "links", "guests"] {
        let _ = std::fs::remove_dir_all(at.join(name));
        std::fs::create_dir(at.join(name)).unwrap();
    }
    for directory in 0..DIRECTORIES {
        fill(at, &[&format!("t/d{directory}/")]);
        for file in 0..4 {
            fill(at, &[&format!("t/d{directory}/old{file}"), &format!("t/d{directory}new{file}")]);
        }
        symlink(at.join(format!("outside/d{directory}")), at.join(format!("links/l{directory}"))).unwrap();
    }
}

fn open(path: &Path) -> OwnedFd {
    openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

/// Exchanges and moves directories until stopped; counts the successful attempts.
fn attack(at: &Path, stop: &AtomicBool, swaps: &AtomicU64) {
    let [tree, links, guests] = ["t", "links", "guests"].map(|name| open(&at.join(name)));
    let rename = |from: &OwnedFd, old: &str, to: &OwnedFd, new: &str, flags| {
        let renamed = renameat_with(from.as_fd(), old, to.as_fd(), new, flags).is_ok();
        swaps.fetch_add(u64::from(renamed), Ordering::Relaxed);
    };
    while !stop.load(Ordering::Relaxed) {
        for directory in 0..DIRECTORIES {
            let (name, link) = (format!("d{directory}"), format!("l{directory}"));
            rename(&tree, &name, &links, &link, RenameFlags::EXCHANGE);
            rename(&tree, &name, &links, &link, RenameFlags::EXCHANGE);
            rename(&tree, &name, &guests, &name, RenameFlags::NOREPLACE);
            rename(&guests, &name, &tree, &name, RenameFlags::NOREPLACE);
            // The hidden name of a new directory becomes a link too.
            rename(&links, &link, &tree, ".megadir-reshard-new", RenameFlags::NOREPLACE);
            rename(&tree, ".megadir-reshard-new", &links, &link, RenameFlags::NOREPLACE);
        }
    }
}

/// Runs `work` during an attack; returns the number of successful exchanges.
fn under_attack(at: &Path, work: impl FnOnce()) -> u64 {
    prepare(at);
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| attack(at, &stop, &swaps));
        while swaps.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        work();
        stop.store(true, Ordering::Relaxed);
    });
    swaps.load(Ordering::Relaxed)
}

#[test]
fn nothing_outside_is_touched_while_links_take_the_place_of_directories() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let witness = Witness::make(&at.join("outside"));
    let (mut swaps, mut disturbed, mut rounds) = (0, 0, 0);
    let rounds_min = if full() { 10_000 } else { 500 };
    while rounds < rounds_min || (disturbed == 0 && rounds < 100 * rounds_min) {
        let ways = [("flat", "git"), ("git", "flat"), ("git", "prefix:2/1")];
        let (from, to) = ways[rounds as usize % ways.len()];
        rounds += 1;
        swaps += under_attack(at, || {
            let ran = run(at, &["reshard", "--yes", "--from", from, "--to", to, "t"]);
            // 3: the hidden name was a link at the start.
            assert!(matches!(ran.code, Some(0 | 1 | 3)), "round {rounds}: {ran:?}");
            disturbed += u64::from(ran.code == Some(1));
        });
        if rounds % 50 == 0 {
            witness.is_untouched();
        }
    }
    witness.is_untouched();
    assert!(swaps > rounds * 10, "{swaps} swaps in {rounds} rounds");
    assert!(disturbed > 0, "no run met a swapped directory");
}

/// Moves files as naive programs do: checks the type, then goes by path.
fn by_path(top: &Path) {
    let Ok(entries) = std::fs::read_dir(top) else { return };
    for path in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let Ok(files) = std::fs::read_dir(path.path()) else { continue };
        for file in files.flatten().filter(|file| file.file_type().is_ok_and(|kind| kind.is_file())) {
            let name = [path.file_name(), file.file_name()].join(std::ffi::OsStr::new(""));
            let _ = std::fs::rename(file.path(), top.join(name));
        }
    }
}

#[test]
fn the_attack_works_against_a_program_that_goes_by_paths() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    Witness::make(&at.join("outside"));
    let there = || (0..DIRECTORIES).all(|directory| at.join(format!("outside/d{directory}/f0")).exists());
    for _ in 0..2000 {
        under_attack(at, || by_path(&at.join("t")));
        if !there() {
            return;
        }
    }
    panic!("2000 rounds and nothing outside was moved: the attack proves nothing");
}
