//! Subvolumes of btrfs get new device numbers with each mount.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use megadir_inventory::changes::{CompareOptions, Compared, Watch, compare, compare_only};
use megadir_inventory::{Inventory, ScanOptions, Snapshot, WriteOptions, Writer, scan};
use megadir_testkit::mount::{BTRFS, Mount, run};
use megadir_testkit::{require, unprivileged::unprivileged};

use crate::oracle;

fn btrfs(words: &[&str], paths: &[&Path]) {
    run(Command::new("btrfs").args(words).args(paths)).unwrap();
}

/// Creates nested subvolumes, snapshots, and a stub in a snapshot.
fn build(top: &Path) {
    fs::create_dir(top.join("plain")).unwrap();
    for subvolume in ["a", "b", "a/nested"] {
        btrfs(&["-q", "subvolume", "create"], &[&top.join(subvolume)]);
        fs::create_dir_all(top.join(subvolume).join("d/e")).unwrap();
        fs::write(top.join(subvolume).join("d/file"), subvolume).unwrap();
        fs::write(top.join(subvolume).join("d/e/file"), subvolume).unwrap();
    }
    for (of, snapshot) in [("a", "c"), ("a", "plain/s"), ("b", "0")] {
        btrfs(&["-q", "subvolume", "snapshot"], &[&top.join(of), &top.join(snapshot)]);
    }
    assert_eq!(fs::read_dir(top.join("c/nested")).unwrap().count(), 0, "a stub");
}

/// Remounts and accesses subvolumes in the given order, which determines their device numbers.
fn remount(mount: &mut Mount, order: &[&str]) {
    mount.remount(|_| Ok(())).unwrap();
    for path in order {
        fs::symlink_metadata(mount.path().join(path)).unwrap();
    }
}

fn write(top: &Path, file: &Path, threads: usize, forget_volumes: bool) {
    let written = WriteOptions { threads: 0, level: 1, group_rows: 7 };
    let mut writer =
        Writer::create(file, vec![top.as_os_str().as_encoded_bytes().to_vec()], written).unwrap();
    let options = ScanOptions {
        threads,
        threads_max: threads,
        attributes: true,
        cross_mounts: false,
        stat_backend: None,
        read_ahead: megadir::ReadAhead::Auto,
        buffer_bytes: 32 << 10,
        queue_directories_max: 256,
        memory_bytes: 64 << 20,
        spill_directory: std::env::temp_dir(),
        exclude: Vec::new(),
        conditions: None,
        entries_per_second_max: None,
    };
    let go_on = &mut |_: megadir::TreeEvent<'_>| std::ops::ControlFlow::Continue(());
    let mut metadata = scan(&[top.to_owned()], &options, go_on, &mut writer).unwrap().unwrap();
    assert_eq!(metadata.volumes.as_ref().unwrap().len(), 7, "{metadata:?}");
    if forget_volumes {
        metadata.volumes = None;
    }
    writer.finish(&metadata).unwrap();
}

fn options() -> CompareOptions {
    crate::options(2, true)
}

fn compared(top: &Path, file: &Path) -> Compared {
    let roots = vec![megadir::Dir::open(top)];
    compare(Inventory::open(file).unwrap(), roots, &options(), &Watch::default()).unwrap()
}

