//! Dead files: Rust files that no `mod` and no target reaches.
//!
//! ```text
//! roots: lib.rs, main.rs, bin, tests, benches, examples, build.rs, `path =` of manifests
//!   -> `mod name;` -> name.rs or name/mod.rs -> ...        not reached: dead
//! ```
//!
//! Further rules on files: names without a subject, missing headers, and paths of one machine.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::source::{Finding, Source, is_word};

pub(crate) fn find(sources: &[Source]) -> Vec<Finding> {
    let rust = sources.iter().filter(|source| source.is_rust());
    let rust: BTreeMap<&str, &Source> = rust.map(|source| (source.path.as_str(), source)).collect();
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut waiting: Vec<String> =
        rust.keys().filter(|path| is_root(path)).map(|&path| path.to_owned()).collect();
    waiting.extend(sources.iter().flat_map(declared_roots));
    while let Some(path) = waiting.pop() {
        let Some(source) = rust.get(path.as_str()) else { continue };
        if reached.insert(path) {
            waiting.extend(children(source));
        }
    }
    // Files elsewhere, e.g. examples of documentation, have no target.
    let in_a_crate = |path: &str| path.starts_with("crates/") || path.starts_with("fuzz/");
    let dead = |source: &&&Source| !reached.contains(&source.path) && in_a_crate(&source.path);
    let message = "no `mod` and no target reaches this file: declare or delete it";
    rust.values().filter(dead).map(|source| source.finding(1, message)).collect()
}

fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let inside = match parts.as_slice() {
        ["crates", _, inside @ ..] | ["fuzz", inside @ ..] => inside,
        other => other,
    };
    matches!(
        inside,
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

/// Manifests name further roots.
fn declared_roots(source: &Source) -> Vec<String> {
    let Some(folder) = source.path.strip_suffix("Cargo.toml") else { return Vec::new() };
    let lines = source.text.lines();
    let paths = lines.filter_map(|line| line.trim().strip_prefix("path")?.trim_start().strip_prefix('='));
    let paths = paths.map(|value| value.trim().trim_matches('"')).filter(|value| value.ends_with(".rs"));
    paths.map(|value| normal(&format!("{folder}{value}"))).collect()
}

/// Both places of a child are tried, since a file that does not exist reaches nothing.
fn children(source: &Source) -> Vec<String> {
    let (folder, name) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let stem = name.trim_end_matches(".rs");
    let own = if name == "mod.rs" || is_root(&source.path) || stem == "main" {
        folder.to_owned()
    } else {
        format!("{folder}/{stem}")
    };
    let mut files = Vec::new();
    for module in modules(&source.code) {
        files.push(format!("{own}/{module}.rs"));
        files.push(format!("{own}/{module}/mod.rs"));
    }
    // Macros that include a file name it in quotes.
    let quoted = source.text.lines().filter(|line| line.contains("#[path") || line.contains("include!("));
    let quoted = quoted.filter_map(|line| line.split('"').nth(1));
    files.extend(quoted.map(|file| normal(&format!("{folder}/{file}"))));
    files
}

fn modules(code: &str) -> Vec<&str> {
    let starts =
        code.match_indices("mod ").filter(|&(at, _)| !code[..at].chars().next_back().is_some_and(is_word));
    let names =
        starts.filter_map(|(at, word)| code[at + word.len()..].split_once(';').map(|(name, _)| name.trim()));
    names.map(|name| name.trim_start_matches("r#")).filter(|name| name.chars().all(is_word)).collect()
}

fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    parts.join("/")
}

/// Names that fit any content.
const EMPTY_NAMES: &[&str] = &["imp.rs", "util.rs", "utils.rs", "helper.rs", "helpers.rs", "misc.rs"];

/// First folders of paths that exist on a developer's machine only.
const MACHINE_FOLDERS: &[&str] = &["work", "root", "home"];

pub(crate) fn find_names(sources: &[Source]) -> Vec<Finding> {
    let empty = |source: &&Source| EMPTY_NAMES.contains(&source.path.rsplit('/').next().unwrap_or_default());
    let message = "file name without a subject: name the file after its content";
    sources.iter().filter(empty).map(|source| source.finding(1, message)).collect()
}

pub(crate) fn find_headers(sources: &[Source]) -> Vec<Finding> {
    let without = |source: &&Source| source.is_rust() && !source.text.starts_with("//!");
    let message = "no header: begin with `//! ` and the file's purpose";
    sources.iter().filter(without).map(|source| source.finding(1, message)).collect()
}

/// Lines with `tidy: example path` are exempt.
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

/// A folder of this name below another one is no machine's.
fn names(line: &str, folder: &str) -> bool {
    let below = |letter: char| is_word(letter) || matches!(letter, '.' | '-' | '}' | '>' | ')' | '*');
    let path = format!("/{folder}/");
    let mut places = line.match_indices(&path).map(|(at, _)| line[..at].chars().next_back());
    places.any(|before| !before.is_some_and(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|&(path, text)| Source::new(path, text)).collect();
        find(&sources).into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn a_file_without_a_mod_is_dead() {
        let lib = "//! a\nmod walk;\npub(crate) mod backend;\n// mod old;\n";
        let tree = [
            ("crates/a/src/lib.rs", lib),
            ("crates/a/src/walk.rs", "mod order;"),
            ("crates/a/src/walk/order.rs", ""),
            ("crates/a/src/backend/mod.rs", "mod std_fs;"),
            ("crates/a/src/backend/std_fs.rs", ""),
            ("crates/a/src/old.rs", ""),
            ("crates/a/src/backend/order.rs", ""),
        ];
        assert_eq!(dead(&tree), ["crates/a/src/backend/order.rs", "crates/a/src/old.rs"]);
    }

    #[test]
    fn targets_reach_their_files() {
        let tree = [
            ("crates/a/tests/one.rs", "mod common;"),
            ("crates/a/tests/common/mod.rs", ""),
            ("crates/a/build.rs", ""),
            ("fuzz/Cargo.toml", "[[bin]]\nname = \"x\"\npath = \"targets/x.rs\"\n"),
            ("fuzz/targets/x.rs", "#[path = \"../shared/y.rs\"]\nmod y;"),
            ("fuzz/shared/y.rs", ""),
        ];
        assert!(dead(&tree).is_empty(), "{:?}", dead(&tree));
        assert_eq!(dead(&[("fuzz/targets/x.rs", "")]), ["fuzz/targets/x.rs"]);
    }

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
            let inside = format!("target/{folder}/a, {{}}/{folder}/b");
            assert!(find_machine_paths(&[Source::new("a.md", inside)]).is_empty(), "{folder}");
        }
        let exempt = format!("{} // tidy: example path\n", line("home").trim_end());
        assert!(find_machine_paths(&[Source::new("a.rs", exempt)]).is_empty());
    }
}
