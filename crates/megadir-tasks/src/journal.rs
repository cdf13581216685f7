//! Journal of a job: a file with the lines of its schedule. What its last lines lack after a crash is done again.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use megadir::{Error, ErrorKind, Result};
use megadir_inventory::open_file;

use crate::job::{Job, Root};
use crate::schedule::Schedule;

/// Name of the journal in the folder of a scan.
pub const JOURNAL: &str = "megadir-journal.jsonl";

/// Open journal. Another process that opens it is refused.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Begins the journal of a job, or continues the one in the file: then returns the schedule of its lines.
    ///
    /// Errors: another process has it open; it is that of another job; it cannot be read or written.
    pub fn open(path: &Path, job: Job) -> Result<(Self, Schedule)> {
        let failed = |error| Error::io("write", path, error);
        let mut file = open_to_continue(path)?;
        lock(&file, path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        // The process died while it wrote the last line.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).map_err(failed)?;
        let mut journal = Self { file, path: path.to_owned() };
        if whole == 0 {
            let schedule = Schedule::new(job);
            journal.write(&schedule.first_line())?;
            journal.sync()?;
            return Ok((journal, schedule));
        }
        let malformed = |reason: String| Error::new("continue", path, ErrorKind::Malformed, reason);
        let schedule = Schedule::replay(text[..whole].lines()).map_err(|error| malformed(error.reason()))?;
        if !is_same(schedule.job(), &job) {
            let reason = "the journal is of another job: its trees are different, were replaced, or were read with --fresh and now without, or the reverse";
            return Err(malformed(reason.to_owned()));
        }
        Ok((journal, schedule))
    }

    pub fn write(&mut self, line: &str) -> Result<()> {
        self.done(|file| file.write_all(format!("{line}\n").as_bytes()))
    }

    /// Makes the lines durable.
    pub fn sync(&mut self) -> Result<()> {
        self.done(|file| file.sync_data())
    }

    fn done(&mut self, step: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        step(&mut self.file).map_err(|error| Error::io("write", &self.path, error))
    }
}

/// A journal is read before it is continued, so that it cannot be a pipe or a device.
fn open_to_continue(path: &Path) -> Result<File> {
    let failed = |error| Error::io("write", path, error);
    let file = open_file(path, File::options().read(true).append(true).create(true));
    let is_file = |file: &File| file.metadata().is_ok_and(|status| status.is_file());
    match file {
        Err(error) if error.kind() != io::ErrorKind::InvalidInput => Err(failed(error)),
        Ok(file) if is_file(&file) => Ok(file),
        _ => Err(Error::new(
            "write",
            path,
            ErrorKind::BadOption,
            "not a file: a journal is read and continued",
        )),
    }
}

fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let reason = "another process works on this job";
            Err(Error::new("write", path, ErrorKind::Io, reason))
        }
        Err(TryLockError::Error(error)) => Err(Error::io("lock", path, error)),
        Ok(()) => Ok(()),
    }
}

/// Device numbers differ between machines, and budgets may.
fn is_same(old: &Job, new: &Job) -> bool {
    // Numbers that are made up differ after a remount.
    let number = |root: &Root| (root.lasting_inodes != Some(false)).then_some(root.inode);
    let root = |root: &Root| (root.path.clone(), number(root), root.born_ns, root.file_system.clone());
    let roots = |job: &Job| job.roots.iter().map(root).collect::<Vec<_>>();
    let is_fresh = |job: &Job| job.fresh().is_some();
    let is_alike = old.kind == new.kind && old.folder == new.folder && is_fresh(old) == is_fresh(new);
    is_alike && roots(old) == roots(new)
}
