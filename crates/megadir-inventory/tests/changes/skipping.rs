//! Unchanged directories are not listed again.

use std::fs;
use std::time::Duration;

use megadir_inventory::Snapshot;
use megadir_inventory::changes::{Watch, compare};
use megadir_testkit::mount::{BTRFS, EXT4, Mount, TMPFS, XFS};
use megadir_testkit::require;

#[test]
fn only_changed_directories_are_listed_while_all_names_are_queried() {
    for recipe in [TMPFS, EXT4, XFS, BTRFS] {
        let mount = require!(Mount::make(&recipe));
        let tree = mount.path().join("tree");
        for directory in ["a/below", "b", "c"] {
            fs::create_dir_all(tree.join(directory)).unwrap();
            fs::write(tree.join(directory).join("file"), "1").unwrap();
        }
        // Older than a clock tick, so that the timestamps are not racy.
        std::thread::sleep(Duration::from_millis(130));
        let snapshot = Snapshot::from_scan(std::slice::from_ref(&tree), 1).unwrap();
        let counts = |skip_unchanged| {
            let options = crate::options(1, skip_unchanged);
            let roots = vec![megadir::Dir::open(&tree)];
            let compared = compare(snapshot.rows(), roots, &options, &Watch::default()).unwrap();
            (compared.changes.len(), compared.listed, compared.not_listed)
        };
        assert_eq!(counts(true), (0, 0, 5), "{recipe:?}");
        assert_eq!(counts(false), (0, 5, 0), "{recipe:?}");
        // Writing a file changes no directory; a new name changes its parent.
        fs::write(tree.join("a/below/file"), "2").unwrap();
        assert_eq!(counts(true), (1, 0, 5), "{recipe:?}");
        fs::write(tree.join("b/new"), "").unwrap();
        assert_eq!(counts(true), (2, 1, 4), "{recipe:?}");
    }
}
