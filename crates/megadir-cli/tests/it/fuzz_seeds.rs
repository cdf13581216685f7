//! Every seed of the fuzz targets, and changed records, as ordinary tests: random inputs are for the long tier.

use std::path::{Path, PathBuf};

#[path = "../../../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "a library for the fuzzer's programs, a module here")]
mod targets;

fn seeds(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let entries = std::fs::read_dir(folder).expect("a folder of the fuzzer");
    let mut seeds: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    seeds.sort();
    seeds
}

#[test]
fn every_fuzz_target_accepts_its_seeds() {
    for (name, check) in targets::TARGETS {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "no seed for {name}");
        for seed in seeds {
            check(&std::fs::read(seed).expect("a seed"));
        }
    }
}

/// Empty, cut and flipped seeds: the cheapest damage of all.
#[test]
fn damaged_seeds_never_panic() {
    for (name, check) in targets::TARGETS.iter().filter(|(name, _)| *name != "report") {
        check(&[]);
        for seed in seeds(name) {
            let bytes = std::fs::read(seed).expect("a seed");
            let step = (bytes.len() / 40).max(1);
            for at in (0..bytes.len()).step_by(step) {
                check(&bytes[..at]);
                let mut flipped = bytes.clone();
                flipped[at] ^= 0x81;
                check(&flipped);
            }
        }
    }
}

#[test]
fn records_with_one_changed_value_are_rendered_without_a_panic() {
    for seed in seeds("report") {
        let bytes = std::fs::read(seed).expect("a seed");
        for random in 0..12 {
            if let Some(changed) = targets::report::changed(&bytes, random) {
                targets::report::check(&changed);
            }
        }
    }
}

#[test]
fn every_target_of_the_fuzzer_is_in_the_table() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/targets");
    let entries = std::fs::read_dir(folder).expect("a folder of the fuzzer");
    let mut files: Vec<String> = entries
        .map(|entry| {
            entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into_owned()
        })
        .collect();
    files.sort();
    assert_eq!(files, targets::TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}
