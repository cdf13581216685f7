//! Damaged and hostile packs: a line for each problem, no panic, nothing outside the directory.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use megadir::FileType;
use megadir_inventory::{
    Facts, GROUP_ROWS, Inventory, Key, PackIndex, Row, Rows, Stored, WriteOptions, Writer, note,
};
use megadir_pack::{ExtractOptions, INDEX, VerifyOptions, extract, verify};
use tempfile::TempDir;

use crate::packed;

fn tree(top: &Path) {
    fs::create_dir_all(top.join("directory")).unwrap();
    for number in 0..20 {
        fs::write(top.join(format!("directory/file-{number}")), vec![number as u8; number * 100]).unwrap();
    }
    std::os::unix::fs::symlink("directory/file-1", top.join("link")).unwrap();
    fs::hard_link(top.join("directory/file-2"), top.join("second")).unwrap();
}

/// `true` if verification finds a problem. Extraction must neither panic nor write outside.
fn is_found(pack: &Path, outside: &Path) -> bool {
    let options = VerifyOptions { source: None, threads: 1 };
    let mut problems = 0;
    let verified = verify(pack, &options, &mut |problem, _| {
        if let Some(problem) = problem {
            assert_eq!(problem.to_string().lines().count(), 1, "{problem}");
            problems += 1;
        }
        ControlFlow::Continue(())
    });
    let copy = outside.join("copy");
    let _ = extract(pack, &copy, &ExtractOptions { conditions: None }, &mut |_, _| ControlFlow::Continue(()));
    let _ = fs::remove_dir_all(&copy);
    assert!(!outside.join("escaped").exists() && !outside.join("directory").exists());
    problems > 0 || verified.is_err()
}

#[test]
fn every_damaged_byte_of_a_shard_is_found() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    tree(&source);
    packed(&source, &pack, 1 << 30);
    assert!(!is_found(&pack, directory.path()));
    let shard = pack.join("pack-00000.tar");
    let whole = fs::read(&shard).unwrap();
    for at in (0..whole.len()).step_by(97) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        fs::write(&shard, &damaged).unwrap();
        assert!(is_found(&pack, directory.path()), "byte {at}");
    }
    for length in [0, 1, 511, 512, whole.len() / 2, whole.len() - 1] {
        fs::write(&shard, &whole[..length]).unwrap();
        assert!(is_found(&pack, directory.path()), "{length} bytes");
    }
    fs::write(&shard, [&whole[..], &[0; 512]].concat()).unwrap();
    assert!(is_found(&pack, directory.path()));
    fs::remove_file(&shard).unwrap();
    assert!(is_found(&pack, directory.path()));
}

#[test]
fn contents_that_were_changed_in_a_shard_are_found() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    tree(&source);
    packed(&source, &pack, 1 << 30);
    let shard = pack.join("pack-00000.tar");
    let whole = fs::read(&shard).unwrap();
    let mut rows = PackIndex::open(&pack.join(INDEX)).unwrap();
    let mut places = Vec::new();
    while let Some((row, stored)) = rows.next_row().unwrap() {
        places.extend(stored.filter(|stored| row.facts.kind == FileType::File && stored.data_length > 0));
    }
    assert!(places.len() > 15);
    for Stored { data_offset, data_length, .. } in places {
        let mut damaged = whole.clone();
        damaged[(data_offset + data_length - 1) as usize] ^= 1;
        fs::write(&shard, &damaged).unwrap();
        assert!(is_found(&pack, directory.path()), "byte {}", data_offset + data_length - 1);
    }
}

#[test]
fn damaged_indexes_are_errors() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    tree(&source);
    packed(&source, &pack, 1 << 30);
    let index = pack.join(INDEX);
    let whole = fs::read(&index).unwrap();
    for at in (0..whole.len()).step_by(61) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        fs::write(&index, &damaged).unwrap();
        let _ = is_found(&pack, directory.path());
        fs::write(&index, &whole[..at]).unwrap();
        assert!(is_found(&pack, directory.path()), "cut at {at}");
    }
}

/// Writes an index for the shards of a pack with these rows.
fn forge(pack: &Path, rows: &[(&str, &str, FileType, Option<Stored>)]) {
    let index = pack.join(INDEX);
    let metadata = Inventory::open(&index).unwrap().metadata().clone();
    let shards = note(&index, "megadir.pack").unwrap().unwrap();
    let options = WriteOptions { threads: 0, level: 1, group_rows: GROUP_ROWS };
    let mut writer = Writer::of_pack(&index, vec![b"/tree".to_vec()], options).unwrap();
    for (parent, name, kind, stored) in rows {
        let facts = Facts { kind: *kind, size_bytes: Some(0), mode: Some(0o755), ..Facts::NOTHING };
        let key = Key { root: 0, parent: parent.as_bytes(), name: name.as_bytes() };
        writer.add_stored(&Row { key, facts, error: None }, *stored).unwrap();
    }
    writer.add_note("megadir.pack", shards);
    writer.finish(&megadir_inventory::Metadata { rows: rows.len() as u64, ..metadata }).unwrap();
}

#[test]
fn an_index_never_leads_outside_the_directory() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    tree(&source);
    packed(&source, &pack, 1 << 30);
    let place = |header_offset, data_offset, data_length| {
        Some(Stored { shard: 0, header_offset, data_offset, data_length, attributes_hash: 0 })
    };
    let (directory_kind, file) = (FileType::Directory, FileType::File);
    /// Parent, name, type and place.
    type Forged = (&'static str, &'static str, FileType, Option<Stored>);
    let forged: &[&[Forged]] = &[
        &[
            ("", "", directory_kind, None),
            ("", "..", directory_kind, None),
            ("..", "escaped", file, place(0, 512, 0)),
        ],
        &[("", "", directory_kind, None), ("..", "escaped", directory_kind, None)],
        &[("", "", directory_kind, None), ("", "../escaped", directory_kind, None)],
        &[("", "", directory_kind, None), ("/", "escaped", directory_kind, None)],
        &[
            ("", "", directory_kind, None),
            ("", "link", FileType::Symlink, place(0, 0, 0)),
            ("link", "escaped", directory_kind, None),
        ],
        &[
            ("", "", directory_kind, None),
            ("", "a", file, place(u64::MAX >> 1, u64::MAX >> 1, u64::MAX >> 1)),
        ],
        &[
            ("", "", directory_kind, None),
            (
                "",
                "a",
                file,
                Some(Stored {
                    shard: 9,
                    header_offset: 0,
                    data_offset: 0,
                    data_length: 1,
                    attributes_hash: 0,
                }),
            ),
        ],
        &[("", "", file, place(0, 512, 0))],
    ];
    for rows in forged {
        forge(&pack, rows);
        assert!(is_found(&pack, directory.path()), "{rows:?}");
    }
}
