//! Rewords serde's messages for people who write study files and options.

use megadir::nearest::choices;

/// Rust's types as serde names them, and their plain names.
const TYPES: [(&str, &str); 12] = [
    ("a string", "a string in quotes"),
    ("a sequence", "a list in [ ]"),
    ("a map", "a table"),
    ("a boolean", "true or false"),
    ("u8", "a whole number"),
    ("u16", "a whole number"),
    ("u32", "a whole number"),
    ("u64", "a whole number"),
    ("usize", "a whole number"),
    ("i64", "a whole number"),
    ("f64", "a number"),
    ("struct ", "a table"),
];

/// Rewords an error of serde or of a parser based on it; other messages stay unchanged.
pub fn plain(message: &str) -> String {
    let message = message.trim().replace('\n', ", ");
    for (start, what) in [("unknown field `", "key"), ("unknown variant `", "value")] {
        if let Some((word, rest)) = message.strip_prefix(start).and_then(|rest| rest.split_once('`')) {
            // serde puts the expected words in backquotes.
            let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
            return match known.is_empty() {
                true => format!("unknown {what} '{word}'"),
                false => format!("unknown {what} '{word}': {}", choices(word, known.iter().copied())),
            };
        }
    }
    if let Some(word) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return format!("the key '{word}' is missing");
    }
    for start in ["invalid type: ", "invalid value: "] {
        if let Some((found, expected)) =
            message.strip_prefix(start).and_then(|rest| rest.split_once(", expected "))
        {
            return format!("expected {}, found {}", expected_words(expected), found_words(found));
        }
    }
    message
}

fn expected_words(expected: &str) -> String {
    let found =
        TYPES.iter().find(|(name, _)| expected == *name || name.ends_with(' ') && expected.starts_with(name));
    found.map_or_else(|| expected.to_owned(), |(_, plain)| (*plain).to_owned())
}

fn found_words(found: &str) -> String {
    let (kind, value) = found.split_once(' ').unwrap_or((found, ""));
    match kind {
        "string" => format!("the string {value}"),
        "integer" | "floating" => {
            format!("the number {}", value.trim_start_matches("point ").trim_matches('`'))
        }
        "boolean" => format!("the value {}", value.trim_matches('`')),
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn messages_are_sentences_without_words_of_rust() {
        for (message, expected) in [
            ("missing field `name`", "the key 'name' is missing"),
            (
                "invalid type: string \"many\", expected u64",
                "expected a whole number, found the string \"many\"",
            ),
            (
                "invalid type: integer `3`, expected a string",
                "expected a string in quotes, found the number 3",
            ),
            ("invalid value: integer `-1`, expected u32", "expected a whole number, found the number -1"),
            ("invalid type: integer `3`, expected struct Size", "expected a table, found the number 3"),
            ("duplicate key", "duplicate key"),
        ] {
            assert_eq!(plain(message), expected);
        }
        let variant = plain("unknown variant `wrm`, expected `warm` or `cold`");
        assert!(variant.starts_with("unknown value 'wrm': ") && variant.contains("warm"), "{variant}");
        let field = plain("unknown field `cachee`, expected one of `cache`, `name`");
        assert!(field.starts_with("unknown key 'cachee': ") && field.contains("cache"), "{field}");
    }
}
