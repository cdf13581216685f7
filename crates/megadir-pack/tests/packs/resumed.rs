//! Interrupted packs go on, and what changes while it is read is not packed.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use megadir_pack::{INDEX, PackEvent, PackOptions, pack};
use tempfile::TempDir;

use crate::described::described;
use crate::{extracted, packed, verified};

const SHARD_BYTES: u64 = 64 << 10;

fn tree(top: &Path, files: usize) {
    fs::create_dir(top).unwrap();
    for number in 0..files {
        fs::write(top.join(format!("file-{number:05}")), vec![number as u8; 1000]).unwrap();
    }
}

/// Stops after this number of entries; returns the number of finished shards.
fn stopped(source: &Path, destination: &Path, after: u64) -> usize {
    let options = PackOptions { shard_bytes: SHARD_BYTES, threads: 1 };
    let packed = pack(source, destination, &options, &mut |event| match event {
        PackEvent::Packed(entries) if entries >= after => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!(packed.unwrap(), None);
    assert!(!destination.join(INDEX).exists());
    let names = fs::read_dir(destination).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.as_encoded_bytes().ends_with(b".tar")).count()
}

/// The thread that reads waits with the other chunks of its batch when the pack stops.
#[test]
fn a_stop_within_a_batch_of_many_chunks_ends_the_pack() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    fs::create_dir(&source).unwrap();
    for number in 0..1500 {
        fs::write(source.join(format!("file-{number:05}")), vec![number as u8; 20_000]).unwrap();
    }
    let (ended, has_ended) = std::sync::mpsc::channel();
    let tree = source.clone();
    std::thread::spawn(move || {
        stopped(&tree, &pack, 1);
        ended.send(()).unwrap();
    });
    has_ended.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
}

#[test]
fn finished_shards_of_an_interrupted_pack_are_kept() {
    let directory = TempDir::new().unwrap();
    let (source, pack, copy) =
        (directory.path().join("source"), directory.path().join("pack"), directory.path().join("copy"));
    tree(&source, 1000);
    let finished = stopped(&source, &pack, 500);
    assert!(finished > 2, "{finished} finished");
    let (found, failures) = packed(&source, &pack, SHARD_BYTES);
    assert_eq!((found.kept_shards as usize, found.entries, failures), (finished, 1001, vec![]));
    assert_eq!(verified(&pack, Some(&source)).1, [""; 0]);
    extracted(&pack, &copy);
    assert_eq!(described(&copy), described(&source));
}

#[test]
fn a_shard_with_a_changed_file_is_packed_again() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    tree(&source, 1000);
    stopped(&source, &pack, 500);
    // The first shard has the lowest inode, which need not be that of the first name: others may have freed some meanwhile.
    let inode = |path: &std::path::PathBuf| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let files = fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().path());
    let first = files.min_by_key(inode).unwrap();
    fs::write(&first, "other").unwrap();
    let removed =
        ["file-00300", "file-00301"].map(|name| source.join(name)).into_iter().find(|path| *path != first);
    fs::remove_file(removed.unwrap()).unwrap();
    fs::write(source.join("new"), "new").unwrap();
    let (found, failures) = packed(&source, &pack, SHARD_BYTES);
    assert_eq!((found.kept_shards, found.entries, failures), (0, 1001, vec![]));
    assert_eq!(verified(&pack, Some(&source)).1, [""; 0]);
}

#[test]
fn damaged_journals_and_shards_are_not_kept() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    tree(&source, 600);
    for damaged in [".pack-00001.members", "pack-00001.tar"] {
        stopped(&source, &pack, 500);
        let path = pack.join(damaged);
        let length = fs::metadata(&path).unwrap().len();
        fs::File::options().write(true).open(&path).unwrap().set_len(length - 1).unwrap();
        let (found, _) = packed(&source, &pack, SHARD_BYTES);
        assert_eq!(found.kept_shards, 1, "{damaged}");
        assert_eq!(verified(&pack, Some(&source)).1, [""; 0]);
        fs::remove_dir_all(&pack).unwrap();
    }
}

