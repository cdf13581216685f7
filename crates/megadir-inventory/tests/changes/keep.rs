//! The rows that a comparison keeps equal the rows of a new scan, at any memory limit.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use megadir::{Dir, FileType};
use megadir_inventory::changes::{CompareOptions, Keep, Watch, compare};
use megadir_inventory::{ContentHash, Metadata, OwnedRow, Row, Rows, ScanOptions, scan};
use megadir_testkit::require;
use megadir_testkit::unprivileged::unprivileged;

/// Sorted rows in memory.
struct SliceRows<'a> {
    metadata: &'a Metadata,
    rows: std::slice::Iter<'a, OwnedRow>,
}

impl Rows for SliceRows<'_> {
    fn metadata(&self) -> &Metadata {
        self.metadata
    }

    fn next_row(&mut self) -> megadir::Result<Option<Row<'_>>> {
        Ok(self.rows.next().map(OwnedRow::row))
    }
}

fn scanned(roots: &[PathBuf]) -> (Metadata, Vec<OwnedRow>) {
    let options = ScanOptions {
        threads: 1,
        threads_max: 1,
        attributes: true,
        cross_mounts: false,
        stat_backend: None,
        read_ahead: megadir::ReadAhead::Auto,
        buffer_bytes: 4096,
        queue_directories_max: 4,
        memory_bytes: 64 << 20,
        spill_directory: std::env::temp_dir(),
        exclude: Vec::new(),
        conditions: None,
        entries_per_second_max: None,
    };
    let mut rows = Vec::new();
    let metadata = scan(roots, &options, &mut |_| ControlFlow::Continue(()), &mut rows).unwrap().unwrap();
    forget_listings(&mut rows);
    (metadata, rows)
}

/// Listing a directory is an access, perhaps after it was examined.
fn forget_listings(rows: &mut [OwnedRow]) {
    let directories = rows.iter_mut().filter(|row| row.facts.kind == FileType::Directory);
    directories.for_each(|row| row.facts.accessed_ns = None);
}

/// Compares with these rows, and returns the kept ones.
fn kept(
    (metadata, rows): &(Metadata, Vec<OwnedRow>),
    threads: usize,
    memory_bytes: usize,
) -> (Metadata, Vec<OwnedRow>) {
    let spill = tempfile::tempdir().unwrap();
    let keep = Keep { memory_bytes, spill_directory: spill.path().to_owned() };
    let options = CompareOptions { keep: Some(keep), ..CompareOptions::new(threads) };
    let path = |path: &[u8]| PathBuf::from(&*megadir::names::to_os(path).unwrap());
    let roots = metadata.roots.iter().map(|root| Dir::open(path(&root.path))).collect();
    let rows = SliceRows { metadata, rows: rows.iter() };
    let mut compared = compare(rows, roots, &options, &Watch::default()).unwrap();
    let (now, mut rows) = (compared.now.take().unwrap(), Vec::new());
    let written = now.write(&mut |_| ControlFlow::Continue(()), &mut rows).unwrap().unwrap();
    assert_eq!(written.rows, rows.len() as u64);
    forget_listings(&mut rows);
    assert_eq!(fs::read_dir(spill.path()).unwrap().count(), 0, "temporary files are unlinked");
    (written, rows)
}

