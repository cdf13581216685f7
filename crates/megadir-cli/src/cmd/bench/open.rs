//! Opening records for reports and comparisons: what was read, what was not, and why, in one line.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use megadir_record::Record;
use megadir_record::jsonl::{ReadError, read_partly};

use crate::exit::CliError;
use crate::ui::message::reason;

/// What compressed files begin with, and what undoes it.
const COMPRESSED: [(&[u8], &str); 3] =
    [(&[0x1f, 0x8b], "gunzip"), (&[0x28, 0xb5, 0x2f, 0xfd], "unzstd"), (&[0xfd, b'7', b'z'], "unxz")];

/// A record as far as it could be read.
pub(crate) struct Opened {
    pub(crate) record: Record,
    /// Whether something of it could not be read that is no mere cut at its end.
    pub(crate) damaged: bool,
}

/// Opens and reads a record; what is missing of it is said on standard error.
pub(crate) fn open(path: &Path, share: bool) -> Result<Opened, CliError> {
    let refuse = |reason: String| CliError::nothing_ran(format!("'{}': {reason}", path.display()));
    let file = File::open(path).map_err(|error| refuse(reason(&error)))?;
    let mut input = BufReader::with_capacity(256 << 10, file);
    let begin = input.fill_buf().map_err(|error| refuse(reason(&error)))?;
    if let Some((_, tool)) = COMPRESSED.iter().find(|(magic, _)| begin.starts_with(magic)) {
        return Err(refuse(format!("it is compressed: undo that with {tool} first")));
    }
    let (mut record, damage) = read_partly(input).map_err(|error| refuse(error.to_string()))?;
    if share {
        megadir_record::redact::record(&mut record);
    }
    say(path, &record, damage.as_ref());
    Ok(Opened { record, damaged: damage.is_some() })
}

/// Says what was read and what was not.
fn say(path: &Path, record: &Record, damage: Option<&ReadError>) {
    let (path, blocks) = (path.display(), record.samples.len());
    if record.chain.is_none() {
        eprintln!(
            "megadir: '{path}' is of an older megadir and has no checksums: changes to it would go unnoticed"
        );
    }
    match (damage, record.cut) {
        (Some(damage), _) => eprintln!(
            "megadir: '{path}': {damage}; the {blocks} blocks before it are read, nothing from there on is"
        ),
        (None, Some(cut)) => eprintln!(
            "megadir: '{path}' is cut off in line {} ({} bytes of it are there); the rest is reported",
            cut.line, cut.bytes
        ),
        (None, None) if record.end.is_none() => {
            eprintln!("megadir: '{path}' has no end: the run was killed; what was measured is reported");
        }
        (None, None) => {}
    }
}
