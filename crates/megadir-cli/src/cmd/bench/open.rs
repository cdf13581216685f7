//! Opens records, and prints a line about missing or damaged parts.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use megadir_record::Record;
use megadir_record::jsonl::{ReadError, read_partly};
use megadir_report::Report;

use crate::exit::CliError;
use crate::ui::message::{counted, reason};

pub(crate) struct Opened {
    pub(crate) report: Report,
    pub(crate) damaged: bool,
}

pub(crate) fn open(path: &Path, share: bool) -> Result<Opened, CliError> {
    let refuse = |reason: String| CliError::nothing_ran(format!("'{}': {reason}", path.display()));
    let file = File::open(path).map_err(|error| refuse(reason(&error)))?;
    let input = BufReader::with_capacity(256 << 10, file);
    let (mut record, damage) = read_partly(input).map_err(|error| refuse(error.to_string()))?;
    if share {
        megadir_record::redact::record(&mut record);
    }
    warn(path, &record, damage.as_ref());
    let report = Report::of(record).map_err(|error| refuse(error.to_string()))?;
    Ok(Opened { report, damaged: damage.is_some() })
}

pub(crate) fn refuse(path: &Path, reason: &str) -> CliError {
    CliError::nothing_ran(format!("'{}': {reason}", path.display()))
}

fn warn(path: &Path, record: &Record, damage: Option<&ReadError>) {
    let (path, blocks) = (path.display(), record.samples.len());
    if record.chain.is_none() {
        eprintln!(
            "megadir: '{path}' is from an older megadir and has no checksums, so changes to it cannot be detected"
        );
    }
    match (damage, record.cut) {
        (Some(damage), _) => {
            eprintln!(
                "megadir: '{path}': {damage}; only the {} before it {} reported",
                counted(blocks as u64, "block", "blocks"),
                if blocks == 1 { "is" } else { "are" }
            );
        }
        (None, Some(cut)) => eprintln!(
            "megadir: '{path}' is truncated in line {} after {} bytes; the complete lines are reported",
            cut.line, cut.bytes
        ),
        (None, None) if record.end.is_none() => {
            eprintln!(
                "megadir: '{path}' has no end: the run was killed; the blocks measured until then are reported"
            );
        }
        (None, None) => {}
    }
}
