//! Events of a run and their observers: progress, live tables, the record.
//!
//! The runner knows no listener; a listener never influences the run, except that one which cannot go on
//! (a record that cannot be written) ends it.

use std::io;

use megadir_record::{
    Built, Chain, End, Epoch, Header, Line, Note, Plan, Resumed, Sample, SelfCheck, UsedByArms, VoidReason,
    Writer, redact,
};

use megadir::{Time, Utc};

use crate::dataset::FillProgress;
use crate::schedule::Block;

/// Something that happened in a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The data sets are being made, with the number of files made so far.
    Filling(FillProgress),
    /// Everything is prepared: the record's first line.
    Started(&'a Header),
    /// Data made before the first block, and the time that took.
    Built(&'a Built),
    /// Space of a data set that the arms have made.
    Used(&'a UsedByArms),
    /// The data sets of a later epoch were made.
    Epoch(&'a Epoch),
    /// The run has checked its own measuring.
    Checked(&'a SelfCheck),
    /// Everything is prepared, and a record that was begun goes on.
    Resumed(&'a Resumed),
    /// Something was noticed.
    Noted(&'a Note),
    /// A block starts.
    Starts {
        /// The plan that is being followed.
        plan: &'a Plan,
        /// The block.
        block: &'a Block,
    },
    /// A block was measured.
    Measured(&'a Sample),
    /// The round just measured is void.
    Voided {
        /// A sample of that round and attempt.
        sample: &'a Sample,
        /// The criterion.
        reason: VoidReason,
    },
    /// Later blocks work on other data or on data made again: the record must be made durable.
    EpochEnds,
    /// The run's directory is being removed.
    Cleaning,
    /// The run has ended: the record's last line.
    Ended(&'a End),
}

/// One who listens to a run.
pub trait Listener {
    /// Receives an event.
    ///
    /// # Errors
    ///
    /// When the run cannot go on without this listener.
    fn event(&mut self, event: &Event<'_>) -> io::Result<()>;
}

/// The listener that writes the record.
#[derive(Debug)]
pub struct Recorder<W> {
    output: Option<W>,
    /// The checksum of the record that is resumed.
    chain: Option<Chain>,
    writer: Option<Writer<W>>,
    private: Option<Vec<String>>,
}

/// Destination of a record.
pub trait Durable: io::Write {
    /// Returns once the written bytes would survive a power failure.
    ///
    /// # Errors
    ///
    /// Whatever the system says.
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

impl Durable for Vec<u8> {
    fn make_durable(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Durable> Recorder<W> {
    /// Returns a recorder that writes to `output` once the run has started.
    pub fn new(output: W) -> Self {
        Self { output: Some(output), chain: None, writer: None, private: None }
    }

    /// Returns a recorder that appends to a record up to whose end `chain` is that of
    /// [`Record::chain`](megadir_record::Record::chain).
    pub fn resume(output: W, chain: Option<Chain>) -> Self {
        Self { chain, ..Self::new(output) }
    }

    /// Returns a recorder that leaves out what tells whose machine it is; `private` are names and paths that must not be in
    /// any sentence, beside those that the record's header would hold.
    #[must_use]
    pub fn shared(self, private: Vec<String>) -> Self {
        Self { private: Some(private), ..self }
    }
}

impl<W: Durable> Listener for Recorder<W> {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let line = match event {
            Event::Started(header) => {
                let Some(output) = self.output.take() else { return Ok(()) };
                let mut header = (*header).clone();
                if let Some(private) = &mut self.private {
                    private.extend(redact::private_names(&header));
                    redact::header(&mut header, private);
                }
                self.writer = Some(Writer::start(output, header)?);
                return Ok(());
            }
            Event::Resumed(resumed) => {
                self.writer = self.output.take().map(|output| Writer::resume(output, self.chain));
                Line::Resumed((*resumed).clone())
            }
            Event::Noted(note) => Line::Note((*note).clone()),
            Event::Built(built) => Line::Built((*built).clone()),
            Event::Used(used) => Line::Used(**used),
            Event::Epoch(epoch) => Line::Epoch((*epoch).clone()),
            Event::Checked(check) => Line::SelfCheck((*check).clone()),
            Event::Measured(sample) => Line::Sample((*sample).clone()),
            Event::Voided { sample, reason } => Line::Void {
                epoch: sample.epoch,
                round: sample.round,
                attempt: sample.attempt,
                reason: *reason,
            },
            Event::Ended(end) => Line::End((*end).clone()),
            Event::EpochEnds => {
                return self.writer.as_mut().map_or(Ok(()), |writer| writer.get_mut().make_durable());
            }
            Event::Filling(_) | Event::Starts { .. } | Event::Cleaning => return Ok(()),
        };
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let mut line = line;
        if let Some(private) = &self.private {
            redact::line(&mut line, private);
        }
        writer.write(&line)?;
        if matches!(line, Line::End(_)) { writer.get_mut().make_durable() } else { Ok(()) }
    }
}

/// Returns the name of the record of a run that started then, e.g. `megadir-listing-20260102-030405.jsonl`.
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
