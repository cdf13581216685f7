//! Inventories that a scan never writes, which reading by row and by block must reject; and very deep ones.

use std::path::Path;

use megadir::FileType;
use parquet::file::metadata::ParquetMetaDataReader;

use super::{Inventory, WriteOptions, Writer};
use crate::metadata::{FORMAT_VERSION, Metadata, Root, Scanned, Volume};
use crate::row::{Facts, OwnedRow};
use crate::rows::{Blocks, Building, Rows, Sink};

pub(crate) fn root(path: &[u8]) -> Root {
    Root {
        path: path.to_vec(),
        file_system: "ext4".into(),
        driver: None,
        lasting_inodes: None,
        granule_ns: Some(1),
        newest_ns: None,
    }
}

/// Metadata of an inventory without rows.
pub(crate) fn metadata(roots: Vec<Root>) -> Metadata {
    let scanned = Scanned {
        cross_mounts: false,
        stat_backend: "statx".into(),
        threads: 1,
        mounts_not_entered: 0,
        selected: None,
    };
    Metadata {
        version: FORMAT_VERSION,
        program: "test".into(),
        roots,
        started_ns: 1_234_567,
        ended_ns: 2,
        scanned,
        rows: 0,
        failed: 0,
        unread_directories: 0,
        volumes: Some(vec![Volume {
            device: 66,
            fsid: "90d27687133a8f6d".into(),
            identity: None,
            mount: None,
        }]),
    }
}

fn facts(kind: FileType) -> Facts {
    Facts { kind, size_bytes: Some(1), links: Some(1), ..Facts::NOTHING }
}

fn row(parent: &str, name: &str, kind: FileType) -> OwnedRow {
    let (parent, name) = (parent.as_bytes().to_vec(), name.as_bytes().to_vec());
    OwnedRow { root: 0, parent, name, facts: facts(kind), error: None }
}

fn write(path: &Path, rows: &[OwnedRow], group_rows: usize) {
    let roots = vec![b"/a".to_vec(); 3];
    let mut writer = Writer::create(path, roots, WriteOptions { threads: 0, level: 1, group_rows }).unwrap();
    rows.iter().for_each(|row| writer.add(&row.row()).unwrap());
    let metadata = metadata(vec![root(b"/a"), root(b"/b")]);
    writer.finish(&Metadata { rows: rows.len() as u64, ..metadata }).unwrap();
}

fn read(path: &Path) -> Result<usize, String> {
    let by_rows = || {
        let (mut inventory, mut rows) = (Inventory::open(path)?, 0);
        while inventory.next_row()?.is_some() {
            rows += 1;
        }
        Ok(rows)
    };
    let by_blocks = || {
        let (mut blocks, mut rows) = (Blocks::new(Inventory::open(path)?), 0);
        while let Some(block) = blocks.next_block()? {
            rows += block.len() + usize::from(block.root_row.is_some());
        }
        Ok(rows)
    };
    let message = |error: megadir::Error| error.to_string();
    let (rows, blocks) = (by_rows().map_err(message), by_blocks().map_err(message));
    assert_eq!(rows, blocks);
    rows
}

/// Two valid trees with directories whose byte order differs from their component order.
fn honest() -> Vec<OwnedRow> {
    use FileType::{Directory, File, Symlink};
    let mut rows = vec![
        row("", "", Directory),
        row("", "a", Directory),
        row("", "a-b", Directory),
        row("", "b", File),
        row("", "link", Symlink),
        row("a", "..c", Directory),
        row("a", "f", File),
        row("a-b", "x", Directory),
        row("a-b/x", "y", Directory),
        row("a-b/x/y", "...", File),
        row("a/..c", "g", File),
    ];
    let second = rows[..2].iter().map(|row| OwnedRow { root: 1, ..row.clone() });
    rows.extend(second.collect::<Vec<_>>());
    rows
}

