//! Contents that change below the file system: `scan --hash all` and `changes --verify=all`.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use megadir_inventory::{ContentHash, Inventory, Rows};
use megadir_testkit::killed::{before_call, was_killed};
use megadir_testkit::mount::{BTRFS, EXT4, Mount, Recipe, XFS};
use megadir_testkit::require;
use megadir_testkit::rng::Rng;

use crate::support::{Ran, have, megadir, run, run_as_nobody, scratch, shell, text, unprivileged};

/// Blocks of the image that are looked at; a file's blocks begin at multiples of this.
const STEP_BYTES: usize = 1024;
const KEY_BYTES: usize = 16;
const SMALL_EXT4: Recipe = Recipe { mkfs: &["mkfs.ext4", "-q", "-F"], image_bytes: 64 << 20, ..EXT4 };

/// Creates files of random contents and sizes, the largest of several chunks; returns their paths relative to the tree.
fn random_tree(tree: &Path, rng: &mut Rng, files: u64) -> Vec<String> {
    let mut paths = Vec::new();
    for number in 0..files {
        let directory = format!("d{}/e{}", below(rng, 4), below(rng, 3));
        fs::create_dir_all(tree.join(&directory)).unwrap();
        let size = match number % 8 {
            0 => 700_000 + below(rng, 100_000),
            1 => 1,
            _ => 3000 + below(rng, 40_000),
        };
        let contents: Vec<u8> = (0..size).map(|_| below(rng, 256) as u8).collect();
        let path = format!("{directory}/f{number}");
        fs::write(tree.join(&path), contents).unwrap();
        paths.push(path);
    }
    paths
}

fn below(rng: &mut Rng, bound: u64) -> u64 {
    rng.within(0, bound - 1)
}

/// A scan begins later than the last change by more than a tick, so that no file is a suspect.
fn settle() {
    std::thread::sleep(Duration::from_millis(250));
}

/// Flips a byte in one block of each file, in the image while it is not mounted: no time changes.
fn rot(image: &Path, contents: &BTreeMap<String, Vec<u8>>, rng: &mut Rng) -> Result<(), String> {
    let mut wanted: BTreeMap<[u8; KEY_BYTES], (&str, usize)> = BTreeMap::new();
    for (path, bytes) in contents {
        let block = STEP_BYTES * below(rng, (bytes.len() / STEP_BYTES) as u64) as usize;
        wanted.insert(bytes[block..][..KEY_BYTES].try_into().unwrap(), (path, block));
    }
    let file = fs::File::options().read(true).write(true).open(image).unwrap();
    let length = file.metadata().unwrap().len();
    let mut chunk = vec![0; 1 << 20];
    let mut flipped = BTreeSet::new();
    for offset in (0..length).step_by(chunk.len()) {
        let read = file.read_at(&mut chunk, offset).unwrap();
        for at in (0..read.saturating_sub(KEY_BYTES)).step_by(STEP_BYTES) {
            let Some((path, _)) = wanted.get(&chunk[at..][..KEY_BYTES]) else { continue };
            let place = offset + at as u64 + 7;
            file.write_all_at(&[chunk[at + 7] ^ 0x10], place).unwrap();
            flipped.insert(*path);
        }
    }
    match flipped.len() == contents.len() {
        true => Ok(()),
        false => Err(format!("{} of {} blocks are in the image", flipped.len(), contents.len())),
    }
}

fn lines(ran: &Ran) -> BTreeSet<String> {
    text(&ran.out).lines().map(str::to_owned).collect()
}

fn counts(ran: &Ran) -> String {
    let line = ran.err.lines().find(|line| line.contains(" verified, "));
    line.unwrap_or_else(|| panic!("no line of counts: {ran:?}")).to_owned()
}

