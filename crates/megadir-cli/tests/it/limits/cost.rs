//! Cost of an answer: the same for large and small directories.

use std::path::Path;
use std::process::Command;

use megadir_testkit::mount::{EXT4, Mount};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Maker, Names};

use crate::support::{caches_are_kept, finish, have, program, run};

/// Samples of 64 KiB at 33 positions, a second call at each for its end, and the first looks.
const CALLS_MAX: u64 = 90;
/// The blocks of one buffer at each position, and ext4's readahead for 32 inodes.
const READ_BYTES_MAX: u64 = 10 << 20;

/// Number of calls that read a directory, and of calls that examine an entry.
fn calls(directory: &Path, name: &str) -> (u64, u64) {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=getdents64,statx", "-o"]).arg(log.path());
    command.arg(program()).args(["limits", "--warn-at", "99%", name]).current_dir(directory);
    assert_eq!(finish(&mut command).code, Some(0));
    let log = std::fs::read_to_string(log.path()).unwrap();
    let count = |call: &str| log.lines().filter(|line| line.contains(call)).count() as u64;
    (count("getdents64("), count("statx("))
}

/// Bytes read from the device of a mount so far.
fn read_bytes(mount: &Mount) -> u64 {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = table.lines().find(|line| line.contains(mount.path().to_str().unwrap())).unwrap();
    let device = line.split(' ').nth(2).unwrap();
    let statistics = std::fs::read_to_string(format!("/sys/dev/block/{device}/stat")).unwrap();
    512 * statistics.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap()
}

#[test]
fn a_look_costs_the_same_whatever_the_size() {
    require!(have("strace"));
    let _caches = caches_are_kept();
    let mut mount = require!(Mount::make(&EXT4));
    let flat = |entries| Flat { entries, names: Names::Longest, kinds: Kinds::Files, seed: 1 };
    for (name, entries) in [("small", 20_000), ("large", 200_000)] {
        flat(entries).build(&mount.path().join(name));
    }
    let (small, large) = (calls(&mount.path(), "small"), calls(&mount.path(), "large"));
    assert!(small.0 <= CALLS_MAX && large.0 <= CALLS_MAX, "{small:?} {large:?}");
    assert!(small.1 <= 60 && large.1 <= 60, "{small:?} {large:?}");
    let directory_bytes = std::fs::metadata(mount.path().join("large")).unwrap().len();
    assert!(directory_bytes > 5 * READ_BYTES_MAX, "{directory_bytes}");
    // Empty the cache, so that all reads reach the device.
    mount.remount(|_| Ok(())).unwrap();
    let before = read_bytes(&mount);
    run(&mount.path(), &["limits", "large"]).quiet();
    let read = read_bytes(&mount) - before;
    assert!(read <= READ_BYTES_MAX, "{read} of {directory_bytes} bytes were read");
}

#[test]
fn a_hollow_directory_is_not_read_over_and_over() {
    let _caches = caches_are_kept();
    let mut mount = require!(Mount::make(&EXT4));
    let flat = Flat { entries: 100_000, names: Names::Longest, kinds: Kinds::Files, seed: 1 };
    let path = mount.path().join("hollow");
    flat.build(&path);
    let maker = Maker::open(&path);
    for index in (0..flat.entries).filter(|index| index % 100 != 0) {
        maker.remove(&flat.name(index));
    }
    drop(maker);
    let directory_bytes = std::fs::metadata(&path).unwrap().len();
    mount.remount(|_| Ok(())).unwrap();
    let before = read_bytes(&mount);
    let out = String::from_utf8(run(&mount.path(), &["limits", "hollow"]).quiet()).unwrap();
    let read = read_bytes(&mount) - before;
    assert!(out.contains("  hollow: The directory is hollow"), "{out}");
    assert!(read < directory_bytes / 3, "{read} of {directory_bytes} bytes were read");
}
