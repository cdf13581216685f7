//! The `parquet` crate reads back every column of every row that our own encoders write.
#![cfg(test)]

use megadir::FileType;
use megadir_inventory::{
    ContentHash, FORMAT_VERSION, Facts, Key, Metadata, OwnedRow, Row, Scanned, Sink, WriteOptions, Writer,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// Equal and entirely different rows, in directories of all sizes.
fn rows() -> Vec<OwnedRow> {
    let mut random = 7u64;
    let mut next = |most: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % most
    };
    let mut rows = Vec::new();
    for number in 0..6000u64 {
        let directory = next(40);
        let alike = directory % 2 == 0;
        let facts = Facts {
            kind: FileType::ALL[if alike { 0 } else { next(FileType::ALL.len() as u64) as usize }],
            size_bytes: (next(9) > 0).then(|| if alike { 0 } else { next(1 << 30) << next(30) }),
            modified_ns: Some(1_700_000_000_000_000_000 - next(1 << 30) as i64),
            changed_ns: (!alike || next(3) > 0).then(|| i64::MIN + 1 + next(1 << 30) as i64),
            born_ns: alike.then_some(i64::MAX),
            inode: Some(number ^ u64::MAX),
            inode_high: (next(500) == 0).then_some(u64::MAX),
            device: Some(if alike { 2049 } else { next(1 << 31) << 20 }),
            mode: Some(if next(10) == 0 { 0o4755 } else { 0o644 }),
            user: Some(if alike { 0 } else { u32::MAX - next(40) as u32 }),
            group: (next(2) == 0).then_some(u32::MAX),
            links: Some(1 + next(3)),
            allocated_bytes: (!alike || next(4) > 0).then(|| next(1 << 20) << 9),
            accessed_ns: (!alike || next(4) > 0).then(|| next(1 << 40) as i64 - (1 << 39)),
            errno: (next(300) == 0).then_some(13),
            hash: match next(100) {
                0 => Some(ContentHash::Sha256([number as u8; 32])),
                1 => Some(ContentHash::Blake3([number as u8; 32])),
                _ => None,
            },
        };
        let name = match number % 5 {
            0 => format!("\u{e4}-{number}").into_bytes(),
            1 => [&b"\xff"[..], format!("{number:0200}").as_bytes()].concat(),
            _ => format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes(),
        };
        let parent = format!("d{:01$}", directory, 1 + directory as usize % 7).into_bytes();
        let error = (next(200) == 0).then(|| format!("open: reason {}", number % 9));
        rows.push(OwnedRow { root: 0, parent, name, facts, error });
    }
    rows.sort_by(|a, b| a.row().key.cmp(&b.row().key));
    rows
}

fn write(path: &std::path::Path, rows: &[OwnedRow]) {
    let scanned = Scanned {
        cross_mounts: false,
        stat_backend: "statx".to_owned(),
        threads: 1,
        mounts_not_entered: 0,
        selected: None,
    };
    let metadata = Metadata {
        version: FORMAT_VERSION,
        program: "test".to_owned(),
        roots: Vec::new(),
        started_ns: 1,
        ended_ns: 2,
        scanned,
        rows: rows.len() as u64,
        failed: 0,
        unread_directories: 0,
        volumes: None,
    };
    let options = WriteOptions { threads: 0, level: 1, group_rows: 2500 };
    let mut writer = Writer::create(path, vec![b"/tree".to_vec()], options).expect("created");
    rows.iter().for_each(|row| writer.add(&row.row()).expect("added"));
    writer.finish(&metadata).expect("finished");
}

/// Returns a row as the `parquet` crate represents it.
fn fields(row: &Row<'_>) -> Vec<Field> {
    let Key { root, parent, name } = row.key;
    let mut path = Vec::new();
    row.key.text_into(b"/tree", &mut path);
    let or_null = |field: Option<Field>| field.unwrap_or(Field::Null);
    let facts = &row.facts;
    let (sha256, blake3) = match facts.hash {
        Some(ContentHash::Sha256(hash)) => (Some(hash), None),
        Some(ContentHash::Blake3(hash)) => (None, Some(hash)),
        None => (None, None),
    };
    vec![
        Field::Int(root as i32),
        Field::Bytes(parent.to_vec().into()),
        Field::Bytes(name.to_vec().into()),
        Field::Str(String::from_utf8(path).expect("a path is text")),
        Field::Str(facts.kind.name().to_owned()),
        or_null(facts.size_bytes.map(|size| Field::Long(size as i64))),
        or_null(facts.modified_ns.map(Field::Long)),
        or_null(facts.changed_ns.map(Field::Long)),
        or_null(facts.born_ns.map(Field::Long)),
        or_null(facts.inode.map(Field::ULong)),
        or_null(facts.inode_high.map(Field::ULong)),
        or_null(facts.device.map(|device| Field::Long(device as i64))),
        or_null(facts.mode.map(|mode| Field::Int(mode.into()))),
        or_null(facts.user.map(Field::UInt)),
        or_null(facts.group.map(Field::UInt)),
        or_null(facts.links.map(|links| Field::Long(links as i64))),
        or_null(facts.errno.map(Field::Int)),
        or_null(facts.allocated_bytes.map(|bytes| Field::Long(bytes as i64))),
        or_null(facts.accessed_ns.map(Field::Long)),
        or_null(row.error.map(|error| Field::Str(error.to_owned()))),
        or_null(sha256.map(|hash| Field::Bytes(hash.to_vec().into()))),
        or_null(blake3.map(|hash| Field::Bytes(hash.to_vec().into()))),
    ]
}

#[test]
fn other_parquet_readers_read_the_inventory() {
    if cfg!(target_endian = "big") {
        let why = "the crate parquet reads plain numbers in the processor's order of bytes";
        return megadir_testkit::require::unavailable("other_parquet_readers_read_the_inventory", why);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("inventory.parquet");
    let rows = rows();
    write(&path, &rows);
    let file = SerializedFileReader::new(std::fs::File::open(&path).expect("open")).expect("Parquet");
    assert_eq!(file.metadata().num_row_groups(), 3);
    let read = file.get_row_iter(None).expect("rows");
    let mut count = 0;
    for (read, row) in read.zip(&rows) {
        let read: Vec<Field> =
            read.expect("a row").into_columns().into_iter().map(|column| column.1).collect();
        assert_eq!(read, fields(&row.row()), "{row:?}");
        count += 1;
    }
    assert_eq!(count, rows.len());
}
