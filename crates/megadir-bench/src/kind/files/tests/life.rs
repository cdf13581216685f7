//! Every operation, access and order: the resulting files.

use super::*;

/// Runs create to unlink by every access, on every kind of data.
fn life(place: &Path) {
    for (number, data) in all_data().iter().enumerate() {
        let files = made_files(data);
        for (form, access) in accesses().into_iter().enumerate() {
            let top = place.join(format!("{number}-{form}"));
            std::fs::create_dir(&top).unwrap();
            let listed = matches!(access, Access::Name { order: FileOrder::Listing | FileOrder::Inode });
            let create = work(FileOperation::Create, if listed { BY_NAME } else { access });
            right(&create, data, &top);
            let before = check(&files, &top, 0..ENTRIES);
            assert_eq!(count(&top).0, ENTRIES);
            right(&work(FileOperation::Stat, access), data, &top);
            right(&work(FileOperation::Read, access), data, &top);
            std::fs::hard_link(top.join(path_of(&files, 9)), place.join("kept")).unwrap();
            right(&work(FileOperation::Rewrite, access), data, &top);
            let after = check(&files, &top, 0..ENTRIES);
            assert_ne!(before[9], after[9], "a file was opened and written over, not made again");
            std::fs::remove_file(place.join("kept")).unwrap();
            let directories = count(&top).1;
            right(&work(FileOperation::Unlink, access), data, &top);
            assert_eq!(count(&top), (0, directories));
        }
    }
}

#[cfg(target_os = "linux")]
mod on_linux {
    use megadir_testkit::mount::{BTRFS, XFS};
    use megadir_testkit::unprivileged::{NOBODY, unprivileged};

    use super::*;

    #[test]
    fn files_live_and_end_on_ext4() {
        life(&require!(Mount::make(&EXT4)).path());
    }

    #[test]
    fn files_live_and_end_on_xfs() {
        life(&require!(Mount::make(&XFS)).path());
    }

    #[test]
    fn files_live_and_end_on_btrfs() {
        life(&require!(Mount::make(&BTRFS)).path());
    }

    #[test]
    fn owner_and_mode_are_given_without_privileges_too() {
        use std::os::unix::fs::MetadataExt;
        let mount = require!(Mount::make(&EXT4));
        let own = mount.path().join("own");
        std::fs::create_dir(&own).unwrap();
        std::os::unix::fs::chown(&own, Some(NOBODY), Some(NOBODY)).unwrap();
        unprivileged(|| {
            for operation in [FileOperation::Create, FileOperation::Rewrite] {
                right(&work(operation, BY_NAME), &flat(), &own);
            }
        });
        for entry in std::fs::read_dir(&own).unwrap() {
            let status = entry.unwrap().metadata().unwrap();
            assert_eq!((status.uid(), status.gid(), status.mode() & 0o7777), (NOBODY, NOBODY, 0o644));
        }
        assert_eq!(count(&own), (ENTRIES, 0));
    }
}

#[test]
fn files_live_and_end() {
    life(&require!(place()).path());
}

#[test]
fn ranges_reach_beyond_the_population() {
    let parent = tempfile::tempdir().unwrap();
    for data in all_data() {
        let files = made_files(&data);
        right(&work(FileOperation::Create, BY_NAME), &data, parent.path());
        let beyond = |operation| FileWork { from: ENTRIES, to: ENTRIES + 5, ..work(operation, BY_NAME) };
        for _ in 0..2 {
            right(&beyond(FileOperation::Create), &data, parent.path());
            check(&files, parent.path(), 0..ENTRIES + 5);
            right(&beyond(FileOperation::Unlink), &data, parent.path());
            check(&files, parent.path(), 0..ENTRIES);
            assert_eq!(count(parent.path()).0, ENTRIES);
        }
        right(&work(FileOperation::Unlink, BY_NAME), &data, parent.path());
    }
}

#[test]
fn directories_are_made_beforehand_as_work_of_its_own() {
    let parent = tempfile::tempdir().unwrap();
    let data = data(Spread::Layout { layout: "prefix:1/1".into() }, MakeDirectories::Before);
    let (_, stopwatch) = right(&work(FileOperation::MakeDirectories, BY_NAME), &data, parent.path());
    assert_eq!(stopwatch.latency().unwrap().operations(), 16 + 256);
    assert_eq!(count(parent.path()), (0, 16 + 256));
    right(&work(FileOperation::Create, BY_NAME), &data, parent.path());
    assert_eq!(count(parent.path()), (ENTRIES, 16 + 256));
}
