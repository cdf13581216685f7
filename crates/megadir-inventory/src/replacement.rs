//! Atomically replaced output file: written next to the target, locked, then synced and renamed. A killed
//! process leaves the target unchanged, and the next run takes over its temporary file.
//!
//! Only files of the written kind are replaced. A temporary file is taken over only if it is unlocked,
//! belongs to this user (or the old file's owner), has no other links, and is empty or begins like our own:
//! in a directory that others may write, it could be a trap for private data. Targets that are not regular
//! files (a pipe, `/dev/null`, `NUL`) are written directly.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use megadir::{Error, ErrorKind, Result};

pub(crate) use self::system::excluded;
use crate::open_at_once::{open_file, open_to_write};
use crate::recognize::FileKind;
use crate::scan::Excluded;

#[cfg(unix)]
#[path = "replacement/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "replacement/windows.rs"]
mod system;

/// The owner of the temporary file may rename it between our open and lock.
const TRIES_MAX: usize = 100;

/// File being written; leaves nothing behind if dropped before [`Replacement::finish`].
///
/// `file` is absent only after it was finished or dropped. `rename` holds the temporary and the final path;
/// both are in one directory, so that renaming is atomic. `written_bytes` and `sent_bytes` serve to start
/// write-back early: the final fsync then has less to wait for.
#[derive(Debug)]
pub struct Replacement {
    file: Option<File>,
    path: PathBuf,
    kind: FileKind,
    /// `None` for direct writes.
    rename: Option<(PathBuf, PathBuf)>,
    written_bytes: u64,
    #[cfg(target_os = "linux")]
    sent_bytes: u64,
}

impl Replacement {
    /// Begins a file that will replace `path`. Errors: [`ErrorKind::BadOption`] if `path` is a directory, another
    /// program's file, or a named pipe that no program reads; [`ErrorKind::Unavailable`] if another process is writing it or its temporary name is taken.
    pub fn create(path: &Path, kind: FileKind) -> Result<Self> {
        let failed = |error| Error::io("write", path, error);
        let made = |file, rename| Self {
            file: Some(file),
            path: path.to_owned(),
            kind,
            rename,
            written_bytes: 0,
            #[cfg(target_os = "linux")]
            sent_bytes: 0,
        };
        let direct =
            |path: &Path| open_to_write(path, OpenOptions::new().write(true)).map(|file| made(file, None));
        if system::is_device(path) {
            return direct(path);
        }
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match std::fs::metadata(&target) {
            Ok(status) if status.is_dir() => {
                let reason = "this is a directory: name a file";
                return Err(Error::new("write", path, ErrorKind::BadOption, reason));
            }
            Ok(status) if !status.is_file() => return direct(&target),
            // Not only after everything is written.
            Ok(status) => may_replace((path, &target), kind, &status)?,
            Err(_) => {}
        }
        let Some(name) = target.file_name() else {
            let reason = "this is not the name of a file";
            return Err(Error::new("write", path, ErrorKind::BadOption, reason));
        };
        let partial = target.with_file_name(partial_name(name));
        let old = std::fs::metadata(&target).ok();
        let file = take((path, &partial), kind, old.as_ref())?;
        file.set_len(0).map_err(failed)?;
        let made = made(file, Some((partial, target)));
        if let (Some(file), Some((partial, target)), Some(old)) = (&made.file, &made.rename, &old) {
            system::permit_as((file, partial), (old, target)).map_err(failed)?;
        }
        Ok(made)
    }

    /// Files that a scan must skip: this one and the replaced one.
    pub fn excluded(&self) -> Vec<Excluded> {
        let Some((partial, target)) = &self.rename else { return Vec::new() };
        [partial, target].into_iter().filter_map(|path| excluded(path)).collect()
    }

    /// Starts writeback early, so that the final fsync is short.
    pub(crate) fn store(&mut self) {
        #[cfg(target_os = "linux")]
        if let (Some(file), Some(_), Some(length)) =
            (&self.file, &self.rename, std::num::NonZeroU64::new(self.written_bytes - self.sent_bytes))
        {
            // POSIX_FADV_DONTNEED starts writeback of dirty pages and keeps them cached (`mm/fadvise.c`).
            let _ = rustix::fs::fadvise(file, self.sent_bytes, Some(length), rustix::fs::Advice::DontNeed);
            self.sent_bytes = self.written_bytes;
        }
    }

