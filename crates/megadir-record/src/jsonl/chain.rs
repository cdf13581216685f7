//! The running checksum of a record's lines: each line says how many there are up to it, and their checksum.
//!
//! ```text
//! {"line":"sample", ... ,"number":12,"crc32":"89abcdef"}
//! ^------------- checksummed -------^
//! ```
//!
//! The checksum is the CRC-32 of zlib over the text of every line from the first, each up to the comma before `"crc32"`. So a
//! script verifies a record with `crc = zlib.crc32(line[:line.rindex(b',"crc32"')], crc)`. A line that was edited, dropped, repeated
//! or moved no longer fits; spaces and carriage returns at the end of a line do not matter. It guards against accidents: whoever wants to
//! forge a record can compute it too.

use std::io::Write;

/// What stands between the checksummed text and the eight hexadecimal digits of the checksum.
const BEFORE_SUM: &[u8] = b",\"crc32\":\"";
/// Digits of a checksum.
const SUM_DIGITS: usize = 8;
/// What stands before the line's number.
const BEFORE_NUMBER: &[u8] = b",\"number\":";

/// The lines of a record up to some point, and their checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    lines: u64,
    crc32: u32,
}

impl Chain {
    /// Returns the number of lines.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Adds a line, the text of a JSON object, and appends number and checksum to it.
    pub(super) fn close(&mut self, text: &mut Vec<u8>) -> std::io::Result<()> {
        let brace = text.pop();
        debug_assert_eq!(brace, Some(b'}'), "a line is an object");
        self.lines += 1;
        text.extend_from_slice(BEFORE_NUMBER);
        write!(text, "{}", self.lines)?;
        self.crc32 = self.with(text);
        text.extend_from_slice(BEFORE_SUM);
        write!(text, "{:08x}\"}}", self.crc32)
    }

    /// Adds a line that was read; returns what is wrong with it.
    pub(super) fn check(&mut self, text: &[u8]) -> Result<(), String> {
        let Some((body, sum)) = split(text) else {
            return Err("it has no checksum, as all lines of this record have".into());
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
                let were = if missing == 1 { "1 line is".into() } else { format!("{missing} lines are") };
                format!("it was written as line {number}: {were} missing before it, or stand elsewhere")
            }
            Some(number) if number < expected => {
                format!("it was written as line {number} and stands here again, or out of its place")
            }
            _ => "its checksum does not match: it was changed after it was written".into(),
        })
    }

    /// Returns the checksum with more text.
    fn with(&self, text: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.crc32);
        hasher.update(text);
        hasher.finalize()
    }
}

/// Returns `true` if a line ends with a checksum.
pub(super) fn is_closed(text: &[u8]) -> bool {
    split(text).is_some()
}

/// Splits a line into the text that is checksummed and the checksum.
fn split(text: &[u8]) -> Option<(&[u8], u32)> {
    let text = text.trim_ascii_end().strip_suffix(b"\"}")?;
    let (before, digits) = text.split_at_checked(text.len().checked_sub(SUM_DIGITS)?)?;
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| is_digit(&byte)));
    Some((before.strip_suffix(BEFORE_SUM)?, u32::from_str_radix(digits?, 16).ok()?))
}

/// Returns the number that a line gives itself.
fn number(body: &[u8]) -> Option<u64> {
    let start = body.len() - body.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, digits) = body.split_at(start);
    before.ends_with(BEFORE_NUMBER).then(|| std::str::from_utf8(digits).ok()?.parse().ok())?
}
