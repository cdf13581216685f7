//! `usage --time`: exact answers in time, estimates of a slowed walk, and what is refused.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use megadir_testkit::require;
use serde_json::Value;

use super::parsed;
use crate::support::{Ran, finish, have, program, run, scratch, scratch_in_memory};

const DIRECTORIES: u64 = 8 + 8 * 150;
const ENTRIES: u64 = DIRECTORIES + 8 * 150 * 3;

/// Eight directories with 150 each, which have three files.
fn make(top: &Path) {
    for number in 0..8 * 150 {
        let below = top.join(format!("d{}/d{}", number / 150, number % 150));
        std::fs::create_dir_all(&below).unwrap();
        (0..3).for_each(|file| std::fs::write(below.join(format!("f{file}")), "12345").unwrap());
    }
}

/// Each call that reads a directory takes `delay_us` longer.
fn slowed(tree: &Path, delay_us: u32, options: &[&str]) -> Ran {
    let inject = format!("inject=getdents64:delay_exit={delay_us}");
    let mut strace = Command::new("strace");
    strace.args(["-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=getdents64", "-e", &inject]);
    finish(strace.arg(program()).args(["usage", "-j", "1"]).args(options).arg(tree))
}

/// The estimate is not exact, and the truth is in its interval.
#[track_caller]
fn within(value: &Value, key: &str, truth: u64) {
    let [low, high] = ["low", "high"].map(|end| value[format!("{key}_{end}")].as_u64());
    let estimate = value[key].as_u64();
    assert!(estimate.is_some() && low <= estimate && estimate <= high, "{key}: {value}");
    assert!(low <= Some(truth) && Some(truth) <= high, "{key}: {truth} of {value}");
}

#[test]
fn a_tree_that_is_read_in_time_has_the_usual_answer() {
    let scratch = scratch();
    make(scratch.path());
    let usual = run(scratch.path(), &["usage"]).quiet();
    assert_eq!(run(scratch.path(), &["usage", "--time", "1h"]).quiet(), usual);
    let mut exact = parsed(&run(scratch.path(), &["usage", "--time", "1h", "--json"]));
    let mut usual = parsed(&run(scratch.path(), &["usage", "--json"]));
    assert_eq!(exact.as_object_mut().unwrap().remove("exact"), Some(Value::Bool(true)));
    for value in [&mut exact, &mut usual] {
        value.as_object_mut().unwrap().remove("now_s");
        // In the order in which they were read, if they are equal.
        value.as_object_mut().unwrap().remove("directories");
    }
    assert_eq!(exact, usual);
}

#[test]
fn a_slowed_walk_has_estimates_with_the_truth_in_their_intervals() {
    if let Err(why) = have("strace") {
        return require::unavailable("usage --time with estimates", &why);
    }
    let scratch = scratch_in_memory();
    make(scratch.path());
    let started = Instant::now();
    let ran = slowed(scratch.path(), 3000, &["--time", "3s", "--seed", "1", "--json"]);
    let took = started.elapsed();
    assert!(took.as_secs_f64() < 6.0, "{took:?} for a time of 3 s");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let value = parsed(&ran);
    assert_eq!((&value["exact"], &value["seed"]), (&Value::Bool(false), &1.into()), "{value}");
    within(&value, "entries", ENTRIES);
    within(&value, "directory_entries", DIRECTORIES);
    assert!(value["directories_read"].as_u64() < Some(DIRECTORIES), "{value}");
    assert_eq!(value["directories"].as_array().unwrap().len(), 8);
    let options = ["--time", "3s", "--seed", "1", "--json", "--match", "f*", "--larger-than", "4"];
    within(&parsed(&slowed(scratch.path(), 3000, &options)), "entries", ENTRIES - DIRECTORIES);
    let ran = slowed(scratch.path(), 3000, &["--time", "3s", "--seed", "1"]);
    let text = String::from_utf8_lossy(&ran.out);
    assert!(text.contains(" has about ") && text.contains(" entries ("), "{text}");
    assert!(text.contains("3 s did not suffice for the whole tree; estimated from "), "{text}");
}

#[test]
fn too_few_reads_give_a_lower_bound() {
    if let Err(why) = have("strace") {
        return require::unavailable("usage --time with a lower bound", &why);
    }
    let scratch = scratch_in_memory();
    make(scratch.path());
    let started = Instant::now();
    let ran = slowed(scratch.path(), 200_000, &["--time", "1s"]);
    assert!(started.elapsed().as_secs_f64() < 4.0, "{:?}", started.elapsed());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = String::from_utf8_lossy(&ran.out);
    let (_, counted) = text.split_once(" has at least ").unwrap_or_else(|| panic!("{text}"));
    let counted: u64 = counted.split(" entries").next().unwrap().replace(' ', "").parse().unwrap();
    assert!((8..ENTRIES).contains(&counted), "{text}");
}

#[test]
fn options_without_estimates_are_refused_in_one_line() {
    let scratch = scratch();
    make(scratch.path());
    run(scratch.path(), &["scan", "--quiet", "d0", "-o", "tree.parquet"]).quiet();
    for (options, reason) in [
        (&["--seed", "1"][..], "--seed needs --time"),
        (&["--time", "0s"], "write 1s to 30d"),
        (&["--time", "5s", "--csv"], "use --json"),
        (&["--time", "5s", "--tables"], "--time has no estimates for --tables"),
        (&["--time", "5s", "--html", "page.html"], "leave --html or --time out"),
        (&["--time", "5s", "--prometheus", "a.prom"], "metrics must not be estimates"),
        (&["--time", "5s", "--sort", "newest"], "use --sort entries, allocated or apparent"),
        (&["--time", "5s", "--depth", "2"], "use --depth 1"),
        (&["--time", "5s", "--stat-backend", "std"], "leave --stat-backend out"),
        (&["--time", "5s", "d0", "d1"], "--time takes one directory: run it for each"),
        (&["--time", "5s", "tree.parquet"], "is an inventory, which has no subtrees to sample"),
        (&["--time", "5s", "--engine", "mpi"], "--time"),
    ] {
        let ran = run(scratch.path(), &[&["usage"], options].concat());
        assert_eq!(ran.code, Some(2), "{options:?}: {ran:?}");
        assert!(ran.err.contains(reason), "{options:?}: {}", ran.err);
    }
    assert!(!scratch.path().join("page.html").exists() && !scratch.path().join("a.prom").exists());
}