#[test]
fn an_unchanged_tree_of_subvolumes_is_unchanged_after_a_remount() {
    let mut mount = require!(Mount::make(&BTRFS));
    let top = mount.path();
    build(&top);
    std::thread::sleep(Duration::from_millis(130));
    remount(&mut mount, &["a", "b", "c", "a/nested", "plain/s", "0"]);
    let scratch = tempfile::tempdir().unwrap();
    let (file, old) = (scratch.path().join("inventory"), scratch.path().join("old"));
    write(&top, &file, 2, false);
    write(&top, &old, 1, true);
    let mut kept = Snapshot::from_inventory(Inventory::open(&file).unwrap()).unwrap();
    let mut scanned = Snapshot::from_scan(std::slice::from_ref(&top), 2).unwrap();
    assert_eq!(scanned.metadata().volumes, kept.metadata().volumes);
    for order in [&["0", "plain/s", "c", "b", "a/nested", "a"][..], &["c", "a", "plain/s", "0"], &["b", "0"]]
    {
        remount(&mut mount, order);
        for unchanged in [compared(&top, &file), unprivileged(|| compared(&top, &file))] {
            assert!(unchanged.is_complete() && !unchanged.volumes_unknown);
            assert_eq!(oracle::lines(&unchanged.changes), [].into(), "{order:?}");
        }
        for snapshot in [&mut kept, &mut scanned] {
            let refreshed = snapshot.refresh(&options(), &Watch::default()).unwrap();
            assert_eq!(oracle::lines(&refreshed.changes), [].into(), "{order:?}");
        }
        let paths = ["c", "c/d/file", "c/nested", "a/nested/d", "0/d/e/file"];
        let paths = paths.map(|path| (0, path.as_bytes().to_vec()));
        let roots = vec![megadir::Dir::open(&top)];
        let only = compare_only(Inventory::open(&file).unwrap(), roots, paths, &options(), &Watch::default());
        assert_eq!(oracle::lines(&only.unwrap().changes), [].into(), "{order:?}");
    }
    // An inventory without recorded subvolumes is reported as such.
    assert!(compared(&top, &old).volumes_unknown);
    // An inventory written after a remount compares equally.
    let watch = Watch::default();
    change(&top);
    // Files changed within a tick of the refresh below would be suspects.
    std::thread::sleep(Duration::from_millis(500));
    let expected = [
        "added '' 'c/d/new' ",
        "added '' 'new' ",
        "added '' 'new/file' ",
        "modified '' 'a/nested/d/file' size,mtime,ctime",
        "removed '' 'b/d/e/file' ",
        "renamed '0' 'z' ",
        "renamed 'plain/s/d' 'plain/s/moved' ",
    ];
    let expected: std::collections::BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
    for order in [&["c", "new", "a"][..], &["new", "z", "b", "plain/s"]] {
        remount(&mut mount, order);
        assert_eq!(oracle::lines(&compared(&top, &file).changes), expected, "{order:?}");
    }
    assert_eq!(oracle::lines(&kept.refresh(&options(), &watch).unwrap().changes), expected);
    remount(&mut mount, &["z", "new", "a"]);
    assert_eq!(oracle::lines(&kept.refresh(&options(), &watch).unwrap().changes), [].into());
}

fn change(top: &Path) {
    btrfs(&["-q", "subvolume", "create"], &[&top.join("new")]);
    for path in ["new/file", "c/d/new", "a/nested/d/file"] {
        fs::write(top.join(path), "changed").unwrap();
    }
    fs::remove_file(top.join("b/d/e/file")).unwrap();
    fs::rename(top.join("0"), top.join("z")).unwrap();
    fs::rename(top.join("plain/s/d"), top.join("plain/s/moved")).unwrap();
}

#[test]
fn a_snapshot_that_was_made_again_is_another_and_a_renamed_one_is_the_same() {
    let mut mount = require!(Mount::make(&BTRFS));
    let top = mount.path();
    build(&top);
    std::thread::sleep(Duration::from_millis(130));
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("inventory");
    write(&top, &file, 1, false);
    // The stub moves with its snapshot.
    fs::rename(top.join("c"), top.join("renamed")).unwrap();
    btrfs(&["-q", "subvolume", "delete"], &[&top.join("0")]);
    btrfs(&["-q", "subvolume", "snapshot"], &[&top.join("b"), &top.join("0")]);
    remount(&mut mount, &["renamed", "plain/s", "0", "b", "a"]);
    let lines = oracle::lines(&compared(&top, &file).changes);
    let expected = [
        "modified '' '0' inode",
        "modified '' '0/d' inode",
        "modified '' '0/d/e' inode",
        "modified '' '0/d/e/file' inode",
        "modified '' '0/d/file' inode",
        "renamed 'c' 'renamed' ",
    ];
    // Timestamps differ too.
    let lines: Vec<String> =
        lines.iter().map(|line| line.replace("mtime,", "").replace("ctime,", "")).collect();
    assert_eq!(lines, expected);
}
