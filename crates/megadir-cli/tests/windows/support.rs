//! Helpers shared by these tests.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the program; returns the exit code, the output and the messages.
pub(crate) fn megadir(directory: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_megadir"));
    command.args(words).current_dir(directory).stdin(Stdio::null());
    // A busy machine's Wine now and then starts no process.
    const ERROR_INTERNAL_ERROR: i32 = 1359;
    let is_of_wine = |error: &std::io::Error| error.raw_os_error() == Some(ERROR_INTERNAL_ERROR);
    let mut output = command.output();
    for _ in 0..3 {
        if output.as_ref().err().is_some_and(is_of_wine) {
            output = command.output();
        }
    }
    let output = output.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Creates a tree; returns its parent directory.
pub(crate) fn tree() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    std::fs::create_dir_all(tree.join("below").join("empty")).unwrap();
    for index in 0..50 {
        std::fs::write(tree.join(format!("file {index}")), "x".repeat(index)).unwrap();
    }
    std::fs::write(tree.join("below").join("é漢😀"), "text").unwrap();
    scratch
}
