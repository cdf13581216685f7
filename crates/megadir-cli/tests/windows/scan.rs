//! `scan` and `changes`.

use crate::support::{megadir, tree};

#[test]
fn what_is_scanned_has_not_changed() {
    let scratch = tree();
    let (code, _, complaint) = megadir(scratch.path(), &["scan", "tree", "--output", "inventory"]);
    assert_eq!(code, Some(0), "{complaint}");
    let mut rows = 0;
    let mut inventory = megadir_inventory::Inventory::open(&scratch.path().join("inventory")).unwrap();
    while let Some(row) = megadir_inventory::Rows::next_row(&mut inventory).unwrap() {
        assert!(
            row.facts.inode.is_some() && row.facts.modified_ns.is_some() && row.facts.changed_ns.is_some()
        );
        rows += 1;
    }
    assert_eq!(rows, 1 + 51 + 2, "the root, what is in it, and below");
    let (code, text, complaint) = megadir(scratch.path(), &["changes", "inventory", "tree"]);
    assert_eq!(code, Some(0), "{complaint}");
    // All is younger than the scan's clock can tell apart.
    assert!(text.lines().all(|line| line.starts_with("suspect")), "{text}");
}
