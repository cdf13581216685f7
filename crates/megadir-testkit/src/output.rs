//! What a program printed and ended with.

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
