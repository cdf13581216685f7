//! Unchanging directories: every kind of entry, every name, any number.

use megadir::Want;

use super::Ground;
use super::trees;
use crate::tree::{Flat, Kinds, Names};

pub(super) fn kinds(ground: &Ground) {
    let path = trees::kinds(&ground.directory);
    ground.check_path(&path, 4 << 10);
    ground.check_path(&path, 128 << 10);
}

pub(super) fn names(ground: &Ground) {
    for names in Names::ALL {
        // Two counts, because small directories are stored differently from large ones.
        for entries in [5, 300] {
            let flat = Flat { entries, names, kinds: Kinds::Mixed, seed: 4 };
            ground.check_path(&flat.ensure(&ground.directory), 4 << 10);
        }
    }
}

pub(super) fn sizes(ground: &Ground) {
    for entries in [0, 1, 255, 256, 257, 2000] {
        let path = trees::various(&ground.directory, entries);
        ground.check_path(&path, 4 << 10);
        if entries > 1000 {
            ground.check_path(&path, 128 << 10);
        }
    }
    assert_eq!(Want::ALL.names().count(), super::fields::FIELDS.len());
}
