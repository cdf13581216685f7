//! `--offline` links and unlinks: a killed run leaves files with both paths, which the same command completes, and what
//! the system refuses has one path.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use megadir_testkit::killed::before_each_call;
use megadir_testkit::mount::{EXT4, Mount, run as run_tool};
use megadir_testkit::require;
use megadir_testkit::require::{full, have};

use super::support::{files, make};
use crate::remove::witness::scratch_in_memory;
use crate::support::{fill, megadir, program, run, scratch};

const FILES: u32 = 40;

/// All paths of each inode.
fn paths(top: &Path) -> BTreeMap<u64, Vec<String>> {
    let (mut found, mut folders) = (BTreeMap::<u64, Vec<String>>::new(), vec![top.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let relative = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
            found.entry(path.metadata().unwrap().ino()).or_default().push(relative);
        }
    }
    found.values_mut().for_each(|paths| paths.sort());
    found
}

#[test]
fn a_run_killed_at_any_moment_is_completed_by_the_same_command() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let place: megadir::layout::Layout = "digest:1/1".parse().unwrap();
    let words = ["reshard", "--offline", "--yes", "--from", "flat", "--to", "digest:1/1", "t"];
    let (mut midway, mut both) = (0, 0);
    let command = || {
        let _ = std::fs::remove_dir_all(at.join("t"));
        make(at, FILES, "flat");
        megadir(at, &words)
    };
    let look = |call: &str| {
        let (mut moved, now) = (0, paths(&at.join("t")));
        assert_eq!(now.len(), FILES as usize, "before {call}");
        for found in now.values() {
            let name = found[0].rsplit('/').next().unwrap();
            let new = place.path_for(name.as_bytes()).unwrap().to_str().unwrap().to_owned();
            assert!(found.iter().all(|path| *path == name || *path == new), "before {call}: {found:?}");
            moved += usize::from(found.contains(&new));
            both += u32::from(found.len() == 2);
        }
        midway += u32::from(moved > 0 && moved < FILES as usize);
        let again = run(at, &words);
        assert_eq!(again.code, Some(0), "before {call}: {again:?}");
        let done = files(&at.join("t"));
        assert_eq!(done.len(), FILES as usize, "before {call}");
        assert!(
            done.values().all(|(name, path)| place.path_for(name.as_bytes()).unwrap() == Path::new(path))
        );
    };
    before_each_call(&["mkdirat", "linkat", "unlinkat"], if full() { 1 } else { 5 }, command, look);
    assert!(midway >= 3 && both >= 3, "{midway} runs ended between two files, {both} files had both paths");
}

#[test]
fn a_file_with_both_paths_loses_the_old_one_only_offline() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/ab/", "t/abcd", "t/abxy", "t/ab/abxy"]);
    std::fs::hard_link(at.join("t/abcd"), at.join("t/ab/abcd")).unwrap();
    std::fs::hard_link(at.join("t/abcd"), at.join("third")).unwrap();
    let before = paths(&at.join("t"));
    let words = ["--yes", "--from", "flat", "--to", "prefix:2", "t"];
    let ran = run(at, &[&["reshard"], &words[..]].concat());
    assert_eq!((ran.code, paths(&at.join("t"))), (Some(1), before), "{ran:?}");
    assert!(ran.err.contains("'t/abcd': its new path is a link to the same file;"), "{ran:?}");
    let ran = run(at, &[&["reshard", "--offline", "--dry-run", "--json"], &words[..]].concat());
    assert!(ran.code == Some(1) && ran.err.contains("'t/abxy': another entry has its new path\n"), "{ran:?}");
    assert!(String::from_utf8(ran.out).unwrap().contains("\"expected_s\":null"));
    let ran = run(at, &[&["reshard", "--offline"], &words[..]].concat());
    assert!(ran.code == Some(1) && ran.err.contains("'t/abxy': another entry has its new path\n"), "{ran:?}");
    assert!(ran.err.contains("moved 1 file from"), "{ran:?}");
    assert!(!at.join("t/abcd").exists() && at.join("t/ab/abcd").exists() && at.join("third").exists());
    assert_eq!(at.join("third").metadata().unwrap().nlink(), 2);
    assert!(at.join("t/abxy").exists() && at.join("t/ab/abxy").exists());
}

#[test]
fn files_that_cannot_be_linked_are_renamed() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    for error in ["EPERM", "EMLINK", "EXDEV", "EOPNOTSUPP"] {
        let _ = std::fs::remove_dir_all(at.join("t"));
        make(at, FILES, "flat");
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=linkat", "-e"]);
        command.arg(format!("inject=linkat:error={error}")).arg(program());
        command.args(["reshard", "--offline", "--from", "flat", "--to", "digest:1/1", "t"]).current_dir(at);
        let ran = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && stderr.contains("moved 40 files from"), "{error}: {stderr}");
        assert!(files(&at.join("t")).values().all(|(name, path)| name != path), "{error}");
    }
}

#[test]
fn a_file_whose_old_path_cannot_be_removed_keeps_only_that() {
    let mount = require!(Mount::make(&EXT4));
    let at = mount.path();
    make(&at, FILES, "flat");
    fill(&at, &["t/immutable"]);
    let before = files(&at.join("t"));
    let chattr = |change: &str, path: &str| run_tool(Command::new("chattr").arg(change).arg(at.join(path)));
    require!(chattr("+i", "t/immutable"));
    chattr("+a", "t").unwrap();
    let words = ["reshard", "--offline", "--from", "flat", "--to", "digest:1", "t"];
    let ran = run(&at, &words);
    assert!(ran.code == Some(1) && ran.err.contains("41 files stay because the system refused"), "{ran:?}");
    assert!(ran.err.contains("Operation not permitted"), "{ran:?}");
    assert_eq!(files(&at.join("t")), before);
    chattr("-a", "t").unwrap();
    let ran = run(&at, &words);
    assert!(ran.code == Some(1) && ran.err.contains("moved 40 files from"), "{ran:?}");
    chattr("-i", "t/immutable").unwrap();
    run(&at, &[&["reshard", "--quiet"], &words[1..]].concat()).quiet();
    assert!(files(&at.join("t")).values().all(|(name, path)| name != path));
}
