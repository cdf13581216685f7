//! Complete output for users, word by word; `MEGADIR_BLESS=1` rewrites the files.
//!
//! The image is seeded, so every number is reproducible; devices and paths are replaced.

use std::path::Path;

use megadir_testkit::mount::{self, Mount, Recipe};
use megadir_testkit::output::golden;
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Names};

use crate::support::{run, scratch};

/// Blocks of 1 KiB, and a fixed hash seed.
pub(crate) const SEEDED: Recipe = Recipe {
    name: "ext4 with 1 KiB blocks and a hash of our own",
    mkfs: &[
        "mkfs.ext4",
        "-q",
        "-F",
        "-m",
        "0",
        "-b",
        "1024",
        "-N",
        "40000",
        "-O",
        "^has_journal",
        "-E",
        "hash_seed=00000000-0000-4000-8000-000000000001",
    ],
    image_bytes: 64 << 20,
    ..mount::EXT4
};

#[track_caller]
fn check(name: &str, text: &str) {
    golden(env!("CARGO_MANIFEST_DIR"), &format!("tests/golden/{name}"), text);
}

/// A run as a user sees it, with machine-dependent parts replaced.
fn seen(directory: &Path, arguments: &[&str]) -> String {
    let ran = run(directory, arguments);
    let out = String::from_utf8(ran.out).unwrap();
    let code = match ran.code {
        Some(0) => String::new(),
        code => format!("(exit {})\n", code.map_or("?".into(), |code| code.to_string())),
    };
    let text = format!("$ megadir {}\n{out}{}{code}\n", arguments.join(" "), ran.err);
    let text = text.replace(directory.to_str().unwrap(), "MOUNT");
    let mut replaced = String::new();
    for (index, part) in text.split("/dev/loop").enumerate() {
        match index {
            0 => replaced.push_str(part),
            _ => {
                replaced.push_str("DEVICE");
                replaced.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_digit()));
            }
        }
    }
    replaced
}

#[test]
fn help() {
    let scratch = scratch();
    for (name, arguments) in
        [("help-limits.txt", ["limits", "--help"]), ("help-limits-short.txt", ["limits", "-h"])]
    {
        let text = String::from_utf8(run(scratch.path(), &arguments).quiet()).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}: a line is too long");
        check(name, &text);
    }
}

#[test]
fn answers() {
    let mount = require!(Mount::make(&SEEDED));
    let grown = Flat { entries: 17_500, names: Names::Longest, kinds: Kinds::Files, seed: 1 };
    grown.build(&mount.path().join("grown"));
    Flat::plain(600).build(&mount.path().join("small"));
    std::fs::create_dir(mount.path().join("empty")).unwrap();
    let mut text = String::new();
    for arguments in [
        &["limits", "grown"][..],
        &["limits", "--size", "0", "--name-length", "8,32,255", "small", "empty"],
        &["limits", "--churn", "--count", "--size", "0", "small"],
        &["limits", "--json", "grown"],
        &["limits", "--warn-at", "80%", "--json", "--like", "grown", "grown", "empty"],
    ] {
        let answer = seen(&mount.path(), arguments);
        let lines = answer.lines().filter(|line| !line.starts_with('{') && !line.starts_with("      $ "));
        for line in lines {
            assert!(line.chars().count() <= 100 || line.starts_with("megadir: "), "too long: {line}");
        }
        text.push_str(&answer);
    }
    check("limits.txt", &text);
}

#[test]
fn error_lines() {
    let scratch = scratch();
    std::fs::write(scratch.path().join("file"), "").unwrap();
    std::fs::create_dir(scratch.path().join("d")).unwrap();
    let mut text = String::new();
    for arguments in [
        &["limits", "missing"][..],
        &["limits", "file"],
        &["limits", "d\nx"],
        &["limits", "--like", "missing", "d"],
        &["limits", "--name-length", "0", "d"],
        &["limits", "--name-length", "300", "d"],
        &["limits", "--name-length", "8:x", "d"],
        &["limits", "--size", "big", "d"],
        &["limits", "--warn-at", "0%", "d"],
        &["limits", "--warn-at", "120%", "d"],
        &["limits", "--watch=0s", "d"],
        &["limits", "--watch=often", "d"],
        &["limits", "--wacth", "d"],
        &["limits", "--watch=1s", "missing"],
    ] {
        text.push_str(&seen(scratch.path(), arguments));
    }
    check("limits-errors.txt", &text);
}
