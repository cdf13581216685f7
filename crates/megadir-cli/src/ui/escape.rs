//! Escaping of names. On a terminal, control characters, bidirectional controls, characters without width and bytes that are not UTF-8
//! become `\n` or `\xff`, so that a name can neither move the cursor nor be taken for another one. JSON has
//! a name that is not UTF-8 as hex under the key with `_hex` appended. CSV has the bytes of a name as they
//! are.
//!
//! | output | form of a name |
//! |---|---|
//! | terminal, messages | `terminal`: backslash doubled, so that an escape is never part of the name |
//! | pipe, null-terminated | the bytes |
//! | JSON | `json_member`: text, or hex under `KEY_hex` |
//! | CSV | `csv_value`: the bytes, quoted where RFC 4180 requires it |

use std::io::Write;

use megadir::names::acts_on_terminals;

pub(crate) fn terminal(text: &mut Vec<u8>, name: &[u8]) {
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                // Separates names on Windows, where names hold no control characters.
                '\\' if cfg!(not(windows)) => text.extend_from_slice(b"\\\\"),
                other => push(text, other),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
}

/// Escaped on a terminal.
pub(crate) fn name(text: &mut Vec<u8>, name: &[u8], on_terminal: bool) {
    match on_terminal {
        true => terminal(text, name),
        false => text.extend_from_slice(name),
    }
}

pub(crate) fn terminal_text(name: &[u8]) -> String {
    let mut text = Vec::new();
    terminal(&mut text, name);
    String::from_utf8_lossy(&text).into_owned()
}

/// For whole messages: a backslash stays, since the names in them are escaped already.
pub(crate) fn control(text: &mut Vec<u8>, plain: &str) {
    for character in plain.chars() {
        push(text, character);
    }
}

fn push(text: &mut Vec<u8>, character: char) {
    let mut bytes = [0; 4];
    match character {
        '\n' => text.extend_from_slice(b"\\n"),
        '\t' => text.extend_from_slice(b"\\t"),
        '\r' => text.extend_from_slice(b"\\r"),
        control if acts_on_terminals(control) => {
            for byte in control.encode_utf8(&mut bytes).bytes() {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
        plain => text.extend_from_slice(plain.encode_utf8(&mut bytes).as_bytes()),
    }
}

/// Or `"key_hex":"..."` for a name that is not UTF-8.
pub(crate) fn json_member(text: &mut Vec<u8>, key: &str, name: &[u8]) {
    text.push(b'"');
    text.extend_from_slice(key.as_bytes());
    match std::str::from_utf8(name) {
        Ok(name) => {
            text.extend_from_slice(b"\":");
            json_string(text, name);
        }
        Err(_) => {
            text.extend_from_slice(b"_hex\":\"");
            text.extend_from_slice(hex(name).as_bytes());
            text.push(b'"');
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Without the formatting machinery.
pub(crate) fn number(text: &mut Vec<u8>, number: impl itoa::Integer) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Field of a row, quoted if RFC 4180 requires it.
pub(crate) fn csv_value(text: &mut Vec<u8>, value: &[u8]) {
    if !value.iter().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
        return text.extend_from_slice(value);
    }
    text.push(b'"');
    for &byte in value {
        if byte == b'"' {
            text.push(b'"');
        }
        text.push(byte);
    }
    text.push(b'"');
}

/// Escapes more than JSON requires: terminals act on or hide some characters that it allows (U+007F to
/// U+009F, bidirectional controls, characters without width), and JSON is printed on terminals, too.
pub(crate) fn json_string(text: &mut Vec<u8>, value: &str) {
    let plain = |byte: u8| byte >= 0x20 && !matches!(byte, b'"' | b'\\' | 0x7f);
    text.push(b'"');
    if value.is_ascii() && value.bytes().all(plain) {
        text.extend_from_slice(value.as_bytes());
    } else {
        for character in value.chars() {
            match character {
                '"' => text.extend_from_slice(b"\\\""),
                '\\' => text.extend_from_slice(b"\\\\"),
                '\n' => text.extend_from_slice(b"\\n"),
                '\t' => text.extend_from_slice(b"\\t"),
                '\r' => text.extend_from_slice(b"\\r"),
                control if acts_on_terminals(control) => {
                    for unit in control.encode_utf16(&mut [0; 2]) {
                        let _ = write!(text, "\\u{unit:04x}");
                    }
                }
                other => text.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }
    text.push(b'"');
}

pub(crate) fn json_or_null(value: Option<impl std::fmt::Display>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::{control, csv_value, json_member, terminal};

    fn on_terminal(name: &[u8]) -> String {
        let mut text = Vec::new();
        terminal(&mut text, name);
        String::from_utf8(text).unwrap()
    }

    fn as_json(name: &[u8]) -> String {
        let mut text = b"{".to_vec();
        json_member(&mut text, "name", name);
        text.push(b'}');
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_name_cannot_move_the_cursor() {
        assert_eq!(on_terminal(b"a\x1b[2Jb\n\xffc\xc2\x9bd"), "a\\x1b[2Jb\\n\\xffc\\xc2\\x9bd");
        assert_eq!(on_terminal("grün 日本".as_bytes()), "grün 日本");
        assert_eq!(on_terminal(b"back\\slash"), "back\\\\slash");
        assert_eq!(
            on_terminal("x\u{202e}gpj\u{2028}ش\u{61c}–".as_bytes()),
            "x\\xe2\\x80\\xaegpj\\xe2\\x80\\xa8ش\\xd8\\x9c–"
        );
        let mut text = Vec::new();
        control(&mut text, "back\\slash\nü");
        assert_eq!(text, "back\\slash\\nü".as_bytes());
    }

    #[test]
    fn values_of_csv_are_quoted_where_they_must_be_and_keep_their_bytes() {
        for (value, written) in [
            (&b"plain"[..], &b"plain"[..]),
            (b"", b""),
            (b"a,b", b"\"a,b\""),
            (b"say \"x\"\n", b"\"say \"\"x\"\"\n\""),
            (b"a\xff\\xff", b"a\xff\\xff"),
        ] {
            let mut text = Vec::new();
            csv_value(&mut text, value);
            assert_eq!(text, written);
        }
    }

    #[test]
    fn every_name_has_one_json_form_that_leads_back() {
        assert_eq!(as_json(b"plain"), r#"{"name":"plain"}"#);
        assert_eq!(as_json(b"q\"\\\n\x01"), r#"{"name":"q\"\\\n\u0001"}"#);
        assert_eq!(as_json(b"f\xff"), r#"{"name_hex":"66ff"}"#);
        assert_eq!(
            as_json("x\u{202e}ش\u{61c}–\u{2066}\u{2029}".as_bytes()),
            r#"{"name":"x\u202eش\u061c–\u2066\u2029"}"#
        );
        assert_eq!(as_json("\u{7f}\u{9b}§é".as_bytes()), r#"{"name":"\u007f\u009b§é"}"#);
        assert_eq!(as_json("a\u{200b}\u{e0041}日".as_bytes()), r#"{"name":"a\u200b\udb40\udc41日"}"#);
    }
}