#[test]
fn update_makes_the_hashes_that_an_inventory_lacks() {
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("tree")).unwrap();
    for number in 0..20 {
        fs::write(at.join(format!("tree/{number}")), format!("contents {number}")).unwrap();
    }
    settle();
    assert_eq!(run(at, &["scan", "tree", "-o", "i.parquet", "-q"]).code, Some(0));
    let changes = |more: &[&str]| run(at, &[&["changes", "i.parquet", "tree"], more].concat());
    changes(&["--verify", "all"]).complains(3, &["no file of this share has a hash"]);
    // Another share may have some: that is a failure, and the changes are printed all the same.
    fs::write(at.join("tree/new"), "new").unwrap();
    settle();
    let share = changes(&["--verify", "1/2"]);
    assert_eq!(share.code, Some(1), "{share:?}");
    assert!(lines(&share).contains("added        tree/new"), "{share:?}");
    let updated = changes(&["--verify", "1/2", "--update"]);
    assert_eq!(updated.code, Some(0), "{updated:?}");
    assert!(updated.err.contains("21 new files hashed"), "{updated:?}");
    let verified = changes(&["--verify", "all"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(counts(&verified).contains("21 files verified"), "{verified:?}");
}

#[test]
fn rot_below_the_file_system_is_found_and_is_no_change() {
    for recipe in [&SMALL_EXT4, &XFS] {
        let mut mount = require!(Mount::make(recipe));
        let scratch = scratch();
        let at = scratch.path();
        let mut rng = Rng::new(71);
        let tree = mount.path().join("tree");
        let paths = random_tree(&tree, &mut rng, 60);
        settle();
        let tree_word = tree.to_str().unwrap().to_owned();
        let scanned = run(at, &["scan", "--hash", "all", &tree_word, "-o", "i.parquet"]);
        assert_eq!(scanned.code, Some(0), "{scanned:?}");
        assert!(scanned.err.contains("60 files hashed"), "{scanned:?}");
        let verify = |more: &[&str]| run(at, &[&["changes", "i.parquet", "--verify", "all"], more].concat());
        let intact = verify(&[]);
        assert_eq!((intact.code, intact.out.len()), (Some(0), 0), "{intact:?}");
        assert!(counts(&intact).contains("60 files verified"), "{intact:?}");

        let chosen: BTreeMap<String, Vec<u8>> = (0..60)
            .filter(|number| number % 8 != 1 && below(&mut rng, 4) == 0)
            .map(|number| (paths[number].clone(), fs::read(tree.join(&paths[number])).unwrap()))
            .collect();
        assert!(chosen.len() > 5);
        mount.remount(|image| rot(image, &chosen, &mut rng)).unwrap();
        // A file that a program changes, besides.
        let changed = paths.iter().find(|path| !chosen.contains_key(*path)).unwrap();
        fs::write(tree.join(changed), "changed").unwrap();

        let unread = run(at, &["changes", "i.parquet", "--exit-code"]);
        let change = format!("modified     {tree_word}/{changed} (size, mtime, ctime)");
        assert_eq!((unread.code, lines(&unread)), (Some(10), BTreeSet::from([change.clone()])), "{unread:?}");
        let found = verify(&[]);
        let rotten = |path: &String| {
            format!("rotten       {tree_word}/{path} (contents differ although size and times are equal)")
        };
        let expected: BTreeSet<String> = chosen.keys().map(rotten).chain([change]).collect();
        assert_eq!((found.code, lines(&found)), (Some(12), expected), "{}: {}", recipe.name, found.err);
        assert!(
            counts(&found).contains(&format!("; {} rotten; 1 not verified: changed", chosen.len())),
            "{found:?}"
        );
        for options in [&["--quiet"][..], &["--quiet", "--exit-code"], &["--only", "removed", "-q"]] {
            let quiet = verify(options);
            assert_eq!((quiet.code, quiet.out.len(), quiet.err.as_str()), (Some(12), 0, ""), "{options:?}");
        }
        for threads in ["1", "4"] {
            let only = verify(&["--only", "rotten", "--paths", "-j", threads]);
            assert_eq!((only.code, lines(&only)), (Some(12), chosen.keys().cloned().collect()), "{only:?}");
        }
        // A list for a backup has the change, and no rotten file.
        let list = verify(&["--paths"]);
        assert_eq!((list.code, lines(&list)), (Some(12), BTreeSet::from([changed.clone()])), "{list:?}");
        assert!(list.err.contains("is rotten"), "{list:?}");
        for line in text(&verify(&["--json", "--only", "rotten"]).out).lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["outcome"], "rotten");
            assert!(line["change"].is_null() && line["recorded"] != line["found"], "{line}");
        }
        // An update keeps the hash of the contents before, and hashes what is new.
        let update = verify(&["--update"]);
        assert_eq!(update.code, Some(12), "{update:?}");
        let again = verify(&["--only", "rotten", "--paths"]);
        assert_eq!((again.code, lines(&again)), (Some(12), chosen.keys().cloned().collect()), "{again:?}");
        for (path, bytes) in &chosen {
            let modified = fs::metadata(tree.join(path)).unwrap().modified().unwrap();
            fs::write(tree.join(path), bytes).unwrap();
            fs::File::options().write(true).open(tree.join(path)).unwrap().set_modified(modified).unwrap();
        }
        assert_eq!(verify(&["--ignore", "ctime"]).code, Some(0), "restored from a copy");
    }
}

