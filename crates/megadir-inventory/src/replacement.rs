//! A file that takes the place of another when it is whole, and not before.
//!
//! ```text
//! create: .NAME.megadir-partial beside NAME, locked -> write -> finish: fsync, rename to NAME, fsync of the directory
//!                                                                      (on Windows of the file once more)
//! ```
//!
//! Killed at any moment, the file NAME is what it was. What a killed process has left is taken over by the next: its
//! lock is free, it is this user's (or of whose the old file is) and has no other name, and what it holds begins as the
//! files that are written here do; anything else by that name is left alone: in a directory where others may write, they
//! could wait there for what only this user may read. What is no regular file (a pipe, `/dev/null`, `NUL`) is written to directly.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use megadir::{Error, ErrorKind, Result};

pub(crate) use self::system::excluded;
use crate::scan::Excluded;

#[cfg(unix)]
#[path = "replacement/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "replacement/windows.rs"]
mod system;

/// What is appended to the name of a file that is not whole.
const SUFFIX: &str = ".megadir-partial";
/// How files begin that are written here: Parquet, JSON lines, CSV.
const HEADS: [&[u8]; 3] = [b"PAR1", b"{\"v\":1,", b"root,parent,name"];
/// The longest of them, bytes.
const HEAD_BYTES: u64 = 16;
/// The temporary file may be renamed by its owner between opening and locking it: it is tried again so often.
const TRIES_MAX: usize = 100;

/// A file being written; dropped without [`Replacement::finish`] it leaves nothing behind.
#[derive(Debug)]
pub struct Replacement {
    file: Option<File>,
    /// Where the file will lie, for messages.
    path: PathBuf,
    /// The temporary file and the path it is renamed to; `None` where there is none.
    rename: Option<(PathBuf, PathBuf)>,
    written_bytes: u64,
    /// Up to where the system was asked to store what has been written.
    #[cfg(target_os = "linux")]
    sent_bytes: u64,
}

impl Replacement {
    /// Begins a file that will lie at `path`, which is left alone until then.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadOption`] where `path` is a directory, or a file that was not written here;
    /// [`ErrorKind::Unavailable`] where another process is writing the same file or something else has the temporary
    /// name, or whatever the system gives.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = |error| Error::io("write", path, error);
        let made = |file, rename| Self {
            file: Some(file),
            path: path.to_owned(),
            rename,
            written_bytes: 0,
            #[cfg(target_os = "linux")]
            sent_bytes: 0,
        };
        if system::is_device(path) {
            let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            return Ok(made(file, None));
        }
        // What a link points to is replaced, not the link.
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match std::fs::metadata(&target) {
            Ok(status) if status.is_dir() => {
                let reason = "a directory has this name: name a file";
                return Err(Error::new("write", path, ErrorKind::BadOption, reason));
            }
            Ok(status) if !status.is_file() => {
                let file = OpenOptions::new().write(true).open(&target).map_err(failed)?;
                return Ok(made(file, None));
            }
            Ok(_) if is_another(&target) => {
                let reason = "this file is no inventory, and would be lost: name another, or remove it first";
                return Err(Error::new("write", path, ErrorKind::BadOption, reason));
            }
            // Better now than when all is written.
            Ok(status) => system::may_replace(&target, &status).map_err(failed)?,
            Err(_) => {}
        }
        let Some(name) = target.file_name() else {
            let reason = "this is not the name of a file";
            return Err(Error::new("write", path, ErrorKind::BadOption, reason));
        };
        let mut partial = OsString::from(".");
        partial.push(name);
        partial.push(SUFFIX);
        let partial = target.with_file_name(partial);
        let old = std::fs::metadata(&target).ok();
        let file = take(path, &partial, old.as_ref())?;
        let made = made(file, Some((partial, target)));
        made.permit(old.as_ref()).map_err(failed)?;
        Ok(made)
    }

    /// Lets those read the new file who may read the old one.
    fn permit(&self, old: Option<&Metadata>) -> io::Result<()> {
        let (Some(file), Some((partial, target))) = (&self.file, &self.rename) else { return Ok(()) };
        match old {
            Some(status) => system::permit_as((file, partial), (status, target)),
            None => Ok(()),
        }
    }

    /// Returns what a scan has to leave out: this file, and the one whose place it takes.
    pub fn excluded(&self) -> Vec<Excluded> {
        let Some((partial, target)) = &self.rename else { return Vec::new() };
        [partial, target].into_iter().filter_map(|path| excluded(path)).collect()
    }

    /// Has the system begin to store what has been written, so that there is little to wait for at the end.
    pub(crate) fn store(&mut self) {
        #[cfg(target_os = "linux")]
        if let (Some(file), Some(_), Some(length)) =
            (&self.file, &self.rename, std::num::NonZeroU64::new(self.written_bytes - self.sent_bytes))
        {
            // Linux starts to write dirty pages that are not needed any more (`mm/fadvise.c`), and keeps them meanwhile. Where
            // it does not, all is stored at the end.
            let _ = rustix::fs::fadvise(file, self.sent_bytes, Some(length), rustix::fs::Advice::DontNeed);
            self.sent_bytes = self.written_bytes;
        }
    }

    /// Puts the file into its place, on stable storage; returns its size, bytes.
    ///
    /// # Errors
    ///
    /// Whatever the system gives; the file that was there before is there still. Where the new one is whole and only cannot be given its
    /// name, it is kept by its temporary one, which the error names.
    pub fn finish(mut self) -> Result<u64> {
        self.put()
    }

    /// Puts the file into its place while others hold it; nothing may be written after it.
    pub(crate) fn put(&mut self) -> Result<u64> {
        self.sync_and_rename().map_err(|error| Error::io("write", &self.path, error))?;
        Ok(self.written_bytes)
    }

    fn sync_and_rename(&mut self) -> io::Result<()> {
        let (Some(file), Some((partial, target))) = (&self.file, &self.rename) else { return Ok(()) };
        file.sync_all()?;
        // It is open and locked meanwhile, so that nobody takes it for left behind.
        if let Err(error) = std::fs::rename(partial, target) {
            let why = Error::io("write", target, io::Error::new(error.kind(), error.to_string())).reason();
            let kept = format!("{why}; it is whole in '{}': give it its name", partial.display());
            self.rename = None;
            return Err(io::Error::new(error.kind(), kept));
        }
        system::sync_name(file, target);
        self.rename = None;
        // Whoever holds it on shall not keep others from reading it.
        self.file = None;
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.file else { return Err(io::Error::other("the file is closed")) };
        let written = file.write(bytes)?;
        self.written_bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some((partial, _)) = &self.rename {
            // It is locked still, so that it is ours.
            let _ = std::fs::remove_file(partial);
        }
    }
}

