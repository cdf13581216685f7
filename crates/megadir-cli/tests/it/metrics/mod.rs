//! Metrics for Prometheus: an independent reader takes them, and a kill leaves the old or the new file.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use megadir_testkit::killed::{CHANGING_CALLS, before_each_call};
use megadir_testkit::require;
use serde_json::Value;

use crate::support::{fill, finish, have, megadir, program, run, scratch, text};

/// One of each kind of path that needs care in a label.
const NAMES: [&[u8]; 5] = [b"plain", b"quote\"back\\slash", b"line\nfeed", b"bad\xff", b"bad\\xff"];

fn tree(at: &Path) {
    for (count, name) in NAMES.into_iter().enumerate() {
        let directory = at.join("t").join(OsStr::from_bytes(name));
        std::fs::create_dir_all(&directory).unwrap();
        (0..=count).for_each(|file| std::fs::write(directory.join(file.to_string()), "text").unwrap());
    }
}

/// Commands that write metrics, with other contents in each run.
const WRITERS: [&[&str]; 3] = [
    &["usage", "t", "--prometheus", "m.prom"],
    &["limits", "t", ".", "--quiet", "--warn-at", "100%", "--prometheus", "m.prom"],
    &["list", "--estimate", "t", ".", "--prometheus", "m.prom"],
];

/// The samples of files, by the checker and by promtool if there is one.
#[track_caller]
fn samples(at: &Path, files: &[&str]) -> Vec<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/metrics/checker.py");
    let ran = finish(Command::new("python3").arg(script).args(files).current_dir(at));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    if have("promtool").is_ok() {
        for file in files {
            let input = std::fs::File::open(at.join(file)).unwrap();
            let mut promtool = Command::new("promtool");
            let ran = promtool.args(["check", "metrics"]).stdin(Stdio::from(input)).output().unwrap();
            assert!(ran.status.success(), "{file}: {ran:?}");
        }
    }
    serde_json::from_slice::<Vec<Value>>(&ran.out).unwrap()
}

/// Value of the only sample with a name and these labels, among others.
#[track_caller]
fn value(samples: &[Value], name: &str, labels: &[(&str, &str)]) -> f64 {
    let is = |sample: &&Value| {
        sample["name"] == name && labels.iter().all(|(label, value)| sample["labels"][*label] == **value)
    };
    let found: Vec<&Value> = samples.iter().filter(is).collect();
    assert_eq!(found.len(), 1, "{name} {labels:?}: {found:?}");
    found[0]["value"].as_f64().unwrap()
}

