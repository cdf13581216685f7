//! Rows written are the rows read, for rows of every kind, in one row group and in several.
#![cfg(test)]

use std::path::Path;

use megadir::FileType;
use megadir_inventory::{
    ContentHash, FORMAT_VERSION, Facts, Inventory, Metadata, OwnedRow, Root, Rows, Scanned, Sink,
    WriteOptions, Writer,
};

fn metadata(rows: u64) -> Metadata {
    let root = Root {
        path: b"/\xfftree".to_vec(),
        file_system: "ext4".to_owned(),
        driver: Some("fuse.ext4".to_owned()),
        lasting_inodes: Some(false),
        granule_ns: Some(4_000_000),
        newest_ns: Some(5),
    };
    Metadata {
        version: FORMAT_VERSION,
        program: "test".to_owned(),
        roots: vec![root],
        started_ns: 1,
        ended_ns: 2,
        scanned: Scanned {
            cross_mounts: true,
            stat_backend: "statx".to_owned(),
            threads: 3,
            mounts_not_entered: 4,
            selected: None,
        },
        rows,
        failed: 5,
        unread_directories: 6,
        volumes: None,
    }
}

fn full(number: u64) -> Facts {
    Facts {
        kind: FileType::ALL[number as usize % FileType::ALL.len()],
        size_bytes: Some(number),
        modified_ns: Some(-(number as i64)),
        changed_ns: Some(i64::MAX - number as i64),
        born_ns: Some(-i64::MAX),
        inode: Some(u64::MAX - number),
        inode_high: Some(u64::MAX),
        device: Some(0x1000_0002_3400),
        mode: Some(0o7777),
        user: Some(u32::MAX - 1),
        group: Some(number as u32),
        links: Some(1 << 40),
        errno: Some(13),
        allocated_bytes: (!number.is_multiple_of(5)).then_some(number << 12),
        accessed_ns: (!number.is_multiple_of(7)).then_some(-i64::MAX + number as i64),
        hash: match number % 4 {
            0 => Some(ContentHash::Sha256([number as u8; 32])),
            1 => Some(ContentHash::Blake3([number as u8; 32])),
            _ => None,
        },
    }
}

/// Rows with varying known fields: `count` in directories, plus the rows of the directories.
fn rows(count: u64) -> Vec<OwnedRow> {
    let directory = |number: u64| OwnedRow {
        root: 0,
        parent: Vec::new(),
        name: format!("d{number}").into_bytes(),
        facts: Facts { kind: FileType::Directory, ..Facts::NOTHING },
        error: None,
    };
    let mut rows: Vec<OwnedRow> = (0..count)
        .map(|number| {
            let known = full(number);
            let facts = match number % 4 {
                0 => known,
                1 => Facts { kind: known.kind, ..Facts::NOTHING },
                2 => Facts { born_ns: None, inode_high: None, errno: None, ..known },
                _ => Facts { size_bytes: None, user: None, ..known },
            };
            OwnedRow {
                root: 0,
                parent: format!("d{}", number % 300).into_bytes(),
                name: [format!("{number:06}").as_bytes(), b"\xff\n"].concat(),
                facts,
                error: (number % 7 == 0).then(|| format!("open: reason {number}")),
            }
        })
        .collect();
    rows.extend((0..count.min(300)).map(directory));
    rows.sort_by(|a, b| a.row().key.cmp(&b.row().key));
    rows
}

fn write(path: &Path, rows: &[OwnedRow], threads: usize) {
    let metadata = metadata(rows.len() as u64);
    let roots = metadata.roots.iter().map(|root| root.path.clone()).collect();
    let mut writer =
        Writer::create(path, roots, WriteOptions { threads, level: 1, group_rows: 1000 }).unwrap();
    rows.iter().for_each(|row| writer.add(&row.row()).unwrap());
    assert_eq!(writer.finish(&metadata).unwrap(), std::fs::metadata(path).unwrap().len());
}

fn read(path: &Path) -> (Metadata, Vec<OwnedRow>) {
    let mut inventory = Inventory::open(path).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = inventory.next_row().unwrap() {
        rows.push(OwnedRow::from(row));
    }
    (inventory.metadata().clone(), rows)
}

