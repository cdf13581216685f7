//! Writes records, a line at a time.

use std::io::{self, Write};

use super::{Chain, Header, Line};

/// Writes a record line by line; each line reaches the file before the next block starts.
///
/// Once a line could not be written no other is: it would stand on what is there of the first, and a record that can
/// be read to its cut would be one that is damaged in its middle.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    /// `None` in a record that an older program began: its lines have no checksums to go on with.
    chain: Option<Chain>,
    failed: bool,
}

impl<W: Write> Writer<W> {
    /// Starts a record by writing its header.
    ///
    /// # Errors
    ///
    /// Whatever writing to `output` gives.
    pub fn start(output: W, header: Header) -> io::Result<Self> {
        let mut writer = Self { output, chain: Some(Chain::default()), failed: false };
        writer.write(&Line::Header(Box::new(header)))?;
        Ok(writer)
    }

    /// Resumes a record whose header is there already; `output` writes after its last whole line, up to which `chain` is that of
    /// [`Record::chain`](super::Record::chain).
    pub fn resume(output: W, chain: Option<Chain>) -> Self {
        Self { output, chain, failed: false }
    }

    /// Returns the output, to make what was written durable.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.output
    }

    /// Appends a line and flushes it.
    ///
    /// # Errors
    ///
    /// Whatever writing to the output gives; after that always an error.
    pub fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        if let Some(chain) = &mut self.chain {
            chain.close(&mut text)?;
        }
        text.push(b'\n');
        if self.failed {
            return Err(io::Error::other("an earlier line could not be written"));
        }
        let written = self.output.write_all(&text).and_then(|()| self.output.flush());
        self.failed = written.is_err();
        written
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.output
    }
}
