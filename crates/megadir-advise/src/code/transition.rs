//! Reading and writing while files are moved to another layout: functions that open a file by its new path, its old
//! one, and the new one again, and that create files at new paths.

use std::collections::BTreeSet;

use super::rule::Rule;
use super::{go, python, rust, shell};

pub(super) fn python(old: &Rule, new: &Rule) -> String {
    let (old_code, new_code) = (python::write(old), python::write(new));
    let ((mut imports, old_body), (more, new_body)) = (lines_before(&old_code), lines_before(&new_code));
    imports.extend(more);
    imports.extend(["import errno", "import os"]);
    let (modules, names): (Vec<&str>, Vec<&str>) =
        imports.into_iter().partition(|line| line.starts_with("import"));
    let old_body = old_body.replace("path_for", "old_path_for");
    format!(
        "{}\n\n\n{new_body}\n\n{old_body}\n\n{}",
        [modules, names].concat().join("\n"),
        PYTHON.replace("OLD", &old.title).replace("NEW", &new.title)
    )
}

const PYTHON: &str = include_str!("transition.py");

fn lines_before(code: &str) -> (BTreeSet<&str>, &str) {
    let (imports, body) = code.split_once("\n\n\n").unwrap_or(("", code));
    (imports.lines().collect(), body)
}

pub(super) fn rust(old: &Rule, new: &Rule) -> String {
    let (old_code, new_code) = (rust::write(old), rust::write(new));
    let indented: String = old_code
        .lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") })
        .collect();
    format!(
        "{new_code}\n/// The old layout.\nmod old {{\n{indented}}}\n\n{}",
        RUST.replace("OLD", &old.title).replace("NEW", &new.title)
    )
}

const RUST: &str = include_str!("transition.rs.txt");

pub(super) fn go(old: &Rule, new: &Rule) -> String {
    let (old_code, new_code) = (go::write(old), go::write(new));
    let mut packages: BTreeSet<&str> = BTreeSet::from(["errors", "io/fs", "os", "path/filepath", "syscall"]);
    let mut bodies = Vec::new();
    for code in [&new_code, &old_code] {
        let (imports, body) = code.split_once("\n)\n\n").unwrap_or(("", code));
        packages.extend(imports.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix('"')));
        bodies.push(body);
    }
    let imports: String = packages.iter().map(|package| format!("\t\"{package}\"\n")).collect();
    let old_body = bodies[1].replace("pathFor", "oldPathFor");
    format!(
        "import (\n{imports})\n\n{}\n{old_body}\n{}",
        bodies[0],
        GO.replace("OLD", &old.title).replace("NEW", &new.title)
    )
}

const GO: &str = include_str!("transition.go");

pub(super) fn shell(old: &Rule, new: &Rule) -> String {
    let old_code = shell::write(old).replace("path_for", "old_path_for");
    let text = SHELL.replace("OLD", &old.title).replace("NEW", &new.title);
    format!("{}\n{old_code}\n{text}", shell::write(new))
}

const SHELL: &str = include_str!("transition.sh");
