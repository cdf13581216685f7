//! `megadir bench run --resume RECORD`: continues a run by the record's plan. An unfinished last line is cut off.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use megadir::Dir;
use megadir_bench::cache_facts;
use megadir_bench::plan::Planned;
use megadir_record::jsonl::read;
use megadir_record::{DataSource, Record, redact};

use super::options::Resolved;
use super::record_file;
use super::volumes;
use crate::exit::CliError;
use crate::ui::message::reason;

pub(crate) struct Begun {
    pub(crate) file: File,
    pub(crate) record: Record,
    pub(crate) resolved: Resolved,
    /// An anonymous record (`--share`) stays so.
    pub(crate) share: bool,
}

/// Opens a record to continue it, and changes nothing yet: a dry run calls this as well, and the unfinished last line
/// is cut off only by `cut_off`. The plan is the recorded one, whatever the options or a newer version would make.
/// The directory is taken from `--dir`, else from the record; an anonymous record does not have it. Caches are looked
/// at again, because the machine may have changed since.
pub(crate) fn open(path: &Path, dirs: &[PathBuf]) -> Result<Begun, CliError> {
    let cannot = |reason: String| {
        CliError::nothing_ran(format!("cannot resume the record '{}': {reason}", path.display()))
    };
    let file = record_file::reopen(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => CliError::usage(cannot(reason(&error))),
        _ => cannot(reason(&error)),
    })?;
    if file.metadata().is_ok_and(|status| status.len() == 0) {
        return Err(cannot(
            "it is empty because the run was killed at its start; remove it and run again".into(),
        ));
    }
    let mut record = read(BufReader::new(&file)).map_err(|error| cannot(error.to_string()))?;
    if record.end.as_ref().is_some_and(|end| end.complete) {
        return Err(cannot("it is complete; 'megadir bench report' prints it".into()));
    }
    volumes::of_resumed(&mut record.header.plan, dirs).map_err(cannot)?;
    let header = &record.header;
    let existing = header.plan.data.iter().find_map(|data| match &data.source {
        DataSource::Existing { path } => Some(path),
        DataSource::Made { .. } => None,
    });
    // Older records have the path as typed in the header, too.
    let recorded = header.directory.as_ref().or(existing.filter(|path| *path != redact::REDACTED));
    let recorded = recorded.map(PathBuf::from);
    let Some(directory) = dirs.first().cloned().or(recorded) else {
        return Err(cannot("it does not name its directory; give --dir".into()));
    };
    let caches = cache_facts(&Dir::open(&directory)?);
    let share = header.directory.is_none();
    let planned = Planned { plan: header.plan.clone(), notes: Vec::new() };
    let file_systems = Vec::new();
    let resolved = Resolved { planned, caches, file_systems, directory, command: header.command.clone() };
    Ok(Begun { file, record, resolved, share })
}

/// Also ends a line that lacks only its newline.
pub(crate) fn cut_off(begun: &mut Begun) -> io::Result<()> {
    let file = &mut begun.file;
    if let Some(cut) = begun.record.cut {
        let length = file.metadata()?.len();
        file.set_len(length.saturating_sub(cut.bytes))?;
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    file.seek(SeekFrom::End(0))?;
    Ok(())
}
