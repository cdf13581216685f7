//! Times of stages and tests, kept for each machine in `megadir-xtask/times.jsonl` of the user's state folder (`$XDG_STATE_HOME`, else
//! `~/.local/state`), because clones come and go. One JSON line a run.
//!
//! A stage that has become slower is named at the end of the run, while it is still known which change
//! caused it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::files;

/// A stage is named if it took this much longer than in the last run, and at least [`GROWTH_MIN_S`].
const GROWTH: f64 = 1.2;
const GROWTH_MIN_S: f64 = 5.0;
/// Lines printed, and runs in the table.
const SLOWEST: usize = 10;
const SHOWN_RUNS: usize = 12;

/// Times of one run in seconds.
///
/// A line of the file. Fields are only added, and older lines are skipped if they cannot be read, since the
/// file outlives every clone.
#[derive(Default, Clone, Debug, PartialEq)]
pub(crate) struct Times {
    pub(crate) commit: String,
    pub(crate) date: String,
    /// `short`, `full`, or the names of the chosen stages: only runs of the same kind are compared.
    pub(crate) tier: String,
    pub(crate) total_s: f64,
    pub(crate) stages_s: BTreeMap<String, f64>,
    pub(crate) tests_s: BTreeMap<String, f64>,
}

impl Times {
    fn to_json(&self) -> Value {
        let rounded = |times: &BTreeMap<String, f64>| -> BTreeMap<String, f64> {
            times.iter().map(|(name, time_s)| (name.clone(), (time_s * 10.0).round() / 10.0)).collect()
        };
        // Thousands of tests take milliseconds each.
        let mut tests_s = rounded(&self.tests_s);
        tests_s.retain(|_, time_s| *time_s >= 1.0);
        json!({ "commit": self.commit, "date": self.date, "tier": self.tier, "total_s": self.total_s.round(),
            "stages_s": rounded(&self.stages_s), "tests_s": tests_s })
    }

    fn from_json(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let times = |key: &str| -> BTreeMap<String, f64> {
            let members = value[key].as_object().into_iter().flatten();
            members.filter_map(|(name, time_s)| Some((name.clone(), time_s.as_f64()?))).collect()
        };
        Some(Self {
            commit: text("commit"),
            date: text("date"),
            tier: text("tier"),
            total_s: value["total_s"].as_f64()?,
            // A run without its total is of no use; all other fields may be missing.
            stages_s: times("stages_s"),
            tests_s: times("tests_s"),
        })
    }

    /// The slowest tests, slowest first, a line each.
    pub(crate) fn slowest(&self) -> Vec<String> {
        let mut tests: Vec<_> = self.tests_s.iter().collect();
        tests.sort_by(|a, b| b.1.total_cmp(a.1));
        tests.iter().take(SLOWEST).map(|(name, time_s)| format!("{time_s:>8.1} s  {name}")).collect()
    }

    /// Stages that took more than 20 % longer than in `last`, a line each.
    pub(crate) fn grown(&self, last: &Self) -> Vec<String> {
        let stages =
            self.stages_s.iter().filter_map(|(name, now_s)| Some((name, *now_s, *last.stages_s.get(name)?)));
        let grown =
            stages.filter(|(_, now_s, then_s)| *now_s > then_s * GROWTH && now_s - then_s >= GROWTH_MIN_S);
        grown
            .map(|(name, now_s, then_s)| {
                let percent = (now_s / then_s - 1.0) * 100.0;
                format!(
                    "{name} took {now_s:.1} s, {then_s:.1} s in the last run ({}): {percent:.0} % longer",
                    last.commit
                )
            })
            .collect()
    }
}

fn path() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
    Some(state.filter(|path| path.is_absolute()).or_else(home)?.join("megadir-xtask/times.jsonl"))
}

/// All runs of this machine, oldest first.
fn all() -> Vec<Times> {
    let text = path().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    text.lines().filter_map(Times::from_json).collect()
}

pub(crate) fn last(tier: &str) -> Option<Times> {
    // The last run of the same tier, whatever its commit.
    all().into_iter().rfind(|times| times.tier == tier)
}

/// Appends one line.
pub(crate) fn keep(times: &Times) -> Result<PathBuf, String> {
    let path = path().ok_or("neither XDG_STATE_HOME nor HOME is set: the times are not kept")?;
    files::create_folder(path.parent().unwrap_or(&path))?;
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    let line = format!("{}\n", times.to_json());
    opened.and_then(|mut file| file.write_all(line.as_bytes())).map_err(files::cannot("write", &path))?;
    Ok(path)
}

/// A table: a column a run, newest last, a row a stage.
pub(crate) fn show() -> String {
    let runs = all();
    if runs.is_empty() {
        return "no run of `cargo xtask ci` is on record on this machine".to_owned();
    }
    let shown = &runs[runs.len().saturating_sub(SHOWN_RUNS)..];
    let mut names: Vec<&String> = shown.iter().flat_map(|run| run.stages_s.keys()).collect();
    names.sort();
    names.dedup();
    let mut text = format!("{:<14}", "seconds");
    let cells = |cell: &dyn Fn(&Times) -> String| -> String {
        shown.iter().map(|run| format!("{:>11}", cell(run))).collect::<String>() + "\n"
    };
    text += &cells(&|run| run.commit.chars().take(8).collect());
    text += &format!("{:<14}{}", "", cells(&|run| run.date.chars().take(10).collect()));
    text += &format!("{:<14}{}", "tier", cells(&|run| run.tier.chars().take(10).collect()));
    for name in names {
        let row =
            cells(&|run| run.stages_s.get(name).map_or("-".to_owned(), |time_s| format!("{time_s:.1}")));
        text += &format!("{name:<14}{row}");
    }
    text + &format!("{:<14}{}", "total", cells(&|run| format!("{:.1}", run.total_s)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stages: &[(&str, f64)], tests: &[(&str, f64)]) -> Times {
        let map = |pairs: &[(&str, f64)]| {
            pairs.iter().map(|(name, time_s)| ((*name).to_owned(), *time_s)).collect()
        };
        Times {
            commit: "c0ffee".to_owned(),
            total_s: 9.0,
            stages_s: map(stages),
            tests_s: map(tests),
            ..Times::default()
        }
    }

    #[test]
    fn a_stage_that_grew_by_more_than_a_fifth_is_named() {
        let last = run(&[("test", 100.0), ("docs", 10.0), ("tidy", 1.0)], &[]);
        let grown = run(&[("test", 121.0), ("docs", 11.9), ("tidy", 3.0), ("new", 50.0)], &[]).grown(&last);
        assert_eq!(grown, ["test took 121.0 s, 100.0 s in the last run (c0ffee): 21 % longer"]);
    }

    #[test]
    fn the_slowest_tests_come_first() {
        let slowest = run(&[], &[("a", 1.0), ("b", 30.0)]).slowest();
        assert_eq!(slowest, ["    30.0 s  b", "     1.0 s  a"]);
    }

    #[test]
    fn a_kept_line_is_read_back_without_tests_of_milliseconds() {
        let times = run(&[("test", 1.5)], &[("quick", 0.01), ("slow", 2.5)]);
        let back = Times::from_json(&times.to_json().to_string()).unwrap();
        assert_eq!(back, run(&[("test", 1.5)], &[("slow", 2.5)]));
        assert_eq!(Times::from_json("{"), None);
    }
}
