//! Runs the program.

#[cfg(target_os = "linux")]
mod caches;
#[cfg(target_os = "linux")]
mod ran;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

#[cfg(target_os = "linux")]
pub(crate) use caches::{caches_are_dropped, caches_are_kept};
#[cfg(target_os = "linux")]
pub(crate) use ran::*;

/// The shortest run of a study that compares.
pub(crate) const BRIEF_RUN: [&str; 7] =
    ["bench", "run", "listing", "--quick", "--entries=50", "--rounds=7", "--warm-up=1"];

/// The program that cargo built with the tests, or `MEGADIR_PROGRAM`, for machines that have the tests without the folder of the build.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        std::env::var_os("MEGADIR_PROGRAM").map_or(env!("CARGO_BIN_EXE_megadir").into(), PathBuf::from)
    })
}

/// Command of the program in a directory, without input and for lines of 100 columns.
pub(crate) fn megadir<A: AsRef<OsStr>>(directory: impl AsRef<Path>, arguments: &[A]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(directory).stdin(Stdio::null()).env("COLUMNS", "100");
    command
}

/// Runs the program until it ends.
#[track_caller]
pub(crate) fn output_of<A: AsRef<OsStr>>(directory: impl AsRef<Path>, arguments: &[A]) -> Output {
    megadir(directory, arguments).output().expect("the program starts")
}

#[cfg(target_os = "linux")]
/// Output or messages as text, which they must be.
#[track_caller]
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}
