//! Messages on standard error, one line each.

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;
use megadir::TreePath;

use super::escape;

/// The line of progress that is on the terminal now, if there is one.
static LINE: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Replaces std's `eprintln!`: escapes control characters, so that a quoted name can neither add a line nor
/// move the cursor, and ignores a closed or full standard error.
macro_rules! eprintln {
    ($($argument:tt)*) => { $crate::ui::message::line(::std::format_args!($($argument)*)) };
}

/// A failure is ignored: there is no other place for a message, and the work goes on.
pub(crate) fn line(message: fmt::Arguments<'_>) {
    let mut text = Vec::new();
    escape::control(&mut text, &message.to_string());
    text.push(b'\n');
    let _ = without_line(|| std::io::stderr().write_all(&text));
}

/// Whatever is written to the terminal until [`end_line`] goes above this line.
pub(crate) fn begin_line(bar: &ProgressBar) {
    *current() = Some(bar.clone());
}

pub(crate) fn end_line() {
    current().take();
}

/// As [`end_line`], and removes the line from the terminal.
pub(crate) fn clear_line() {
    if let Some(bar) = current().take() {
        bar.finish_and_clear();
    }
}

/// Everything else for the terminal is printed through this, or the line of progress would be torn.
pub(crate) fn without_line<R>(print: impl FnOnce() -> R) -> R {
    match &*current() {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

fn current() -> MutexGuard<'static, Option<ProgressBar>> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", escape::terminal_text(megadir::names::from_os(path.as_os_str())))
}

/// Path of an entry below a root, with the separators of the system.
pub(crate) fn tree_path(root: &[u8], below: &TreePath) -> Vec<u8> {
    let mut path = root.to_vec();
    if !below.is_empty() {
        let separator = std::path::MAIN_SEPARATOR as u8;
        if !path.last().is_some_and(|last| std::path::is_separator(char::from(*last))) {
            path.push(separator);
        }
        let start = path.len();
        below.push_to(&mut path);
        // On Windows no name contains a slash.
        path[start..].iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = separator);
    }
    path
}

/// As [`quoted`], also for bytes that are no path on this system.
pub(crate) fn quoted_bytes(path: &[u8]) -> String {
    match megadir::names::to_os(path) {
        Ok(path) => quoted(Path::new(&path)),
        Err(_) => format!("'{}'", path.escape_ascii()),
    }
}

/// Without Rust's "(os error N)".
pub(crate) fn reason(error: &std::io::Error) -> String {
    if error.kind() == std::io::ErrorKind::AlreadyExists {
        return "it exists; choose another name".to_owned();
    }
    megadir::reason_of(error)
}

/// Names the first of the entries of a directory that could not be examined for one reason.
pub(crate) fn unexamined(directory: &Path, first: &[u8], count: u64, reason: &str) -> String {
    let first = match megadir::names::to_os(first) {
        Ok(name) => quoted(&directory.join(&*name)),
        Err(_) => quoted(directory),
    };
    let others = match count - 1 {
        0 => String::new(),
        others => format!(", and {others} more there"),
    };
    format!("examine {first}{others}: {reason}")
}

pub(crate) fn counted(count: u64, singular: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { several })
}

/// The line with the number of each outcome that there is: `; 3 could not be read`.
pub(crate) fn with_outcomes<const N: usize>(mut line: String, outcomes: [(u64, &str); N]) -> String {
    for (number, outcome) in outcomes.into_iter().filter(|(number, _)| *number > 0) {
        line.push_str(&format!("; {number} {outcome}"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_path_stays_on_its_line() {
        assert_eq!(quoted("a\nb\x1b[31m".as_ref()), "'a\\nb\\x1b[31m'");
    }
}
