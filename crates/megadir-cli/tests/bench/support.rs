//! Helpers shared by these tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use megadir_testkit::tree::names;

/// A run of a second or two, without its rounds.
pub(crate) const SMALL: [&str; 6] = ["bench", "run", "listing", "--quick", "--entries", "2000"];

pub(crate) fn megadir(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_megadir"));
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command
}

#[track_caller]
pub(crate) fn run(directory: &Path, arguments: &[&str]) -> Output {
    megadir(directory, arguments).output().expect("the program starts")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Reads the only record in a directory, which otherwise holds only its page.
#[track_caller]
pub(crate) fn only_record(directory: &Path) -> PathBuf {
    let names = names(directory);
    assert_eq!((names.len(), names[1].as_str()), (2, "report.html"), "{names:?}");
    assert!(names[0].starts_with("megadir-listing-") && names[0].ends_with(".jsonl"), "{names:?}");
    directory.join(&names[0])
}
