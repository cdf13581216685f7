//! File systems that cannot rename without replacing, here bindfs, and read-only ones: a run is refused before it makes anything,
//! the dry run agrees, and `--offline` works.

use std::path::{Path, PathBuf};
use std::process::Command;

use megadir_testkit::mount::{EXT4, Mount, TMPFS, run as run_tool, unmount};
use megadir_testkit::require;
use megadir_testkit::require::have;
use tempfile::TempDir;

use super::support::{directories, files, make};
use crate::remove::witness::scratch_in_memory;
use crate::support::{Ran, fill, run, shell};

const FILES: u32 = 60;

/// bindfs, which shows the directory `below` at `here`.
struct Bound {
    folder: TempDir,
}

impl Bound {
    fn mount(options: &[&str], fill: impl FnOnce(&Path)) -> Result<Self, String> {
        have("bindfs")?;
        let folder = scratch_in_memory();
        let [below, here] = ["below", "here"].map(|name| folder.path().join(name));
        std::fs::create_dir(&below).unwrap();
        std::fs::create_dir(&here).unwrap();
        fill(&below);
        run_tool(Command::new("bindfs").args(options).args([&below, &here]))?;
        Ok(Self { folder })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("here")
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Err(why) = unmount(&self.path())
            && !std::thread::panicking()
        {
            panic!("{why}");
        }
    }
}

#[track_caller]
fn is_refused(ran: &Ran, reason: &str) {
    assert!(ran.code == Some(3) && ran.out.is_empty(), "{ran:?}");
    assert!(ran.err.lines().count() == 1 && ran.err.contains(reason), "{ran:?}");
}

#[test]
fn a_run_and_its_dry_run_are_refused_before_anything_is_made() {
    let bound = require!(Bound::mount(&[], |at| make(at, FILES, "flat")));
    let at = bound.path();
    fill(&at, &["other/"]);
    let before = files(&at.join("t"));
    for words in [
        &["--dry-run", "t"][..],
        &["--yes", "t"],
        &["--yes", "--into", "other", "t"],
        &["--yes", "--follow", "t"],
    ] {
        let ran = run(&at, &[&["reshard", "--from", "flat", "--to", "digest:1/1"], words].concat());
        is_refused(&ran, "cannot rename without replacing (RENAME_NOREPLACE): stop all programs");
        assert!(ran.err.contains("add --offline"), "{ran:?}");
        assert_eq!((files(&at.join("t")), directories(&at)), (before.clone(), 2), "{words:?}");
    }
}

#[test]
fn offline_moves_every_file_where_only_links_work() {
    let bound = require!(Bound::mount(&[], |at| make(at, FILES, "flat")));
    let at = bound.path();
    let place: megadir::layout::Layout = "digest:1/1".parse().unwrap();
    let words = ["reshard", "--from", "flat", "--to", "digest:1/1", "--offline", "t"];
    let ran = run(&at, &[&words[..], &["--dry-run"]].concat());
    assert_eq!((ran.code, ran.err.as_str(), directories(&at)), (Some(0), "", 1), "{ran:?}");
    // The first directory is made otherwise than the others.
    let ran = run(&at, &words);
    assert!(ran.code == Some(0) && ran.err.contains("moved 60 files from"), "{ran:?}");
    let is_moved =
        |(name, path): &(String, String)| place.path_for(name.as_bytes()).unwrap() == Path::new(path);
    let found = files(&at.join("t"));
    assert!(found.len() == FILES as usize && found.values().all(is_moved), "{found:?}");
    let back = ["reshard", "--from", "digest:1/1", "--to", "flat", "--offline", "t"];
    let ran = run(&at, &back);
    assert_eq!((ran.code, directories(&at.join("t"))), (Some(0), 0), "{ran:?}");
    assert!(files(&at.join("t")).values().all(|(name, path)| name == path));
}

