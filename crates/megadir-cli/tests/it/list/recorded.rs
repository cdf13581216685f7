//! `list` of an inventory: the answers of the tree, which is not read.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use megadir_inventory::PARTS_FILE;
use megadir_testkit::require;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    Ran, fill, have, named, peak_of, run, run_as_nobody, scratch, scratch_in_memory, set, shell, split, text,
    unprivileged,
};

const OPTIONS: [&[&str]; 20] = [
    &[],
    &["-r"],
    &["-r", "--count"],
    &["--count"],
    &["-r", "--json"],
    &["-r", "--type", "d,l"],
    &["-r", "--match", "*.log"],
    &["-r", "--path-match", "a/**/*.log"],
    &["-r", "--exclude", "b"],
    &["-r", "--exclude", "a/b"],
    &["-r", "--max-depth", "2"],
    &["-r", "--larger-than", "99", "--smaller-than", "5k"],
    &["-r", "--newer-than", "1d"],
    &["-r", "--older-than", "1d"],
    &["-r", "--owner", "1234"],
    &["-r", "--fields", "inode,type,size,mtime,ctime,btime,mode,user,group,links,device,allocated,name"],
    &["--long"],
    &["-r", "--long", "--json"],
    &["-r", "--summary", "--json"],
    &["-r", "--summary", "--json", "--match", "*.log"],
];

fn make_tree(at: &Path) {
    fill(at, &["t/", "t/a/", "t/a/b/", "t/a/b/deep/", "t/a-b/", "t/empty/", "t/b/"]);
    for (index, path) in
        ["x.log", ".hidden", "a/one.log", "a/b/two.log", "a/b/deep/three.log", "a-b/four", "b/five.log"]
            .iter()
            .enumerate()
    {
        fs::write(at.join("t").join(path), vec![b'x'; index * 700]).unwrap();
    }
    fs::write(at.join("t").join(std::ffi::OsStr::from_bytes(b"not\xffUTF-8\n")), "").unwrap();
    fs::hard_link(at.join("t/x.log"), at.join("t/b/same")).unwrap();
    symlink("nowhere", at.join("t/a/link")).unwrap();
    shell(at, "touch -d 2020-01-01 t/a/one.log; chown 1234 t/b/five.log").quiet();
}

fn tree_with_inventory() -> TempDir {
    let scratch = scratch();
    make_tree(scratch.path());
    run(scratch.path(), &["scan", "--quiet", "-o", "t.parquet", "t"]).quiet();
    scratch
}

/// Lines in the order of their bytes, with one word for the tree and its inventory. A summary without what depends on the time of the run.
fn lines(directory: &Path, options: &[&str], (path, tree): (&str, &str)) -> Vec<Vec<u8>> {
    let mut lines = run(directory, &[&["list", path], options].concat()).lines();
    if options.contains(&"--summary") {
        let mut summary: Value = serde_json::from_slice(&lines[0]).unwrap();
        let members = summary.as_object_mut().unwrap();
        members.retain(|key, _| key != "now_s" && key != "ages");
        lines = vec![summary.to_string().into_bytes()];
    }
    if options.contains(&"--summary") || options.contains(&"--count") {
        lines = vec![text(&lines[0]).replace(tree, "PATH").replace(path, "PATH").into_bytes()];
    }
    lines.sort();
    lines
}

#[test]
fn an_inventory_is_listed_as_its_tree_is() {
    let scratch = tree_with_inventory();
    let at = scratch.path();
    let tree = at.join("t").display().to_string();
    let before: Vec<_> = OPTIONS.iter().map(|options| lines(at, options, (&tree, &tree))).collect();
    fs::rename(at.join("t"), at.join("elsewhere")).unwrap();
    for (options, before) in OPTIONS.iter().zip(before) {
        assert!(!before.is_empty(), "{options:?} lists something");
        let after = lines(at, options, ("t.parquet", &tree));
        let shown = |lines: &[Vec<u8>]| lossy(&lines.join(&b'\n'));
        assert_eq!(shown(&after), shown(&before), "{options:?}");
    }
}

#[test]
fn an_inventory_is_sorted_and_limited_as_its_tree_is() {
    let scratch = tree_with_inventory();
    let at = scratch.path();
    let tree = at.join("t").display().to_string();
    for options in [
        &["-r", "--sort", "name"][..],
        &["-r", "--sort", "name", "--reverse", "-n", "3"],
        &["-r", "--sort", "size", "--type", "f"],
        &["-r", "--sort", "size", "--memory", "1MiB", "--type", "f"],
        &["-r", "--sort", "inode"],
        &["-r", "--sort", "mtime", "-n1"],
    ] {
        let of = |path: &str| run(at, &[&["list", path], options].concat()).quiet();
        assert_eq!(lossy(&of("t.parquet")), lossy(&of(&tree)), "{options:?}");
    }
    let limited = run(at, &["list", "-r", "-n", "2", "t.parquet"]).lines();
    assert_eq!(limited.len(), 2);
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Inventories have the whole paths of their trees.
#[track_caller]
fn lists(at: &Path, ran: Ran, expected: &[&str]) {
    let whole = format!("{}/", at.display());
    let listed = text(&ran.quiet());
    let below: Vec<_> = listed.lines().map(|line| line.strip_prefix(&whole).unwrap_or(line)).collect();
    assert_eq!(below, expected);
}

#[test]
fn an_inventory_of_several_trees_is_listed_with_their_paths() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["one/", "one/x", "two/", "two/x", "two/below/", "two/below/y"]);
    run(at, &["scan", "--quiet", "-o", "both.parquet", "one", "two"]).quiet();
    lists(at, run(at, &["list", "both.parquet"]), &["one/x", "two/below", "two/x"]);
    lists(at, run(at, &["list", "-r", "both.parquet"]), &["one/x", "two/below", "two/x", "two/below/y"]);
    // With a directory, each has its path.
    let mixed = run(at, &["list", "two/below", "both.parquet"]);
    lists(at, mixed, &["two/below/y", "one/x", "two/below", "two/x"]);
}

