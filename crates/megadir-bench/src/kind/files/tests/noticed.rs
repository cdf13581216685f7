//! Wrong files are counted, impossible work is refused, exhausted limits are named, and cancellation works.

use super::*;

#[test]
fn unexpected_files_are_counted() {
    let parent = tempfile::tempdir().unwrap();
    let data = data(Spread::PerDirectory { files: 25 }, MakeDirectories::OnDemand);
    let files = made_files(&data);
    right(&work(FileOperation::Create, BY_NAME), &data, parent.path());
    let path = |index| parent.path().join(path_of(&files, index));
    // Three truncated, one missing, one of another type, one renamed, one extra.
    for index in [3, 4, 59] {
        std::fs::OpenOptions::new().write(true).open(path(index)).unwrap().set_len(1).unwrap();
    }
    std::fs::remove_file(path(7)).unwrap();
    std::fs::remove_file(path(8)).unwrap();
    put_something_else(&path(8));
    std::fs::rename(path(10), path(10).with_extension("x")).unwrap();
    let stat = |access| wrong(&work(FileOperation::Stat, access), &data, parent.path());
    let read = |access| wrong(&work(FileOperation::Read, access), &data, parent.path());
    let named = Access::Name { order: FileOrder::Random };
    assert_eq!((stat(BY_NAME), stat(named), read(BY_NAME)), (6, 6, 6));
    assert!(stat(Access::Directory) > 0 && read(Access::Directory) > 0);
    // In listing order, missing and unexpected names count during preparation; missing ones again in the block.
    assert!(stat(Access::Name { order: FileOrder::Listing }) >= 6);
    assert!(wrong(&work(FileOperation::Create, BY_NAME), &data, parent.path()) >= 58);
    assert_eq!(wrong(&work(FileOperation::Rewrite, BY_NAME), &data, parent.path()), 1);
    let unlink = work(FileOperation::Unlink, Access::Directory);
    assert!(wrong(&unlink, &data, parent.path()) > 0);
    #[cfg(target_os = "linux")]
    assert!(!std::fs::read("/etc/passwd").unwrap().is_empty(), "what a link leads to was worked on");
}

/// Replaces a file by a link out of the tree, or by a directory if links are not permitted.
fn put_something_else(path: &Path) {
    #[cfg(target_os = "linux")]
    std::os::unix::fs::symlink("/etc/passwd", path).unwrap();
    #[cfg(windows)]
    std::fs::create_dir(path).unwrap();
}

#[test]
fn one_name_that_is_wrong_shows_in_a_listing() {
    let parent = tempfile::tempdir().unwrap();
    let data = flat();
    let files = made_files(&data);
    right(&work(FileOperation::Create, BY_NAME), &data, parent.path());
    let path = parent.path().join(path_of(&files, 10));
    std::fs::rename(&path, path.with_extension("x")).unwrap();
    for operation in [FileOperation::Stat, FileOperation::Unlink] {
        assert_eq!(wrong(&work(operation, Access::Directory), &data, parent.path()), 1, "{operation:?}");
    }
}

#[test]
fn every_requested_operation_is_done() {
    let directory = Dir::open(std::env::temp_dir()).unwrap();
    let refused = |change: &dyn Fn(&mut FileWork), operation| {
        let mut work = work(operation, BY_NAME);
        change(&mut work);
        Files::new(&work, (&flat(), 1), SEED, WorkerSource::default()).unavailable(&directory).is_some()
    };
    let listing = |work: &mut FileWork| work.access = Access::Name { order: FileOrder::Listing };
    assert!(refused(&listing, FileOperation::Create));
    assert!(!refused(&listing, FileOperation::Stat));
    for operation in [FileOperation::Stat, FileOperation::Read, FileOperation::Unlink] {
        assert!(refused(&|work| work.owner_and_mode = true, operation));
        assert!(refused(&|work| work.sync = SyncPolicy::EachFile, operation));
    }
    assert!(refused(&|work| work.to = 0, FileOperation::Stat));
    assert!(refused(&|work| work.workers.count = 0, FileOperation::Stat));
    assert!(refused(
        &|work| {
            work.to = 1 << 40;
            work.access = Access::Name { order: FileOrder::Inode };
        },
        FileOperation::Stat
    ));
    let existing = Data { source: DataSource::Existing { path: ".".into() }, ..flat() };
    let stat = work(FileOperation::Stat, BY_NAME);
    assert!(
        Files::new(&stat, (&existing, 1), SEED, WorkerSource::default()).unavailable(&directory).is_some()
    );
    // A layout that cannot place the names, and one whose directories are not known in advance.
    for layout in ["prefix:40", "decimal:2/2"] {
        let data = data(Spread::Layout { layout: layout.into() }, MakeDirectories::OnDemand);
        assert!(
            Files::new(&stat, (&data, 1), SEED, WorkerSource::default()).unavailable(&directory).is_some(),
            "{layout}"
        );
    }
}

