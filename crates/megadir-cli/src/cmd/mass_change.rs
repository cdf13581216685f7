//! Commands that change many entries (`remove`, `reshard`): common options, the question, failures for JSON, and the size that a directory keeps.

use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Duration;

use megadir::{Dir, Error, FileSystem, names};

use crate::cmd::amount::{amount, seconds};
use crate::cmd::progress::estimate;
use crate::exit::{self, CliError};
use crate::ui::object::Object;
use crate::ui::screen::wrapped;
use crate::ui::sizes;

/// Options as given.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(in crate::cmd) struct ChangeOptions {
    /// Do not ask for confirmation
    ///
    /// Without it, changing more than 1000 entries, or an unknown number, needs a confirmation, and fails if there is no terminal.
    #[arg(short = 'y', long, help_heading = "Confirmation and output")]
    pub(in crate::cmd) yes: bool,
    /// Print every error (default: the first ten of each kind, then a count)
    #[arg(long, help_heading = "Confirmation and output")]
    pub(in crate::cmd) all_errors: bool,
    /// Print only errors
    #[arg(short, long, conflicts_with_all = ["json", "dry_run"], help_heading = "Confirmation and output")]
    pub(in crate::cmd) quiet: bool,
    /// Print a JSON object with the result
    // The command adds its fields.
    #[arg(long, help_heading = "Confirmation and output")]
    pub(in crate::cmd) json: bool,
}

/// Most entries that are changed without a question.
pub(in crate::cmd) const UNCONFIRMED_MAX: u64 = 1000;

/// The narrowest usual terminal, less the space after the question and the answer.
const QUESTION_COLUMNS: usize = 78;

pub(in crate::cmd) fn question(action: &str) -> String {
    let mut text = String::new();
    wrapped(&mut text, QUESTION_COLUMNS, ("", "  "), &format!("megadir: {action}? [y/N]"));
    text.pop();
    text.push(' ');
    text
}

/// `true` for yes. Fails without a terminal; `alternatives` names the options that need no question.
pub(in crate::cmd) fn request_confirmation(action: &str, alternatives: &str) -> Result<bool, CliError> {
    let mut stderr = io::stderr();
    if !(io::stdin().is_terminal() && stderr.is_terminal()) {
        return Err(CliError::usage(format!("{action}: there is no terminal to ask on {alternatives}")));
    }
    if stderr.write_all(question(action).as_bytes()).is_err() {
        return Ok(false);
    }
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Most failures in JSON.
pub(in crate::cmd) const KEPT_MAX: usize = 1000;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::cmd) struct Failure {
    path: Option<Vec<u8>>,
    pub(in crate::cmd) reason: String,
}

impl Failure {
    pub(in crate::cmd) fn of(error: &Error) -> Self {
        let path = names::from_os(error.path().as_os_str()).to_vec();
        Self { path: (!path.is_empty()).then_some(path), reason: exit::kind(error) }
    }

    pub(in crate::cmd) fn at(path: &[u8], reason: String) -> Self {
        Self { path: Some(path.to_vec()), reason }
    }

    pub(in crate::cmd) fn write(&self, object: &mut Object<'_>) {
        if let Some(path) = &self.path {
            object.name("path", path);
        }
        object.string("reason", &self.reason);
    }

    pub(in crate::cmd) fn of_message(message: &str) -> Self {
        Self { path: None, reason: message.to_owned() }
    }
}

/// `failed`, and the number of failures that it leaves out.
pub(in crate::cmd) fn list_failures(object: &mut Object<'_>, kept: &[Failure], all: u64) {
    object.list("failed", kept, |row, failure| failure.write(row));
    object.raw("failed_left_out", all - kept.len() as u64);
}

/// Shorter runs are too noisy for a rate.
const RATE_FROM_S: f64 = 0.1;

/// The end of a sentence about `changed` entries.
pub(in crate::cmd) fn in_time(changed: u64, elapsed: Duration) -> String {
    let elapsed_s = elapsed.as_secs_f64();
    let time = format!(", in {}", seconds(elapsed_s));
    match changed > 0 && elapsed_s >= RATE_FROM_S {
        true => format!("{time} ({}/s)", amount((changed as f64 / elapsed_s) as u64)),
        false => time,
    }
}

/// Smaller directories are not mentioned: listing reads all of a directory's size.
const LARGE_BYTES: u64 = 1 << 20;

/// An ext4 directory has about 40 bytes for a short name, and is half full after names were added in any order.
const BYTES_EACH: u64 = 80;

/// `true` if a directory takes four times the bytes that its entries need, or more.
pub(in crate::cmd) fn is_hollow(directory: &Dir) -> bool {
    let size_bytes = directory.size_bytes().unwrap_or(0);
    estimate(directory).is_some_and(|entries| entries.saturating_mul(BYTES_EACH) < size_bytes / 4)
}

/// Size that a directory keeps after its entries are gone: the rest of a message that begins with its name; `None` if it does not matter.
pub(in crate::cmd) fn size_kept(directory: &Dir) -> Option<String> {
    if directory.file_system() != FileSystem::Ext4 {
        return None;
    }
    let size_bytes = directory.size_bytes().ok().filter(|size| *size >= LARGE_BYTES)?;
    let size = sizes::text(size_bytes);
    Some(format!("keeps its size of {size} because ext4 directories never shrink, so listing it stays slow"))
}