    /// Syncs the file and moves it into place; returns its size, bytes. On an error the old file remains. If
    /// only the rename failed, the error names the complete temporary file.
    pub fn finish(mut self) -> Result<u64> {
        self.put()
    }

    pub(crate) fn put(&mut self) -> Result<u64> {
        self.sync_and_rename().map_err(|error| Error::io("write", &self.path, error))?;
        Ok(self.written_bytes)
    }

    /// The contents are on the disk before the name is, so that a crash leaves the old file or the whole new
    /// one. If the rename fails, the file was complete and is kept: a scan of hours is not thrown away for a
    /// permission.
    fn sync_and_rename(&mut self) -> io::Result<()> {
        let (Some(file), Some((partial, target))) = (&self.file, &self.rename) else { return Ok(()) };
        file.sync_all()?;
        // Stays locked during the rename, so that no process takes it for a leftover.
        if let Err(error) = std::fs::rename(partial, target) {
            let why = Error::io("write", target, io::Error::new(error.kind(), error.to_string())).reason();
            let kept =
                format!("{why}; the complete {} is in '{}': rename it", self.kind.name(), partial.display());
            self.rename = None;
            return Err(io::Error::new(error.kind(), kept));
        }
        system::sync_name(file, target);
        self.rename = None;
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
            let _ = std::fs::remove_file(partial);
        }
    }
}

pub(crate) fn partial_name(name: &OsStr) -> OsString {
    let mut partial = OsString::from(".");
    partial.push(name);
    partial.push(".megadir-partial");
    partial
}

/// Opens a file that a process keeps besides the file at `path` as long as it writes that: `hidden` is its whole path.
/// It is empty, or an earlier run has left it.
pub(crate) fn open_besides(path: &Path, hidden: &Path, kind: FileKind) -> Result<File> {
    let file = take((path, hidden), kind, std::fs::metadata(path).ok().as_ref())?;
    // Also a file that an earlier run left: another user who could write to it could make a program believe it.
    system::make_private(&file).map_err(|error| Error::io("write", hidden, error))?;
    Ok(file)
}

fn take((path, partial): (&Path, &Path), kind: FileKind, old: Option<&Metadata>) -> Result<File> {
    // Between opening and locking, the owner of the lock may finish and rename the file, so the name is
    // compared with the descriptor under the lock. Only what an earlier run may have left is emptied.
    // Everything else under this name is refused.
    let failed = |error| Error::io("write", path, error);
    let refused = |reason: String| Error::new("write", path, ErrorKind::Unavailable, reason);
    for _ in 0..TRIES_MAX {
        let mut file = system::open(partial, old).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(refused("another process is writing this file: wait for it".to_owned()));
            }
            // Some network file systems do not support locks.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        if !system::is_at(&file, partial) {
            continue;
        }
        let status = file.metadata().map_err(failed)?;
        let is_own = status.is_file() && system::is_own(partial, &status, old);
        if !is_own || !kind.may_be_partial(&mut file).map_err(failed)? {
            let name = partial.display();
            return Err(refused(format!("the name of its temporary file is taken: move '{name}' away")));
        }
        file.rewind().map_err(failed)?;
        return Ok(file);
    }
    Err(refused("other processes keep taking its temporary file: try later".to_owned()))
}

/// A file of another kind is never replaced, since the user may have exchanged two arguments. A file that
/// cannot be read is not known to be of the written kind, so it is not replaced either.
fn may_replace((path, target): (&Path, &Path), kind: FileKind, status: &Metadata) -> Result<()> {
    let failed = |error| Error::io("write", path, error);
    let refused = |description: &str| {
        let reason = format!("{description} and would be lost: name another file");
        Error::new("write", path, ErrorKind::BadOption, reason)
    };
    match open_file(target, File::options().read(true)).and_then(|mut file| kind.is_whole(&mut file)) {
        Ok(true) => system::may_replace(target, status).map_err(failed),
        Ok(false) => Err(refused(&format!("this file is not {}", kind.with_article()))),
        Err(error) => {
            let reason = failed(error).reason();
            Err(refused(&format!("this file may not be {} ({reason})", kind.with_article())))
        }
    }
}

#[cfg(test)]
#[path = "replacement/tests.rs"]
mod tests;
