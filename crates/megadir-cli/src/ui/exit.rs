//! Exit codes and the one place where errors become a line and a code.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;

use crate::ui::message::quoted;

/// All was done.
pub(crate) const DONE: u8 = 0;
/// Done, but some entries failed.
pub(crate) const SOME_FAILED: u8 = 1;
/// The command line cannot be understood.
pub(crate) const USAGE: u8 = 2;
/// Nothing could run: missing, unavailable, no permission.
pub(crate) const NOTHING_RAN: u8 = 3;
/// The condition asked for was met.
pub(crate) const CONDITION_MET: u8 = 10;
/// The condition asked for could not be judged.
pub(crate) const NOT_JUDGED: u8 = 11;
/// Ended by Ctrl-C or a request to terminate.
pub(crate) const INTERRUPTED: u8 = 130;

/// An error for the user: one line that says what, where and what to try, and the exit code.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) message: String,
    pub(crate) code: u8,
}

impl CliError {
    /// Makes an error with exit code 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: USAGE }
    }

    /// Makes an error with exit code 3.
    pub(crate) fn nothing_ran(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: NOTHING_RAN }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<megadir::Error> for CliError {
    fn from(error: megadir::Error) -> Self {
        use megadir::ErrorKind;
        let code = match error.kind() {
            ErrorKind::UnknownBackend | ErrorKind::BadOption => USAGE,
            _ => NOTHING_RAN,
        };
        Self { message: describe(&error), code }
    }
}

/// Returns an error of the library with what to try, where there is something to try.
pub(crate) fn describe(error: &megadir::Error) -> String {
    use megadir::ErrorKind;
    let hint = match error.kind() {
        ErrorKind::NotADirectory => " (a directory is wanted)",
        ErrorKind::TooManyOpenFiles if cfg!(unix) => " (raise the limit with ulimit -n)",
        ErrorKind::Unavailable if error.operation() == "split" => " (use --backend getdents)",
        ErrorKind::Unavailable if error.operation() == "examine" => {
            " (leave --examiner out, or name another)"
        }
        _ if cfg!(windows) => windows_hint(error.path()),
        _ => "",
    };
    let (operation, reason) = (error.operation(), error.reason());
    match error.path() {
        path if path.as_os_str().is_empty() => format!("{operation}: {reason}{hint}"),
        path => format!("{operation} {}: {reason}{hint}", quoted(path)),
    }
}

/// Returns what was done and why it failed, without where: the same for all errors of a kind.
pub(crate) fn kind(error: &megadir::Error) -> String {
    format!("{}: {}", error.operation(), error.reason())
}

/// Returns what may be wrong with a path that Windows has refused, where that can be seen in it.
pub(crate) fn windows_hint(path: &Path) -> &'static str {
    let text = path.to_string_lossy();
    let below = text.strip_prefix(r"\\?\").unwrap_or(&text);
    if below.contains('"') {
        // The rule by which all programs take their arguments apart.
        return r#" (a \ before a closing quote stands for the quote: write "C:\dir", or "C:\dir\\")"#;
    }
    if below.contains(['*', '?']) {
        return " (wildcards are not expanded: name the directory; list and remove choose entries by --match)";
    }
    let last = below.rsplit(['\\', '/']).next().unwrap_or_default();
    match megadir::names::refused_by_windows(last) {
        Some(reason) if reason.ends_with("device") => " (on Windows it names a device)",
        _ => "",
    }
}

/// Returns what the parser of arguments complains about as one line.
///
/// The parser prints a paragraph with the usage and where to find more; here what is wrong comes first
/// and `--help` last, on one line like every other error.
pub(crate) fn usage(error: &clap::Error) -> CliError {
    let rendered = error.to_string();
    let mut message = String::new();
    for line in rendered.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // A negative number is a value that is not accepted, never one that was meant as a path.
        if line.starts_with("tip: to pass '-") {
            continue;
        }
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        if !message.is_empty() {
            message.push_str(if line.starts_with("tip:") { "; " } else { " " });
        }
        message.push_str(line);
    }
    let message = plain(message.strip_prefix("error: ").unwrap_or(&message));
    // A value that is refused comes with those that are not.
    let more = match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => "",
        _ => " (--help tells more)",
    };
    CliError::usage(format!("{message}{more}"))
}

/// Returns a complaint of the parser with the standard library's words about numbers made plain.
fn plain(message: &str) -> String {
    const WORDS: [(&str, &str); 6] = [
        ("invalid digit found in string", "write a whole number"),
        ("cannot parse integer from empty string", "write a whole number"),
        ("number too large to fit in target type", "the number is too large"),
        ("number too small to fit in target type", "the number is too small"),
        ("invalid float literal", "write a number"),
        ("cannot parse float from empty string", "write a number"),
    ];
    WORDS.iter().fold(message.to_owned(), |text, (raw, plain)| text.replace(raw, plain))
}

/// Parses a directory's path: any but the empty one.
pub(crate) fn directory_parser() -> impl TypedValueParser<Value = PathBuf> {
    clap::builder::OsStringValueParser::new().try_map(|path| match path.is_empty() {
        true => Err("an empty path names no directory; '.' is the current one"),
        false => Ok(PathBuf::from(path)),
    })
}

#[cfg(test)]
mod tests {
    use super::windows_hint;

    #[test]
    fn what_windows_refuses_about_a_path_is_told() {
        let hint = |path: &str| windows_hint(path.as_ref());
        assert!(hint(r#"C:\dir" --count"#).contains(r#""C:\dir""#));
        assert!(hint(r"dir\*.tmp").contains("--match") && hint(r"\\?\C:\dir\a?").contains("--match"));
        assert!(hint("NUL").contains("device") && hint(r"C:\dir\com1.txt").contains("device"));
        for plain in [r"\\?\C:\dir", r"C:\dir\", "null", ".", "", r"\\server\share"] {
            assert_eq!(hint(plain), "", "{plain}");
        }
    }
}
