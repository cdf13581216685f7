//! Backend `std`: `std::fs::read_dir`, the reference for all others.

use std::fs::ReadDir;
use std::path::PathBuf;

use super::{Backend, Reader};
use crate::batch::{Batch, BatchBuilder};
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::names;
use crate::options::ReadOptions;

const BATCH_BYTES: usize = 128 << 10;
/// A name of 255 characters: on Windows three bytes each. A longer one, which FUSE may have, still gets its record.
const LONGEST: &[u8] = &[b'x'; if cfg!(windows) { 765 } else { 255 }];

pub(crate) struct StdFs;

impl Backend for StdFs {
    fn name(&self) -> &'static str {
        "std"
    }

    fn about(&self) -> &'static str {
        "Rust's std::fs::read_dir: slow and simple, the reference for all others"
    }

    fn is_raw(&self) -> bool {
        false
    }

    fn open(&self, directory: &Dir, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        options.check_plain(self.name(), directory.dir_path())?;
        let path = directory.readable_path()?;
        let entries = std::fs::read_dir(&path).at("read", directory.dir_path())?;
        Ok(Box::new(StdReader {
            path: directory.path().to_owned(),
            entries,
            builder: BatchBuilder::new(BATCH_BYTES, false),
            ended: false,
            failed: None,
        }))
    }
}

/// The reference does as little as possible: `std` opens by path, and its entries are copied into records. An
/// error waits in `failed` until the entries before it were returned.
struct StdReader {
    path: PathBuf,
    entries: ReadDir,
    builder: BatchBuilder,
    ended: bool,
    failed: Option<Error>,
}

impl Reader for StdReader {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        self.builder.clear();
        while !self.ended && self.builder.fits(LONGEST) {
            match self.entries.next().transpose() {
                Ok(Some(entry)) => self.push(&entry)?,
                ended => {
                    self.ended = true;
                    self.failed = ended.at("read", &self.path).err();
                }
            }
        }
        self.builder.finish(&mut self.failed)
    }
}

impl StdReader {
    fn push(&mut self, entry: &std::fs::DirEntry) -> Result<()> {
        let name = entry.file_name();
        // On Linux std reads the inode if the directory has no type.
        let kind = match entry.file_type() {
            Ok(kind) => kind.into(),
            Err(_) => FileType::Unknown,
        };
        if self.builder.push(names::from_os(&name), inode(entry), kind, 0) {
            return Ok(());
        }
        let reason = "std returned an invalid name";
        Err(Error::new("read", &self.path, ErrorKind::Malformed, reason))
    }
}

fn inode(entry: &std::fs::DirEntry) -> u64 {
    #[cfg(unix)]
    {
        std::os::unix::fs::DirEntryExt::ino(entry)
    }
    #[cfg(not(unix))]
    {
        let _ = entry;
        0
    }
}
