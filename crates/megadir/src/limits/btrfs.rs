//! btrfs: a directory has no limit of its own, but names of one crc32c share an item
//! (`btrfs_insert_dir_item`): after 301 crafted names of 24 characters a create fails with `EOVERFLOW`.

use super::facts::Facts;
use super::model::{Judgement, Model};
use crate::file_system::FileSystem;

/// Inode item, reference and two directory items with headers of 25 bytes; the name is added three times.
const ITEMS_BYTES: f64 = 345.0;
/// Filled share of the tree's leaves: random order fills leaves before they split. Three fills of 128 MiB
/// images with names of 32 bytes took 466 to 473 bytes per entry.
const FILLED: f64 = 0.94;

pub(super) fn entry_bytes(facts: &Facts) -> f64 {
    (ITEMS_BYTES + 3.0 * facts.names.value.mean()) / FILLED
}

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
