//! Differences between a tree and its copy are those that full listings and contents of the standard library show,
//! whichever of the sides are trees and which inventories.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, FileTimes, Permissions};
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use megadir::FileType;
use megadir_inventory::copies::{
    CopyOptions, CopyWatch, Counts, DifferenceKind, Properties, Side, compare_copies,
};
use megadir_inventory::{
    ContentHash, GROUP_ROWS, Inventory, Row, ScanOptions, Sink, WriteOptions, Writer, root_path, scan,
};
use megadir_testkit::require;
use megadir_testkit::rng::Rng;
use megadir_testkit::unprivileged::unprivileged;
use sha2::{Digest, Sha256};

/// Kind, path and the properties that differ or the side that could not be read.
type Line = (&'static str, Vec<u8>, String);

const BY_FACTS: [Properties; 4] =
    [Properties::SIZE, Properties::MODIFIED, Properties::MODE, Properties::OWNER];

fn scan_options(memory_bytes: usize) -> ScanOptions {
    ScanOptions::new(2, memory_bytes, std::env::temp_dir())
}

fn tree(path: &Path) -> Side {
    Side::Tree(path.into(), Box::new(scan_options(8 << 20)))
}

/// Adds the hash of every file and link.
struct Hashed<'a>(Writer, &'a Path);

impl Sink for Hashed<'_> {
    fn add(&mut self, row: &Row<'_>) -> megadir::Result<()> {
        let mut path = Vec::new();
        row.key.path_into(&mut path);
        let path = self.1.join(OsStr::from_bytes(&path));
        let mut row = *row;
        row.facts.hash = match row.facts.kind {
            FileType::File => Some(ContentHash::Sha256(Sha256::digest(fs::read(path).unwrap()).into())),
            FileType::Symlink => {
                let target = fs::read_link(path).unwrap();
                Some(ContentHash::Sha256(Sha256::digest(target.as_os_str().as_bytes()).into()))
            }
            _ => None,
        };
        self.0.add(&row)
    }
}

fn write(tree: &Path, file: &Path, is_hashed: bool) {
    let options = WriteOptions { threads: 0, level: 1, group_rows: GROUP_ROWS };
    let mut writer = Writer::create(file, vec![root_path(tree).unwrap()], options).unwrap();
    let mut watch = |_: megadir::TreeEvent<'_>| ControlFlow::Continue(());
    let mut scan_into = |sink: &mut dyn Sink| {
        scan(&[tree.into()], &scan_options(8 << 20), &mut watch, sink).unwrap().unwrap()
    };
    let metadata = match is_hashed {
        true => {
            let mut hashed = Hashed(writer, tree);
            let metadata = scan_into(&mut hashed);
            writer = hashed.0;
            metadata
        }
        false => scan_into(&mut writer),
    };
    writer.finish(&metadata).unwrap();
}

fn inventory(file: &Path) -> Side {
    Side::Inventory(Box::new(Inventory::open(file).unwrap()))
}

fn compared(sides: [Side; 2], properties: Properties) -> (Vec<Line>, Counts) {
    let options = CopyOptions { properties, conditions: None };
    let watch = CopyWatch { stop: &AtomicBool::new(false), event: &|_, _| {} };
    let mut lines = Vec::new();
    let mut report = |difference: &megadir_inventory::copies::Difference<'_>| {
        let mut path = Vec::new();
        difference.key.path_into(&mut path);
        let names: Vec<&str> = difference.properties.names().collect();
        let details = match difference.unreadable {
            Some((side, error)) => format!("{side}: {error}"),
            None => names.join(","),
        };
        let [a, b] = difference.facts.map(|facts| facts.is_some());
        let sides = match difference.kind {
            DifferenceKind::Missing => (true, false),
            DifferenceKind::Extra => (false, true),
            _ => (a, b),
        };
        assert_eq!((a, b), sides, "{difference:?}");
        lines.push((difference.kind.name(), path, details));
        ControlFlow::Continue(())
    };
    let counts = compare_copies(sides, &options, &watch, &mut report).unwrap().unwrap();
    for kind in DifferenceKind::ALL {
        let count = lines.iter().filter(|line| line.0 == kind.name()).count();
        assert_eq!(counts.of(kind), count as u64, "{kind:?}");
    }
    (lines, counts)
}

