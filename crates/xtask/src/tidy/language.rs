//! Unidiomatic phrases in comments, messages and pages. The list is short and cannot judge style; CONTRIBUTING.md has the rules.

use super::source::{Finding, Source};
use crate::tidy::source::is_word;

/// Phrases in lower case, a tab, and what to write instead.
const PHRASES: &str = include_str!("phrases.tsv");

fn phrases() -> impl Iterator<Item = (&'static str, &'static str)> {
    PHRASES.lines().filter_map(|line| line.split_once('\t'))
}

static BEGINNINGS: &[&str] = &["What", "Whether", "Why", "Of", "That", "Such", "Whom", "Who"];

/// Folders and files that have not been rewritten yet. The list only shrinks.
static PENDING: &[&str] = &[
    "records/2026-11-21-attributes.md",
    "records/2026-11-21-speed.md",
    "records/2026-11-22-smallfile-file-systems/README.md",
];

/// Files that quote the phrases to forbid them, and reports with the texts of older records.
static EXEMPT: &[&str] =
    &["CONTRIBUTING.md", "crates/megadir-report/tests/golden/earlier/", "crates/xtask/src/tidy/language.rs"];

pub(crate) fn find(sources: &[Source]) -> Vec<Finding> {
    let is_listed = |list: &[&str], path: &str| list.iter().any(|start| path.starts_with(start));
    let is_text = |path: &str| [".rs", ".md", ".toml"].iter().any(|end| path.ends_with(end));
    let checked = sources.iter().filter(|source| {
        is_text(&source.path) && !is_listed(PENDING, &source.path) && !is_listed(EXEMPT, &source.path)
    });
    checked.flat_map(find_in).collect()
}

fn find_in(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut code = source.code.lines();
    for (index, line) in source.text.lines().enumerate() {
        // Identifiers are not prose, e.g. the name of a user without rights.
        let code = code.next().unwrap_or_default().to_ascii_lowercase();
        let lower = line.to_ascii_lowercase();
        let is_prose = |phrase: &str| has_phrase(&lower, phrase) && !has_phrase(&code, phrase);
        for (phrase, instead) in phrases().filter(|(phrase, _)| is_prose(phrase)) {
            findings.push(source.finding(index + 1, format!("\"{phrase}\" is not plain English: {instead}")));
        }
        if let Some(word) = source.is_rust().then(|| beginning(line)).flatten() {
            let message = format!(
                "a doc comment begins with \"{word}\": begin with the noun or a verb in the third person"
            );
            findings.push(source.finding(index + 1, message));
        }
    }
    findings
}

/// Doc comments only: they are read as pages, where the first word counts.
fn beginning(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?.trim_start();
    let word = text.split(|letter: char| !letter.is_alphanumeric()).next()?;
    BEGINNINGS.iter().copied().find(|&beginning| beginning == word)
}

/// Whole words only.
fn has_phrase(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + phrase.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        find(&[Source::new(path, text)]).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_phrase_is_found_in_pages_comments_and_messages() {
        assert!(phrases().count() > 15);
        for (phrase, _) in phrases() {
            assert_eq!(lines("docs/new.md", &format!("fine\nThis {phrase}, they say\n")), [2], "{phrase}");
            assert_eq!(
                lines("crates/new/src/lib.rs", &format!("// It {phrase}.\nf(\"{phrase}\");\n")),
                [1, 2]
            );
        }
        assert!(lines("crates/new/src/lib.rs", "fn nobody() {}\n").is_empty(), "a name in code");
        assert!(lines("docs/new.md", "a janew and so manyfold\n").is_empty());
    }

    #[test]
    fn doc_comments_begin_with_a_noun_or_a_verb() {
        for word in BEGINNINGS {
            assert_eq!(lines("crates/new/src/lib.rs", &format!("    /// {word} it is.\n")), [1], "{word}");
        }
        assert!(lines("crates/new/src/lib.rs", "/// Whatever\n// What a plain comment says.\n").is_empty());
    }
}
