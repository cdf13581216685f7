//! Runs all tests, and collects the reasons why tests could not run: one line each in `MEGADIR_NOT_RUN_LOG`,
//! written by one `write` with `O_APPEND`. "not run" is a failure if `MEGADIR_REQUIRE_ALL=1`, "unavailable"
//! never is. The result lines of the suites move to the end, so that the sum over `test result:` lines is
//! right.

use super::stage::{Context, Report};
use super::suites::{self, Suite};
use crate::process;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Words of `cargo test`, and the words that select tests.
struct Run {
    words: &'static [&'static str],
    filters: &'static [&'static str],
}

/// Default build first, then optional parts.
const RUNS: [Run; 3] = [
    Run { words: &["test", "--workspace", "--locked"], filters: &[] },
    Run {
        words: &[
            "test",
            "--locked",
            "--package=megadir-sys",
            "--package=megadir",
            "--package=megadir-bench",
            "--features=megadir/io-uring,megadir-bench/cpp,megadir-bench/io-uring",
            "--lib",
            "--test=uring",
        ],
        filters: &["uring", "cpp", "methods"],
    },
    Run {
        words: &[
            "test",
            "--locked",
            // With the features of the first run, so that nothing is rebuilt.
            "--workspace",
            "--features=megadir-report/parquet,megadir-report/schema",
            "--test=report",
        ],
        filters: &["parquet", "schema"],
    },
];

/// Doc tests, which cargo builds and runs itself.
const DOC_TESTS: &[&str] = &["test", "--workspace", "--locked", "--no-fail-fast", "--doc"];

pub(crate) fn run(context: &Context) -> Result<Report, String> {
    let log = context.scratch()?.join("not-run.log");
    std::fs::write(&log, "").map_err(|error| format!("cannot empty {}: {error}", log.display()))?;
    let mut all = Vec::new();
    for Run { words, filters } in RUNS {
        all.extend(suites::build(&mut context.cargo(words), filters, &context.workspace.root)?);
    }
    let doc = context.cargo(DOC_TESTS);
    all.push(Suite { name: "doc".to_owned(), title: "     Running doc tests".to_owned(), command: doc });
    for suite in &mut all {
        suite.command.env("MEGADIR_NOT_RUN_LOG", &log).env("CARGO_TERM_COLOR", "never");
        if context.full {
            suite.command.env("MEGADIR_FULL", "1");
        }
    }
    // Tests of the full tier have deadlines, and there is no hurry.
    let at_once = if context.full { 1 } else { process::processors() };
    let ended = Mutex::new(Ended { succeeded: true, ..Ended::default() });
    suites::run(all, at_once, &|title, text, succeeded| {
        let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.take(title.to_owned());
        text.lines().for_each(|line| ended.take(line.to_owned()));
        ended.succeeded &= succeeded;
    })?;
    Ok(report_of(ended.into_inner().unwrap_or_else(PoisonError::into_inner), &read(&log)?))
}

pub(super) fn report_of(ended: Ended, log: &str) -> Report {
    let mut report = report(ended.results, log);
    report.lines.push(totals(&report.lines));
    report.failures = ended.failed;
    if !ended.succeeded {
        report.failures.push("cargo test failed".to_owned());
    }
    report
}

#[derive(Default)]
pub(super) struct Ended {
    pub(super) succeeded: bool,
    results: Vec<String>,
    failed: Vec<String>,
}

impl Ended {
    /// Shows a line of the output and keeps it if the summary needs it.
    pub(super) fn take(&mut self, line: String) {
        if let Some(result) = line.strip_prefix("test result: ") {
            println!("suite done: {}", result.split("; 0 measured").next().unwrap_or(result));
            self.results.push(line);
            return;
        }
        println!("{line}");
        if line.starts_with("     Running ") || line.starts_with("   Doc-tests ") {
            self.results.push(line);
        } else if line.starts_with("test ") && line.ends_with(" ... FAILED") {
            self.failed.push(line);
        }
    }
}

fn totals(results: &[String]) -> String {
    let sum = |word: &str| -> u64 { results.iter().filter_map(|line| number_before(line, word)).sum() };
    let suites = results.iter().filter(|line| line.starts_with("test result: ")).count();
    format!("{suites} suites: {} passed, {} failed", sum(" passed"), sum(" failed"))
}

/// Returns the number before a word of a result line.
fn number_before(line: &str, word: &str) -> Option<u64> {
    let before = line.strip_prefix("test result: ")?.split_once(word)?.0;
    before.rsplit(' ').next()?.parse().ok()
}

fn report(lines: Vec<String>, log: &str) -> Report {
    let mut report = Report { lines, ..Report::default() };
    for line in log.lines().filter(|line| !line.trim().is_empty()) {
        let (list, text) = match (line.strip_prefix("unavailable: "), line.strip_prefix("not run: ")) {
            (Some(text), _) => (&mut report.unavailable, text),
            (None, text) => (&mut report.not_run, text.unwrap_or(line)),
        };
        if !list.iter().any(|known| known == text) {
            list.push(text.to_owned());
        }
    }
    report
}

pub(super) fn read(log: &Path) -> Result<String, String> {
    std::fs::read_to_string(log).map_err(|error| format!("cannot read {}: {error}", log.display()))
}

/// Notes that one of this tool's own tests could not run.
#[cfg(test)]
pub(crate) fn note_not_run(test: &str, why: &str) {
    use std::io::Write;
    eprintln!("not run: {test}: {why}");
    if let Some(log) = std::env::var_os("MEGADIR_NOT_RUN_LOG") {
        let mut log = std::fs::OpenOptions::new().append(true).create(true).open(log).unwrap();
        log.write_all(format!("not run: {test}: {why}\n").as_bytes()).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_sorted_into_what_fails_and_what_does_not() {
        let log = "not run: a::b: not root\nunavailable: c: no f2fs\nnot run: a::b: not root\n\nodd line\n";
        let report = report(vec!["test result: ok. 3 passed".into()], log);
        assert_eq!(report.not_run, ["a::b: not root", "odd line"]);
        assert_eq!(report.unavailable, ["c: no f2fs"]);
        assert_eq!(report.lines, ["test result: ok. 3 passed"]);
    }

    #[test]
    fn results_add_up() {
        let lines = [
            "   Doc-tests a",
            "test result: ok. 12 passed; 0 failed; 0 ignored",
            "test result: FAILED. 3 passed; 1 failed;",
        ];
        assert_eq!(totals(&lines.map(str::to_owned)), "2 suites: 15 passed, 1 failed");
        assert_eq!(totals(&[]), "0 suites: 0 passed, 0 failed");
    }

    #[test]
    fn result_lines_are_kept() {
        let text = "     Running unittests a\ntest b ... FAILED\ntest c ... ok\n\
            test result: FAILED. 1 passed; 1 failed";
        let mut ended = Ended::default();
        text.lines().for_each(|line| ended.take(line.to_owned()));
        assert_eq!(ended.results, ["     Running unittests a", "test result: FAILED. 1 passed; 1 failed"]);
        assert_eq!(ended.failed, ["test b ... FAILED"]);
    }
}
