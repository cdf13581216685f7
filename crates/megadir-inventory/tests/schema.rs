//! Columns of the file, and their values in other readers.
#![cfg(test)]

use std::path::Path;
use std::process::Command;

use megadir_inventory::{
    ContentHash, FORMAT_VERSION, Facts, Key, Metadata, Root, Row, Scanned, Sink, WriteOptions, Writer,
};
use megadir_testkit::output::golden;
use megadir_testkit::require;
use parquet::file::reader::{FileReader, SerializedFileReader};

/// Writes an inventory of two rows: one with all fields known, one with none.
fn write(path: &Path) {
    let root = Root {
        path: b"/tree".to_vec(),
        file_system: "ext4".to_owned(),
        driver: None,
        lasting_inodes: None,
        granule_ns: None,
        newest_ns: None,
    };
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
        roots: vec![root],
        started_ns: 1,
        ended_ns: 2,
        scanned,
        rows: 2,
        failed: 1,
        unread_directories: 1,
        volumes: None,
    };
    let options = WriteOptions { threads: 0, level: 1, group_rows: 10 };
    let mut writer = Writer::create(path, vec![b"/tree".to_vec()], options).expect("created");
    let full = Facts {
        kind: megadir::FileType::File,
        size_bytes: Some(1 << 40),
        modified_ns: Some(-1),
        changed_ns: Some(i64::MAX),
        born_ns: Some(1_700_000_000_123_456_789),
        inode: Some(u64::MAX),
        inode_high: Some(1),
        device: Some(2049),
        mode: Some(0o644),
        user: Some(u32::MAX),
        group: Some(7),
        links: Some(2),
        errno: None,
        allocated_bytes: Some(8192),
        accessed_ns: Some(1_700_000_000_987_654_321),
        hash: Some(ContentHash::Sha256([0x61; 32])),
    };
    let name = "f\u{fc}r".as_bytes();
    let unknown = Key { root: 0, parent: b"d", name: b"\xff" };
    for row in [
        Row { key: Key { root: 0, parent: b"", name }, facts: full, error: None },
        Row { key: unknown, facts: Facts::NOTHING, error: Some("open: Permission denied") },
    ] {
        writer.add(&row).expect("added");
    }
    writer.finish(&metadata).expect("finished");
}

#[test]
fn the_schema_is_the_one_that_is_documented() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("inventory.parquet");
    write(&path);
    let file = SerializedFileReader::new(std::fs::File::open(&path).expect("open")).expect("Parquet");
    let mut text = Vec::new();
    parquet::schema::printer::print_schema(&mut text, file.metadata().file_metadata().schema());
    for column in file.metadata().row_group(0).columns() {
        let encodings: Vec<_> = column.encodings().map(|encoding| encoding.to_string()).collect();
        let line = format!("{}: {}, {}\n", column.column_path(), column.compression(), encodings.join(" "));
        text.extend_from_slice(line.as_bytes());
    }
    let text = String::from_utf8(text).expect("UTF-8");
    golden(env!("CARGO_MANIFEST_DIR"), "tests/schema.golden", &text);
    // Each column is documented under its name.
    let documented = include_str!("../../../docs/inventory.md");
    for column in file.metadata().file_metadata().schema_descr().columns() {
        assert!(documented.contains(&format!("| `{}` |", column.name())), "{}", column.name());
    }
}

/// Finds a Python with DuckDB, or installs DuckDB from PyPI in a persistent virtual environment.
fn python() -> Result<Command, String> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-duckdb");
    let python = || {
        let mut python = Command::new("python3");
        python.env("PYTHONPATH", &place);
        python
    };
    let has = || python().args(["-c", "import duckdb"]).output().is_ok_and(|output| output.status.success());
    if has() {
        return Ok(python());
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "duckdb", "--target"];
    let output = Command::new("python3").args(install).arg(&place).output();
    let output = output.map_err(|error| format!("no python3: {error}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let why = || {
        format!("no DuckDB from PyPI (package python3-pip): {}", stderr.lines().last().unwrap_or_default())
    };
    if has() { Ok(python()) } else { Err(why()) }
}

