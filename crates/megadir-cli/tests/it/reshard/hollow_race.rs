//! Another process keeps replacing a directory of files that is being renewed, and the hidden names beside it, with symbolic links: nothing
//! outside is touched, and no file is lost.

use std::collections::BTreeSet;
use std::path::Path;

use megadir::Dir;
use megadir::reshard::{FilesOptions, Progress, renew_files};
use megadir_testkit::require::full;
use rustix::fs::RenameFlags;

use crate::attack::{self, Attack, open};
use crate::remove::witness::{Witness, scratch_in_memory};

const FILES: usize = 6;
/// Names beside `t`.
const HIDDEN: [&str; 2] =
    [".megadir-reshard-small-e3b98a4da31a127d", ".megadir-reshard-hollow-e3b98a4da31a127d"];

/// Creates `t` with files, and links to the witness.
fn prepare(at: &Path) {
    for name in HIDDEN {
        let _ = std::fs::remove_dir_all(at.join(name));
    }
    attack::prepare(at, |_| {});
    for file in 0..FILES {
        std::fs::write(at.join(format!("t/f{file}")), file.to_string()).unwrap();
    }
    for link in ["t", HIDDEN[0], HIDDEN[1]] {
        std::os::unix::fs::symlink(at.join("outside"), at.join("links").join(link)).unwrap();
    }
}

/// Exchanges each name with a link and back, and takes the hidden ones away for a moment.
fn exchange(at: &Path, attack: &Attack) {
    let [top, links, guests] = [at.to_owned(), at.join("links"), at.join("guests")].map(|path| open(&path));
    while attack.goes_on() {
        for name in ["t", HIDDEN[0], HIDDEN[1]] {
            for _ in 0..2 {
                attack.rename(&top, name, &links, name, RenameFlags::EXCHANGE);
            }
        }
        for name in HIDDEN {
            attack.rename(&top, name, &guests, name, RenameFlags::NOREPLACE);
            attack.rename(&guests, name, &top, name, RenameFlags::NOREPLACE);
        }
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
}

/// Contents of all files below a directory, without following links.
fn contents(at: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap()) {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() && entry.file_name() != "outside" => contents(&entry.path(), found),
            kind if kind.is_file() => drop(found.insert(std::fs::read_to_string(entry.path()).unwrap())),
            _ => {}
        }
    }
}

#[test]
fn nothing_outside_is_touched_while_a_directory_of_files_is_renewed() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let witness = Witness::make(&at.join("outside"));
    let parent = Dir::open(at).unwrap();
    let (mut swaps, mut renewed, mut refused, mut rounds) = (0, 0, 0, 0);
    let rounds_min = if full() { 2000 } else { 60 };
    while rounds < rounds_min || ((renewed == 0 || refused == 0) && rounds < 20 * rounds_min) {
        prepare(at);
        rounds += 1;
        swaps += attack::under_attack(
            |attack| exchange(at, attack),
            || {
                for _ in 0..3 {
                    let options = &mut FilesOptions { on_failure: &|_| {}, goes_on: &mut |_| false };
                    match renew_files(&parent, b"t", options, &Progress::new()) {
                        Ok(_) => renewed += 1,
                        Err(_) => refused += 1,
                    }
                }
            },
        );
        let mut found = BTreeSet::new();
        contents(at, &mut found);
        let expected: BTreeSet<String> = (0..FILES).map(|file| file.to_string()).collect();
        assert_eq!(found, expected, "round {rounds}");
        witness.is_untouched();
    }
    println!("{swaps} swaps in {rounds} rounds: {renewed} renewed, {refused} refused");
    assert!(swaps > rounds * 10, "{swaps} swaps in {rounds} rounds");
    assert!(renewed > 0 && refused > 0, "{renewed} renewed, {refused} refused");
}
