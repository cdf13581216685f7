//! FAT and exFAT: a directory is a file of 32-byte records of limited size. From the sources, not tested.
//!
//! FAT below the root: 2 MiB (`FAT_MAX_DIR_SIZE`), one record plus one for each 13 characters. The root of
//! FAT12 and FAT16 usually has 512 records. exFAT: 256 MiB (`MAX_EXFAT_DENTRIES`), two records plus one for
//! each 15 characters. Each byte counts as a character, to be safe.

use super::basis::{Basis, Fact, Known, Span};
use super::facts::Facts;
use super::model::{Ceiling, Gauge, Judgement, Limit, Model};
use crate::file_system::FileSystem;

const RECORD_BYTES: u64 = 32;
const FAT_DOTS: u64 = 2;
const FAT32_CLUSTERS_MIN: u64 = 65_525;
/// `MSDOS_ROOT_INO`.
const FAT_ROOT_INODE: u64 = 1;
const FAT16_ROOT_RECORDS: u64 = 512;

pub(super) static FAT: Model = Model {
    file_system: FileSystem::Fat,
    about: "65 536 records of 32 bytes in a directory, from the kernel's source; not tested",
    judge: |facts, _churn| {
        let fixed_root = facts.space.blocks < FAT32_CLUSTERS_MIN && facts.inode == FAT_ROOT_INODE;
        let (most, how) = match fixed_root {
            true => (FAT16_ROOT_RECORDS, "usually 512 records in a root directory of FAT16"),
            false => ((2 << 20) / RECORD_BYTES - FAT_DOTS, "2 MiB of records of 32 bytes"),
        };
        records(facts, most, how, fat_records)
    },
};

pub(super) static EXFAT: Model = Model {
    file_system: FileSystem::ExFat,
    about: "8 388 608 records of 32 bytes in a directory, from the kernel's source; not tested",
    judge: |facts, _churn| {
        records(facts, (256 << 20) / RECORD_BYTES, "256 MiB of records of 32 bytes", exfat_records)
    },
};

fn fat_records(name_bytes: u16) -> f64 {
    1.0 + f64::from(name_bytes.div_ceil(13))
}

fn exfat_records(name_bytes: u16) -> f64 {
    2.0 + f64::from(name_bytes.div_ceil(15))
}

fn records(facts: &Facts, records: u64, how: &'static str, of: fn(u16) -> f64) -> Judgement {
    let names = &facts.names.value;
    let entry_records = names.mean_of(of);
    let all = Span::exact((records as f64 / entry_records) as u64);
    let basis = Basis::of(&[&Basis::new(Known::Assumed, ""), &facts.names.basis], how);
    let (bytes, full_bytes) = (facts.directory_bytes, records * RECORD_BYTES);
    let gauge = Gauge { bytes, full_bytes, basis: basis.clone() };
    let guessed = || Span::exact((gauge.used().min(1.0) * all.likely as f64) as u64);
    let now = facts.entries.as_ref().map_or_else(guessed, |now| now.value);
    let used = now.likely as f64 / all.likely.max(1) as f64;
    let ceiling = Ceiling { limit: Limit::DirectorySize, more: all.less(now), used, basis: basis.clone() };
    Judgement {
        ceilings: vec![ceiling],
        capacity: Some(Fact { value: all, basis }),
        gauge: Some(gauge),
        entry_bytes: entry_records * RECORD_BYTES as f64,
        ..Judgement::default()
    }
}

#[cfg(test)]
mod tests {
    use super::{EXFAT, FAT};
    use crate::limits::tests::facts;

    #[test]
    fn directories_hold_what_is_known_of_names_of_32_characters() {
        let facts = facts("32");
        assert_eq!(FAT.judge(&facts, false).capacity.unwrap().value.likely, 16_383);
        assert_eq!(EXFAT.judge(&facts, false).capacity.unwrap().value.likely, 1_677_721);
    }

    #[test]
    fn the_root_of_fat16_is_small() {
        let mut facts = facts("8");
        facts.space.blocks = 60_000;
        assert_eq!(FAT.judge(&facts, false).capacity.unwrap().value.likely, 32_767);
        facts.inode = 1;
        assert_eq!(FAT.judge(&facts, false).capacity.unwrap().value.likely, 256);
    }
}
