//! `usage::read` of trees whose root has two links, which is listed by several threads before it is walked.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use megadir::usage::{By, Item, Report, Usage, UsageOptions, read};
use megadir::{Dir, TreeEvent, WalkOptions, stat_backend};
use megadir_testkit::mount::{self, Mount};
use megadir_testkit::require;
use megadir_testkit::unprivileged::unprivileged;

/// Events as text, until one of them is to be the last.
fn events(root: &Path, last: impl Fn(&TreeEvent<'_>) -> bool) -> (Report, ControlFlow<()>, Vec<String>) {
    let mut usage = Usage::new(UsageOptions { top: 5, depth: None, by: By::Entries, now_s: 1_800_000_000 });
    let examine = Some((stat_backend("statx").unwrap(), Item::WANT));
    let options = WalkOptions { examine, ..WalkOptions::new(2) };
    let mut events = Vec::new();
    let mut watch = |event: TreeEvent<'_>| {
        events.push(format!("{event:?}"));
        if last(&event) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let flow = read(&mut usage, Dir::open(root).unwrap(), options, &mut watch).unwrap();
    (usage.finish(), flow, events)
}

/// Two subdirectories of three files each, on a file system that stores no types, below a directory with a wrong number
/// of links.
fn two_links_and_no_types() -> Result<Mount, String> {
    let mut mount = Mount::make(&mount::EXT4_UNTYPED)?;
    let root = mount.path().join("root");
    for directory in ["a", "b"] {
        let path = root.join(directory);
        std::fs::create_dir_all(&path).unwrap();
        (0..3).for_each(|file| std::fs::write(path.join(format!("{file}")), "x").unwrap());
    }
    mount.remount(|image| {
        mount::run(
            Command::new("debugfs").args(["-w", "-R", "set_inode_field /root links_count 2"]).arg(image),
        )
    })?;
    Ok(mount)
}

fn read_counts(events: &[String]) -> Vec<u64> {
    let numbers = events.iter().filter_map(|event| event.strip_prefix("Read(")?.strip_suffix(')'));
    numbers.map(|number| number.parse().unwrap()).collect()
}

#[test]
fn subdirectories_are_entered_whatever_the_links_and_the_listed_types_are() {
    let mount = require!(two_links_and_no_types());
    let (report, flow, events) = events(&mount.path().join("root"), |_| false);
    assert!(flow.is_continue());
    assert_eq!((report.total.amount.entries, report.total.directories), (8, 2), "{events:?}");
    let read = read_counts(&events);
    assert!(read.is_sorted() && read.last() == Some(&8), "progress runs backwards: {read:?}");
}

#[test]
fn a_stop_during_the_listing_starts_no_walk() {
    let mount = require!(two_links_and_no_types());
    let (_, flow, events) = events(&mount.path().join("root"), |_| true);
    assert!(flow.is_break());
    assert_eq!(events, ["Read(2)"]);
}

#[test]
fn a_directory_that_may_not_be_searched_is_still_counted() {
    let scratch = require!(tempfile::tempdir_in("/dev/shm").map_err(|error| format!("/dev/shm: {error}")));
    (0..3).for_each(|file| std::fs::write(scratch.path().join(format!("{file}")), "x").unwrap());
    // The owner of the test's directory is the user that runs it.
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o444)).unwrap();
    let (report, _, events) = unprivileged(|| events(scratch.path(), |_| false));
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(report.total.amount.entries, 3, "{events:?}");
    assert!(events.iter().any(|event| event.starts_with("Unexamined")), "{events:?}");
}
