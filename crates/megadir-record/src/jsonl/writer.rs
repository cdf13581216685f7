//! Writes records line by line.

use std::io::{self, Write};

use super::{Chain, Header, Line};

/// Writes a record; each line reaches the file before the next block starts.
///
/// After a failed write no further line is written: it would be appended to the partial line, and turn a
/// truncated but readable record into a damaged one.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    /// `None` if an older program began the record without checksums.
    chain: Option<Chain>,
    failed: bool,
}

impl<W: Write> Writer<W> {
    /// Starts a record by writing its header.
    pub fn start(output: W, header: Header) -> io::Result<Self> {
        let mut writer = Self { output, chain: Some(Chain::default()), failed: false };
        writer.write(&Line::Header(Box::new(header)))?;
        Ok(writer)
    }

    /// Resumes a record. `output` appends after the last complete line, and `chain` is
    /// [`Record::chain`](super::Record::chain) up to there.
    pub fn resume(output: W, chain: Option<Chain>) -> Self {
        Self { output, chain, failed: false }
    }

    /// Access to the output, to sync it.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.output
    }

    /// Appends a line and flushes it. After an error every further call fails.
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
