//! The requested attributes decide which values come, never what they are.

use megadir::{Dir, Want};

use super::Ground;
use super::fields::FIELDS;
use super::oracle::oracle;
use super::trees;

pub(super) fn subsets(ground: &Ground) {
    let path = trees::kinds(&ground.directory);
    let directory = Dir::open(&path).unwrap();
    if !ground.accepts(&directory) {
        return;
    }
    let truth = oracle(&path);
    let at_once = |want| ground.ways(&directory, want, 32 << 10)[0];
    // One alone, all but one, and pairs: an examiner that mixes up fields does so there.
    for (index, one) in FIELDS.into_iter().enumerate() {
        ground.same(&directory, &at_once(one), &truth);
        ground.same(&directory, &at_once(Want::ALL.without(one)), &truth);
        for other in &FIELDS[..index] {
            ground.same(&directory, &at_once(one | *other), &truth);
        }
    }
    for want in [Want::NOTHING, Want::SIZE | Want::MODIFIED, Want::BORN | Want::MOUNT] {
        ground.check(&directory, &truth, want, 32 << 10);
    }
}
