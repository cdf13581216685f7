//! A scan finds the same entries with the same facts as the standard library, in order, at any memory limit.
#![cfg(all(test, unix))]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use megadir::FileType;
use megadir_inventory::{Facts, Metadata, OwnedRow, ScanOptions, scan};
use megadir_testkit::require;
use megadir_testkit::unprivileged::unprivileged;

fn options(threads: usize, memory_bytes: usize) -> ScanOptions {
    ScanOptions {
        threads,
        threads_max: threads,
        attributes: true,
        cross_mounts: false,
        stat_backend: None,
        read_ahead: megadir::ReadAhead::Auto,
        buffer_bytes: 4096,
        queue_directories_max: 4,
        memory_bytes,
        spill_directory: std::env::temp_dir(),
        exclude: Vec::new(),
        conditions: None,
        entries_per_second_max: None,
    }
}

#[test]
fn without_attributes_rows_have_the_type_and_inode_of_the_listing() {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir(scratch.path().join("below")).unwrap();
    fs::write(scratch.path().join("below/file"), "text").unwrap();
    symlink("below", scratch.path().join("link")).unwrap();
    let listed = ScanOptions { attributes: false, ..options(2, 1 << 20) };
    let (_, rows, _) = rows(&[scratch.path().to_owned()], &listed);
    for row in &rows[1..] {
        let path = scratch
            .path()
            .join(std::ffi::OsString::from_vec(row.parent.clone()))
            .join(std::ffi::OsString::from_vec(row.name.clone()));
        let status = fs::symlink_metadata(&path).unwrap();
        let facts = Facts { kind: row.facts.kind, inode: Some(status.ino()), ..Facts::NOTHING };
        assert_eq!(row.facts, facts, "{path:?}");
        assert_eq!(
            (facts.kind == FileType::Directory, facts.kind == FileType::Symlink),
            (status.is_dir(), status.is_symlink())
        );
    }
    assert_eq!(rows.len(), 4);
    let excluded = megadir_inventory::Excluded { name: b"file".to_vec(), device: None, inode: Some(1) };
    let impossible = ScanOptions { exclude: vec![excluded], ..listed };
    let refused = scan(
        &[scratch.path().to_owned()],
        &impossible,
        &mut |_| ControlFlow::Continue(()),
        &mut Vec::<OwnedRow>::new(),
    );
    assert!(refused.unwrap_err().reason().contains("need attributes"));
}

fn rows(roots: &[PathBuf], options: &ScanOptions) -> (Metadata, Vec<OwnedRow>, Vec<String>) {
    let (mut rows, mut events) = (Vec::new(), Vec::new());
    let mut watch = |event: megadir::TreeEvent<'_>| {
        match event {
            megadir::TreeEvent::Failed(error) => events.push(error.to_string()),
            megadir::TreeEvent::Unexamined { directory, first, count, .. } => {
                events.push(format!("{} {} {count}", directory.display(), String::from_utf8_lossy(first)));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    };
    let metadata = scan(roots, options, &mut watch, &mut rows).unwrap().unwrap();
    // Reading a directory is an access.
    let directories = rows.iter_mut().filter(|row: &&mut OwnedRow| row.facts.kind == FileType::Directory);
    directories.for_each(|row| row.facts.accessed_ns = None);
    (metadata, rows, events)
}

/// Facts of an entry, from the standard library.
fn facts(path: &Path) -> Facts {
    let status = fs::symlink_metadata(path).unwrap();
    let kind = match status.file_type() {
        kind if kind.is_dir() => FileType::Directory,
        kind if kind.is_symlink() => FileType::Symlink,
        kind if kind.is_file() => FileType::File,
        _ => FileType::Fifo,
    };
    let born = status.created().ok().and_then(|born| born.duration_since(std::time::UNIX_EPOCH).ok());
    Facts {
        kind,
        size_bytes: Some(status.len()),
        allocated_bytes: Some(status.blocks() * 512),
        modified_ns: Some(status.mtime() * 1_000_000_000 + status.mtime_nsec()),
        changed_ns: Some(status.ctime() * 1_000_000_000 + status.ctime_nsec()),
        born_ns: born.map(|born| born.as_nanos() as i64),
        inode: Some(status.ino()),
        inode_high: None,
        device: Some(status.dev()),
        mode: Some((status.mode() & 0o7777) as u16),
        user: Some(status.uid()),
        group: Some(status.gid()),
        links: Some(status.nlink()),
        errno: None,
        accessed_ns: (kind != FileType::Directory)
            .then(|| status.atime() * 1_000_000_000 + status.atime_nsec()),
        hash: None,
    }
}

/// All entries below a directory by parent and name, found by the standard library.
fn oracle(root: &Path) -> BTreeMap<(Vec<u8>, Vec<u8>), Facts> {
    let mut found = BTreeMap::from([((Vec::new(), Vec::new()), facts(root))]);
    let mut below = vec![PathBuf::new()];
    while let Some(relative) = below.pop() {
        for entry in fs::read_dir(root.join(&relative)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                below.push(relative.join(entry.file_name()));
            }
            let key = (relative.as_os_str().as_bytes().to_vec(), entry.file_name().into_vec());
            found.insert(key, facts(&entry.path()));
        }
    }
    found
}

