//! A folder of parts in place of the inventory of one scan.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::fs;
use std::path::Path;
use std::process::Output;

use megadir_inventory::{GROUP_ROWS, Inventory, OwnedRow, PARTS_FILE, Rows, Sink, WriteOptions, Writer};

use crate::support::output_of;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn lines(directory: &Path, options: &[&str]) -> String {
    let output = output_of(directory, options);
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout).to_owned()
}

fn complaint(output: &Output, code: i32) -> &str {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    let text = text(&output.stderr);
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

/// Writes every third row of an inventory to the same part, and directories to all.
fn split(inventory: &Path, folder: &Path) {
    fs::create_dir(folder).unwrap();
    for part in 0..3 {
        let mut whole = Inventory::open(inventory).unwrap();
        let mut metadata = whole.metadata().clone();
        let roots = metadata.roots.iter().map(|root| root.path.clone()).collect();
        let options = WriteOptions { threads: 0, level: 1, group_rows: GROUP_ROWS };
        let mut writer = Writer::create(&folder.join(format!("{part}.parquet")), roots, options).unwrap();
        (metadata.rows, metadata.started_ns) = (0, metadata.started_ns + part);
        let mut number = 0;
        while let Some(row) = whole.next_row().unwrap() {
            number += 1;
            if number % 3 == part || row.facts.kind == megadir::FileType::Directory {
                writer.add(&row).unwrap();
                metadata.rows += 1;
            }
        }
        writer.finish(&metadata).unwrap();
    }
}

fn rows(inventory: &Path) -> Vec<OwnedRow> {
    let mut inventory = Inventory::open(inventory).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = inventory.next_row().unwrap() {
        rows.push(row.into());
    }
    rows
}

#[test]
fn commands_take_a_folder_of_parts_as_they_take_a_file() {
    let scratch = tempfile::tempdir().unwrap();
    let here = scratch.path();
    fs::create_dir_all(here.join("tree/d/e")).unwrap();
    fs::create_dir(here.join("tree/d-")).unwrap();
    for name in ["a", "d/b", "d/e/c", "d-/f", "z"] {
        fs::write(here.join("tree").join(name), name).unwrap();
    }
    lines(here, &["scan", "tree", "-o", "one.parquet"]);
    // In the tree, where comparisons must leave it out.
    let parts = here.join("tree/parts");
    split(&here.join("one.parquet"), &parts);
    let incomplete = format!("incomplete: it has no {PARTS_FILE}");
    let merge = ["scan", "--merge", "tree/parts", "-o", "merged.parquet"];
    assert!(complaint(&output_of(here, &merge), 3).contains(&incomplete));
    let quiet = ["changes", "tree/parts", "--only", "added"];
    assert!(complaint(&output_of(here, &quiet), 1).contains(&incomplete));

    fs::write(parts.join(PARTS_FILE), r#"{"version":1,"parts":3}"#).unwrap();
    lines(here, &merge);
    lines(here, &["scan", "--merge", "tree/parts", "--dry-run"]);
    assert!(rows(&here.join("merged.parquet")) == rows(&here.join("one.parquet")));
    let csv = lines(here, &["scan", "--merge", "tree/parts", "--csv"]);
    assert_eq!(csv.lines().count(), 10);
    let single = here.join("single");
    fs::create_dir(&single).unwrap();
    fs::copy(here.join("one.parquet"), single.join("0.parquet")).unwrap();
    fs::write(single.join(PARTS_FILE), r#"{"version":1,"parts":1}"#).unwrap();
    assert_eq!(csv, lines(here, &["scan", "--merge", "single", "--csv"]));
    let used = |inventory| lines(here, &["usage", inventory, "--csv"]);
    assert_eq!(used("tree/parts"), used("one.parquet"));

    fs::write(here.join("tree/new"), "").unwrap();
    fs::remove_file(here.join("tree/z")).unwrap();
    let only = ["--only", "added,removed,renamed", "--any-root"];
    let changed = |inventories: &[&str]| lines(here, &[&["changes"], inventories, &only].concat());
    let expected = changed(&["tree/parts"]);
    assert!(expected.contains("added") && !expected.contains("parts"), "{expected}");
    assert_eq!(changed(&["one.parquet", "tree/parts"]), "");
    assert_eq!(changed(&["tree/parts", "one.parquet"]), "");

    let update = output_of(here, &["changes", "tree/parts", "--update"]);
    assert!(complaint(&update, 2).contains("--merge FOLDER"));
    let two = output_of(here, &["usage", "tree/parts", "tree"]);
    assert!(complaint(&two, 2).contains("is a folder of parts"));
    assert_eq!(output_of(here, &["scan", "--merge", "tree/parts", "tree", "--csv"]).status.code(), Some(2));
}
