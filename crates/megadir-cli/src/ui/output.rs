//! Standard output: one buffer, whole writes, and a quiet end when the reader closes the pipe.
//!
//! A closed pipe is no failure: `megadir list DIR | head` has all it wanted. Any other failure of a write
//! is one, with a message that the output is incomplete.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::message;
use crate::exit::CliError;

/// Capacity of a pipe.
const FLUSH_BYTES: usize = 64 << 10;
/// At a pause.
const FLUSH_AFTER: Duration = Duration::from_millis(50);

/// Reason why output ended before the work did.
#[derive(Debug)]
pub(crate) enum Ended {
    ClosedPipe,
    Failed(io::Error),
    Other(CliError),
}

impl Ended {
    pub(crate) fn code(self) -> Result<u8, CliError> {
        match self {
            Self::ClosedPipe => Ok(crate::exit::DONE),
            Self::Other(error) => Err(error),
            Self::Failed(error) => {
                let reason = message::reason(&error);
                let message = format!("write to standard output: {reason}; the output is incomplete");
                Err(CliError::some_failed(message))
            }
        }
    }
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        if is_closed_pipe(&error, cfg!(windows)) { Self::ClosedPipe } else { Self::Failed(error) }
    }
}

/// std does not map `ERROR_PIPE_NOT_CONNECTED`, from a named pipe whose server disconnected.
fn is_closed_pipe(error: &io::Error, on_windows: bool) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe || on_windows && error.raw_os_error() == Some(233)
}

/// Standard output with a buffer of its own, because the standard library's writes at the end of each line. `text` is
/// filled by the callers directly. `first` is set until the first flush, so that the first lines appear at once;
/// `flushed` is the time of the last one.
pub(crate) struct Output {
    stdout: Stdout,
    terminal: bool,
    pub(crate) text: Vec<u8>,
    flushed: Instant,
    first: bool,
}

impl Output {
    pub(crate) fn new() -> Result<Self, CliError> {
        check_open()?;
        let stdout = unbuffered_stdout().map_err(|error| match Ended::from(error).code() {
            Ok(_) => CliError::nothing_ran("standard output is closed"),
            Err(error) => error,
        })?;
        Ok(Self {
            stdout,
            terminal: io::stdout().is_terminal(),
            text: Vec::with_capacity(FLUSH_BYTES + (16 << 10)),
            flushed: Instant::now(),
            first: true,
        })
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Called after each row; writes once there is enough to fill a pipe.
    #[inline]
    pub(crate) fn made(&mut self) -> Result<(), Ended> {
        if self.text.len() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    /// Called before operations that may take long.
    pub(crate) fn pause(&mut self) -> Result<(), Ended> {
        if !self.text.is_empty() && (self.first || self.terminal || self.flushed.elapsed() > FLUSH_AFTER) {
            self.flush()?;
            self.first = false;
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<(), Ended> {
        match self.terminal && !self.text.is_empty() {
            true => message::without_line(|| self.stdout.write_all(&self.text))?,
            false => self.stdout.write_all(&self.text)?,
        }
        self.text.clear();
        self.flushed = Instant::now();
        Ok(())
    }
}

/// Commands that report call this before they change anything: if standard output was closed, the report would be lost.
pub(crate) fn check_open() -> Result<(), CliError> {
    #[cfg(target_os = "linux")]
    if megadir_bench::standard_streams::output_was_closed() {
        let message = "standard output is closed, and nothing was done; redirect it, e.g. to /dev/null";
        return Err(CliError::nothing_ran(message));
    }
    Ok(())
}

/// An unreadable list is not an empty list.
pub(crate) fn check_input_open() -> Result<(), CliError> {
    #[cfg(target_os = "linux")]
    if megadir_bench::standard_streams::input_was_closed() {
        return Err(CliError::nothing_ran(
            "standard input is closed, and nothing was done; redirect the list to it or name a file",
        ));
    }
    Ok(())
}

/// For output of a known size.
pub(crate) fn print(text: &str) -> Result<u8, CliError> {
    let mut output = Output::new()?;
    output.text.extend_from_slice(text.as_bytes());
    output.flush().map_or_else(Ended::code, |()| Ok(crate::exit::DONE))
}

pub(crate) fn json_line(value: &impl Serialize) -> Result<String, CliError> {
    serde_json::to_string(value).map(|line| line + "\n").map_err(CliError::nothing_ran)
}

/// For output that is written piece by piece, such as a report of many megabytes.
pub(crate) fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CliError> {
    check_open()?;
    let written = unbuffered_stdout().and_then(|stdout| {
        let mut output = io::BufWriter::with_capacity(FLUSH_BYTES, stdout);
        write(&mut output)?;
        output.flush()
    });
    written.or_else(|error| Ended::from(error).code().map(|_| ()))
}

#[cfg(unix)]
type Stdout = File;

#[cfg(unix)]
fn unbuffered_stdout() -> io::Result<Stdout> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
enum Stdout {
    Console(io::Stdout),
    Other(File),
}

#[cfg(windows)]
fn unbuffered_stdout() -> io::Result<Stdout> {
    use std::os::windows::io::AsHandle;
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return Ok(Stdout::Console(stdout));
    }
    stdout.as_handle().try_clone_to_owned().map(|handle| Stdout::Other(handle.into()))
}

#[cfg(windows)]
impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            // std rejects invalid UTF-8. Only whole lines are written, so no character is split.
            Self::Console(console) => {
                console.write_all(String::from_utf8_lossy(bytes).as_bytes())?;
                console.flush().map(|()| bytes.len())
            }
            Self::Other(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{io, is_closed_pipe};

    #[test]
    fn closed_pipe_is_no_error_by_any_windows_code() {
        assert!(is_closed_pipe(&io::ErrorKind::BrokenPipe.into(), false));
        assert!(is_closed_pipe(&io::Error::from_raw_os_error(233), true));
        assert!(!is_closed_pipe(&io::Error::from_raw_os_error(233), false));
        assert!(!is_closed_pipe(&io::ErrorKind::StorageFull.into(), true));
    }
}
