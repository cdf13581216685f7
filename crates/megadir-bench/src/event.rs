//! Events of a run and their observers: progress, live tables, the record. Only an observer's error
//! influences the run.
//!
//! ```text
//!  Filling* -> Recorded(header) -> Recorded(built) -> Recorded(self-check)
//!    -> { Starts -> Recorded(sample) }*  [EpochEnds -> Filling*]  -> Recorded(end) -> Cleaning
//! ```
//!
//! Observers run on the run's thread, between blocks and never within one, so they cost no measured time.
//! The record is one observer among others: `advise` runs without a file.

use std::io;

use megadir_record::{Chain, Line, Plan, Writer, redact};

use megadir::{Time, Utc};

use crate::dataset::FillProgress;
use crate::schedule::Block;

#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    Filling(FillProgress),
    Recorded(&'a Line),
    Starts {
        plan: &'a Plan,
        block: &'a Block,
    },
    /// Later blocks work on other or re-created data: the record must be made durable.
    EpochEnds,
    Cleaning,
}

/// Observer of a run. An error ends the run: a record that cannot be written must not look complete.
pub trait Listener {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()>;
}

/// Observer that writes the record. `output` becomes the `writer` with the first line, which needs the
/// header or, in a resumed run, `chain`: the state of the running checksum at the end of the old record.
/// `private` is present if the record is written for sharing.
#[derive(Debug)]
pub struct Recorder<W> {
    output: Option<W>,
    chain: Option<Chain>,
    writer: Option<Writer<W>>,
    private: Option<Vec<String>>,
}

pub trait Durable: io::Write {
    /// Returns once the written bytes would survive a power failure.
    fn make_durable(&mut self) -> io::Result<()>;
}

impl Durable for std::fs::File {
    fn make_durable(&mut self) -> io::Result<()> {
        match self.sync_data() {
            // Pipes and some devices cannot be synced.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }
}

/// A record in memory has no file to sync.
impl Durable for &mut Vec<u8> {
    fn make_durable(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Durable> Recorder<W> {
    pub fn new(output: W) -> Self {
        Self { output: Some(output), chain: None, writer: None, private: None }
    }

    pub fn resume(output: W, chain: Option<Chain>) -> Self {
        Self { chain, ..Self::new(output) }
    }

    /// Omits everything that identifies the machine, including the names and paths in `private`.
    #[must_use]
    pub fn shared(self, private: Vec<String>) -> Self {
        Self { private: Some(private), ..self }
    }
}

impl<W: Durable> Listener for Recorder<W> {
    /// Writes the record. The writer exists from the header on, or from the continuation of an interrupted
    /// record; lines before it have no place. If names that identify the machine are to be left out, they are
    /// collected from the header and replaced in a copy of each line. The file is synced at the end, and
    /// after each round of arms that work on the files of others.
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let line = match event {
            Event::Recorded(line) => *line,
            Event::EpochEnds => {
                return self.writer.as_mut().map_or(Ok(()), |writer| writer.get_mut().make_durable());
            }
            Event::Filling(_) | Event::Starts { .. } | Event::Cleaning => return Ok(()),
        };
        match line {
            Line::Header(header) => {
                let Some(output) = self.output.take() else { return Ok(()) };
                let mut header = (**header).clone();
                if let Some(private) = &mut self.private {
                    private.extend(redact::private_names(&header));
                    redact::header(&mut header, private);
                }
                self.writer = Some(Writer::start(output, header)?);
                return Ok(());
            }
            Line::Resumed(_) => {
                self.writer = self.output.take().map(|output| Writer::resume(output, self.chain));
            }
            _ => {}
        }
        let Some(writer) = &mut self.writer else { return Ok(()) };
        match &self.private {
            None => writer.write(line)?,
            Some(private) => {
                let mut line = line.clone();
                redact::line(&mut line, private);
                writer.write(&line)?;
            }
        }
        if matches!(line, Line::End(_)) { writer.get_mut().make_durable() } else { Ok(()) }
    }
}

/// Names sort by study and time, in UTC, so that records from machines in different zones keep their order.
pub fn record_file_name(study: &str, started_unix_s: u64) -> String {
    let seconds = i64::try_from(started_unix_s).unwrap_or(i64::MAX);
    let Utc { year, month, day, hour, minute, second } = Time { seconds, nanoseconds: 0 }.utc();
    format!("megadir-{study}-{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}.jsonl")
}

#[cfg(test)]
mod tests {
    use super::record_file_name;

    #[test]
    fn records_are_named_by_study_and_start() {
        assert_eq!(record_file_name("listing", 1_767_323_045), "megadir-listing-20260102-030405.jsonl");
    }
}
