//! `megadir bench run --cache`: cold and warm arms side by side, and refusals before anything is written.

use std::path::Path;
use std::process::Output;

use megadir_testkit::mount::{EXT4, Mount};
use megadir_testkit::output::assert_output;

use crate::support::{caches_are_dropped, output_of};

fn bench_run(directory: &Path, arguments: &[&str]) -> Output {
    output_of(directory, &[&["bench", "run"], arguments].concat())
}

fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).expect("readable").count() == 0
}

#[test]
fn forbidden_or_unavailable_cache_states_are_refused_before_writing() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let small = ["lookup", "--quick", "--entries", "100"];
    let with = |more: &[&'static str]| bench_run(at, &[&small[..], more].concat());
    assert_output(&with(&["--cache", "vfs-cold"]), 2, "allow that with --drop-caches");
    assert_output(&with(&["--drop-caches"]), 2, "no cache state needs it; add --cache vfs-cold");
    assert_output(&with(&["--cache", "frozen"]), 2, "expected one of warm, unseen, data-cold, vfs-cold");
    assert_output(&with(&["--cache", "data-cold"]), 3, "nothing is left to compare");
    let on_tmpfs = ["--dir", "/dev/shm", "--cache", "vfs-cold", "--drop-caches"];
    assert_output(&with(&on_tmpfs), 3, "tmpfs has no cold state: it stores its data in the cache");
    assert_output(&with(&["--dir", "/dev/shm", "--dry-run"]), 0, "cache warm: available");
    assert_output(
        &with(&["--dir", "/dev/shm", "--dry-run"]),
        0,
        "vfs-cold: unavailable: tmpfs has no cold state",
    );
    assert!(is_empty(at));
}

/// A study of one workload with two cold and two warm arms.
fn study(directory: &Path) -> String {
    let own = include_str!("../../../megadir-bench/studies/lookup.toml");
    let own = own.replacen("presence = [\"present\", \"absent\"]", "presence = [\"present\"]", 1);
    let own = own.replacen("keys = [\"fixed\", \"random\", \"zipf\"]", "keys = [\"random\"]", 1);
    // Keep rounds valid on a shared machine.
    let own = own.replacen("stolen_fraction_max = 0.02", "stolen_fraction_max = 0.999", 1);
    let path = directory.join("own.toml");
    std::fs::write(&path, own).expect("writable");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn cold_blocks_read_from_the_device_and_warm_ones_do_not() {
    let _caches = caches_are_dropped();
    let mount = megadir_testkit::require!(Mount::make(&EXT4));
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let study = study(at);
    let below = mount.path();
    let below = below.to_str().expect("UTF-8");
    let arguments = [study.as_str(), "--quick", "--entries", "3000", "--dir", below, "--seed", "3"];
    let cold = ["-v", "--cache", "warm,vfs-cold", "--drop-caches", "--output", "r"];
    let output = bench_run(at, &[&arguments[..], &cold].concat());
    assert_output(&output, 0, "How much does a cold cache cost?");
    assert_output(&output, 0, "dropping the caches of the whole machine before each of 22 blocks");
    assert_output(&output, 0, "vfs-cold against itself");
    let record = std::fs::read_to_string(at.join("r")).expect("readable");
    let blocks = |arms: std::ops::Range<u32>, phase: &str| -> Vec<&str> {
        let of = |line: &&str| {
            arms.clone().any(|arm| line.contains(&format!("\"cell\":{arm},\"phase\":\"{phase}\"")))
        };
        record.lines().filter(of).collect()
    };
    let (warm, cold) = (blocks(0..2, "measure"), blocks(2..4, "measure"));
    assert_eq!((warm.len(), cold.len(), blocks(2..4, "warm-up").len()), (22, 22, 0), "{record}");
    // 30 names are 1 % of 3000, and each block of found names read something.
    for line in cold {
        assert!(line.contains("\"operations\":30,") && !line.contains("\"read_bytes\":0,"), "{line}");
        assert!(line.contains("\"read_bytes\":") && line.contains("\"entries\":1"), "{line}");
    }
    for line in warm {
        assert!(line.contains("\"read_bytes\":0,"), "{line}");
    }
    assert!(!record.contains("arm-left-out") && !record.contains("cold-without-reads"), "{record}");
    // Resuming it would drop caches again.
    let resumed = bench_run(at, &["--resume", "r"]);
    assert_output(&resumed, 3, "it is complete");
    let cut: String = record.lines().take(30).map(|line| format!("{line}\n")).collect();
    std::fs::write(at.join("cut"), cut).expect("writable");
    assert_output(&bench_run(at, &["--resume", "cut"]), 2, "allow it again with --drop-caches");
    assert_output(
        &bench_run(at, &["--resume", "cut", "--drop-caches"]),
        0,
        "How much does a cold cache cost?",
    );
}