#[test]
fn metrics_match_json_and_distinguish_paths_of_any_bytes() {
    require!(have("python3"));
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    let ran = run(at, &["usage", "t", "--json", "--prometheus", "usage.prom"]);
    let json: Value = serde_json::from_slice(&ran.quiet()).unwrap();
    let found = samples(at, &["usage.prom"]);
    for (key, name) in [
        ("entries", "megadir_usage_tree_entries"),
        ("inodes", "megadir_usage_tree_inodes"),
        ("allocated", "megadir_usage_tree_allocated_bytes"),
        ("apparent", "megadir_usage_tree_apparent_bytes"),
        ("directory_entries", "megadir_usage_tree_directories"),
    ] {
        assert_eq!(value(&found, name, &[("tree", "t")]), json[key].as_f64().unwrap(), "{name}");
    }
    let of = |labels: &[(&str, &str)]| value(&found, "megadir_usage_directory_entries", labels);
    assert_eq!(of(&[("directory", "plain")]), 1.0);
    assert_eq!(of(&[("directory", "quote\"back\\slash")]), 2.0);
    assert_eq!(of(&[("directory", "line\nfeed")]), 3.0);
    assert_eq!(of(&[("directory", "bad\\xff"), ("directory_hex", "626164ff")]), 4.0);
    let like = found.iter().filter(|sample| {
        sample["name"] == "megadir_usage_directory_entries" && sample["labels"]["directory"] == "bad\\xff"
    });
    assert_eq!(like.count(), 2);
    assert_eq!(value(&found, "megadir_usage_complete", &[]), 1.0);

    let ran = run(at, &["limits", "t", "--json", "--prometheus", "limits.prom"]);
    let json: Value = serde_json::from_slice(&ran.quiet()).unwrap();
    let found = samples(at, &["limits.prom"]);
    let full = json["entries_until_full"]["likely"].as_f64().unwrap();
    assert!((value(&found, "megadir_limits_entries_until_full", &[]) / full - 1.0).abs() < 0.05);
    assert_eq!(value(&found, "megadir_limits_entries", &[]), 5.0);
    for limit in json["limits"].as_array().unwrap() {
        let name = limit["limit"].as_str().unwrap();
        let used = value(&found, "megadir_limits_used_ratio", &[("limit", name)]);
        assert!((used - limit["used"].as_f64().unwrap()).abs() < 0.05, "{name}");
    }

    run(at, &["list", "--estimate", "t", "--prometheus", "list.prom"]).quiet();
    let found = samples(at, &["list.prom"]);
    assert_eq!(value(&found, "megadir_list_estimated_entries", &[("directory", "t")]), 5.0);
    samples(at, &["usage.prom", "limits.prom", "list.prom"]);
}