#[test]
fn only_an_interrupted_pack_of_the_same_tree_is_continued() {
    let directory = TempDir::new().unwrap();
    let at = |name: &str| directory.path().join(name);
    tree(&at("source"), 500);
    tree(&at("other"), 1);
    stopped(&at("source"), &at("pack"), 200);
    let options = PackOptions { shard_bytes: SHARD_BYTES, threads: 1 };
    let refused = |source: &str, destination: &str| {
        let packed = pack(&at(source), &at(destination), &options, &mut |_| ControlFlow::Continue(()));
        packed.unwrap_err().to_string()
    };
    assert!(refused("other", "pack").contains("another tree"));
    fs::write(at("pack/notes"), "of the user").unwrap();
    assert!(refused("source", "pack").contains("notes"));
    fs::remove_file(at("pack/notes")).unwrap();
    packed(&at("source"), &at("pack"), SHARD_BYTES);
    assert!(refused("source", "pack").contains("finished"));
    assert!(refused("source", "other").contains("no part of a pack"));
    assert!(refused("source", "source/pack").contains("lies in"));
    assert!(refused("source", "source").contains("lies in"));
    fs::create_dir(at("source/below")).unwrap();
    std::os::unix::fs::symlink(at("source/below"), at("link")).unwrap();
    assert!(refused("source", "link").contains("lies in"));
}

#[test]
fn a_file_with_the_name_of_the_marker_is_the_users() {
    let directory = TempDir::new().unwrap();
    let at = |name: &str| directory.path().join(name);
    tree(&at("source"), 1);
    let options = PackOptions { shard_bytes: SHARD_BYTES, threads: 1 };
    let refused = || {
        pack(&at("source"), &at("pack"), &options, &mut |_| ControlFlow::Continue(()))
            .unwrap_err()
            .to_string()
    };
    let marker = at("pack/.megadir-pack.json");
    for contents in ["notes", "{}", "{\"megadir_pack\":1} "] {
        fs::create_dir(at("pack")).unwrap();
        fs::write(&marker, contents).unwrap();
        assert!(refused().contains("no interrupted pack"));
        assert_eq!(fs::read_to_string(&marker).unwrap(), contents);
        fs::remove_dir_all(at("pack")).unwrap();
    }
    fs::create_dir(at("pack")).unwrap();
    fs::write(at("empty"), "").unwrap();
    fs::hard_link(at("empty"), &marker).unwrap();
    assert!(refused().contains("no interrupted pack"));
    assert_eq!(fs::read(at("empty")).unwrap(), b"");
}

#[test]
fn files_that_no_interrupted_pack_has_left_stay() {
    let directory = TempDir::new().unwrap();
    let (source, pack_at) = (directory.path().join("source"), directory.path().join("pack"));
    tree(&source, 500);
    stopped(&source, &pack_at, 200);
    let foreign = pack_at.join("pack-00777.tar");
    let options = PackOptions { shard_bytes: SHARD_BYTES, threads: 1 };
    for is_link in [false, true] {
        match is_link {
            false => fs::write(&foreign, "of the user").unwrap(),
            true => std::os::unix::fs::symlink("../source", &foreign).unwrap(),
        }
        let refused =
            pack(&source, &pack_at, &options, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
        assert!(refused.contains("pack-00777.tar"), "{refused}");
        assert!(fs::symlink_metadata(&foreign).is_ok());
        fs::remove_file(&foreign).unwrap();
    }
    packed(&source, &pack_at, SHARD_BYTES);
    fs::write(&foreign, "of the user").unwrap();
    let (_, problems) = verified(&pack_at, None);
    assert!(problems.len() == 1 && problems[0].contains("no part of the pack"), "{problems:?}");
}

#[test]
fn a_renamed_directory_gets_no_index_elsewhere() {
    let directory = TempDir::new().unwrap();
    let at = |name: &str| directory.path().join(name);
    tree(&at("source"), 500);
    let options = PackOptions { shard_bytes: SHARD_BYTES, threads: 1 };
    let mut is_renamed = false;
    let refused = pack(&at("source"), &at("pack"), &options, &mut |event| {
        if !is_renamed && matches!(event, PackEvent::Packed(_)) {
            is_renamed = true;
            fs::rename(at("pack"), at("renamed")).unwrap();
            fs::create_dir(at("pack")).unwrap();
        }
        ControlFlow::Continue(())
    });
    assert!(refused.unwrap_err().to_string().contains("renamed"));
    assert!(!at("pack").join(INDEX).exists() && !at("renamed").join(INDEX).exists());
    let (found, _) = packed(&at("source"), &at("renamed"), SHARD_BYTES);
    assert!(found.kept_shards > 0);
    assert_eq!(verified(&at("renamed"), Some(&at("source"))).1, [""; 0]);
}

#[test]
fn a_refused_pack_creates_nothing_in_the_tree() {
    let directory = TempDir::new().unwrap();
    let source = directory.path().join("source");
    tree(&source, 1);
    let before = described(&source);
    let options = PackOptions { shard_bytes: SHARD_BYTES, threads: 1 };
    let refused = pack(&source, &source.join("new"), &options, &mut |_| ControlFlow::Continue(()));
    assert!(refused.unwrap_err().to_string().contains("lies in"));
    assert_eq!(described(&source), before);
}

#[test]
fn a_file_that_keeps_changing_is_named_and_left_out() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    tree(&source, 20);
    for large in [false, true] {
        let length = if large { 8 << 20 } else { 500 << 10 };
        let changing = source.join("changing");
        fs::write(&changing, vec![1; length]).unwrap();
        let ended = AtomicBool::new(false);
        let (found, failures) = std::thread::scope(|scope| {
            scope.spawn(|| {
                let file = fs::File::options().write(true).open(&changing).unwrap();
                let mut number = 0;
                while !ended.load(Ordering::Relaxed) {
                    number += 1;
                    file.write_all_at(&[number as u8], number % 1000).unwrap();
                    file.set_len(length as u64 + number % 7).unwrap();
                }
            });
            let found = packed(&source, &pack, 1 << 30);
            ended.store(true, Ordering::Relaxed);
            found
        });
        assert_eq!((found.entries, found.failed), (21, 1), "{failures:?}");
        assert!(failures[0].contains("keeps changing"), "{failures:?}");
        let (_, problems) = verified(&pack, None);
        assert!(problems.len() == 1 && problems[0].contains("changing"), "{problems:?}");
        fs::remove_dir_all(&pack).unwrap();
    }
}

