//! Reads in any order: the contents that [`Pack`] has, or an error that has the shard.

use std::fs;
use std::path::{Path, PathBuf};

use megadir::{ErrorKind, FileType};
use megadir_inventory::{GROUP_ROWS, Inventory, PackIndex, Rows, Stored, WriteOptions, Writer, note};
use megadir_pack::{INDEX, Members, Pack};
use megadir_testkit::rng::Rng;
use tempfile::TempDir;

use crate::described::{hostile_tree, name};
use crate::packed;

/// Paths and places of all files, by the index.
fn files(pack: &Path) -> Vec<(Vec<u8>, Stored)> {
    let (mut rows, mut files) = (PackIndex::open(&pack.join(INDEX)).unwrap(), Vec::new());
    while let Some((row, stored)) = rows.next_row().unwrap() {
        if row.facts.kind == FileType::File {
            let mut path = Vec::new();
            row.key.path_into(&mut path);
            files.extend(stored.map(|stored| (path, stored)));
        }
    }
    files
}

/// Each file has the contents that the other reader has, by path, by its place and by its position in the shards.
fn assert_equal_to_pack(pack: &Path) -> usize {
    let (mut other, members) = (Pack::open(pack).unwrap(), Members::open(pack).unwrap());
    let all = files(pack);
    let (mut contents, mut path) = (Vec::new(), Vec::new());
    let (mut paths, mut listed) = (members.paths().unwrap(), Vec::new());
    while let Some(path) = paths.next_path().unwrap() {
        listed.push(path.to_vec());
    }
    assert_eq!(listed, all.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>());
    let mut order = all.clone();
    order.sort_by_key(|(_, stored)| (stored.shard, stored.header_offset));
    let positions = members.in_order_of_shards();
    assert_eq!((positions.len(), members.len(), members.is_empty()), (all.len(), all.len(), all.is_empty()));
    for ((wanted, stored), position) in order.iter().zip(positions) {
        let entry = other.find(wanted).unwrap().unwrap();
        let mut expected = Vec::new();
        other.write_to(&entry, &mut expected).unwrap();
        assert!(members.contains(wanted).unwrap());
        assert!(members.read(wanted, &mut contents).unwrap() && contents == expected, "{wanted:?}");
        assert!(members.read_at(position, &mut path, &mut contents).unwrap());
        assert!(&path == wanted && contents == expected, "{wanted:?}");
        let place = members.place(wanted).unwrap().unwrap();
        assert_eq!(place.shard, pack.join(format!("pack-{:05}.tar", stored.shard)));
        assert_eq!((place.offset, place.length), (stored.data_offset, stored.data_length));
    }
    for absent in [&b""[..], b"plain", b"plain/", b"absent", b"a/", b"/a", b"\xff"] {
        assert!(!members.contains(absent).unwrap(), "{absent:?}");
        assert!(!members.read(absent, &mut contents).unwrap() && contents.is_empty());
    }
    assert!(!members.read_at(all.len(), &mut path, &mut contents).unwrap() && contents.is_empty());
    all.len()
}

#[test]
fn every_kind_of_file_is_read_as_by_its_index() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    hostile_tree(&source);
    fs::write(source.join("nothing"), "").unwrap();
    fs::hard_link(source.join("nothing"), source.join("nothing too")).unwrap();
    for shard_bytes in [1 << 30, 64 << 10] {
        packed(&source, &pack, shard_bytes);
        assert!(assert_equal_to_pack(&pack) > 20);
        // The index is the pack too.
        let (members, mut contents) = (Members::open(&pack.join(INDEX)).unwrap(), Vec::new());
        for path in [&b"sparse"[..], b"\xff\xfe/\x80\x01\x1b[0m", b"plain/third-large", b"nothing too"] {
            assert!(members.read(path, &mut contents).unwrap());
            assert!(contents == fs::read(source.join(name(path))).unwrap(), "{path:?}");
        }
        fs::remove_dir_all(&pack).unwrap();
    }
}

