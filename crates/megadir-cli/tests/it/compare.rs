//! End-to-end tests of `megadir compare`. That it finds the differences which full listings have is a test of the library.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use megadir_testkit::mount::{EXT4_SMALL_INODES, Mount};
use megadir_testkit::require;
use megadir_testkit::require::have;
use tempfile::TempDir;

use crate::support::{Ran, finish, megadir, run, shell, text};

/// `a`, its copy `b` and their inventories; `b` lacks `d/gone`, has `new`, and has another `changed`.
fn lab() -> TempDir {
    let scratch = tempfile::tempdir().unwrap();
    shell(
        scratch.path(),
        "set -e
         mkdir -p a/d; for file in same changed d/gone d/kept '#odd'; do echo text > \"a/$file\"; done
         cp -a a b
         rm b/d/gone; touch b/new; echo longer text > b/changed
         $M scan a -o a.parquet -q; $M scan b -o b.parquet -q",
    )
    .quiet();
    scratch
}

fn compared(at: &Path, words: &[&str]) -> Ran {
    run(at, &[&["compare"], words].concat())
}

const LINES: &str = "differs      changed (size, mtime)\nextra        new\nmissing      d/gone\n";
const NUMBERS: &str = "megadir: 4 entries agree, 1 missing, 1 extra, 1 differs\n";

#[test]
fn trees_and_inventories_give_the_same_lines_and_numbers() {
    let lab = lab();
    for a in ["a", "a.parquet", "./a/"] {
        for b in ["b", "b.parquet"] {
            let ran = compared(lab.path(), &[a, b]);
            assert_eq!(
                (ran.code, text(&ran.out).as_str(), ran.err.as_str()),
                (Some(0), LINES, NUMBERS),
                "{a} {b}"
            );
        }
    }
    let ran = compared(lab.path(), &["a", "a.parquet", "--by", "size,mtime,mode,owner"]);
    assert_eq!(ran.out, b"");
    assert_eq!(ran.err, "megadir: 6 entries agree in type, size, mtime, mode, owner; no difference\n");
}

#[test]
fn exit_codes_are_those_of_changes() {
    let lab = lab();
    let code = |words: &[&str]| compared(lab.path(), words).code;
    for (words, expected) in [
        (&["a", "b"][..], 0),
        (&["a", "b", "--exit-code"], 10),
        (&["a", "b", "--quiet"], 10),
        (&["a", "a", "--exit-code"], 0),
        (&["a", "a", "-q"], 0),
        (&["a", "b", "-q", "--only", "unreadable"], 0),
        (&["a", "b", "-q", "--only", "missing"], 10),
        (&["a", "nowhere"], 3),
        (&["a", "a/same"], 3),
        (&["a", "b", "--by", "ctime"], 2),
        (&["a"], 2),
        (&["a.parquet", "b.parquet", "--cross-mounts"], 2),
    ] {
        assert_eq!(code(words), Some(expected), "{words:?}");
    }
    let quiet = compared(lab.path(), &["a", "b", "-q"]);
    assert!(quiet.out.is_empty() && quiet.err.is_empty(), "{quiet:?}");
}

#[test]
fn differences_have_a_form_for_each_reader() {
    let lab = lab();
    let out = |words: &[&str]| text(&compared(lab.path(), &[&["a", "b"], words].concat()).out);
    assert_eq!(out(&["-0"]), "differs\tchanged\0extra\tnew\0missing\td/gone\0");
    assert_eq!(out(&["--only", "missing,extra"]), "extra        new\nmissing      d/gone\n");
    assert_eq!(out(&["--only", "missing", "--paths"]), "d/gone\n");
    let json = out(&["--json"]);
    let lines: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{json}");
    assert_eq!((&lines[0]["v"], &lines[0]["difference"]), (&1.into(), &"differs".into()), "{json}");
    assert_eq!(lines[0]["fields"], serde_json::json!(["size", "mtime"]));
    assert_eq!((&lines[0]["a"]["size"], &lines[0]["b"]["size"]), (&5.into(), &12.into()), "{json}");
    assert!(lines[1].get("a").is_none() && lines[1]["b"]["type"] == "file", "{json}");
    assert!(lines[2].get("b").is_none() && lines[2]["path"] == "d/gone", "{json}");
    fs::remove_file(lab.path().join("b/#odd")).unwrap();
    assert_eq!(out(&["--only", "missing", "--paths", "-0"]), "./#odd\0d/gone\0");
    assert_eq!(out(&["--exclude", "#*", "--exclude", "d/gone", "--only", "missing"]), "");
    fs::remove_file(lab.path().join("b/changed")).unwrap();
    std::os::unix::fs::symlink("same", lab.path().join("b/changed")).unwrap();
    assert_eq!(out(&["--only", "differs"]), "differs      changed (type: file -> symlink)\n");
}

