//! Commands on one file system, each compared with what the system calls of the standard library return.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::mounted::Mounted;
use crate::support::{Ran, run};

/// More than the resolution of times on FAT, and than the time in which a change may not show in them.
const UNTIL_TIMES_DIFFER: Duration = Duration::from_millis(6000);
/// More than the resolution of times on FAT.
const UNTIL_FAT_TIMES_DIFFER: Duration = Duration::from_millis(2500);
const FILES: usize = 200;

/// Result of a command.
pub(super) enum Cell {
    Exact,
    /// With this message, and nothing was changed.
    Refused(String),
    Differs(String),
    NotTried,
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => formatter.write_str("exact"),
            Self::Refused(reason) => write!(formatter, "refused: {reason}"),
            Self::Differs(difference) => write!(formatter, "differs: {difference}"),
            Self::NotTried => formatter.write_str("-"),
        }
    }
}

fn exact_if(is_exact: bool, difference: impl FnOnce() -> String) -> Cell {
    if is_exact { Cell::Exact } else { Cell::Differs(difference().replace(['\t', '\n'], " ")) }
}

/// Makes `tree`, of nested directories with small files, links where the file system has them, and `flat`, of files with names as caches
/// have them. `has_own_clock` is whether a server stamps the files.
pub(super) fn fill(at: &Path, has_own_clock: bool) {
    for name in ["tree", "tree/a", "tree/a/b", "tree/c", "tree/c/empty", "flat"] {
        std::fs::create_dir(at.join(name)).unwrap();
    }
    for index in 0..FILES {
        std::fs::write(at.join(format!("tree/a/file-{index:03}")), vec![b'x'; index * 31]).unwrap();
        std::fs::write(at.join(format!("flat/{:08x}", index * 0x0123_4567)), index.to_string()).unwrap();
    }
    write_in_a_whole_second(&at.join("tree/a/b/inner"), "inner");
    // Not every file system has links.
    let _ = std::fs::hard_link(at.join("tree/a/file-001"), at.join("tree/c/second-name"));
    let _ = std::os::unix::fs::symlink("../a", at.join("tree/c/link"));
    // Without lasting inode numbers, two directories that are renamed at once are distinguished by their times.
    std::thread::sleep(UNTIL_FAT_TIMES_DIFFER);
    std::fs::create_dir(at.join("tree/c/deep")).unwrap();
    write_in_a_whole_second(&at.join("tree/c/deep/deepest"), "deepest");
    std::thread::sleep(UNTIL_TIMES_DIFFER);
    if has_own_clock {
        // By such a clock, what changed just before the newest change may have changed unseen. An empty file has no contents to suspect.
        std::fs::write(at.join("tree/c/newest"), "").unwrap();
    }
}

/// encfs truncates the mtime to whole seconds when the directory is renamed. Servers on libfuse 2 ignore a call that sets one time.
fn write_in_a_whole_second(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    let whole_second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_001 + text.len() as u64);
    let times = std::fs::FileTimes::new().set_accessed(whole_second).set_modified(whole_second);
    std::fs::File::options().write(true).open(path).unwrap().set_times(times).unwrap();
}

/// The columns of the matrix, in its order.
pub(super) fn cells(mounted: &mut Mounted) -> Vec<(&'static str, Cell)> {
    let at = mounted.path();
    if !mounted.read_only {
        fill(&at, mounted.has_server);
    }
    // Some servers return old sizes of directories for a second.
    if mounted.has_server {
        mounted.mount_again();
    }
    let mut cells =
        vec![("list", list(&at)), ("usage", usage(&at)), ("limits", limits(&at, mounted.read_only))];
    let inventory = mounted.outside().join("tree.parquet");
    let unchanged = scan(&at, &inventory).unwrap_or_else(|| changes(&at, &inventory, &[]));
    cells.push(("changes, none made", unchanged));
    cells.push((
        "changes, remounted",
        match mounted.in_memory {
            true => Cell::NotTried,
            false => {
                mounted.mount_again();
                changes(&at, &inventory, &[])
            }
        },
    ));
    cells.push((
        "changes, some made",
        if mounted.read_only { Cell::NotTried } else { known(&at, &inventory) },
    ));
    cells.push(("reshard", reshard(&at)));
    cells.push(("remove", remove(&at)));
    cells
}

