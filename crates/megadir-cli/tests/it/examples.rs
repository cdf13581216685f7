//! The examples at the end of every `--help` work as printed, in a directory that has the files they name.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::path::Path;
use std::process::{Command, Stdio};

use megadir_testkit::require;
use tempfile::TempDir;

use crate::support::{BRIEF_RUN, have, output_of, program, run, text};

/// Help of every command, with its words.
pub(crate) fn helps() -> Vec<(Vec<String>, String)> {
    let mut found: Vec<(Vec<String>, String)> = Vec::new();
    let mut waiting: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(words) = waiting.pop() {
        let arguments: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let help = text(&output_of(".", &arguments).stdout);
        let below = help.split("Commands:\n").nth(1).unwrap_or_default();
        let rows = below.lines().take_while(|line| !line.is_empty());
        let names = rows.filter(|row| row.starts_with("  ") && !row.starts_with("   "));
        for name in names.filter_map(|row| row.split_whitespace().next()).filter(|name| *name != "help") {
            waiting.push([&words[..], &[name.to_owned()]].concat());
        }
        found.push((words, help));
    }
    found
}

fn examples(help: &str) -> Vec<String> {
    let (_, end) = help.split_once("\nExamples:\n").expect("the help has examples");
    let lines = end.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    lines.map(|line| line.trim_start().to_owned()).collect()
}

/// Directory with the files that the examples name.
fn fixture(with_records: bool) -> TempDir {
    let directory = TempDir::new().unwrap();
    let at = directory.path();
    run(at, &["make", "spool", "--entries", "500", "--quiet"]).quiet();
    let layout = "per-directory:50";
    run(at, &["make", "project", "--entries", "200", "--layout", layout, "--quiet"]).quiet();
    std::fs::write(at.join("project/left.tmp"), "").unwrap();
    std::fs::write(at.join("project/notes.txt"), "a line\n").unwrap();
    run(at, &["pack", "create", "project", "packed", "--quiet"]).quiet();
    assert!(Command::new("cp").args(["-a", "project", "copy"]).current_dir(at).status().unwrap().success());
    // So that the lists of what the copy lacks are not empty.
    std::fs::remove_file(at.join("copy/notes.txt")).unwrap();
    run(at, &["scan", "project", "--output", "project.parquet", "--quiet"]).quiet();
    if !with_records {
        return directory;
    }
    for record in ["old.jsonl", "run.jsonl"] {
        let words = [&BRIEF_RUN[..], &["--output", record]].concat();
        assert_eq!(run(at, &words).code, Some(0), "{record}");
    }
    std::fs::copy(at.join("run.jsonl"), at.join("new.jsonl")).unwrap();
    directory
}

fn copy(fixture: &Path) -> TempDir {
    let directory = TempDir::new().unwrap();
    let copied = Command::new("cp").arg("-a").arg(fixture.join(".")).arg(directory.path()).status();
    assert!(copied.unwrap().success());
    directory
}

/// The example with the shortest warm-up, and with few rounds unless it says how many.
fn brief(line: &str) -> String {
    const MEASURES: [&str; 3] = ["bench run listing", "bench run lookup", "bench commands"];
    let Some(begin) = MEASURES.into_iter().find(|begin| line.contains(begin)) else { return line.to_owned() };
    let rounds = if line.contains("--rounds") { "" } else { " --rounds 7" };
    line.replacen(begin, &format!("{begin} --warm-up 1{rounds}"), 1)
}

/// Runs the examples of the commands that `wanted` selects, those of one command after another in one directory.
fn run_examples(with_records: bool, wanted: impl Fn(&[String]) -> bool) -> usize {
    let fixture = fixture(with_records);
    let folder = program().parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut count = 0;
    for (words, help) in helps().into_iter().filter(|(words, _)| wanted(words)) {
        let directory = copy(fixture.path());
        let examples = examples(&help);
        assert_eq!(examples.len(), 3, "{words:?}: {examples:?}");
        for line in examples {
            let mut shell = Command::new("bash");
            shell
                .args(["-o", "pipefail", "-c", &brief(&line)])
                .current_dir(directory.path())
                .stdin(Stdio::null());
            let output = shell.env("PATH", format!("{}:{path}", folder.display())).output().unwrap();
            let code = output.status.code().unwrap_or(-1);
            // These answer by their exit code, and the machine may be busy or its disk full.
            let judges = line.contains("--fail-if") || line.contains("--warn-at");
            assert!(code == 0 || judges && [10, 11].contains(&code), "{line}: {output:?}");
            count += 1;
        }
    }
    count
}

#[test]
fn examples_of_measuring_commands_work() {
    let measures = |words: &[String]| words.first().is_some_and(|word| word == "bench");
    assert!(run_examples(true, measures) >= 3 * 8);
}

#[test]
fn all_other_examples_work() {
    require!(have("man"));
    let others = |words: &[String]| words.first().is_none_or(|word| word != "bench");
    assert!(run_examples(false, others) >= 3 * 10);
}
