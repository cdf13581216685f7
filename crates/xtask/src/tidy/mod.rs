//! `cargo xtask tidy`: rules for files beyond compiler and linter. A check is a pure function from files to findings, with a line in [`CHECKS`].
//!
//! ```text
//! git ls-files -> Source (text, code, comments, test_lines) -> CHECKS -> Finding -> failures, hints
//! ```
//!
//! Rules that a compiler or Clippy could check are not here.

mod circles;
mod comments;
mod dependencies;
mod identifiers;
mod language;
mod modules;
mod source;
mod words;

use std::path::Path;
use std::process::Command;

use source::{Finding, Source};

use crate::process::{self, Workspace};

type Check = fn(&[Source]) -> Vec<Finding>;

/// The check of crate edges needs `cargo metadata` and is separate, in [`dependencies`].
/// The order does not matter: findings are sorted by path and line.
static CHECKS: &[Check] = &[
    find_sizes,
    modules::find_names,
    modules::find_headers,
    modules::find_machine_paths,
    modules::find,
    circles::find,
    dependencies::find,
    words::find,
    language::find,
    identifiers::find,
    comments::find_paragraphs,
    comments::find_maps,
];

pub(crate) fn run() -> Result<(), String> {
    let line = check(&Workspace::find()?)?;
    println!("{line}");
    Ok(())
}

pub(crate) fn check(workspace: &Workspace) -> Result<String, String> {
    let sources = sources(&workspace.root)?;
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|find| find(&sources)).collect();
    findings.extend(dependencies::find_edges(&workspace.metadata));
    findings.sort();
    for finding in &findings {
        println!("{finding}{}", if finding.fails { "" } else { " (hint)" });
    }
    let failures = findings.iter().filter(|finding| finding.fails).count();
    let notes = findings.len() - failures;
    if failures > 0 {
        return Err(format!("tidy: {failures} findings in {} files", sources.len()));
    }
    Ok(format!("tidy: {} files checked, {notes} hints", sources.len()))
}

/// Tracked ones only: records and reports that lie in a checkout are no source.
fn sources(root: &Path) -> Result<Vec<Source>, String> {
    let mut command = Command::new("git");
    command.args(["-c", "safe.directory=*"]).current_dir(root);
    command.args(["ls-files", "-z", "--cached"]);
    let names = process::output(&mut command)?;
    let names = names.split('\0').filter(|name| !name.is_empty());
    Ok(names
        // Files that are no text are skipped.
        .filter_map(|name| Some(Source::new(name, std::fs::read_to_string(root.join(name)).ok()?)))
        .collect())
}

const LINES_USUAL: usize = 600;
/// Hard limit, except for tests and tables.
const LINES_MAX: usize = 900;

fn find_sizes(sources: &[Source]) -> Vec<Finding> {
    let rust = sources.iter().filter(|source| source.is_rust());
    rust.filter_map(size_of).collect()
}

fn size_of(source: &Source) -> Option<Finding> {
    let lines = source.text.lines().count();
    let name = source.path.rsplit('/').next().unwrap_or_default();
    let may_be_long = source.is_test() || name.contains("table");
    if lines > LINES_MAX && !may_be_long {
        return Some(
            source.finding(lines, format!("{lines} lines, over {LINES_MAX}: split the file by subject")),
        );
    }
    let note = format!("{lines} lines, usually under {LINES_USUAL}: consider splitting the file");
    (lines > LINES_USUAL).then(|| Finding { fails: false, ..source.finding(lines, note) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(path: &str, lines: usize) -> Option<bool> {
        find_sizes(&[Source::new(path, "//\n".repeat(lines))]).first().map(|finding| finding.fails)
    }

    #[test]
    fn long_files_are_noted_and_too_long_ones_fail() {
        assert_eq!(verdict("crates/a/src/lib.rs", 600), None);
        assert_eq!(verdict("crates/a/src/lib.rs", 601), Some(false));
        assert_eq!(verdict("crates/a/src/lib.rs", 901), Some(true));
    }

    #[test]
    fn tests_and_tables_may_be_long() {
        assert_eq!(verdict("crates/a/tests/all.rs", 901), Some(false));
        assert_eq!(verdict("crates/a/src/mount_table.rs", 901), Some(false));
        assert_eq!(verdict("README.md", 9000), None);
    }
}
