//! File of a record during a run: appears under its name with its synced first line, never over a file, and has one writer. A run killed
//! before leaves no record, one killed later a record that can be resumed. Linux locks the file (advisory); on Windows a lock would block
//! readers, so the share mode excludes writers. Reports open records later, also truncated and damaged ones.
//!
//! Life of a record; a kill leaves the state above the arrow:
//!
//! ```text
//! New         no file, or an empty placeholder if the name is in the measured directory
//!  │ first line: temporary file, written, synced, renamed to its name (never over another file)
//!  ▼
//! Open        complete lines, and perhaps part of a last one
//!  │ last line
//!  ▼
//! finished    report and page are read from the file, not from memory
//! ```

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use megadir_bench::Durable;
#[cfg(unix)]
use megadir_inventory::open_file;
use megadir_inventory::{open_stream, open_to_read};
use megadir_record::Record;
use megadir_record::jsonl::{ReadError, read_partly};
use megadir_report::Report;
use tempfile::NamedTempFile;

use crate::exit::CliError;
use crate::ui::message::{counted, reason};
use crate::ui::new_file::{self, folder_of};

const TAKEN: &str = "another run is writing it";
/// Temporary files have a name of their own, so that `megadir bench clean` can find what killed runs left.
const PREFIX: &str = ".megadir-record-";
const SUFFIX: &str = ".partial";
/// Beginning of every record. A temporary file of another program with the same name does not begin so.
const HEAD: &[u8] = b"{\"line\":\"header\",";

#[derive(Debug)]
pub(super) enum RecordFile {
    New(New),
    Open(File),
}

#[derive(Debug)]
pub(super) struct New {
    /// Candidates in order of preference; the first one that is free when the first line comes is taken.
    paths: Vec<PathBuf>,
    /// Empty placeholder if the record lies in the directory that the run measures.
    reserved: Option<(File, PathBuf)>,
    got: Arc<OnceLock<PathBuf>>,
}

