//! Standard error: one line a message, whatever names it quotes.

use std::fmt;
use std::io::Write;
use std::path::Path;

use super::escape;

/// Prints a message as one line on standard error, as `eprintln!` of std does, but for two things.
///
/// Control characters of quoted names are escaped, so that a name can neither make a second line nor
/// move the cursor; and a standard error that takes nothing (closed, full) does not end the program.
macro_rules! eprintln {
    ($($argument:tt)*) => { $crate::ui::message::line(::std::format_args!($($argument)*)) };
}

/// Prints a line; what [`eprintln`] stands for.
pub(crate) fn line(message: fmt::Arguments<'_>) {
    let mut text = Vec::new();
    escape::control(&mut text, &message.to_string());
    text.push(b'\n');
    // Where even the complaint cannot be written, the exit code is all that is left.
    let _ = std::io::stderr().write_all(&text);
}

/// Returns a path as messages quote it: control characters and bytes that are not UTF-8 are escaped.
pub(crate) fn quoted(path: &Path) -> String {
    let mut text = Vec::new();
    escape::terminal(&mut text, megadir::names::from_os(path.as_os_str()));
    format!("'{}'", String::from_utf8_lossy(&text))
}

/// Returns the system's words for an error, without Rust's "(os error N)".
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_path_stays_on_its_line() {
        assert_eq!(quoted("a\nb\x1b[31m".as_ref()), "'a\\nb\\x1b[31m'");
    }
}
