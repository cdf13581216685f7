//! The paths that a removal takes away: printed by a dry run, or written to a log.
//!
//! A line is written before its entry goes. If the removal fails, a second line with the reason follows; so
//! the log of a killed process names at least all that is missing:
//!
//! ```text
//! {"path": .., "type": ..}      about to be removed ─► removed: no further line
//!                                                 └─► stayed:  {"path": .., "failed": ..}
//! ```

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use megadir::{Error, FileType, names};
use megadir_inventory::{open_file, open_to_write};

use super::args::Args;
use crate::exit::{self, CliError};
use crate::ui::escape;
use crate::ui::message::{quoted, reason};
use crate::ui::object::Object;
use crate::ui::output::{Ended, Output};

/// A crash of the machine loses at most the entries of this time, of the log and of the removal alike.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Receives each entry just before it is removed.
pub(super) enum Log {
    None,
    File(Mutex<Lines>),
    List { output: Mutex<(Output, Option<Ended>)>, end: u8 },
}

/// File of `--log`, under a mutex. `failed` keeps the first error: after it, no further entry may go, because its
/// removal could not be recorded. `name` is for messages, `line` a buffer, and `synced` the time when the file was
/// last written to the disk.
pub(super) struct Lines {
    file: File,
    name: String,
    line: Vec<u8>,
    synced: Instant,
    failed: Option<io::Error>,
}

impl Log {
    pub(super) fn open(args: &Args) -> Result<Self, CliError> {
        if args.list {
            let end = if args.null { 0 } else { b'\n' };
            return Ok(Self::List { output: Mutex::new((Output::new()?, None)), end });
        }
        let Some(path) = &args.log else { return Ok(Self::None) };
        let name = quoted(path);
        let failed = |error| CliError::nothing_ran(format!("--log {name}: {}", reason(&error)));
        // An older log is continued: the same command may have been interrupted.
        // Opened for appending, so lines of two runs cannot overwrite each other.
        let file = open_to_write(path, File::options().create(true).append(true)).map_err(|error| {
            let message = format!("--log {name}: {}", error.reason());
            CliError { message, ..error.into() }
        })?;
        if file.metadata().is_ok_and(|status| status.is_file()) {
            end_last_line(path, &file).map_err(failed)?;
        }
        let line = Vec::new();
        Ok(Self::File(Mutex::new(Lines { file, name, line, synced: Instant::now(), failed: None })))
    }

    /// `false` if it cannot be recorded: then the entry must stay.
    pub(super) fn goes(&self, path: &Path, kind: FileType) -> bool {
        let bytes = names::from_os(path.as_os_str());
        match self {
            Self::None => true,
            Self::File(lines) => lock(lines).write(|line| {
                line.name("path", bytes);
                line.string("type", kind.name());
            }),
            Self::List { output, end } => {
                let (output, ended) = &mut *lock(output);
                let is_shown = output.is_terminal() && *end == b'\n';
                escape::name(&mut output.text, bytes, is_shown);
                output.text.push(*end);
                match output.made() {
                    Ok(()) => ended.is_none(),
                    Err(why) => {
                        ended.get_or_insert(why);
                        false
                    }
                }
            }
        }
    }

    /// The kind of the error is the reason in the log, short and stable for programs.
    pub(super) fn failed(&self, error: &Error) {
        self.stayed(error.path(), &exit::kind(error));
    }

    /// Takes back the line of an entry that was not removed.
    pub(super) fn stayed(&self, path: &Path, why: &str) {
        let Self::File(lines) = self else { return };
        lock(lines).write(|line| {
            line.name("path", names::from_os(path.as_os_str()));
            line.string("failed", why);
        });
    }

    /// `false` if the reader of the list has gone, which ended the dry run. Errors: the log or the list could not
    /// be written, which ended the removal.
    pub(super) fn finish(self) -> Result<bool, CliError> {
        match self {
            Self::None => Ok(true),
            Self::File(lines) => {
                let mut lines = lines.into_inner().unwrap_or_else(PoisonError::into_inner);
                lines.sync();
                lines.failed.map_or(Ok(true), |error| {
                    let (name, reason) = (&lines.name, reason(&error));
                    Err(CliError::some_failed(format!("write to {name}: {reason}; the rest was not removed")))
                })
            }
            Self::List { output, .. } => {
                let (mut output, ended) = output.into_inner().unwrap_or_else(PoisonError::into_inner);
                let flushed = ended.map_or_else(|| output.flush(), Err);
                flushed.map(|()| true).or_else(|ended| ended.code().map(|_| false))
            }
        }
    }
}

impl Lines {
    /// One call for a line, so that a killed process leaves whole lines.
    fn write(&mut self, members: impl FnOnce(&mut Object<'_>)) -> bool {
        if self.failed.is_some() {
            return false;
        }
        self.line.clear();
        Object::line(&mut self.line, members);
        if let Err(error) = self.file.write_all(&self.line) {
            self.failed = Some(error);
            return false;
        }
        if self.synced.elapsed() >= SYNC_EVERY {
            self.sync();
        }
        self.failed.is_none()
    }

    fn sync(&mut self) {
        match self.file.sync_data() {
            // Pipes and terminals cannot be synced, which is no failure of the log.
            Err(error) if error.kind() != io::ErrorKind::InvalidInput => {
                self.failed.get_or_insert(error);
            }
            _ => {}
        }
        self.synced = Instant::now();
    }
}

/// A thread that panicked leaves whole lines, so the log stays usable.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A full disk may have cut the last line short.
fn end_last_line(path: &Path, mut file: &File) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    if file.metadata()?.len() == 0 {
        return Ok(());
    }
    let (mut written, mut last) = (open_file(path, File::options().read(true))?, [0]);
    written.seek(SeekFrom::End(-1))?;
    written.read_exact(&mut last)?;
    if last == *b"\n" { Ok(()) } else { file.write_all(b"\n") }
}
