//! Collects the files, runs the checks, prints what they find.

use super::source::{Finding, Source};
use super::{CHECKS, edges};
use crate::process;
use crate::workspace::Workspace;
use std::path::Path;
use std::process::Command;

/// Options of `cargo xtask tidy`.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Runs all checks on the checkout.
pub(crate) fn run(_: &Args) -> Result<(), String> {
    let line = check(&Workspace::find()?)?;
    println!("{line}");
    Ok(())
}

/// Prints all findings; returns how many files were fine, or how many findings were not.
pub(crate) fn check(workspace: &Workspace) -> Result<String, String> {
    let sources = sources(&workspace.root)?;
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|find| find(&sources)).collect();
    findings.extend(edges::find(&workspace.metadata));
    findings.sort();
    for finding in &findings {
        println!("{finding}{}", if finding.fails { "" } else { " (not a failure)" });
    }
    let failures = findings.iter().filter(|finding| finding.fails).count();
    let notes = findings.len() - failures;
    if failures > 0 {
        return Err(format!("tidy: {failures} findings in {} files", sources.len()));
    }
    Ok(format!("tidy: {} files are fine, {notes} notes", sources.len()))
}

/// Reads the files that are in the repository or about to be; what git ignores, and what is not text, is left out.
fn sources(root: &Path) -> Result<Vec<Source>, String> {
    let mut command = Command::new("git");
    // A checkout may belong to another user than the one who tests it.
    command.args(["-c", "safe.directory=*"]).current_dir(root);
    command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let names = process::output(&mut command)?;
    let names = names.split('\0').filter(|name| !name.is_empty());
    // A file can be in the index and deleted in the checkout: it is not there to be checked.
    Ok(names
        .filter_map(|name| Some(Source::new(name, std::fs::read_to_string(root.join(name)).ok()?)))
        .collect())
}
