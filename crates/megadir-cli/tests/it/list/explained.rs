//! `list --long --explain` prints the row of the attribute policy that was used, on real file systems.

use megadir::{FileSystem, attribute_policy};
use megadir_testkit::mount::{self, Mount};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Names};

use crate::support::run;

/// A directory of at least 1 MiB on ext4, XFS and btrfs.
const LARGE: Flat = Flat { entries: 16_000, names: Names::Longest, kinds: Kinds::Files, seed: 0 };
const SMALL: Flat = Flat { entries: 50, ..LARGE };

/// Lists a directory with this number of threads; returns the line of the explanation.
fn explained(mount: &Mount, flat: Flat, threads: &str) -> String {
    let path = flat.ensure(&mount.path());
    let ran = run(&path, &["list", "--long", "--explain", "--threads", threads]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(crate::support::split(&ran.out, b'\n').len() as u64, flat.entries);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    ran.err
}

#[test]
fn the_row_that_was_used_is_printed() {
    for (recipe, file_system, how) in [
        (&mount::EXT4, FileSystem::Ext4, " in 16 shares ("),
        (&mount::XFS, FileSystem::Xfs, " in 32 shares ("),
        (&mount::BTRFS, FileSystem::Btrfs, " in 32 shares ("),
        (&mount::TMPFS, FileSystem::Tmpfs, " in chunks, 2 threads ("),
    ] {
        let mount = require!(Mount::make(recipe));
        let reason = attribute_policy::row(file_system).reason;
        let line = explained(&mount, LARGE, "2");
        assert!(line.contains(&format!("{how}{reason}); listed by ")), "{line}");
        assert!(line.contains(&format!(" on {}, ", recipe.kind)), "{line}");
        let line = explained(&mount, LARGE, "1");
        assert!(
            line.contains(" at once, one thread (only one thread is allowed); listed by getdents"),
            "{line}"
        );
        let line = explained(&mount, SMALL, "2");
        let expected = match file_system {
            FileSystem::Btrfs => " in chunks, 2 threads (one thread lists this directory, but ",
            _ => " at once, one thread (the directory is too small for a second thread to help); ",
        };
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn the_threads_of_a_walk_are_printed() {
    let processors = megadir::policy::processors();
    let several =
        |threads: usize| if threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") };
    for (recipe, file_system) in [(&mount::EXT4, FileSystem::Ext4), (&mount::XFS, FileSystem::Xfs)] {
        let mount = require!(Mount::make(recipe));
        let most = attribute_policy::threads_max(file_system, processors);
        assert_eq!(most > processors, processors < 8);
        let expected = match most > processors {
            true => {
                format!("walked by {}, by up to {most} while it waits for the device, ", several(processors))
            }
            false => format!("walked by {}, each ", several(processors)),
        };
        let line = run(&mount.path(), &["list", "--recursive", "--explain"]).err;
        assert!(line.contains(&expected), "{line}");
        let line = run(&mount.path(), &["list", "--recursive", "--explain", "-j3"]).err;
        assert!(line.contains("walked by 3 threads, each "), "{line}");
    }
}
