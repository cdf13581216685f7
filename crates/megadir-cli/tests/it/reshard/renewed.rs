//! The directory is replaced with a small one: every file keeps its path at any moment, and a killed run is completed.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use megadir_testkit::killed::{CHANGING_CALLS, before_each_call};
use megadir_testkit::require;
use megadir_testkit::require::{full, have};

use super::support::{files, make};
use crate::remove::witness::scratch_in_memory;
use crate::support::{by_std, fill, megadir, named, root, run};

const WORDS: [&str; 8] = ["reshard", "--yes", "--quiet", "--renew", "--from", "flat", "--to", "prefix:1"];

fn renewed(at: &Path) -> crate::support::Ran {
    run(at, &[&WORDS[..], &["t"]].concat())
}

/// Paths of files that can be opened.
fn opened(at: &Path, paths: &[String]) -> usize {
    paths.iter().filter(|path| std::fs::File::open(at.join("t").join(path)).is_ok()).count()
}

fn paths(at: &Path) -> Vec<String> {
    files(&at.join("t")).into_values().map(|(_, path)| path).collect()
}

#[test]
fn a_renewal_killed_at_any_moment_keeps_every_path_and_is_completed() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 12, "prefix:1");
    let (before, kept) = (paths(at), files(&at.join("t")));
    let calls = [CHANGING_CALLS, &["symlinkat"]].concat();
    let command = || megadir(at, &[&WORDS[..], &["t"]].concat());
    let mut through_links = 0;
    let look = |call: &str| {
        assert_eq!(opened(at, &before), before.len(), "before {call}");
        let links = std::fs::read_dir(at.join("t"))
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().path().is_symlink());
        through_links += u32::from(links.count() > 1);
        let again = renewed(at);
        assert_eq!((again.code, again.err.as_str()), (Some(0), ""), "before {call}");
        assert!(files(&at.join("t")) == kept && by_std(at) == named(&["t"]), "before {call}");
        assert!(std::fs::symlink_metadata(at.join("t/.megadir-reshard-other")).is_err(), "before {call}");
    };
    before_each_call(&calls, 1, command, look);
    assert!(through_links > 3, "killed {through_links} times while paths led through links");
}

#[test]
fn readers_find_every_file_by_the_second_lookup_while_the_directory_is_replaced() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 200, "prefix:1");
    let paths = paths(at);
    let (stop, missed, rounds) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // A lookup that begins in the old directory and ends after it is gone fails, as SECURITY.md says.
                let found = |path: &String| (0..2).any(|_| opened(at, std::slice::from_ref(path)) == 1);
                let lost = paths.iter().filter(|path| !found(path)).count();
                missed.fetch_add(lost as u64, Ordering::Relaxed);
                rounds.fetch_add(1, Ordering::Relaxed);
            }
        });
        let inode = || at.join("t").metadata().unwrap().ino();
        for _ in 0..if full() { 1000 } else { 40 } {
            let before = inode();
            renewed(at).quiet();
            assert_ne!(inode(), before);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(missed.into_inner(), 0, "in {} rounds", rounds.load(Ordering::Relaxed));
    assert!(rounds.into_inner() > 10);
}

#[test]
fn owner_and_mode_are_kept_and_other_entries_prevent_it() {
    require!(root());
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 20, "prefix:1");
    chown(at.join("t"), Some(12), Some(34)).unwrap();
    std::fs::set_permissions(at.join("t"), std::fs::Permissions::from_mode(0o1757)).unwrap();
    let before = at.join("t").metadata().unwrap();
    renewed(at).quiet();
    let after = at.join("t").metadata().unwrap();
    assert_ne!(after.ino(), before.ino());
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    fill(at, &["t/other-directory/"]);
    renewed(at)
        .complains(1, &["it holds 'other-directory', which is no directory of prefix:1; move it first"]);
    assert_eq!(by_std(at), named(&["t"]));
    std::fs::remove_dir(at.join("t/other-directory")).unwrap();
    for (words, message) in [
        (
            &["reshard", "--renew", "--to", "flat", "t"][..],
            "--renew: the new layout has files in the directory itself",
        ),
        (&["reshard", "--renew", "--to", "prefix:1", "t/.."], "give it as PARENT/NAME"),
    ] {
        run(at, words).complains(2, &[message]);
    }
}
