//! Refused creates in other commands: the message has the limit and a remedy.

use megadir_testkit::mount::{self, Mount, Recipe};
use megadir_testkit::require;

use super::golden::SEEDED;
use crate::support::run;

/// A directory that fills up with names of 32 characters long before the inodes run out.
pub(crate) const FULL_SOON: Recipe = Recipe {
    name: "ext4 with 1 KiB blocks and many inodes",
    mkfs: &[
        "mkfs.ext4",
        "-q",
        "-F",
        "-m",
        "0",
        "-b",
        "1024",
        "-I",
        "128",
        "-N",
        "220000",
        "-O",
        "^has_journal",
        "-E",
        mount::HASH_SEED,
    ],
    image_bytes: 160 << 20,
    ..mount::EXT4
};

#[test]
fn make_names_the_limit_reached() {
    let few = require!(Mount::make(&SEEDED));
    let ran = run(&few.path(), &["make", "d", "-n", "50000", "--size", "0"]);
    ran.complains(
        1,
        &["no more files fit after 39", "inodes are used up (0 of 40", "; the files created so far are kept"],
    );
    let full = require!(Mount::make(&FULL_SOON));
    let ran = run(&full.path(), &["make", "d", "-n", "200000", "--size", "0"]);
    ran.complains(
        1,
        &["the directory's index is full, though ", "another name may still be taken (spread the entries"],
    );
}

#[test]
fn bench_refuses_data_that_no_directory_there_takes() {
    let full = require!(Mount::make(&FULL_SOON));
    let ran = run(&full.path(), &["bench", "run", "listing", "--entries", "150000", "--dir", "."]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let message =
        "has not enough room for names in one directory (see 'megadir limits'): about 150000 needed, 136249";
    assert!(ran.err.contains(message), "{}", ran.err);
    let left = std::fs::read_dir(full.path()).unwrap().count();
    assert_eq!(left, 1, "nothing but lost+found");
}
