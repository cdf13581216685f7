//! Another process keeps replacing directories of the tree with symbolic links, and moving directories.
//!
//! The tree may lose anything; the files outside must not change. A remover that works by path shows that the
//! attack is effective.

use std::os::fd::AsFd;
use std::path::Path;

use megadir_testkit::require::full;
use rustix::fs::{AtFlags, RenameFlags, renameat_with, unlinkat};

use super::witness::{Witness, scratch_in_memory};
use crate::attack::{self, Attack, DIRECTORIES, open};
use crate::support::{fill, run};

/// Creates `t` with the same directory names as the witness, and links to the witness's directories to exchange
/// with.
fn prepare(at: &Path) {
    attack::prepare(at, |directory| {
        fill(at, &[&format!("t/d{directory}/s/")]);
        for file in 0..3 {
            fill(at, &[&format!("t/d{directory}/f{file}"), &format!("t/d{directory}/s/f{file}")]);
        }
    });
}

/// Exchanges and moves entries until stopped.
fn exchange(at: &Path, attack: &Attack) {
    let [tree, links, guests, outside] = ["t", "links", "guests", "outside"].map(|name| open(&at.join(name)));
    while attack.goes_on() {
        for directory in 0..DIRECTORIES {
            let (name, link) = (format!("d{directory}"), format!("l{directory}"));
            // A link to the witness takes the place of a directory, then gives it back.
            attack.rename(&tree, &name, &links, &link, RenameFlags::EXCHANGE);
            attack.rename(&tree, &name, &links, &link, RenameFlags::EXCHANGE);
            // A directory that is being emptied moves elsewhere, so that its '..' changes to the witness's
            // parent.
            let below = format!("{name}/s");
            attack.rename(&tree, &below, &outside, "guest", RenameFlags::NOREPLACE);
            attack.rename(&outside, "guest", &guests, &name, RenameFlags::NOREPLACE);
            attack.rename(&guests, &name, &tree, &below, RenameFlags::NOREPLACE);
        }
    }
    // Entries left there do not belong to the witness.
    while renameat_with(outside.as_fd(), "guest", guests.as_fd(), "last", RenameFlags::NOREPLACE).is_ok() {}
    let _ = unlinkat(outside.as_fd(), "guest", AtFlags::REMOVEDIR);
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
    // Scheduling decides if a removal meets the attacker: repeat until one has.
    while rounds < rounds_min || (disturbed == 0 && rounds < 100 * rounds_min) {
        let round = rounds;
        rounds += 1;
        swaps += under_attack(at, || {
            let ran = run(at, &["remove", "--yes", "--threads", if round % 2 == 0 { "2" } else { "1" }, "t"]);
            assert!(matches!(ran.code, Some(0 | 1)), "round {round}: {ran:?}");
            // After an end without errors the tree is gone, except for entries that arrived later.
            disturbed += u64::from(ran.code == Some(1));
        });
        if round % 50 == 49 {
            witness.is_untouched();
        }
    }
    witness.is_untouched();
    assert!(swaps > rounds * 10, "{swaps} swaps in {rounds} rounds");
    assert!(disturbed > 0, "no removal met a swapped entry");
    // Without an attacker, the same command removes the rest.
    if at.join("t").exists() {
        let ran = run(at, &["remove", "--yes", "t"]);
        assert_eq!(ran.code, Some(0), "{ran:?}, disturbed {disturbed}");
    }
}

/// Removes the contents of a directory as naive programs do: checks the type, then goes by path.
fn by_path(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            by_path(&path);
            let _ = std::fs::remove_dir(&path);
        } else {
            let _ = std::fs::remove_file(&path);
        }
    }
}

#[test]
fn attack_succeeds_against_removal_by_paths() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let there = || (0..4).all(|directory| at.join(format!("outside/d{directory}/f0")).exists());
    Witness::make(&at.join("outside"));
    for _ in 0..2000 {
        under_attack(at, || by_path(&at.join("t")));
        if !there() {
            return;
        }
    }
    panic!("2000 rounds and nothing outside was removed: the attack proves nothing");
}