/// Entries of a tree by the standard library.
fn listed(top: &Path, directory: &Path, found: &mut BTreeMap<Vec<u8>, PathBuf>) {
    let below = |path: &Path| path.strip_prefix(top).unwrap().as_os_str().as_bytes().to_vec();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.symlink_metadata().unwrap().is_dir() {
            listed(top, &path, found);
        }
        found.insert(below(&path), path);
    }
}

/// Expected result: the lines, sorted, and the number of entries that agree.
fn expected([a, b]: [&Path; 2], properties: Properties) -> (Vec<Line>, u64) {
    let mut sides = [BTreeMap::new(), BTreeMap::new()];
    listed(a, a, &mut sides[0]);
    listed(b, b, &mut sides[1]);
    let (mut lines, mut agreeing) = (Vec::new(), 0);
    for (path, original) in &sides[0] {
        let Some(other) = sides[1].get(path) else {
            lines.push(("missing", path.clone(), String::new()));
            continue;
        };
        let names = differing(original, other, properties);
        match names.is_empty() {
            true => agreeing += 1,
            false => lines.push(("differs", path.clone(), names)),
        }
    }
    let extra = sides[1].keys().filter(|path| !sides[0].contains_key(*path));
    lines.extend(extra.map(|path| ("extra", path.clone(), String::new())));
    lines.sort();
    (lines, agreeing)
}

fn differing(original: &Path, other: &Path, properties: Properties) -> String {
    let [a, b] = [original, other].map(|path| path.symlink_metadata().unwrap());
    if a.file_type() != b.file_type() {
        return "type".to_owned();
    }
    let (is_directory, is_link) = (a.is_dir(), a.is_symlink());
    let time = |status: &fs::Metadata| (status.mtime(), status.mtime_nsec());
    let has = |property, applies, differs: bool| properties.contains(property) && applies && differs;
    let mut names = Vec::new();
    if has(Properties::SIZE, a.is_file() || is_link, a.len() != b.len()) {
        names.push("size");
    }
    if has(Properties::MODIFIED, !is_directory, time(&a) != time(&b)) {
        names.push("mtime");
    }
    if has(Properties::MODE, !is_link, a.mode() != b.mode()) {
        names.push("mode");
    }
    if has(Properties::OWNER, true, (a.uid(), a.gid()) != (b.uid(), b.gid())) {
        names.push("owner");
    }
    if names.is_empty() && has(Properties::TARGET, is_link, is_link) {
        names.extend((fs::read_link(original).unwrap() != fs::read_link(other).unwrap()).then_some("target"));
    }
    if names.is_empty() && has(Properties::CONTENTS, a.is_file(), a.is_file()) {
        names.extend((fs::read(original).unwrap() != fs::read(other).unwrap()).then_some("contents"));
    }
    names.join(",")
}

/// Names whose order by path and by directory differ, and names that are not text.
const NAMES: [&[u8]; 12] =
    [b"a", b"a-b", b"a0", b"b", b"#c", b"d e", b"line\nbreak", b"\xff\xfe", b"\xc3\xa4", b"z", b"..x", b"A"];

fn set_time(path: &Path, seconds: u64, nanoseconds: u32) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
    fs::File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

fn make(path: &Path, random: &mut Rng, depth: u32) {
    match random.within(0, 9) {
        0..=2 if depth < 4 => fill(path, random, depth),
        3 => symlink(random.pick(&["a", "b", "nowhere"]), path).unwrap(),
        4 if random.chance(30) => rustix_fifo(path),
        _ => {
            // Contents of the same length differ, and some files are longer than a chunk of the comparison.
            let length = random.pick(&[0, 1, 3, 3, 5, 1000, 1000, 2000, 128 << 10, (256 << 10) + 1]);
            fs::write(path, vec![random.pick(b"xyz"); length]).unwrap();
            set_time(path, random.within(1, 1 << 31), random.pick(&[0, 1, 500, 123_456_789]));
        }
    }
}

