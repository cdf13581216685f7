//! The five columns of `--raw` compared with another decoder of getdents64.

use std::mem::MaybeUninit;
use std::path::Path;

use megadir_testkit::mount::{BTRFS, EXT4, Mount, TMPFS, XFS};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Names};
use rustix::fs::{FileType, RawDir};

use crate::support::{run, scratch, split};

type Row = (u64, &'static str, u64, i64, Vec<u8>);

fn kind(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "symlink",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        other => panic!("{other:?} was not made"),
    }
}

fn by_rustix(directory: &Path) -> Vec<Row> {
    let file = std::fs::File::open(directory).unwrap();
    let mut buffer = vec![MaybeUninit::uninit(); 32 << 10];
    let mut reader = RawDir::new(&file, &mut buffer);
    let mut rows = Vec::new();
    while let Some(entry) = reader.next() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        // A record is 19 bytes, the name and its NUL, padded to a multiple of eight.
        let record = (19 + name.len() as u64 + 1).next_multiple_of(8);
        rows.push((
            entry.ino(),
            kind(entry.file_type()),
            record,
            entry.next_entry_cookie() as i64,
            name.to_vec(),
        ));
    }
    rows
}

#[track_caller]
fn parse(line: &[u8]) -> (u64, String, u64, i64, Vec<u8>) {
    let mut at = 0;
    let mut column = || {
        let start = at + line[at..].iter().position(|byte| *byte != b' ').unwrap();
        at = start + line[start..].iter().position(|byte| *byte == b' ').unwrap();
        std::str::from_utf8(&line[start..at]).unwrap().to_owned()
    };
    let (inode, kind, record, offset) = (column(), column(), column(), column());
    let name = line[at..].strip_prefix(b"  ").expect("two spaces before the name").to_vec();
    (inode.parse().unwrap(), kind, record.parse().unwrap(), offset.parse().unwrap(), name)
}

fn check(directory: &Path) {
    let expected = by_rustix(directory);
    for options in [&[][..], &["--backend", "readdir"], &["--buffer", "4KiB"], &["--backend", "getdents"]] {
        let options: Vec<&str> = ["list", "-j1", "--raw", "-0"].iter().chain(options).copied().collect();
        let output = run(directory, &options).quiet();
        let rows: Vec<_> = split(&output, 0).iter().map(|line| parse(line)).collect();
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(&expected) {
            let row = (row.0, row.1.as_str(), row.2, row.3, row.4.clone());
            assert_eq!(row, *expected, "{options:?}");
        }
    }
}

#[test]
fn raw_columns_match_the_kernel() {
    let scratch = scratch();
    for (index, names) in Names::ALL.into_iter().enumerate() {
        let directory = scratch.path().join(index.to_string());
        Flat { entries: 300, names, kinds: Kinds::Mixed, seed: 7 }.build(&directory);
        check(&directory);
    }
}

#[test]
fn raw_columns_match_every_file_system() {
    for recipe in [&EXT4, &XFS, &BTRFS, &TMPFS] {
        let mount = require!(Mount::make(recipe));
        let directory = mount.path().join("d");
        Flat { entries: 2000, names: Names::Varied, kinds: Kinds::Mixed, seed: 2 }.build(&directory);
        check(&directory);
    }
}

#[test]
fn raw_combines_with_sorting_recursion_and_several_directories() {
    let scratch = scratch();
    Flat { entries: 100, names: Names::Plain, kinds: Kinds::Mixed, seed: 0 }.build(&scratch.path().join("d"));
    let mut expected = by_rustix(&scratch.path().join("d"));
    expected.sort_by(|a, b| a.4.cmp(&b.4));
    let lines = run(scratch.path(), &["list", "--raw", "--sort", "name", "-r", "d"]).lines();
    for (line, row) in lines.iter().zip(&expected) {
        let (inode, kind, record, offset, name) = parse(line);
        assert_eq!((inode, kind.as_str(), record, offset), (row.0, row.1, row.2, row.3));
        assert_eq!(name, [b"d/", row.4.as_slice()].concat());
    }
    assert_eq!(lines.len(), 100);
    let by_inode = run(scratch.path(), &["list", "--raw", "--sort", "inode", "d"]).lines();
    assert!(by_inode.windows(2).all(|pair| parse(&pair[0]).0 < parse(&pair[1]).0));
}
