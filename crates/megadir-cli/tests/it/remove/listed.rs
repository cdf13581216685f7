//! Lists of paths: the listed paths are removed, forbidden ones stay, and a malformed list does no harm.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Ran, by_std, fill, named, run, scratch, shell};

#[track_caller]
fn listed(at: &Path, list: &[u8]) -> Ran {
    std::fs::write(at.join("list"), list).unwrap();
    run(at, &["remove", "--yes", "--files0-from", "list"])
}

#[test]
fn listed_paths_are_removed() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/a", "t/b", "t/c/", "t/c/x", "with space", "kept"]);
    std::fs::write(at.join("new\nline"), "").unwrap();
    let ran = listed(at, b"t/a\0t/c/\0with space\0new\nline\0");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(by_std(at), named(&["t", "kept", "list"]));
    assert_eq!(by_std(&at.join("t")), named(&["b"]));
    let ran = shell(at, "find t -mindepth 1 -print0 | $M remove --yes --files0-from -");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(by_std(&at.join("t")).is_empty());
}

#[test]
fn listed_paths_are_refused_like_arguments() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/a", "t/b", "outside/", "outside/f", "last"]);
    symlink("../outside", at.join("t/link")).unwrap();
    let ran = listed(at, b"/\0.\0..\0t/..\0\0t/link/f\0t/link/\0t/a\0missing\0last\0");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.err.lines().filter(|line| line.contains("refused")).count(), 7, "{ran:?}");
    assert!(ran.err.contains("'t/link/f': a path of a list may not lead through a symbolic link"), "{ran:?}");
    assert!(ran.err.contains("remove 'missing': No such file or directory"), "{ran:?}");
    assert!(ran.err.contains("removed 2 entries") && ran.err.contains("8 could not be removed"), "{ran:?}");
    assert_eq!(by_std(&at.join("t")), named(&["b", "link"]));
    assert_eq!(by_std(&at.join("outside")), named(&["f"]));
}

#[test]
fn the_beginning_of_a_path_is_never_removed() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/old", "t/kept"]);
    // Truncated: 't/old' may be read as 't'.
    let ran = listed(at, b"t/old\0t");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("path 2, 't', has no NUL terminator"), "{ran:?}");
    assert_eq!(by_std(&at.join("t")), named(&["kept"]));
    // With newlines instead of NUL bytes, the whole list is one path.
    let ran = listed(at, b"t\nt/kept\n");
    ran.complains(1, &["'t\\nt/kept\\n'", "no NUL terminator", "find -print0"]);
    assert_eq!(by_std(&at.join("t")), named(&["kept"]));
}

#[test]
fn unreadable_lists_are_reported() {
    let scratch = scratch();
    let at = scratch.path();
    run(at, &["remove", "--yes", "--files0-from", "none"])
        .complains(3, &["--files0-from 'none'", "No such file"]);
    run(at, &["remove", "--yes", "--files0-from", "."]).complains(3, &["is a directory"]);
    let ran = listed(at, b"");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
}

#[test]
fn a_long_list_needs_little_memory() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/"]);
    // 300 000 missing paths, and a path of 100 MB.
    let line = "(yes t/no | head -n 300000 | tr '\\n' '\\0'; head -c 100M /dev/zero | tr '\\0' x; printf '\\0t\\0') \
                | (ulimit -v 800000; $M remove --yes --json --threads 2 --files0-from - 2>err)";
    let ran = shell(at, line);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let result: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!((&result["failures"], &result["failed_left_out"]), (&300_001.into(), &299_001.into()));
    let err = std::fs::read_to_string(at.join("err")).unwrap();
    // On a loaded machine it takes ten seconds.
    let err: Vec<_> = err.lines().filter(|line| !line.contains("still working after")).collect();
    assert_eq!(err.len(), 12, "{err:?}");
    assert!(err[10].contains("path 300001, 'xxx") && !at.join("t").exists(), "{err:?}");
    let rest = "megadir: and 299 990 more: remove: No such file or directory (--all-errors prints each)";
    assert_eq!(err[11], rest);
}
