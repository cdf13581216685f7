//! The whole matrix of questions, measured, compared with the full study of layouts; only with
//! `MEGADIR_FULL=1`, as it takes a quarter of an hour.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use megadir_testkit::mount::{BTRFS, EXT4, EXT4_1K, Mount, Recipe, TMPFS, XFS};
use megadir_testkit::require;
use serde_json::Value;

use super::measured::everything;
use crate::support::{run, run_as_nobody, scratch, unprivileged};

const RECIPES: [&Recipe; 5] = [&EXT4, &EXT4_1K, &XFS, &BTRFS, &TMPFS];
/// Time budget of each answer ...
const TIME: &str = "4s";
/// ... and the deadline of the process.
const TIME_MAX: Duration = Duration::from_secs(4);
/// Allowance for starting the program and reading its output on a loaded machine.
const GRACE: Duration = Duration::from_millis(500);

fn made(recipe: &Recipe) -> Result<Mount, String> {
    let mount = Mount::make(recipe)?;
    for (path, mode) in [(mount.path().parent().unwrap().to_owned(), 0o755), (mount.path(), 0o1777)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    Ok(mount)
}

#[test]
fn advice_ends_in_its_time_for_every_question_and_leaves_nothing() {
    if !require::full() {
        return;
    }
    let scratch = scratch();
    let copy = require!(unprivileged(&scratch));
    let mut text = String::new();
    for recipe in RECIPES {
        let mount = require!(made(recipe));
        for files in ["10k", "1M", "10M", "100M"] {
            for writers in ["1", "4"] {
                for churn in [false, true] {
                    for root in [true, false] {
                        text += &line_of(
                            recipe.name,
                            &mount.path(),
                            (files, writers, churn),
                            root.then_some(()).ok_or(&copy),
                        );
                    }
                }
            }
        }
    }
    println!("{text}");
}

/// Asks one question; returns a line about the answer.
fn line_of(
    name: &str,
    place: &Path,
    (files, writers, churn): (&str, &str, bool),
    who: Result<(), &std::path::PathBuf>,
) -> String {
    let before = everything(place, place);
    let mut arguments = vec!["advise", "--files", files, "--writers", writers, "--time", TIME, "--json"];
    arguments.extend(churn.then_some("--churn"));
    let begun = Instant::now();
    let ran = match who {
        Ok(()) => run(place, &arguments),
        Err(copy) => run_as_nobody(copy, place, &arguments),
    };
    let took = begun.elapsed();
    let seen: Value = serde_json::from_slice(&ran.quiet()).unwrap();
    let measured = &seen["measured"];
    let line = format!(
        "{name}\t{files}\t{writers}\t{churn}\t{}\t{:.1} s\t{}\t{}\t{} files, {} rounds\t{}\n",
        if who.is_ok() { "root" } else { "user" },
        took.as_secs_f64(),
        seen["layout"]["name"],
        seen["rule"],
        measured["files"],
        measured["rounds"],
        seen["not_measured"],
    );
    assert!(took <= TIME_MAX + GRACE, "{line}");
    assert_eq!(everything(place, place), before, "{line}");
    line
}

/// Result of a comparison, if it is decided and not negligible.
fn decided(verdict: &str, negligible: bool) -> Option<bool> {
    match verdict {
        "faster" if !negligible => Some(true),
        "slower" if !negligible => Some(false),
        _ => None,
    }
}

#[test]
fn full_layout_study_agrees_or_is_undecided() {
    if !require::full() {
        return;
    }
    for recipe in RECIPES {
        let mount = require!(made(recipe));
        let scratch = scratch();
        let place = mount.path();
        let record = scratch.path().join("record.jsonl");
        let out = run(
            scratch.path(),
            &["advise", place.to_str().unwrap(), "--files", "1M", "--time", "30s", "--json"],
        );
        let advice: Value = serde_json::from_slice(&out.quiet()).unwrap();
        assert!(advice["not_measured"].is_null(), "{}: {advice}", recipe.name);
        let contrasts = advice["measured"]["against_flat"].as_array().unwrap().clone();
        let mut layouts: Vec<String> =
            contrasts.iter().map(|contrast| contrast["layout"].as_str().unwrap().to_owned()).collect();
        layouts.dedup();
        let layouts = format!("flat,{}", layouts.join(","));
        let files = advice["measured"]["files"].to_string();
        let study = [
            "bench",
            "run",
            "layout",
            "--dir",
            place.to_str().unwrap(),
            "--entries",
            &files,
            "--rounds",
            "15",
        ];
        let more = ["--layout", &layouts, "--order", "random", "--output", record.to_str().unwrap()];
        let ran = run(scratch.path(), &[&study[..], &more[..]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let report =
            run(scratch.path(), &["bench", "report", "--format", "json", record.to_str().unwrap()]).quiet();
        let report: Value = serde_json::from_slice(&report).unwrap();
        let mut both = 0;
        for contrast in &contrasts {
            let ours = decided(contrast["verdict"].as_str().unwrap(), contrast["negligible"] == true);
            let group = if contrast["phase"] == "writing" { "write" } else { "read" };
            let label = format!("{}, directories made before", contrast["layout"].as_str().unwrap());
            let theirs = outcome(&report, group, &label);
            if let (Some(ours), Some(theirs)) = (ours, theirs) {
                both += 1;
                assert_eq!(ours, theirs, "{}: {group}, {label}: {contrast}", recipe.name);
            }
        }
        println!("{}: {both} of {} decided by both, and alike", recipe.name, contrasts.len());
    }
}

/// Result of the study for one layout.
fn outcome(report: &Value, group: &str, label: &str) -> Option<bool> {
    let groups = report["groups"].as_array().unwrap();
    let group = groups.iter().find(|found| found["name"] == group).unwrap();
    let rows = group["reading"]["rows"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["pair"]["what"] == label)
        .unwrap_or_else(|| panic!("no {label}: {rows:?}"));
    let verdict = &row["outcome"]["verdict"];
    decided(verdict["says"].as_str()?, verdict["negligible"] == true)
}
