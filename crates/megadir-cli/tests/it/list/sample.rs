//! `list --sample`: which entries, in which order, and what it refuses.

use std::collections::BTreeSet;
use std::path::Path;

use megadir_testkit::require;

use crate::support::{have, program, run, scratch, set, split};

fn make(path: &Path) {
    for directory in 0..20 {
        let below = path.join(format!("d{directory}"));
        std::fs::create_dir(&below).unwrap();
        for file in 0..25 {
            let kind = if file < 5 { "log" } else { "txt" };
            std::fs::write(below.join(format!("f{file}.{kind}")), vec![b'x'; file]).unwrap();
        }
    }
}

fn sampled(path: &Path, options: &[&str]) -> Vec<Vec<u8>> {
    run(path, &[&["list", "--sample"], options].concat()).lines()
}

#[test]
fn a_sample_has_the_number_of_entries_in_the_order_of_paths() {
    let scratch = scratch();
    make(scratch.path());
    let all = set(run(scratch.path(), &["list", "-r"]).lines());
    assert_eq!(all.len(), 520);
    let lines = sampled(scratch.path(), &["30", "-r"]);
    assert_eq!(lines.len(), 30);
    assert!(lines.is_sorted() && set(lines.clone()).is_subset(&all), "{lines:?}");
    let back = sampled(scratch.path(), &["30", "-r", "--sort", "name", "--reverse"]);
    assert!(back.iter().rev().is_sorted() && back.len() == 30);
    assert_eq!(set(sampled(scratch.path(), &["600", "-r"])), all, "fewer entries than requested");
    assert_eq!(sampled(scratch.path(), &["3"]).len(), 3, "without --recursive");
    let ended = run(scratch.path(), &["list", "--sample", "5", "-r", "-0"]).quiet();
    assert_eq!(split(&ended, 0).len(), 5);
}

#[test]
fn a_seed_gives_the_same_sample_whatever_the_threads_and_the_path() {
    let scratch = scratch();
    make(scratch.path());
    let of = |threads: &str, seed: &str| sampled(scratch.path(), &["9", "-r", "--seed", seed, "-j", threads]);
    let once = of("1", "5");
    for threads in ["1", "2", "4", "7"] {
        assert_eq!(of(threads, "5"), once, "{threads} threads");
    }
    assert_ne!(of("1", "6"), once);
    let above = scratch.path().parent().unwrap();
    let name = scratch.path().file_name().unwrap().to_str().unwrap();
    let named = sampled(above, &["9", "-r", "--seed", "5", name]);
    let same = |line: &Vec<u8>| line.strip_prefix(format!("{name}/").as_bytes()).map(<[u8]>::to_vec);
    let without_dot = |line: &Vec<u8>| line.strip_prefix(b"./").map_or_else(|| line.clone(), <[u8]>::to_vec);
    assert_eq!(
        named.iter().filter_map(same).collect::<Vec<_>>(),
        once.iter().map(without_dot).collect::<Vec<_>>()
    );
    let drawn: BTreeSet<_> = (0..4).map(|_| sampled(scratch.path(), &["9", "-r"])).collect();
    assert!(drawn.len() > 1, "four drawn seeds, one sample");
}

#[test]
fn the_printed_seed_repeats_the_sample() {
    let scratch = scratch();
    make(scratch.path());
    let ran = run(scratch.path(), &["list", "-r", "--sample", "7", "--explain"]);
    let line = ran.err.lines().find(|line| line.contains("--seed")).unwrap();
    assert!(line.starts_with("megadir: sample of 520 entries; --seed "), "{line}");
    let seed = line.split_whitespace().nth_back(2).unwrap();
    assert_eq!(sampled(scratch.path(), &["7", "-r", "--seed", seed]), split(&ran.out, b'\n'));
}

#[test]
fn only_entries_that_meet_the_conditions_are_sampled() {
    let scratch = scratch();
    make(scratch.path());
    let logs = sampled(scratch.path(), &["1k", "-r", "--match", "*.log"]);
    assert_eq!(logs.len(), 100);
    let large = sampled(scratch.path(), &["1k", "-r", "--larger-than", "20", "--type", "f"]);
    assert_eq!(large.len(), 80, "f21 to f24 of twenty directories");
    let some = sampled(scratch.path(), &["10", "-r", "--larger-than", "20", "--type", "f"]);
    assert!(some.len() == 10 && set(some).is_subset(&set(large)));
}

