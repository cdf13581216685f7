//! NTFS, ZFS, tmpfs, btrfs, overlayfs and NFS: a number from the format, or the reason why none is known.

use super::basis::{Basis, Fact, Known, Span};
use super::cure::Trap;
use super::facts::{Details, Facts};
use super::model::{Ceiling, Judgement, Limit, Model};
use crate::file_system::FileSystem;

/// A volume has 32-bit file numbers; a directory has no limit of its own. Documented, not tested.
pub(super) static NTFS: Model = Model {
    file_system: FileSystem::Ntfs,
    about: "2^32 - 1 files per volume, in any directories; documented, not tested",
    judge: |facts, _churn| {
        // A 1 KiB record in the file table, and an index entry with the UTF-16 name; short names (8.3) take
        // another.
        let entry_bytes = 1024.0 + 1.4 * (82.0 + 2.0 * facts.names.value.mean());
        numbered(facts, u64::from(u32::MAX), "2^32 - 1 files per volume, documented", entry_bytes)
    },
};

/// 2^48 entries in a directory (zfsconcepts(7)). Documented, not tested.
pub(super) static ZFS: Model = Model {
    file_system: FileSystem::Zfs,
    about: "2^48 entries in a directory; documented, not tested",
    judge: |facts, _churn| {
        // A 512-byte object, and about two 24-byte chunks of the hash table plus more for the name.
        let entry_bytes = 512.0 + 72.0 + facts.names.value.mean();
        numbered(facts, 1 << 48, "2^48 entries, documented", entry_bytes)
    },
};

/// A directory has up to 2^31 entries (`simple_offset_add`, Linux 6.6 and later); `nr_inodes` or memory runs out first.
pub(super) static TMPFS: Model = Model {
    file_system: FileSystem::Tmpfs,
    about: "2^31 numbers for entries of a directory; nr_inodes (half of the memory's pages by default) ends first",
    judge: |facts, _churn| {
        numbered(facts, 1 << 31, "2^31 numbers for entries (Linux 6.6 and later)", 0.0)
    },
};

pub(super) static OVERLAY: Model = Model {
    file_system: FileSystem::Overlay,
    about: "limits of the upper layer's file system; the kernel holds a listing of merged layers in memory",
    judge: |facts, _churn| {
        let Details::Overlay(why) = &facts.details else { return Judgement::default() };
        let text =
            format!("Entries are created in the upper layer, whose file system sets the limit: {why}.");
        Judgement {
            traps: vec![Trap { name: "upper-layer", text, cures: Vec::new() }],
            ..Judgement::default()
        }
    },
};

/// The server's file system decides.
pub(super) static NFS: Model = Model {
    file_system: FileSystem::Nfs,
    about: "limits of the server's file system, not visible from here: run it on the server",
    judge: |_facts, _churn| Judgement::default(),
};

/// A directory has no limit of its own, but names of one crc32c share an item (`btrfs_insert_dir_item`): after 301
/// crafted names of 24 characters a create fails with `EOVERFLOW`.
pub(super) static BTRFS: Model = Model {
    file_system: FileSystem::Btrfs,
    about: "no limit of a directory; crafted names of one crc32c are refused (EOVERFLOW after 301 of 24 characters)",
    judge: |facts, _churn| Judgement { entry_bytes: btrfs_entry_bytes(facts), ..Judgement::default() },
};

/// Inode item, reference and two directory items with headers of 25 bytes; the name is added three times.
const ITEMS_BYTES: f64 = 345.0;
/// Filled share of the tree's leaves: random order fills leaves before they split. Three fills of 128 MiB
/// images with names of 32 bytes took 466 to 473 bytes per entry.
const FILLED: f64 = 0.94;

/// Space of an entry without its contents, bytes.
pub(super) fn btrfs_entry_bytes(facts: &Facts) -> f64 {
    (ITEMS_BYTES + 3.0 * facts.names.value.mean()) / FILLED
}

fn numbered(facts: &Facts, all: u64, how: &'static str, entry_bytes: f64) -> Judgement {
    let basis = Basis::new(Known::Assumed, how);
    let now = facts.entries.as_ref().map_or(Span::exact(0), |now| now.value);
    let used = now.likely as f64 / all as f64;
    let ceiling =
        Ceiling { limit: Limit::Numbers, more: Span::exact(all).less(now), used, basis: basis.clone() };
    Judgement {
        ceilings: vec![ceiling],
        capacity: Some(Fact { value: Span::exact(all), basis }),
        entry_bytes,
        ..Judgement::default()
    }
}
