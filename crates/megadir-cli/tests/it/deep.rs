//! Trees so deep that the full paths of their directories together are far larger than the tree.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use megadir_inventory::{Inventory, Rows};
use megadir_testkit::require;
use megadir_testkit::require::{full, have};
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, unlinkat};
use tempfile::TempDir;

use crate::remove::witness::scratch_in_memory;
use crate::support::{Ran, finish, peak, program, text};

const MEMORY: &str = "16MiB";
const MEMORY_BYTES: u64 = 16 << 20;
/// Memory of a run beyond its budget, bytes: the program, the encoders (two row groups per thread) and a few
/// paths.
const FIXED_BYTES: u64 = 112 << 20;

/// Number of full paths that a comparison holds in addition: of open directories and of rows in progress.
const PATHS: u64 = 24;

/// A chain of directories, created and removed relative to descriptors: no path reaches its end.
struct Chain {
    scratch: TempDir,
    name_bytes: usize,
    depth: usize,
    last: OwnedFd,
}

const OPEN: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

impl Chain {
    fn new(depth: usize, name_bytes: usize) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let tree = scratch.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        let mut last = open(&tree, OPEN, Mode::empty()).unwrap();
        for level in 0..depth {
            let name = name(level, name_bytes);
            mkdirat(&last, &name, Mode::from_raw_mode(0o755)).unwrap();
            last = openat(&last, &name, OPEN, Mode::empty()).unwrap();
        }
        Self { scratch, name_bytes, depth, last }
    }

    fn tree(&self) -> std::path::PathBuf {
        self.scratch.path().join("tree")
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        for level in (0..self.depth).rev() {
            let above = openat(&self.last, "..", OPEN & !OFlags::NOFOLLOW, Mode::empty()).unwrap();
            unlinkat(&above, name(level, self.name_bytes), AtFlags::REMOVEDIR).unwrap();
            self.last = above;
        }
    }
}

/// A name that differs from level to level, so that paths do not compress well.
fn name(level: usize, bytes: usize) -> String {
    let letter =
        |at: usize| char::from(b'a' + ((level + 1).wrapping_mul(at * at * 31 + 7919) >> 3) as u8 % 26);
    (0..bytes).map(letter).collect()
}

#[test]
fn memory_and_the_file_are_bounded_however_deep_a_tree_is() {
    require!(have("python3"));
    let chains: &[(usize, usize)] =
        if full() { &[(2000, 255), (5000, 255), (20_000, 1)] } else { &[(2000, 255), (8000, 1)] };
    for &(depth, name_bytes) in chains {
        let chain = Chain::new(depth, name_bytes);
        let inventory = chain.scratch.path().join("inventory");
        let peak_bytes = peak(&["scan", "--memory", MEMORY, "--threads", "2"], &chain.tree(), &inventory, 0);
        let file_bytes = std::fs::metadata(&inventory).unwrap().len();
        println!("{depth} x {name_bytes}: peak {} MiB, file {} KiB", peak_bytes >> 20, file_bytes >> 10);
        assert!(peak_bytes < MEMORY_BYTES + FIXED_BYTES, "{depth} x {name_bytes}: {peak_bytes}");
        // About 500 bytes per directory in addition to the names in three columns, and two paths per row group
        // of 128 MiB.
        let path_bytes = (depth * (name_bytes + 1)) as u64;
        let groups = 1 + depth as u64 * path_bytes / 2 / (128 << 20);
        assert!(file_bytes < depth as u64 * 500 + path_bytes * (3 + 2 * groups), "{file_bytes}");
        check_rows(&inventory, depth, name_bytes);
        let most_bytes = MEMORY_BYTES + FIXED_BYTES + PATHS * path_bytes;
        let changes = |words: &[&str], code| {
            let peak_bytes = peak(words, &chain.tree(), &inventory, code);
            println!("{depth} x {name_bytes}: {words:?} peak {} MiB", peak_bytes >> 20);
            assert!(peak_bytes < most_bytes, "{words:?}: {depth} x {name_bytes}: {peak_bytes}");
        };
        changes(&["changes", "--quiet"], 0);
        changes(&["changes", "--update"], 0);
        check_rows(&inventory, depth, name_bytes);
        // Renaming the first directory changes the path of all; then all are other directories.
        let renamed = chain.tree().join("other");
        std::fs::rename(chain.tree().join(name(0, name_bytes)), &renamed).unwrap();
        changes(&["changes", "--quiet"], 10);
        std::fs::rename(&renamed, chain.scratch.path().join("away")).unwrap();
        changes(&["changes", "--update"], 0);
        std::fs::rename(chain.scratch.path().join("away"), chain.tree().join(name(0, name_bytes))).unwrap();
        changes(&["changes", "--update"], 0);
        check_rows(&inventory, depth, name_bytes);
    }
}