/// Reads all columns and prints rows in Python's notation.
const QUERY: &str = "
import duckdb, sys
duckdb.sql('set enable_progress_bar = false')  # it goes to standard output after two seconds
relation = duckdb.sql(f\"select * from '{sys.argv[1]}'\")
print(relation.columns)
print(relation.types)
for row in relation.fetchall():
    print(row)
print(duckdb.sql(f\"select count(*), max(inode), sum(size) from '{sys.argv[1]}' where type = 'file'\").fetchall())
";

#[test]
fn duckdb_reads_an_inventory_without_conversion() {
    let mut python = require!(python());
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("inventory.parquet");
    write(&path);
    let output = python.args(["-c", QUERY]).arg(&path).output().expect("Python runs");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(
        lines[0],
        "['root', 'parent', 'name', 'path', 'type', 'size', 'mtime_ns', 'ctime_ns', 'btime_ns', 'inode', \
         'inode_high', 'device', 'mode', 'uid', 'gid', 'links', 'errno', 'allocated', \
         'atime_ns', 'error', 'sha256', 'blake3']"
    );
    assert_eq!(
        lines[1],
        "[INTEGER, BLOB, BLOB, VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT, BIGINT, UBIGINT, UBIGINT, BIGINT, INTEGER, \
         UINTEGER, UINTEGER, BIGINT, INTEGER, BIGINT, BIGINT, VARCHAR, BLOB, BLOB]"
    );
    assert_eq!(
        lines[2],
        "(0, b'', b'f\\xc3\\xbcr', '/tree/f\u{fc}r', 'file', 1099511627776, -1, 9223372036854775807, \
         1700000000123456789, 18446744073709551615, 1, 2049, 420, 4294967295, 7, 2, None, 8192, \
         1700000000987654321, None, b'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', None)"
    );
    assert_eq!(
        lines[3],
        "(0, b'd', b'\\xff', '/tree/d/\\\\xff', 'unknown', None, None, None, None, None, None, None, None, None, None, \
         None, None, None, None, 'open: Permission denied', None, None)"
    );
    assert_eq!(lines[4], "[(1, 18446744073709551615, 1099511627776)]");
}

/// Writes an inventory of a chain of directories whose paths use prefix storage; returns its depth.
fn write_deep(path: &Path) -> usize {
    let (depth, name) = (400, [b'n'; 200]);
    let root = Root {
        path: b"/tree".to_vec(),
        file_system: "ext4".to_owned(),
        driver: None,
        lasting_inodes: None,
        granule_ns: None,
        newest_ns: None,
    };
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
        roots: vec![root],
        started_ns: 1,
        ended_ns: 2,
        scanned,
        rows: depth as u64 + 1,
        failed: 0,
        unread_directories: 0,
        volumes: None,
    };
    let options = WriteOptions { threads: 0, level: 1, group_rows: 1 << 16 };
    let mut writer = Writer::create(path, vec![b"/tree".to_vec()], options).expect("created");
    let facts = Facts { kind: megadir::FileType::Directory, ..Facts::NOTHING };
    let mut parent = Vec::new();
    writer.add(&Row { key: Key { root: 0, parent: b"", name: b"" }, facts, error: None }).expect("added");
    for _ in 0..depth {
        let key = Key { root: 0, parent: &parent, name: &name };
        writer.add(&Row { key, facts, error: None }).expect("added");
        let mut below = Vec::new();
        key.path_into(&mut below);
        parent = below;
    }
    writer.finish(&metadata).expect("finished");
    depth
}

#[test]
fn duckdb_reads_paths_that_are_stored_by_their_prefixes() {
    let mut python = require!(python());
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("inventory.parquet");
    let depth = write_deep(&path);
    let file = SerializedFileReader::new(std::fs::File::open(&path).expect("open")).expect("Parquet");
    let encodings: Vec<_> = file.metadata().row_group(0).column(1).encodings().collect();
    assert!(encodings.contains(&parquet::basic::Encoding::DELTA_BYTE_ARRAY), "{encodings:?}");
    let query = "
import duckdb, sys
duckdb.sql('set enable_progress_bar = false')
rows = duckdb.sql(f\"select parent, path from '{sys.argv[1]}' order by root, parent, name\").fetchall()
name = b'n' * 200
for depth, (parent, path) in enumerate(rows[1:]):
    assert parent == b'/'.join([name] * depth), depth
    assert path == '/tree' + '/nnn'.replace('nnn', name.decode()) * (depth + 1), depth
print(len(rows))
";
    let output = python.args(["-c", query]).arg(&path).output().expect("Python runs");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed.trim(), (depth + 1).to_string());
}