/// Directories of up to 9000 entries, and a chain whose paths are longer than a system call takes.
fn build(top: &Path) {
    for (directory, entries) in [("a", 9000), ("a-b", 9), ("a/b", 300), ("e", 1), ("f", 0)] {
        fs::create_dir(top.join(directory)).unwrap();
        for number in 0..entries {
            fs::write(top.join(directory).join(format!("{number}")), "").unwrap();
        }
    }
    let mut last = Dir::open(top).unwrap();
    for _ in 0..40 {
        let name = "n".repeat(200);
        rustix::fs::mkdirat(&last, &name, rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
        last = last.open_below(name.as_bytes()).unwrap();
    }
}

#[test]
fn kept_rows_equal_a_new_scan_and_keep_their_hashes() {
    let scratch = tempfile::tempdir().unwrap();
    let tops = ["one", "two"].map(|name| scratch.path().join(name));
    for top in &tops {
        fs::create_dir(top).unwrap();
        build(top);
    }
    // Unchanged rows keep their hashes only when they are not suspects.
    std::thread::sleep(Duration::from_millis(200));
    let mut before = scanned(&tops);
    for (index, row) in before.1.iter_mut().enumerate().skip(1).step_by(7) {
        row.facts.hash = Some(ContentHash::Blake3([index as u8; 32]));
    }
    for (name, text) in [("a/5", "changed"), ("a-b/new", ""), ("f/new", "")] {
        fs::write(tops[1].join(name), text).unwrap();
    }
    // Access times are newer, which is no change: hashes stay.
    for number in 10..50 {
        fs::read(tops[1].join(format!("a/{number}"))).unwrap();
    }
    fs::rename(tops[0].join("a/b"), tops[0].join("a/moved")).unwrap();
    fs::remove_file(tops[1].join("e/0")).unwrap();
    let (metadata, mut expected) = scanned(&tops);
    let key = |row: &OwnedRow| (row.root, row.parent.clone(), row.name.clone());
    let old: BTreeMap<_, _> = before.1.iter().map(|row| (key(row), row)).collect();
    let mut hashes = 0;
    for row in &mut expected {
        let same = old.get(&key(row)).filter(|old| {
            let accessed_ns = row.facts.accessed_ns;
            let facts = megadir_inventory::Facts { hash: None, accessed_ns, ..old.facts };
            facts == row.facts && !row.name.is_empty()
        });
        row.facts.hash = same.and_then(|old| old.facts.hash);
        hashes += u32::from(row.facts.hash.is_some());
    }
    assert!(hashes > 2000, "{hashes}");
    for (threads, memory_bytes) in [(1, 60_000), (2, 1 << 20), (2, 64 << 20)] {
        let (written, rows) = kept(&before, threads, memory_bytes);
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(&expected) {
            assert_eq!(row, expected, "{threads} threads, {memory_bytes} bytes");
        }
        assert_eq!((&written.roots, written.rows), (&metadata.roots, metadata.rows));
        assert_eq!((written.failed, written.unread_directories, &written.volumes), (0, 0, &metadata.volumes));
    }
}

#[test]
fn unreadable_directories_keep_rows_with_an_error_and_suspects_remain() {
    if !rustix::process::geteuid().is_root() {
        return require::not_run("what_cannot_be_read_keeps_its_rows", "only root can change its user");
    }
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), Permissions::from_mode(0o755)).unwrap();
    let closed = scratch.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("old"), "text").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    fs::write(closed.join("suspect"), "text").unwrap();
    let before = scanned(&[scratch.path().to_owned()]);
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let (metadata, rows) = unprivileged(|| kept(&before, 1, 1 << 20));
    let of = |name: &str| rows.iter().find(|row| row.name == name.as_bytes()).unwrap();
    assert_eq!((metadata.failed, metadata.unread_directories), (1, 1));
    assert_eq!(of("closed").error.as_deref(), Some("open: Permission denied"));
    let old = before.1.iter().find(|row| row.name == b"old").unwrap();
    assert_eq!(of("old"), old);
    // The new inventory starts later: its times alone would say that the file cannot have changed unnoticed.
    assert!(of("suspect").facts.errno.is_some() && of("suspect").error.is_some());
    fs::set_permissions(&closed, Permissions::from_mode(0o755)).unwrap();
    let options = crate::options(1, true);
    let roots = vec![Dir::open(scratch.path())];
    let compared =
        compare(SliceRows { metadata: &metadata, rows: rows.iter() }, roots, &options, &Watch::default())
            .unwrap();
    let suspects: Vec<_> = compared.changes.iter().filter(|change| change.suspect).collect();
    assert_eq!(suspects.len(), 1, "{:?}", compared.changes);
    assert!(suspects[0].path == b"closed/suspect"[..]);
}