#[test]
fn a_file_system_that_refuses_rotten_contents_makes_a_failure() {
    let mut mount = require!(Mount::make(&BTRFS));
    let scratch = scratch();
    let mut rng = Rng::new(5);
    let tree = mount.path().join("tree");
    random_tree(&tree, &mut rng, 10);
    settle();
    let tree_word = tree.to_str().unwrap().to_owned();
    let scanned = run(scratch.path(), &["scan", "-q", "--hash", "all", &tree_word, "-o", "i.parquet"]);
    assert_eq!(scanned.code, Some(0), "{scanned:?}");
    let large = text(&shell(&tree, "find . -name f8 -printf '%P'").out);
    let chosen = BTreeMap::from([(large.clone(), fs::read(tree.join(&large)).unwrap())]);
    mount.remount(|image| rot(image, &chosen, &mut rng)).unwrap();
    let found = run(scratch.path(), &["changes", "i.parquet", "--verify=all"]);
    assert_eq!((found.code, found.out.len()), (Some(1), 0), "{found:?}");
    assert!(found.err.contains(&large) && found.err.contains("Input/output error"), "{found:?}");
    assert!(counts(&found).contains("; 1 could not be read"), "{found:?}");
    // A new scan has no hash for it, and exits with 1.
    let scanned = run(scratch.path(), &["scan", "--hash", "all", &tree_word, "-o", "j.parquet"]);
    assert_eq!(scanned.code, Some(1), "{scanned:?}");
    assert!(
        scanned.err.contains("9 files hashed") && scanned.err.contains("; 1 could not be read"),
        "{scanned:?}"
    );
}

#[test]
fn a_changed_file_is_a_change_unless_its_ctime_is_ignored() {
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("t")).unwrap();
    for name in ["a", "b"] {
        fs::write(at.join("t").join(name), "contents").unwrap();
    }
    settle();
    assert_eq!(run(at, &["scan", "-q", "--hash", "all", "t", "-o", "i.parquet"]).code, Some(0));
    let set_back = "touch -r t/a before; printf Contents > t/a; touch -r before t/a";
    shell(at, set_back).quiet();
    let found = run(at, &["changes", "i.parquet", "--verify=all"]);
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(
        text(&found.out).starts_with("modified ") && text(&found.out).ends_with("/a (ctime)\n"),
        "{found:?}"
    );
    let found = run(at, &["changes", "i.parquet", "--verify=all", "--ignore", "ctime"]);
    assert_eq!(found.code, Some(12), "{found:?}");
    assert!(text(&found.out).starts_with("rotten "), "{found:?}");
}

