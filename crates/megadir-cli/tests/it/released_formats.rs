//! Files that released versions wrote are read as they were read then: inventories, packs, records.
//!
//! `tests/data/VERSION/` has files of each version. After its release they are never written again: a change that needs
//! other files breaks the promise that the formats are. A new version adds a folder.

use std::path::PathBuf;

use megadir_inventory::{ContentHash, Inventory, Rows};

use crate::support::{run, text};

fn files_of(version: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(version)
}

#[test]
fn inventory_of_0_1_0_has_its_entries_with_their_times_and_hashes() {
    let files = files_of("0.1.0");
    let printed = |words: &[&str]| String::from_utf8_lossy(&run(&files, words).quiet()).into_owned();
    let fields =
        ["list", "-r", "--sort", "name", "--time-style", "epoch", "--fields", "type,size,mtime,name"];
    let listed = printed(&[&fields[..], &["inventory.parquet"]].concat());
    let file = |size: u64, name: &str| format!("file\t{size}\t1580608922.123456789\t/demo/{name}");
    for line in [file(6, "a/one"), file(6, "a/b/again"), file(12, "a/b/two"), file(1, "a/not-utf8-\u{fffd}")]
    {
        assert!(listed.lines().any(|listed| listed == line), "{line}: {listed}");
    }
    assert_eq!(listed.lines().count(), 9, "{listed}");
    let mut inventory = Inventory::open(&files.join("inventory.parquet")).expect("an inventory");
    let mut hashes = Vec::new();
    while let Some(row) = inventory.next_row().expect("it can be read") {
        if row.key.name == b"two" {
            hashes.push(row.facts.hash);
        }
    }
    let expected = ContentHash::Blake3(blake3::hash(b"second file\n").into());
    assert_eq!(hashes, [Some(expected)]);
    // Hard links count once.
    assert!(printed(&["usage", "inventory.parquet"]).starts_with("'/demo' has 9 entries, 28K on disk;"));
}

#[test]
fn pack_of_0_1_0_is_verified_and_read() {
    let files = files_of("0.1.0");
    assert_eq!(text(&run(&files, &["pack", "cat", "pack", "a/b/two"]).quiet()), "second file\n");
    let compared = run(&files, &["compare", "inventory.parquet", "pack/index.parquet"]);
    assert_eq!(compared.code, Some(0));
    assert_eq!(run(&files, &["pack", "verify", "pack"]).code, Some(0));
}

#[test]
fn record_of_0_1_0_has_its_report() {
    let scratch = tempfile::tempdir().expect("a directory");
    let packed = std::fs::File::open(files_of("0.1.0").join("record.jsonl.gz")).expect("the record");
    let mut record = std::fs::File::create(scratch.path().join("record.jsonl")).expect("created");
    std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut record).expect("unpacked");
    let report = run(scratch.path(), &["bench", "report", "record.jsonl", "--format", "markdown"]);
    let report = text(&report.quiet());
    assert!(report.starts_with("# Does it take longer to find out whether a name exists"), "{report}");
    assert!(report.contains("6 of 6 rounds"), "{report}");
}
