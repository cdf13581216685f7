//! Shards as they are written. A shard gets its name when it and its journal are on the disk.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use megadir::{Dir, Error, Result};
use rustix::fs::{Mode, OFlags, openat, renameat};

use crate::journal::Journal;
use crate::layout::{BLOCK_BYTES, END_BYTES, journal_name, padded, partial_name, shard_name};

/// Chunks of members are larger and are written from where they are.
const BUFFER_BYTES: usize = 64 << 10;

/// The shards of a pack that is being written.
pub(crate) struct Shards {
    directory: Dir,
    limit_bytes: u64,
    /// Lengths of the finished shards.
    pub(crate) finished: Vec<u64>,
    current: Option<Current>,
}

struct Current {
    file: BufWriter<File>,
    bytes: u64,
    journal: Journal,
}

impl Shards {
    /// Continues after the finished shards in the directory.
    pub(crate) fn new(directory: Dir, limit_bytes: u64, finished: Vec<u64>) -> Self {
        Self { directory, limit_bytes, finished, current: None }
    }

    /// Number of the shard that is being written.
    pub(crate) fn number(&self) -> u32 {
        self.finished.len() as u32
    }

    /// Length of the shard so far.
    pub(crate) fn position(&self) -> u64 {
        self.current.as_ref().map_or(0, |current| current.bytes)
    }

    /// `true` if a shard was begun, and members of this length fit into it.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        let used = self.position();
        let after = padded(bytes).and_then(|bytes| used.checked_add(bytes)?.checked_add(END_BYTES));
        self.current.is_some() && after.is_some_and(|after| after <= self.limit_bytes)
    }

    /// Begins another shard if members of this length do not fit into the current one. Members that are longer than a shard have one of their own.
    pub(crate) fn make_room(&mut self, bytes: u64) -> Result<()> {
        if self.position() > 0 && !self.has_room(bytes) {
            self.finish_shard()?;
        }
        if self.current.is_none() {
            let number = self.number();
            let file = self.create(&partial_name(number))?;
            let journal = Journal::new(self.create(&journal_name(number))?);
            let file = BufWriter::with_capacity(BUFFER_BYTES, file);
            self.current = Some(Current { file, bytes: 0, journal });
        }
        Ok(())
    }

    fn create(&self, name: &str) -> Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = openat(&self.directory, name, flags, Mode::from_raw_mode(0o666));
        made.map(File::from).map_err(|error| self.failed(name, error.into()))
    }

    /// Writes bytes after [`Shards::make_room`].
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.with(|current| {
            current.file.write_all(bytes)?;
            current.bytes += bytes.len() as u64;
            Ok(())
        })
    }

    /// Leaves a hole, which reads as zeros.
    pub(crate) fn skip(&mut self, bytes: u64) -> Result<()> {
        self.with(|current| {
            current.bytes += bytes;
            current.file.seek(SeekFrom::Start(current.bytes))?;
            Ok(())
        })
    }

    /// Zeros up to a whole block.
    pub(crate) fn pad(&mut self) -> Result<()> {
        let used = self.position();
        let bytes = used.next_multiple_of(BLOCK_BYTES) - used;
        self.write(&[0; BLOCK_BYTES as usize][..bytes as usize])
    }

    /// Takes back what was written since the shard had this length.
    pub(crate) fn take_back(&mut self, bytes: u64) -> Result<()> {
        self.with(|current| {
            current.file.seek(SeekFrom::Start(bytes))?;
            current.file.get_ref().set_len(bytes)?;
            current.bytes = bytes;
            Ok(())
        })
    }

    /// Notes that the current shard has the entry with this key and item.
    pub(crate) fn note(&mut self, key: &[u8], item: &[u8]) -> Result<()> {
        self.with(|current| current.journal.add(key, item))
    }

    /// Syncs the current shard and gives it its name.
    pub(crate) fn finish_shard(&mut self) -> Result<()> {
        let number = self.number();
        let Some(mut current) = self.current.take() else { return Ok(()) };
        let failed = |error| self.failed(&partial_name(number), error);
        current.file.write_all(&[0; END_BYTES as usize]).map_err(failed)?;
        let bytes = current.bytes + END_BYTES;
        let file = current.file.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        current.journal.finish(bytes).map_err(|error| self.failed(&journal_name(number), error))?;
        let renamed = renameat(&self.directory, partial_name(number), &self.directory, shard_name(number));
        renamed.map_err(|error| self.failed(&shard_name(number), error.into()))?;
        sync(&self.directory);
        self.finished.push(bytes);
        Ok(())
    }

    fn with(&mut self, write: impl FnOnce(&mut Current) -> io::Result<()>) -> Result<()> {
        let number = self.number();
        let Some(current) = &mut self.current else { unreachable!("a shard was begun before") };
        write(current).map_err(|error| self.failed(&partial_name(number), error))
    }

    fn failed(&self, name: &str, error: io::Error) -> Error {
        Error::io("write", &self.path(name), error)
    }

    fn path(&self, name: &str) -> PathBuf {
        let directory: &Path = self.directory.path();
        directory.join(name)
    }
}

/// Some file systems do not support fsync of a directory.
pub(crate) fn sync(directory: impl AsFd) {
    let _ = rustix::fs::fsync(directory);
}
