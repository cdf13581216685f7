//! Rewords serde's messages for people who write study files and options.

use megadir::nearest::choices;

/// Rust's types as serde names them, and their plain names.
const TYPES: [(&str, &str); 12] = [
    ("a string", "a text in quotes"),
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
                true => format!("there is no {what} '{word}' here"),
                false => format!("there is no {what} '{word}': {}", choices(word, known.iter().copied())),
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
            return format!("this is {}, and {} is wanted", found_words(found), expected_words(expected));
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
        "string" => format!("the text {value}"),
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
                "this is the text \"many\", and a whole number is wanted",
            ),
            (
                "invalid type: integer `3`, expected a string",
                "this is the number 3, and a text in quotes is wanted",
            ),
            (
                "invalid value: integer `-1`, expected u32",
                "this is the number -1, and a whole number is wanted",
            ),
            (
                "invalid type: integer `3`, expected struct Size",
                "this is the number 3, and a table is wanted",
            ),
            ("duplicate key", "duplicate key"),
        ] {
            assert_eq!(plain(message), expected);
        }
        let variant = plain("unknown variant `wrm`, expected `warm` or `cold`");
        assert!(variant.starts_with("there is no value 'wrm': ") && variant.contains("warm"), "{variant}");
        let field = plain("unknown field `cachee`, expected one of `cache`, `name`");
        assert!(field.starts_with("there is no key 'cachee': ") && field.contains("cache"), "{field}");
    }
}
