//! Private words in identifiers, the names of tests included. The table names each word, and what to write
//! instead. A word of speech for data does not describe the data: `let reply`, not a verb of speech.

use super::source::{Finding, Source, is_word};

/// Words in lower case, a tab, and what to write instead. A word after `=` is rejected as a whole identifier only, because a
/// longer one may need it: `only_one_worker`.
const WORDS: &str = include_str!("identifiers.tsv");

/// Crates whose identifiers have been rewritten. The list only grows.
static DONE: &[&str] = &[
    "megadir",
    "megadir-advise",
    "megadir-bench",
    "megadir-cli",
    "megadir-inventory",
    "megadir-lab",
    "megadir-mpi",
    "megadir-pack",
    "megadir-record",
    "megadir-report",
    "megadir-stats",
    "megadir-sys",
    "megadir-tasks",
    "xtask",
];

struct Word {
    word: &'static str,
    is_whole: bool,
    instead: &'static str,
}

fn words() -> impl Iterator<Item = Word> {
    WORDS.lines().filter_map(|line| line.split_once('\t')).map(|(word, instead)| Word {
        word: word.trim_start_matches('='),
        is_whole: word.starts_with('='),
        instead,
    })
}

pub(crate) fn find(sources: &[Source]) -> Vec<Finding> {
    sources.iter().filter(|source| source.is_rust() && source.in_crates(DONE)).flat_map(find_in).collect()
}

fn find_in(source: &Source) -> Vec<Finding> {
    let words: Vec<Word> = words().collect();
    let mut findings = Vec::new();
    for (index, line) in source.code.lines().enumerate() {
        let mut identifiers: Vec<&str> =
            line.split(|letter| !is_word(letter)).filter(|name| !name.is_empty()).collect();
        // An identifier is reported once a line.
        identifiers.sort_unstable();
        identifiers.dedup();
        for identifier in identifiers {
            let parts = parts(identifier);
            let found = words.iter().filter(|word| match word.is_whole {
                true => identifier == word.word,
                // Parts are compared as a whole, so that `know` is not found in `known`.
                false => parts.iter().any(|part| part == word.word),
            });
            findings.extend(found.map(|word| {
                let message = format!(
                    "`{}` in `{identifier}` does not name the thing: write {}",
                    word.word, word.instead
                );
                source.finding(index + 1, message)
            }));
        }
    }
    findings
}

/// Words of an identifier, in lower case: `HttpReply`, `http_reply` and `HTTP_REPLY` have two.
fn parts(identifier: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for letter in identifier.chars() {
        if letter == '_' || (was_lower && letter.is_uppercase()) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| letter != '_') {
            part.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase() || letter.is_ascii_digit();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/megadir-report/src/new.rs";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        find(&[Source::new(path, text)]).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_word_is_found_in_variables_functions_and_types() {
        assert!(words().count() > 20);
        for Word { word, is_whole, .. } in words() {
            assert_eq!(lines(PATH, &format!("fn f() {{\n    let {word} = 1;\n}}\n")), [2], "{word}");
            let part = if is_whole { vec![] } else { vec![1, 2, 3] };
            let capital = format!("{}{}", word[..1].to_uppercase(), &word[1..]);
            let text = format!(
                "fn x_{word}_y() {{}}\nstruct Gate{capital};\nconst X_{}: u8 = 1;\n",
                word.to_uppercase()
            );
            assert_eq!(lines(PATH, &text), part, "{word}");
        }
    }

    #[test]
    fn names_of_tests_are_checked() {
        assert_eq!(
            lines(PATH, "#[cfg(test)]\nmod tests {\n    #[test]\n    fn what_is_told() {}\n}\n"),
            [4, 4]
        );
        assert_eq!(lines("crates/xtask/tests/new.rs", "#[test]\nfn names_are_told() {}\n"), [2]);
    }

    #[test]
    fn comments_strings_and_longer_words_are_no_identifiers() {
        let text =
            "// It told what had gone.\nlet text = \"told {} what\"; /* asked */\nlet raw = r\"gone\";\n";
        assert!(lines(PATH, text).is_empty());
        assert!(lines(PATH, "let (toldest, task, whatever, tonesaid, stoned) = f();\n").is_empty());
        assert!(lines(PATH, "fn hash_one() {}\nfn only_one_of_its_kind() {}\n").is_empty());
    }

    #[test]
    fn only_crates_that_are_done_are_checked() {
        assert!(lines("crates/megadir-new/src/lib.rs", "let told = 1;\n").is_empty());
        assert!(lines("docs/new.md", "let told = 1;\n").is_empty());
        for name in DONE {
            assert_eq!(lines(&format!("crates/{name}/src/lib.rs"), "let told = 1;\n"), [1], "{name}");
        }
    }

    #[test]
    fn no_folder_of_a_crate_that_is_done_is_left_out() {
        for path in
            ["src/deep/new.rs", "src/bin/new.rs", "tests/it/deep/new.rs", "benches/new.rs", "examples/new.rs"]
        {
            assert_eq!(lines(&format!("crates/megadir/{path}"), "let told = 1;\n"), [1], "{path}");
            assert!(lines(&format!("crates/megadir-new/{path}"), "let told = 1;\n").is_empty(), "{path}");
        }
    }
}
