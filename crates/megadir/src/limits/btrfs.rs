//! btrfs: a directory has no limit of its own, but names of one crc32c share an item of the tree.
//!
//! When they do not fit into it, the create fails with `EOVERFLOW`: after 301 crafted names of 24 characters. Names that
//! nobody crafts do not meet that: of 10^9 hardly more than four share a hash. Reference: `btrfs_insert_dir_item`.

use super::facts::Facts;
use super::model::{Judgement, Model};
use crate::file_system::FileSystem;

/// Inode item, reference, two directory items, each with a header of 25 bytes; names come on top three times.
const ITEMS_BYTES: f64 = 345.0;
/// How full leaves of the tree are. Inodes come in order, and names in random order are pushed into neighbours before a leaf is
/// split: three fills of 128 MiB images with names of 32 bytes took 466 to 473 bytes an entry.
const FILLED: f64 = 0.94;

/// Returns the bytes of metadata that an entry takes, one copy, without its contents.
pub(super) fn entry_bytes(facts: &Facts) -> f64 {
    (ITEMS_BYTES + 3.0 * facts.names.value.mean()) / FILLED
}

/// The model.
pub(super) struct Btrfs;

impl Model for Btrfs {
    fn file_system(&self) -> FileSystem {
        FileSystem::Btrfs
    }

    fn about(&self) -> &'static str {
        "no limit of a directory; crafted names of one crc32c are refused (EOVERFLOW after 301 of 24 characters)"
    }

    fn judge(&self, facts: &Facts, _churn: bool) -> Judgement {
        Judgement { entry_bytes: entry_bytes(facts), ..Judgement::default() }
    }
}
