//! Input and output of the checks.
//!
//! ```text
//! text      let a = "x"; // why        line numbers are equal in all views
//! code      let a = " ";
//! comments               // why
//! ```
//!
//! Checks search a view for words, so that a word in a string is not taken for code, nor a word of the code
//! for prose.

use std::fmt;

/// All views have as many lines as the text, so that a line number of a view is a line of the file. They
/// are made once for all checks.
pub(crate) struct Source {
    /// From the root of the checkout, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Rust only: without comments and string contents, line for line.
    pub(crate) code: String,
    /// Rust only: line for line.
    pub(crate) comments: String,
    /// Rust only: inside a `#[cfg(test)]` module.
    pub(crate) test_lines: Vec<bool>,
}

/// Result of a check. Sorted by path and line; one that does not fail is a hint.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: String,
    /// From 1; 0 for the whole file.
    pub(crate) line: usize,
    pub(crate) message: String,
    pub(crate) fails: bool,
}

impl Source {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let views = if path.ends_with(".rs") { split(&text) } else { Views::default() };
        let test_lines = test_lines(&views.code);
        Self { path, text, code: views.code, comments: views.comments, test_lines }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// By the folders and names that cargo and the workspace use for tests.
    pub(crate) fn is_test(&self) -> bool {
        let mut folders = self.path.split('/');
        folders.any(|part| ["tests", "benches", "examples", "tests.rs"].contains(&part))
            || self.path.ends_with("_tests.rs")
    }

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

/// Marks the lines from an attribute for tests up to the end of the following item.
fn test_lines(code: &str) -> Vec<bool> {
    let mut marks = Vec::new();
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

#[derive(Default)]
pub(crate) struct Views {
    pub(crate) code: String,
    pub(crate) comments: String,
}

/// Divides Rust source into code and comments, letter by letter: the forms that may contain quotes, slashes
/// or braces are comments, strings, characters and raw strings.
pub(crate) fn split(text: &str) -> Views {
    let letters: Vec<char> = text.chars().collect();
    let mut views = Views::default();
    let mut at = 0;
    while at < letters.len() {
        let rest = &letters[at..];
        let before = at.checked_sub(1).map(|index| letters[index]);
        let (length, kind) = piece(rest, before);
        views.push(&rest[..length], kind);
        at += length;
    }
    views
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Views {
    fn push(&mut self, piece: &[char], kind: Kind) {
        for (index, &letter) in piece.iter().enumerate() {
            let edge = index == 0 || index + 1 == piece.len();
            match (letter, kind) {
                // Line ends go to both views, which keeps them aligned.
                ('\n', _) => {
                    self.code.push('\n');
                    self.comments.push('\n');
                }
                (_, Kind::Code) => self.code.push(letter),
                (_, Kind::Comment) => self.comments.push(letter),
                // Quotes stay in the code, so that its shape is kept; the contents become spaces.
                (_, Kind::Literal) => self.code.push(if edge { '"' } else { ' ' }),
            }
        }
    }
}

fn piece(rest: &[char], before: Option<char>) -> (usize, Kind) {
    let next = rest.get(1).copied();
    match (rest[0], next) {
        ('/', Some('/')) => (find(rest, 0, &['\n']).unwrap_or(rest.len()), Kind::Comment),
        ('/', Some('*')) => (block_comment(rest), Kind::Comment),
        ('"', _) => (string(rest), Kind::Literal),
        ('\'', _) => character(rest).map_or((1, Kind::Code), |length| (length, Kind::Literal)),
        // `r` begins a raw string only outside of a word, except after `b` and `c`.
        ('r', _) if !before.is_some_and(|letter| is_word(letter) && !matches!(letter, 'b' | 'c')) => {
            raw_string(rest).map_or((1, Kind::Code), |length| (length, Kind::Literal))
        }
        _ => (1, Kind::Code),
    }
}

pub(crate) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn find(rest: &[char], start: usize, pattern: &[char]) -> Option<usize> {
    rest.get(start..)?.windows(pattern.len()).position(|window| window == pattern).map(|index| index + start)
}

/// Block comments of Rust nest.
fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match (rest[at], rest.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn string(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            // The letter after a backslash never ends the string.
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `None` for a lifetime.
fn character(rest: &[char]) -> Option<usize> {
    if rest.get(1) == Some(&'\\') {
        // The third letter may be a quote that is escaped.
        return find(rest, 3, &['\'']).map(|end| end + 1);
    }
    (rest.get(2) == Some(&'\'')).then_some(3)
}

fn raw_string(rest: &[char]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|&&letter| letter == '#').count();
    // A raw identifier has no quote.
    if rest.get(1 + hashes) != Some(&'"') {
        return None;
    }
    let mut end = vec!['"'];
    end.resize(1 + hashes, '#');
    Some(find(rest, 2 + hashes, &end).map_or(rest.len(), |at| at + end.len()))
}

#[cfg(test)]
mod tests {
    use super::{split, *};

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

    fn code(text: &str) -> String {
        split(text).code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_leave_the_code() {
        assert_eq!(code("a // b\nc /* d /* e */ f */ g"), "a c g");
        assert_eq!(split("a // b\n/// c\n").comments, "// b\n/// c\n");
        assert_eq!(split("a /* b\nc */ d\n").code, "a \n d\n");
    }

    #[test]
    fn strings_lose_their_content() {
        assert_eq!(code(r#"x("// no \" comment") y"#), r#"x(" ") y"#);
        assert_eq!(code("r#\"a \"b\" // c\"# y"), "\" \" y");
        assert_eq!(code("br\"a\\\" y"), "b\" \" y");
        assert_eq!(code("for x"), "for x");
    }

    #[test]
    fn lifetimes_are_not_characters() {
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(code(r"'\'' '\\' '\u{7f}' y"), r#"" " " " " " y"#);
        assert_eq!(code("'\"' y"), "\" \" y");
    }

    #[test]
    fn an_end_in_the_middle_is_no_panic() {
        for text in ["\"abc", "/* a", "r#\"a", "'", "'\\", "\"\\", "r"] {
            let _ = split(text);
        }
    }
}
