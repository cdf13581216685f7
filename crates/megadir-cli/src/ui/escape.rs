//! Names on a terminal and in JSON.
//!
//! A name may hold any byte but `/` and NUL. On a terminal, control characters and bytes that are not
//! UTF-8 are shown as `\n` or `\xff`, so that a name cannot move the cursor; elsewhere names pass unharmed.
//! In JSON a name that is UTF-8 is a string under its key; one that is not is the lower-case hex of its
//! bytes under the key with `_hex` appended, so that no name is lost and none is ambiguous.

use std::io::Write;

/// Appends a name as a terminal may show it.
pub(crate) fn terminal(text: &mut Vec<u8>, name: &[u8]) {
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => text.extend_from_slice(b"\\n"),
                '\t' => text.extend_from_slice(b"\\t"),
                '\r' => text.extend_from_slice(b"\\r"),
                '\\' => text.extend_from_slice(b"\\\\"),
                control if control.is_control() => push_hex_escape(text, control),
                plain => text.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a Vec cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
}

fn push_hex_escape(text: &mut Vec<u8>, control: char) {
    for byte in control.encode_utf8(&mut [0; 4]).bytes() {
        let _ = write!(text, "\\x{byte:02x}");
    }
}

/// Appends `"key":"name"`, or `"key_hex":"..."` for a name that is not UTF-8.
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
            for byte in name {
                let digits = b"0123456789abcdef";
                text.push(digits[usize::from(byte >> 4)]);
                text.push(digits[usize::from(byte & 15)]);
            }
            text.push(b'"');
        }
    }
}

/// Appends a JSON string.
fn json_string(text: &mut Vec<u8>, value: &str) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if value.bytes().all(plain) {
        text.push(b'"');
        text.extend_from_slice(value.as_bytes());
        text.push(b'"');
    } else {
        // Writing a string to a Vec cannot fail.
        let _ = serde_json::to_writer(text, value);
    }
}

#[cfg(test)]
mod tests {
    use super::{json_member, terminal};

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
    }

    #[test]
    fn every_name_has_one_json_form_that_leads_back() {
        assert_eq!(as_json(b"plain"), r#"{"name":"plain"}"#);
        assert_eq!(as_json(b"q\"\\\n\x01"), r#"{"name":"q\"\\\n\u0001"}"#);
        assert_eq!(as_json(b"f\xff"), r#"{"name_hex":"66ff"}"#);
    }
}
