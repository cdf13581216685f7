//! Where the text goes: nowhere, or into a pipe that another thread empties and counts the lines of.
//!
//! The C library's streams, which both programs under study print through, write a pipe in pieces of
//! 4096 bytes, and `wc -l` reads it in pieces of 16 KiB; so do we.

use std::fs::File;
use std::io::{Read, Write};

use rustix::pipe::{PipeFlags, pipe_with};

use super::list::ListError;

/// The C library writes a pipe in pieces of this size, bytes.
const WRITE_BYTES: usize = 4096;
/// `wc` reads in pieces of this size, bytes.
const READ_BYTES: usize = 16 << 10;
/// The longest line that the formats make, bytes.
const LINE_BYTES_MAX: usize = 1024;

/// Takes text.
pub(super) struct Sink {
    text: Vec<u8>,
    pipe: Option<File>,
    calls: u64,
    written_bytes: u64,
}

/// Runs `work` with a sink, into a pipe if `piped`, and returns only when the other end has read everything.
pub(super) fn with_sink<T>(
    piped: bool,
    work: impl FnOnce(&mut Sink) -> Result<T, ListError>,
) -> Result<T, ListError> {
    let mut sink = Sink {
        text: Vec::with_capacity(WRITE_BYTES + LINE_BYTES_MAX),
        pipe: None,
        calls: 0,
        written_bytes: 0,
    };
    if !piped {
        return work(&mut sink);
    }
    let failed = |source| ListError::Stage { stage: "pipe", source };
    let (output, input) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
    sink.pipe = Some(input.into());
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().name("megadir-drain".to_owned());
        let reader = reader.spawn_scoped(scope, || drain(File::from(output))).map_err(failed)?;
        let result = work(&mut sink).and_then(|result| sink.flush().map(|()| result));
        // Closing our end lets the reader end.
        sink.pipe = None;
        match reader.join() {
            Ok(Ok(_lines)) => result,
            Ok(Err(source)) => Err(failed(source)),
            Err(_) => Err(failed(std::io::Error::other("the reading thread panicked"))),
        }
    })
}

/// Reads to the end and counts lines, as `wc -l` does.
fn drain(mut output: File) -> std::io::Result<u64> {
    let mut piece = [0; READ_BYTES];
    let mut lines = 0;
    loop {
        match output.read(&mut piece)? {
            0 => return Ok(lines),
            length => lines += piece[..length].iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>(),
        }
    }
}

impl Sink {
    /// Returns where a line is to be appended; [`Sink::end_line`] must follow.
    #[inline]
    pub(super) fn line(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// Ends a line and passes the text on when there is enough of it.
    #[inline]
    pub(super) fn end_line(&mut self) -> Result<(), ListError> {
        self.text.push(b'\n');
        if self.text.len() < WRITE_BYTES { Ok(()) } else { self.pass(WRITE_BYTES) }
    }

    /// Returns the number of write calls, the one that will write the rest included.
    pub(super) fn calls(&self) -> u64 {
        self.calls + u64::from(self.pipe.is_some() && !self.text.is_empty())
    }

    /// Returns how many bytes were written to the pipe, 0 without one.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes + if self.pipe.is_some() { self.text.len() as u64 } else { 0 }
    }

    fn flush(&mut self) -> Result<(), ListError> {
        self.pass(self.text.len())
    }

    fn pass(&mut self, length: usize) -> Result<(), ListError> {
        if let Some(pipe) = &mut self.pipe {
            pipe.write_all(&self.text[..length])
                .map_err(|source| ListError::Stage { stage: "write", source })?;
            self.calls += 1;
            self.written_bytes += length as u64;
        }
        self.text.drain(..length);
        Ok(())
    }
}

/// Appends a number in decimal, right-aligned in `width` columns.
#[inline]
pub(super) fn push_number(text: &mut Vec<u8>, value: u64, width: usize) {
    let mut digits = [b' '; 20];
    let mut start = digits.len();
    let mut rest = value;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let from = start.min(digits.len() - width.min(digits.len()));
    text.extend_from_slice(&digits[from..]);
}

/// Appends text, left-aligned in `width` columns.
#[inline]
pub(super) fn push_text(text: &mut Vec<u8>, value: &[u8], width: usize) {
    text.extend_from_slice(value);
    for _ in value.len()..width {
        text.push(b' ');
    }
}

/// Returns the number of digits of a number.
#[inline]
pub(super) fn digits(value: u64) -> usize {
    value.checked_ilog10().unwrap_or(0) as usize + 1
}