#[test]
fn rows_and_metadata_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inventory.parquet");
    for (count, threads) in [(0, 0), (1, 1), (1000, 2), (10_001, 3), (7_500, 0)] {
        let rows = rows(count);
        write(&path, &rows, threads);
        let (read_metadata, read_rows) = read(&path);
        assert_eq!(read_metadata, metadata(rows.len() as u64));
        assert!(read_rows == rows, "{count} rows by {threads} threads");
    }
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 1, "nothing but the inventory is left");
}

#[test]
fn threads_write_the_same_bytes_as_none() {
    let directory = tempfile::tempdir().unwrap();
    let rows = rows(5_500);
    let bytes = |threads| {
        let path = directory.path().join("inventory.parquet");
        write(&path, &rows, threads);
        std::fs::read(&path).unwrap()
    };
    let alone = bytes(0);
    assert!(alone == bytes(1) && alone == bytes(2));
}

#[test]
fn rows_that_do_not_ascend_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inventory.parquet");
    let rows = rows(2);
    let mut writer =
        Writer::create(&path, vec![b"/".to_vec()], WriteOptions { threads: 0, level: 1, group_rows: 1 })
            .unwrap();
    writer.add(&rows[1].row()).unwrap();
    for row in [&rows[1], &rows[0]] {
        let error = writer.add(&row.row()).unwrap_err();
        assert!(error.to_string().contains("are not sorted"), "{error}");
    }
    drop(writer);
    assert_eq!(
        std::fs::read_dir(directory.path()).unwrap().count(),
        0,
        "a writer that is dropped leaves nothing"
    );
}

#[test]
fn incomplete_inventory_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inventory.parquet");
    write(&path, &rows(1000), 0);
    let whole = std::fs::read(&path).unwrap();
    let complaint = |bytes: &[u8]| {
        let bad = directory.path().join("bad");
        std::fs::write(&bad, bytes).unwrap();
        let error = match Inventory::open(&bad) {
            Err(error) => error,
            Ok(mut inventory) => loop {
                match inventory.next_row() {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("read to its end"),
                    Err(error) => break error,
                }
            },
        };
        let words = error.to_string();
        assert_eq!(words.lines().count(), 1, "{words}");
        words
    };
    assert!(complaint(b"").contains("not a Parquet file"));
    assert!(complaint(b"name,size\n").contains("not a Parquet file"));
    for length in [4, 5, 100, whole.len() / 2, whole.len() - 1] {
        assert!(complaint(&whole[..length]).contains("truncated"), "{length} bytes");
    }
    let newer = whole.clone();
    let at = newer.windows(11).position(|bytes| bytes == b"\"version\":1").unwrap();
    let with = |text: &[u8; 11]| [&newer[..at], text, &newer[at + 11..]].concat();
    assert!(
        complaint(&with(b"\"version\":9")).contains("inventory version 9, but this program reads up to 1")
    );
    assert!(complaint(&with(b"\"version\":x")).contains("damaged metadata"));
    // Position of the metadata key, after its length byte.
    let key = whole.windows(8).position(|bytes| bytes == b"\x07megadir").unwrap() + 1;
    let other = [&whole[..key], b"another", &whole[key + 7..]].concat();
    assert!(complaint(&other).contains("not an inventory"), "{}", complaint(&other));
    let empty = tempfile::tempdir().unwrap();
    let error = Inventory::open(empty.path()).unwrap_err();
    assert!(error.to_string().contains("a directory, not an inventory"), "{error}");
}

#[test]
fn damage_is_an_error_or_other_rows_and_never_a_panic() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inventory.parquet");
    write(&path, &rows(50), 0);
    let whole = std::fs::read(&path).unwrap();
    let mut refused = 0;
    for at in (4..whole.len() - 4).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at..(at + 3).min(whole.len() - 4)].fill(0xa5);
        std::fs::write(&path, damaged).unwrap();
        let mut inventory = match Inventory::open(&path) {
            Ok(inventory) => inventory,
            Err(error) => {
                assert_eq!(error.to_string().lines().count(), 1, "{error}");
                refused += 1;
                continue;
            }
        };
        while let Ok(Some(_)) = inventory.next_row() {}
        refused += u64::from(inventory.next_row().is_ok_and(|row| row.is_none()));
    }
    assert!(refused > 100, "{refused}");
}
