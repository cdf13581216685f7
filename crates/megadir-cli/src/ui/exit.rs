//! Exit codes, and the conversion of errors to one line and a code.
//!
//! The codes are an interface: scripts distinguish a failure in part (1), after which the same command may
//! be repeated, from one before anything was done (2, 3), and both from an answer (10, 11).

use std::fmt;
use std::path::{Path, PathBuf};

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;

use crate::ui::message::quoted;

pub(crate) const DONE: u8 = 0;
pub(crate) const SOME_FAILED: u8 = 1;
pub(crate) const USAGE: u8 = 2;
/// Missing, unavailable or no permission.
pub(crate) const NOTHING_RAN: u8 = 3;
/// The condition asked for was met, such as `--warn-at` or `--exit-code`. Far from the errors, so that
/// `megadir ... ||` in a script can distinguish the two.
pub(crate) const CONDITION_MET: u8 = 10;
pub(crate) const NOT_JUDGED: u8 = 11;
/// Contents differ although nothing else does.
pub(crate) const ROTTEN: u8 = 12;
/// Ctrl-C, SIGTERM, or the user declined.
pub(crate) const INTERRUPTED: u8 = 130;

/// With the operation, the object, the reason and a hint.
#[derive(Clone, Debug)]
pub(crate) struct CliError {
    pub(crate) message: String,
    pub(crate) code: u8,
}

impl CliError {
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), code: USAGE }
    }

    pub(crate) fn some_failed(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), code: SOME_FAILED }
    }

    pub(crate) fn interrupted(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), code: INTERRUPTED }
    }

    pub(crate) fn nothing_ran(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), code: NOTHING_RAN }
    }
}

/// A usage error with the first message whose condition holds.
pub(crate) fn refuse_if(rules: &[(bool, &str)]) -> Result<(), CliError> {
    match rules.iter().find(|(is_refused, _)| *is_refused) {
        Some((_, message)) => Err(CliError::usage(message)),
        None => Ok(()),
    }
}

/// Prints every error, and returns the highest exit code.
pub(crate) fn worst<const N: usize>(results: [Result<u8, CliError>; N]) -> u8 {
    let code = |result: Result<u8, CliError>| {
        result.unwrap_or_else(|error| {
            eprintln!("megadir: {error}");
            error.code
        })
    };
    results.into_iter().map(code).max().unwrap_or(DONE)
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

/// One line. A hint follows only where the reason alone does not lead to the remedy.
pub(crate) fn describe(error: &megadir::Error) -> String {
    use megadir::ErrorKind;
    let hint = match error.kind() {
        // A file is in the way: the error's path is the entry that could not be made.
        ErrorKind::NotADirectory if error.operation() != "create" => " (expected a directory)",
        ErrorKind::TooManyOpenFiles if cfg!(unix) => " (raise the limit with ulimit -n)",
        ErrorKind::Unavailable if error.operation() == "split" => " (use --backend getdents)",
        ErrorKind::Unavailable if error.operation() == "examine" => {
            " (omit --stat-backend or choose another)"
        }
        _ if cfg!(windows) => windows_hint(error.path()),
        _ => "",
    };
    let (operation, reason) = (error.operation(), error.reason());
    let note = if error.note().is_empty() { String::new() } else { format!("; {}", error.note()) };
    match error.path() {
        path if path.as_os_str().is_empty() => format!("{operation}: {reason}{hint}{note}"),
        path => format!("{operation} {}: {reason}{hint}{note}", quoted(path)),
    }
}

/// Without the path and the note, so equal for all errors of a kind.
pub(crate) fn kind(error: &megadir::Error) -> String {
    format!("{}: {}", error.operation(), error.reason())
}

/// Paths that Windows refuses with a general reason, although the cause is visible in them.
pub(crate) fn windows_hint(path: &Path) -> &'static str {
    let text = path.to_string_lossy();
    let below = text.strip_prefix(r"\\?\").unwrap_or(&text);
    if below.contains('"') {
        // Windows programs parse their command line by this rule.
        return r#" (a \ before a closing quote escapes the quote: write "C:\dir" or "C:\dir\\")"#;
    }
    if below.contains(['*', '?']) {
        return " (wildcards are not expanded: name the directory, and select entries with --match)";
    }
    let last = below.rsplit(['\\', '/']).next().unwrap_or_default();
    match megadir::names::refused_by_windows(last) {
        Some(reason) if reason.ends_with("device") => " (on Windows it names a device)",
        _ => "",
    }
}

/// clap prints the usage; here the error comes first and the pointer to `--help` last.
pub(crate) fn usage(error: &clap::Error) -> CliError {
    let rendered = error.to_string();
    let lines = rendered.lines().map(str::trim);
    let lines =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    // A negative number is a bad value, never meant as a path.
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("tip: to pass '-"));
    let words = lines.map(|line| format!("{}{line}", if line.starts_with("tip:") { "; " } else { " " }));
    let message: String = words.collect();
    let message = message.trim_start();
    let message = plain(message.strip_prefix("error: ").unwrap_or(message));
    let more = match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => "",
        _ => " (try --help)",
    };
    CliError::usage(format!("{message}{more}"))
}

/// Words of the standard library's parsers in plain English.
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

/// An empty path, such as one from an unset variable in a script, is refused here.
pub(crate) fn directory_parser() -> impl TypedValueParser<Value = PathBuf> {
    clap::builder::OsStringValueParser::new().try_map(|path| match path.is_empty() {
        true => Err("the path is empty; use '.' for the current directory"),
        false => Ok(PathBuf::from(path)),
    })
}

#[cfg(test)]
mod tests {
    use super::windows_hint;

    #[test]
    fn windows_paths_get_a_hint() {
        let hint = |path: &str| windows_hint(path.as_ref());
        assert!(hint(r#"C:\dir" --count"#).contains(r#""C:\dir""#));
        assert!(hint(r"dir\*.tmp").contains("--match") && hint(r"\\?\C:\dir\a?").contains("--match"));
        assert!(hint("NUL").contains("device") && hint(r"C:\dir\com1.txt").contains("device"));
        for plain in [r"\\?\C:\dir", r"C:\dir\", "null", ".", "", r"\\server\share"] {
            assert_eq!(hint(plain), "", "{plain}");
        }
    }
}
