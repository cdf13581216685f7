//! A folder of parts is read as the file that one scan would have written.
#![cfg(test)]

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

use megadir::FileType;
use megadir::usage::{By, Usage, UsageOptions};
use megadir_inventory::changes::{ChangeKind, CompareOptions, Watch, compare_inventories, compare_scanned};
use megadir_inventory::{
    FORMAT_VERSION, Facts, Inventory, Metadata, OwnedRow, PARTS_FILE, Root, Rows, Scanned, Selected, Sink,
    WriteOptions, Writer, usage,
};

struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % most
    }
}

fn metadata(rows: &[OwnedRow], started_ns: i64) -> Metadata {
    let root = Root {
        path: b"/tree".to_vec(),
        file_system: "ext4".into(),
        driver: None,
        lasting_inodes: None,
        granule_ns: Some(1),
        newest_ns: None,
    };
    let scanned = Scanned {
        cross_mounts: false,
        stat_backend: "statx".to_owned(),
        threads: 1,
        mounts_not_entered: 0,
        selected: None,
    };
    Metadata {
        version: FORMAT_VERSION,
        program: "test".to_owned(),
        roots: vec![root],
        started_ns,
        ended_ns: 1000,
        scanned,
        rows: rows.len() as u64,
        failed: rows.iter().filter(|row| row.error.is_some()).count() as u64,
        unread_directories: rows.iter().filter(|row| row.error.is_some()).count() as u64,
        volumes: Some(Vec::new()),
    }
}

/// Directories nested at random, among them `d`, `d-` and `d/d`, whose keys interleave.
fn rows(random: &mut Random, entries: usize) -> Vec<OwnedRow> {
    let facts = |kind, random: &mut Random| Facts {
        kind,
        size_bytes: Some(random.below(9000)),
        allocated_bytes: Some(4096),
        changed_ns: Some(random.below(1 << 40) as i64),
        inode: Some(random.below(1 << 60)),
        device: Some(1),
        links: Some(1),
        ..Facts::NOTHING
    };
    let root = OwnedRow {
        root: 0,
        parent: Vec::new(),
        name: Vec::new(),
        facts: facts(FileType::Directory, random),
        error: None,
    };
    let mut directories: Vec<Vec<u8>> = vec![Vec::new()];
    let mut rows = vec![root];
    let mut taken = HashSet::new();
    for number in 0..entries {
        let parent = directories[random.below(directories.len() as u64) as usize].clone();
        let is_directory = random.below(4) == 0;
        let name = match (is_directory, random.below(2)) {
            (true, 0) => b"d".to_vec(),
            (true, _) => format!("d-{number}").into_bytes(),
            _ => format!("{number}\u{e4}").into_bytes(),
        };
        let kind = if is_directory { FileType::Directory } else { FileType::File };
        let error = (is_directory && random.below(9) == 0).then(|| "open: reason".to_owned());
        let row = OwnedRow { root: 0, parent, name, facts: facts(kind, random), error };
        let mut path = Vec::new();
        row.row().key.path_into(&mut path);
        if !taken.insert(path.clone()) {
            continue;
        }
        if is_directory && row.error.is_none() {
            directories.push(path);
        }
        rows.push(row);
    }
    rows.sort_by(|a, b| a.row().key.cmp(&b.row().key));
    rows
}

fn write_with(path: &Path, rows: &[OwnedRow], metadata: &Metadata) {
    let options = WriteOptions { threads: 0, level: 1, group_rows: 7 };
    let roots = metadata.roots.iter().map(|root| root.path.clone()).collect();
    let mut writer = Writer::create(path, roots, options).unwrap();
    rows.iter().for_each(|row| writer.add(&row.row()).unwrap());
    writer.finish(metadata).unwrap();
}

fn write(path: &Path, rows: &[OwnedRow], started_ns: i64) {
    write_with(path, rows, &metadata(rows, started_ns));
}

