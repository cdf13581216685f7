//! Space or a directory's index ends in the middle: every file is at one of its paths, and the same command finishes
//! once there is room.

use std::path::Path;
use std::process::Command;

use megadir_testkit::mount::{BTRFS, Mount, TMPFS, run as tool};
use megadir_testkit::require;

use super::support::{files, make};
use crate::limits::refused::FULL_SOON;
use crate::support::{fill, have, run};

/// The index takes about 21 000 names of this length.
const NAME_BYTES: usize = 255;
const NAMES: usize = 26_000;

/// Files whose names are their paths.
fn flat(at: &Path) -> usize {
    files(&at.join("t")).values().filter(|(name, path)| name == path).count()
}

/// Allocates all space but this much.
fn leave_bytes(filler: &Path, bytes: u64) {
    let filler = std::fs::File::create(filler).unwrap();
    let (mut end, mut step) = (0, 64 << 20);
    while step >= 1 << 10 {
        match rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), end, step) {
            Ok(()) => end += step,
            Err(_) => step /= 2,
        }
    }
    filler.set_len(end - bytes).unwrap();
}

#[test]
fn full_file_system_keeps_moved_files() {
    let mount = require!(Mount::make(&FULL_SOON));
    let at = mount.path();
    make(&at, 300, "flat");
    leave_bytes(&at.join("filler"), 40 << 10);
    let words = ["reshard", "--yes", "--from", "flat", "--to", "digest:1/1", "t"];
    let ran = run(&at, &words);
    assert!(ran.code == Some(1) && ran.err.contains("No space left on device"), "{ran:?}");
    let left = flat(&at);
    assert!(left > 0 && left < 300 && files(&at.join("t")).len() == 300, "{left}");
    std::fs::remove_file(at.join("filler")).unwrap();
    let ran = run(&at, &words);
    assert_eq!((ran.code, flat(&at), files(&at.join("t")).len()), (Some(0), 0, 300), "{ran:?}");
}

#[test]
fn full_index_keeps_moved_files_and_large_dir_makes_room() {
    let mut mount = require!(Mount::make(&FULL_SOON));
    let at = mount.path();
    (0..16).for_each(|digit| fill(&at, &[&format!("t/{digit:x}/")]));
    for index in 0..NAMES {
        let name = format!("{:x}{index:0>width$}", index % 16, width = NAME_BYTES - 1);
        std::fs::File::create(at.join(format!("t/{:x}", index % 16)).join(name)).unwrap();
    }
    let words = ["reshard", "--json", "--yes", "--from", "prefix:1", "--to", "flat", "t"];
    let ran = run(&at, &words);
    assert!(ran.code == Some(1) && ran.err.contains("No space left on device"), "{:?}", ran.code);
    let moved = flat(&at);
    assert!(moved > 15_000 && moved < NAMES && files(&at.join("t")).len() == NAMES, "{moved}");
    mount.remount(|image| tool(Command::new("tune2fs").args(["-O", "large_dir"]).arg(image))).unwrap();
    let ran = run(&at, &words);
    assert_eq!((ran.code, flat(&at)), (Some(0), NAMES), "{}", ran.err);
}

#[test]
fn a_file_system_that_is_read_only_is_called_so() {
    let mount = require!(Mount::make(&TMPFS));
    make(&mount.path(), 3, "flat");
    tool(Command::new("mount").args(["-o", "remount,ro"]).arg(mount.path())).unwrap();
    run(&mount.path(), &["reshard", "--yes", "--from", "flat", "--to", "digest:1", "t"])
        .complains(3, &["megadir: reshard 't': Read-only file system"]);
}

/// The kernel may have been built without quotas of users and projects, but btrfs always has its own.
#[test]
fn exhausted_quota_keeps_moved_files() {
    require!(have("btrfs"));
    let mount = require!(Mount::make(&BTRFS));
    let top = mount.path();
    let at = top.join("volume");
    let btrfs = |words: &[&str], path: &Path| tool(Command::new("btrfs").args(words).arg(path));
    btrfs(&["subvolume", "create"], &at).unwrap();
    make(&at, 300, "flat");
    btrfs(&["quota", "enable"], &top).unwrap();
    btrfs(&["quota", "rescan", "-w"], &top).unwrap();
    let words = ["reshard", "--yes", "--from", "flat", "--to", "digest:1/1", "t"];
    let (mut refused, mut partly) = (0, false);
    for kib in (200..=400).step_by(8) {
        // The limit is changed in a transaction, which a reserve that is not yet written could refuse.
        btrfs(&["filesystem", "sync"], &top).unwrap();
        btrfs(&["qgroup", "limit", &format!("{kib}K")], &at).unwrap();
        let ran = run(&at, &words);
        let left = flat(&at);
        assert_eq!(files(&at.join("t")).len(), 300);
        partly |= left > 0 && left < 300;
        if left == 0 {
            break;
        }
        assert!(ran.code == Some(1) && ran.err.contains("Disk quota exceeded"), "{ran:?}");
        refused += 1;
    }
    assert!(refused > 0 && partly, "{refused} times");
    btrfs(&["qgroup", "limit", "none"], &at).unwrap();
    let ran = run(&at, &words);
    assert_eq!((ran.code, flat(&at), files(&at.join("t")).len()), (Some(0), 0, 300), "{ran:?}");
}