/// Attributes of all entries below a directory, by path.
fn walked(at: &Path) -> BTreeMap<PathBuf, std::fs::Metadata> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![at.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                waiting.push(path.clone());
            }
            found.insert(path, metadata);
        }
    }
    found
}

fn list(at: &Path) -> Cell {
    let ran = run(at, &["list", "-r", "-0", "tree"]);
    let mut names: Vec<&[u8]> = ran.out.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    let expected = walked(&at.join("tree"));
    let mut expected: Vec<&[u8]> =
        expected.keys().map(|path| path.strip_prefix(at).unwrap().as_os_str().as_bytes()).collect();
    expected.sort_unstable();
    exact_if(ran.code == Some(0) && names == expected, || {
        format!("{} of {} entries, exit code {:?}", names.len(), expected.len(), ran.code)
    })
}

/// Each file once, as `du` counts.
fn usage(at: &Path) -> Cell {
    let ran = run(at, &["usage", "--json", "tree"]);
    let answer: serde_json::Value = serde_json::from_slice(&ran.out).unwrap_or_default();
    let entries = walked(&at.join("tree"));
    let (mut seen, mut allocated, mut apparent) = (BTreeSet::new(), 0, 0);
    for metadata in entries.values() {
        if metadata.is_dir() || metadata.nlink() < 2 || seen.insert((metadata.dev(), metadata.ino())) {
            allocated += metadata.blocks() * 512;
            apparent += metadata.size();
        }
    }
    let found = ["entries", "allocated", "apparent"].map(|key| answer[key].as_u64());
    let expected = [entries.len() as u64, allocated, apparent].map(Some);
    exact_if(ran.code == Some(0) && found == expected, || format!("{found:?}, not {expected:?}"))
}

/// A file system is full or read-only if and only if no file can be created.
fn limits(at: &Path, read_only: bool) -> Cell {
    let ran = run(at, &["limits", "--json", "flat"]);
    let answer: serde_json::Value = serde_json::from_slice(&ran.out).unwrap_or_default();
    let high = answer["entries_until_full"]["high"].as_u64();
    if read_only {
        return exact_if(high == Some(0), || format!("{high:?} more entries on a read-only file system"));
    }
    let made =
        (0..FILES).take_while(|index| std::fs::write(at.join(format!("flat/more-{index}")), "").is_ok());
    let made = made.count();
    (0..made).for_each(|index| std::fs::remove_file(at.join(format!("flat/more-{index}"))).unwrap());
    exact_if(made == FILES && high.is_none_or(|high| high >= made as u64), || {
        format!("at most {high:?} more entries, and {made} were created")
    })
}

/// Nothing if the inventory was written.
fn scan(at: &Path, inventory: &Path) -> Option<Cell> {
    let output = inventory.to_str().unwrap();
    let ran = run(at, &["scan", "--quiet", "tree", "--output", output]);
    (ran.code != Some(0)).then(|| Cell::Differs(format!("scan: {ran:?}")))
}

/// Compares the lines with `expected`, in which paths are relative to the tree. Suspects count as differences.
fn changes(at: &Path, inventory: &Path, expected: &[&str]) -> Cell {
    let ran = run(at, &["changes", inventory.to_str().unwrap(), "tree"]);
    let lines = lines(&ran);
    let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
    expected.sort_unstable();
    exact_if(ran.code == Some(0) && lines == expected, || format!("{lines:?}, not {expected:?}, {}", ran.err))
}

/// Sorted, with one space between words, and without the attributes that differ.
fn lines(ran: &Ran) -> Vec<String> {
    let text = String::from_utf8_lossy(&ran.out);
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| line.split(" (").next().unwrap_or_default())
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    lines.sort_unstable();
    lines
}