fn rustix_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn fill(directory: &Path, random: &mut Rng, depth: u32) {
    fs::create_dir(directory).unwrap();
    for name in NAMES {
        if random.chance(55) {
            make(&directory.join(OsStr::from_bytes(name)), random, depth + 1);
        }
    }
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(status) if status.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// One change of a random entry of the copy.
fn mutate(top: &Path, random: &mut Rng) {
    let mut found = BTreeMap::new();
    listed(top, top, &mut found);
    let paths: Vec<&PathBuf> = found.values().collect();
    let Some(path) = paths.get(random.within(0, paths.len().max(1) as u64 - 1) as usize) else { return };
    let status = path.symlink_metadata().unwrap();
    match random.within(0, 8) {
        0 => remove(path),
        1 => {
            remove(path);
            make(path, random, 3);
        }
        2 => make_new(path.parent().unwrap(), random),
        3 if status.is_symlink() => {
            let target = fs::read_link(path).unwrap();
            fs::remove_file(path).unwrap();
            let other = if target == Path::new("a") { "b" } else { "a" };
            symlink(other, path).unwrap();
            let time = format!("@{}.{:09}", status.mtime(), status.mtime_nsec());
            assert!(Command::new("touch").args(["-h", "-d", &time]).arg(path).status().unwrap().success());
        }
        // Another byte, with the size and the time of before.
        4 if status.is_file() && status.len() > 0 => {
            let mut bytes = fs::read(path).unwrap();
            let at = random.within(0, bytes.len() as u64 - 1) as usize;
            bytes[at] ^= 1;
            fs::write(path, bytes).unwrap();
            let time = FileTimes::new().set_modified(status.modified().unwrap());
            fs::File::open(path).unwrap().set_times(time).unwrap();
        }
        5 if status.is_file() => set_time(path, random.within(1, 1 << 31), 7),
        6 if !status.is_symlink() => {
            fs::set_permissions(path, Permissions::from_mode(status.mode() ^ 0o010)).unwrap();
        }
        7 if rustix::process::geteuid().is_root() => lchown(path, Some(status.uid() + 1), None).unwrap(),
        _ if status.is_file() => fs::write(path, b"other").unwrap(),
        _ => make_new(path.parent().unwrap(), random),
    }
}

fn make_new(directory: &Path, random: &mut Rng) {
    let name = std::ffi::OsString::from_vec([&b"new-"[..], random.pick(&NAMES)].concat());
    let path = directory.join(name);
    remove(&path);
    make(&path, random, 3);
}

fn copied(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

fn sorted(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort();
    lines
}

#[test]
fn trees_and_inventories_have_the_differences_that_full_listings_have() {
    let by_facts: Properties = BY_FACTS.into_iter().collect();
    let sets = [
        Properties::NOTHING,
        Properties::SIZE.with(Properties::MODIFIED),
        by_facts,
        Properties::CONTENTS,
        by_facts.with(Properties::CONTENTS).with(Properties::TARGET),
    ];
    let (mut seen, mut entries) = (BTreeMap::new(), 0);
    for seed in 0..10 {
        let scratch = tempfile::tempdir().unwrap();
        let random = &mut Rng::new(seed);
        let (a, b) = (scratch.path().join("a"), scratch.path().join("b"));
        fill(&a, random, 0);
        copied(&a, &b);
        let files = [scratch.path().join("a.parquet"), scratch.path().join("b.parquet")];
        assert_eq!(compared([tree(&a), tree(&b)], sets[4]).0, [], "seed {seed}: an exact copy");
        for _ in 0..random.within(1, 25) {
            mutate(&b, random);
        }
        for (path, file) in [&a, &b].into_iter().zip(&files) {
            write(path, file, true);
        }
        for properties in sets {
            let (lines, agreeing) = expected([&a, &b], properties);
            entries += agreeing;
            for line in &lines {
                for name in line.2.split(',').chain([line.0]) {
                    *seen.entry(name.to_owned()).or_insert(0) += 1;
                }
            }
            for pair in 0..4 {
                let side = |path: &Path, file: &Path, bit: u32| {
                    if pair & bit == 0 { tree(path) } else { inventory(file) }
                };
                let sides = [side(&a, &files[0], 1), side(&b, &files[1], 2)];
                let (found, counts) = compared(sides, properties);
                assert_eq!(sorted(found), lines, "seed {seed}, pair {pair}, {properties:?}");
                assert_eq!(counts.agreeing, agreeing, "seed {seed}, pair {pair}, {properties:?}");
                assert!(counts.is_complete());
            }
        }
    }
    // The oracle has seen every kind of difference, and more agreement than differences.
    let root_only = if rustix::process::geteuid().is_root() { &["owner"][..] } else { &[] };
    let kinds = ["missing", "extra", "differs", "type", "size", "mtime", "mode", "target", "contents"];
    for kind in kinds.iter().chain(root_only) {
        assert!(seen.get(*kind).is_some_and(|count| *count > 0), "{kind}: {seen:?}");
    }
    assert!(entries > 1000, "{entries}");
}

#[test]
fn more_entries_than_fit_into_memory_are_compared() {
    let scratch = tempfile::tempdir().unwrap();
    let (a, b) = (scratch.path().join("a"), scratch.path().join("b"));
    for directory in 0..12 {
        let path = a.join(format!("directory-{directory}"));
        fs::create_dir_all(&path).unwrap();
        for file in 0..1000 {
            fs::write(path.join(format!("a-file-with-a-long-name-{file:060}")), "").unwrap();
        }
    }
    copied(&a, &b);
    let random = &mut Rng::new(7);
    let mut removed = Vec::new();
    for directory in 0..12 {
        let file = random.within(0, 999);
        let path = format!("directory-{directory}/a-file-with-a-long-name-{file:060}");
        fs::remove_file(b.join(&path)).unwrap();
        removed.push(path.into_bytes());
    }
    removed.sort();
    let small = |path: &Path| Side::Tree(path.into(), Box::new(scan_options(256 << 10)));
    let (lines, counts) = compared([small(&a), small(&b)], Properties::SIZE.with(Properties::MODIFIED));
    let mut paths: Vec<Vec<u8>> = lines.iter().map(|line| line.1.clone()).collect();
    paths.sort();
    assert_eq!(paths, removed);
    assert!(lines.iter().all(|line| line.0 == "missing"));
    assert_eq!(counts.agreeing, 12_000 + 12 - 12);
}

/// Two equal trees that anybody may read.
fn equal_trees() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), Permissions::from_mode(0o755)).unwrap();
    let (a, b) = (scratch.path().join("a"), scratch.path().join("b"));
    fs::create_dir_all(a.join("d/below/deep")).unwrap();
    for path in ["first", "d/x", "d/below/y", "d/below/deep/z", "last"] {
        fs::write(a.join(path), "text").unwrap();
    }
    copied(&a, &b);
    (scratch, a, b)
}