/// Writes each row to a part of its own choice, and some directories, as they were earlier, to others too. Some errors are in
/// rows of their own, without facts.
fn split(folder: &Path, rows: &[OwnedRow], parts: u64, random: &mut Random) {
    std::fs::create_dir(folder).unwrap();
    let mut split: Vec<Vec<OwnedRow>> = vec![Vec::new(); parts as usize];
    for row in rows {
        let part = random.below(parts);
        let mut own = row.clone();
        if row.facts.kind == FileType::Directory && part > 0 && random.below(2) == 0 {
            let earlier = row.error.as_ref().filter(|_| random.below(2) == 0);
            let error = earlier.map(|_| "read: earlier".to_owned());
            let facts = Facts { size_bytes: Some(1), ..row.facts };
            split[random.below(part) as usize].push(OwnedRow { facts, error, ..row.clone() });
        } else if row.error.is_some() && part + 1 < parts && random.below(2) == 0 {
            let another = part + 1 + random.below(parts - part - 1);
            let at = if random.below(2) == 0 { another } else { part };
            split[at as usize].push(OwnedRow { facts: Facts::NOTHING, ..row.clone() });
            own.error = None;
            split[(another + part - at) as usize].push(own);
            continue;
        }
        split[part as usize].push(own);
    }
    for (rows, number) in split.iter().zip(0..) {
        write(&folder.join(format!("part-{number}.parquet")), rows, number);
    }
    std::fs::write(folder.join("journal"), "").unwrap();
    std::fs::write(folder.join(".hidden.parquet"), "").unwrap();
}

