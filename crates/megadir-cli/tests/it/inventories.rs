//! `megadir changes` with two inventories, and the directories that gained the most.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use megadir_testkit::require;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    have, peak_of, run, run_as_nobody, scratch, scratch_in_memory, shell, text, unprivileged,
};

/// A tree `t`, its inventory `a.parquet`, changes, and a second inventory `b.parquet`.
fn changed() -> TempDir {
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir_all(at.join("t/d/below")).unwrap();
    for (path, size) in [("kept", 9), ("grown", 10), ("gone", 10_000), ("d/moved", 300), ("d/below/deep", 8)]
    {
        fs::write(at.join("t").join(path), vec![b'x'; size]).unwrap();
    }
    std::thread::sleep(Duration::from_millis(150));
    run(at, &["scan", "--quiet", "-o", "a.parquet", "t"]).quiet();
    fs::write(at.join("t/grown"), vec![b'y'; 70_000]).unwrap();
    fs::remove_file(at.join("t/gone")).unwrap();
    fs::rename(at.join("t/d/moved"), at.join("t/here")).unwrap();
    fs::rename(at.join("t/d"), at.join("t/e")).unwrap();
    fs::create_dir(at.join("t/new")).unwrap();
    for number in 0..30 {
        fs::write(at.join(format!("t/new/{number}.log")), vec![b'z'; number * 200]).unwrap();
    }
    std::thread::sleep(Duration::from_millis(150));
    run(at, &["scan", "--quiet", "-o", "b.parquet", "t"]).quiet();
    scratch
}

#[test]
fn comparing_two_inventories_equals_comparing_with_the_tree() {
    let scratch = changed();
    let at = scratch.path();
    let mut printed = 0;
    for options in [
        &[][..],
        &["--json"],
        &["-0"],
        &["--only", "added,renamed", "--paths", "-0"],
        &["--only", "removed", "--paths"],
        &["--match", "*.log", "--larger-than", "1000"],
        &["--exclude", "e"],
        &["--max-depth", "1", "--json"],
        &["--gains"],
        &["--gains=apparent", "--json"],
        &["--gains=allocated", "--match", "1*.log"],
    ] {
        let with = |paths: &[&str]| run(at, &[&["changes"], paths, options].concat()).quiet();
        let (tree, two) = (with(&["a.parquet"]), with(&["a.parquet", "b.parquet"]));
        assert_eq!(text(&two), text(&tree), "{options:?}");
        printed += usize::from(!two.is_empty());
    }
    assert_eq!(printed, 11, "every variant has something to compare");
    assert_eq!(run(at, &["changes", "-q", "a.parquet", "b.parquet"]).code, Some(10));
    assert_eq!(run(at, &["changes", "-q", "b.parquet", "b.parquet"]).code, Some(0));
    // The tree is not needed.
    fs::remove_dir_all(at.join("t")).unwrap();
    assert_eq!(run(at, &["changes", "-q", "a.parquet", "b.parquet"]).code, Some(10));
}

#[test]
fn inventories_that_are_not_comparable_are_refused() {
    let scratch = changed();
    let at = scratch.path();
    fs::create_dir(at.join("other")).unwrap();
    for (file, rest) in [
        ("other.parquet", &["other"][..]),
        ("both.parquet", &["t", "other"]),
        ("some.parquet", &["t", "--exclude", "*.log"]),
        ("mounts.parquet", &["t", "--cross-mounts"]),
        ("small.parquet", &["t", "--smaller-than", "100"]),
    ] {
        run(at, &[&["scan", "--quiet", "-o", file], rest].concat()).quiet();
    }
    let refused = |words: &[&str], reasons: &[&str]| {
        run(at, &[&["changes"], words].concat()).complains(2, reasons);
    };
    refused(&["b.parquet", "a.parquet"], &["older than the first", "exchange"]);
    refused(&["a.parquet", "other.parquet"], &["not the directory that was scanned"]);
    refused(&["a.parquet", "both.parquet"], &["1 trees", "2"]);
    refused(&["a.parquet", "some.parquet"], &["different conditions", "repeat the scan"]);
    refused(&["a.parquet", "mounts.parquet"], &["--cross-mounts"]);
    refused(&["small.parquet", "small.parquet"], &["conditions on time, size or owner"]);
    for option in ["--update", "--verify", "--list-all", "--files0-from=x"] {
        refused(&["a.parquet", "b.parquet", option], &["two inventories", &option[..8]]);
    }
    run(at, &["changes", "a.parquet", "a.txt"]).complains(3, &["a.txt"]);
    fs::write(at.join("a.txt"), "text").unwrap();
    run(at, &["changes", "a.parquet", "a.txt"]).complains(3, &["a.txt"]);
    // On another file system, which tmpfs stands for.
    if fs::metadata("/dev/shm").is_ok() {
        let shm = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = shm.path().to_str().unwrap();
        run(at, &["scan", "--quiet", "-o", "shm.parquet", path]).quiet();
        refused(&["a.parquet", "shm.parquet"], &["tmpfs", "--any-root"]);
        assert_eq!(run(at, &["changes", "a.parquet", "shm.parquet", "--any-root"]).code, Some(0));
    }
}

