//! Output of formatted lines: discarded, or into a pipe that another thread reads and counts. As in the
//! programs under study, 4096 bytes per write (C streams) and 16 KiB per read (`wc -l`).
//!
//! A pipe, because the published command ended in `| wc -l`: its reader competes for the processor, and the
//! writer waits whenever the pipe is full. Discarded output leaves both out.

use std::io::{PipeReader, PipeWriter, Read, Write};

use megadir::{Batch, FileType};

use crate::control::{Result, WorkError};

#[cfg(target_os = "linux")]
use std::ffi::CStr;

const WRITE_BYTES: usize = 4096;
const READ_BYTES: usize = 16 << 10;
const LINE_BYTES_MAX: usize = 1024;

/// Output of one listing. `text` is written when it has 4096 bytes, as a C stream does. The counts prove that
/// the reader at the other end of the pipe received every line: lines, plus headings, plus the newlines in
/// names.
#[derive(Default)]
pub(crate) struct Sink {
    pub(crate) text: Vec<u8>,
    pipe: Option<PipeWriter>,
    calls: u64,
    written_bytes: u64,
    lines: u64,
    headings: u64,
    /// The reader counts them as lines too.
    newlines_in_names: u64,
}

/// Runs `work` with an output. The pipe is closed before the reader is waited for, also after an error,
/// since the reader ends at the end of the pipe.
pub(crate) fn with_sink<T>(piped: bool, work: impl FnOnce(&mut Sink) -> Result<T>) -> Result<T> {
    let mut sink = Sink { text: Vec::with_capacity(WRITE_BYTES + LINE_BYTES_MAX), ..Sink::default() };
    if !piped {
        return work(&mut sink);
    }
    let failed = WorkError::at("pipe");
    let (output, input) = std::io::pipe().map_err(failed)?;
    sink.pipe = Some(input);
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().name("megadir-drain".to_owned());
        let reader = reader.spawn_scoped(scope, || drain(output)).map_err(failed)?;
        let result = work(&mut sink).and_then(|result| sink.flush().map(|()| result));
        sink.pipe = None;
        match reader.join() {
            Ok(Ok(drained)) => result.and_then(|result| sink.check_drained(drained).map(|()| result)),
            Ok(Err(source)) => Err(failed(source)),
            Err(_) => Err(failed(std::io::Error::other("the reading thread panicked"))),
        }
    })
}

/// Reads to the end; returns the numbers of lines and bytes.
fn drain(mut output: PipeReader) -> std::io::Result<(u64, u64)> {
    let mut piece = [0; READ_BYTES];
    let (mut lines, mut bytes) = (0, 0);
    loop {
        match output.read(&mut piece)? {
            0 => return Ok((lines, bytes)),
            length => {
                lines += newlines(&piece[..length]);
                bytes += length as u64;
            }
        }
    }
}

#[inline]
fn newlines(text: &[u8]) -> u64 {
    text.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

impl Sink {
    pub(crate) fn heading(&mut self, text: &[u8]) -> Result<()> {
        self.headings += 1;
        self.text.extend_from_slice(text);
        self.end_line()
    }

    #[inline]
    pub(crate) fn push_name(&mut self, name: &[u8]) {
        self.newlines_in_names += newlines(name);
        self.text.extend_from_slice(name);
    }

    #[inline]
    pub(crate) fn end_line(&mut self) -> Result<()> {
        self.text.push(b'\n');
        self.lines += 1;
        if self.text.len() < WRITE_BYTES { Ok(()) } else { self.pass(WRITE_BYTES) }
    }

    /// Includes the call for the remaining bytes.
    pub(crate) fn calls(&self) -> u64 {
        self.calls + u64::from(self.pipe.is_some() && !self.text.is_empty())
    }

    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes + if self.pipe.is_some() { self.text.len() as u64 } else { 0 }
    }

    /// A formatting stage that lost an entry would be faster; this check comes before the pipe's.
    pub(crate) fn check_lines(&self, entries: u64) -> Result<()> {
        let (lines, expected) = (self.lines, entries + self.headings);
        if lines == expected {
            return Ok(());
        }
        let text = format!("{lines} lines were formatted; {entries} entries should give {expected}");
        Err(WorkError::other("format", text))
    }

    fn check_drained(&self, (lines, bytes): (u64, u64)) -> Result<()> {
        let (expected, written) = (self.lines + self.newlines_in_names, self.written_bytes);
        if (lines, bytes) == (expected, written) {
            return Ok(());
        }
        let text = format!(
            "{lines} lines ({bytes} bytes) were read from the pipe, but {expected} ({written} bytes) were written"
        );
        Err(WorkError::other("write", text))
    }

    fn flush(&mut self) -> Result<()> {
        self.pass(self.text.len())
    }

    /// Writes the first `length` bytes, or discards them.
    fn pass(&mut self, length: usize) -> Result<()> {
        if let Some(pipe) = &mut self.pipe {
            pipe.write_all(&self.text[..length]).map_err(WorkError::at("write"))?;
            self.calls += 1;
            self.written_bytes += length as u64;
        }
        self.text.drain(..length);
        Ok(())
    }
}