#[test]
fn entries_of_an_unreadable_directory_are_neither_missing_nor_extra() {
    require!(match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err("only root can make files of others".to_owned()),
    });
    // Without permission to list, and without permission to examine what was listed.
    for (mode, unread, below) in [(0o700, 1, 5), (0o744, 2, 3)] {
        for hidden in [0, 1] {
            let (scratch, a, b) = equal_trees();
            let trees = [&a, &b];
            fs::set_permissions(trees[hidden].join("d"), Permissions::from_mode(mode)).unwrap();
            fs::remove_file(trees[1 - hidden].join("last")).unwrap();
            let files = [scratch.path().join("a.parquet"), scratch.path().join("b.parquet")];
            fs::set_permissions(scratch.path(), Permissions::from_mode(0o777)).unwrap();
            let (found, counts) = unprivileged(|| {
                for (tree, file) in trees.iter().zip(&files) {
                    write(tree, file, false);
                }
                let (found, counts) = compared([tree(&a), tree(&b)], Properties::SIZE);
                for sides in [[inventory(&files[0]), tree(&b)], [inventory(&files[0]), inventory(&files[1])]]
                {
                    assert_eq!(compared(sides, Properties::SIZE), (found.clone(), counts));
                }
                (found, counts)
            });
            let only = if hidden == 0 { "missing" } else { "extra" };
            let others: Vec<&Line> = found.iter().filter(|line| line.0 != "unreadable").collect();
            assert_eq!(others, [&(only, b"last".to_vec(), String::new())], "{found:?}");
            let unreadable = found.iter().filter(|line| line.0 == "unreadable");
            assert!(
                unreadable
                    .clone()
                    .all(|line| line.2.starts_with(&format!("{hidden}: ")) && line.2.contains("denied"))
            );
            assert_eq!(unreadable.count(), unread, "{found:?}");
            assert_eq!((counts.unreadable, counts.below_unread), (unread as u64, below), "{found:?}");
            assert_eq!(counts.agreeing, if mode == 0o700 { 1 } else { 2 }, "{found:?}");
        }
    }
}

