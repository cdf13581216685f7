//! Applying the changes to the old listing, as docs/inventory.md describes, yields the new one.

use std::collections::BTreeMap;

use megadir_inventory::TreePath;
use megadir_inventory::changes::{Change, ChangeKind, Fields};

use crate::oracle::Listing;

/// Paths, each with the old path of its file; `None` for a new file.
type Tree = BTreeMap<String, Option<String>>;

fn text(path: &TreePath) -> String {
    String::from_utf8(path.to_vec()).unwrap()
}

/// Removes a path and everything below it; returns the removed entries relative to the path.
fn take(tree: &mut Tree, path: &str) -> Vec<(String, Option<String>)> {
    let below = format!("{path}/");
    let taken = tree.extract_if(.., |at, _| at == path || at.starts_with(&below));
    taken.map(|(at, file)| (at[path.len()..].to_owned(), file)).collect()
}

/// Applies changes to a listing.
fn replay(old: &Listing, changes: &[Change]) -> Tree {
    let mut tree: Tree = old.keys().map(|path| (path.clone(), Some(path.clone()))).collect();
    let mut out: Vec<(String, Option<usize>)> = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        match (change.kind, &change.from) {
            (ChangeKind::Removed, _) => out.push((text(&change.path), None)),
            (ChangeKind::Renamed, Some(from)) => out.push((text(from), Some(index))),
            _ => {}
        }
    }
    out.sort_by(|a, b| b.0.cmp(&a.0));
    let mut aside = BTreeMap::new();
    for (path, renamed) in out {
        let taken = take(&mut tree, &path);
        assert_eq!(
            taken.first().map(|first| first.0.as_str()),
            Some(""),
            "nothing is at {path}: {changes:#?}"
        );
        renamed.into_iter().for_each(|index| drop(aside.insert(index, taken.clone())));
    }
    for (index, change) in changes.iter().enumerate() {
        let path = text(&change.path);
        match change.kind {
            ChangeKind::Removed => {}
            ChangeKind::Renamed => {
                take(&mut tree, &path);
                tree.extend(
                    aside
                        .remove(&index)
                        .unwrap()
                        .into_iter()
                        .map(|(below, file)| (path.clone() + &below, file)),
                );
            }
            ChangeKind::Added | ChangeKind::TypeChanged => {
                take(&mut tree, &path);
                tree.insert(path, None);
            }
            ChangeKind::Modified | ChangeKind::Suspect => {
                let file =
                    tree.get_mut(&path).unwrap_or_else(|| panic!("nothing is at {path}: {changes:#?}"));
                let from = change.from.as_ref().map_or_else(|| path.clone(), text);
                assert_eq!(*file, Some(from), "{changes:#?}");
                if change.fields.contains(Fields::INODE) {
                    *file = None;
                }
            }
        }
    }
    tree
}

/// Applies changes to the old listing and expects the new one.
pub(crate) fn check(old: &Listing, new: &Listing, changes: &[Change]) {
    let tree = replay(old, changes);
    let paths: Vec<&String> = tree.keys().collect();
    assert_eq!(paths, new.keys().collect::<Vec<_>>(), "{changes:#?}");
    let with_facts: Vec<String> = changes
        .iter()
        .filter(|change| change.kind != ChangeKind::Removed)
        .map(|change| text(&change.path))
        .collect();
    for (path, from) in &tree {
        let now = &new[path];
        let Some(from) = from else {
            assert!(with_facts.contains(path), "{path}");
            continue;
        };
        let before = &old[from];
        assert!(before.is_same_file(now), "{from} is not {path}: {changes:#?}");
        if !with_facts.contains(path) {
            assert_eq!((before.mode, before.owner), (now.mode, now.owner), "{path}");
            let of = |meta: &crate::oracle::Meta| (meta.size, meta.mtime_ns, meta.ctime_ns, meta.links);
            assert!(now.is_directory() || of(before) == of(now), "{path}: {before:?} {now:?}");
        }
    }
    for change in changes.iter().filter(|change| change.kind != ChangeKind::Removed) {
        let (facts, now) = (change.new.unwrap(), &new[&text(&change.path)]);
        assert_eq!((facts.kind.name(), facts.inode), (now.kind, Some(now.inode)));
        // On Windows the oracle has no times of directories.
        if !(cfg!(windows) && now.is_directory()) {
            assert_eq!(facts.modified_ns, Some(now.mtime_ns));
        }
    }
}
