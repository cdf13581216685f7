//! `megadir pack`: killed at any moment, on a full disk, and read by its commands.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use megadir_testkit::killed::{CHANGING_CALLS, before_each_call};
use megadir_testkit::mount::{BTRFS, EXT4, EXT4_UNTYPED, Mount, TMPFS, XFS};
use megadir_testkit::require;
use megadir_testkit::require::{full, have};

use crate::remove::witness::scratch_in_memory;
use crate::support::{megadir, run, text};

/// Small files, of which two shards of 64 KiB hold most, and one that is larger than a shard.
fn tree(top: &Path) {
    fs::create_dir_all(top.join("below")).unwrap();
    for number in 0..60 {
        fs::write(top.join(format!("below/file-{number}")), vec![number as u8; 1500]).unwrap();
    }
    fs::write(top.join("large"), vec![7; 1_100_000]).unwrap();
    fs::hard_link(top.join("large"), top.join("below/second")).unwrap();
    std::os::unix::fs::symlink("below", top.join("link")).unwrap();
}

#[test]
fn killed_pack_is_never_taken_for_a_whole_one_and_continues() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    tree(&at.join("source"));
    let words = ["pack", "create", "--quiet", "-j1", "--shard-size", "64KiB", "source", "packed"];
    let mut unfinished = 0;
    let command = || {
        let _ = fs::remove_dir_all(at.join("packed"));
        megadir(at, &words)
    };
    let look = |call: &str| {
        match at.join("packed/index.parquet").exists() {
            // Only journals and the marker may be left to remove.
            true => assert_eq!(
                run(at, &["pack", "verify", "--quiet", "packed", "source"]).code,
                Some(0),
                "{call}"
            ),
            false => {
                unfinished += 1;
                let verified = run(at, &["pack", "verify", "packed"]);
                assert_eq!(verified.code, Some(3), "before {call}: {verified:?}");
            }
        }
        let again = run(at, &words);
        assert_eq!(again.code, Some(0), "before {call}: {again:?}");
        let verified = run(at, &["pack", "verify", "--quiet", "packed", "source"]);
        assert_eq!(verified.code, Some(0), "before {call}: {verified:?}");
        let hidden = fs::read_dir(at.join("packed")).unwrap().map(|entry| entry.unwrap().file_name());
        let hidden: Vec<_> = hidden.filter(|name| name.as_encoded_bytes().starts_with(b".")).collect();
        assert!(hidden.is_empty(), "before {call}: {hidden:?}");
    };
    let calls = [CHANGING_CALLS, &["openat", "statx"]].concat();
    before_each_call(&calls, if full() { 1 } else { 9 }, command, look);
    assert!(unfinished >= 5, "{unfinished} kills before the end");
}

#[test]
fn a_full_disk_is_one_line_and_the_same_command_continues() {
    let mount = match Mount::make(&TMPFS) {
        Ok(mount) => mount,
        Err(why) => return require::unavailable("pack::a_full_disk", &why),
    };
    let at = mount.path();
    tree(&at.join("source"));
    let free = || {
        let status = rustix::fs::statvfs(&at).unwrap();
        status.f_bavail * status.f_frsize
    };
    let rest = free() - (600 << 10);
    let filler = fs::File::create(at.join("filler")).unwrap();
    rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), 0, rest).unwrap();
    let words = ["pack", "create", "--quiet", "--shard-size", "64KiB", "source", "packed"];
    let refused = run(&at, &words);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.err.contains("No space left") && refused.err.lines().count() == 1, "{refused:?}");
    assert!(refused.err.contains("the pack has no index yet: the same command continues"), "{refused:?}");
    assert!(!at.join("packed/index.parquet").exists());
    drop(filler);
    fs::remove_file(at.join("filler")).unwrap();
    assert_eq!(run(&at, &words).code, Some(0));
    assert_eq!(run(&at, &["pack", "verify", "--quiet", "packed", "source"]).code, Some(0));
}

/// The order of files and their links come from the listing, where it has types and the numbers of the inodes.
#[test]
fn links_and_types_are_those_of_the_files_on_any_file_system() {
    for recipe in [&TMPFS, &EXT4, &EXT4_UNTYPED, &XFS, &BTRFS] {
        let mount = match Mount::make(recipe) {
            Ok(mount) => mount,
            Err(why) => {
                require::unavailable("pack::links_and_types", &why);
                continue;
            }
        };
        let at = mount.path();
        tree(&at.join("source"));
        assert_eq!(run(&at, &["pack", "create", "--quiet", "source", "packed"]).code, Some(0), "{recipe:?}");
        assert_eq!(run(&at, &["pack", "verify", "--quiet", "packed", "source"]).code, Some(0), "{recipe:?}");
        assert_eq!(run(&at, &["pack", "extract", "--quiet", "packed", "out"]).code, Some(0), "{recipe:?}");
        let inode = |name: &str| fs::symlink_metadata(at.join("out").join(name)).unwrap().ino();
        assert_eq!(inode("large"), inode("below/second"), "{recipe:?}");
        assert!(at.join("out/link").is_symlink() && at.join("out/below").is_dir(), "{recipe:?}");
        assert_eq!(fs::read_dir(at.join("out/below")).unwrap().count(), 61, "{recipe:?}");
    }
}

#[test]
fn packed_files_are_printed_by_their_paths() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    tree(&at.join("source"));
    fs::write(at.join("source/one"), "first\n").unwrap();
    fs::write(at.join("source/below/two"), "second\n").unwrap();
    run(at, &["pack", "create", "--quiet", "source", "packed"]).quiet();
    let whole = at.join("source/below/two");
    let words = ["pack", "cat", "packed", "below/two", "one", "./one", whole.to_str().unwrap()];
    let printed = run(at, &words);
    assert_eq!(
        (printed.code, text(&printed.out).as_str()),
        (Some(0), "second\nfirst\nfirst\nsecond\n"),
        "{printed:?}"
    );
    let failed = run(at, &["pack", "cat", "packed/index.parquet", "one", "none", "below", "two"]);
    assert_eq!((failed.code, text(&failed.out).as_str()), (Some(1), "first\n"), "{failed:?}");
    assert_eq!(failed.err.lines().count(), 3, "{failed:?}");
    let usage = run(at, &["list", "-r", "--count", "packed/index.parquet"]);
    assert_eq!(text(&usage.out).trim(), "66", "{usage:?}");
    let selected = run(at, &["pack", "extract", "--match", "two", "packed", "copy"]);
    assert_eq!(selected.code, Some(0), "{selected:?}");
    assert_eq!(fs::read(at.join("copy/below/two")).unwrap(), b"second\n");
    assert!(!at.join("copy/one").exists());
    let none = run(at, &["pack", "extract", "--match", "three", "packed", "nothing"]);
    assert_eq!((none.code, none.err.lines().count()), (Some(1), 1), "{none:?}");
    assert!(none.err.contains("no entry of 'packed' meets the conditions"), "{none:?}");
}