#[test]
fn directories_that_the_scan_could_not_read_are_errors_of_the_listing() {
    let scratch = scratch();
    let at = scratch.path();
    let program = require!(unprivileged(&scratch));
    fill(at, &["t/", "t/closed/", "t/closed/x", "t/open/", "t/open/y"]);
    fs::set_permissions(at.join("t/closed"), fs::Permissions::from_mode(0o0)).unwrap();
    fs::set_permissions(at, fs::Permissions::from_mode(0o777)).unwrap();
    let scanned = run_as_nobody(&program, at, &["scan", "--quiet", "-o", "t.parquet", "t"]);
    assert_eq!(scanned.code, Some(1), "{scanned:?}");
    let listed = run(at, &["list", "-r", "t.parquet"]);
    assert_eq!(listed.code, Some(1), "{listed:?}");
    assert!(listed.err.contains("t/closed': not read by the scan: open"), "{}", listed.err);
    assert_eq!(set(split(&listed.out, b'\n')).len(), 3);
    assert_eq!(listed.err.lines().count(), 1, "{}", listed.err);
    // The directory itself was seen.
    lists(at, run(at, &["list", "t.parquet"]), &["closed", "open"]);
    lists(at, run(at, &["list", "-r", "--exclude", "closed", "t.parquet"]), &["t/open", "t/open/y"]);
}

#[test]
fn options_that_read_the_tree_are_refused_for_an_inventory() {
    let scratch = tree_with_inventory();
    let at = scratch.path();
    for (options, reason) in [
        (&["-j", "2"][..], "--threads: 't.parquet' is an inventory"),
        (&["--buffer", "64KiB"], "--buffer: 't.parquet' is an inventory"),
        (&["--backend", "getdents"], "--backend: 't.parquet' is an inventory"),
        (&["--stat-backend", "statx", "-l"], "--stat-backend: 't.parquet' is an inventory"),
        (&["-r", "--cross-mounts"], "--cross-mounts: 't.parquet' is an inventory"),
        (&["--read-ahead", "always"], "--read-ahead: 't.parquet' is an inventory"),
        (&["--raw"], "--raw: 't.parquet' is an inventory"),
        (&["--estimate"], "--estimate: 't.parquet' is an inventory"),
        (&["--fields", "name,target"], "--fields target: inventories do not record it"),
        (&["--fields", "mount"], "--fields mount: inventories do not record it"),
        (&["-r", "--summary=directories"], "megadir usage --by entries 't.parquet'"),
    ] {
        let refused = run(at, &[&["list", "t.parquet"], options].concat());
        assert_eq!(refused.code, Some(2), "{options:?}: {refused:?}");
        assert!(refused.err.contains(reason), "{options:?}: {}", refused.err);
        assert!(refused.out.is_empty(), "{options:?}");
    }
}

/// Every occurrence, by one of the same length.
fn lossless_replace(bytes: &[u8], old: &[u8; 7], new: &[u8; 7]) -> Vec<u8> {
    let mut replaced = bytes.to_vec();
    for at in 0..bytes.len() - old.len() {
        if bytes[at..].starts_with(old) {
            replaced[at..at + new.len()].copy_from_slice(new);
        }
    }
    replaced
}

#[test]
fn files_that_are_no_inventories_and_folders_of_parts_list_themselves() {
    let scratch = tree_with_inventory();
    let at = scratch.path();
    let whole = fs::read(at.join("t.parquet")).unwrap();
    let other = lossless_replace(&whole, b"megadir", b"someone");
    fs::write(at.join("other.parquet"), other).unwrap();
    fs::write(at.join("t.csv"), b"root,parent,name\r\n").unwrap();
    lists(at, run(at, &["list", "other.parquet", "t.csv"]), &["other.parquet", "t.csv"]);
    fs::write(at.join("cut.parquet"), &whole[..whole.len() - 9]).unwrap();
    run(at, &["list", "--count", "cut.parquet"]).complains(3, &["cut.parquet", "truncated"]);
    let parts = at.join("parts");
    fs::create_dir(&parts).unwrap();
    fs::write(parts.join("1.parquet"), &whole).unwrap();
    fs::write(parts.join(PARTS_FILE), r#"{"version":1,"parts":1}"#).unwrap();
    assert_eq!(set(run(at, &["list", "parts"]).lines()), named(&["1.parquet", PARTS_FILE]));
    let recorded = run(at, &["list", "-r", "t.parquet"]).quiet();
    let marker = format!("parts/{PARTS_FILE}");
    assert_eq!(run(at, &["list", "-r", &marker]).quiet(), recorded);
    assert_eq!(run(&parts, &["list", "-r", PARTS_FILE]).quiet(), recorded);
    fs::write(parts.join(PARTS_FILE), "{}").unwrap();
    assert_eq!(run(at, &["list", "-r", &marker]).code, Some(3));
}

#[test]
fn a_large_inventory_is_listed_in_bounded_memory() {
    require!(have("python3"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    run(at, &["make", "--quiet", "--entries", "100k", "--yes", "t"]).quiet();
    run(at, &["scan", "--quiet", "-o", "t.parquet", "t"]).quiet();
    let peak = |options: &[&str]| peak_of(at, &[&["list", "t.parquet"], options].concat(), 0);
    let (first, all) = (peak(&["-n", "1"]), peak(&["-r", "-l"]));
    assert!(all < first + (4 << 20), "{all} instead of {first} bytes");
}
