//! Code of two layouts beside each other, for the time in which files are moved from the old to the new one.

use std::collections::BTreeSet;

pub(super) fn python(old: &str, new: &str) -> String {
    let ((mut imports, old_body), (more, new_body)) = (lines_before(old), lines_before(new));
    imports.extend(more);
    imports.extend(["import errno", "import os"]);
    let (modules, names): (Vec<&str>, Vec<&str>) =
        imports.into_iter().partition(|line| line.starts_with("import"));
    let imports = [modules, names].concat().join("\n");
    format!("{imports}\n\n\n{new_body}\n\n{}\n\n", old_body.replace("path_for", "old_path_for"))
}

fn lines_before(code: &str) -> (BTreeSet<&str>, &str) {
    let (imports, body) = code.split_once("\n\n\n").unwrap_or(("", code));
    (imports.lines().collect(), body)
}

pub(super) fn rust(old: &str, new: &str) -> String {
    let indented: String = old
        .lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") })
        .collect();
    format!("{new}\n/// The old layout.\nmod old {{\n{indented}}}\n\n")
}

pub(super) fn go(old: &str, new: &str) -> String {
    let mut packages: BTreeSet<&str> = BTreeSet::from(["errors", "io/fs", "os", "path/filepath", "syscall"]);
    let [new_body, old_body] = [new, old].map(|code| {
        let (imports, body) = code.split_once("\n)\n\n").unwrap_or(("", code));
        packages.extend(imports.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix('"')));
        body
    });
    let imports: String = packages.iter().map(|package| format!("\t\"{package}\"\n")).collect();
    format!("import (\n{imports})\n\n{new_body}\n{}\n", old_body.replace("pathFor", "oldPathFor"))
}

pub(super) fn shell(old: &str, new: &str) -> String {
    format!("{new}\n{}\n", old.replace("path_for", "old_path_for"))
}