/// Column `blake3` by path, of files and links with contents.
fn hashes(inventory: &Path) -> BTreeMap<String, Option<[u8; 32]>> {
    let mut rows = Inventory::open(inventory).unwrap();
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next_row().unwrap() {
        let mut path = Vec::new();
        row.key.path_into(&mut path);
        if row.facts.kind.name() == "file" && row.facts.size_bytes != Some(0) {
            let hash = match row.facts.hash {
                Some(ContentHash::Blake3(hash)) => Some(hash),
                Some(other) => panic!("{other:?}"),
                None => None,
            };
            found.insert(String::from_utf8(path).unwrap(), hash);
        }
    }
    found
}

fn expected(tree: &Path, paths: &[String]) -> BTreeMap<String, Option<[u8; 32]>> {
    let hash = |path: &String| Some(blake3::hash(&fs::read(tree.join(path)).unwrap()).into());
    paths.iter().map(|path| (path.clone(), hash(path))).collect()
}

#[test]
fn contents_are_hashed_once_and_again_only_if_they_changed() {
    let scratch = scratch();
    let at = scratch.path();
    let tree = at.join("t");
    let mut rng = Rng::new(9);
    let mut paths = random_tree(&tree, &mut rng, 40);
    shell(&tree, "mkfifo fifo; ln -s d0 link; : > empty; sparse=d0/sparse; truncate -s 3M d0/sparse 2>/dev/null || truncate -s 3M sparse").quiet();
    let sparse = if tree.join("d0/sparse").exists() { "d0/sparse" } else { "sparse" };
    paths.push(sparse.to_owned());
    settle();
    let scan = |more: &[&str]| run(at, &[&["scan", "--hash", "all", "t", "-o", "i.parquet"], more].concat());
    let first = scan(&["-j", "3"]);
    // The link, too.
    assert!(first.err.contains("42 files hashed, "), "{first:?}");
    assert_eq!(hashes(&at.join("i.parquet")), expected(&tree, &paths));
    let second = scan(&[]);
    assert!(second.err.contains("0 files hashed, 0 bytes read; 42 unchanged"), "{second:?}");
    assert_eq!(hashes(&at.join("i.parquet")), expected(&tree, &paths));
    for path in &paths[2..5] {
        fs::write(tree.join(path), format!("changed {path}")).unwrap();
    }
    fs::rename(tree.join(&paths[0]), tree.join("renamed")).unwrap();
    paths[0] = "renamed".to_owned();
    settle();
    let third = scan(&["--read-rate", "100MB/s"]);
    assert!(third.err.contains("4 files hashed, ") && third.err.contains("; 38 unchanged"), "{third:?}");
    assert_eq!(hashes(&at.join("i.parquet")), expected(&tree, &paths));
    // Two inventories with hashes are compared without their trees.
    run(at, &["scan", "-q", "--hash", "all", "t", "-o", "j.parquet"]).quiet();
    fs::rename(&tree, at.join("away")).unwrap();
    run(at, &["compare", "-q", "--by", "size,contents", "i.parquet", "j.parquet"]).quiet();
}

#[test]
fn a_file_that_was_modified_during_the_scan_is_a_suspect_and_never_rotten() {
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("t")).unwrap();
    fs::write(at.join("t/a"), "contents").unwrap();
    assert_eq!(run(at, &["scan", "-q", "--hash", "all", "t", "-o", "i.parquet"]).code, Some(0));
    let found = run(at, &["changes", "i.parquet", "--verify=all"]);
    assert_eq!((found.code, found.out.len()), (Some(0), 0), "its hash decides: {found:?}");
    assert!(counts(&found).contains("0 files verified"), "{found:?}");
    // The next scan does not trust its hash.
    settle();
    let again = run(at, &["scan", "--hash", "all", "t", "-o", "i.parquet"]);
    assert!(again.err.contains("1 file hashed"), "{again:?}");
}

