//! File names, headers of files, and paths of one machine in them.

use super::lexer::is_word;
use super::source::{Finding, Source};

/// File names without a subject.
const EMPTY_NAMES: &[&str] = &["imp.rs", "util.rs", "utils.rs", "helper.rs", "helpers.rs", "misc.rs"];

const MACHINE_FOLDERS: &[&str] = &["work", "root", "home"];

pub(crate) fn find_names(sources: &[Source]) -> Vec<Finding> {
    let empty = |source: &&Source| EMPTY_NAMES.contains(&source.path.rsplit('/').next().unwrap_or_default());
    let message = "file name without a subject: name the file after its content";
    sources.iter().filter(empty).map(|source| source.finding(1, message)).collect()
}

/// Finds Rust files without a header.
pub(crate) fn find_headers(sources: &[Source]) -> Vec<Finding> {
    let without = |source: &&Source| source.is_rust() && !source.text.starts_with("//!");
    let message = "no header: begin with `//! ` and the file's purpose";
    sources.iter().filter(without).map(|source| source.finding(1, message)).collect()
}

/// Finds paths that exist on one machine only. Lines with `tidy: example path` are exempt.
pub(crate) fn find_machine_paths(sources: &[Source]) -> Vec<Finding> {
    sources.iter().flat_map(machine_paths_in).collect()
}

fn machine_paths_in(source: &Source) -> Vec<Finding> {
    let lines = source.text.lines().enumerate().filter(|(_, line)| !line.contains("tidy: example path"));
    let mut findings = Vec::new();
    for (index, line) in lines {
        if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| names(line, folder)) {
            let message = format!("`/{folder}/` is a folder of one machine: use a relative path");
            findings.push(source.finding(index + 1, message));
        }
    }
    findings
}

/// `true` if a line names the folder at the root, not a folder of that name elsewhere.
fn names(line: &str, folder: &str) -> bool {
    let below = |letter: char| is_word(letter) || matches!(letter, '.' | '-' | '}' | '>' | ')' | '*');
    let path = format!("/{folder}/");
    let mut places = line.match_indices(&path).map(|(at, _)| line[..at].chars().next_back());
    places.any(|before| !before.is_some_and(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_must_name_a_subject() {
        let found = find_names(&[
            Source::new("crates/a/src/utils.rs", ""),
            Source::new("crates/a/src/layout.rs", ""),
        ]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "crates/a/src/utils.rs");
    }

    #[test]
    fn rust_files_begin_with_their_purpose() {
        let found = |text: &str| find_headers(&[Source::new("crates/a/src/lib.rs", text)]).len();
        assert_eq!(found("//! Reads.\n"), 0);
        assert_eq!(found("use a;\n"), 1);
        assert_eq!(found(""), 1);
        assert!(find_headers(&[Source::new("a.md", "")]).is_empty());
    }

    #[test]
    fn folders_of_one_machine_are_found_anywhere() {
        let line = |folder: &str| format!("x\nsee `/{folder}/a`\n");
        for folder in ["work", "root", "home"] {
            let found = find_machine_paths(&[Source::new("README.md", line(folder))]);
            assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2], "{folder}");
        }
        assert!(find_machine_paths(&[Source::new("a.md", "target/work/a, {}/root/b")]).is_empty());
        let exempt = format!("{} // tidy: example path\n", line("home").trim_end());
        assert!(find_machine_paths(&[Source::new("a.rs", exempt)]).is_empty());
    }
}
