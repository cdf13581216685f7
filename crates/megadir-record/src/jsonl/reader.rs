//! Reads records; each line is checked against the plan.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;

use super::{Chain, End, Header, Line, Note, Resumed, check};
use crate::FORMAT_VERSION;
use crate::built::{Built, Epoch, SelfCheck, UsedByArms};
use crate::jsonl::writer::is_closed;
use crate::plan::axes;
use crate::sample::{Phase, Sample};

/// Lines by kind, each kind in the order of the file. Later code relies on the checks of the reader: each
/// index of an arm, a data set or an epoch is one of the plan. What older programs did not write is `None` or
/// empty, and `end` is the end of the last continuation, not of an earlier one.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub header: Header,
    /// In the order of measurement. [`Sample::voided`] is set on all samples of a voided round.
    pub samples: Vec<Sample>,
    /// `None` in older records, and if the run was killed before.
    pub self_check: Option<SelfCheck>,
    /// `None` if nothing was created, and in older records.
    pub built: Option<Built>,
    /// Empty in older records.
    pub used: Vec<UsedByArms>,
    /// After the first, in order; a resumed epoch occurs twice.
    pub epochs: Vec<Epoch>,
    pub notes: Vec<Note>,
    pub resumed: Vec<Resumed>,
    /// `None` if the run was killed, or the file is damaged before it.
    pub end: Option<End>,
    /// Set if the file ends in the middle of a line.
    pub cut: Option<Cut>,
    /// `None` in older records without checksums.
    pub chain: Option<Chain>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// From 1.
    pub line: u64,
    pub bytes: u64,
}

#[derive(Debug)]
pub enum ReadError {
    Io(io::Error),
    /// Empty, or without the header of a record.
    NotARecord(String),
    Newer {
        version: u32,
    },
    /// Malformed, or refers to an arm, a data set or an epoch that is not in the plan.
    BadLine {
        line: u64,
        reason: String,
    },
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::NotARecord(reason) => write!(f, "not a megadir record: {reason}"),
            Self::Newer { version } => write!(
                f,
                "the record has format version {version}, newer than {FORMAT_VERSION}: use a newer megadir"
            ),
            Self::BadLine { line, reason } => write!(f, "line {line} is damaged: {reason}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::NotARecord(_) | Self::Newer { .. } | Self::BadLine { .. } => None,
        }
    }
}

const CHECKSUMS_SINCE: u32 = 4;
const GZIP: &[u8] = &[0x1f, 0x8b];
const COMPRESSED: [(&[u8], &str); 2] = [(&[0x28, 0xb5, 0x2f, 0xfd], "unzstd"), (&[0xfd, b'7', b'z'], "unxz")];
/// A file that is not a record cannot exhaust the memory.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// A truncated last line is no error: [`Record::cut`] reports it.
pub fn read(input: impl BufRead) -> Result<Record, ReadError> {
    let mut record = None;
    read_lines(input, &mut record)?;
    record.ok_or_else(|| ReadError::NotARecord("it is empty".into()))
}

/// Up to the first damaged line, whose error is returned too. The record may be compressed by gzip.
pub fn read_partly(mut input: impl BufRead) -> Result<(Record, Option<ReadError>), ReadError> {
    let begin = input.fill_buf().map_err(ReadError::Io)?;
    if let Some((_, tool)) = COMPRESSED.iter().find(|(magic, _)| begin.starts_with(magic)) {
        return Err(ReadError::NotARecord(format!("it is compressed; decompress it with {tool} first")));
    }
    let mut record = None;
    let ended = match begin.starts_with(GZIP) {
        true => read_lines(BufReader::with_capacity(256 << 10, MultiGzDecoder::new(input)), &mut record),
        false => read_lines(input, &mut record),
    };
    match (ended, record) {
        (Ok(()), Some(record)) => Ok((record, None)),
        (Err(ReadError::BadLine { line, reason }), Some(mut record)) => {
            record.cut = Some(Cut { line, bytes: 0 });
            // Lines after the damage are not read, so the end of the run is unknown.
            record.end = None;
            Ok((record, Some(ReadError::BadLine { line, reason })))
        }
        (Err(error), _) => Err(error),
        (Ok(()), None) => Err(ReadError::NotARecord("it is empty".into())),
    }
}

