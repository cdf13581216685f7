//! Every remover empties the open directory, and touches nothing else.

use std::sync::atomic::{AtomicBool, AtomicU64};

use std::path::Path;

use megadir_testkit::require;

use super::*;
use crate::kind::BlockKey;
use crate::measure::Calibration;

fn removers() -> impl Iterator<Item = Remover> {
    let all = [Remover::PlainLoop, Remover::Library, Remover::Rm].into_iter();
    all.filter(|by| *by != Remover::Rm || cfg!(target_os = "linux"))
}

fn work(by: Remover, workers: u32, files: u64) -> RemoveWork {
    RemoveWork { by, workers, kind: WorkerKind::Thread, files }
}

/// Creates a link to a file next to the directory, if that needs no privilege.
fn link_to_siblings(at: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink("../beside", at.join("-link")).unwrap();
    #[cfg(not(unix))]
    std::fs::write(at.join("-link"), "").unwrap();
}

/// Makes the path `at` lead to `victim`: by a link, or on Windows by a rename.
fn put_in_its_place(victim: &Path, at: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(victim, at).unwrap();
    #[cfg(not(unix))]
    std::fs::rename(victim, at).unwrap();
}

#[test]
fn everyone_removes_everything_and_keeps_the_directory() {
    for by in removers() {
        let scratch = tempfile::tempdir().unwrap();
        let at = scratch.path().join("data");
        for directory in 0..5 {
            std::fs::create_dir_all(at.join(format!("d{directory}"))).unwrap();
            (0..7).for_each(|file| std::fs::write(at.join(format!("d{directory}/{file}")), "").unwrap());
        }
        std::fs::write(scratch.path().join("beside"), "").unwrap();
        link_to_siblings(&at);
        let directory = Dir::open(&at).unwrap();
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let mut stopwatch = Stopwatch::new(Calibration::over(std::time::Duration::from_millis(1)));
        let mut removal = Removal::new(work(by, 2, 36), None);
        assert_eq!(removal.unavailable(&directory), None);
        let block = WorkBlock { directory: &directory, key: BlockKey::FIRST, operations: 36, control };
        removal.setup(&block).unwrap();
        let counted = removal.run(&block, &mut stopwatch).unwrap();
        assert_eq!(counted.entries, 36, "{by:?}");
        assert!(removal.usage().is_some_and(|taken| taken.elapsed_ns > 0));
        assert_eq!(std::fs::read_dir(&at).unwrap().count(), 0, "{by:?}");
        assert!(scratch.path().join("beside").exists());
    }
}

#[test]
fn directory_created_meanwhile_at_the_same_path_stays() {
    for by in removers() {
        let scratch = tempfile::tempdir().unwrap();
        let (at, victim) = (scratch.path().join("data"), scratch.path().join("victim"));
        for directory in [&at, &victim] {
            std::fs::create_dir(directory).unwrap();
            std::fs::write(directory.join("file"), "").unwrap();
        }
        let directory = Dir::open(&at).unwrap();
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let mut stopwatch = Stopwatch::new(Calibration::over(std::time::Duration::from_millis(1)));
        let mut removal = Removal::new(work(by, 1, 1), None);
        let block = WorkBlock { directory: &directory, key: BlockKey::FIRST, operations: 1, control };
        removal.setup(&block).unwrap();
        std::fs::rename(&at, scratch.path().join("moved")).unwrap();
        put_in_its_place(&victim, &at);
        let removed = removal.run(&block, &mut stopwatch);
        assert!(at.join("file").exists(), "{by:?}");
        // Wine finds an open directory by its original path.
        if let (Err(error), true) = (&removed, require::is_wine()) {
            require::unavailable("removing in a directory that has been moved", &error.to_string());
            continue;
        }
        removed.unwrap();
        assert!(!scratch.path().join("moved/file").exists(), "{by:?}");
    }
}

#[test]
fn ranks_remove_directories_created_on_another_host() {
    let shares = |ranks: u32, shift, workers: u32| -> Vec<Share> {
        (0..ranks).map(|rank| Share::of(rank, ranks, shift, workers.min(ranks))).collect()
    };
    let (tree, nothing) = (Share::Tree, Share::Nothing);
    assert_eq!(shares(1, 0, 1), [tree(0)]);
    assert_eq!(shares(4, 0, 1), [tree(0), nothing, nothing, nothing]);
    assert_eq!(shares(4, 2, 1), [nothing, nothing, tree(0), nothing]);
    assert_eq!(shares(4, 2, 2), [nothing, nothing, tree(0), tree(1)]);
    assert_eq!(shares(4, 2, 8), [tree(2), tree(3), tree(0), tree(1)]);
    assert_eq!(shares(3, 1, 3), [tree(2), tree(0), tree(1)]);
}
