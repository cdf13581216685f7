//! Backend `getdents`: `getdents64` into a buffer of one's own, decoded in place.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::{Backend, Reader};
use crate::batch::Batch;
use crate::decode::Malformed;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::options::ReadOptions;
use crate::resolve::Resolving;

pub(crate) struct Getdents;

impl Backend for Getdents {
    fn name(&self) -> &'static str {
        "getdents"
    }

    fn about(&self) -> &'static str {
        "getdents64 into a buffer of 4 KiB to 16 MiB, decoded in place, one thread"
    }

    fn is_raw(&self) -> bool {
        true
    }

    fn uses_threads(&self) -> bool {
        false
    }

    fn uses_buffer(&self) -> bool {
        true
    }

    fn probe(&self, _directory: &Dir) -> Result<()> {
        Ok(())
    }

    fn open(&self, directory: &Dir, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        options.check_serial(self.name(), directory.path())?;
        let reader = GetdentsReader {
            path: directory.path().to_owned(),
            descriptor: directory.reopen_for_reader()?,
            buffer: vec![0; options.buffer_bytes],
            ended: false,
            calls: 0,
        };
        Ok(if options.resolve_types { Box::new(reader.resolving()?) } else { Box::new(reader) })
    }
}

struct GetdentsReader {
    path: PathBuf,
    descriptor: OwnedFd,
    buffer: Vec<u8>,
    ended: bool,
    calls: u64,
}

impl GetdentsReader {
    fn resolving(self) -> Result<Resolving<Self>> {
        let types = self.descriptor.try_clone().map_err(|error| Error::io("read", &self.path, error))?;
        Ok(Resolving::new(self, types))
    }
}

impl Reader for GetdentsReader {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        if self.ended {
            return Ok(None);
        }
        self.calls += 1;
        // Until the call has succeeded, so that a reader gives nothing more after an error.
        self.ended = true;
        let filled = megadir_sys::getdents::getdents64(self.descriptor.as_fd(), &mut self.buffer)
            .map_err(|error| Error::io("read", &self.path, error))?;
        if filled == 0 {
            return Ok(None);
        }
        let batch = Batch::check(&self.buffer[..filled], true).map_err(|bad| malformed(&self.path, bad))?;
        self.ended = false;
        Ok(Some(batch))
    }

    fn calls(&self) -> Option<u64> {
        Some(self.calls)
    }
}

/// Returns the error for a buffer that the kernel filled with something other than records.
pub(crate) fn malformed(path: &Path, malformed: Malformed) -> Error {
    let reason = format!("the kernel gave a malformed record at byte {} of a buffer", malformed.at);
    Error::new("read", path, ErrorKind::Malformed, reason)
}