impl Drop for New {
    fn drop(&mut self) {
        if let Some((_, path)) = self.reserved.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl RecordFile {
    /// The cell receives the path once the record begins. Fails early if it could not be created later. In the directory `listed` the name
    /// is reserved at once: listings are compared with the names at the start.
    pub(super) fn create(
        paths: Vec<PathBuf>,
        listed: Option<&Path>,
    ) -> io::Result<(Self, Arc<OnceLock<PathBuf>>)> {
        let free = paths.iter().find(|path| path.symlink_metadata().is_err());
        let path = free.ok_or(io::ErrorKind::AlreadyExists)?;
        drop(temporary(path)?);
        let reserved = match listed {
            Some(listed) if listed.canonicalize()? == folder_of(path).canonicalize()? => {
                Some((alone(path, File::options().write(true).create_new(true))?, path.clone()))
            }
            _ => None,
        };
        let got = Arc::default();
        Ok((Self::New(New { paths, reserved, got: Arc::clone(&got) }), got))
    }
}

impl Write for RecordFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Open(file) => file.write(bytes),
            Self::New(new) => {
                *self = Self::Open(new.begin(bytes)?);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Durable for RecordFile {
    fn make_durable(&mut self) -> io::Result<()> {
        match self {
            Self::Open(file) => file.make_durable(),
            Self::New(_) => Ok(()),
        }
    }
}

impl New {
    /// Called once, with the whole header: the writer of the record hands over each line in one piece.
    fn begin(&mut self, line: &[u8]) -> io::Result<File> {
        if let Some((file, path)) = self.reserved.take() {
            // On Windows an open file cannot be replaced. Elsewhere the lock of the placeholder is held
            // until the record has the name.
            #[cfg(windows)]
            drop(file);
            let begun = replace(&path, line);
            #[cfg(unix)]
            drop(file);
            let _ = self.got.set(path);
            return begun;
        }
        // Between the check at the start and the first line, another run may have taken a name: the next
        // candidate follows.
        let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
        for path in &self.paths {
            match place(path, line) {
                Ok(file) => {
                    let _ = self.got.set(path.clone());
                    return Ok(file);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
                Err(error) => return Err(error),
            }
        }
        Err(taken)
    }
}

/// Replaces the placeholder of this run only.
fn replace(path: &Path, line: &[u8]) -> io::Result<File> {
    let file = written(path, line)?.persist(path).map_err(|error| error.error)?;
    keep(file, path)
}

fn place(path: &Path, line: &[u8]) -> io::Result<File> {
    match written(path, line)?.persist_noclobber(path) {
        Ok(file) => keep(file, path),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(error.error),
        // Some file systems support neither RENAME_NOREPLACE nor hard links.
        Err(_) => {
            let mut file = alone(path, File::options().write(true).create_new(true))?;
            file.write_all(line)
                .and_then(|()| file.sync_all())
                .inspect_err(|_| drop(std::fs::remove_file(path)))?;
            Ok(file)
        }
    }
}

fn written(path: &Path, line: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = temporary(path)?;
    file.write_all(line)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// The lock is taken before the file has its final name, so a record is never seen without its writer.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let file = new_file::temporary(path, PREFIX, SUFFIX)?;
    match file.as_file().try_lock() {
        Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => Err(error),
        _ => Ok(file),
    }
}

/// The new name is durable only after a sync of its directory. A failure is no reason to end the run, since
/// only a crash of the machine soon after would lose the name.
#[cfg(unix)]
fn keep(file: File, path: &Path) -> io::Result<File> {
    if let Ok(directory) = File::open(folder_of(path)) {
        let _ = directory.sync_all();
    }
    Ok(file)
}

/// The handle of the temporary file allows other writers; the one opened here does not.
#[cfg(windows)]
fn keep(file: File, path: &Path) -> io::Result<File> {
    drop(file);
    let mut file = reopen(path)?;
    io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
    Ok(file)
}

pub(super) fn reopen(path: &Path) -> io::Result<File> {
    // Windows cannot truncate a file that is opened for appending only.
    alone(path, File::options().read(true).write(true).append(cfg!(unix)))
}

/// Names of temporary files of killed runs, in order. A run that is about to begin has its file locked, and
/// a killed one has not.
pub(super) fn abandoned(directory: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let ours = name.starts_with(PREFIX) && name.ends_with(SUFFIX);
        if ours && entry.file_type()?.is_file() && is_abandoned(&entry.path()) {
            found.push(name);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// An empty file counts: the run was killed between the creation and the first line.
fn is_abandoned(path: &Path) -> bool {
    let Ok(file) = open_to_read(path) else { return false };
    if file.try_lock().is_err() {
        return false;
    }
    let mut head = Vec::new();
    if (&file).take(HEAD.len() as u64).read_to_end(&mut head).is_err() {
        return false;
    }
    HEAD.starts_with(&head)
}

/// Some file systems have no locks.
#[cfg(unix)]
fn alone(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let file = open_file(path, options)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(io::Error::other(TAKEN)),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(windows)]
fn alone(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    const SHARE_READ: u32 = 1;
    const SHARING_VIOLATION: i32 = 32;
    options.share_mode(SHARE_READ).open(path).map_err(|error| match error.raw_os_error() {
        Some(SHARING_VIOLATION) => io::Error::other(TAKEN),
        _ => error,
    })
}

pub(crate) struct Opened {
    pub(crate) report: Report,
    pub(crate) damaged: bool,
}

/// Opens a record for a report. Damage is no error here: the part before it is reported, and the caller
/// picks the exit code. Names are hidden before the warnings, so that these name nothing hidden either.
pub(crate) fn open(path: &Path, share: bool) -> Result<Opened, CliError> {
    let input = BufReader::with_capacity(256 << 10, open_stream(path)?);
    let (mut record, damage) = read_partly(input).map_err(|error| match error {
        ReadError::Io(error) => refuse(path, &reason(&error)),
        other => refuse(path, &other.to_string()),
    })?;
    if share {
        megadir_record::redact::record(&mut record);
    }
    warn(path, &record, damage.as_ref());
    let report = Report::of(record).map_err(|error| refuse(path, &error.to_string()))?;
    Ok(Opened { report, damaged: damage.is_some() })
}

pub(crate) fn refuse(path: &Path, reason: &str) -> CliError {
    CliError::nothing_ran(format!("'{}': {reason}", path.display()))
}

/// At most one of the three states of the end is printed, the worst first: damaged, truncated, or without
/// an end.
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