/// A file added, one removed, one with new contents of the same size, a directory renamed, and one moved to another directory.
fn known(at: &Path, inventory: &Path) -> Cell {
    if let Some(failed) = scan(at, inventory) {
        return failed;
    }
    std::thread::sleep(UNTIL_TIMES_DIFFER);
    let tree = at.join("tree");
    std::fs::write(tree.join("c/new"), "new").unwrap();
    std::fs::remove_file(tree.join("a/file-010")).unwrap();
    std::fs::write(tree.join("a/file-020"), vec![b'y'; 20 * 31]).unwrap();
    std::fs::rename(tree.join("a/b"), tree.join("a/d")).unwrap();
    std::fs::rename(tree.join("c/deep"), tree.join("deep")).unwrap();
    let rest = ["added tree/c/new", "modified tree/a/file-020", "removed tree/a/file-010"];
    // Without lasting inode numbers, a renamed directory may be another one.
    let renamed: [&[&str]; 2] = [
        &["renamed tree/a/b -> tree/a/d"],
        &["added tree/a/d", "added tree/a/d/inner", "removed tree/a/b", "removed tree/a/b/inner"],
    ];
    let moved: [&[&str]; 2] = [
        &["renamed tree/c/deep -> tree/deep"],
        &["added tree/deep", "added tree/deep/deepest", "removed tree/c/deep", "removed tree/c/deep/deepest"],
    ];
    let expected = |renamed, moved| changes(at, inventory, &[&rest[..], renamed, moved].concat());
    let found = expected(renamed[0], moved[0]);
    let alternatives = [(1, 0), (0, 1), (1, 1)];
    let is_exact =
        |(first, second): &(usize, usize)| matches!(expected(renamed[*first], moved[*second]), Cell::Exact);
    if has_lasting_inodes(&tree) || !alternatives.iter().any(is_exact) { found } else { Cell::Exact }
}

fn has_lasting_inodes(at: &Path) -> bool {
    let report: serde_json::Value =
        serde_json::from_slice(&run(at, &["doctor", "--json", "."]).out).unwrap_or_default();
    report["mount"]["inode_numbers"] == "lasting"
}

/// Contents by path.
fn contents(at: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = walked(at).into_iter().filter(|(_, metadata)| metadata.is_file());
    files.map(|(path, _)| (path.strip_prefix(at).unwrap().to_owned(), std::fs::read(path).unwrap())).collect()
}

fn reshard(at: &Path) -> Cell {
    let flat = at.join("flat");
    let before = contents(&flat);
    let reshard = |how| run(at, &["reshard", how, "--from", "flat", "--to", "prefix:2", "flat"]);
    let (dry, ran) = (reshard("--dry-run"), reshard("--yes"));
    let after = contents(&flat);
    if ran.code != Some(0) {
        return match dry.code {
            Some(0) => Cell::Differs(format!("the dry run has exit code 0, the run {:?}", ran.code)),
            _ => refused(&ran, before == after && std::fs::read_dir(&flat).unwrap().count() == FILES),
        };
    }
    let expected_out = format!("would move {FILES} files ");
    if dry.code != Some(0) || !String::from_utf8_lossy(&dry.out).starts_with(&expected_out) {
        return Cell::Differs(format!("the dry run: {dry:?}"));
    }
    let expected: BTreeMap<PathBuf, Vec<u8>> = before
        .into_iter()
        .map(|(name, text)| (Path::new(&name.to_str().unwrap()[..2]).join(&name), text))
        .collect();
    exact_if(after == expected, || format!("{} of {FILES} files are where they belong", after.len()))
}

fn remove(at: &Path) -> Cell {
    let tree = at.join("tree");
    let count = walked(&tree).len();
    let dry = run(at, &["remove", "--dry-run", "tree"]);
    let ran = run(at, &["remove", "--yes", "tree"]);
    if ran.code != Some(0) {
        let is_kept = walked(&tree).len() == count;
        return match dry.code {
            Some(0) => Cell::Differs(format!("the dry run has exit code 0, the run {:?}", ran.code)),
            _ => refused(&ran, is_kept),
        };
    }
    let removed = format!(" {} entries", count + 1);
    let agree = [&dry, &ran].iter().all(|ran| {
        let printed = String::from_utf8_lossy(&ran.out);
        printed.contains(&removed) || ran.err.contains(&removed)
    });
    exact_if(agree && !tree.exists(), || format!("{count} entries below it; {dry:?}, {ran:?}"))
}

fn refused(ran: &Ran, nothing_changed: bool) -> Cell {
    let message =
        ran.err.lines().next().unwrap_or_default().trim_start_matches("megadir: ").replace('\t', " ");
    match nothing_changed && !message.is_empty() {
        true => Cell::Refused(message),
        false => Cell::Differs(format!("changed something, then: {message}")),
    }
}
