//! `changes --update` writes what a scan would write, in bounded memory.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use megadir::FileType;
use megadir_inventory::{Inventory, OwnedRow, Rows};
use megadir_testkit::require;

use crate::support::{have, output_of, peak, scratch_in_memory};

const MEMORY: &str = "4MiB";
const MEMORY_BYTES: u64 = 4 << 20;
/// Memory beyond the budget, bytes: the program, two row groups for each of two encoding threads, and the directories
/// being compared.
const FIXED_BYTES: u64 = 136 << 20;

const DIRECTORIES: usize = 60;
const ENTRIES: usize = 1000;

fn directory(tree: &Path, number: usize) -> std::path::PathBuf {
    tree.join(format!("{number:02}"))
}

fn name(number: usize) -> String {
    format!("{number:05}{}", "x".repeat(195))
}

fn rows(inventory: &Path) -> Vec<OwnedRow> {
    let (mut read, mut rows) = (Inventory::open(inventory).unwrap(), Vec::new());
    while let Some(row) = read.next_row().unwrap() {
        rows.push(OwnedRow::from(row));
    }
    rows
}

#[test]
fn update_equals_a_scan_in_bounded_memory() {
    require!(have("python3"));
    let scratch = scratch_in_memory();
    let tree = scratch.path().join("tree");
    for number in 0..DIRECTORIES {
        fs::create_dir_all(directory(&tree, number)).unwrap();
        (0..ENTRIES).for_each(|entry| {
            fs::File::create(directory(&tree, number).join(name(entry))).unwrap();
        });
    }
    let (inventory, fresh) = (scratch.path().join("inventory"), scratch.path().join("fresh"));
    let scan = |inventory: &Path| {
        peak(&["scan", "--quiet", "--memory", MEMORY, "--threads", "2"], &tree, inventory, 0)
    };
    let scanned_bytes = scan(&inventory);
    // Old enough for the changes to be seen by their times.
    std::thread::sleep(Duration::from_millis(200));
    fs::rename(directory(&tree, 1), tree.join("moved")).unwrap();
    fs::remove_dir_all(directory(&tree, 2)).unwrap();
    fs::write(directory(&tree, 3).join(name(7)), "changed").unwrap();
    fs::write(directory(&tree, 3).join("new"), "").unwrap();
    let options = ["changes", "--update", "--memory", MEMORY, "--threads", "2"];
    let updated_bytes = peak(&options, &tree, &inventory, 0);
    println!("scan {} MiB, update {} MiB", scanned_bytes >> 20, updated_bytes >> 20);
    for peak_bytes in [scanned_bytes, updated_bytes] {
        assert!(peak_bytes < MEMORY_BYTES + FIXED_BYTES, "{scanned_bytes} and {updated_bytes}");
    }
    scan(&fresh);
    let (updated, scanned) = (rows(&inventory), rows(&fresh));
    assert_eq!(updated.len(), 1 + (DIRECTORIES - 1) * (ENTRIES + 1) + 1);
    // Reading a directory may change its access time.
    let without_access = |row: &OwnedRow| {
        let mut row = row.clone();
        row.facts.accessed_ns.take_if(|_| row.facts.kind == FileType::Directory);
        row
    };
    for (updated, scanned) in updated.iter().zip(&scanned) {
        assert_eq!(without_access(updated), without_access(scanned));
    }
    assert_eq!(updated.len(), scanned.len());
}

#[test]
fn the_option_memory_needs_the_option_update() {
    let output = output_of(".", &["changes", "inventory", "--memory", "16MiB"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("--update"), "{error}");
    let output = output_of(".", &["changes", "inventory", "--update", "--memory", "1kB"]);
    assert_eq!(output.status.code(), Some(2));
}
