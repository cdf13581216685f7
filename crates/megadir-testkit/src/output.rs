//! Checks on the output and exit code of a program.

use std::path::Path;
use std::process::Output;

/// Ignores line wrapping, and accepts stdout or stderr.
#[track_caller]
pub fn assert_output(output: &Output, code: i32, words: &str) {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    let all = format!("{out} {err}").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(all.contains(words), "nothing about '{words}' in:\n{out}{err}");
}

/// `file` is relative to the crate (`CARGO_MANIFEST_DIR`); `MEGADIR_BLESS=1` writes it first.
#[track_caller]
pub fn golden(directory: &str, file: &str, text: &str) {
    let path = Path::new(directory).join(file);
    if std::env::var_os("MEGADIR_BLESS").is_some_and(|value| value == "1") {
        // Written first and compared then, so that a golden that cannot be written fails as well.
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "differs from {file} (MEGADIR_BLESS=1 rewrites it):\n{text}");
}