/// Creates a tree with a large directory, and directories whose byte order differs from their component order.
fn make(root: &Path) {
    let join = |parts: &[&[u8]]| {
        parts.iter().fold(root.to_owned(), |path, part| path.join(std::ffi::OsStr::from_bytes(part)))
    };
    for directory in
        [&[&b"a"[..]][..], &[b"a-b"], &[b"a", b"b"], &[b"a", b"b", b"\xff\n"], &[b"large"], &[b"no"]]
    {
        let directory = join(directory);
        fs::create_dir_all(&directory).unwrap();
        for number in 0..20 {
            fs::write(directory.join(format!("{number}")), vec![0; number]).unwrap();
        }
        symlink("nowhere", directory.join("link")).unwrap();
    }
    for number in 0..3000 {
        fs::write(join(&[b"large", format!("{number:x}{}", "n".repeat(number % 200)).as_bytes()]), "")
            .unwrap();
    }
    fs::hard_link(join(&[b"a", b"1"]), join(&[b"a-b", b"same"])).unwrap();
    fs::set_permissions(join(&[b"a", b"2"]), Permissions::from_mode(0o4751)).unwrap();
    let old = std::time::UNIX_EPOCH - std::time::Duration::from_nanos(1);
    fs::File::open(join(&[b"a", b"3"])).unwrap().set_modified(old).unwrap();
}

#[test]
fn rows_match_the_standard_library_in_order() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("tree");
    make(&root);
    let expected = oracle(&root);
    for (threads, memory_bytes) in [(1, 64 << 20), (3, 64 << 20), (1, 100_000), (2, 30_000)] {
        let (metadata, rows, events) = rows(std::slice::from_ref(&root), &options(threads, memory_bytes));
        assert!(rows.is_sorted_by(|a, b| a.row().key < b.row().key), "{memory_bytes} bytes");
        let found: BTreeMap<_, _> =
            rows.iter().map(|row| ((row.parent.clone(), row.name.clone()), row.facts)).collect();
        assert!(found == expected, "{threads} threads, {memory_bytes} bytes");
        assert!(metadata.is_complete() && events.is_empty());
        assert_eq!((metadata.rows, metadata.roots.len()), (expected.len() as u64, 1));
        assert_eq!(metadata.roots[0].path, root.as_os_str().as_bytes());
        assert!(metadata.started_ns < metadata.ended_ns);
    }
}

