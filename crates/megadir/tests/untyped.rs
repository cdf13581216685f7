//! File systems that store no types in directories. Where the inodes may not be read either, unknown entries are
//! not silently treated as files.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use megadir::reshard::{Progress, ReshardOptions, survey};
use megadir::{Dir, ErrorKind, FileType, StatMask, Walk, WalkItem, WalkOptions, stat_backend};
use megadir_testkit::mount::{EXT4_UNTYPED, Mount};
use megadir_testkit::require;
use megadir_testkit::unprivileged::unprivileged;

/// Makes directories a and b of a file each.
fn fill(at: &Path) {
    for directory in ["a", "b"] {
        fs::create_dir_all(at.join(directory)).unwrap();
        fs::write(at.join(directory).join("file"), "x").unwrap();
    }
}

/// Number of entries, and messages.
fn walked(at: &Path, options: &WalkOptions) -> (usize, Vec<String>) {
    let mut walk = Walk::new(Dir::open(at).unwrap(), options).unwrap();
    let (mut entries, mut messages) = (0, Vec::new());
    while let Some(item) = walk.next_item() {
        match item {
            WalkItem::Batch { batch, .. } => entries += batch.len(),
            WalkItem::Error(error) => {
                assert_eq!((error.kind(), error.path()), (ErrorKind::PermissionDenied, at));
                messages.push(error.to_string());
            }
            other => panic!("{other:?}"),
        }
    }
    (entries, messages)
}

#[test]
fn a_walk_reports_a_directory_whose_subdirectories_it_cannot_recognise() {
    let mount = require!(Mount::make(&EXT4_UNTYPED));
    let tree = mount.path().join("tree");
    fill(&tree);
    let examine = Some((stat_backend("statx").unwrap(), StatMask::TYPE));
    for options in [WalkOptions::new(1), WalkOptions { examine, ..WalkOptions::new(2) }] {
        fs::set_permissions(&tree, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(unprivileged(|| walked(&tree, &options)), (4, Vec::new()));
        fs::set_permissions(&tree, fs::Permissions::from_mode(0o744)).unwrap();
        let (entries, messages) = unprivileged(|| walked(&tree, &options));
        assert_eq!((entries, messages.len()), (2, 1), "{messages:?}");
        assert!(messages[0].contains("subdirectories may be missing: the type of '"), "{messages:?}");
    }
}

#[test]
fn a_walk_takes_types_from_attributes_where_directories_have_none() {
    let mount = require!(Mount::make(&EXT4_UNTYPED));
    let tree = mount.path().join("tree");
    fill(&tree);
    std::os::unix::fs::symlink("a", tree.join("link")).unwrap();
    let kinds = |examine| {
        let options = WalkOptions { examine, ..WalkOptions::new(1) };
        let mut walk = Walk::new(Dir::open(&tree).unwrap(), &options).unwrap();
        let mut kinds = Vec::new();
        while let Some(item) = walk.next_item() {
            let WalkItem::Batch { batch, .. } = item else { panic!("{item:?}") };
            assert_eq!(batch.unknown_types(), 0);
            kinds.extend(batch.entries().map(|entry| (entry.name.to_vec(), entry.kind)));
        }
        kinds.sort();
        kinds
    };
    let by_examine = |want| kinds(Some((stat_backend("statx").unwrap(), want)));
    let names: [(&[u8], _); 5] = [
        (b"a", FileType::Directory),
        (b"b", FileType::Directory),
        (b"file", FileType::File),
        (b"file", FileType::File),
        (b"link", FileType::Symlink),
    ];
    let expected = names.map(|(name, kind)| (name.to_vec(), kind));
    assert_eq!(kinds(None), expected);
    assert_eq!(by_examine(StatMask::TYPE | StatMask::SIZE), expected);
    assert_eq!(by_examine(StatMask::SIZE), expected);
}

#[test]
fn a_type_that_may_not_be_read_is_an_error_and_a_vanished_entry_is_none() {
    let mount = require!(Mount::make(&EXT4_UNTYPED));
    let tree = mount.path().join("tree");
    fill(&tree);
    fs::set_permissions(&tree, fs::Permissions::from_mode(0o744)).unwrap();
    assert_eq!(Dir::open(&tree).unwrap().kind_of(b"a").unwrap(), FileType::Directory);
    assert_eq!(Dir::open(&tree).unwrap().kind_of(b"none").unwrap(), FileType::Unknown);
    let refused = unprivileged(|| Dir::open(&tree).unwrap().kind_of(b"a").unwrap_err());
    assert_eq!((refused.kind(), refused.path()), (ErrorKind::PermissionDenied, &*tree.join("a")));
}

#[test]
fn files_whose_types_may_not_be_read_are_failures_of_reshard() {
    let mount = require!(Mount::make(&EXT4_UNTYPED));
    let tree = mount.path().join("tree");
    fill(&tree);
    fs::set_permissions(tree.join("a"), fs::Permissions::from_mode(0o744)).unwrap();
    let (stay, messages) = unprivileged(|| {
        let failures = RefCell::new(Vec::new());
        let on_failure = |error: megadir::Error| failures.borrow_mut().push(error.to_string());
        let (from, to) = ("prefix:1+rest".parse().unwrap(), "flat".parse().unwrap());
        let options = ReshardOptions::new(from, to, &on_failure);
        let survey = survey(&Dir::open(&tree).unwrap(), &options, &Progress::new()).unwrap();
        (survey.stay, failures.into_inner())
    });
    assert_eq!((stay.failures, stay.others), (2, 0), "{messages:?}");
    assert!(messages[0].contains("a/file': Permission denied"), "{messages:?}");
    assert!(messages[1].ends_with("b': Permission denied; 1 file stays"), "{messages:?}");
}