fn finish(folder: &Path, parts: u64) {
    std::fs::write(folder.join(PARTS_FILE), format!(r#"{{"version":1,"parts":{parts}}}"#)).unwrap();
}

fn read(path: &Path) -> megadir::Result<(Metadata, Vec<OwnedRow>)> {
    let mut inventory = Inventory::open(path)?;
    let mut rows = Vec::new();
    while let Some(row) = inventory.next_row()? {
        rows.push(OwnedRow::from(row));
    }
    assert!(inventory.next_row()?.is_none());
    Ok((inventory.metadata().clone(), rows))
}

fn used(path: &Path) -> String {
    let mut figures = Usage::new(UsageOptions { top: 20, depth: None, by: By::Entries, now_s: 0 });
    let watch = &mut |_| ControlFlow::Continue(());
    let lacking = usage(Inventory::open(path).unwrap(), None, &mut figures, watch).unwrap();
    format!("{lacking:?} {:?}", figures.finish().directories)
}

fn options() -> CompareOptions {
    CompareOptions { skip_unchanged: false, ..CompareOptions::new(2) }
}

fn changed(before: &Path, now: &Path) -> String {
    let open = |path| Inventory::open(path).unwrap();
    let compared = compare_inventories(open(before), open(now), &options(), &Watch::default()).unwrap();
    assert!(compared.is_changed());
    format!("{:?} {:?} {}", compared.changes, compared.unknown_before, compared.unread)
}

/// The clock of another machine may be late, and only the inventory has conditions.
#[test]
fn a_scan_for_a_comparison_needs_no_later_clock_and_no_conditions() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let before = rows(&mut Random(1), 60);
    let now = &before[..before.len() - 1];
    let mut selected = metadata(&before, 500);
    selected.scanned.selected = Some(Selected { names: vec!["*".to_owned()], ..Selected::default() });
    write_with(&at("before"), &before, &selected);
    write(&at("now"), now, 400);
    let open = |name| Inventory::open(&at(name)).unwrap();
    let watch = Watch::default();
    let compared = compare_scanned(open("before"), open("now"), &options(), &watch).unwrap();
    assert_eq!(compared.count(ChangeKind::Removed), 1);
    let older = compare_inventories(open("before"), open("now"), &options(), &watch).unwrap_err();
    assert!(older.to_string().contains("is older than the first"), "{older}");
    let of_some = compare_scanned(open("now"), open("before"), &options(), &watch).unwrap_err();
    assert!(of_some.to_string().contains("was made with conditions"), "{of_some}");
}

#[test]
fn parts_are_read_as_one_file() {
    for seed in 0..4 {
        let random = &mut Random(seed);
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let before = rows(random, 150);
        let mut now = before.clone();
        now.retain(|row| row.facts.kind == FileType::Directory || random.below(5) > 0);
        now.iter_mut().filter(|_| random.below(9) == 0).for_each(|row| row.facts.size_bytes = Some(77));
        let parts = 1 + random.below(8);
        for (name, rows) in [("before", &before), ("now", &now)] {
            write(&at(&format!("{name}.parquet")), rows, 0);
            split(&at(name), rows, parts, random);
            assert!(
                !Inventory::is_at(&at(name)) && Inventory::open(&at(name)).unwrap().unfinished().is_some()
            );
            finish(&at(name), parts);
            assert!(
                Inventory::is_at(&at(name)) && Inventory::open(&at(name)).unwrap().unfinished().is_none()
            );
            let single = at(&format!("{name}.parquet"));
            assert!(read(&at(name)).unwrap() == read(&single).unwrap(), "seed {seed}, {parts} parts");
            assert_eq!(used(&at(name)), used(&single), "seed {seed}, {parts} parts");
        }
        let expected = changed(&at("before.parquet"), &at("now.parquet"));
        for (old, new) in [("before", "now"), ("before.parquet", "now"), ("before", "now.parquet")] {
            assert_eq!(changed(&at(old), &at(new)), expected, "seed {seed}, {parts} parts");
        }
    }
}

#[test]
fn many_parts_take_no_descriptors() {
    let directory = tempfile::tempdir().unwrap();
    let rows = rows(&mut Random(5), 400);
    let folder = directory.path().join("parts");
    split(&folder, &rows, 40, &mut Random(6));
    let mut inventory = Inventory::open(&folder).unwrap();
    for row in &rows {
        assert_eq!(inventory.next_row().unwrap().map(OwnedRow::from).as_ref(), Some(row));
        #[cfg(target_os = "linux")]
        for open in std::fs::read_dir("/proc/self/fd").unwrap() {
            let target = std::fs::read_link(open.unwrap().path());
            assert!(!target.is_ok_and(|target| target.starts_with(&folder)));
        }
    }
}

#[test]
fn parts_that_do_not_belong_together_are_refused_in_a_line_that_names_them() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("parts");
    let rows = rows(&mut Random(1), 60);
    let refused = |prepare: &dyn Fn(), words: &[&str]| {
        let _ = std::fs::remove_dir_all(&folder);
        split(&folder, &rows, 3, &mut Random(3));
        prepare();
        let text = read(&folder).unwrap_err().to_string();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(words.iter().all(|word| text.contains(word)), "{text}: {words:?}");
    };
    let part = |number: u8| folder.join(format!("part-{number}.parquet"));
    let whole = |change: &dyn Fn(&mut Metadata)| {
        let (mut metadata, rows) = (metadata(&[], 9), &[]);
        change(&mut metadata);
        write_with(&part(1), rows, &metadata);
    };
    refused(&|| std::fs::write(part(1), "text").unwrap(), &["part-1.parquet", "not a Parquet file"]);
    let rewritten = |change: fn(&mut Vec<u8>)| {
        let mut bytes = std::fs::read(part(2)).unwrap();
        change(&mut bytes);
        std::fs::write(part(2), bytes).unwrap();
    };
    refused(&|| rewritten(|bytes| bytes.truncate(bytes.len() - 5)), &["part-2.parquet", "truncated"]);
    refused(&|| rewritten(|bytes| bytes[40] ^= 1), &["part-2.parquet", "do not match their checksums"]);
    refused(&|| whole(&|metadata| metadata.version = 7), &["part-1.parquet", "version 7"]);
    let other_root = |metadata: &mut Metadata| metadata.roots[0].path = b"/other".to_vec();
    refused(&|| whole(&other_root), &["part-0.parquet", "part-1.parquet", "roots differ"]);
    let other_mounts = |metadata: &mut Metadata| metadata.scanned.cross_mounts = true;
    refused(&|| whole(&other_mounts), &["part-0.parquet", "part-1.parquet", "settings differ"]);
    let copied = || std::fs::copy(part(2), folder.join("part-3.parquet")).map(drop).unwrap();
    refused(&copied, &["part-2.parquet", "part-3.parquet", "only directories"]);
    let made = || std::fs::create_dir(folder.join("x.parquet")).unwrap();
    refused(&made, &["x.parquet", "a directory"]);
    refused(&|| finish(&folder, 4), &["parts'", "3 parts instead of 4"]);
    let about = folder.join(PARTS_FILE);
    let of_version = |text: &'static str| {
        let about = &about;
        move || std::fs::write(about, text).unwrap()
    };
    refused(&of_version(r#"{"version":2,"parts":3}"#), &[PARTS_FILE, "version 2"]);
    refused(&of_version("{}"), &[PARTS_FILE, "no number of parts"]);
    refused(&of_version("text"), &[PARTS_FILE, "damaged"]);
    let without_root = || {
        let directory = rows.iter().find(|row| row.facts.kind == FileType::Directory && !row.name.is_empty());
        let lost = directory.unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::create_dir(&folder).unwrap();
        let rest: Vec<_> = rows.iter().filter(|row| row != &lost).cloned().collect();
        write(&part(0), &rest, 0);
    };
    refused(
        &without_root,
        &["part-0.parquet", "is not a directory of the inventory", "a part may be missing"],
    );
    let none = || {
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::create_dir(&folder).unwrap();
    };
    refused(&none, &["a directory, not an inventory", "*.parquet"]);
}
