//! Collects the files, runs the checks, prints the findings.

use super::source::{Finding, Source};
use super::{CHECKS, edges};
use crate::process;
use crate::workspace::Workspace;
use std::path::Path;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<(), String> {
    let line = check(&Workspace::find()?)?;
    println!("{line}");
    Ok(())
}

/// Prints all findings; returns the number of good files, or an error with the number of findings.
pub(crate) fn check(workspace: &Workspace) -> Result<String, String> {
    let sources = sources(&workspace.root)?;
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|find| find(&sources)).collect();
    findings.extend(edges::find(&workspace.metadata));
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

/// Tracked and new text files, without files that git ignores.
fn sources(root: &Path) -> Result<Vec<Source>, String> {
    let mut command = Command::new("git");
    // The checkout may belong to another user.
    command.args(["-c", "safe.directory=*"]).current_dir(root);
    command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let names = process::output(&mut command)?;
    let names = names.split('\0').filter(|name| !name.is_empty());
    // A file in the index may be deleted in the checkout.
    Ok(names
        .filter_map(|name| Some(Source::new(name, std::fs::read_to_string(root.join(name)).ok()?)))
        .collect())
}
