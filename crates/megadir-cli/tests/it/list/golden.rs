//! Complete output for users, word by word; `MEGADIR_BLESS=1` rewrites the files.
//!
//! Machine-dependent numbers are replaced: inodes and offsets by their names.

use std::path::{Path, PathBuf};

use megadir_testkit::mount::{EXT4, Mount, TMPFS};
use megadir_testkit::output::golden;
use megadir_testkit::require;

use crate::support::{fill, path, run, scratch};

#[track_caller]
fn check(name: &str, text: &str) {
    golden(env!("CARGO_MANIFEST_DIR"), &format!("tests/golden/{name}"), text);
}

/// A run as a user sees it in a terminal: command, output, messages, exit code.
fn seen(directory: &Path, arguments: &[&str]) -> String {
    let ran = run(directory, arguments);
    let words: Vec<String> = arguments
        .iter()
        .map(|word| {
            if word.is_empty() || word.contains(['*', '[', '{', ' ', '\'']) {
                format!("'{word}'")
            } else {
                (*word).to_owned()
            }
        })
        .collect();
    let out = String::from_utf8_lossy(&ran.out).into_owned();
    let code = ran
        .code
        .map_or_else(String::new, |code| if code == 0 { String::new() } else { format!("(exit {code})\n") });
    format!("$ megadir {}\n{out}{}{code}\n", words.join(" "), ran.err)
}

#[test]
fn help() {
    let scratch = scratch();
    for (name, arguments) in [
        ("help.txt", &["--help"][..]),
        ("help-list.txt", &["list", "--help"]),
        ("help-list-short.txt", &["list", "-h"]),
        ("help-backends.txt", &["backends", "--help"]),
    ] {
        let text = String::from_utf8(run(scratch.path(), arguments).quiet()).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}: a line is too long");
        check(name, &text);
    }
}

/// A small tree with difficult names.
fn tree() -> (tempfile::TempDir, PathBuf) {
    let scratch = scratch();
    let top = scratch.path().join("top");
    std::fs::create_dir(&top).unwrap();
    fill(&top, &["a.tmp", "sub/", "sub/b", "sub/quote\"back\\slash", "new\nline", "grün"]);
    std::os::unix::fs::symlink("sub", top.join("link")).unwrap();
    std::fs::write(top.join(path(b"bad\xff")), "").unwrap();
    (scratch, top)
}

/// Replaces the numbers that follow `key`.
fn without_inodes(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        match line.split_once("\"inode\":") {
            Some((before, _)) => lines.push_str(&format!("{before}\"inode\":INODE}}\n")),
            None => lines.push_str(&format!("{line}\n")),
        }
    }
    lines
}

#[test]
fn json_lines() {
    let (_scratch, top) = tree();
    let mut text = String::new();
    for arguments in [
        &["list", "--json", "--sort", "name"][..],
        &["list", "--json", "--sort", "name", "-r", "sub"],
        &["list", "--json", "--count", ".", "sub"],
        &["list", "--json", "--estimate", "sub"],
    ] {
        text.push_str(&without_inodes(&seen(&top, arguments)));
    }
    check("json.txt", &text);
}

/// Sizes and times that are equal on all machines: only of files, in the distant past or future.
#[test]
fn summaries() {
    let scratch = scratch();
    let top = scratch.path().join("top");
    fill(scratch.path(), &["top/", "top/sub/", "top/sub/below/", "top/empty/"]);
    let epoch = std::time::UNIX_EPOCH;
    for (name, bytes, modified_s) in [
        ("plain", 0, 1_000_000_000),
        ("zeros", 1 << 32, 1_000_000_001),
        ("new\nline", 700, 4_102_444_800),
        ("sub/a", 1023, 900_000_000),
        ("sub/b", 1024, 900_000_000),
        ("sub/below/c", 123_456, 950_000_000),
    ] {
        let modified = epoch + std::time::Duration::new(modified_s, 5);
        super::summary::file(&top.join(name), bytes, modified);
    }
    std::fs::hard_link(top.join("sub/a"), top.join("sub/below/also a")).unwrap();
    let mut text = String::new();
    for arguments in [
        &["list", "--summary", "--type", "f", "."][..],
        &["list", "--summary", "--type", "f", "-r", ".", "--human", "--top", "2", "--time-style", "epoch"],
        &["list", "--summary", "empty", "sub/below", "--top", "1"],
        &["list", "--summary", "missing", "empty"],
        &["list", "--summary=directories", "--type", "f", "-r", "."],
        &["list", "--summary=directories", "--type", "f", "-r", "--top", "1", "--human", ".", "empty"],
        &["list", "--summary", "--type", "f", "-r", "--json", "--top", "2", "."],
        &["list", "--summary=directories", "--type", "f", "-r", "--json", "--top", "1", "."],
    ] {
        text.push_str(&without_moment(&seen(&top, arguments)));
    }
    check("summary.txt", &text);
}

