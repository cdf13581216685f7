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
        if error.kind() == io::ErrorKind::BrokenPipe { Self::ClosedPipe } else { Self::Failed(error) }
    }
}

/// Buffered standard output.
pub(crate) struct Output {
    stdout: File,
    terminal: bool,
    /// Gathered text; append to it, then call [`Output::made`].
    pub(crate) text: Vec<u8>,
    flushed: Instant,
    first: bool,
}

impl Output {
    /// Takes standard output.
    pub(crate) fn new() -> Result<Self, CliError> {
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
    let written = unbuffered_stdout().and_then(|stdout| {
        let mut output = io::BufWriter::with_capacity(FLUSH_BYTES, stdout);
        write(&mut output)?;
        output.flush()
    });
    written.or_else(|error| Ended::from(error).code().map(|_| ()))
}

/// Returns standard output without the line buffer that std puts before it.
#[cfg(unix)]
fn unbuffered_stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Returns standard output without the line buffer that std puts before it.
#[cfg(windows)]
fn unbuffered_stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}
