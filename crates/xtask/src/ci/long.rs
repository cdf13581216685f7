//! The last result of the long tier, stage by stage, in `.ci/long-tier.json` of the repository: written by `--full`, printed by every run.
//!
//! A row is a stage, its commit and date. The file is committed, so that a clone knows when its parts were
//! last tested as a whole.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::STAGES;
use crate::files;
use crate::process::Workspace;

/// Result of the last run of a stage in the long tier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) commit: String,
    pub(crate) date: String,
    /// `ok`, or the first line of the failure.
    pub(crate) outcome: String,
    pub(crate) elapsed_s: f64,
}

pub(crate) type Outcomes = BTreeMap<String, Outcome>;

fn path(workspace: &Workspace) -> PathBuf {
    workspace.root.join(".ci/long-tier.json")
}

/// Empty if there is no file yet.
pub(crate) fn read(workspace: &Workspace) -> Result<Outcomes, String> {
    let path = path(workspace);
    if !path.exists() {
        return Ok(Outcomes::new());
    }
    parse(&files::read(&path)?).ok_or_else(|| format!("{} is not what --full writes", path.display()))
}

fn parse(text: &str) -> Option<Outcomes> {
    let value: Value = serde_json::from_str(text).ok()?;
    let outcome = |(name, row): (&String, &Value)| {
        let text = |key: &str| row[key].as_str().map(str::to_owned);
        let outcome = Outcome {
            commit: text("commit")?,
            date: text("date")?,
            outcome: text("outcome")?,
            elapsed_s: row["elapsed_s"].as_f64()?,
        };
        Some((name.clone(), outcome))
    };
    value.as_object()?.iter().map(outcome).collect()
}

/// One row a line, in the order of the names, so that a change of a stage is a change of a line.
fn print(outcomes: &Outcomes) -> String {
    let rows: Vec<String> = outcomes
        .iter()
        .map(|(name, row)| {
            let row = json!({ "commit": row.commit, "date": row.date, "outcome": row.outcome,
                "elapsed_s": row.elapsed_s.round() });
            format!("  {}: {row}", Value::from(name.as_str()))
        })
        .collect();
    format!("{{\n{}\n}}\n", rows.join(",\n"))
}

/// Replaces the rows of the stages that ran, and keeps the others.
pub(crate) fn write(workspace: &Workspace, ran: Outcomes) -> Result<PathBuf, String> {
    // Stages that were not chosen keep their last result.
    let mut outcomes = read(workspace)?;
    outcomes.extend(ran);
    let path = path(workspace);
    files::write(&path, print(&outcomes))?;
    Ok(path)
}

/// Lines for the summary of the short tier: when which stage ran last, and which never did.
pub(crate) fn lines(outcomes: &Outcomes) -> Vec<String> {
    let mut lines: Vec<String> = outcomes
        .iter()
        .map(|(name, row)| {
            let commit: String = row.commit.chars().take(8).collect();
            format!("long tier: {name:<14}{commit:<9}{} {:>7.0} s  {}", row.date, row.elapsed_s, row.outcome)
        })
        .collect();
    let never: Vec<&str> =
        STAGES.iter().map(|stage| stage.name).filter(|name| !outcomes.contains_key(*name)).collect();
    if !never.is_empty() {
        lines.push(format!("long tier: never run: {}", never.join(", ")));
    }
    lines
}

/// Seconds that the stages took last, and the stages without a time.
pub(crate) fn expected<'a>(
    outcomes: &Outcomes,
    stages: impl Iterator<Item = &'a str>,
) -> (f64, Vec<&'a str>) {
    let (mut total_s, mut unknown) = (0.0, Vec::new());
    for name in stages {
        match outcomes.get(name) {
            Some(row) => total_s += row.elapsed_s,
            None => unknown.push(name),
        }
    }
    (total_s, unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes() -> Outcomes {
        let row = |outcome: &str| Outcome {
            commit: "c0ffee".to_owned(),
            date: "2026-11-28".to_owned(),
            outcome: outcome.to_owned(),
            elapsed_s: 60.0,
        };
        [("cross".to_owned(), row("ok")), ("wine".to_owned(), row("2 tests \"failed\""))].into()
    }

    #[test]
    fn a_written_file_is_read_back_unchanged() {
        assert_eq!(parse(&print(&outcomes())), Some(outcomes()));
        assert_eq!(parse("[]"), None);
        assert_eq!(parse(r#"{"wine": {"commit": "c0ffee"}}"#), None);
    }

    #[test]
    fn the_summary_names_stages_that_never_ran() {
        let lines = lines(&outcomes());
        assert!(lines[0].contains("cross") && lines[0].ends_with("ok"), "{lines:?}");
        assert!(lines.last().unwrap().contains("never run: packages, "), "{lines:?}");
    }

    #[test]
    fn the_last_run_determines_the_expected_time() {
        assert_eq!(expected(&outcomes(), ["cross", "wine", "fuzz"].into_iter()), (120.0, vec!["fuzz"]));
    }
}