/// Replaces the moment from which a run counts ages.
fn without_moment(text: &str) -> String {
    const KEY: &str = "\"now_s\":";
    match text.split_once(KEY) {
        Some((before, after)) => {
            format!("{before}{KEY}NOW{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => text.to_owned(),
    }
}

#[test]
fn raw_columns() {
    let (_scratch, top) = tree();
    let mut text = String::new();
    for arguments in
        [&["list", "--raw", "--sort", "name"][..], &["list", "--raw", "-r", "--sort", "name", "sub"]]
    {
        let ran = seen(&top, arguments);
        for line in ran.lines() {
            let columns: Vec<&str> = line.split_whitespace().collect();
            match columns.as_slice() {
                [inode, _, _, offset, ..]
                    if inode.parse::<u64>().is_ok() && offset.parse::<i64>().is_ok() =>
                {
                    assert_eq!(line.find(columns[1]), Some(12), "columns stand below each other: {line}");
                    let line = line.replacen(inode, "INODE", 1).replacen(offset, "OFFSET", 1);
                    text.push_str(&line.split_whitespace().collect::<Vec<_>>().join("  "));
                }
                _ => text.push_str(line),
            }
            text.push('\n');
        }
    }
    check("raw.txt", &text);
}

#[test]
fn error_lines() {
    let scratch = scratch();
    fill(scratch.path(), &["file", "d/", "d/a"]);
    let mut text = String::new();
    for arguments in [
        &["list", "missing"][..],
        &["list", "file/"],
        &["list", "missing", "d"],
        &["list", ""],
        &["list", "d\nx"],
        &["list", "--backend", "getdent"],
        &["list", "--backend", "getdents", "-j", "2"],
        &["list", "--backend", "std", "--raw"],
        &["list", "--backend", "std", "--buffer", "1M"],
        &["list", "--backend", "split", "/proc"],
        &["list", "--buffer", "10"],
        &["list", "--buffer", "32MiB"],
        &["list", "--buffer", "1x"],
        &["list", "--threads", "0"],
        &["list", "--type", "flie"],
        &["list", "--limit", "many"],
        &["list", "--sort", "sise"],
        &["list", "--match", "a["],
        &["list", "--match", "[ä]"],
        &["list", "--cuont"],
        &["list", "--bogus"],
        &["list", "--cross-mounts"],
        &["list", "--summary=directories"],
        &["list", "--summary=everything"],
        &["list", "--summary", "--json", "--human"],
        &["list", "--summary", "--long"],
        &["list", "--summary", "--top", "1e9"],
        &["list", "--summary", "--top", "2M"],
        &["list", "--top", "3"],
        &["lst"],
        &["backends", "missing"],
        &["backends", "file"],
    ] {
        text.push_str(&seen(scratch.path(), arguments));
    }
    check("errors.txt", &text);
}

#[test]
fn explanations() {
    let ext4 = require!(Mount::make(&EXT4));
    let tmpfs = require!(Mount::make(&TMPFS));
    let mut text = String::new();
    for mount in [&ext4, &tmpfs] {
        fill(&mount.path(), &["d/", "d/a"]);
        for arguments in [
            &["list", "--explain", "-j2", "d"][..],
            &["list", "--explain", "-j1", "d"],
            &["list", "--explain", "--backend", "readdir", "d"],
            &["list", "--explain", "-r", "-j2", "d"],
            &["list", "--backend", "split", "-j2", "d"],
            &["list", "--estimate", "d"],
        ] {
            text.push_str(&seen(&mount.path(), arguments));
        }
    }
    // On other file systems the choice depends on the number of processors.
    text.push_str(&seen(&tmpfs.path(), &["backends", "d"]));
    text.push_str(&seen(&tmpfs.path(), &["backends", "--json", "d"]));
    check("explain.txt", &text);
}

/// Each pair of options is either refused or fully honoured.
#[test]
fn pairs_of_options() {
    let scratch = scratch();
    fill(scratch.path(), &["d/", "d/a", "d/b/", "d/b/c"]);
    let options: [&[&str]; 16] = [
        &["-0"],
        &["--json"],
        &["--raw"],
        &["--count"],
        &["--estimate"],
        &["--summary"],
        &["--explain"],
        &["--type", "f"],
        &["--match", "*"],
        &["--limit", "1"],
        &["--recursive"],
        &["-r", "--cross-mounts"],
        &["--sort", "name"],
        &["--threads", "2"],
        &["--buffer", "8k"],
        &["--backend", "getdents"],
    ];
    let mut text = String::from("Pairs of options of megadir list that are refused.\n\n");
    for (index, first) in options.iter().enumerate() {
        let mut refused = Vec::new();
        for second in &options[index + 1..] {
            // Both include --recursive, which is an error of its own if given twice.
            if first.contains(&"--recursive") && second.contains(&"-r") {
                continue;
            }
            let all: Vec<&str> = ["list", "d"].iter().chain(*first).chain(*second).copied().collect();
            let ran = run(scratch.path(), &all);
            match ran.code {
                Some(0) => {}
                Some(2) => refused.push(second.join(" ")),
                other => panic!("{all:?}: {other:?} {}", ran.err),
            }
        }
        let refused =
            if refused.is_empty() { "goes with all that follow".to_owned() } else { refused.join(", ") };
        text.push_str(&format!("{}: {refused}\n", first.join(" ")));
    }
    check("pairs.txt", &text);
}
