//! Another process keeps replacing directories of the tree with symbolic links: nothing outside is touched.
//!
//! A program that moves by path shows that the attack is effective.

use std::path::Path;

use megadir_testkit::require::full;
use rustix::fs::RenameFlags;

use crate::attack::{self, Attack, DIRECTORIES, open};
use crate::remove::witness::{Witness, scratch_in_memory};
use crate::support::{fill, run};

/// Creates `t` in git's layout and flat at once, with directories named as the witness's, and links to these.
fn prepare(at: &Path) {
    attack::prepare(at, |directory| {
        fill(at, &[&format!("t/d{directory}/")]);
        for file in 0..4 {
            fill(at, &[&format!("t/d{directory}/old{file}"), &format!("t/d{directory}new{file}")]);
        }
    });
}

/// Exchanges and moves directories until stopped.
fn exchange(at: &Path, attack: &Attack) {
    let [tree, links, guests] = ["t", "links", "guests"].map(|name| open(&at.join(name)));
    while attack.goes_on() {
        for directory in 0..DIRECTORIES {
            let (name, link) = (format!("d{directory}"), format!("l{directory}"));
            attack.rename(&tree, &name, &links, &link, RenameFlags::EXCHANGE);
            attack.rename(&tree, &name, &links, &link, RenameFlags::EXCHANGE);
            attack.rename(&tree, &name, &guests, &name, RenameFlags::NOREPLACE);
            attack.rename(&guests, &name, &tree, &name, RenameFlags::NOREPLACE);
            // The hidden name of a new directory becomes a link too.
            attack.rename(&links, &link, &tree, ".megadir-reshard-new", RenameFlags::NOREPLACE);
            attack.rename(&tree, ".megadir-reshard-new", &links, &link, RenameFlags::NOREPLACE);
        }
    }
}

/// Runs `work` during an attack; returns the number of successful exchanges.
fn under_attack(at: &Path, work: impl FnOnce()) -> u64 {
    prepare(at);
    attack::under_attack(|attack| exchange(at, attack), work)
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
fn attack_succeeds_against_moves_by_paths() {
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
