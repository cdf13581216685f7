//! Another process keeps replacing a directory that is being renewed, its subdirectories and the hidden names beside them with
//! symbolic links: nothing outside is touched, and no file is lost.

use std::os::fd::OwnedFd;
use std::path::Path;

use megadir::Dir;
use megadir::layout::Layout;
use megadir::reshard::renew;
use megadir_testkit::require::full;
use rustix::fs::{Mode, OFlags, RenameFlags, openat};

use crate::attack::{self, Attack, DIRECTORIES, open};
use crate::remove::witness::{Witness, scratch_in_memory};
use crate::support::fill;

const FILES: usize = 3;
/// Name of the directory that takes the place of `t`, next to it.
const HIDDEN: &str = ".megadir-reshard-renew-e3b98a4da31a127d";
/// Link in a directory that is being renewed.
const OTHER: &str = ".megadir-reshard-other";

/// Creates `t` with directories named as the witness's, and links to these and to the witness.
fn prepare(at: &Path) {
    let _ = std::fs::remove_dir_all(at.join(HIDDEN));
    attack::prepare(at, |directory| {
        (0..FILES)
            .for_each(|file| fill(at, &[&format!("t/d{directory}/"), &format!("t/d{directory}/f{file}")]));
    });
    for link in ["top", "other", "hidden"] {
        std::os::unix::fs::symlink(at.join("outside"), at.join("links").join(link)).unwrap();
    }
}

fn exchange(at: &Path, attack: &Attack) {
    let [top, links, guests] = [at.to_owned(), at.join("links"), at.join("guests")].map(|path| open(&path));
    let no_link = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let twice = |from: &OwnedFd, name: &str, link: &str| {
        for _ in 0..2 {
            attack.rename(from, name, &links, link, RenameFlags::EXCHANGE);
        }
    };
    while attack.goes_on() {
        for (name, link) in [("t", "top"), (HIDDEN, "hidden")] {
            twice(&top, name, link);
        }
        attack.rename(&links, "hidden", &top, HIDDEN, RenameFlags::NOREPLACE);
        attack.rename(&top, HIDDEN, &links, "hidden", RenameFlags::NOREPLACE);
        // It may be a link by now, which the attack must not follow.
        let Ok(tree) = openat(&top, "t", no_link, Mode::empty()) else { continue };
        twice(&tree, OTHER, "other");
        for directory in 0..DIRECTORIES {
            let (name, link) = (format!("d{directory}"), format!("l{directory}"));
            twice(&tree, &name, &link);
            attack.rename(&tree, &name, &guests, &name, RenameFlags::NOREPLACE);
            attack.rename(&guests, &name, &tree, &name, RenameFlags::NOREPLACE);
        }
    }
}

/// Files below a directory, without following links.
fn files(at: &Path) -> usize {
    let below = std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap());
    below
        .map(|entry| match entry.file_type().unwrap() {
            kind if kind.is_dir() && entry.file_name() != "outside" => files(&entry.path()),
            kind => usize::from(kind.is_file()),
        })
        .sum()
}

#[test]
fn nothing_outside_is_touched_while_a_directory_is_renewed() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let witness = Witness::make(&at.join("outside"));
    let layout: Layout = "prefix:2".parse().unwrap();
    let parent = Dir::open(at).unwrap();
    let (mut swaps, mut renewed, mut refused, mut left, mut rounds) = (0, 0, 0, 0, 0);
    let rounds_min = if full() { 10_000 } else { 100 };
    while rounds < rounds_min || ((renewed == 0 || refused == 0) && rounds < 100 * rounds_min) {
        prepare(at);
        rounds += 1;
        swaps += attack::under_attack(
            |attack| exchange(at, attack),
            || {
                for _ in 0..3 {
                    match renew(&parent, b"t", &layout) {
                        Ok(()) => renewed += 1,
                        Err(_) => refused += 1,
                    }
                }
            },
        );
        assert_eq!(files(at), DIRECTORIES * FILES, "round {rounds}");
        left += u64::from(at.join(HIDDEN).symlink_metadata().is_ok());
        if rounds % 20 == 0 {
            witness.is_untouched();
        }
    }
    witness.is_untouched();
    assert!(swaps > rounds * 10, "{swaps} swaps in {rounds} rounds");
    assert!(renewed > 0 && refused > 0 && left > 0, "{renewed} renewed, {refused} refused, {left} left");
}

/// Replaces a directory as naive programs do: by paths.
fn by_path(at: &Path) {
    let (old, new) = (at.join("t"), at.join(HIDDEN));
    let Ok(entries) = std::fs::read_dir(&old) else { return };
    let _ = std::fs::create_dir(&new);
    for entry in entries.flatten() {
        let _ = std::fs::rename(old.join(entry.file_name()), new.join(entry.file_name()));
    }
    if std::fs::remove_dir(&old).is_ok() {
        let _ = std::fs::rename(&new, &old);
    }
}

#[test]
fn the_attack_works_against_a_renewal_by_paths() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    Witness::make(&at.join("outside"));
    for _ in 0..2000 {
        prepare(at);
        attack::under_attack(|attack| exchange(at, attack), || by_path(at));
        if (0..DIRECTORIES).any(|directory| !at.join(format!("outside/d{directory}/f0")).exists()) {
            return;
        }
    }
    panic!("2000 rounds and nothing outside was moved: the attack proves nothing");
}