#[test]
fn random_trees_with_hard_links_are_read_as_by_their_index() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let directory = TempDir::new().unwrap();
        let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
        fs::create_dir(&source).unwrap();
        let (mut directories, mut paths) = (vec![source.clone()], Vec::<PathBuf>::new());
        for number in 0..rng.within(0, 120) {
            let path =
                directories[rng.within(0, directories.len() as u64 - 1) as usize].join(format!("{number}"));
            match rng.within(0, 9) {
                0 => {
                    fs::create_dir(&path).unwrap();
                    directories.push(path);
                    continue;
                }
                1..4 if !paths.is_empty() => {
                    fs::hard_link(&paths[rng.within(0, paths.len() as u64 - 1) as usize], &path).unwrap();
                }
                _ => {
                    let length = if rng.chance(3) { 1_200_000 } else { rng.pick(&[0, 1, 512, 5000]) };
                    fs::write(&path, vec![number as u8; length]).unwrap();
                }
            }
            paths.push(path);
        }
        packed(&source, &pack, rng.pick(&[8 << 10, 64 << 10, 1 << 30]));
        assert_eq!(assert_equal_to_pack(&pack), paths.len(), "seed {seed}");
    }
}

#[test]
fn threads_read_many_shards_at_once() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    fs::create_dir(&source).unwrap();
    for number in 0..400 {
        fs::write(source.join(format!("{number}")), format!("{number} ").repeat(500)).unwrap();
    }
    // More shards than are open at once.
    let (found, _) = packed(&source, &pack, 4 << 10);
    assert!(found.shards > 300, "{} shards", found.shards);
    let members = Members::open(&pack).unwrap();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let members = &members;
            scope.spawn(move || {
                let (mut rng, mut contents) = (Rng::new(seed), Vec::new());
                for _ in 0..2000 {
                    let number = rng.within(0, 399);
                    assert!(members.read(number.to_string().as_bytes(), &mut contents).unwrap());
                    assert_eq!(contents, format!("{number} ").repeat(500).as_bytes());
                }
            });
        }
    });
}

fn small_tree(source: &Path) {
    fs::create_dir(source).unwrap();
    for number in 0..12 {
        fs::write(source.join(format!("file-{number}")), vec![number as u8; number * 300]).unwrap();
    }
    fs::write(source.join("x".repeat(200)), "long headers").unwrap();
    fs::hard_link(source.join("file-7"), source.join("link")).unwrap();
}

/// Reads all: each has its contents, or an error with a line that has the shard. Returns the number of errors.
fn errors(pack: &Path, source: &Path, paths: &[Vec<u8>]) -> usize {
    let Ok(members) = Members::open(pack) else { return paths.len() };
    let (mut contents, mut failed) = (Vec::new(), 0);
    for path in paths {
        match members.read(path, &mut contents) {
            Ok(true) => assert!(contents == fs::read(source.join(name(path))).unwrap(), "{path:?}"),
            Ok(false) => panic!("{path:?} is in the index"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
                assert!(error.to_string().contains("pack-") && contents.is_empty(), "{error}");
                assert_eq!(error.to_string().lines().count(), 1, "{error}");
                failed += 1;
            }
        }
        let _ = (members.contains(path), members.place(path));
    }
    let mut path = Vec::new();
    let in_order = members.in_order_of_shards().into_iter();
    let failed_in_order =
        in_order.filter(|at| members.read_at(*at, &mut path, &mut contents).is_err()).count();
    assert_eq!(failed_in_order, failed);
    failed
}

#[test]
fn damaged_shards_are_errors_of_the_files_they_concern() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    small_tree(&source);
    packed(&source, &pack, 1 << 30);
    let all = files(&pack);
    let paths: Vec<_> = all.iter().map(|(path, _)| path.clone()).collect();
    let shard = pack.join("pack-00000.tar");
    let whole = fs::read(&shard).unwrap();
    assert_eq!(errors(&pack, &source, &paths), 0);
    for at in (0..whole.len()).step_by(89) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        fs::write(&shard, &damaged).unwrap();
        let failed = errors(&pack, &source, &paths);
        // A file with two names is damaged for both.
        assert!(failed <= 2, "byte {at}: {failed}");
        let is_contents = |stored: &Stored| {
            (stored.data_offset..stored.data_offset + stored.data_length).contains(&(at as u64))
        };
        let concerned = all.iter().filter(|(_, stored)| is_contents(stored)).count();
        assert!(failed >= concerned, "byte {at}: {failed} instead of {concerned}");
    }
    for length in [0, 512, whole.len() - 1] {
        fs::write(&shard, &whole[..length]).unwrap();
        assert_eq!(errors(&pack, &source, &paths), paths.len(), "{length} bytes");
    }
}

