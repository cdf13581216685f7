//! Trees come back from packs as they were.

use std::fs;
use std::os::unix::fs::MetadataExt;

use megadir::FileType;
use megadir_inventory::{Inventory, PackIndex, Rows};
use megadir_pack::{INDEX, Pack};
use megadir_testkit::unprivileged::unprivileged;
use tempfile::TempDir;

use crate::described::{described, hostile_tree};
use crate::{extracted, packed, verified};

#[test]
fn an_extracted_tree_equals_the_packed_one() {
    let directory = TempDir::new().unwrap();
    let (source, pack, copy) =
        (directory.path().join("source"), directory.path().join("pack"), directory.path().join("copy"));
    hostile_tree(&source);
    let before = described(&source);
    for (shard_bytes, many) in [(1 << 30, false), (64 << 10, true)] {
        let (found, failures) = packed(&source, &pack, shard_bytes);
        assert_eq!(failures, [""; 0]);
        assert_eq!((found.entries, found.failed), (before.len() as u64, 0));
        assert_eq!(found.shards > 1, many);
        let names: Vec<_> = fs::read_dir(&pack).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len() as u32, found.shards + 1, "only shards and index: {names:?}");
        assert_eq!(verified(&pack, Some(&source)).1, [""; 0]);
        let (written, failures) = extracted(&pack, &copy);
        assert_eq!(failures, [""; 0]);
        assert_eq!(written.entries, before.len() as u64);
        assert_eq!(described(&copy), before);
        assert_eq!(described(&source), before, "the tree is unchanged");
        let sparse = fs::metadata(copy.join("sparse")).unwrap();
        assert!(sparse.blocks() * 512 < sparse.len() / 2, "holes are holes again");
        fs::remove_dir_all(&copy).unwrap();
        fs::remove_dir_all(&pack).unwrap();
    }
}

#[test]
fn the_index_is_an_inventory_and_has_the_place_of_each_file() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    hostile_tree(&source);
    packed(&source, &pack, 64 << 10);
    let index = pack.join(INDEX);
    let (mut inventory, mut rows) = (Inventory::open(&index).unwrap(), PackIndex::open(&index).unwrap());
    let mut reader = Pack::open(&pack).unwrap();
    let mut files = 0;
    while let Some((row, stored)) = rows.next_row().unwrap() {
        let stored = stored.unwrap();
        assert_eq!(inventory.next_row().unwrap(), Some(row));
        let mut path = Vec::new();
        row.key.path_into(&mut path);
        let found = reader.find(&path).unwrap().unwrap();
        assert_eq!((found.facts, found.stored), (row.facts, Some(stored)));
        if row.facts.kind == FileType::File {
            let shard = fs::read(pack.join(format!("pack-{:05}.tar", stored.shard))).unwrap();
            let start = stored.data_offset as usize;
            let contents = fs::read(source.join(crate::described::name(&path))).unwrap();
            assert!(shard[start..start + stored.data_length as usize] == contents, "the bytes at the offset");
            let mut written = Vec::new();
            reader.write_to(&found, &mut written).unwrap();
            assert!(written == contents);
            files += 1;
        }
    }
    assert!(files > 10 && inventory.next_row().unwrap().is_none());
    for absent in ["", "b", "plain/zzz", "zzz/a", "plain/"] {
        let found = reader.find(absent.as_bytes()).unwrap();
        assert_eq!(found.is_some(), absent.is_empty(), "{absent}");
    }
}

#[test]
fn each_name_of_a_file_has_its_attributes() {
    let directory = TempDir::new().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("source")).unwrap();
    for (first, second, length) in [("small", "small-too", 10), ("large", "large-too", 2_000_000)] {
        fs::write(at("source").join(first), vec![1; length]).unwrap();
        let none = rustix::fs::XattrFlags::empty();
        if rustix::fs::setxattr(at("source").join(first), "user.key", b"value", none).is_err() {
            return megadir_testkit::require::unavailable(
                "each_name_of_a_file",
                "no attributes of users here",
            );
        }
        fs::hard_link(at("source").join(first), at("source").join(second)).unwrap();
    }
    packed(&at("source"), &at("pack"), 1 << 30);
    for name in ["small", "small-too", "large", "large-too"] {
        let conditions =
            megadir::Conditions { names: megadir::Globs::of_names(&[name]).unwrap(), ..Default::default() };
        let options = megadir_pack::ExtractOptions { conditions: Some(&conditions) };
        let copy = at(&format!("copy-{name}"));
        let written = megadir_pack::extract(&at("pack"), &copy, &options, &mut |failure, _| {
            assert!(failure.is_none(), "{failure:?}");
            std::ops::ControlFlow::Continue(())
        });
        assert_eq!(written.unwrap().unwrap().failed, 0);
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(copy.join(name), "user.key", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"value", "{name}");
    }
}

