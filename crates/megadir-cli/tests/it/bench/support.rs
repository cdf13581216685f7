//! Helpers shared by these tests.

use std::path::{Path, PathBuf};

use megadir_testkit::tree::names;

/// A run of a second or two, without its rounds.
pub(crate) const SMALL: [&str; 7] =
    ["bench", "run", "listing", "--quick", "--entries", "2000", "--warm-up=1"];

/// Reads the only record in a directory, which otherwise holds only its page.
#[track_caller]
pub(crate) fn only_record(directory: &Path) -> PathBuf {
    let names = names(directory);
    assert!(names.len() == 2 && names[1].starts_with("megadir-listing-"), "{names:?}");
    assert_eq!(names[1].strip_suffix(".jsonl"), names[0].strip_suffix(".html"));
    assert!(names[0].ends_with(".html"), "{names:?}");
    directory.join(&names[1])
}
