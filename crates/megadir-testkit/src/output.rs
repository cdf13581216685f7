//! What a program printed and ended with.

use std::path::Path;
use std::process::Output;

/// Checks that a program ended with `code` and said `words` on either stream, however its lines are wrapped.
///
/// # Panics
///
/// When it did not; with all that it said.
#[track_caller]
pub fn says(output: &Output, code: i32, words: &str) {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    let all = format!("{out} {err}").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(all.contains(words), "nothing about '{words}' in:\n{out}{err}");
}

/// Checks that a text is that of a file, `file` below a crate's directory (`CARGO_MANIFEST_DIR`), to the byte; with `MEGADIR_BLESS=1` the
/// file is written anew first.
///
/// # Panics
///
/// When it is another; with the text.
#[track_caller]
pub fn golden(directory: &str, file: &str, text: &str) {
    let path = Path::new(directory).join(file);
    if std::env::var_os("MEGADIR_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "differs from {file} (MEGADIR_BLESS=1 writes it anew):\n{text}");
}