/// Opens the temporary file of the one that replaces `old`, empty and locked.
fn take(path: &Path, partial: &Path, old: Option<&Metadata>) -> Result<File> {
    let failed = |error| Error::io("write", path, error);
    let refused = |reason: String| Error::new("write", path, ErrorKind::Unavailable, reason);
    for _ in 0..TRIES_MAX {
        let mut file = system::open(partial, old).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(refused("another process is writing this file: wait for it".to_owned()));
            }
            // Some network file systems have no locks.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        if !system::is_at(&file, partial) {
            // Its owner has put it into its place meanwhile.
            continue;
        }
        if !is_ours(&mut file, partial, old).map_err(failed)? {
            let name = partial.display();
            return Err(refused(format!("something else has the name of its temporary file: move '{name}'")));
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
        return Ok(file);
    }
    Err(refused("its temporary file is taken again and again by others: try later".to_owned()))
}

/// `true` if a file is certainly not one that was written here: a wildcard, or a slip, put its name behind `--output`. An empty file
/// is not an inventory either.
fn is_another(path: &Path) -> bool {
    // What cannot be opened, or is locked, is not known to be anything else.
    let head = File::open(path).and_then(|mut file| head(&mut file));
    head.is_ok_and(|head| !HEADS.iter().any(|known| head.starts_with(known)))
}

/// Tells whether a file may be written over: it is one that a killed process of this user can have left, and it is empty, or
/// begins as a file that was not finished here.
fn is_ours(file: &mut File, partial: &Path, old: Option<&Metadata>) -> io::Result<bool> {
    let status = file.metadata()?;
    if !status.is_file() || !system::is_own(partial, &status, old) {
        return Ok(false);
    }
    begins_as_ours(file)
}

fn head(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    Read::by_ref(file).take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

/// Tells whether a file is empty or begins as those do that are written here.
fn begins_as_ours(file: &mut File) -> io::Result<bool> {
    let head = head(file)?;
    Ok(head.is_empty() || HEADS.iter().any(|known| head.starts_with(known) || known.starts_with(&head)))
}

#[cfg(test)]
#[path = "replacement/tests.rs"]
mod tests;
