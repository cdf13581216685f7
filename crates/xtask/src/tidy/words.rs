//! Words that are forbidden in code, outside comments and strings, or in comments.
//!
//! A word is one between letters that belong to no word, so that a longer identifier is not found.

use super::source::{Finding, Source};
use crate::tidy::source::is_word;

#[derive(Clone, Copy)]
enum TextPart {
    Code,
    Comment,
}

/// One forbidden word, where it is forbidden, and what to write instead. `holds` selects the files, and
/// `in_tests` is `false` for words that tests may have.
struct Rule {
    word: &'static str,
    place: TextPart,
    in_tests: bool,
    holds: fn(&Source) -> bool,
    advice: &'static str,
}

/// All other crates get everything from their callers.
/// So a library prints nothing and reads no environment, and a crate that is pure has no files.
const OUTER: &[&str] = &["megadir-cli", "megadir-testkit", "xtask"];

fn everywhere(_: &Source) -> bool {
    true
}

/// Calls a function whose contract binds its whole thread, so that no safe one can stand before it.
// The one place where `unsafe` is allowed outside of the crate for it.
const UNSHARES: &str = "crates/megadir-bench/src/kind/files/processes.rs";

fn outside_sys(source: &Source) -> bool {
    !source.in_crates(&["megadir-sys"]) && source.path != UNSHARES
}

fn libraries(source: &Source) -> bool {
    source.path.starts_with("crates/") && !source.in_crates(OUTER) && !source.path.ends_with("/build.rs")
}

fn pure(source: &Source) -> bool {
    source.in_crates(&["megadir-report", "megadir-stats"])
}

const fn code(word: &'static str, holds: fn(&Source) -> bool, advice: &'static str) -> Rule {
    Rule { word, place: TextPart::Code, in_tests: true, holds, advice }
}

const fn library(word: &'static str, advice: &'static str) -> Rule {
    Rule { in_tests: false, ..code(word, libraries, advice) }
}

const fn comment(word: &'static str, advice: &'static str) -> Rule {
    Rule { place: TextPart::Comment, ..code(word, everywhere, advice) }
}

const UNFINISHED: &str = "finish it or remove it";
const PRINTING: &str = "only the command line prints: return it to the caller";
const ENVIRONMENT: &str = "only the command line reads the environment: take it as a parameter";
const PURE: &str = "this crate has no file access: take the content as a parameter";
const IGNORED: &str = "no ignored tests: report `not run` with the reason";
const EXPECT: &str = "write `#[expect(lint, reason = \"...\")]`";

static RULES: &[Rule] = &[
    code("unsafe", outside_sys, "belongs in megadir-sys, behind a safe function"),
    code("#[allow(", everywhere, EXPECT),
    code("#![allow(", everywhere, EXPECT),
    code("#[ignore", everywhere, IGNORED),
    comment("```ignore", IGNORED),
    code("todo!", everywhere, UNFINISHED),
    code("unimplemented!", everywhere, UNFINISHED),
    comment("TODO", UNFINISHED),
    comment("FIXME", UNFINISHED),
    comment("XXX", UNFINISHED),
    library("print!", PRINTING),
    library("println!", PRINTING),
    library("eprint!", PRINTING),
    library("eprintln!", PRINTING),
    library("env::var", ENVIRONMENT),
    library("env::var_os", ENVIRONMENT),
    library("env::vars", ENVIRONMENT),
    library("env::args", ENVIRONMENT),
    library("env::args_os", ENVIRONMENT),
    Rule { in_tests: false, ..code("std::fs", pure, PURE) },
];

pub(crate) fn find(sources: &[Source]) -> Vec<Finding> {
    sources.iter().flat_map(find_in).collect()
}

fn find_in(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES.iter().filter(|rule| (rule.holds)(source) && (rule.in_tests || !source.is_test())) {
        let view = match rule.place {
            TextPart::Code => &source.code,
            TextPart::Comment => &source.comments,
        };
        for (index, line) in view.lines().enumerate() {
            // Modules of tests within a file count as tests.
            let exempt = !rule.in_tests && source.test_lines.get(index) == Some(&true);
            if !exempt && has_word(line, rule.word) {
                findings.push(source.finding(index + 1, format!("`{}`: {}", rule.word, rule.advice)));
            }
        }
    }
    findings
}

fn has_word(line: &str, word: &str) -> bool {
    let edge =
        |letter: Option<char>, end: Option<char>| !(letter.is_some_and(is_word) && end.is_some_and(is_word));
    line.match_indices(word).any(|(at, _)| {
        edge(line[..at].chars().next_back(), word.chars().next())
            && edge(line[at + word.len()..].chars().next(), word.chars().next_back())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        find(&[Source::new(path, text)]).iter().map(|finding| finding.line).collect()
    }

    const LIBRARY: &str = "crates/megadir/src/walk.rs";

    #[test]
    fn each_rule_finds_its_word_and_only_as_a_word() {
        for rule in RULES {
            let (text, path) = match rule.place {
                TextPart::Code => (format!("a\n{} b\n", rule.word), "crates/megadir-report/src/lib.rs"),
                TextPart::Comment => (format!("a\n// {} b\n", rule.word), LIBRARY),
            };
            assert_eq!(lines(path, &text), [2], "{}", rule.word);
            assert_eq!(lines(path, &format!("x(\"{}\")", rule.word)), [0; 0], "{} in a string", rule.word);
        }
        assert!(lines(LIBRARY, "#![deny(unsafe_code)]\nmethodology!()\n// XXXL\n").is_empty());
    }

    #[test]
    fn unsafe_belongs_to_one_crate() {
        assert_eq!(lines(LIBRARY, "unsafe { a() }"), [1]);
        assert!(lines("crates/megadir-sys/src/raw.rs", "unsafe { a() }").is_empty());
        assert!(lines(UNSHARES, "unsafe { a() }").is_empty());
    }

    #[test]
    fn tests_and_the_command_line_may_print() {
        assert_eq!(lines(LIBRARY, "println!()\n#[cfg(test)]\nmod tests {\n  println!()\n}\n"), [1]);
        assert!(lines("crates/megadir/tests/walk.rs", "println!()").is_empty());
        assert!(lines("crates/megadir-cli/src/main.rs", "println!(); std::env::args()").is_empty());
        assert!(lines(LIBRARY, "/// println!(\"an example\")\n").is_empty());
    }

    #[test]
    fn tests_are_not_ignored_either() {
        assert_eq!(lines("crates/megadir/tests/walk.rs", "#[ignore = \"slow\"]\nfn a() {}"), [1]);
    }
}
