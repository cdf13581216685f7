//! Sizes and times of real files beyond the range of a double or of 64-bit nanoseconds.

use std::collections::BTreeSet;
use std::fs::{File, FileTimes};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use megadir_testkit::mount::{self, Mount, Recipe};
use megadir_testkit::network::NetworkMount;
use megadir_testkit::require;

use crate::support::run;

/// Adjacent sizes that a double cannot distinguish, and the largest size on Linux, bytes.
const SIZES: [u64; 7] =
    [(1 << 53) - 1, 1 << 53, (1 << 53) + 1, 1 << 60, (1 << 60) + 1, (1 << 62) + 3, (1 << 63) - 1];

/// Creates sparse files in reverse, so that neither names nor inodes are in order of size.
fn fill(directory: &Path) {
    for (index, size) in SIZES.into_iter().rev().enumerate() {
        let file = File::create_new(directory.join(format!("{}", index * 5 % 7))).unwrap();
        file.set_len(size).unwrap();
    }
}

fn sizes_are_exact(recipe: &Recipe) {
    let mount = require!(Mount::make(recipe));
    let path = mount.path().join("d");
    std::fs::create_dir(&path).unwrap();
    fill(&path);
    let descending: Vec<String> = SIZES.iter().rev().map(u64::to_string).collect();
    let options = ["list", "--sort", "size", "--fields", "size"];
    let text = |lines: Vec<Vec<u8>>| -> Vec<String> {
        lines.into_iter().map(|line| String::from_utf8(line).unwrap()).collect()
    };
    assert_eq!(text(run(&path, &options).lines()), descending, "{}", recipe.name);
    for line in text(run(&path, &["list", "--json", "--fields", "size,inode,links"]).lines()) {
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        let metadata = std::fs::metadata(path.join(read["name"].as_str().unwrap())).unwrap();
        let inode = metadata.ino();
        let (size, name) = (metadata.len(), &read["name"]);
        let start = format!("{{\"v\":1,\"name\":{name},\"type\":\"file\"");
        let expected = format!("{start},\"size\":{size},\"inode\":{inode},\"links\":1}}");
        assert_eq!(line, expected);
        assert_eq!(read["size"].as_u64(), Some(size));
    }
    // Conditions distinguish adjacent sizes, too.
    for (option, count) in [("--larger-than", "3"), ("--smaller-than", "3")] {
        let limit = SIZES[3].to_string();
        let options = ["list", "--count", option, &limit];
        assert_eq!(text(run(&path, &options).lines()), [count], "{option} {limit}");
    }
}

#[test]
fn sizes_beyond_a_double_are_exact_on_xfs() {
    sizes_are_exact(&mount::XFS);
}

#[test]
fn sizes_beyond_a_double_are_exact_on_btrfs() {
    sizes_are_exact(&mount::BTRFS);
}

#[test]
fn sizes_beyond_a_double_are_exact_on_tmpfs() {
    sizes_are_exact(&mount::TMPFS);
}

/// GlusterFS derives inode numbers from random identifiers; in the long tier only.
#[test]
fn inodes_beyond_2_to_the_63_are_exact_on_glusterfs() {
    if !require::full() {
        return;
    }
    let mount = require!(NetworkMount::glusterfs());
    let path = mount.path().join("d");
    std::fs::create_dir(&path).unwrap();
    (0..100).for_each(|index| drop(File::create_new(path.join(index.to_string())).unwrap()));
    let mut inodes: Vec<u64> =
        std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().metadata().unwrap().ino()).collect();
    inodes.sort_unstable();
    assert!(inodes.iter().filter(|inode| **inode > 1 << 63).count() > 20, "{inodes:?}");
    let column = |options: &[&str]| -> Vec<u64> {
        let text = String::from_utf8(run(&path, options).quiet()).unwrap();
        text.lines().map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
    };
    assert_eq!(column(&["list", "--fields", "inode", "--sort", "inode"]), inodes);
    assert_eq!(column(&["list", "--raw", "--sort", "inode"]), inodes);
    for options in [&["list", "--json"][..], &["list", "--json", "--fields", "inode"]] {
        let text = String::from_utf8(run(&path, options).quiet()).unwrap();
        let read = text.lines().map(|line| {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            let inode = object["inode"].as_u64().unwrap();
            assert!(line.contains(&format!("\"inode\":{inode}")), "{line}");
            inode
        });
        assert_eq!(read.collect::<BTreeSet<u64>>(), inodes.iter().copied().collect(), "{options:?}");
    }
}

#[test]
fn times_have_the_precision_of_the_file_system() {
    let mount = require!(Mount::make(&mount::TMPFS));
    let path = mount.path().join("d");
    std::fs::create_dir(&path).unwrap();
    let second = Duration::from_secs(1);
    // The very last second is stored without nanoseconds.
    let largest = Duration::new(i64::MAX as u64 - 1, 999_999_999);
    let times: [(SystemTime, &str, &str); 5] = [
        (
            UNIX_EPOCH - Duration::from_secs(1 << 63),
            "-9223372036854775808.000000000",
            "-292277022657-01-27T08:29:52.000000000Z",
        ),
        (UNIX_EPOCH - second * 2_208_988_800, "-2208988800.000000000", "1900-01-01T00:00:00.000000000Z"),
        (UNIX_EPOCH - Duration::from_nanos(1), "-0.000000001", "1969-12-31T23:59:59.999999999Z"),
        (
            UNIX_EPOCH + Duration::new(9_223_372_036, 854_775_808),
            "9223372036.854775808",
            "2262-04-11T23:47:16.854775808Z",
        ),
        (UNIX_EPOCH + largest, "9223372036854775806.999999999", "+292277026596-12-04T15:30:06.999999999Z"),
    ];
    for (index, (time, ..)) in times.iter().enumerate() {
        let file = File::create_new(path.join(index.to_string())).unwrap();
        file.set_times(FileTimes::new().set_modified(*time)).unwrap();
    }
    for (style, column) in [("epoch", 0), ("iso", 1)] {
        let options = ["list", "--sort", "mtime", "--fields", "mtime,name", "--time-style", style];
        let lines = run(&path, &options).lines();
        let expected: Vec<String> = times
            .iter()
            .enumerate()
            .rev()
            .map(|(index, row)| format!("{}\t{index}", if column == 0 { row.1 } else { row.2 }))
            .collect();
        let lines: Vec<String> = lines.into_iter().map(|line| String::from_utf8(line).unwrap()).collect();
        assert_eq!(lines, expected);
    }
    let relative = run(&path, &["list", "--fields", "mtime", "--time-style", "relative"]).lines();
    assert_eq!(relative.len(), times.len());
}