/// After an error the lines so far stay in the record.
fn read_lines(mut input: impl BufRead, record: &mut Option<Record>) -> Result<(), ReadError> {
    // The order of the cases is the order of trust. A line that is parsed has its checksum compared before it
    // is added. A line that cannot be parsed is a truncation only if it is the last one and lacks its
    // newline: a process was killed while it wrote, and the record is good up to there. Anything else is
    // damage. After the end line only another line of a record may follow (a continuation), so other bytes
    // get a message of their own.
    let mut text = Vec::new();
    let mut number = 0;
    loop {
        text.clear();
        number += 1;
        let read = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut text).map_err(ReadError::Io)?;
        if read == 0 {
            return Ok(());
        }
        let whole = text.last() == Some(&b'\n');
        if !whole && read as u64 == LINE_BYTES_MAX {
            return Err(too_long(number));
        }
        match (parse(&text, number, record.is_none()), &mut *record) {
            (Ok(Line::Header(mut header)), None) => {
                // A header that lost its version keeps its checksum.
                let mut chain = (header.version >= CHECKSUMS_SINCE || is_closed(&text)).then(Chain::default);
                check_sum(chain.as_mut(), &text, number)?;
                check::header(&header).map_err(ReadError::NotARecord)?;
                axes::complete(&mut header.plan);
                *record = Some(Record { chain, ..Record::new(*header) });
            }
            (Ok(line), Some(record)) => {
                if !matches!(line, Line::Header(_)) {
                    check_sum(record.chain.as_mut(), &text, number)?;
                }
                record.add(line, number)?;
            }
            (Ok(_), None) => return Err(ReadError::NotARecord("its first line is not a header".into())),
            (Err(_), Some(record)) if record.end.is_some() && !text.starts_with(b"{") => {
                let reason = format!("the record ended before it, and {read} more bytes follow; remove them");
                return Err(ReadError::BadLine { line: number, reason });
            }
            (Err(_), Some(record)) if !whole => {
                record.cut = Some(Cut { line: number, bytes: read as u64 });
                return Ok(());
            }
            (Err(error), _) => return Err(error),
        }
    }
}

fn check_sum(chain: Option<&mut Chain>, text: &[u8], number: u64) -> Result<(), ReadError> {
    let Some(chain) = chain else { return Ok(()) };
    chain.check(text).map_err(|reason| {
        let reason = format!("{reason}; use an unchanged copy of the record, or measure again");
        ReadError::BadLine { line: number, reason }
    })
}

/// An oversized line is not a truncation: the file continues.
fn too_long(number: u64) -> ReadError {
    let reason = format!("it exceeds {} MiB", LINE_BYTES_MAX >> 20);
    if number == 1 {
        ReadError::NotARecord(format!("its first line is not a header ({reason})"))
    } else {
        ReadError::BadLine { line: number, reason }
    }
}

/// As [`Writer`](super::Writer) writes it; the fields may follow in any order.
const SAMPLE_BEGINS: &[u8] = b"{\"line\":\"sample\",";

/// In the first line, the version is checked before anything else.
fn parse(text: &[u8], number: u64, first: bool) -> Result<Line, ReadError> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    if first {
        let seen: Version = serde_json::from_slice(text).map_err(|error| {
            ReadError::NotARecord(format!("its first line is not a header ({})", plain(&error)))
        })?;
        if seen.version > FORMAT_VERSION {
            return Err(ReadError::Newer { version: seen.version });
        }
    }
    // Nearly all lines are samples; a search for the tag takes three times as long as parsing them.
    let line = match text.starts_with(SAMPLE_BEGINS) && !first {
        true => serde_json::from_slice(text).map(Line::Sample),
        false => serde_json::from_slice(text),
    };
    line.map_err(|error| {
        if first {
            ReadError::NotARecord(format!("its header cannot be read ({})", plain(&error)))
        } else {
            ReadError::BadLine { line: number, reason: plain(&error) }
        }
    })
}

/// Without the parser's positions: a record has one line per value.
fn plain(error: &serde_json::Error) -> String {
    if !error.is_data() {
        return "it is not JSON".into();
    }
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

impl Record {
    fn new(header: Header) -> Self {
        Self {
            header,
            samples: Vec::new(),
            self_check: None,
            built: None,
            used: Vec::new(),
            epochs: Vec::new(),
            notes: Vec::new(),
            resumed: Vec::new(),
            end: None,
            cut: None,
            chain: None,
        }
    }

    fn add(&mut self, line: Line, number: u64) -> Result<(), ReadError> {
        check::line(&self.header.plan, &line, self.samples.last(), self.end.is_some())
            .map_err(|reason| ReadError::BadLine { line: number, reason })?;
        match line {
            Line::Header(_) => {}
            Line::SelfCheck(check) => self.self_check = Some(check),
            Line::Used(used) => self.used.push(used),
            Line::Built(built) => self.built = Some(built),
            Line::Epoch(epoch) => self.epochs.push(epoch),
            Line::Sample(sample) => self.samples.push(sample),
            Line::Void { epoch, round, attempt, reason } => {
                let of_round = |sample: &&mut Sample| {
                    (sample.epoch, sample.round, sample.attempt) == (epoch, round, attempt)
                        && sample.phase == Phase::Measure
                };
                for sample in self.samples.iter_mut().rev().filter(of_round) {
                    sample.voided = Some(reason);
                }
            }
            Line::Note(note) => self.notes.push(note),
            Line::Resumed(resumed) => {
                self.resumed.push(resumed);
                self.end = None;
            }
            Line::End(end) => self.end = Some(end),
        }
        Ok(())
    }
}
