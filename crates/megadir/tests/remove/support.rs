//! Shared by the removal tests.

use std::fs;
use std::path::Path;
use std::process::Command;

use megadir::Dir;
use megadir::remove::{Counts, Progress, RemoveOptions, Removed, remove_contents, remove_tree};

/// Options that remove everything and panic on failure.
pub(crate) fn options(workers: usize) -> RemoveOptions<'static> {
    RemoveOptions::new(workers, &|failure| panic!("{failure}"))
}

/// Removes the entry at a path.
pub(crate) fn remove(path: &Path, options: &RemoveOptions<'_>) -> megadir::Result<Removed> {
    let parent = Dir::open(path.parent().unwrap())?;
    let name = megadir::names::from_os(path.file_name().unwrap());
    remove_tree(&parent, name, options, &Progress::new())
}

/// Empties a directory.
pub(crate) fn empty(path: &Path, options: &RemoveOptions<'_>) -> megadir::Result<Removed> {
    remove_contents(&Dir::open(path)?, options, &Progress::new())
}

pub(crate) fn only(entries: u64, directories: u64) -> Counts {
    Counts { entries, directories, ..Counts::default() }
}

/// Runs a part of a test in a child process with nothing else in it. Returns `None` in the child, whose caller
/// then does that part, and in the parent the child's peak memory.
pub(crate) fn in_child(test: &str) -> Option<u64> {
    const VARIABLE: &str = "MEGADIR_TEST_CHILD";
    if std::env::var_os(VARIABLE).is_some_and(|name| name == test) {
        return None;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(VARIABLE, test)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    let peak = stdout.lines().find_map(|line| line.split_once("grown by KiB: ")?.1.trim().parse().ok());
    Some(peak.unwrap_or_else(|| panic!("no peak: {stdout}")))
}

/// Runs a closure in the child and prints the growth of its peak memory.
#[expect(clippy::print_stdout, reason = "the parent process reads it")]
pub(crate) fn watched<T>(run: impl FnOnce() -> T) -> T {
    // Resets the peak.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status_kib("VmRSS:");
    let done = run();
    println!("grown by KiB: {}", status_kib("VmHWM:").saturating_sub(before));
    done
}

fn status_kib(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
