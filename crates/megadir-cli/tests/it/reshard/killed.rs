//! Killed at any moment, every file is at its old or at its new path, and the same command continues.

use std::path::Path;

use megadir_testkit::killed::{CHANGING_CALLS, before_each_call};
use megadir_testkit::require;
use megadir_testkit::require::{full, have};

use super::support::{directories, files, make};
use crate::remove::witness::scratch_in_memory;
use crate::support::{fill, megadir, run};

const FILES: u32 = 40;

/// The files of `t` in a layout.
fn reset(at: &Path, layout: &str) {
    let _ = std::fs::remove_dir_all(at.join("t"));
    make(at, FILES, layout);
}

fn paths(at: &Path) -> Vec<String> {
    let mut paths: Vec<String> = files(&at.join("t")).into_values().map(|(_, path)| path).collect();
    paths.sort();
    paths
}

#[test]
fn killed_reshard_resumes() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    for (from, to) in [("flat", "digest:1/1"), ("digest:1", "digest:1/1"), ("digest:1/1", "flat")] {
        reset(at, to);
        let (new, kept) = (paths(at), directories(&at.join("t")));
        reset(at, from);
        let (old, mut midway) = (paths(at), 0);
        let command = || {
            reset(at, from);
            megadir(at, &["reshard", "--yes", "--from", from, "--to", to, "t"])
        };
        let look = |call: &str| {
            let now = paths(at);
            assert_eq!(now.len(), FILES as usize, "before {call}");
            let moved = now.iter().filter(|path| new.binary_search(path).is_ok()).count();
            assert!(
                now.iter().all(|path| new.binary_search(path).is_ok() || old.binary_search(path).is_ok())
            );
            midway += u32::from(moved > 0 && moved < FILES as usize);
            let again = run(at, &["reshard", "--yes", "--from", from, "--to", to, "t"]);
            assert_eq!(again.code, Some(0), "before {call}: {again:?}");
            assert_eq!((paths(at), directories(&at.join("t"))), (new.clone(), kept), "before {call}");
        };
        before_each_call(CHANGING_CALLS, if full() { 1 } else { 7 }, command, look);
        assert!(midway >= 3, "{from} to {to}: killed {midway} times between two files");
    }
}

/// These move before the directories of their names are made.
#[test]
fn files_with_names_of_directories_are_at_one_of_their_paths_too() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let names: Vec<String> = (0..30).map(|number| format!("t/{number:02}")).collect();
    let layout: megadir::layout::Layout = "digest:2".parse().unwrap();
    let is_moved =
        |(name, path): &(String, String)| layout.path_for(name.as_bytes()).unwrap() == Path::new(path);
    let words = ["reshard", "--yes", "--from", "flat", "--to", "digest:2", "t"];
    let command = || {
        let _ = std::fs::remove_dir_all(at.join("t"));
        fill(at, &["t/"]);
        names.iter().for_each(|name| fill(at, &[name]));
        megadir(at, &words)
    };
    let mut midway = 0;
    let look = |call: &str| {
        let found = files(&at.join("t"));
        let moved = found.values().filter(|file| is_moved(file)).count();
        assert!(found.len() == 30 && found.values().all(|file| is_moved(file) || file.0 == file.1), "{call}");
        midway += u32::from(moved > 0 && moved < 30);
        let again = run(at, &words);
        assert!(again.code == Some(0) && files(&at.join("t")).values().all(is_moved), "{call}: {again:?}");
    };
    before_each_call(&["mkdirat", "renameat2"], if full() { 1 } else { 7 }, command, look);
    assert!(midway > 0);
}
