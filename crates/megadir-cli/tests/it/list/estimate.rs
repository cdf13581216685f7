//! `--estimate`: close to the truth if there is cheap evidence, otherwise refused.

use std::path::Path;
use std::process::Command;

use megadir_testkit::mount::{BTRFS, EXT4, Mount, TMPFS, XFS};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Names};
use serde_json::Value;

use crate::support::{fill, run, scratch};

struct Estimate {
    entries: u64,
    low: u64,
    high: u64,
    basis: String,
}

#[track_caller]
fn estimate(directory: &Path) -> Estimate {
    let line: Value =
        serde_json::from_slice(&run(directory, &["list", "--estimate", "--json"]).quiet()).unwrap();
    assert_eq!((&line["v"], &line["dir"]), (&Value::from(1), &Value::from(".")));
    let number = |key: &str| line[key].as_u64().unwrap();
    let found = Estimate {
        entries: number("entries"),
        low: number("low"),
        high: number("high"),
        basis: line["basis"].as_str().unwrap().to_owned(),
    };
    let text = String::from_utf8(run(directory, &["list", "--estimate"]).quiet()).unwrap();
    assert_eq!(text, format!("{} entries [{}, {}] {}\n", found.entries, found.low, found.high, found.basis));
    found
}

#[track_caller]
fn check(directory: &Path, entries: u64) {
    let found = estimate(directory);
    let error = found.entries.abs_diff(entries) as f64 / entries as f64;
    let text =
        format!("{} [{}, {}] instead of {entries}: {}", found.entries, found.low, found.high, found.basis);
    assert!(error <= 0.05, "{text}");
    assert!(found.low <= found.entries && found.entries <= found.high, "{text}");
    // The interval contains the truth in 95 of 100 cases; twice its width on each side in all cases tested
    // here.
    let width = (found.high - found.low).max(2);
    assert!(found.low.saturating_sub(width) <= entries && entries <= found.high + width, "{text}");
    // A very wide interval would be useless.
    assert!(found.high - found.low <= entries / 2, "{text}");
}

#[test]
fn estimates_are_within_five_per_cent() {
    for recipe in [&EXT4, &XFS, &BTRFS, &TMPFS] {
        let mount = require!(Mount::make(recipe));
        for (name, entries, names) in [
            ("plain", 20_000, Names::Plain),
            ("varied", 10_000, Names::Varied),
            ("some", 3000, Names::EveryByte),
        ] {
            let directory = mount.path().join(name);
            Flat { entries, names, kinds: Kinds::Files, seed: 31 }.build(&directory);
            check(&directory, entries);
        }
    }
}

#[test]
fn a_small_directory_is_counted_anywhere() {
    let scratch = scratch();
    fill(scratch.path(), &["a/", "a/1", "a/2", "b/"]);
    let text = String::from_utf8(run(scratch.path(), &["list", "--estimate", "a", "b"]).quiet()).unwrap();
    let basis = "counted: one buffer held the whole directory";
    assert_eq!(text, format!("2 entries [2, 2] a: {basis}\n0 entries [0, 0] b: {basis}\n"));
}

#[test]
fn estimate_without_evidence_is_refused_with_the_reason() {
    let mount = require!(Mount::make(&TMPFS));
    fill(&mount.path(), &["lower/", "lower/small/", "lower/small/a", "upper/", "work/", "merged/"]);
    Flat::plain(5000).build(&mount.path().join("lower/d"));
    let overlay = require!(Overlay::make(&mount.path()));
    let ran = run(&overlay.0, &["list", "--estimate", "d"]);
    ran.complains(3, &["estimate 'd': no cheap evidence of the number of entries on overlay: use --count"]);
    assert_eq!(ran.out, b"");
    assert_eq!(run(&overlay.0, &["list", "--count", "d"]).quiet(), b"5000\n");
    let some = run(&overlay.0, &["list", "--estimate", "d", "small"]);
    some.complains(1, &["estimate 'd': no cheap evidence"]);
    // However few entries it has.
    let merged = run(&overlay.0, &["list", "--estimate", "."]);
    merged.complains(3, &["estimate '.': overlayfs reads a merged directory as a whole before it returns an entry: use --count"]);
}

#[test]
fn a_btrfs_directory_that_samples_would_read_as_a_whole_is_counted() {
    let mount = require!(Mount::make(&BTRFS));
    for (name, entries) in [("few", 3000), ("more", 12_000)] {
        let directory = mount.path().join(name);
        std::fs::create_dir(&directory).unwrap();
        for file in 0..entries {
            let long = "x".repeat(file as usize * 7919 % 41);
            std::fs::write(directory.join(format!("f{file:06}-{long}")), "").unwrap();
        }
        let found = estimate(&directory);
        assert_eq!((found.entries, found.low, found.high), (entries, entries, entries), "{}", found.basis);
        assert!(found.basis.starts_with("counted"), "{}", found.basis);
    }
}

/// An overlay of adjacent directories; unmounted when dropped.
struct Overlay(std::path::PathBuf);

impl Overlay {
    fn make(at: &Path) -> Result<Self, String> {
        let options = "lowerdir=lower,upperdir=upper,workdir=work";
        let mut command = Command::new("mount");
        command.args(["-t", "overlay", "-o", options, "none", "merged"]).current_dir(at);
        megadir_testkit::mount::run(&mut command)?;
        Ok(Self(at.join("merged")))
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
    }
}