#[test]
fn rsync_copies_missing_and_differing_entries() {
    require!(have("rsync"));
    let lab = lab();
    fs::remove_dir_all(lab.path().join("b/d")).unwrap();
    let line = "$M compare a b --only missing,differs --paths -0 2>/dev/null | rsync -a --from0 --files-from=- a/ b/ && rm b/new";
    shell(lab.path(), line).quiet();
    let by = "size,mtime,mode,owner,contents,target";
    let again = compared(lab.path(), &["a", "b", "--exit-code", "--by", by]);
    assert_eq!((again.code, again.out.as_slice()), (Some(0), &b""[..]), "{again:?}");
}

#[test]
fn contents_are_read_from_trees_and_hashes_from_the_index_of_a_pack() {
    let lab = lab();
    let at = lab.path();
    shell(at, "cp -a a c && printf TEXT | dd of=c/same conv=notrunc status=none && touch -r a/same c/same && $M pack create -q a p").quiet();
    assert_eq!(text(&compared(at, &["a", "c"]).out), "");
    for a in ["a", "p/index.parquet"] {
        let ran = compared(at, &[a, "c", "--by", "contents,target"]);
        assert_eq!(text(&ran.out), "differs      same (contents)\n", "{a}");
        assert_eq!(ran.err, "megadir: 5 entries agree, 1 differs\n", "{a}");
    }
    compared(at, &["a.parquet", "c", "--by", "contents"])
        .complains(2, &["'a.parquet'", "no hash", "name the tree", "--hash all"]);
    assert!(compared(at, &["a.parquet", "c", "--by", "contents"]).out.is_empty());
}

#[test]
fn inventories_that_lack_entries_on_purpose_are_compared_alike_or_refused() {
    let lab = lab();
    let at = lab.path();
    shell(
        at,
        "set -e
         $M scan a -q --exclude gone -o few.parquet; $M scan a -q --larger-than 6 -o large.parquet
         $M scan a b -q -o both.parquet; $M scan a b -q -o again.parquet; cp a.parquet b/inventory; $M scan b -q -o b.parquet",
    )
    .quiet();
    let ran = compared(at, &["few.parquet", "a"]);
    assert_eq!((text(&ran.out).as_str(), ran.code), ("", Some(0)), "{ran:?}");
    compared(at, &["few.parquet", "a.parquet"]).complains(2, &["different conditions"]);
    compared(at, &["large.parquet", "a"]).complains(2, &["conditions on time, size or owner"]);
    compared(at, &["both.parquet", "a"]).complains(2, &["has 2 trees and the other side 1"]);
    let both = compared(at, &["both.parquet", "again.parquet", "--exit-code"]);
    assert_eq!(both.code, Some(0), "{both:?}");
    compared(at, &["both.parquet", "again.parquet", "--paths"]).complains(2, &["2 trees", "--json"]);
    // An inventory in the tree that it is compared with is no entry of it.
    assert!(!text(&compared(at, &["b/inventory", "b"]).out).contains("inventory"));
    // A file that is no inventory.
    compared(at, &["a/same", "b"]).complains(3, &["name a directory or an inventory"]);
}

#[test]
fn an_unreadable_directory_makes_the_comparison_incomplete() {
    require!(match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err("only root can make files of others".to_owned()),
    });
    let lab = lab();
    fs::set_permissions(lab.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(lab.path().join("b/d"), fs::Permissions::from_mode(0o700)).unwrap();
    let nobody = |words: &[&str]| {
        finish(megadir(lab.path(), &[&["compare", "a", "b"], words].concat()).uid(65534).gid(65534))
    };
    let ran = nobody(&["--only", "missing,unreadable"]);
    assert_eq!(text(&ran.out), "unreadable   d (in B: open: Permission denied)\n");
    let incomplete = "megadir: incomplete: 1 entry could not be read; 2 entries not compared below a directory that only the other side could read\n";
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 2), "{ran:?}");
    assert!(ran.err.ends_with(incomplete), "{ran:?}");
    let quiet = nobody(&["-q", "--only", "missing"]);
    assert_eq!(quiet.code, Some(1), "{quiet:?}");
    assert!(quiet.err.contains("(first: 'd' in B: open: Permission denied)"), "{quiet:?}");
    assert_eq!(nobody(&["-q"]).code, Some(10));
}