#[test]
fn several_trees_are_one_after_the_other_and_one_that_is_not_there_ends_the_scan_before_it_begins() {
    let scratch = tempfile::tempdir().unwrap();
    let paths = ["one", "two", "gone"].map(|name| scratch.path().join(name));
    for path in &paths[..2] {
        fs::create_dir(path).unwrap();
        fs::write(path.join("file"), "").unwrap();
    }
    let (metadata, found, events) = rows(&paths[..2], &options(1, 1 << 20));
    let keys: Vec<_> = found.iter().map(|row| (row.root, &row.name[..], row.error.is_some())).collect();
    let expected: [(u32, &[u8], bool); 4] =
        [(0, b"", false), (0, b"file", false), (1, b"", false), (1, b"file", false)];
    assert_eq!(keys, expected);
    assert!(metadata.is_complete() && events.is_empty());
    let (mut events, mut none) = (0, Vec::new());
    let mut watch = |_: megadir::TreeEvent<'_>| {
        events += 1;
        ControlFlow::Continue(())
    };
    let refused = scan(&paths, &options(1, 1 << 20), &mut watch, &mut none).unwrap_err();
    assert!(refused.to_string().contains("gone': No such file"), "{refused}");
    assert!(none.is_empty() && events == 0, "nothing was read");
}

#[test]
fn unreadable_directory_is_a_row_with_its_error() {
    require!(match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err("only root can make files of others".to_owned()),
    });
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("tree");
    make(&root);
    fs::set_permissions(scratch.path(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(root.join("a/b"), Permissions::from_mode(0o311)).unwrap();
    fs::set_permissions(root.join("no"), Permissions::from_mode(0o744)).unwrap();
    for memory_bytes in [64 << 20, 30_000] {
        let (metadata, rows, mut events) =
            unprivileged(|| rows(std::slice::from_ref(&root), &options(2, memory_bytes)));
        assert_eq!((metadata.unread_directories, metadata.failed), (1, 1 + 21));
        let denied: Vec<_> = rows.iter().filter(|row| row.error.is_some()).collect();
        assert_eq!(denied[0].error.as_deref(), Some("open: Permission denied"));
        assert_eq!((&denied[0].parent[..], &denied[0].name[..]), (&b"a"[..], &b"b"[..]));
        assert!(denied[0].facts.inode.is_some(), "its own attributes were read");
        for row in &denied[1..] {
            assert_eq!(row.error.as_deref(), Some("examine: Permission denied"));
            assert_eq!((&row.parent[..], row.facts.errno), (&b"no"[..], Some(13)));
        }
        assert!(!rows.iter().any(|row| row.parent.starts_with(b"a/b")));
        events.sort();
        assert_eq!(events.len(), 2, "{events:?}");
        assert!(events[0].ends_with(" 21") && events[1].contains("a/b': Permission denied"), "{events:?}");
    }
}

#[test]
fn entries_that_come_and_go_are_no_errors() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("tree");
    make(&root);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let place = root.join("large/busy");
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                fs::create_dir(&place).unwrap();
                (0..50).for_each(|number| fs::write(place.join(number.to_string()), "").unwrap());
                fs::rename(&place, root.join("a/busy")).unwrap();
                fs::remove_dir_all(root.join("a/busy")).unwrap();
            }
        });
        for round in 0..8 {
            let (metadata, rows, events) = rows(std::slice::from_ref(&root), &options(2, 1 << 20));
            if !metadata.is_complete() || !events.is_empty() {
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            assert!(metadata.is_complete() && events.is_empty(), "round {round}: {events:?}");
            let still = rows.iter().filter(|row| row.name != b"busy" && !row.parent.ends_with(b"busy"));
            // The root, six directories, 6 times 21 entries, 3000 entries (20 of them share names) and a link.
            assert!(still.count() > 3100, "untouched entries are listed");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn cancelled_scan_ends() {
    let scratch = tempfile::tempdir().unwrap();
    make(scratch.path());
    let roots = [scratch.path().to_owned()];
    let mut rows = Vec::new();
    let mut stop_reading = |_: megadir::TreeEvent<'_>| ControlFlow::Break(());
    assert!(scan(&roots, &options(2, 1 << 20), &mut stop_reading, &mut rows).unwrap().is_none());
    assert!(rows.is_empty());
}
