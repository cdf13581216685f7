//! Input and output of the checks.

use super::lexer;
use std::fmt;

pub(crate) struct Source {
    /// Path from the root of the checkout, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Rust only: the text without comments and string contents, line for line.
    pub(crate) code: String,
    /// Rust only: the comments, line for line.
    pub(crate) comments: String,
    /// Rust only: `true` for each line inside a `#[cfg(test)]` module.
    pub(crate) test_lines: Vec<bool>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: String,
    /// From 1; 0 for the whole file.
    pub(crate) line: usize,
    pub(crate) message: String,
    /// `true` if it fails the check, `false` for a hint.
    pub(crate) fails: bool,
}

impl Source {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let views = if path.ends_with(".rs") { lexer::split(&text) } else { lexer::Views::default() };
        let test_lines = test_lines(&views.code);
        Self { path, text, code: views.code, comments: views.comments, test_lines }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// `true` if this file holds only tests, benchmarks or examples.
    pub(crate) fn is_test(&self) -> bool {
        let mut folders = self.path.split('/');
        folders.any(|part| ["tests", "benches", "examples", "tests.rs"].contains(&part))
            || self.path.ends_with("_tests.rs")
    }

    /// `true` if the file belongs to one of these folders of `crates/`.
    pub(crate) fn in_crates(&self, names: &[&str]) -> bool {
        let name = self.path.strip_prefix("crates/").and_then(|rest| rest.split('/').next());
        name.is_some_and(|name| names.contains(&name))
    }

    pub(crate) fn finding(&self, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, message: message.into(), fails: true }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line.max(1), self.message)
    }
}

/// Marks the lines from a `#[cfg(test)]` (or `all(test, ...)`) to the end of the following item.
fn test_lines(code: &str) -> Vec<bool> {
    let mut marks = Vec::new();
    // Depth of braces inside the item; `None` outside.
    let mut inside: Option<usize> = None;
    for line in code.lines() {
        let begins = ["#[cfg(test)]", "#[cfg(all(test"];
        if inside.is_none() && begins.iter().any(|begin| line.trim_start().starts_with(begin)) {
            inside = Some(0);
        }
        marks.push(inside.is_some());
        for letter in line.chars() {
            inside = match (inside, letter) {
                (Some(depth), '{') => Some(depth + 1),
                (Some(0), ';') | (Some(0 | 1), '}') => None,
                (Some(depth), '}') => Some(depth - 1),
                (other, _) => other,
            };
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_modules_are_marked_to_their_end() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() {\n  }\n}\nfn c() {}\n#[cfg(test)]\nuse x;\nfn d() {}\n";
        assert_eq!(test_lines(code), [false, true, true, true, true, true, false, true, true, false]);
    }

    #[test]
    fn files_know_where_they_belong() {
        let at = |path: &str| Source::new(path, "");
        assert!(at("crates/megadir/tests/walk.rs").is_test());
        assert!(at("crates/megadir/src/walk/tests.rs").is_test());
        assert!(!at("crates/megadir/src/latests.rs").is_test());
        assert!(at("crates/megadir-cli/src/main.rs").in_crates(&["megadir-cli"]));
        assert!(!at("crates/megadir-cli/src/main.rs").in_crates(&["megadir"]));
        assert!(!at("fuzz/x.rs").in_crates(&["fuzz"]));
    }
}
