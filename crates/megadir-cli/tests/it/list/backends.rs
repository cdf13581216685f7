//! `megadir backends`: available and unavailable backends of a directory, and the chosen backend.

use megadir::{BACKENDS, STAT_BACKENDS};
use megadir_testkit::mount::{BTRFS, EXT4, Mount, TMPFS, XFS};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Names};
use serde_json::Value;

use crate::support::{fill, run, scratch};

/// Lines about backends or about stat backends.
fn lines(directory: &std::path::Path, of: &str, ways: &str) -> Vec<Value> {
    let lines = run(directory, &["backends", "--json", of]).lines();
    let lines = lines.iter().map(|line| serde_json::from_slice(line).unwrap());
    lines.filter(|line: &Value| line.get(ways).is_some()).collect()
}

#[test]
fn every_backend_is_listed_with_its_description() {
    let scratch = scratch();
    let text = String::from_utf8(run(scratch.path(), &["backends"]).quiet()).unwrap();
    for backend in BACKENDS {
        assert!(text.contains(backend.name()) && text.contains(backend.about()), "{text}");
    }
    assert!(
        text.lines().any(|line| line.starts_with("'megadir list' reads '.' with getdents on ")),
        "{text}"
    );
    for stat_backend in STAT_BACKENDS {
        assert!(text.contains(stat_backend.name()) && text.contains(stat_backend.about()), "{text}");
    }
    assert!(
        text.lines().last().unwrap().starts_with("'megadir list --long' queries attributes with statx "),
        "{text}"
    );
    let (backends, stat_backends) =
        (lines(scratch.path(), ".", "backend"), lines(scratch.path(), ".", "stat_backend"));
    let names = |lines: &[Value], key: &str| -> Vec<String> {
        lines.iter().map(|line| line[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&backends, "backend"), BACKENDS.iter().map(|way| way.name()).collect::<Vec<_>>());
    assert_eq!(
        names(&stat_backends, "stat_backend"),
        STAT_BACKENDS.iter().map(|way| way.name()).collect::<Vec<_>>()
    );
    for line in backends.iter().chain(&stat_backends) {
        assert_eq!(line["available"] == true, line["reason"].is_null(), "{line}");
        assert_eq!(line.as_object().unwrap().len(), 6, "{line}");
    }
}

#[test]
fn available_backends_work_and_others_are_refused_with_the_listed_reason() {
    for recipe in [&EXT4, &XFS, &BTRFS, &TMPFS] {
        let mount = require!(Mount::make(recipe));
        fill(&mount.path(), &["empty/", "small/", "small/a"]);
        Flat { entries: 50_000, names: Names::Plain, kinds: Kinds::Files, seed: 0 }
            .build(&mount.path().join("large"));
        for directory in ["empty", "small", "large"] {
            let mut picked = Vec::new();
            for line in lines(&mount.path(), directory, "backend") {
                let name = line["backend"].as_str().unwrap();
                let ran = run(&mount.path(), &["list", "--backend", name, "--count", directory]);
                match line["reason"].as_str() {
                    None => drop(ran.quiet()),
                    Some(reason) => ran.complains(3, &[reason]),
                }
                if line["picked"] == true {
                    picked.push(name.to_owned());
                }
            }
            assert_eq!(picked.len(), 1, "{}: {directory}", recipe.name);
            for line in lines(&mount.path(), directory, "stat_backend") {
                let name = line["stat_backend"].as_str().unwrap();
                let ran =
                    run(&mount.path(), &["list", "--stat-backend", name, "--larger-than", "5", directory]);
                match line["reason"].as_str() {
                    None => drop(ran.quiet()),
                    Some(reason) => ran.complains(3, &[reason, "(omit --stat-backend or choose another)"]),
                }
                assert_eq!(line["picked"], name == "statx", "{}: {directory}", recipe.name);
            }
            let explained = run(&mount.path(), &["list", "--explain", "--count", directory]).err;
            let expected = format!("megadir: '{directory}': {} on {}", picked[0], recipe.kind);
            assert!(explained.starts_with(&expected), "{explained}");
            if directory == "large"
                && recipe.name != "tmpfs"
                && std::thread::available_parallelism().unwrap().get() > 1
            {
                let large = if recipe.name == "ext4" { "split" } else { picked[0].as_str() };
                assert_eq!(picked[0], large, "{explained}");
            }
        }
    }
}