#[test]
fn a_block_that_is_to_end_ends_at_once() {
    let mount = require!(place());
    let made = Made::flat(NameScheme::Md5, 0);
    let data = Data { id: DataId(0), entries: 900_000, hash: None, on: None, source: DataSource::Made(made) };
    let stop = AtomicBool::new(false);
    let control = RunControl { stop: &stop, heartbeat: &BEAT };
    let create = FileWork { to: 900_000, owner_and_mode: false, ..work(FileOperation::Create, BY_NAME) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while count(&mount.path()).0 < 1000 {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::Relaxed);
        });
        let done = block(&create, &data, &mount.path(), control);
        assert!(matches!(done, Err(WorkError::Stopped)));
    });
    assert!(count(&mount.path()).0 < 900_000);
}

#[cfg(windows)]
#[test]
fn operations_without_a_windows_call_are_refused_with_the_reason() {
    let parent = tempfile::tempdir().unwrap();
    let directory = Dir::open(parent.path()).unwrap();
    let reason = |change: &dyn Fn(&mut FileWork)| {
        let mut work = work(FileOperation::Create, BY_NAME);
        change(&mut work);
        Files::new(&work, (&flat(), 1), SEED, WorkerSource::default()).unavailable(&directory)
    };
    assert!(reason(&|work| work.owner_and_mode = true).is_some_and(|why| why.contains("chown")));
    let both = reason(&|work| work.sync = SyncPolicy::FileAndDirectory);
    assert!(both.is_some_and(|why| why.contains("syncs a directory")));
    assert_eq!(reason(&|work| work.sync = SyncPolicy::EachFile), None);
    // Without the privilege it is refused; with it, it works.
    let at_end = FileWork { sync: SyncPolicy::AtEnd, ..work(FileOperation::Create, BY_NAME) };
    match reason(&|work| work.sync = SyncPolicy::AtEnd) {
        Some(why) => assert!(why.contains("administrator"), "{why}"),
        None => assert_eq!(wrong(&at_end, &flat(), parent.path()), 0),
    }
}

#[test]
fn each_file_is_made_durable() {
    let parent = tempfile::tempdir().unwrap();
    let create = FileWork { sync: SyncPolicy::EachFile, ..work(FileOperation::Create, BY_NAME) };
    right(&create, &flat(), parent.path());
    check(&made_files(&flat()), parent.path(), 0..ENTRIES);
}

#[cfg(target_os = "linux")]
#[test]
fn exhausted_resource_is_named_and_files_can_be_removed() {
    let tiny = Recipe { image_bytes: 8 << 20, mkfs: &["mkfs.ext4", "-q", "-F", "-N", "64"], ..EXT4 };
    let mount = require!(Mount::make(&tiny));
    let inodes = Data { entries: 100, source: DataSource::Made(Made::flat(NameScheme::Md5, 0)), ..flat() };
    let bytes = Data { source: DataSource::Made(Made::flat(NameScheme::Md5, 1_000_000)), ..flat() };
    for (data, to, word) in [(inodes, 100, "inodes"), (bytes, ENTRIES, "blocks")] {
        let create = FileWork { to, owner_and_mode: false, ..work(FileOperation::Create, BY_NAME) };
        let error = block(&create, &data, &mount.path(), SIGNALS).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
        let directory = std::fs::File::open(mount.path()).unwrap();
        os::removal::remove_content(std::os::fd::AsFd::as_fd(&directory), b"lost+found", &BEAT).unwrap();
        assert_eq!(count(&mount.path()).0, 0);
    }
}