#[test]
fn scanned_inventory_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inventory");
    for group_rows in [1, 3, 100] {
        write(&path, &honest(), group_rows);
        assert_eq!(read(&path), Ok(13), "{group_rows}");
    }
}

#[test]
fn rows_that_lead_out_of_the_tree_are_refused_by_name() {
    use FileType::{Directory, File};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inventory");
    let long = "n".repeat(1531);
    let negative = |change: fn(&mut Facts)| {
        let mut row = row("a", "f", File);
        change(&mut row.facts);
        row
    };
    let cases = [
        (row("", "/etc/passwd", File), "'/etc/passwd' is not a valid name"),
        (row("", "../x", File), "'../x' is not a valid name"),
        (row("", "link/secret", File), "'link/secret' is not a valid name"),
        (row("", ".", Directory), "'.' is not a valid name"),
        (row("", "..", Directory), "'..' is not a valid name"),
        (row("a", "", File), "a row has no name (in 'a')"),
        (row("", "nul\0nul", File), "'nul\\0nul' is not a valid name"),
        (row("", &long, File), "a name of 1531 bytes, 'nnn"),
        (row("..", "x", File), "rows lie in '..', which has an invalid component"),
        (row("a/../..", "x", File), "rows lie in 'a/../..', which has an invalid component"),
        (row("/a", "x", File), "rows lie in '/a', which is absolute"),
        (row("/etc", "x", File), "rows lie in '/etc', which is absolute"),
        (row("a//", "x", File), "rows lie in 'a//', which has an invalid component"),
        (row("link", "secret", File), "rows lie in 'link', which is not a directory of the inventory"),
        (row("b", "x", File), "rows lie in 'b', which is not a directory of the inventory"),
        (row("a/..c/d", "x", File), "rows lie in 'a/..c/d', which is not a directory of the inventory"),
        (row("zz", "x", File), "rows lie in 'zz', which is not a directory of the inventory"),
        (row("", "", File), "the root of tree 0 is not a directory but a file"),
        (negative(|facts| facts.size_bytes = Some(u64::MAX)), "'f' has a negative size"),
        (negative(|facts| facts.links = Some(1 << 63)), "'f' has a negative size or number of links"),
        (OwnedRow { root: 2, ..row("", "", Directory) }, "a row belongs to tree 2 of 2"),
    ];
    for (hostile, expected) in cases {
        let mut rows = honest();
        rows.retain(|row| row.row().key != hostile.row().key);
        rows.push(hostile);
        rows.sort_by(|a, b| a.row().key.cmp(&b.row().key));
        for group_rows in [1, 100] {
            write(&path, &rows, group_rows);
            let error = read(&path).expect_err(expected);
            assert!(error.contains("not written by a scan") && error.contains(expected), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}

#[test]
fn columns_that_lead_out_of_the_tree_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inventory");
    let many = |change: &dyn Fn(&mut OwnedRow)| {
        let names = (0..40).map(|number| row("a", &format!("n{number:02}"), FileType::File));
        let mut rows = vec![row("", "", FileType::Directory), row("", "a", FileType::Directory)];
        rows.extend(names);
        change(&mut rows[20]);
        rows.sort_by(|a, b| a.row().key.cmp(&b.row().key));
        write(&path, &rows, 100);
        read(&path)
    };
    assert_eq!(many(&|_| {}), Ok(42));
    for (name, expected) in [
        ("../x", "'../x' is not a valid name"),
        ("..", "'..' is not a valid name"),
        ("n\0", "'n\\0' is not a valid name"),
    ] {
        let error = many(&|row| row.name = name.as_bytes().to_vec()).expect_err(name);
        assert!(error.contains(expected), "{error}");
    }
    let error = many(&|row| row.facts.size_bytes = Some(1 << 63)).unwrap_err();
    assert!(error.contains("negative size"), "{error}");
}

#[test]
fn a_flipped_bit_of_the_metadata_is_damage_and_a_file_without_their_checksum_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inventory");
    write(&path, &honest(), 100);
    assert!(Inventory::open(&path).unwrap().has_footer_checksum());
    let whole = std::fs::read(&path).unwrap();
    let find = |text: &[u8]| whole.windows(text.len()).position(|there| there == text).unwrap();
    let started = find(b"\"started_ns\":1234567") + 19;
    let (device, id) = (find(b"\"device\":66") + 10, find(b"90d27687133a8f6d"));
    for (at, bit) in [(started, 0), (started, 1), (started, 2), (device, 0), (id, 0)] {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << bit;
        std::fs::write(&path, flipped).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.contains("does not match its checksum"), "{error}");
    }
    // Renaming the key hides it, as in files of older versions.
    let mut older = whole.clone();
    older[find(b"megadir.footer")] = b'M';
    std::fs::write(&path, older).unwrap();
    assert_eq!(read(&path), Ok(13));
    assert!(!Inventory::open(&path).unwrap().has_footer_checksum());
}

