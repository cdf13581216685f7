//! Dead files: Rust files that no `mod` and no target reaches, and that the compiler therefore never sees.

use super::lexer::is_word;
use super::source::{Finding, Source};
use std::collections::{BTreeMap, BTreeSet};

/// Finds Rust files of `crates/` and `fuzz/` that are part of no target.
pub(crate) fn find(sources: &[Source]) -> Vec<Finding> {
    let rust: BTreeMap<&str, &Source> = sources
        .iter()
        .filter(|source| source.is_rust())
        .map(|source| (source.path.as_str(), source))
        .collect();
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
    let dead = |source: &&&Source| !reached.contains(&source.path) && in_a_crate(&source.path);
    let message = "no `mod` and no target reaches this file: declare or delete it";
    rust.values().filter(dead).map(|source| source.finding(1, message)).collect()
}

fn in_a_crate(path: &str) -> bool {
    path.starts_with("crates/") || path.starts_with("fuzz/")
}

/// Cargo finds the file as the root of a target.
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

/// Returns the roots that a `Cargo.toml` names with `path = "....rs"`.
fn declared_roots(source: &Source) -> Vec<String> {
    let Some(folder) = source.path.strip_suffix("Cargo.toml") else { return Vec::new() };
    let paths = source
        .text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("path")?.trim_start().strip_prefix('='));
    let paths = paths.map(|value| value.trim().trim_matches('"')).filter(|value| value.ends_with(".rs"));
    paths.map(|value| normal(&format!("{folder}{value}"))).collect()
}

/// Returns the files that a file may declare as its modules or include.
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
    let quoted = source.text.lines().filter(|line| line.contains("#[path") || line.contains("include!("));
    let quoted = quoted.filter_map(|line| line.split('"').nth(1));
    files.extend(quoted.map(|file| normal(&format!("{folder}/{file}"))));
    files
}

/// Returns the names in `mod name;`.
fn modules(code: &str) -> Vec<&str> {
    let starts =
        code.match_indices("mod ").filter(|&(at, _)| !code[..at].chars().next_back().is_some_and(is_word));
    let names =
        starts.filter_map(|(at, word)| code[at + word.len()..].split_once(';').map(|(name, _)| name.trim()));
    names.map(|name| name.trim_start_matches("r#")).filter(|name| name.chars().all(is_word)).collect()
}

/// Resolves `..` in a path with `/`.
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
}
