//! Writes records line by line, each with its checksum.

use std::io;
use std::io::Write;

use crate::jsonl::{Header, Line};

/// After a failed write no further line is written: appended to the partial line, it would turn a truncated
/// but readable record into a damaged one.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    chain: Option<Chain>,
    failed: bool,
}

impl<W: Write> Writer<W> {
    pub fn start(output: W, header: Header) -> io::Result<Self> {
        let mut writer = Self { output, chain: Some(Chain::default()), failed: false };
        writer.write(&Line::Header(Box::new(header)))?;
        Ok(writer)
    }

    /// `output` appends after the last complete line; `chain` is
    /// [`Record::chain`](crate::jsonl::Record::chain).
    pub fn resume(output: W, chain: Option<Chain>) -> Self {
        Self { output, chain, failed: false }
    }

    /// For syncing.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.output
    }

    /// After an error every further call fails.
    pub fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        if let Some(chain) = &mut self.chain {
            chain.close(&mut text)?;
        }
        text.push(b'\n');
        if self.failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        let written = self.output.write_all(&text).and_then(|()| self.output.flush());
        self.failed = written.is_err();
        written
    }

    pub fn into_inner(self) -> W {
        self.output
    }
}

/// Followed by the checksum's eight hexadecimal digits.
const BEFORE_SUM: &[u8] = b",\"crc32\":\"";
const SUM_DIGITS: usize = 8;
const BEFORE_NUMBER: &[u8] = b",\"number\":";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    lines: u64,
    crc32: u32,
}

impl Chain {
    pub fn lines(&self) -> u64 {
        self.lines
    }

    pub(super) fn close(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        let brace = text.pop();
        debug_assert_eq!(brace, Some(b'}'), "a line is an object");
        self.lines += 1;
        text.extend_from_slice(BEFORE_NUMBER);
        write!(text, "{}", self.lines)?;
        self.crc32 = self.with(text);
        text.extend_from_slice(BEFORE_SUM);
        write!(text, "{:08x}\"}}", self.crc32)
    }

    pub(super) fn check(&mut self, text: &[u8]) -> Result<(), String> {
        let Some((body, sum)) = split(text) else {
            return Err("it has no checksum, unlike the other lines of this record".into());
        };
        let crc32 = self.with(body);
        if crc32 == sum {
            *self = Self { lines: self.lines + 1, crc32 };
            return Ok(());
        }
        let expected = self.lines + 1;
        Err(match number(body) {
            Some(number) if number > expected => {
                let missing = number - expected;
                let lines = if missing == 1 { "1 line is".into() } else { format!("{missing} lines are") };
                format!("it was written as line {number}: {lines} missing before it or out of order")
            }
            Some(number) if number < expected => {
                format!("it was written as line {number} and is duplicated or out of order")
            }
            _ => "its checksum does not match: it was changed later".into(),
        })
    }

    fn with(&self, text: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.crc32);
        hasher.update(text);
        hasher.finalize()
    }
}

pub(super) fn is_closed(text: &[u8]) -> bool {
    split(text).is_some()
}

fn split(text: &[u8]) -> Option<(&[u8], u32)> {
    let text = text.trim_ascii_end().strip_suffix(b"\"}")?;
    let (before, digits) = text.split_at_checked(text.len().checked_sub(SUM_DIGITS)?)?;
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| is_digit(&byte)));
    Some((before.strip_suffix(BEFORE_SUM)?, u32::from_str_radix(digits?, 16).ok()?))
}

fn number(body: &[u8]) -> Option<u64> {
    let start = body.len() - body.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, digits) = body.split_at(start);
    before.ends_with(BEFORE_NUMBER).then(|| std::str::from_utf8(digits).ok()?.parse().ok())?
}
