//! Small file systems filled to the first refusal: the number of files created lies within the predicted bounds.

use megadir::Dir;
use megadir::limits::{Assumptions, Known, Limits, limits};
use megadir_testkit::mount::{self, Mount, Recipe, run};
use megadir_testkit::require;
use megadir_testkit::unprivileged::unprivileged;
use rustix::fs::{Mode, OFlags};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// User that creates.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Root,
    Nobody,
}

/// A file system, and the size of the files created on it.
struct Row {
    recipe: Recipe,
    remount: Option<&'static str>,
    who: Who,
    bytes: u64,
}

const fn ext4(name: &'static str, mkfs: &'static [&'static str], image_bytes: u64) -> Recipe {
    Recipe { name, mkfs, image_bytes, ..mount::EXT4 }
}

const RESERVED_1K: Recipe = ext4(
    "ext4, 1 KiB, a fifth for root",
    &["mkfs.ext4", "-q", "-F", "-b", "1024", "-m", "20", "-N", "40000", "-O", "^has_journal"],
    32 << 20,
);
const RESERVED_4K: Recipe = ext4(
    "ext4, 4 KiB, a fifth for root",
    &["mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "20", "-N", "40000", "-O", "^has_journal"],
    64 << 20,
);
const UNRESERVED: Recipe = ext4(
    "ext4, 4 KiB, nothing for root",
    &["mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-N", "40000", "-O", "^has_journal"],
    64 << 20,
);
const INLINE: Recipe = ext4(
    "ext4, inline_data",
    &[
        "mkfs.ext4",
        "-q",
        "-F",
        "-b",
        "4096",
        "-m",
        "0",
        "-I",
        "256",
        "-N",
        "30000",
        "-O",
        "inline_data,^has_journal",
    ],
    64 << 20,
);
const XFS: Recipe = Recipe {
    name: "xfs, 300 MiB, few inodes",
    mkfs: &["mkfs.xfs", "-q", "-f", "-i", "maxpct=3"],
    image_bytes: 300 << 20,
    ..mount::XFS
};
const BTRFS: Recipe = Recipe { name: "btrfs, 128 MiB", image_bytes: 128 << 20, ..mount::BTRFS };
const BTRFS_MIXED: Recipe = Recipe {
    name: "btrfs, 128 MiB, mixed chunks",
    mkfs: &["mkfs.btrfs", "-q", "-f", "--mixed"],
    image_bytes: 128 << 20,
    ..mount::BTRFS
};

const ROWS: &[Row] = &[
    Row { recipe: RESERVED_1K, remount: None, who: Who::Root, bytes: 3000 },
    Row { recipe: RESERVED_1K, remount: None, who: Who::Nobody, bytes: 3000 },
    Row { recipe: RESERVED_4K, remount: None, who: Who::Root, bytes: 10_000 },
    Row { recipe: RESERVED_4K, remount: None, who: Who::Nobody, bytes: 10_000 },
    Row { recipe: UNRESERVED, remount: None, who: Who::Root, bytes: 10_000 },
    Row { recipe: INLINE, remount: None, who: Who::Root, bytes: 50 },
    Row { recipe: XFS, remount: None, who: Who::Root, bytes: 0 },
    Row { recipe: BTRFS, remount: None, who: Who::Root, bytes: 2000 },
    Row { recipe: BTRFS, remount: None, who: Who::Root, bytes: 10_000 },
    Row { recipe: BTRFS_MIXED, remount: None, who: Who::Root, bytes: 10_000 },
    Row { recipe: mount::TMPFS, remount: Some("remount,nr_inodes=5000"), who: Who::Root, bytes: 0 },
];

/// Creates files until one is refused; returns their number.
fn fill(directory: &Dir, bytes: u64) -> u64 {
    let content = vec![0x5a; bytes as usize];
    for index in 0.. {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
        let Ok(file) = rustix::fs::openat(directory, format!("{index:032}"), flags, Mode::RUSR) else {
            return index;
        };
        let mut file = std::fs::File::from(file);
        if std::io::Write::write_all(&mut file, &content).is_err() {
            return index;
        }
    }
    unreachable!("every file system fills up")
}

fn of(directory: &Dir, bytes: Option<u64>) -> Limits {
    let names = "32".parse().unwrap();
    let names = bytes.map(|_| &names);
    limits(directory, &Assumptions { names, contents_bytes: bytes, ..Assumptions::MORE_OF_THE_SAME }).unwrap()
}

#[test]
fn created_counts_lie_between_the_predicted_bounds() {
    for row in ROWS {
        let made = require!(Mount::make(&row.recipe));
        if let Some(options) = row.remount {
            run(Command::new("mount").args(["-o", options]).arg(made.path())).unwrap();
        }
        let path = made.path().join("filled");
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        let directory = Dir::open(&path).unwrap();
        let work = || {
            let before = of(&directory, Some(row.bytes));
            let created = fill(&directory, row.bytes);
            (before, created, of(&directory, Some(row.bytes)))
        };
        let (before, created, after) = if row.who == Who::Root { work() } else { unprivileged(work) };
        let more = before.entries_until_full().unwrap();
        let label = format!("{} as {:?}: predicted {more:?}, created {created}", row.recipe.name, row.who);
        assert!(more.low <= created && created <= more.high, "{label}");
        // Bounds that hold for any result would predict nothing.
        assert!(more.high < 12 * created, "{label}");
        let left = after.entries_until_full().unwrap();
        assert!(left.low <= created / 20, "{label}; after it {left:?}");
        if row.recipe.kind == "btrfs" {
            assert_eq!(left.low, 0, "{label}; after it {left:?}");
        }
    }
}

#[test]
fn ten_entries_are_no_sample() {
    let made = require!(Mount::make(&RESERVED_4K));
    let path = made.path().join("few");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("large"), vec![1; 10 << 20]).unwrap();
    for index in 0..9 {
        std::fs::write(path.join(format!("empty{index}")), "").unwrap();
    }
    let directory = Dir::open(&path).unwrap();
    rustix::fs::syncfs(&directory).unwrap();
    let found = of(&directory, None);
    let more = found.entries_until_full().unwrap();
    // From five more of the largest size to as many empty ones as there are inodes.
    assert!(more.low <= 5 && more.high > 30_000, "{more:?}");
    assert_eq!(found.facts.contents.basis.known, Known::Measured);
    assert!(found.facts.contents.basis.how.contains("in only 10 entries"), "{}", found.facts.contents.basis);
}

#[test]
fn sequential_names_by_the_legacy_hash_end_within_the_bounds() {
    let recipe = Recipe {
        mkfs: &[
            "mkfs.ext4",
            "-q",
            "-F",
            "-b",
            "1024",
            "-m",
            "0",
            "-I",
            "128",
            "-N",
            "230000",
            "-O",
            "^has_journal",
        ],
        image_bytes: 64 << 20,
        ..mount::EXT4_LEGACY
    };
    let made = require!(Mount::make(&recipe));
    let path = made.path().join("filled");
    std::fs::create_dir(&path).unwrap();
    let directory = Dir::open(&path).unwrap();
    let more = of(&directory, Some(0)).entries_until_full().unwrap();
    let created = fill(&directory, 0);
    assert!(more.low <= created && created <= more.high, "{more:?}, {created}");
}