#[test]
fn a_killed_scan_continues_with_the_hashes_it_has_made() {
    require!(have("strace"));
    let scratch = scratch();
    let at = scratch.path();
    let tree = at.join("t");
    let paths = random_tree(&tree, &mut Rng::new(3), 50);
    settle();
    let words = ["scan", "--hash", "all", "t", "-o", "t/i.parquet"];
    for number in [1, 2, 3, 10, 30] {
        let status = before_call(&megadir(at, &words), "write", number);
        assert!(was_killed(status), "{number}: {status}");
        assert!(!tree.join("i.parquet").exists());
    }
    let journal = tree.join(".i.parquet.megadir-hashes");
    assert!(journal.exists());
    let last = run(at, &words);
    assert_eq!(last.code, Some(0), "{last:?}");
    let made = last.err.split("which has made ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let made: usize = made.parse().unwrap();
    assert!((30..50).contains(&made), "{last:?}");
    assert!(last.err.contains(&format!("{} files hashed", 50 - made)), "{last:?}");
    assert!(!journal.exists());
    assert_eq!(hashes(&tree.join("i.parquet")), expected(&tree, &paths), "the journal has no row");
}

#[test]
fn an_interrupted_scan_ends_within_a_file() {
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("t")).unwrap();
    // In the order of inodes: the small one is hashed before.
    fs::write(at.join("t/a"), "small").unwrap();
    fs::File::create(at.join("t/huge")).unwrap().set_len(1 << 43).unwrap();
    settle();
    let mut child = megadir(at, &["scan", "--hash", "all", "t", "-o", "i.parquet"]);
    let mut child = child.stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let started = Instant::now();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(!at.join("i.parquet").exists() && at.join(".i.parquet.megadir-hashes").exists());
    fs::remove_file(at.join("t/huge")).unwrap();
    let next = run(at, &["scan", "--hash", "all", "t", "-o", "i.parquet"]);
    assert!(next.code == Some(0) && next.err.contains("continues an interrupted scan"), "{next:?}");
    // Hashes of other trees are refused, with the file.
    fs::create_dir(at.join("u")).unwrap();
    fs::File::create(at.join("u/huge")).unwrap().set_len(1 << 43).unwrap();
    let mut child = megadir(at, &["scan", "-q", "--hash", "all", "u", "-o", "i.parquet"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    child.kill().unwrap();
    child.wait().unwrap();
    let refused = run(at, &["scan", "--hash", "all", "t", "-o", "i.parquet"]);
    refused.complains(2, &[".i.parquet.megadir-hashes", "other trees", "remove this file"]);
}

#[test]
fn shares_of_consecutive_days_read_every_file_once() {
    let scratch = scratch();
    let at = scratch.path();
    random_tree(&at.join("t"), &mut Rng::new(4), 100);
    settle();
    run(at, &["scan", "-q", "--hash", "all", "t", "-o", "i.parquet"]).quiet();
    let verified = |share: &str| {
        let ran = run(at, &["changes", "i.parquet", "--verify", share]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let line = counts(&ran);
        line.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    };
    let days: Vec<u64> = (100..107).map(|day| verified(&format!("1/7@{day}"))).collect();
    assert_eq!(days.iter().sum::<u64>(), 100, "{days:?}");
    assert!(days.iter().all(|files| *files < 40), "{days:?}");
    assert!(days.contains(&verified("1/7")), "that of today");
    for bad in ["--verify=0/7", "--verify=8/7", "--verify=1/7@x", "--verify=half"] {
        assert_eq!(run(at, &["changes", "i.parquet", bad]).code, Some(2), "{bad}");
    }
    run(at, &["changes", "i.parquet", "--only", "rotten"]).complains(2, &["--verify=all"]);
}

#[test]
fn files_without_permission_have_no_hash_and_are_named() {
    let scratch = scratch();
    let program = require!(unprivileged(&scratch));
    let at = scratch.path();
    shell(at, "mkdir t out; echo a > t/a; echo b > t/b; chmod 600 t/b; chmod 777 out").quiet();
    settle();
    let ran = run_as_nobody(&program, at, &["scan", "--hash", "all", "t", "-o", "out/i.parquet"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("open 't/b': Permission denied"), "{ran:?}");
    assert!(ran.err.contains("1 file hashed, 2 bytes read; 1 could not be read"), "{ran:?}");
    let hashes = hashes(&at.join("out/i.parquet"));
    assert!(hashes["a"].is_some() && hashes["b"].is_none(), "{hashes:?}");
    let ran = run(at, &["changes", "out/i.parquet", "--verify=all"]);
    assert!(
        counts(&ran).contains("1 file verified, 2 bytes read; 1 not verified: without a hash"),
        "{ran:?}"
    );
}

#[test]
fn rows_of_more_than_a_window_keep_their_order_and_bounded_memory() {
    require!(have("python3"));
    let scratch = crate::support::scratch_in_memory();
    let tree: PathBuf = scratch.path().join("t");
    for directory in 0..70 {
        fs::create_dir_all(tree.join(format!("d{directory}"))).unwrap();
        for file in 0..1000 {
            fs::write(tree.join(format!("d{directory}/f{file}")), [b'x'; 10]).unwrap();
        }
    }
    settle();
    let words = ["scan", "-q", "--memory", "16MiB", "--hash", "all"];
    let peak = crate::support::peak(&words, &tree, &scratch.path().join("i.parquet"), 0);
    assert!(peak < 220 << 20, "{} MiB", peak >> 20);
    assert_eq!(hashes(&scratch.path().join("i.parquet")).len(), 70_000);
}

#[test]
fn a_link_with_another_target_is_a_change() {
    let scratch = scratch();
    let tree = scratch.path().join("tree");
    fs::create_dir(&tree).unwrap();
    std::os::unix::fs::symlink("release-1", tree.join("current")).unwrap();
    settle();
    let scanned = run(scratch.path(), &["scan", "-q", "--hash", "all", "tree", "-o", "i.parquet"]);
    assert_eq!(scanned.code, Some(0), "{scanned:?}");
    fs::remove_file(tree.join("current")).unwrap();
    std::os::unix::fs::symlink("release-2", tree.join("current")).unwrap();
    let found = run(scratch.path(), &["changes", "i.parquet", "--verify", "all"]);
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(text(&found.out).contains("modified") && !text(&found.out).contains("rotten"), "{found:?}");
}

#[test]
fn damage_of_the_replaced_inventory_ends_no_scan() {
    let scratch = scratch();
    let tree = scratch.path().join("tree");
    random_tree(&tree, &mut Rng::new(11), 40);
    settle();
    let scan = ["scan", "--hash", "all", "tree", "-o", "i.parquet"];
    assert_eq!(run(scratch.path(), &scan).code, Some(0));
    let path = scratch.path().join("i.parquet");
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 0xff;
    fs::write(&path, bytes).unwrap();
    let scanned = run(scratch.path(), &scan);
    assert_eq!(scanned.code, Some(0), "{scanned:?}");
    let found = run(scratch.path(), &["changes", "i.parquet", "--verify", "all"]);
    assert_eq!((found.code, found.out.len()), (Some(0), 0), "{found:?}");
}

#[test]
fn an_inventory_without_hashes_verifies_nothing_and_that_is_an_error() {
    let scratch = scratch();
    let tree = scratch.path().join("tree");
    random_tree(&tree, &mut Rng::new(12), 5);
    settle();
    assert_eq!(run(scratch.path(), &["scan", "-q", "tree", "-o", "i.parquet"]).code, Some(0));
    let found = run(scratch.path(), &["changes", "i.parquet", "--verify", "all"]);
    assert_eq!(found.code, Some(3), "{found:?}");
    assert!(found.err.contains("scan --hash all"), "{found:?}");
    for ignored in ["mtime", "contents"] {
        let refused = run(scratch.path(), &["changes", "i.parquet", "--verify", "all", "--ignore", ignored]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
    }
    let refused = run(scratch.path(), &["changes", "i.parquet", "--verify", "2/1"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}