/// Asserts the rows of a chain.
fn check_rows(inventory: &Path, depth: usize, name_bytes: usize) {
    let mut read = Inventory::open(inventory).unwrap();
    let mut parent = Vec::new();
    assert!(read.next_row().unwrap().unwrap().key.is_root());
    for level in 0..depth {
        let row = read.next_row().unwrap().unwrap();
        let name = name(level, name_bytes);
        assert!(row.key.parent == parent && row.key.name == name.as_bytes(), "level {level}");
        parent.extend((level > 0).then_some(b'/'));
        parent.extend_from_slice(name.as_bytes());
    }
    assert!(read.next_row().unwrap().is_none());
}

/// User instructions of a run on one thread. cachegrind without its caches counts them in two thirds of callgrind's time.
fn instructions(program: &Path, words: &[&str], paths: &[&Path]) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(program)
        .args([words[0], "-j1"])
        .args(&words[1..])
        .args(paths)
        .stdout(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {text}");
    let count = text.lines().find_map(|line| line.split_once("refs:")).expect("cachegrind counts");
    count.1.trim().replace(',', "").parse().unwrap()
}

/// Operations with two limits, in a debug build: how often the levels of a chain of 800 may cost what those of a chain of
/// 200 cost, in tenths (40 if a level costs the same at any depth), and instructions per byte of all paths together, in
/// tenths. Copying a byte counts as one instruction and comparing it as a tenth. `list` prints the paths, which
/// takes three copies; a summary ranks them. Counting is part of `list`, and comparing part of an update.
const OPERATIONS: &[(&[&str], u64, i64)] = &[
    (&["list", "--recursive"], 46, 36),
    (&["list", "--recursive", "--summary"], 46, 36),
    (&["scan", "--quiet", "--output"], 50, 29),
    (&["changes", "--update"], 52, 34),
    (&["remove", "--dry-run"], 48, 3),
];

fn count(chain: &Chain, words: &[&str]) -> u64 {
    let [inventory, stripped] = ["inventory", "megadir"].map(|name| chain.scratch.path().join(name));
    if !stripped.exists() {
        // Reading line numbers takes valgrind longer than most of the runs.
        assert!(Command::new("strip").arg("-o").arg(&stripped).arg(program()).status().unwrap().success());
    }
    let count = |paths: &[&Path]| instructions(&stripped, words, paths);
    match words[0] {
        "scan" => count(&[&inventory, &chain.tree()]),
        "changes" => count(&[&inventory]),
        _ => count(&[&chain.tree()]),
    }
}

