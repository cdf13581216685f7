//! Checks of the fuzz targets as functions without the fuzzer: the tests of `megadir-cli` include this file and run every seed
//! through them (`fuzz_seeds.rs`), so that each landing does; `targets/` has the programs for random inputs.

pub mod layout;
pub mod record;
pub mod report;

/// Name of a target, which is also the folder of its seeds, and its check.
pub type Target = (&'static str, fn(&[u8]));

pub static TARGETS: &[Target] = &[
    ("directory_information", megadir::directory_information::fuzz),
    ("dirent", megadir::decode::fuzz),
    ("ext4_disk", megadir::ext4_disk::fuzz),
    ("inventory", megadir_inventory::fuzz),
    ("layout", layout::check),
    ("record", record::check),
    ("report", report::check),
];