/// Each directory is as likely to be sampled as its share of the entries, and each entry of it.
#[test]
fn entries_of_large_and_small_directories_are_equally_probable() {
    let scratch = scratch();
    for (name, files) in [("large", 60), ("small", 4)] {
        std::fs::create_dir(scratch.path().join(name)).unwrap();
        (0..files)
            .for_each(|file| std::fs::write(scratch.path().join(format!("{name}/{file}")), "").unwrap());
    }
    let mut small = 0;
    for seed in 0..200 {
        let lines = sampled(scratch.path(), &["8", "-r", "--type", "f", "--seed", &seed.to_string()]);
        small += lines.iter().filter(|line| line.windows(6).any(|part| part == b"small/")).count();
    }
    // Of 1600 entries 4/64 are expected: 100, with a standard deviation below 10.
    assert!((65..=135).contains(&small), "{small}");
}

#[test]
fn json_has_the_fields_of_a_listing_and_an_inventory_the_sample_of_its_tree() {
    let scratch = scratch();
    make(scratch.path());
    let lines = sampled(scratch.path(), &["4", "-r", "--json", "--seed", "3"]);
    for line in &lines {
        let value: serde_json::Value = serde_json::from_slice(line).unwrap();
        let is_directory = !value["name"].as_str().unwrap().contains('.');
        let kind = if is_directory { "directory" } else { "file" };
        assert_eq!((&value["v"], &value["type"]), (&1.into(), &kind.into()), "{value}");
    }
    assert_eq!(lines.len(), 4);
    let inventory = tempfile::tempdir().unwrap();
    let file = inventory.path().join("tree.parquet");
    run(scratch.path(), &["scan", "--quiet", ".", "-o", file.to_str().unwrap()]).quiet();
    let recorded = sampled(scratch.path(), &["12", "-r", "--seed", "3", file.to_str().unwrap()]);
    let top = scratch.path().canonicalize().unwrap();
    let live = sampled(scratch.path(), &["12", "-r", "--seed", "3", top.to_str().unwrap()]);
    assert_eq!(recorded, live);
}

/// Attributes are queried for conditions only.
#[test]
fn trees_of_one_inventory_are_sampled_apart() {
    let scratch = scratch();
    for tree in ["a", "b"] {
        std::fs::create_dir(scratch.path().join(tree)).unwrap();
        for number in 0..200 {
            std::fs::write(scratch.path().join(tree).join(format!("f{number}")), "").unwrap();
        }
    }
    run(scratch.path(), &["scan", "-q", "a", "b", "-o", "two.parquet"]);
    let options = |paths: &[&'static str]| [&["6", "-r", "--seed", "1"], paths].concat();
    let of_inventory = sampled(scratch.path(), &options(&["two.parquet"]));
    let of_trees = sampled(scratch.path(), &options(&["a", "b"]));
    assert_eq!((of_inventory.len(), of_trees.len()), (6, 6));
    // Inventories have absolute paths.
    assert!(of_inventory.iter().zip(&of_trees).all(|(recorded, now)| recorded.ends_with(now)));
}

#[test]
fn a_sample_of_names_queries_no_attributes() {
    if let Err(why) = have("strace") {
        return require::unavailable("list --sample without attributes", &why);
    }
    let scratch = scratch();
    let spool = scratch.path().join("spool");
    std::fs::create_dir(&spool).unwrap();
    (0..3000).for_each(|file| std::fs::write(spool.join(file.to_string()), "").unwrap());
    let log = scratch.path().join("log");
    let mut traced = std::process::Command::new("strace");
    traced.args(["-f", "-e", "trace=%stat,statx", "-o"]).arg(&log).arg(program());
    let done = traced.args(["list", "--sample", "5"]).arg(&spool).output().unwrap();
    assert!(done.status.success());
    let calls = std::fs::read_to_string(&log).unwrap().lines().count();
    assert!(calls < 200, "{calls} calls for 3000 entries");
}

#[test]
fn options_without_effect_on_a_sample_are_refused() {
    let scratch = scratch();
    for (options, reason) in [
        (&["--seed", "1"][..], "--seed needs --sample"),
        (
            &["--sample", "5", "-l"],
            "--sample prints names, types and inodes; for more: megadir list --sample N",
        ),
        (&["--sample", "5", "--fields", "size"], "--sample prints names, types and inodes"),
        (&["--sample", "5", "--limit", "5"], "leave --limit out"),
        (&["--sample", "5", "--count"], "leave --count, --estimate or --summary out"),
        (&["--sample", "5", "--estimate"], "leave --count, --estimate or --summary out"),
        (&["--sample", "5", "--summary"], "leave --count, --estimate or --summary out"),
        (&["--sample", "5", "--sort", "size"], "in the order of paths: leave --sort out"),
        (&["--sample", "5", "--sort", "name", "--memory", "8MiB"], "leave it out"),
        (&["--sample", "2M"], "write 1M or fewer"),
    ] {
        let ran = run(scratch.path(), &[&["list"], options].concat());
        assert_eq!(ran.code, Some(2), "{options:?}: {ran:?}");
        assert!(ran.err.lines().next().unwrap().contains(reason), "{options:?}: {}", ran.err);
    }
}
