//! Comments for the reader: a long function or a struct of many fields has a paragraph, and `lib.rs` a map of its modules.
//!
//! ```text
//! code, line by line -> items (fn, struct) with their extent -> size over the limit -> comments above and at the head
//! ```
//!
//! The check counts words and cannot judge them. It expects the layout of rustfmt: an item begins its line, a field has one.

use super::source::{Finding, Source, is_word};

/// Lines of a function, with its head, without comments and empty lines.
const LINES_MAX: usize = 30;
const FIELDS_MAX: usize = 4;

/// Fewer are a caption, not a paragraph.
const WORDS_MIN: usize = 20;
/// For a struct whose fields all have comments of their own.
const CAPTION_WORDS_MIN: usize = 4;

fn checked(sources: &[Source]) -> impl Iterator<Item = &Source> {
    sources
        .iter()
        .filter(|source| source.is_rust() && source.path.starts_with("crates/") && !source.is_test())
}

pub(crate) fn find_paragraphs(sources: &[Source]) -> Vec<Finding> {
    checked(sources).flat_map(without_paragraph).collect()
}

/// Modules that the header of `lib.rs` does not name as `` `name.rs` ``, `` `name/` `` or `` `name` ``.
pub(crate) fn find_maps(sources: &[Source]) -> Vec<Finding> {
    checked(sources).filter(|source| source.path.ends_with("/src/lib.rs")).flat_map(not_in_map).collect()
}

fn not_in_map(source: &Source) -> Vec<Finding> {
    let header: Vec<&str> = source.text.lines().filter(|line| line.starts_with("//!")).collect();
    let header = header.join("\n");
    let mut findings = Vec::new();
    for (index, line) in source.code.lines().enumerate() {
        let line = without_visibility(line);
        let Some(name) = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) else { continue };
        let ends = [".rs`", "/`", "`"];
        if !ends.iter().any(|end| header.contains(&format!("`{name}{end}"))) {
            let message =
                format!("the map in the header of lib.rs lacks `{name}`: name the file and its subject");
            findings.push(source.finding(index + 1, message));
        }
    }
    findings
}

/// Extent of an item in lines of its file, from 0.
///
/// Found by counting braces and not by a parser: the views of a source have no comments and no contents of
/// strings, so every brace in them is one of the code.
struct Item<'a> {
    name: &'a str,
    is_function: bool,
    first: usize,
    /// Line of the opening brace.
    opening: usize,
    last: usize,
}

fn without_paragraph(source: &Source) -> Vec<Finding> {
    let code: Vec<&str> = source.code.lines().collect();
    let text: Vec<&str> = source.text.lines().collect();
    let mut findings = Vec::new();
    for first in (0..code.len()).filter(|&line| source.test_lines.get(line) == Some(&false)) {
        let Some(item) = item_at(&code, first) else { continue };
        let comment = comment_of(&text, &code, &item);
        let words = comment.split_whitespace().count();
        let fields = if item.is_function { Vec::new() } else { fields(&code, &item) };
        let lines = code[item.first..=item.last].iter().filter(|line| !line.trim().is_empty()).count();
        let (size, is_large) = match item.is_function {
            true => (format!("{lines} lines"), lines > LINES_MAX),
            false => (format!("{} fields", fields.len()), fields.len() > FIELDS_MAX),
        };
        let has_comment = |&field: &usize| !comments_above(&text, &code, field).is_empty();
        let are_commented = !item.is_function && fields.iter().all(has_comment);
        let words_min = if are_commented { CAPTION_WORDS_MIN } else { WORDS_MIN };
        if is_large && (words < words_min || !comment.contains('.')) {
            let message = format!(
                "`{}` has {size} and no comment of {words_min} words: add why it is as it is, units, invariants",
                item.name
            );
            findings.push(source.finding(first + 1, message));
        }
    }
    findings
}

