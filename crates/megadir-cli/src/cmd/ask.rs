//! The question before a command changes many entries.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::exit::CliError;

pub(in crate::cmd) const UNASKED_MAX: u64 = 1000;

pub(in crate::cmd) fn question(what: &str) -> String {
    format!("megadir: {what}? [y/N] ")
}

/// Fails without a terminal; `unasked` says how to do without.
pub(in crate::cmd) fn yes(what: &str, unasked: &str) -> Result<bool, CliError> {
    let mut stderr = io::stderr();
    if !(io::stdin().is_terminal() && stderr.is_terminal()) {
        return Err(CliError::usage(format!("{what}: there is no terminal to ask on {unasked}")));
    }
    if stderr.write_all(question(what).as_bytes()).is_err() {
        return Ok(false);
    }
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
