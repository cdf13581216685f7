//! Trees of every shape, with any number of workers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use megadir::FileType;
use megadir::remove::{Counts, Order, RemoveOptions};
use megadir_testkit::rng::Rng;
use megadir_testkit::tree::Maker;

use crate::support::{empty, only, options, remove};

const WORKERS: [usize; 4] = [1, 2, 4, 16];

/// Creates a random tree; returns the number of its non-directories and directories.
fn random(directory: &Path, rng: &mut Rng, depth: u32) -> (u64, u64) {
    fs::create_dir(directory).unwrap();
    let (mut entries, mut directories) = (0, 1);
    let maker = Maker::open(directory);
    for index in 0..rng.within(0, 30) {
        let kinds = [FileType::File, FileType::Symlink, FileType::Fifo, FileType::Socket];
        maker.make(format!("{index}").as_bytes(), rng.pick(&kinds));
        entries += 1;
    }
    for index in 0..rng.within(0, if depth == 0 { 0 } else { 4 }) {
        let (more, below) = random(&directory.join(format!("d{index}")), rng, depth - 1);
        entries += more;
        directories += below;
    }
    (entries, directories)
}

#[test]
fn random_trees_go_and_are_counted() {
    let scratch = tempfile::tempdir().unwrap();
    let outside = scratch.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "kept").unwrap();
    let mut rng = Rng::new(7);
    for round in 0..24 {
        let tree = scratch.path().join("tree");
        let (entries, directories) = random(&tree, &mut rng, 5);
        symlink(&outside, tree.join("link")).unwrap();
        let order = [None, Some(Order::Listed), Some(Order::Inode)][round % 3];
        let remove_options = RemoveOptions { order, ..options(WORKERS[round % WORKERS.len()]) };
        let dry = remove(&tree, &RemoveOptions { dry_run: true, ..remove_options }).unwrap();
        assert_eq!(Counts { bytes: 0, ..dry.counts }, only(entries + 1, directories), "round {round}");
        let removed = if round % 2 == 0 {
            let removed = empty(&tree, &remove_options).unwrap();
            assert_eq!(fs::read_dir(&tree).unwrap().count(), 0);
            fs::remove_dir(&tree).unwrap();
            Counts { directories: removed.counts.directories + 1, ..removed.counts }
        } else {
            remove(&tree, &remove_options).unwrap().counts
        };
        assert_eq!(removed, only(entries + 1, directories), "round {round}");
        assert!(!tree.exists());
        assert_eq!(fs::read(outside.join("file")).unwrap(), b"kept");
    }
}