#[test]
fn a_level_costs_the_same_at_any_depth_but_for_the_paths_that_are_printed() {
    require!(have("valgrind"));
    require!(have("strip"));
    // Starting the program takes most of the time, and hardly differs between operations: counted once.
    let start = count(&Chain::new(1, 1), &["list", "--recursive"]);
    let (short, long) = (Chain::new(200, 1), Chain::new(800, 1));
    // Paths of more than 4 MiB together, which a dictionary of an inventory no longer holds.
    let wide = [190, 380].map(|depth| Chain::new(depth, 255));
    for (words, growth, per_byte) in OPERATIONS {
        let counts = [&short, &long, &wide[0], &wide[1]].map(|chain| count(chain, words) - start);
        println!(
            "{words:?}: {counts:?} for 200 and 800 levels, {:.1} times",
            counts[1] as f64 / counts[0] as f64
        );
        // With the depth doubled, the cost of the levels doubles and the bytes of the paths are four times as many.
        let path_bytes = (wide[0].depth * wide[0].depth * (wide[0].name_bytes + 1)) as i64;
        let for_paths = counts[3].cast_signed() - 2 * counts[2].cast_signed();
        println!("{words:?}: {:.2} per byte of path", for_paths as f64 / path_bytes as f64);
        assert!(counts[1] < counts[0] * growth / 10, "{words:?}: {counts:?}");
        assert!(
            for_paths < path_bytes * per_byte / 10,
            "{words:?}: {for_paths} for {path_bytes} bytes of paths"
        );
    }
}

/// Descriptors of a login where an administrator left them few; the default is 1024, and megadir raises it as far as it may.
const DESCRIPTORS: u32 = 256;

fn with_few_descriptors(at: &Path, words: &[&str]) -> Ran {
    let mut command = Command::new("prlimit");
    command.arg(format!("--nofile={DESCRIPTORS}:{DESCRIPTORS}")).arg(program()).args(words);
    finish(command.current_dir(at).stdin(Stdio::null()))
}

/// Each of `depth` levels has a file and `width` directories, and the last one has the next level.
fn comb(at: &Path, depth: usize, width: usize) {
    let mut last = open(at, OPEN, Mode::empty()).unwrap();
    for _ in 0..depth {
        let name = |index: usize| format!("d{index:03}");
        (0..width).for_each(|index| mkdirat(&last, name(index), Mode::from_raw_mode(0o755)).unwrap());
        openat(&last, "file", OFlags::CREATE | OFlags::WRONLY, Mode::from_raw_mode(0o644)).unwrap();
        last = openat(&last, name(width - 1), OPEN, Mode::empty()).unwrap();
    }
}

#[test]
fn deep_trees_are_read_compared_and_removed_with_few_descriptors() {
    require!(have("prlimit"));
    for (depth, width) in [(3000, 1), (100, 20), (700, 20)] {
        let scratch = scratch_in_memory();
        let at = scratch.path();
        std::fs::create_dir(at.join("tree")).unwrap();
        comb(&at.join("tree"), depth, width);
        let entries = (depth * (width + 1)).to_string();
        for threads in ["1", "4", "32"] {
            let run =
                |words: &[&str]| with_few_descriptors(at, &[words, &["--threads", threads]].concat()).quiet();
            let listed = text(&run(&["list", "-r", "--count", "tree"]));
            assert_eq!(listed.split_whitespace().next(), Some(&*entries), "{threads}");
            let used: serde_json::Value = serde_json::from_slice(&run(&["usage", "--json", "tree"])).unwrap();
            assert_eq!(used["entries"].to_string(), entries, "{threads}");
            let inventory = format!("{threads}.parquet");
            run(&["scan", "-q", "-o", &inventory, "tree"]);
            let words = ["changes", "--only=added,removed,modified", "--threads", threads, &inventory];
            let compared = with_few_descriptors(at, &words);
            assert!(compared.code == Some(0) && compared.out.is_empty(), "{threads}: {compared:?}");
        }
        let counted = with_few_descriptors(at, &["remove", "--dry-run", "--json", "tree"]).quiet();
        let counted: serde_json::Value = serde_json::from_slice(&counted).unwrap();
        assert_eq!(counted["removed"].as_u64(), Some(1 + (depth * (width + 1)) as u64), "{counted}");
        let removed = with_few_descriptors(at, &["remove", "--yes", "-q", "tree"]);
        assert!(removed.code == Some(0) && !at.join("tree").exists(), "{removed:?}");
    }
}