/// Function or struct with a body in braces whose head begins at this line.
///
/// Goes from the head to the brace that closes the body. Braces in parentheses of the head belong to
/// constants, so only one outside of them opens the body. Tuple structs and declarations end at a semicolon
/// and are no items here.
fn item_at<'a>(code: &[&'a str], first: usize) -> Option<Item<'a>> {
    let mut head = without_visibility(code[first]);
    for word in ["const ", "async ", "unsafe ", "extern \" \" ", "extern \"\" "] {
        head = head.strip_prefix(word).unwrap_or(head);
    }
    let (rest, is_function) = match head.strip_prefix("fn ") {
        Some(rest) => (rest, true),
        None => (head.strip_prefix("struct ")?, false),
    };
    let name = rest.split(|letter| !is_word(letter)).next()?;
    // A semicolon ends an item without a body, except within an array's type.
    let (mut brackets, mut braces, mut opening) = (0_usize, 0_usize, None);
    for (line, letters) in code.iter().enumerate().skip(first) {
        for letter in letters.chars() {
            match letter {
                '{' if brackets == 0 || opening.is_some() => {
                    braces += 1;
                    opening = opening.or(Some(line));
                }
                '}' if opening.is_some() => {
                    braces -= 1;
                    if braces == 0 {
                        return Some(Item { name, is_function, first, opening: opening?, last: line });
                    }
                }
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets = brackets.saturating_sub(1),
                ';' if brackets == 0 && opening.is_none() => return None,
                _ => {}
            }
        }
    }
    None
}

fn without_visibility(line: &str) -> &str {
    let line = line.trim();
    let Some(rest) = line.strip_prefix("pub") else { return line };
    let rest = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')).map_or(rest, |(_, rest)| rest);
    rest.strip_prefix(' ').unwrap_or(line)
}

