//! Creating, finding, renaming and removing relative to an open directory behaves the same on every system.

use std::io::{self, ErrorKind, Read, Write};

use megadir::FileType;

use super::{
    Access, At, create, each_entry, make_directory, open_below, open_directory, open_file, own_user,
    remove_directory, remove_file, rename_new, space, status, status_of,
};

fn kind<T>(result: io::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn files_and_directories_are_made_found_renamed_and_removed() {
    let parent = tempfile::tempdir().unwrap();
    let top = open_directory(parent.path()).unwrap();
    let top = top.at();
    make_directory(top, "a").unwrap();
    make_directory(top, "a/b").unwrap();
    assert_eq!(kind(make_directory(top, "a/b")), Some(ErrorKind::AlreadyExists));
    assert_eq!(kind(make_directory(top, "c/b")), Some(ErrorKind::NotFound));
    create(top, "a/b/file-\u{e4}\u{1f600}").unwrap().write_all(b"12345").unwrap();
    assert_eq!(kind(create(top, "a/b/file-\u{e4}\u{1f600}")), Some(ErrorKind::AlreadyExists));
    let below = open_below(top, "a/b").unwrap();
    let status = status(below.at(), "file-\u{e4}\u{1f600}").unwrap();
    assert_eq!((status.kind, status.size_bytes, status.links), (FileType::File, 5, 1));
    assert_eq!(status.owner, own_user());
    let mut file = open_file(below.at(), "file-\u{e4}\u{1f600}", Access::ReadWrite).unwrap();
    assert_eq!(status_of(&file).unwrap(), status);
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "12345");
    drop(file);
    assert_eq!(kind(open_file(top, "a/none", Access::Read)), Some(ErrorKind::NotFound));
    assert_eq!(kind(open_below(top, "a/b/file-\u{e4}\u{1f600}")), Some(ErrorKind::NotADirectory));
    assert!(kind(remove_directory(top, "a/b")) == Some(ErrorKind::DirectoryNotEmpty));
    remove_file(below.at(), "file-\u{e4}\u{1f600}").unwrap();
    drop(below);
    remove_directory(top, "a/b").unwrap();
    make_directory(top, "other").unwrap();
    assert_eq!(kind(rename_new(top, "a", "other")), Some(ErrorKind::AlreadyExists));
    rename_new(top, "a", "new").unwrap();
    let mut seen = Vec::new();
    each_entry(top, &mut |name, kind| {
        seen.push((String::from_utf8(name.to_vec()).unwrap(), kind));
        Ok(())
    })
    .unwrap();
    seen.sort();
    assert_eq!(seen, [("new".into(), FileType::Directory), ("other".into(), FileType::Directory)]);
}

#[test]
fn names_lead_nowhere_else() {
    let parent = tempfile::tempdir().unwrap();
    std::fs::create_dir(parent.path().join("below")).unwrap();
    std::fs::write(parent.path().join("outside"), "1").unwrap();
    let below = open_directory(&parent.path().join("below")).unwrap();
    if cfg!(windows) {
        assert!(status(below.at(), "../outside").is_err());
        assert!(create(below.at(), "..\\new").is_err());
        assert!(create(below.at(), "C:/new").is_err());
        std::fs::write(parent.path().join("below").join("file"), "1").unwrap();
        for name in ["file:stream", "new:stream", "..\\outside", "a\0b", "file::$DATA"] {
            assert_eq!(kind(create(below.at(), name)), Some(ErrorKind::InvalidFilename), "{name}");
            assert_eq!(kind(open_file(below.at(), name, Access::Read)), Some(ErrorKind::InvalidFilename));
            assert_eq!(kind(remove_file(below.at(), name)), Some(ErrorKind::InvalidFilename));
        }
        assert_eq!(std::fs::read_dir(parent.path().join("below")).unwrap().count(), 1);
    }
    assert!(kind(open_below(below.at(), "none")) == Some(ErrorKind::NotFound));
}

#[test]
fn a_file_system_has_room() {
    let parent = tempfile::tempdir().unwrap();
    let space = space(open_directory(parent.path()).unwrap().at()).unwrap();
    assert!(space.block_bytes >= 512 && space.free_bytes <= space.bytes && space.bytes > 0, "{space:?}");
}

#[cfg(windows)]
#[test]
fn attributes_are_queried_without_opening() {
    let parent = tempfile::tempdir().unwrap();
    let top = open_directory(parent.path()).unwrap();
    make_directory(top.at(), "below").unwrap();
    create(top.at(), "below/file").unwrap().write_all(b"12345").unwrap();
    let size = |result: io::Result<megadir_sys::windows::facts::Facts>| result.map(|facts| facts.size_bytes);
    match size(super::facts_of(top.at(), "below/file")) {
        Err(error) if megadir_testkit::require::is_wine() => {
            let test = megadir_testkit::require::test_name(module_path!(), line!());
            megadir_testkit::require::unavailable(
                &test,
                &format!("Wine's NtQueryFullAttributesFile: {error}"),
            );
        }
        result => assert_eq!(result.unwrap(), 5),
    }
}

/// An administrator can; anyone else gets the reason, and the run continues.
#[cfg(windows)]
#[test]
fn the_own_volume_of_a_directory_is_written_back_or_refused() {
    let parent = tempfile::tempdir().unwrap();
    let written = super::sync(open_directory(parent.path()).unwrap().at());
    let refused = kind(written);
    let known = [None, Some(ErrorKind::PermissionDenied), Some(ErrorKind::Unsupported)];
    assert!(known.contains(&refused), "{refused:?}");
}

/// A file removed by another run while this one has it open counts as missing.
#[test]
fn open_removed_files_have_no_names() {
    let parent = tempfile::tempdir().unwrap();
    let top = open_directory(parent.path()).unwrap();
    let file = create(top.at(), "file").unwrap();
    assert_eq!(status_of(&file).unwrap().links, 1);
    remove_file(top.at(), "file").unwrap();
    match status_of(&file).unwrap().links {
        1 if megadir_testkit::require::is_wine() => {
            let test = megadir_testkit::require::test_name(module_path!(), line!());
            megadir_testkit::require::unavailable(&test, "Wine does not report that a file is being removed");
        }
        links => assert_eq!(links, 0),
    }
}
