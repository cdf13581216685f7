//! Trees that are removed while they are compared.

use std::fs;
use std::path::Path;

use megadir::{Dir, ErrorKind};
use megadir_inventory::Snapshot;
use megadir_inventory::changes::{Change, ChangeKind, Compared, Watch, compare};

fn compared(snapshot: &Snapshot, roots: Vec<megadir::Result<Dir>>) -> megadir::Result<Compared> {
    let options = crate::options(2, true);
    compare(snapshot.rows(), roots, &options, &Watch::default())
}

#[test]
fn a_root_that_was_removed_after_it_was_opened_has_failed_and_its_entries_are_not_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let trees = ["one", "two"].map(|name| scratch.path().join(name));
    for tree in &trees {
        fs::create_dir_all(tree.join("d")).unwrap();
        fs::write(tree.join("d/file"), "x").unwrap();
    }
    let snapshot = Snapshot::from_scan(&trees, 1).unwrap();
    let open = |tree: &Path| Dir::open(tree);
    let opened = trees.iter().map(|tree| open(tree)).collect();
    fs::remove_dir_all(&trees[0]).unwrap();
    fs::remove_file(trees[1].join("d/file")).unwrap();
    let found = compared(&snapshot, opened).unwrap();
    let removed: Vec<&Change> =
        found.changes.iter().filter(|change| change.kind == ChangeKind::Removed).collect();
    assert_eq!(removed.len(), 1, "{:?}", found.changes);
    assert_eq!((removed[0].root, removed[0].path.to_vec()), (1, b"d/file".to_vec()));
    assert!(!found.is_complete() && found.failures.len() == 1, "{:?}", found.failures);
    assert_eq!(found.failures[0].kind(), ErrorKind::NotFound);
    // With every root gone there is no comparison.
    let opened = vec![open(&trees[1]), open(&trees[1])];
    fs::remove_dir_all(&trees[1]).unwrap();
    assert_eq!(compared(&snapshot, opened).unwrap_err().kind(), ErrorKind::NotFound);
}
