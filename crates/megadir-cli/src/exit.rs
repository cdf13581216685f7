//! Exit codes and the one place where errors become a line and a code.

use std::fmt;

/// All was done.
pub(crate) const DONE: u8 = 0;
/// Done, but some entries failed.
pub(crate) const SOME_FAILED: u8 = 1;
/// The command line cannot be understood.
pub(crate) const USAGE: u8 = 2;
/// Nothing could run: missing, unavailable, no permission.
pub(crate) const NOTHING_RAN: u8 = 3;
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
        ErrorKind::NotADirectory => " (list takes directories)",
        ErrorKind::TooManyOpenFiles => " (raise the limit with ulimit -n)",
        ErrorKind::Unavailable if error.operation() == "split" => " (use --backend getdents)",
        _ => "",
    };
    format!("{error}{hint}")
}