#[test]
fn without_hashing_only_damaged_contents_are_returned() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    small_tree(&source);
    packed(&source, &pack, 1 << 30);
    let stored = files(&pack).into_iter().find(|(path, _)| path == b"file-9").unwrap().1;
    let shard = pack.join("pack-00000.tar");
    let whole = fs::read(&shard).unwrap();
    let mut contents = Vec::new();
    for (at, is_returned) in [(stored.data_offset, true), (stored.header_offset, false)] {
        let mut damaged = whole.clone();
        damaged[at as usize] ^= 0x41;
        fs::write(&shard, &damaged).unwrap();
        let members = Members::open(&pack).unwrap();
        assert_eq!(members.read(b"file-9", &mut contents).unwrap_err().kind(), ErrorKind::Malformed);
        let members = members.without_hashing();
        match is_returned {
            true => {
                assert!(members.read(b"file-9", &mut contents).unwrap());
                assert_eq!((contents.len(), contents[0], contents[1]), (2700, 9 ^ 0x41, 9));
            }
            false => assert!(members.read(b"file-9", &mut contents).is_err() && contents.is_empty()),
        }
    }
}

/// Writes the index again, with other places.
fn replace_places(pack: &Path, change: impl Fn(usize, Stored) -> Stored) {
    let index = pack.join(INDEX);
    let metadata = Inventory::open(&index).unwrap().metadata().clone();
    let shards = note(&index, "megadir.pack").unwrap().unwrap();
    let options = WriteOptions { threads: 0, level: 1, group_rows: GROUP_ROWS };
    let mut rows = PackIndex::open(&index).unwrap();
    let mut writer = Writer::of_pack(&index, vec![b"/tree".to_vec()], options).unwrap();
    let mut number = 0;
    while let Some((row, stored)) = rows.next_row().unwrap() {
        writer.add_stored(&row, stored.map(|stored| change(number, stored))).unwrap();
        number += 1;
    }
    writer.add_note("megadir.pack", shards);
    writer.finish(&metadata).unwrap();
}

#[test]
fn places_of_a_hostile_index_are_errors() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    small_tree(&source);
    packed(&source, &pack, 1 << 30);
    let index = fs::read(pack.join(INDEX)).unwrap();
    let all = files(&pack);
    let paths: Vec<_> = all.iter().map(|(path, _)| path.clone()).collect();
    let far = i64::MAX as u64;
    let changes: [&dyn Fn(Stored) -> Stored; 13] = [
        &|stored| Stored { shard: 1, ..stored },
        &|stored| Stored { shard: u32::MAX, ..stored },
        &|stored| Stored { header_offset: far, ..stored },
        &|stored| Stored { header_offset: stored.header_offset + 512, ..stored },
        &|stored| Stored { header_offset: stored.header_offset + 1, ..stored },
        &|stored| Stored { header_offset: stored.header_offset.saturating_sub(512), ..stored },
        &|stored| Stored { data_offset: far, ..stored },
        &|stored| Stored { data_offset: far - stored.data_length, ..stored },
        &|stored| Stored { data_offset: stored.data_offset + 512, ..stored },
        &|stored| Stored { data_length: far, ..stored },
        &|stored| Stored { data_length: stored.data_length + 1, ..stored },
        &|stored| Stored { header_offset: far, data_offset: far, data_length: far, ..stored },
        &|_| Stored { shard: 0, header_offset: 0, data_offset: 0, data_length: 0, attributes_hash: 0 },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        fs::write(pack.join(INDEX), &index).unwrap();
        replace_places(&pack, |_, stored| change(stored));
        let failed = errors(&pack, &source, &paths);
        // Without a member before it, nothing changes for the first; one of 0 bytes has nothing to be read elsewhere.
        assert!(failed >= paths.len() - 2, "change {number}: {failed} of {}", paths.len());
    }
    fs::write(pack.join(INDEX), &index).unwrap();
    // Each file has the place of the next.
    replace_places(&pack, |number, stored| {
        let next = all.get(number % all.len()).map_or(stored, |(_, next)| *next);
        Stored { attributes_hash: 0, ..next }
    });
    assert!(errors(&pack, &source, &paths) >= paths.len() - 1);
}

#[test]
fn a_pack_without_files_has_no_members() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    fs::create_dir_all(source.join("only/directories")).unwrap();
    packed(&source, &pack, 1 << 30);
    assert_eq!(assert_equal_to_pack(&pack), 0);
    fs::remove_file(pack.join(INDEX)).unwrap();
    let error = Members::open(&pack).unwrap_err();
    assert!(error.to_string().contains("no index.parquet"), "{error}");
}