#[test]
fn an_inventory_and_conditions_are_named_in_the_labels() {
    require!(have("python3"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/a.tmp", "t/b", "t/d/", "t/d/c.tmp"]);
    run(at, &["scan", "--quiet", "t", "-o", "i.parquet"]).quiet();
    for source in ["t", "i.parquet"] {
        let arguments = ["usage", source, "--match", "*.tmp", "--older-than", "0s", "--prometheus", "m.prom"];
        assert_eq!(run(at, &arguments).code, Some(0));
        let found = samples(at, &["m.prom"]);
        let conditions = ("conditions", "--match=*.tmp --older-than=0s");
        assert!(value(&found, "megadir_usage_tree_entries", &[conditions]) <= 2.0, "{found:?}");
        assert_eq!(value(&found, "megadir_usage_complete", &[conditions]), 1.0);
    }
}

#[test]
fn a_warning_is_in_the_exit_code_and_in_the_file() {
    require!(have("python3"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/a"]);
    for (warn_at, code, warns) in [("0.0000001%", 10, 1.0), ("100%", 1, 0.0)] {
        let words = ["limits", "t", "gone", "--quiet", "--warn-at", warn_at, "--prometheus", "m.prom"];
        assert_eq!(run(at, &words).code, Some(code));
        let found = samples(at, &["m.prom"]);
        assert_eq!(value(&found, "megadir_limits_warning", &[("directory", "t")]), warns);
        assert_eq!(value(&found, "megadir_limits_success", &[("directory", "gone")]), 0.0);
    }
    run(at, &["usage", "t", "gone", "--prometheus", "m.prom"]).complains(1, &["gone"]);
    let found = samples(at, &["m.prom"]);
    assert_eq!(value(&found, "megadir_usage_complete", &[("tree", "gone")]), 0.0);
    assert_eq!(value(&found, "megadir_usage_complete", &[("tree", "t")]), 1.0);
    let of_missing = found.iter().filter(|sample| sample["labels"]["tree"] == "gone");
    assert_eq!(of_missing.count(), 1, "{found:?}");
    run(at, &["usage", "gone", "lost", "--prometheus", "m.prom"]);
    let found = samples(at, &["m.prom"]);
    assert_eq!(value(&found, "megadir_usage_complete", &[("tree", "lost")]), 0.0);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(run(at, &["usage", "gone", "--prometheus", "m.prom", "--html", "page.html"]).code, Some(3));
    assert!(!at.join("page.html").exists());
}

#[test]
fn the_time_of_a_tree_is_the_end_of_reading_it() {
    require!(have("python3"));
    require!(have("strace"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/a"]);
    let mut slow = Command::new("strace");
    slow.args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=getdents64:delay_enter=1500000"]);
    slow.arg(program()).args(["usage", "t", "--prometheus", "m.prom"]).current_dir(at);
    let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    finish(&mut slow).quiet();
    let found = samples(at, &["m.prom"]);
    let took_s = value(&found, "megadir_usage_read_duration_seconds", &[]);
    let read_s = value(&found, "megadir_usage_read_timestamp_seconds", &[]);
    assert!(took_s >= 1.5, "{took_s}");
    assert!(read_s >= (started.as_secs_f64() + took_s).floor(), "{read_s}, {started:?} and {took_s}");
}

#[test]
fn a_file_that_cannot_be_written_takes_neither_the_report_nor_the_other_file() {
    require!(have("strace"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/a"]);
    for words in [&["usage", "t", "--html", "page.html"][..], &["list", "--estimate", "t"]] {
        let mut failing = Command::new("strace");
        // A page that cannot be renamed is copied.
        failing.args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=?rename,?renameat,renameat2:error=EIO"]);
        failing.arg(program()).args(words).args(["--prometheus", "m.prom"]).current_dir(at);
        let ran = finish(&mut failing);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("m.prom") && text(&ran.out).contains('1'), "{ran:?}");
        assert!(!at.join("m.prom").exists());
    }
    std::fs::remove_file(at.join("page.html")).unwrap();
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let words = ["usage", "t", "--html", "page.html", "--prometheus", "m.prom"];
    let ended = megadir(at, &words).stdout(full()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(ended.code(), Some(1));
    assert!(at.join("page.html").exists() && at.join("m.prom").exists());
    let words = ["limits", "t", ".", "--prometheus", "limits.prom"];
    let ended = megadir(at, &words).stdout(full()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(ended.code(), Some(1));
    let found = samples(at, &["limits.prom"]);
    for directory in ["t", "."] {
        assert_eq!(value(&found, "megadir_limits_success", &[("directory", directory)]), 1.0);
    }
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_file_or_the_new_one() {
    require!(have("strace"));
    require!(have("python3"));
    for arguments in WRITERS {
        let scratch = scratch();
        let at = scratch.path();
        fill(at, &["t/", "t/a"]);
        run(at, arguments);
        let old = std::fs::read(at.join("m.prom")).unwrap();
        // The old file has nothing of the last of these directories.
        let now = [arguments, &["t/../t"]].concat();
        let (mut kept, mut new) = (0, 0);
        let command = || {
            std::fs::write(at.join("m.prom"), &old).unwrap();
            match arguments[0] {
                // Its trees must not contain each other.
                "usage" => {
                    fill(at, &["u/"]);
                    megadir(at, &[arguments, &["u"]].concat())
                }
                _ => megadir(at, &now),
            }
        };
        let look = |call: &str| {
            let found = std::fs::read(at.join("m.prom")).unwrap_or_else(|error| panic!("{call}: {error}"));
            match found == old {
                true => kept += 1,
                false => {
                    let found = samples(at, &["m.prom"]);
                    let labels: BTreeSet<String> =
                        found.iter().map(|sample| sample["labels"].to_string()).collect();
                    assert!(labels.iter().any(|of| of.contains("t/../t") || of.contains("\"u\"")), "{call}");
                    new += 1;
                }
            }
            let _ = std::fs::remove_dir(at.join("u"));
        };
        before_each_call(CHANGING_CALLS, 1, command, look);
        assert!(kept >= 3 && new >= 1, "{arguments:?}: {kept} times the old file, {new} times the new one");
        let names: BTreeSet<_> =
            std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| ["m.prom", "t", "u"].iter().any(|known| name == known)), "{names:?}");
    }
}

#[test]
fn other_files_and_names_that_are_not_read_are_refused_before_the_work() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "empty.prom"]);
    std::fs::write(at.join("other.prom"), "# HELP up Up.\n# TYPE up gauge\nup 1\n").unwrap();
    for (arguments, code, words) in [
        (&["usage", "gone", "--prometheus", "m.txt"][..], 2, &["--prometheus 'm.txt'", ".prom"][..]),
        (
            &["usage", "gone", "--prometheus", "other.prom"],
            2,
            &["other.prom", "megadir's metrics", "would be lost"],
        ),
        (&["limits", "gone", "--prometheus", "empty.prom"], 2, &["empty.prom", "would be lost"]),
        (&["list", "t", "--prometheus", "m.prom"], 2, &["--prometheus needs --estimate"]),
        (&["list", "--estimate", "gone", "--prometheus", "no/m.prom"], 3, &["no/m.prom"]),
    ] {
        run(at, arguments).complains(code, words);
        assert!(!at.join("m.prom").exists());
    }
    assert!(text(&std::fs::read(at.join("other.prom")).unwrap()).ends_with("up 1\n"));
}

/// Fenced blocks of docs/watching.md in a language.
fn blocks(language: &str) -> Vec<String> {
    let page = include_str!("../../../../../docs/watching.md");
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("megadir_")).map(str::to_owned).collect()
}

#[test]
fn the_dashboard_the_rules_and_the_page_use_metrics_that_exist() {
    require!(have("python3"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/d/", "t/d/a"]);
    run(at, &["usage", "t", "--prometheus", "usage.prom"]);
    run(at, &["limits", "t", "--warn-at", "100%", "--prometheus", "limits.prom"]);
    run(at, &["list", "--estimate", "t", "--prometheus", "list.prom"]);
    let known: BTreeSet<String> = samples(at, &["usage.prom", "limits.prom", "list.prom"])
        .iter()
        .map(|sample| sample["name"].as_str().unwrap().to_owned())
        .collect();
    let page = metrics_in(include_str!("../../../../../docs/watching.md"));
    assert!(page.is_subset(&known), "not written: {:?}", page.difference(&known));
    assert!(known.is_subset(&page), "not described: {:?}", known.difference(&page));
    let dashboards = blocks("json");
    assert_eq!(dashboards.len(), 1);
    let dashboard: Value = serde_json::from_str(&dashboards[0]).unwrap();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            assert!(!metrics_in(expression).is_empty(), "{expression}");
        }
    }
    let rules = blocks("yaml");
    assert!(rules.len() == 1 && metrics_in(&rules[0]).len() >= 3, "{rules:?}");
    if have("promtool").is_ok() {
        std::fs::write(at.join("rules.yaml"), &rules[0]).unwrap();
        let ran = finish(Command::new("promtool").args(["check", "rules", "rules.yaml"]).current_dir(at));
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}

#[test]
fn the_units_name_options_that_exist() {
    let units = blocks("ini");
    assert_eq!(units.len(), 2, "a service and a timer");
    let lines = units[0].lines().filter_map(|line| line.strip_prefix("ExecStart="));
    let scratch = scratch();
    fill(scratch.path(), &["spool/"]);
    let mut count = 0;
    for line in lines {
        let line = line.trim_start_matches('-').replace("/var/lib/node_exporter/", "").replace("/srv/", "");
        let words: Vec<&str> = line.split(' ').collect();
        assert!(words[0].ends_with("/megadir"), "{line}");
        let ran = run(scratch.path(), &words[1..]);
        // The test machine's own file system may be fuller than 80 %.
        assert!(matches!(ran.code, Some(0 | 10)), "{line}: {ran:?}");
        count += 1;
    }
    assert_eq!(count, 3);
    assert!(["usage.prom", "limits.prom", "list.prom"].iter().all(|file| scratch.path().join(file).exists()));
}
