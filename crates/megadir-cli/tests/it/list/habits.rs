//! Expectations of `ls` users: its letters, files as arguments, link targets, columns of constant width.

use std::os::unix::fs::symlink;

use megadir_testkit::require;

use crate::support::{fill, have, run, scratch, set, shell};

fn text(out: &[u8]) -> String {
    String::from_utf8_lossy(out).replace("\r\n", "\n")
}

#[test]
fn letters_of_ls_keep_their_meaning() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["d/", "d/.hidden", "d/e/", "d/e/f"]);
    std::fs::write(at.join("d/.hidden"), vec![0; 1536]).unwrap();
    for same in [&["list", "-a", "d"][..], &["list", "-1", "d"], &["list", "-aA1", "-1", "d"]] {
        assert_eq!(set(run(at, same).lines()), set(run(at, &["list", "d"]).lines()), "{same:?}");
    }
    let mut deep = run(at, &["list", "-R", "d"]).lines();
    deep.sort();
    assert_eq!(deep, [b"d/.hidden".to_vec(), b"d/e".to_vec(), b"d/e/f".to_vec()]);
    for human in
        [&["list", "-lh", "d"][..], &["list", "-lah", "d"], &["list", "-h", "--fields", "size,name", "d"]]
    {
        let ran = run(at, human);
        assert!(ran.code == Some(0) && text(&ran.out).contains("1.5K\t"), "{human:?}: {ran:?}");
    }
    // Without sizes, -h means help as in all other programs.
    for help in [&["list", "-h"][..], &["list", "-h", "d"], &["list", "-Rh"], &["list", "--help"]] {
        let ran = run(at, help);
        assert!(text(&ran.quiet()).contains("Usage: megadir list [OPTIONS] [DIR]..."), "{help:?}");
    }
    let short = |options: &[&str]| run(at, options).out.len();
    assert!(short(&["list", "-h"]) < short(&["list", "--help"]));
    run(at, &["list", "--human"]).complains(2, &["need --long"]);
    assert!(text(&run(at, &["scan", "-h"]).out).contains("Usage: megadir scan"));
}

#[test]
fn a_file_as_argument_is_listed() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["d/", "d/f", "d/g", "one"]);
    std::fs::write(at.join("d/f"), "12345").unwrap();
    symlink("d/f", at.join("link")).unwrap();
    symlink("nowhere", at.join("broken")).unwrap();
    for path in ["one", "d/f", "./d/f", "link", "broken"] {
        let ran = run(at, &["list", path]);
        assert_eq!((ran.code, text(&ran.out)), (Some(0), format!("{path}\n")), "{ran:?}");
    }
    let ran = run(at, &["list", "d/f", "d", "--fields", "size,type,name"]);
    assert!(text(&ran.out).starts_with("5\tfile\td/f\n"), "{ran:?}");
    assert_eq!(ran.lines().len(), 3);
    let ran = run(at, &["list", "--json", "d/f"]);
    let line: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert!(line["name"] == "f" && line["dir"] == "d" && line["type"] == "file", "{line}");
    assert!(line["inode"].as_u64().is_some_and(|inode| inode > 0), "{line}");
    assert_eq!(text(&run(at, &["list", "--count", "one"]).out), "1\n");
    assert_eq!(text(&run(at, &["list", "--type", "d", "one"]).out), "");
    assert_eq!(text(&run(at, &["list", "-r", "--sort", "name", "one"]).out), "one\n");
    run(at, &["list", "one/"]).complains(3, &["'one/'", "expected a directory"]);
    run(at, &["list", "none"]).complains(3, &["'none'", "No such file"]);
    run(at, &["list", "--estimate", "one"]).complains(3, &["expected a directory"]);
}

#[test]
fn options_with_numbers_take_no_flag_for_their_value() {
    let scratch = scratch();
    for option in [
        "--limit",
        "-n",
        "--older-than",
        "--newer-than",
        "--larger-than",
        "--smaller-than",
        "--owner",
        "--memory",
        "--top",
        "--threads",
        "-j",
        "--buffer",
    ] {
        run(scratch.path(), &["list", option, "-1"]).complains(2, &["-1"]);
    }
}

#[test]
fn targets_of_links_are_shown() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["d/", "d/plain"]);
    symlink("to\nthere", at.join("d/link")).unwrap();
    let shown = text(&shell(at, "script -qec '$M list -l d' /dev/null </dev/null").out);
    assert!(shown.contains(" link -> to\\nthere\n") && shown.contains(" plain\n"), "{shown}");
    let shown = text(&shell(at, "script -qec '$M list -lR .' /dev/null </dev/null").out);
    assert!(shown.contains(" ./d/link -> to\\nthere\n"), "{shown}");
    let mut lines = run(at, &["list", "--fields", "name,target", "d"]).lines();
    lines.sort();
    // The newline belongs to the target, as in names.
    assert_eq!(lines, [&b"link\tto"[..], b"plain\t", b"there"]);
    let ran = run(at, &["list", "--json", "--fields", "target", "-g", "link", "d"]);
    let line: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(line["target"], "to\nthere");
}

#[test]
fn the_column_of_sizes_keeps_its_width_on_a_terminal() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["d/"]);
    for index in 0..3000 {
        let file = std::fs::File::create(at.join(format!("d/{index}"))).unwrap();
        file.set_len(1 << (index % 40)).unwrap();
    }
    for options in ["-l", "-lh"] {
        let line = format!("script -qec '$M list {options} d' /dev/null </dev/null");
        let shown = text(&shell(at, &line).out);
        let column = |line: &str| line.find('T').or_else(|| line.rfind(':'));
        let columns: std::collections::BTreeSet<_> = shown.lines().map(column).collect();
        assert_eq!((shown.lines().count(), columns.len()), (3000, 1), "{columns:?}");
    }
}