/// A right-aligned number in at least `width` characters, without an allocation.
#[inline]
pub(crate) fn push_number(text: &mut Vec<u8>, value: u64, width: usize) {
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

#[inline]
pub(crate) fn push_text(text: &mut Vec<u8>, value: &[u8], width: usize) {
    text.extend_from_slice(value);
    for _ in value.len()..width {
        text.push(b' ');
    }
}

#[inline]
pub(crate) fn digits(value: u64) -> usize {
    value.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Lines of a raw listing, with a heading before the first.
///
/// The columns of the published program, from the buffer of the reader, without keeping entries.
pub(crate) fn format_raw(batch: &Batch<'_>, sink: &mut Sink) -> Result<()> {
    if sink.headings == 0 {
        sink.heading(b"inode#    file type  d_reclen  d_off   d_name")?;
    }
    for entry in batch.entries() {
        let text = &mut sink.text;
        push_number(text, entry.inode, 8);
        text.extend_from_slice(b"  ");
        push_text(text, kind(entry.kind), 10);
        text.push(b' ');
        push_number(text, u64::from(entry.record_bytes), 4);
        text.push(b' ');
        push_number(text, entry.cookie.unwrap_or(0) as u64, 10);
        text.extend_from_slice(b"  ");
        sink.push_name(entry.name);
        sink.end_line()?;
    }
    Ok(())
}

fn kind(kind: FileType) -> &'static [u8] {
    match kind {
        FileType::File => b"regular",
        FileType::Directory => b"directory",
        FileType::Symlink => b"symlink",
        FileType::Fifo => b"FIFO",
        FileType::Socket => b"socket",
        FileType::BlockDevice => b"block dev",
        FileType::CharDevice => b"char dev",
        FileType::Unknown | FileType::Whiteout => b"???",
    }
}

/// Attributes of one entry that `ls -l` prints, in 32 bytes: the arena has
/// one for each name, in the order of the names. A vanished entry has zeros.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) mode: u16,
    pub(crate) links: u32,
    pub(crate) owner: u32,
    pub(crate) group: u32,
    pub(crate) size_bytes: u64,
    pub(crate) modified_unix_s: i64,
    pub(crate) has_acl: bool,
}

#[cfg(windows)]
pub(crate) type Attributes = megadir_sys::windows::facts::Facts;

/// Names of a listing in one allocation that grows, with an item for each, so that the stage `keep` has no
/// allocation for each name. Sorting moves the items and leaves the bytes in place.
#[derive(Debug, Default)]
pub(crate) struct NameArena {
    /// Names with a NUL after each, as system calls take them.
    bytes: Vec<u8>,
    items: Vec<Item>,
    pub(crate) attributes: Vec<Attributes>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    start: usize,
    length: u16,
}

impl NameArena {
    pub(crate) fn add(&mut self, batch: &Batch<'_>) {
        for entry in batch.entries() {
            self.items.push(Item { start: self.bytes.len(), length: entry.name.len() as u16 });
            self.bytes.extend_from_slice(entry.name);
            self.bytes.push(0);
        }
    }

    pub(crate) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.items.sort_unstable_by(|a, b| name(bytes, *a).cmp(name(bytes, *b)));
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.items.iter().map(|item| name(&self.bytes, *item))
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn c_names(&self) -> impl Iterator<Item = &CStr> {
        self.items.iter().map(|item| {
            let bytes = &self.bytes[item.start..=item.start + usize::from(item.length)];
            CStr::from_bytes_with_nul(bytes).unwrap_or_default()
        })
    }
}

#[inline]
fn name(bytes: &[u8], item: Item) -> &[u8] {
    &bytes[item.start..item.start + usize::from(item.length)]
}

#[cfg(test)]
mod tests {
    use super::with_sink;

    /// Formats `names` with a heading and compares the number of lines with `entries`.
    fn lines(names: &[&[u8]], entries: u64, piped: bool) -> Result<(), String> {
        let listed = with_sink(piped, |sink| {
            sink.heading(b"heading")?;
            for name in names {
                sink.push_name(name);
                sink.end_line()?;
            }
            sink.check_lines(entries)
        });
        listed.map_err(|error| error.to_string())
    }

    #[test]
    fn every_entry_has_its_line_and_every_line_arrives() {
        for piped in [false, true] {
            assert_eq!(lines(&[b"one", b"t\nw\no", &[b'x'; 5000]], 3, piped), Ok(()));
            let error = lines(&[b"one", b"two"], 3, piped).unwrap_err();
            assert_eq!(error, "format: 3 lines were formatted; 3 entries should give 4");
        }
    }

    #[test]
    fn lines_that_do_not_arrive_as_written_are_an_error() {
        let listed = with_sink(true, |sink| {
            sink.text.extend_from_slice(b"a name with a newline that the sink did not count!\n");
            sink.end_line()
        });
        assert_eq!(
            listed.unwrap_err().to_string(),
            "write: 2 lines (52 bytes) were read from the pipe, but 1 (52 bytes) were written"
        );
    }
}
