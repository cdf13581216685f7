//! Names as bytes: the kernel's own on Unix, WTF-8 on Windows (UTF-8 plus unpaired surrogates,
//! <https://simonsapin.github.io/wtf-8/>).

use std::borrow::Cow;
use std::ffi::OsStr;

/// Bytes of a name.
pub fn from_os(name: &OsStr) -> &[u8] {
    name.as_encoded_bytes()
}

/// Converts bytes to a name. Errors: on Windows, bytes that are not WTF-8.
pub fn to_os(name: &[u8]) -> crate::Result<Cow<'_, OsStr>> {
    #[cfg(unix)]
    {
        Ok(Cow::Borrowed(std::os::unix::ffi::OsStrExt::from_bytes(name)))
    }
    #[cfg(not(unix))]
    {
        if let Ok(name) = std::str::from_utf8(name) {
            return Ok(Cow::Borrowed(OsStr::new(name)));
        }
        #[cfg(windows)]
        if let Some(wide) = to_wide(name) {
            return Ok(Cow::Owned(std::os::windows::ffi::OsStringExt::from_wide(&wide)));
        }
        Err(crate::Error::new(
            "open",
            std::path::Path::new(&*String::from_utf8_lossy(name)),
            crate::ErrorKind::Unavailable,
            "not a valid name on this system (not WTF-8)",
        ))
    }
}