/// Flips a bit in the first column of a row group.
fn damage(path: &Path, group: usize) {
    let footer = ParquetMetaDataReader::new().parse_and_finish(&std::fs::File::open(path).unwrap()).unwrap();
    let column = footer.row_group(group).column(0);
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let mut bytes = std::fs::read(path).unwrap();
    bytes[start as usize] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn an_inventory_ends_after_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (file, parts) = (folder.path().join("inventory"), folder.path().join("parts"));
    std::fs::create_dir(&parts).unwrap();
    write(&file, &honest(), 5);
    damage(&file, 1);
    std::fs::copy(&file, parts.join("1.parquet")).unwrap();
    write(&parts.join("2.parquet"), &honest()[..1], 5);
    for path in [&file, &parts] {
        let mut inventory = Inventory::open(path).unwrap();
        for _ in 0..5 {
            assert!(inventory.next_row().unwrap().is_some());
        }
        let error = inventory.next_row().unwrap_err().to_string();
        assert!(error.contains("do not match their checksums"), "{error}");
        assert!(inventory.next_row().unwrap().is_none() && inventory.next_row().unwrap().is_none());
        let (mut inventory, mut building) = (Inventory::open(path).unwrap(), Building::default());
        let error = loop {
            match inventory.build(&mut building) {
                Ok(more) => assert!(more),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("do not match their checksums"), "{error}");
        assert!(!inventory.build(&mut building).unwrap() && !inventory.build(&mut building).unwrap());
        assert!(inventory.next_row().unwrap().is_none());
    }
}

/// So deep that full paths would take quadratic space.
fn write_deep(path: &Path, depth: usize, name_bytes: usize) -> (u64, Vec<OwnedRow>) {
    let mut rows = vec![row("", "", FileType::Directory)];
    let mut parent = String::new();
    for level in 0..depth {
        // Random names, which do not compress.
        let letter = |at| b'a' + ((level + 1).wrapping_mul(at * at * 31 + 7919) >> 3) as u8 % 26;
        let name: String = (0..name_bytes).map(|at: usize| char::from(letter(at))).collect();
        rows.push(row(&parent, &name, FileType::Directory));
        rows.push(row(&parent, "~", FileType::File));
        if !parent.is_empty() {
            parent.push('/');
        }
        parent.push_str(&name);
    }
    let options = WriteOptions { threads: 0, level: 1, group_rows: 1 << 16 };
    let mut writer = Writer::create(path, vec![b"/a".to_vec()], options).unwrap();
    rows.iter().for_each(|row| writer.add(&row.row()).unwrap());
    let metadata = Metadata { rows: rows.len() as u64, ..metadata(vec![root(b"/a")]) };
    (writer.finish(&metadata).unwrap(), rows)
}

#[test]
fn paths_are_stored_by_shared_prefixes_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inventory");
    // Below and above the threshold for prefix storage, and more than a row group.
    for (depth, name_bytes) in [(100, 200), (300, 200), (1500, 250)] {
        let (file_bytes, rows) = write_deep(&path, depth, name_bytes);
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
