//! A walk with attributes lists a directory again that changed while it was read.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Once;

use megadir::{
    Batch, Dir, Examine, Result, StatBackend, StatMask, Walk, WalkItem, WalkOptions, stat_backend,
};

/// Number of times that each existing path is returned. `meanwhile` runs after the first batch.
fn walked(root: &Path, looks_again: bool, meanwhile: impl FnOnce()) -> BTreeMap<String, usize> {
    walked_with(Some(stat_backend("std").unwrap()), root, looks_again, meanwhile)
}

fn walked_with(
    stat_backend: Option<&'static dyn StatBackend>,
    root: &Path,
    looks_again: bool,
    meanwhile: impl FnOnce(),
) -> BTreeMap<String, usize> {
    let want = StatMask::TYPE | StatMask::CHANGED | StatMask::SIZE;
    let examine = stat_backend.map(|backend| (backend, want));
    let options = WalkOptions { examine, looks_again, report_ends: true, ..WalkOptions::new(1) };
    let mut parts = Walk::parts(Dir::open(root).unwrap(), &options).unwrap();
    let (mut seen, mut ended, mut meanwhile) = (BTreeMap::new(), BTreeMap::new(), Some(meanwhile));
    while let Some(item) = parts[0].next_item() {
        match item {
            WalkItem::Batch { directory, batch, attributes } => {
                assert_eq!(attributes.len(), if examine.is_some() { batch.len() } else { 0 });
                let directory = directory.to_path_buf();
                let has_vanished =
                    |index: usize| attributes.get(index).is_some_and(megadir::Attributes::has_vanished);
                for (_, entry) in batch.entries().enumerate().filter(|(index, _)| !has_vanished(*index)) {
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
fn directories_created_during_the_walk_are_returned_once_with_all_below() {
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
fn a_walk_without_attributes_lists_a_changed_directory_again() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    (0..100).for_each(|index| std::fs::write(root.join(format!("f{index}")), "x").unwrap());
    let seen = walked_with(None, root, true, || {
        (0..100).for_each(|index| {
            std::fs::rename(root.join(format!("f{index}")), root.join(format!("g{index}"))).unwrap();
        });
    });
    assert_eq!(seen.keys().filter(|path| path.starts_with('g')).count(), 100, "{seen:?}");
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
}

#[test]
fn without_the_option_each_directory_is_listed_once() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("f"), "x").unwrap();
    let seen = walked(scratch.path(), false, || {});
    assert_eq!(seen, BTreeMap::from([("f".to_owned(), 1)]));
}

/// Stat backend whose first call runs `before` first.
struct Hooked {
    inner: &'static dyn StatBackend,
    before: fn(&Path),
    first: Once,
}

struct HookedExamine(&'static Hooked, Box<dyn Examine>);

impl Examine for HookedExamine {
    fn examine(
        &mut self,
        directory: &Dir,
        batch: Batch<'_>,
        rows: &mut Vec<megadir::Attributes>,
    ) -> Result<()> {
        self.0.first.call_once(|| (self.0.before)(directory.path()));
        self.1.examine(directory, batch, rows)
    }
}

impl StatBackend for &'static Hooked {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn about(&self) -> &'static str {
        self.inner.about()
    }

    fn start(&self, directory: &Dir, want: StatMask) -> Result<Box<dyn Examine>> {
        Ok(Box::new(HookedExamine(self, self.inner.start(directory, want)?)))
    }
}

fn hooked(before: fn(&Path)) -> &'static dyn StatBackend {
    let hooked = Hooked { inner: stat_backend("std").unwrap(), before, first: Once::new() };
    Box::leak(Box::new(&*Box::leak(Box::new(hooked))))
}

#[test]
fn names_that_vanish_before_they_are_examined_and_return_are_returned_with_all_below_them() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    let make = || {
        std::fs::write(root.join("file"), "x").unwrap();
        std::fs::create_dir_all(root.join("directory/below")).unwrap();
    };
    make();
    std::fs::write(root.join("other"), "x").unwrap();
    let remove = |root: &Path| {
        std::fs::remove_file(root.join("file")).unwrap();
        std::fs::remove_dir_all(root.join("directory")).unwrap();
    };
    let seen = walked_with(Some(hooked(remove)), root, true, make);
    let expected = ["directory", "directory/below", "file", "other"].map(|path| (path.to_owned(), 1));
    assert_eq!(seen, BTreeMap::from(expected));
}

#[test]
fn a_directory_that_is_a_file_when_it_is_examined_is_not_entered_when_it_is_one_again() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    std::fs::create_dir_all(root.join("directory/below")).unwrap();
    let replace = |root: &Path| {
        std::fs::rename(root.join("directory"), root.join("moved")).unwrap();
        std::fs::write(root.join("directory"), "x").unwrap();
    };
    let seen = walked_with(Some(hooked(replace)), root, true, || {
        std::fs::remove_file(root.join("directory")).unwrap();
        std::fs::rename(root.join("moved"), root.join("directory")).unwrap();
    });
    assert_eq!(seen, BTreeMap::from([("directory".to_owned(), 1)]), "its row is a file's");
}