/// Returns why Windows programs cannot use a name or would take it for another one; `None` if they can.
/// Reference: Naming Files, Paths, and Namespaces, learn.microsoft.com/windows/win32/fileio/naming-a-file.
///
/// ```
/// use megadir::names::refused_by_windows;
/// assert_eq!(refused_by_windows("nul.txt"), Some("on Windows it names a device"));
/// assert_eq!(refused_by_windows("null.txt"), None);
/// ```
pub fn refused_by_windows(text: &str) -> Option<&'static str> {
    if text.chars().any(|c| c < ' ' || r#"<>:"\|?*"#.contains(c)) {
        return Some(r#"Windows allows no < > : " \ | ? * and no control characters in names"#);
    }
    if text.ends_with(['.', ' ']) {
        return Some("Windows drops dots and spaces at the end of names");
    }
    let stem = text.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = |device| {
        let number = stem.strip_prefix(device).map(str::chars);
        number.is_some_and(|mut rest| {
            matches!((rest.next(), rest.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
        })
    };
    let device = matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$");
    (device || numbered("COM") || numbered("LPT")).then_some("on Windows it names a device")
}

/// `true` if the bytes name one entry of a directory: not empty, not `.` or `..`, no separator, no NUL.
/// Others would lead elsewhere.
///
/// ```
/// use megadir::names::is_component;
/// assert!(is_component(b"a") && is_component(b"...") && is_component(b"\xff"));
/// let others: [&[u8]; 6] = [b"", b".", b"..", b"a/b", b"/", b"a\0b"];
/// assert!(!others.iter().any(|name| is_component(name)));
/// ```
pub fn is_component(name: &[u8]) -> bool {
    let separates = |byte: &u8| matches!(byte, b'/' | 0) || cfg!(windows) && *byte == b'\\';
    !matches!(name, b"" | b"." | b"..") && !name.iter().any(separates)
}

/// `true` if a terminal would act on the character or show nothing for it: control characters, characters that reorder text (Unicode's
/// `Bidi_Control`), line and paragraph separators, and characters without width (`Default_Ignorable_Code_Point`, among them joiners, tags and
/// variation selectors). Escape names with one, otherwise two names may look alike.
///
/// ```
/// use megadir::names::acts_on_terminals;
/// assert!("\n\u{1b}\u{9b}\u{202e}\u{2028}\u{200b}\u{feff}\u{e0041}".chars().all(acts_on_terminals));
/// assert!(!"grün 日本 ﷺ 😀".chars().any(acts_on_terminals));
/// ```
pub fn acts_on_terminals(character: char) -> bool {
    // Every block but the first is rare in names.
    if character < '\u{ad}' {
        return character.is_control();
    }
    let shows_nothing = matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    let reorders = matches!(character, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}');
    shows_nothing || reorders || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Appends a UTF-16 name as WTF-8.
///
/// ```
/// let mut name = Vec::new();
/// megadir::names::push_wide(&mut name, [0x61, 0xe9, 0xd800]);
/// assert_eq!(name, b"a\xc3\xa9\xed\xa0\x80");
/// ```
pub fn push_wide(name: &mut Vec<u8>, wide: impl IntoIterator<Item = u16>) {
    for decoded in char::decode_utf16(wide) {
        match decoded {
            Ok(character) if character.is_ascii() => name.push(character as u8),
            Ok(character) => name.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(unpaired) => {
                let unit = unpaired.unpaired_surrogate();
                let low = |bits: u16| 0x80 | (bits & 0x3f) as u8;
                name.extend_from_slice(&[0xed, low(unit >> 6), low(unit)]);
            }
        }
    }
}

/// Converts a WTF-8 name to UTF-16; `None` if it is not WTF-8, for example a surrogate pair encoded as two surrogates.
///
/// ```
/// assert_eq!(megadir::names::to_wide(b"a\xed\xa0\x80"), Some(vec![0x61, 0xd800]));
/// assert_eq!(megadir::names::to_wide(b"\xff"), None);
/// ```
pub fn to_wide(name: &[u8]) -> Option<Vec<u16>> {
    let mut wide = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.first() {
        let length = match first {
            0xed if rest.get(1).is_some_and(|second| *second >= 0xa0) => {
                let unit = surrogate(rest)?;
                let follows_leading = wide.last().is_some_and(|last| (0xd800..0xdc00).contains(last));
                if unit >= 0xdc00 && follows_leading {
                    return None;
                }
                wide.push(unit);
                rest = &rest[3..];
                continue;
            }
            0..0x80 => 1,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        let (character, behind) = rest.split_at_checked(length)?;
        wide.extend(std::str::from_utf8(character).ok()?.encode_utf16());
        rest = behind;
    }
    Some(wide)
}

fn surrogate(bytes: &[u8]) -> Option<u16> {
    let [0xed, second @ 0xa0..0xc0, third @ 0x80..0xc0] = *bytes.first_chunk()? else { return None };
    Some(0xd000 | (u16::from(second & 0x3f) << 6) | u16::from(third & 0x3f))
}

#[cfg(test)]
mod tests {
    use super::{push_wide, to_wide};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_name_of_utf_16_survives(wide in prop::collection::vec(
            prop_oneof![any::<u16>(), 0xd7f0u16..0xe010, 0u16..0x80], 0..40)) {
            let mut name = Vec::new();
            push_wide(&mut name, wide.iter().copied());
            prop_assert_eq!(to_wide(&name), Some(wide));
        }

        #[test]
        fn bytes_that_are_taken_have_no_other_form(name in prop::collection::vec(
            prop_oneof![any::<u8>(), Just(0xed), 0x9cu8..0xc4], 0..12)) {
            if let Some(wide) = to_wide(&name) {
                let mut again = Vec::new();
                push_wide(&mut again, wide);
                prop_assert_eq!(again, name);
            }
        }

        #[test]
        fn utf_8_is_taken_as_the_standard_library_takes_it(text in ".{0,20}") {
            prop_assert_eq!(to_wide(text.as_bytes()), Some(text.encode_utf16().collect()));
        }
    }

    #[test]
    fn a_pair_written_as_two_is_refused() {
        assert_eq!(to_wide(b"\xed\xa0\xbd\xed\xb8\x80"), None);
        assert_eq!(to_wide(b"\xed\xb8\x80\xed\xa0\xbd"), Some(vec![0xde00, 0xd83d]));
        assert_eq!(to_wide(b"\xed\xa0"), None);
        assert_eq!(to_wide(b"\xc0\x80"), None);
    }
}