#[test]
fn a_file_that_changes_after_the_scan_is_reported_and_not_judged() {
    let (_scratch, a, b) = equal_trees();
    let keep = |path: &Path, text: &str| {
        let time = path.metadata().unwrap().modified().unwrap();
        fs::write(path, text).unwrap();
        fs::File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
    };
    keep(&b.join("first"), "TEXT");
    let options = CopyOptions { properties: Properties::CONTENTS, conditions: None };
    let watch = CopyWatch { stop: &AtomicBool::new(false), event: &|_, _| {} };
    let mut lines = Vec::new();
    let mut report = |difference: &megadir_inventory::copies::Difference<'_>| {
        let name = String::from_utf8(difference.key.name.to_vec()).unwrap();
        lines.push(format!("{} {name} {:?}", difference.kind.name(), difference.unreadable));
        if name == "first" {
            // The rows of both trees are there; `last` is in the same directory, and not compared yet.
            fs::write(b.join("last"), "text").unwrap();
        }
        ControlFlow::Continue(())
    };
    let counts = compare_copies([tree(&a), tree(&b)], &options, &watch, &mut report).unwrap().unwrap();
    let changed = r#"unreadable last Some((1, "changed while it was compared"))"#;
    assert_eq!(lines, ["differs first None", changed]);
    assert_eq!((counts.unreadable, counts.agreeing), (1, 6));
}

#[test]
fn a_comparison_ends_when_it_is_requested() {
    let (_scratch, a, b) = equal_trees();
    fs::remove_dir_all(b.join("d")).unwrap();
    let options = CopyOptions { properties: Properties::SIZE, conditions: None };
    let mut lines = 0;
    let watch = CopyWatch { stop: &AtomicBool::new(false), event: &|_, _| {} };
    let mut break_at_first = |_: &megadir_inventory::copies::Difference<'_>| {
        lines += 1;
        ControlFlow::Break(())
    };
    assert_eq!(compare_copies([tree(&a), tree(&b)], &options, &watch, &mut break_at_first).unwrap(), None);
    assert_eq!(lines, 1);
    let watch = CopyWatch { stop: &AtomicBool::new(true), event: &|_, _| {} };
    let mut nothing = |_: &megadir_inventory::copies::Difference<'_>| ControlFlow::Continue(());
    assert_eq!(compare_copies([tree(&a), tree(&b)], &options, &watch, &mut nothing).unwrap(), None);
}
