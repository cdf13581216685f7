//! All but ext4: a number from the format, or the reason why none is known.

use super::basis::{Basis, Fact, Known, Span};
use super::cure::{Cure, Trap, spread};
use super::facts::{Details, Facts};
use super::model::{Ceiling, Gauge, Judgement, Limit, Model};
use crate::file_system::FileSystem;

/// A volume has 32-bit file numbers; a directory has no limit of its own. Documented, not tested.
pub(super) static NTFS: Model = Model {
    file_system: FileSystem::Ntfs,
    about: "2^32 - 1 files per volume, in any directories; documented, not tested",
    judge: |facts, _churn| {
        // A 1 KiB record in the file table, and an index entry with the UTF-16 name; short names (8.3) take another.
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

/// Documented: 320 MiB, the default, are "approximately 4-5 million files" (Azure NetApp Files, directory sizes). Not tested.
pub(super) static WAFL: Model = Model {
    file_system: FileSystem::Wafl,
    about: "a directory of 320 MiB (maxdirsize) has 4 to 5 million entries; documented, not tested",
    judge: |facts, _churn| wafl(facts),
};

const WAFL_DOCUMENTED_BYTES: f64 = (320_u64 << 20) as f64;
const WAFL_DOCUMENTED_ENTRIES: (f64, f64) = (4e6, 5e6);
/// Fewer entries show little of the size of one: a directory begins with a block of 4096 bytes.
const WAFL_ENTRIES_MIN: u64 = 10_000;

/// The client sees the size of the directory, which never shrinks: with enough entries it shows at most how large one is,
/// so that the number that fits is at least what follows.
fn wafl(facts: &Facts) -> Judgement {
    let Details::Wafl(limit) = &facts.details else { return Judgement::default() };
    let gauge = Gauge {
        bytes: facts.directory_bytes,
        full_bytes: limit.value,
        basis: Basis::of(&[&limit.basis], "maxdirsize"),
    };
    let now = facts.entries.as_ref().map_or(Span::exact(0), |now| now.value);
    let of_documented = |entries: f64| entries * limit.value as f64 / WAFL_DOCUMENTED_BYTES;
    let (few, many) = WAFL_DOCUMENTED_ENTRIES;
    let (all, basis) = if now.likely >= WAFL_ENTRIES_MIN && facts.directory_bytes > 0 {
        let fitting = |entries: u64| entries as f64 * limit.value as f64 / facts.directory_bytes as f64;
        let highest = fitting(now.high).max(of_documented(many));
        let how = "maxdirsize, and the directory's size for its entries";
        (Span::rounded(fitting(now.likely), fitting(now.low), highest), Basis::of(&[&limit.basis], how))
    } else {
        let all = Span::rounded(of_documented((few + many) / 2.0), of_documented(few), of_documented(many));
        (
            all,
            Basis::new(Known::Assumed, "4 to 5 million entries in 320 MiB, documented; long names take more"),
        )
    };
    let text = "At maxdirsize creates fail with \"No space left on device\" or \"File too large\" (EFBIG), although space is \
                free, and an emptied directory stays as large as it was.";
    let raise = "raise it (volume modify -maxdir-size, ONTAP), which cannot be taken back for this directory";
    let trap = Trap { name: "maxdirsize", text: text.to_owned(), cures: vec![spread(), Cure::new(raise)] };
    let judgement = limited(Limit::DirectorySize, all, now, gauge.used(), basis);
    Judgement { gauge: Some(gauge), traps: vec![trap], ..judgement }
}

/// A directory has up to 2^31 entries (`simple_offset_add`, Linux 6.6 and later); `nr_inodes` or memory runs out first.
pub(super) static TMPFS: Model = Model {
    file_system: FileSystem::Tmpfs,
    about: "2^31 numbers for entries of a directory; nr_inodes (half of the memory's pages by default) ends first",
    judge: |facts, _churn| numbered(facts, 1 << 31, "2^31 numbers for entries (Linux 6.6 and later)", 0.0),
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

/// Entries have 7 bits to tell names of one hash (r5) apart, as `an` and `bc` are (`MAX_GENERATION_NUMBER`). Filled on Linux 6.12.
pub(super) static REISERFS: Model = Model {
    file_system: FileSystem::Reiserfs,
    about: "no limit of a directory; of names with one hash (r5), 128 fit, and the next is refused with EBUSY; checked by filling (Linux 6.12)",
    judge: |_facts, _churn| Judgement::default(),
};

/// Inode item, reference and two directory items with headers of 25 bytes; the name is added three times.
const ITEMS_BYTES: f64 = 345.0;
/// Filled share of the tree's leaves: random order fills leaves before they split. Three fills of 128 MiB
/// images with names of 32 bytes took 466 to 473 bytes per entry.
const FILLED: f64 = 0.94;

pub(super) fn btrfs_entry_bytes(facts: &Facts) -> f64 {
    (ITEMS_BYTES + 3.0 * facts.names.value.mean()) / FILLED
}

fn numbered(facts: &Facts, all: u64, how: &'static str, entry_bytes: f64) -> Judgement {
    let now = facts.entries.as_ref().map_or(Span::exact(0), |now| now.value);
    let used = now.likely as f64 / all as f64;
    let judgement = limited(Limit::Numbers, Span::exact(all), now, used, Basis::new(Known::Assumed, how));
    Judgement { entry_bytes, ..judgement }
}

fn limited(limit: Limit, all: Span, now: Span, used: f64, basis: Basis) -> Judgement {
    let ceiling = Ceiling { limit, more: all.less(now), used, basis: basis.clone() };
    let capacity = Some(Fact { value: all, basis });
    Judgement { ceilings: vec![ceiling], capacity, ..Judgement::default() }
}

/// `XFS_DIR2_SPACE_SIZE`.
const XFS_DATA_BYTES_MAX: u64 = 32 << 30;
const XFS_HEADER_BYTES: f64 = 64.0; // struct xfs_dir3_data_hdr
/// Default of mkfs.xfs.
const XFS_INODE_BYTES: f64 = 512.0;
/// Hash and address.
const XFS_LEAF_BYTES: f64 = 8.0;

/// The data segment of a directory ends at 32 GiB: 704 M names of 32 characters or 117 M of 255, at the packing measured
/// in filled directories (`xfs_dir2_data_entsize`).
pub(super) static XFS: Model = Model {
    file_system: FileSystem::Xfs,
    about: "32 GiB of entries in a directory; their density was measured, the limit was not reached",
    judge: |facts, _churn| xfs(facts),
};

fn xfs_entry_bytes(name_bytes: u16) -> f64 {
    f64::from((name_bytes + 12).next_multiple_of(8))
}

fn xfs(facts: &Facts) -> Judgement {
    let Details::Xfs(block) = &facts.details else { return Judgement::default() };
    let names = &facts.names.value;
    let block_bytes = block.value.max(512) as f64;
    let fitting = names.fitting(block_bytes - XFS_HEADER_BYTES, xfs_entry_bytes).max(1.0);
    let entries = fitting * XFS_DATA_BYTES_MAX as f64 / block_bytes;
    let basis = |how| Basis::of(&[&block.basis, &facts.names.basis], how);
    let all = Span::rounded(entries, 0.95 * entries, 1.05 * entries);
    let gauge = Gauge {
        bytes: facts.directory_bytes,
        full_bytes: XFS_DATA_BYTES_MAX,
        basis: basis("32 GiB, from the format"),
    };
    let now = facts.entries.as_ref().map_or(Span::exact((entries * gauge.used()) as u64), |now| now.value);
    let packed = basis("32 GiB of entries, packed as measured");
    let judgement = limited(Limit::DirectorySize, all, now, gauge.used(), packed);
    let entry_bytes = names.mean_of(xfs_entry_bytes) + XFS_LEAF_BYTES * 1.5 + XFS_INODE_BYTES;
    Judgement { gauge: Some(gauge), entry_bytes, ..judgement }
}

const FAT_RECORD_BYTES: u64 = 32;
/// The two dots; one record more stayed unused in filled directories.
const FAT_KEPT: u64 = 3;
/// Shorter names may be 8.3, which take one record.
const FAT_SHORT_BYTES: u16 = 12;
const FAT32_CLUSTERS_MIN: u64 = 65_525;
const FAT_ROOT_INODE: u64 = 1; // MSDOS_ROOT_INO
const FAT16_ROOT_RECORDS: u64 = 512;

/// A directory is a file of 32-byte records: 2 MiB below the root (`FAT_MAX_DIR_SIZE`), one record plus one for each 13
/// characters, or one record for an 8.3 name in upper case. The root of FAT12 and FAT16 usually has 512 records. Filled on Linux 6.12:
/// 16 383 names of 32 characters, 3 120 of 255, 65 533 of 8.3, and 128 of 32 in the root of FAT16.
pub(super) static FAT: Model = Model {
    file_system: FileSystem::Fat,
    about: "65 536 records of 32 bytes in a directory; checked by filling directories (Linux 6.12)",
    judge: |facts, _churn| {
        let fixed_root = facts.space.blocks < FAT32_CLUSTERS_MIN && facts.inode == FAT_ROOT_INODE;
        let (most, how) = match fixed_root {
            true => (FAT16_ROOT_RECORDS, "usually 512 records in a root directory of FAT16"),
            false => ((2 << 20) / FAT_RECORD_BYTES - FAT_KEPT, "2 MiB of records of 32 bytes"),
        };
        // Each byte counts as a character, to be safe.
        let short = |name_bytes| match name_bytes {
            0..=FAT_SHORT_BYTES => 1.0,
            _ => fat_records(name_bytes),
        };
        records(facts, most, how, (fat_records, short))
    },
};

fn fat_records(name_bytes: u16) -> f64 {
    1.0 + f64::from(name_bytes.div_ceil(13))
}

/// 256 MiB of records (`MAX_EXFAT_DENTRIES`), two plus one for each 15 characters. Filled on Linux 6.12: 1 677 721 names of 32 characters.
pub(super) static EXFAT: Model = Model {
    file_system: FileSystem::ExFat,
    about: "8 388 608 records of 32 bytes in a directory; checked by filling one (Linux 6.12)",
    judge: |facts, _churn| {
        let of = |name_bytes: u16| 2.0 + f64::from(name_bytes.div_ceil(15));
        records(facts, (256 << 20) / FAT_RECORD_BYTES, "256 MiB of records of 32 bytes", (of, of))
    },
};

/// `of` are the records that a name takes, and the fewest that it may take.
fn records(
    facts: &Facts,
    records: u64,
    how: &'static str,
    of: (impl Fn(u16) -> f64, impl Fn(u16) -> f64),
) -> Judgement {
    // A directory that is an array of records of fixed size, as FAT's: a name takes one record in its short
    // form and one more for each 13 characters of its long form. The number of entries present is known, or
    // bounded by the directory's size, which never shrinks there. If more are present than names of the
    // expected length allow, their names must be short ones.
    let names = &facts.names.value;
    let entry_records = names.mean_of(of.0);
    let fit = |each: f64| (records as f64 / each) as u64;
    let mut all = Span { high: fit(names.mean_of(of.1)), ..Span::exact(fit(entry_records)) };
    let basis = Basis::of(&[&Basis::new(Known::Read, ""), &facts.names.basis], how);
    let gauge = Gauge {
        bytes: facts.directory_bytes,
        full_bytes: records.next_multiple_of(16) * FAT_RECORD_BYTES,
        basis: basis.clone(),
    };
    // The directory never shrinks, so its size is an upper bound.
    let guessed = || {
        let most = (gauge.used().min(1.0) * all.likely as f64) as u64;
        Span { likely: most, low: 0, high: most }
    };
    let now = facts.entries.as_ref().map_or_else(guessed, |now| now.value);
    if now.low > all.likely {
        // The names present are 8.3.
        all = Span::exact(all.high);
    }
    let used = now.likely as f64 / all.likely.max(1) as f64;
    Judgement {
        gauge: Some(gauge),
        entry_bytes: entry_records * FAT_RECORD_BYTES as f64,
        ..limited(Limit::DirectorySize, all, now, used, basis)
    }
}

#[cfg(test)]
mod tests {
    use super::{EXFAT, FAT};
    use crate::file_system::FileSystem;
    use crate::limits::tests::facts;
    use crate::limits::{Fact, Known, Span};

    #[test]
    fn capacity_for_names_of_32_characters_matches_measurements() {
        let facts = facts("32");
        assert_eq!(FAT.judge(&facts, false).capacity.unwrap().value.likely, 16_383);
        assert_eq!(EXFAT.judge(&facts, false).capacity.unwrap().value.likely, 1_677_721);
    }

    #[test]
    fn a_fat_directory_is_full_only_if_its_entries_were_counted() {
        let judge = |names, entries: Option<u64>| {
            let mut facts = facts(names);
            facts.file_system = FileSystem::Fat;
            facts.directory_bytes = 2 << 20;
            facts.entries = entries.map(|count| Fact::new(Span::exact(count), Known::Measured, "counted"));
            let judged = FAT.judge(&facts, false);
            assert!(judged.gauge.unwrap().used() <= 1.0);
            judged.ceilings[0].more
        };
        // After the fill, 2 000 of 16 383 names were removed, and the size stayed.
        assert_eq!(judge("32", None), Span { likely: 0, low: 0, high: 16_383 });
        assert_eq!(judge("32", Some(14_383)), Span::exact(2_000));
        assert_eq!(judge("32", Some(16_383)), Span::exact(0));
        // Names of 8.3 in upper case take one record.
        assert_eq!(judge("12", Some(65_500)), Span::exact(33));
        assert_eq!(judge("12", Some(0)), Span { likely: 32_766, low: 32_766, high: 65_533 });
        assert_eq!(judge("255", Some(0)), Span::exact(3_120));
    }

    #[test]
    fn the_root_of_fat16_is_small() {
        let mut facts = facts("8");
        facts.space.blocks = 60_000;
        assert_eq!(FAT.judge(&facts, false).capacity.unwrap().value.likely, 32_766);
        facts.inode = 1;
        assert_eq!(FAT.judge(&facts, false).capacity.unwrap().value.likely, 256);
    }
}
