//! A walk with attributes lists a directory again that changed while it was read.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::collections::BTreeMap;
use std::path::Path;

use megadir::{Dir, StatMask, Walk, WalkItem, WalkOptions, stat_backend};

/// How often each path is returned. `meanwhile` runs after the first batch.
fn walked(root: &Path, looks_again: bool, meanwhile: impl FnOnce()) -> BTreeMap<String, usize> {
    let examine = Some((stat_backend("std").unwrap(), StatMask::CHANGED | StatMask::SIZE));
    let options = WalkOptions { examine, looks_again, tell_ends: true, ..WalkOptions::new(1) };
    let mut parts = Walk::parts(Dir::open(root).unwrap(), &options).unwrap();
    let (mut seen, mut ended, mut meanwhile) = (BTreeMap::new(), BTreeMap::new(), Some(meanwhile));
    while let Some(item) = parts[0].next_item() {
        match item {
            WalkItem::Batch { directory, batch, attributes } => {
                assert_eq!(batch.len(), attributes.len());
                let directory = directory.to_path_buf();
                for entry in batch.entries() {
                    let path = directory.join(String::from_utf8(entry.name.to_vec()).unwrap());
                    let path = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                    *seen.entry(path).or_insert(0) += 1;
                }
                if let Some(meanwhile) = meanwhile.take() {
                    meanwhile();
                }
            }
            WalkItem::End { directory } => *ended.entry(directory.to_path_buf()).or_insert(0) += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(ended.values().all(|ends| *ends == 1), "{ended:?}");
    seen
}

#[test]
fn what_came_while_a_directory_was_read_is_returned_once_with_all_below_it() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    (0..100).for_each(|index| std::fs::write(root.join(format!("f{index}")), "x").unwrap());
    std::fs::create_dir_all(root.join("d/below")).unwrap();
    let seen = walked(root, true, || {
        (0..20).for_each(|index| std::fs::create_dir_all(root.join(format!("new{index}/inner"))).unwrap());
        (0..100).for_each(|index| {
            std::fs::rename(root.join(format!("f{index}")), root.join(format!("g{index}"))).unwrap();
        });
    });
    for (prefix, count) in [("f", 100), ("g", 100), ("new", 40), ("d", 2)] {
        assert_eq!(seen.keys().filter(|path| path.starts_with(prefix)).count(), count, "{prefix}");
    }
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
}

#[test]
fn without_the_option_each_directory_is_listed_once() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("f"), "x").unwrap();
    let seen = walked(scratch.path(), false, || {});
    assert_eq!(seen, BTreeMap::from([("f".to_owned(), 1)]));
}