/// The file that is in the way begins another shard, and is taken back.
#[test]
fn links_to_a_large_file_stay_in_its_shard() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    tree(&source, 20);
    fs::write(source.join("a"), vec![1; 1_500_000]).unwrap();
    for name in ["b", "c"] {
        fs::hard_link(source.join("a"), source.join(name)).unwrap();
    }
    let options = PackOptions { shard_bytes: 2 << 20, threads: 1 };
    let ended = AtomicBool::new(false);
    let mut failures = Vec::new();
    let (tree, is_ended) = (source.as_path(), &ended);
    let packed = std::thread::scope(|scope| {
        let mut is_replaced = false;
        let packed = megadir_pack::pack(&source, &pack, &options, &mut |event| {
            if let PackEvent::Failed(error) = &event {
                failures.push(error.to_string());
            }
            // After the scan, before the files are read.
            if !is_replaced && matches!(event, PackEvent::Scan(megadir::TreeEvent::Read(_))) {
                is_replaced = true;
                fs::write(source.join("new"), vec![2; 2_500_000]).unwrap();
                fs::rename(source.join("new"), source.join("b")).unwrap();
                scope.spawn(move || {
                    let file = fs::File::options().write(true).open(tree.join("b")).unwrap();
                    for number in 0u64.. {
                        file.write_all_at(&[number as u8], number % 1000).unwrap();
                        if is_ended.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                });
            }
            ControlFlow::Continue(())
        });
        ended.store(true, Ordering::Relaxed);
        packed
    });
    packed.unwrap().unwrap();
    let (_, problems) = verified(&pack, None);
    assert!(problems.len() == failures.len(), "{problems:?}, {failures:?}");
}

#[test]
fn changes_since_packing_are_found() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    tree(&source, 20);
    packed(&source, &pack, 1 << 30);
    fs::write(source.join("file-00003"), "changed").unwrap();
    fs::remove_file(source.join("file-00004")).unwrap();
    fs::write(source.join("file-00003-new"), "new").unwrap();
    fs::write(source.join("zzz"), "new").unwrap();
    let (_, problems) = verified(&pack, Some(&source));
    let has = |name: &str, reason: &str| {
        problems.iter().any(|line| line.contains(&format!("'{name}'")) && line.contains(reason))
    };
    assert_eq!(problems.len(), 5, "with the directory: {problems:?}");
    assert!(has("file-00003", "changed since") && has("file-00004", "no longer"), "{problems:?}");
    assert!(has("file-00003-new", "not in the pack") && has("zzz", "not in the pack"), "{problems:?}");
    assert_eq!(verified(&pack, None).1, [""; 0], "the pack itself is whole");
}
