//! Inventories so deep that full paths would take quadratic space.

use megadir::FileType;

use super::{Inventory, WriteOptions, Writer};
use crate::metadata::{FORMAT_VERSION, Metadata, Root, Scanned};
use crate::row::{Facts, OwnedRow};
use crate::rows::{Blocks, Rows, Sink};

fn write(path: &std::path::Path, depth: usize, name_bytes: usize) -> (u64, Vec<OwnedRow>) {
    let facts = |kind| Facts { kind, size_bytes: Some(7), ..Facts::NOTHING };
    let row = |parent: &[u8], name: &[u8], kind| OwnedRow {
        root: 0,
        parent: parent.to_vec(),
        name: name.to_vec(),
        facts: facts(kind),
        error: None,
    };
    let mut rows = vec![row(b"", b"", FileType::Directory)];
    let mut parent = Vec::new();
    for level in 0..depth {
        // Random names, which do not compress.
        let name: Vec<u8> = (0..name_bytes)
            .map(|at| b'a' + ((level + 1).wrapping_mul(at * at * 31 + 7919) >> 3) as u8 % 26)
            .collect();
        rows.push(row(&parent, &name, FileType::Directory));
        rows.push(row(&parent, b"~", FileType::File));
        if !parent.is_empty() {
            parent.push(b'/');
        }
        parent.extend_from_slice(&name);
    }
    let scanned = Scanned {
        cross_mounts: false,
        stat_backend: "statx".into(),
        threads: 1,
        mounts_not_entered: 0,
        selected: None,
    };
    let metadata = Metadata {
        version: FORMAT_VERSION,
        program: "test".into(),
        roots: vec![Root {
            path: b"/a".to_vec(),
            file_system: "ext4".into(),
            granule_ns: None,
            newest_ns: None,
        }],
        started_ns: 1,
        ended_ns: 2,
        scanned,
        rows: rows.len() as u64,
        failed: 0,
        unread_directories: 0,
        volumes: None,
    };
    let options = WriteOptions { threads: 0, level: 1, group_rows: 1 << 16 };
    let mut writer = Writer::create(path, vec![b"/a".to_vec()], options).unwrap();
    rows.iter().for_each(|row| writer.add(&row.row()).unwrap());
    (writer.finish(&metadata).unwrap(), rows)
}

#[test]
fn paths_are_stored_by_what_they_begin_with_alike_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inventory");
    // Below and above the threshold for prefix storage, and more than a row group.
    for (depth, name_bytes) in [(100, 200), (300, 200), (1500, 250)] {
        let (file_bytes, rows) = write(&path, depth, name_bytes);
        let whole: usize = rows.iter().map(|row| row.parent.len()).sum();
        let mut inventory = Inventory::open(&path).unwrap();
        for expected in &rows {
            let read = inventory.next_row().unwrap().unwrap();
            assert!(read == expected.row(), "{depth} deep");
        }
        assert!(inventory.next_row().unwrap().is_none());
        let (mut blocks, mut read) = (Blocks::new(Inventory::open(&path).unwrap()), 1);
        while let Some(block) = blocks.next_block().unwrap() {
            assert!(block.path == *rows[read].parent);
            read += block.len();
        }
        assert_eq!(read, rows.len());
        if depth == 1500 {
            assert!(whole > 500 << 20, "{whole}");
            // Each name appears in three columns, and each row group repeats one path.
            assert!(file_bytes < 12 << 20, "{file_bytes}");
        }
    }
}