#[test]
fn a_mount_that_one_side_does_not_enter_hides_no_missing_entries() {
    require!(match rustix::process::geteuid().is_root() {
        true => have("unshare"),
        false => Err("only root can mount".to_owned()),
    });
    let lab = lab();
    let script = "mount -t tmpfs none b/d && mkdir b/d/e && touch b/d/e/f &&
        { $M compare a b --only missing,extra; echo $?; $M compare a b --cross-mounts --only missing,extra; echo $?
          $M scan b -q -o b.parquet; $M compare a.parquet b.parquet --only missing,extra; echo $?; } 2>messages";
    let ran = shell(lab.path(), &format!("unshare -m bash -c '{script}'"));
    let entered = "extra        new\nextra        d/e\nmissing      d/gone\nmissing      d/kept\nextra        d/e/f\n0\n";
    let closed = "extra        new\n1\n";
    assert_eq!(text(&ran.out), [closed, entered, closed].concat(), "{ran:?}");
    let messages = fs::read_to_string(lab.path().join("messages")).unwrap();
    assert!(messages.contains("'b/d' is on another mount, not entered"), "{messages}");
    let below = "1 mount was not entered (--cross-mounts enters mounts, --exclude leaves them out); 2 entries not compared below \
                 a mount of the other side";
    assert_eq!(messages.matches(below).count(), 2, "{messages}");
}

#[test]
fn a_mount_over_an_empty_directory_is_no_complete_copy_unless_it_is_excluded() {
    require!(match rustix::process::geteuid().is_root() {
        true => have("unshare"),
        false => Err("only root can mount".to_owned()),
    });
    let lab = tempfile::tempdir().unwrap();
    fs::create_dir_all(lab.path().join("a/disk")).unwrap();
    fs::create_dir_all(lab.path().join("b/disk")).unwrap();
    let script = "mount -t tmpfs none a/disk && touch a/disk/precious && $M scan a -q -o a.parquet && $M scan b -q -o b.parquet &&
        for sides in \"a b\" \"a.parquet b\" \"a.parquet b.parquet\"; do
            $M compare $sides -q; echo $?; $M compare $sides -q --exclude disk; echo $?; done; $M compare a b -q --cross-mounts; echo $?";
    let ran = shell(lab.path(), &format!("unshare -m bash -c '{script}'"));
    assert_eq!(text(&ran.out), "1\n0\n1\n0\n1\n0\n10\n", "{ran:?}");
}

#[test]
fn times_are_compared_in_the_unit_that_a_copy_keeps() {
    // Whole seconds; FAT is a test of the library.
    let mut coarse = require!(Mount::make(&EXT4_SMALL_INODES));
    let scratch = tempfile::tempdir().unwrap();
    let copy = coarse.path().join("copy");
    shell(
        scratch.path(),
        &format!(
            "set -e
             mkdir a; for second in 0 1 2 3; do for part in 0 1 999999999; do f=a/$second-$part; echo text > $f
               touch -d @$((1700000000 + second)).$(printf %09d $part) $f; done; done
             cp -r --preserve=timestamps a {0}",
            copy.display()
        ),
    )
    .quiet();
    // In memory, the copies have the exact times.
    coarse.remount(|_| Ok(())).unwrap();
    let ran = compared(scratch.path(), &["a", copy.to_str().unwrap(), "--exit-code"]);
    assert_eq!((ran.code, text(&ran.out).as_str()), (Some(0), ""), "{ran:?}");
    shell(scratch.path(), "touch -d @1700000005 a/1-1").quiet();
    let ran = compared(scratch.path(), &["a", copy.to_str().unwrap()]);
    assert_eq!(text(&ran.out), "differs      1-1 (mtime)\n");
}
