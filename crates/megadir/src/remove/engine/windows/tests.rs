//! Tests of each system call that the engine relies on.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::reader::SMALL_BYTES;
use super::{
    CALL_BYTES, DIRECTORY, Directory, Errno, REPARSE_POINT, Reader, identity, is_folder_of_others, kind,
    open_below, remove_directory, remove_examined, remove_file,
};
use crate::decode::Records;
use crate::dir::Dir;
use crate::file_type::FileType;

fn open(path: &Path) -> Directory {
    Dir::open(path).unwrap().reopen_for_reader().unwrap()
}

#[test]
fn only_the_expected_directory_is_removed() {
    let scratch = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        fs::create_dir(scratch.path().join(name)).unwrap();
    }
    fs::write(scratch.path().join("file"), "").unwrap();
    let parent = open(scratch.path());
    let expected = identity(&open_below(&parent, c"one", false).unwrap()).unwrap();
    assert_eq!(remove_directory(&parent, c"two", Some(expected)), Err(Errno::NOTDIR));
    assert_eq!(remove_directory(&parent, c"file", None), Err(Errno::NOTDIR));
    assert_eq!(remove_directory(&parent, c"none", Some(expected)), Err(Errno::NOENT));
    assert!(scratch.path().join("two").exists() && scratch.path().join("file").exists());
    fs::write(scratch.path().join("one").join("file"), "").unwrap();
    assert_eq!(remove_directory(&parent, c"one", Some(expected)), Err(Errno::NOTEMPTY));
    fs::remove_file(scratch.path().join("one").join("file")).unwrap();
    assert_eq!(remove_directory(&parent, c"one", Some(expected)), Ok(()));
    assert!(!scratch.path().join("one").exists());
}

#[test]
fn a_directory_is_no_file_whatever_it_was_listed_as() {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir(scratch.path().join("directory")).unwrap();
    fs::write(scratch.path().join("file"), "").unwrap();
    let parent = open(scratch.path());
    for listed in [FileType::File, FileType::Symlink, FileType::Unknown] {
        assert_eq!(remove_file(&parent, c"directory", listed), Err(Errno::ISDIR), "{listed:?}");
        assert_eq!(remove_file(&parent, c"none", listed), Err(Errno::NOENT), "{listed:?}");
    }
    assert!(open_below(&parent, c"file", false).is_err_and(|error| error == Errno::NOTDIR));
    assert_eq!(remove_file(&parent, c"file", FileType::Unknown), Ok(()));
    assert!(!scratch.path().join("file").exists() && scratch.path().join("directory").exists());
}

#[test]
fn conditions_are_checked_on_the_opened_entry() {
    let scratch = tempfile::tempdir().unwrap();
    let parent = open(scratch.path());
    for listed in [FileType::File, FileType::Unknown] {
        fs::write(scratch.path().join("file"), "text").unwrap();
        let removed = remove_examined(&parent, c"file", listed, &|facts| {
            assert!(
                facts.kind == FileType::File && facts.have.contains(crate::attributes::StatMask::MODIFIED)
            );
            false
        });
        assert_eq!(removed, Ok(false));
        assert!(scratch.path().join("file").exists());
        let still = |_: &super::Attributes| true;
        assert_eq!(remove_examined(&parent, c"file", listed, &still), Ok(true));
        assert_eq!(remove_examined(&parent, c"file", listed, &still), Err(Errno::NOENT));
    }
}

#[test]
fn folders_elsewhere_are_not_entered() {
    const JUNCTION: u32 = 0xa000_0003;
    const CLOUD: u32 = 0x9000_001a;
    const DEDUPLICATED: u32 = 0x8000_0013;
    assert_eq!(kind(DIRECTORY, 0), FileType::Directory);
    for tag in [JUNCTION, CLOUD, 0] {
        assert_eq!(kind(DIRECTORY | REPARSE_POINT, tag), FileType::Symlink, "{tag:#x}");
    }
    assert_eq!(kind(REPARSE_POINT, DEDUPLICATED), FileType::File);
}

#[test]
fn a_directory_is_read_in_pieces_of_any_size_and_from_its_start_again() {
    let scratch = tempfile::tempdir().unwrap();
    // Names of maximum length, with characters of three bytes each.
    for index in 0..200 {
        fs::write(scratch.path().join(format!("{index}{}", "漢".repeat(80))), "").unwrap();
    }
    let directory = open(scratch.path());
    let mut reader = Reader::new();
    for bytes in [CALL_BYTES, SMALL_BYTES / 2 * 3] {
        let (mut buffer, mut from) = (vec![0; bytes], Some(0));
        let (mut names, mut records) = (BTreeSet::new(), 0);
        loop {
            let filled = reader.read(&directory, from.take(), &mut buffer).unwrap();
            if filled == 0 {
                break;
            }
            for record in Records::new(&buffer[..filled]).filter(|record| !record.is_dot()) {
                records += 1;
                names.insert(record.name.to_vec());
            }
        }
        assert_eq!((names.len(), records), (200, 200), "{bytes}");
    }
}

#[test]
fn folders_whose_entries_others_hand_out_are_known() {
    const CLOUD: u32 = 0x9000_001a;
    const MOUNT_POINT: u32 = 0xa000_0003;
    assert!(is_folder_of_others(DIRECTORY | REPARSE_POINT, CLOUD));
    assert!(!is_folder_of_others(DIRECTORY | REPARSE_POINT, MOUNT_POINT));
    assert!(!is_folder_of_others(REPARSE_POINT, CLOUD), "a file");
    assert!(!is_folder_of_others(DIRECTORY, 0));
}
