//! What the subjects share.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the command; returns its exit code, what it printed and what it complained about.
pub(crate) fn megadir(directory: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_megadir"));
    let output = command.args(words).current_dir(directory).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Makes a tree and returns the directory that it lies in.
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