#[test]
fn entries_without_contents_are_named_and_have_no_place() {
    let directory = TempDir::new().unwrap();
    let (source, pack, copy) =
        (directory.path().join("source"), directory.path().join("pack"), directory.path().join("copy"));
    fs::create_dir(&source).unwrap();
    fs::write(source.join("file"), "contents").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(source.join("socket")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        source.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let (found, failures) = packed(&source, &pack, 1 << 30);
    assert_eq!((found.entries, found.failed, failures.len()), (2, 2, 2), "{failures:?}");
    assert!(failures.iter().any(|failure| failure.contains("socket")), "{failures:?}");
    let (_, problems) = verified(&pack, None);
    assert_eq!(problems.len(), 2, "{problems:?}");
    let mut rows = PackIndex::open(&pack.join(INDEX)).unwrap();
    let mut modes = Vec::new();
    while let Some((row, _)) = rows.next_row().unwrap() {
        modes.push((String::from_utf8_lossy(row.key.name).into_owned(), row.facts.mode.is_some()));
    }
    let all = ["", "file", "pipe", "socket"].map(|name| (name.to_owned(), true));
    assert_eq!(modes, all, "entries that are not packed have their attributes");
    let (_, failures) = extracted(&pack, &copy);
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert_eq!(fs::read(copy.join("file")).unwrap(), b"contents");
}

#[test]
fn a_user_without_privileges_packs_readable_files() {
    let directory = TempDir::new_in("/tmp").unwrap();
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let top = directory.path().to_owned();
    unprivileged(|| {
        let (source, pack, copy) = (top.join("source"), top.join("pack"), top.join("copy"));
        hostile_tree(&source);
        let (found, failures) = packed(&source, &pack, 64 << 10);
        assert_eq!((found.failed, failures.len()), (1, 1), "the file without permissions: {failures:?}");
        assert!(failures[0].contains("Permission denied"), "{failures:?}");
        let (_, failures) = extracted(&pack, &copy);
        assert_eq!(failures.len(), 1, "{failures:?}");
        fs::set_permissions(source.join("*"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let (mut before, after) = (described(&source), described(&copy));
        before.remove(&b"*"[..]);
        // Without root, a file does not lend the rights of its owner.
        let plain = |line: &String| line.replacen("104755 ", "100755 ", 1).replacen("42770 ", "40770 ", 1);
        let before: Vec<_> = before.iter().map(|(path, line)| (path.clone(), plain(line))).collect();
        let after: Vec<_> = after.iter().map(|(path, line)| (path.clone(), plain(line))).collect();
        assert_eq!(after, before);
    });
}

#[test]
fn files_are_packed_in_chunks_and_shards_of_bounded_size() {
    let check = |files: usize| {
        let directory = TempDir::new().unwrap();
        let source = directory.path().join("source");
        fs::create_dir(&source).unwrap();
        for number in 0..files {
            fs::write(source.join(format!("file-{number:06}")), number.to_string()).unwrap();
        }
        let mut chunks = 0;
        let options = megadir_pack::PackOptions { shard_bytes: 256 << 10, threads: 1 };
        let packed = megadir_pack::pack(&source, &directory.path().join("pack"), &options, &mut |event| {
            chunks += usize::from(matches!(event, megadir_pack::PackEvent::Packed(_)));
            std::ops::ControlFlow::Continue(())
        });
        let packed = packed.unwrap().unwrap();
        assert_eq!(packed.entries, files as u64 + 1);
        // Files are read and given away in chunks of bounded size, and shards end at theirs.
        assert!(chunks >= files / 256, "{chunks} chunks of {files} files");
        assert!(packed.shards as usize >= files * 1536 / (256 << 10), "{} shards", packed.shards);
    };
    check(100);
    check(2000);
}