#[test]
fn directories_of_another_owner_are_made_where_only_links_work() {
    let bound = require!(Bound::mount(&[], |at| make(at, FILES, "flat")));
    let at = bound.path();
    // So that `mkdir` alone is not enough.
    require!(run_tool(Command::new("chown").args(["65534:65534"]).arg(at.join("t"))));
    let ran = run(&at, &["reshard", "--from", "flat", "--to", "digest:1", "--offline", "t"]);
    assert!(ran.code == Some(0) && ran.err.contains("moved 60 files from"), "{ran:?}");
    for entry in std::fs::read_dir(at.join("t")).unwrap() {
        let status = entry.unwrap().metadata().unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::uid(&status), 65_534);
    }
}

#[test]
fn a_file_system_that_can_neither_rename_so_nor_link_is_refused() {
    require!(have("strace"));
    let bound = require!(Bound::mount(&[], |at| make(at, FILES, "flat")));
    let at = bound.path();
    let before = files(&at.join("t"));
    let strace = "strace -f -qq -o /dev/null -e trace=linkat -e inject=linkat:error=EPERM";
    for way in ["--dry-run", "--yes", "--dry-run --offline", "--yes --offline"] {
        let ran = shell(&at, &format!("{strace} $M reshard {way} --from flat --to digest:1 t"));
        is_refused(&ran, "can neither rename without replacing (RENAME_NOREPLACE) nor link files");
        assert_eq!((files(&at.join("t")), directories(&at)), (before.clone(), 1), "{ran:?}");
    }
}

#[test]
fn next_trial_removes_only_leftovers_of_a_killed_one() {
    let bound = require!(Bound::mount(&[], |at| make(at, FILES, "flat")));
    let at = bound.path();
    let words = ["reshard", "--from", "flat", "--to", "digest:1", "--offline", "--dry-run", "t"];
    let tried = ".megadir-reshard-try";
    fill(&at, &[&format!("t/{tried}/"), &format!("t/{tried}/old"), "t/.megadir-reshard-tried/"]);
    assert_eq!(run(&at, &words).code, Some(0));
    assert_eq!(directories(&at), 1);
    fill(&at, &[&format!("t/{tried}/"), &format!("t/{tried}/of another")]);
    let ran = run(&at, &words);
    assert!(at.join("t").join(tried).join("of another").exists() && ran.code == Some(0), "{ran:?}");
}

#[test]
fn a_run_that_moved_nothing_removes_the_directories_that_it_made() {
    let mount = require!(Mount::make(&EXT4));
    let at = mount.path();
    make(&at, FILES, "flat");
    let all = |change: &str| {
        let files = files(&at.join("t")).into_values().map(|(_, path)| at.join("t").join(path));
        run_tool(Command::new("chattr").arg(change).args(files))
    };
    require!(all("+i"));
    // Made by another, so it stays.
    fill(&at, &["t/a/"]);
    let before = files(&at.join("t"));
    let ran = run(&at, &["reshard", "--yes", "--from", "flat", "--to", "digest:1/1", "t"]);
    assert!(ran.code == Some(1) && ran.err.contains("moved 0 files from"), "{ran:?}");
    assert!(!ran.err.contains("; made "), "{ran:?}");
    assert_eq!((files(&at.join("t")), directories(&at.join("t"))), (before, 1), "{ran:?}");
    all("-i").unwrap();
}

#[test]
fn a_dry_run_on_a_read_only_mount_moves_nothing_and_has_one_line() {
    let mount = require!(Mount::make(&TMPFS));
    let bound = require!(Bound::mount(&["-r"], |at| make(at, FILES, "digest:1")));
    make(&mount.path(), FILES, "digest:1");
    require!(run_tool(Command::new("mount").args(["-o", "remount,ro"]).arg(mount.path())));
    for at in [mount.path(), bound.path()] {
        let ran = run(&at, &["reshard", "--dry-run", "--from", "digest:1", "--to", "digest:2", "t"]);
        assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 1), "{ran:?}");
        assert!(ran.err.ends_with("reshard 't': Read-only file system; 60 files stay\n"), "{ran:?}");
        let out = String::from_utf8(ran.out).unwrap();
        assert!(out.starts_with("would move 0 files from digest:1 to digest:2\n"), "{out}");
        let ran = run(&at, &["reshard", "--yes", "--from", "digest:1", "--to", "digest:2", "t"]);
        is_refused(&ran, "reshard 't': Read-only file system\n");
    }
}
