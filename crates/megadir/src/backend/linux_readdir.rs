//! Backend `readdir`: the C library's `readdir64`, which the programs under study use. It copies entries from
//! a buffer of its own (32 KiB in glibc).

use std::path::PathBuf;

use megadir_sys::readdir::DirStream;

use super::resolve::resolving;
use super::{Backend, Reader};
use crate::batch::{Batch, BatchBuilder};
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::options::ReadOptions;

const BATCH_BYTES: usize = 128 << 10;

pub(crate) struct Readdir;

impl Backend for Readdir {
    fn name(&self) -> &'static str {
        "readdir"
    }

    fn about(&self) -> &'static str {
        "the C library's readdir with its own buffer (32 KiB in glibc)"
    }

    fn open(&self, directory: &Dir, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        options.check_plain(self.name(), directory.dir_path())?;
        let stream = DirStream::open(directory.reopen_for_reader()?).at("read", directory.dir_path())?;
        let reader = ReaddirReader {
            path: directory.path().to_owned(),
            stream,
            builder: BatchBuilder::new(BATCH_BYTES, true),
            ended: false,
            failed: None,
        };
        resolving(reader, directory, options)
    }
}

/// Each entry is copied into `builder`, since the C library's buffer is not accessible and the next call
/// overwrites it. An error in the middle of a batch waits in `failed` until the entries before it were
/// returned.
struct ReaddirReader {
    path: PathBuf,
    stream: DirStream,
    builder: BatchBuilder,
    ended: bool,
    failed: Option<Error>,
}

impl Reader for ReaddirReader {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        self.builder.clear();
        while !self.ended && self.builder.fits(&[b'x'; 255]) {
            let entry = match self.stream.next_entry() {
                Ok(Some(entry)) => entry,
                ended => {
                    self.ended = true;
                    self.failed = ended.at("read", &self.path).err();
                    break;
                }
            };
            if !self.builder.push(entry.name, entry.inode, FileType::from_d_type(entry.kind), entry.offset) {
                let reason = "the C library returned an invalid name";
                return Err(Error::new("read", &self.path, ErrorKind::Malformed, reason));
            }
        }
        self.builder.finish(&mut self.failed)
    }

    fn calls(&self) -> Option<u64> {
        Some(self.stream.refills())
    }
}