/// Lines of the named fields.
fn fields(code: &[&str], item: &Item<'_>) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut fields = Vec::new();
    for (line, letters) in code.iter().enumerate().take(item.last).skip(item.opening + 1) {
        let name = without_visibility(letters).split_once(':').map(|(name, _)| name);
        if depth == 0 && name.is_some_and(|name| !name.is_empty() && name.chars().all(is_word)) {
            fields.push(line);
        }
        for letter in letters.chars() {
            match letter {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    fields
}

/// Comments above the item, between its attributes, and at the head of its body, as one text.
fn comment_of(text: &[&str], code: &[&str], item: &Item<'_>) -> String {
    let above = comments_above(text, code, item.first);
    // A body on one line has no head.
    let body = text.get(item.opening + 1..item.last).unwrap_or_default();
    let head = body.iter().take_while(|line| is_comment(line)).filter(|_| item.is_function);
    let lines = above.iter().chain(head).map(|line| line.trim().trim_start_matches('/'));
    lines.collect::<Vec<&str>>().join(" ")
}

/// Comments directly above a line, in their order; attributes may stand between them and the line.
fn comments_above<'t>(text: &[&'t str], code: &[&str], mut line: usize) -> Vec<&'t str> {
    let mut above = Vec::new();
    while line > 0 {
        line -= 1;
        if is_comment(text[line]) {
            above.push(text[line]);
        } else if code[line].trim_end().ends_with(']') {
            // An attribute may have several lines.
            while line > 0 && !code[line].trim_start().starts_with("#[") {
                line -= 1;
            }
        } else {
            break;
        }
    }
    above.reverse();
    above
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") && !line.starts_with("//!")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/megadir-new/src/new.rs";
    const PARAGRAPH: &str = "/// The order of the calls is that of the kernel, because another one would lose an entry that \
                             comes between two of them.\n";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        find_paragraphs(&[Source::new(path, text)]).iter().map(|finding| finding.line).collect()
    }

    /// Has two lines more than its body.
    fn function(head: &str, body_lines: usize) -> String {
        format!("{head} {{\n{}}}\n", "    f([1; 2], \"{\");\n".repeat(body_lines))
    }

    fn structure(fields: usize) -> String {
        let fields: String = (0..fields).map(|n| format!("    pub(crate) field_{n}: [u8; 3],\n")).collect();
        format!("struct Measured {{\n{fields}}}\n")
    }

    #[test]
    fn long_functions_have_a_paragraph() {
        for head in [
            "fn f()",
            "pub(crate) const unsafe fn f(a: [u8; 3])",
            "    async fn f<T: Fn(u8)>()",
            "extern \"C\" fn f()",
        ] {
            assert_eq!(lines(PATH, &function(head, 28)), [0; 0], "{head}");
            assert_eq!(lines(PATH, &function(head, 29)), [1], "{head}");
            assert_eq!(lines(PATH, &(PARAGRAPH.to_owned() + &function(head, 29))), [0; 0], "{head}");
        }
        let at_its_head = function("fn f()", 29).replacen('\n', &format!("\n    {}", &PARAGRAPH[1..]), 1);
        assert_eq!(lines(PATH, &at_its_head), [0; 0]);
    }

    #[test]
    fn large_structs_have_a_paragraph() {
        assert_eq!(lines(PATH, &structure(4)), [0; 0]);
        assert_eq!(lines(PATH, &structure(5)), [1]);
        let derived = format!("{PARAGRAPH}#[derive(Debug)]\n#[command(\n    name\n)]\n{}", structure(5));
        assert_eq!(lines(PATH, &derived), [0; 0]);
    }

    #[test]
    fn a_sentence_is_enough_where_each_field_has_its_own() {
        let text = structure(5).replace("    pub", "    /// Bytes.\n    #[arg(long)]\n    pub");
        assert_eq!(lines(PATH, &text), [1]);
        assert_eq!(lines(PATH, &format!("/// Times of a single run.\n{text}")), [0; 0]);
    }

    #[test]
    fn captions_and_comments_of_other_items_do_not_count() {
        assert_eq!(lines(PATH, &format!("/// Reads a directory.\n{}", function("fn f()", 29))), [2]);
        assert_eq!(lines(PATH, &format!("{PARAGRAPH}const A: u8 = 1;\n{}", function("fn f()", 29))), [3]);
        assert_eq!(lines(PATH, &format!("{PARAGRAPH}\n{}", function("fn f()", 29))), [3]);
    }

    #[test]
    fn bodies_on_one_line_are_accepted() {
        assert_eq!(lines(PATH, "fn f() {}\nstruct A {}\nfn g() { h() }\nstruct B { c: u8 }\n"), [0; 0]);
    }

    #[test]
    fn empty_lines_comments_and_declarations_are_no_length() {
        let text = function("fn f()", 20).replacen('\n', &"\n    // Why.\n\n".repeat(9), 1);
        assert_eq!(lines(PATH, &text), [0; 0]);
        assert_eq!(
            lines(PATH, &format!("fn f(a: [u8; 3]);\n{}", "const A: B = C { d: 1 };\n".repeat(40))),
            [0; 0]
        );
    }

    #[test]
    fn tests_and_code_outside_of_crates_are_left_out() {
        let long = function("fn f()", 40);
        for path in
            ["crates/megadir-new/tests/it/new.rs", "crates/megadir-new/benches/new.rs", "fuzz/src/new.rs"]
        {
            assert_eq!(lines(path, &long), [0; 0], "{path}");
        }
        assert_eq!(lines(PATH, &format!("#[cfg(test)]\nmod tests {{\n{long}}}\n")), [0; 0]);
        for path in ["crates/megadir-new/src/deep/new.rs", "crates/xtask/src/new.rs"] {
            assert_eq!(lines(path, &long), [1], "{path}");
        }
    }

    #[test]
    fn each_module_of_a_library_is_in_its_map() {
        let text = "//! | `walk/`, `names.rs` | trees |\n//! [`plan`]\nmod walk;\npub mod names;\npub(crate) mod plan;\nmod nam;\nmod inner {}\n";
        let found = |path: &str| -> Vec<usize> {
            find_maps(&[Source::new(path, text)]).iter().map(|finding| finding.line).collect()
        };
        assert_eq!(found("crates/megadir-new/src/lib.rs"), [6]);
        assert_eq!(found("crates/megadir-new/src/walk/mod.rs"), [0; 0]);
    }
}
