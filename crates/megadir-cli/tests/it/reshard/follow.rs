//! `--follow`: files that programs still create at old paths are moved too.

use std::time::{Duration, Instant};

use super::support::{at_top, directories, files, interrupted, make};
use crate::remove::witness::scratch_in_memory;
use crate::support::{fill, finish, megadir};

#[test]
fn files_that_appear_are_moved_until_the_directory_is_quiet() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 200, "digest:1");
    let words = [
        "reshard",
        "--yes",
        "--from",
        "digest:1",
        "--to",
        "digest:1/1+label=d",
        "--follow",
        "--until-quiet",
        "2s",
        "t",
    ];
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            for index in 0..20 {
                // In an old directory, which must not be removed meanwhile.
                let name = format!("late{index}");
                let layout: megadir::layout::Layout = "digest:1".parse().unwrap();
                let path = layout.path_for(name.as_bytes()).unwrap();
                fill(at, &[&format!("t/{}", path.display())]);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        finish(&mut megadir(at, &words))
    });
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.starts_with("megadir: moved 220 files from digest:1 to "), "{ran:?}");
    assert!(ran.err.contains("; removed 16 directories"), "{ran:?}");
    let found = files(&at.join("t"));
    assert!(found.len() == 220 && found.values().all(|(_, path)| path.starts_with('d')));
    assert!(directories(&at.join("t")) <= 16 + 256);
}

/// Runs with a quiet time of 2 s beside a writer that creates files at old paths, in bursts with pauses; returns what was left there.
#[track_caller]
fn beside_a_writer(files_before: u32, rate: &[&str], bursts: u32, burst_files: u32, pause_ms: u64) {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, files_before, "flat");
    let words =
        ["reshard", "--yes", "--from", "flat", "--to", "digest:1", "--follow", "--until-quiet", "2s", "t"];
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            for burst in 0..bursts {
                for file in 0..burst_files {
                    fill(at, &[&format!("t/late-{burst}-{file}")]);
                }
                std::thread::sleep(Duration::from_millis(pause_ms));
            }
        });
        finish(&mut megadir(at, &[&words[..], rate].concat()))
    });
    assert_eq!((ran.code, at_top(at)), (Some(0), 0), "{ran:?}");
    let moved = files(&at.join("t")).len() as u32;
    assert_eq!(moved, files_before + bursts * burst_files, "{ran:?}");
}

/// The first pass takes longer than a tenth of the quiet time.
#[test]
fn it_does_not_end_while_a_steady_writer_runs() {
    beside_a_writer(20_000, &[], 5000, 1, 1);
}

#[test]
fn it_does_not_end_between_bursts_that_are_closer_than_the_quiet_time() {
    beside_a_writer(20_000, &[], 6, 300, 900);
}

#[test]
fn it_does_not_end_while_a_steady_writer_runs_and_the_rate_is_limited() {
    beside_a_writer(4000, &["--rate", "2000/s"], 5000, 1, 1);
}

#[test]
fn it_ends_with_an_interrupt_and_names_each_failure_once() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 20, "flat");
    fill(at, &["t/abcd", "t/zz/", "t/zz/zz00", "t/zz00"]);
    let words = ["reshard", "--yes", "--from", "flat", "--to", "prefix:2", "--follow", "t"];
    let all_moved = std::cell::Cell::new(None);
    let ran = interrupted(at, &words, || {
        // Two more passes.
        let since = all_moved.get().or_else(|| (at_top(at) == 1).then(Instant::now));
        all_moved.set(since);
        since.is_some_and(|since| since.elapsed() > Duration::from_millis(1500))
    });
    assert_eq!(ran.err.matches("rename 't/zz00'").count(), 1, "{ran:?}");
    assert!(ran.err.contains("; 1 file stays because another entry has the new path"), "{ran:?}");
    assert!(ran.err.contains("moved 21 files") && ran.err.contains("interrupted"), "{ran:?}");
}