#[test]
fn directories_unreadable_in_the_second_scan_are_not_removed() {
    let scratch = changed();
    let at = scratch.path();
    let program = require!(unprivileged(&scratch));
    fs::set_permissions(at.join("t/e"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    fs::create_dir(at.join("out")).unwrap();
    std::os::unix::fs::chown(at.join("out"), Some(65534), Some(65534)).unwrap();
    let scanned = run_as_nobody(&program, at, &["scan", "--quiet", "-o", "out/c.parquet", "t"]);
    assert_eq!(scanned.code, Some(1), "{scanned:?}");
    let ran = run(at, &["changes", "b.parquet", "out/c.parquet"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let out = text(&ran.out);
    assert!(out.contains("modified") && out.contains("(mode)") && out.lines().count() == 1, "{out}");
    assert!(ran.err.contains("t/e': open: Permission denied"), "{}", ran.err);
    // Entries that were unreadable before are new, and this is said.
    fs::set_permissions(at.join("t/e"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    run(at, &["scan", "--quiet", "-o", "d.parquet", "t"]).quiet();
    let ran = run(at, &["changes", "out/c.parquet", "d.parquet", "--only", "added", "--paths"]);
    assert_eq!((ran.code, text(&ran.out)), (Some(0), "e/below\ne/below/deep\n".to_owned()), "{ran:?}");
    assert!(ran.err.contains("everything in it counts as added"), "{}", ran.err);
}

/// Sums of everything below each directory, by the standard library.
fn sums(path: &Path, relative: &str, sums: &mut BTreeMap<String, [i64; 3]>) -> [i64; 3] {
    let mut sum = [0; 3];
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let (meta, name) = (entry.path().symlink_metadata().unwrap(), entry.file_name());
        let below = format!("{relative}/{}", name.to_str().unwrap());
        let own = match meta.is_dir() {
            true => self::sums(&entry.path(), &below, sums),
            false => [0, meta.blocks() as i64 * 512, meta.size() as i64],
        };
        sum = [sum[0] + 1 + own[0], sum[1] + own[1], sum[2] + own[2]];
    }
    sums.insert(relative.to_owned(), sum);
    sum
}

#[test]
fn gains_are_the_difference_of_two_sums() {
    let scratch = changed();
    let at = scratch.path();
    run(at, &["scan", "--quiet", "-o", "a.parquet", "t"]).quiet();
    let (mut before, mut now) = (BTreeMap::new(), BTreeMap::new());
    sums(&at.join("t"), "t", &mut before);
    for line in
        ["cp -r t/e t/copy", "rm t/new/1*", "mv t/new t/newer", "truncate -s 1M t/kept", "ln t/here t/e/link"]
    {
        assert_eq!(shell(at, line).code, Some(0), "{line}");
    }
    // Space is allocated later on some file systems.
    assert_eq!(shell(at, "sync -f t").code, Some(0));
    sums(&at.join("t"), "t", &mut now);
    run(at, &["scan", "--quiet", "-o", "b.parquet", "t"]).quiet();
    for (index, by) in ["entries", "allocated", "apparent"].into_iter().enumerate() {
        let option = format!("--gains={by}");
        let lines = run(at, &["changes", "a.parquet", "b.parquet", &option, "--json"]).lines();
        let found: Vec<(String, [i64; 3])> = lines
            .iter()
            .map(|line| {
                let line: Value = serde_json::from_slice(line).unwrap();
                let path = Path::new(line["path"].as_str().unwrap()).strip_prefix(at).unwrap().to_owned();
                let figure = |key: &str| line[key].as_i64().unwrap();
                (
                    path.to_str().unwrap().to_owned(),
                    [figure("entries"), figure("allocated"), figure("apparent")],
                )
            })
            .collect();
        let zero = [0; 3];
        let difference = |path: &String| {
            let (old, new) = (before.get(path).unwrap_or(&zero), now.get(path).unwrap_or(&zero));
            [new[0] - old[0], new[1] - old[1], new[2] - old[2]]
        };
        let all: BTreeMap<String, [i64; 3]> =
            before.keys().chain(now.keys()).map(|path| (path.clone(), difference(path))).collect();
        let gained: BTreeMap<_, _> = all.into_iter().filter(|(_, sum)| sum[index] > 0).collect();
        assert_eq!(found.iter().cloned().collect::<BTreeMap<_, _>>(), gained, "{by}");
        assert!(found.is_sorted_by_key(|(_, sum)| -sum[index]) && found.len() > 1, "{found:?}");
    }
    let table = text(&run(at, &["changes", "a.parquet", "b.parquet", "--gains", "-n", "2"]).quiet());
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].ends_with("size  directory") && lines.len() == 4 && lines[1].contains('+'), "{table}");
    run(at, &["changes", "a.parquet", "-n", "2"]).complains(2, &["--gains"]);
}

#[test]
fn directories_that_gained_are_all_listed_or_counted() {
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("t")).unwrap();
    run(at, &["scan", "--quiet", "-o", "a.parquet", "t"]).quiet();
    for number in 0..1100 {
        fs::create_dir(at.join(format!("t/{number}"))).unwrap();
        fs::write(at.join(format!("t/{number}/file")), "").unwrap();
    }
    let changes =
        |options: &[&str]| text(&run(at, &[&["changes", "a.parquet", "--gains"], options].concat()).out);
    // The tree, and each of its directories.
    assert_eq!(changes(&["--json"]).lines().count(), 1101);
    assert_eq!(changes(&["--json", "-n", "3"]).lines().count(), 3);
    let table = |options: &[&str]| changes(options).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    for (options, listed, more) in [(&[][..], 10, 1091), (&["-n", "3"], 3, 1098), (&["-n", "1100"], 1100, 1)]
    {
        let table = table(options);
        let unit = if more == 1 { "directory" } else { "directories" };
        assert_eq!(table.len(), listed + 1);
        assert_eq!(table[listed], format!("... {more} more {unit} with a gain (-n N lists more)"));
    }
    assert_eq!(table(&["-n", "1101"]).len(), 1101);
}

/// Both inventories are read as streams: unchanged rows are not kept.
#[test]
fn the_memory_for_a_comparison_depends_on_the_changes() {
    require!(have("python3"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let tree = at.join("t");
    run(at, &["make", "--quiet", "t", "--entries", "200k", "--layout", "digest:2"]).quiet();
    run(at, &["scan", "--quiet", "-o", "a.parquet", "t"]).quiet();
    fs::remove_file(fs::read_dir(tree.join("a7")).unwrap().next().unwrap().unwrap().path()).unwrap();
    run(at, &["scan", "--quiet", "-o", "b.parquet", "t"]).quiet();
    let peak_bytes = peak_of(at, &["changes", "-j1", "a.parquet", "b.parquet", "--gains"], 0);
    println!("two inventories of 200 000 entries: peak {} MiB", peak_bytes >> 20);
    assert!(peak_bytes < 100 << 20, "{peak_bytes}");
}

/// A list for a backup, made in a release directory that was replaced, would remove everything.
#[test]
fn a_tree_that_was_removed_is_an_error_and_not_a_tree_without_entries() {
    for scratch in [scratch(), scratch_in_memory()] {
        let at = scratch.path();
        for options in [
            "",
            "-q",
            "--paths",
            "--gains",
            "--only removed",
            "--any-root",
            "-j1",
            "--list-all",
            "--update",
            "--verify",
        ] {
            fs::create_dir(at.join("d")).unwrap();
            fs::write(at.join("d/f"), "x").unwrap();
            run(at, &["scan", "--quiet", "-o", "d.parquet", "d"]).quiet();
            let before = fs::read(at.join("d.parquet")).unwrap();
            let ran = shell(at, &format!("cd d && rm -r ../d && exec $M changes {options} ../d.parquet ."));
            // On tmpfs, a line before it names the changes that cannot be detected there.
            assert_eq!(ran.code, Some(3), "{options}: {ran:?}");
            assert!(ran.err.ends_with(" '.': No such file or directory\n"), "{ran:?}");
            assert_eq!(ran.out, b"", "{options}");
            assert_eq!(fs::read(at.join("d.parquet")).unwrap(), before, "{options}");
        }
    }
}

/// Each line names a pipe `p` whose other end no process opens; none may wait for it.
#[test]
fn named_pipes_without_another_end_are_refused_at_once() {
    let scratch = changed();
    let at = scratch.path();
    let made = "mkfifo p p.parquet p.prom q.toml && mkdir parts records kit pages && mkfifo parts/1.parquet records/a.jsonl \
                kit/README.md pages/megadir.1";
    shell(at, made).quiet();
    let (no_file, no_reader, no_writer) =
        ("a named pipe (expected a file)", "no program reads", "no program writes");
    for (words, code, why) in [
        ("changes p", 2, no_file),
        ("changes --update p", 2, no_file),
        ("changes parts", 2, no_file),
        ("changes a.parquet p", 3, "expected a directory"),
        ("usage p.parquet", 3, "expected a directory"),
        ("scan -q -o p t", 2, no_reader),
        ("scan -q --csv -o p t", 2, no_reader),
        ("usage --prometheus p.prom t", 2, no_reader),
        ("remove --yes --log p t/new", 2, no_reader),
        ("bench report p", 2, no_writer),
        ("bench compare p p", 2, no_writer),
        ("bench compare records records", 2, no_writer),
        ("bench run ./q.toml", 2, no_writer),
        ("bench run --resume p", 2, no_file),
        ("bench run all --quick --output kit", 3, "not from an earlier run"),
        ("generate man -o pages", 2, no_reader),
    ] {
        // 124 if the time has passed.
        let ran = shell(at, &format!("exec timeout 20 $M {words}"));
        ran.complains(code, &[why]);
        assert_eq!(ran.out, b"", "{words}");
    }
    assert!(at.join("t/new/1.log").exists(), "nothing is removed without its log");
}

#[test]
fn named_pipes_with_another_end_are_read_and_written() {
    let scratch = changed();
    let at = scratch.path();
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../records/2026-11-23-usage-tree/record.jsonl");
    fs::copy(record, at.join("r.jsonl")).unwrap();
    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../megadir-bench/studies/listing.toml");
    fs::copy(study, at.join("s.toml")).unwrap();
    shell(at, "mkfifo p q.toml").quiet();
    for line in [
        // The other end is opened before, and after, the program.
        "cat p > got & sleep 0.2; $M scan -q --csv -o p t && wait && cmp got <($M scan -q --csv t)",
        "(sleep 0.2; cat p > got) & $M scan -q --csv -o p t && wait && cmp got <($M scan -q --csv t)",
        "$M scan -q -o p t & cat p > got && wait && $M changes -q got",
        "$M scan -q -o /dev/stdout t | cat > got && $M changes -q got",
        "$M scan -q -o /dev/null t",
        "$M scan -q --csv -o >(cat > got) t && sleep 1 && cmp got <($M scan -q --csv t)",
        "cmp <($M bench report <(cat r.jsonl)) <($M bench report r.jsonl)",
        "cmp <($M bench report <(gzip -c r.jsonl)) <($M bench report r.jsonl)",
        "(sleep 0.2; cat r.jsonl > p) & $M bench report p > got && cmp got <($M bench report r.jsonl)",
        "cat s.toml > q.toml & $M bench run ./q.toml --quick --dry-run > got && test -s got",
        "cat p > got & $M remove -q --yes --log p t/new && wait && test $(wc -l < got) = 31",
    ] {
        let ran = shell(at, &format!("set -o pipefail; {line}"));
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{line}");
    }
}
