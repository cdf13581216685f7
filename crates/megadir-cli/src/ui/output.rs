//! Standard output: one buffer, whole writes, and a closed pipe that ends the program quietly.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::exit::{CliError, SOME_FAILED};

/// Text is written when this much has gathered, bytes: what a pipe takes at once.
const FLUSH_BYTES: usize = 64 << 10;
/// Text that has waited this long is written at the next opportunity.
const FLUSH_AFTER: Duration = Duration::from_millis(50);

/// Why output ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The reader has gone, which is no error: nobody wants the rest.
    ClosedPipe,
    /// Writing failed.
    Failed(io::Error),
    /// What was to be written could not be had.
    Other(CliError),
}

impl Ended {
    /// Returns the exit code to end with, or the error to print.
    pub(crate) fn code(self) -> Result<u8, CliError> {
        match self {
            Self::ClosedPipe => Ok(crate::exit::DONE),
            Self::Other(error) => Err(error),
            Self::Failed(error) => {
                let reason = super::message::reason(&error);
                let message = format!("write to standard output: {reason}; the output is not complete");
                Err(CliError { message, code: SOME_FAILED })
            }
        }
    }
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        if is_closed_pipe(&error, cfg!(windows)) { Self::ClosedPipe } else { Self::Failed(error) }
    }
}

/// Tells whether the reader of a pipe has gone. Of Windows' three words for that the library knows two; the third is `ERROR_PIPE_NOT_CONNECTED`,
/// for a named pipe whose server has let go.
fn is_closed_pipe(error: &io::Error, on_windows: bool) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe || on_windows && error.raw_os_error() == Some(233)
}

/// Buffered standard output.
pub(crate) struct Output {
    stdout: Stdout,
    terminal: bool,
    /// Gathered text; append to it, then call [`Output::made`].
    pub(crate) text: Vec<u8>,
    flushed: Instant,
    first: bool,
}

impl Output {
    /// Takes standard output.
    pub(crate) fn new() -> Result<Self, CliError> {
        check_open()?;
        let stdout = unbuffered_stdout().map_err(|error| Ended::from(error).code());
        let stdout = match stdout {
            Ok(stdout) => stdout,
            Err(Err(error)) => return Err(error),
            Err(Ok(_)) => return Err(CliError::nothing_ran("standard output is closed")),
        };
        Ok(Self {
            stdout,
            terminal: io::stdout().is_terminal(),
            text: Vec::with_capacity(FLUSH_BYTES + (16 << 10)),
            flushed: Instant::now(),
            first: true,
        })
    }

    /// Returns whether a person watches.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Writes what has gathered if it is enough for a whole write.
    #[inline]
    pub(crate) fn made(&mut self) -> Result<(), Ended> {
        if self.text.len() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what has gathered if somebody has been waiting for it: called where more may take long.
    pub(crate) fn pause(&mut self) -> Result<(), Ended> {
        if !self.text.is_empty() && (self.first || self.terminal || self.flushed.elapsed() > FLUSH_AFTER) {
            self.flush()?;
            self.first = false;
        }
        Ok(())
    }

    /// Writes what has gathered.
    pub(crate) fn flush(&mut self) -> Result<(), Ended> {
        self.stdout.write_all(&self.text)?;
        self.text.clear();
        self.flushed = Instant::now();
        Ok(())
    }
}

/// Refuses a standard output that was closed when the program began.
///
/// A command that reports calls this before it changes anything: what it could not report afterwards would be lost.
pub(crate) fn check_open() -> Result<(), CliError> {
    #[cfg(target_os = "linux")]
    if megadir_bench::standard_streams::output_was_closed() {
        let message =
            "standard output is closed; nothing was done: redirect it, to /dev/null if nobody is to read it";
        return Err(CliError::nothing_ran(message));
    }
    Ok(())
}

/// Refuses a standard input that was closed when the program began: a list that cannot be read is not an empty one.
pub(crate) fn check_input_open() -> Result<(), CliError> {
    #[cfg(target_os = "linux")]
    if megadir_bench::standard_streams::input_was_closed() {
        return Err(CliError::nothing_ran(
            "standard input is closed; nothing was done: give the list, or name a file",
        ));
    }
    Ok(())
}

/// Prints a short text; a closed pipe is no error.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    let mut output = Output::new()?;
    output.text.extend_from_slice(text.as_bytes());
    match output.flush() {
        Ok(()) => Ok(()),
        Err(ended) => ended.code().map(|_| ()),
    }
}

/// Prints what `write` writes, however much that is; a closed pipe is no error.
pub(crate) fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CliError> {
    check_open()?;
    let written = unbuffered_stdout().and_then(|stdout| {
        let mut output = io::BufWriter::with_capacity(FLUSH_BYTES, stdout);
        write(&mut output)?;
        output.flush()
    });
    written.or_else(|error| Ended::from(error).code().map(|_| ()))
}

/// Standard output without the line buffer that std puts before it.
#[cfg(unix)]
type Stdout = File;

#[cfg(unix)]
fn unbuffered_stdout() -> io::Result<Stdout> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Standard output: a console of Windows, or anything else without the line buffer that std puts before it.
#[cfg(windows)]
enum Stdout {
    /// Takes bytes for text of an old code page, so that "ü" would be two other letters; std gives it characters.
    Console(io::Stdout),
    /// A file or a pipe, which take the bytes as they are.
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
            // What is no text std refuses; whole lines come, so no character is divided.
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
    fn a_reader_that_has_gone_is_no_error_whatever_windows_calls_it() {
        assert!(is_closed_pipe(&io::ErrorKind::BrokenPipe.into(), false));
        assert!(is_closed_pipe(&io::Error::from_raw_os_error(233), true));
        assert!(!is_closed_pipe(&io::Error::from_raw_os_error(233), false));
        assert!(!is_closed_pipe(&io::ErrorKind::StorageFull.into(), true));
    }
}
