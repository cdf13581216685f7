//! Every backend passes the conformance suite on every file system available here.
#![cfg(any(target_os = "linux", windows))]
#![cfg_attr(target_os = "linux", expect(clippy::unwrap_used, reason = "a failed assumption fails the test"))]

use std::path::Path;

use megadir::{BACKENDS, Dir};
use megadir_testkit::conformance::{Outcome, conformance};
use megadir_testkit::require;

/// Backends whose calls Wine lacks.
const NOT_EVERYWHERE: [&str; 2] = ["nt-query-extended", "nt-query-ex"];

/// Runs the suite for every backend in one directory and returns the outcome of `split`.
fn every_backend(directory: &Path) -> Outcome {
    let mut split = Outcome { listed: 0, refused: 0 };
    for backend in BACKENDS {
        if NOT_EVERYWHERE.contains(&backend.name())
            && require::is_wine()
            && let Err(refusal) = Dir::open(directory).and_then(|here| backend.probe(&here))
        {
            require::unavailable(&format!("conformance of {}", backend.name()), &refusal.reason());
            continue;
        }
        let outcome = conformance(*backend, directory);
        if backend.name() == "split" {
            split = outcome;
        } else {
            assert_eq!(outcome.refused, 0, "{} reads any directory", backend.name());
        }
    }
    split
}

#[test]
fn here() {
    let directory = tempfile::tempdir().unwrap();
    every_backend(directory.path());
}

#[cfg(target_os = "linux")]
mod mounted {
    use std::path::Path;

    use megadir::{Dir, ErrorKind};
    use megadir_testkit::mount::{self, Mount};
    use megadir_testkit::require;
    use megadir_testkit::tree::Flat;

    use super::every_backend;

    #[test]
    fn on_ext4() {
        let mount = require!(Mount::make(&mount::EXT4));
        let split = every_backend(&mount.path());
        assert!(split.listed >= 20, "indexed directories are split: {split:?}");
        assert!(split.refused > 0, "directories of one block have no index: {split:?}");
    }

    #[test]
    fn on_xfs() {
        let mount = require!(Mount::make(&mount::XFS));
        let split = every_backend(&mount.path());
        assert_eq!(split.refused, 0, "every directory is split");
    }

    #[test]
    fn on_btrfs() {
        let mount = require!(Mount::make(&mount::BTRFS));
        let split = every_backend(&mount.path());
        assert_eq!(split.refused, 0, "every directory is split");
    }

    #[test]
    fn on_tmpfs() {
        let mount = require!(Mount::make(&mount::TMPFS));
        let split = every_backend(&mount.path());
        assert_eq!(split.listed, 0, "no directory is split");
        assert_split_refuses(&mount.path(), "tmpfs returns entries in descending positions");
    }

    #[test]
    fn on_ext4_without_indices() {
        let mount = require!(Mount::make(&mount::EXT4_LINEAR));
        // Not the whole suite: without an index, creating many entries takes minutes.
        assert_split_refuses(
            &mount.path(),
            "this directory has no hash index, so its positions are not hashes",
        );
    }

    #[test]
    fn on_xfs_without_types() {
        match Mount::make(&mount::XFS_UNTYPED) {
            Ok(mount) => drop(every_backend(&mount.path())),
            Err(why) => require::unavailable("conformance::on_xfs_without_types", &why),
        }
    }

    fn assert_split_refuses(mount: &Path, reason: &str) {
        let directory = Dir::open(Flat::plain(5000).ensure(mount)).unwrap();
        let error = megadir::backend("split").unwrap().probe(&directory).unwrap_err();
        assert_eq!((error.kind(), error.reason()), (ErrorKind::Unavailable, reason.to_owned()));
    }
}
