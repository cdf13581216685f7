//! File with one part in memory: checksum and decoding read it from disk once.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf, Bytes};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::open_at_once::open_file;

#[derive(Clone)]
pub(super) struct Window(Arc<Shared>);

/// The decoder clones its source, so the file and the part in memory are shared. Reads outside the part go to
/// the file.
struct Shared {
    file: Source,
    length: u64,
    part: Mutex<Part>,
}

enum Source {
    Open(File),
    Path(PathBuf),
}

impl Source {
    fn file(&self) -> io::Result<File> {
        match self {
            Self::Open(file) => file.try_clone(),
            Self::Path(path) => open_file(path, File::options().read(true)),
        }
    }
}

#[derive(Default)]
struct Part {
    start: u64,
    bytes: Bytes,
}

impl Window {
    /// With a path, the file is opened again for each reading.
    pub(super) fn new(file: File, reopened: Option<&Path>) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let file = reopened.map_or(Source::Open(file), |path| Source::Path(path.to_owned()));
        Ok(Self(Arc::new(Shared { file, length, part: Mutex::default() })))
    }

    pub(super) fn hold(&self, range: Range<u64>) -> io::Result<Bytes> {
        let Shared { file, length, part } = &*self.0;
        if range.end > *length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::from(std::mem::take(&mut part.bytes));
        bytes.clear();
        read(&file.file()?, &range, &mut bytes)?;
        *part = Part { start: range.start, bytes: bytes.into() };
        Ok(part.bytes.clone())
    }

    fn slice(&self, start: u64, bytes: Option<usize>) -> Option<Bytes> {
        let part = self.0.part.lock().unwrap_or_else(PoisonError::into_inner);
        let from = usize::try_from(start.checked_sub(part.start)?).ok()?;
        let to = bytes.map_or(Some(part.bytes.len()), |bytes| from.checked_add(bytes))?;
        (from < part.bytes.len() && to <= part.bytes.len()).then(|| part.bytes.slice(from..to))
    }
}

fn read(mut file: &File, range: &Range<u64>, bytes: &mut Vec<u8>) -> io::Result<()> {
    let length = range.end - range.start;
    bytes.reserve_exact(usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?);
    file.seek(SeekFrom::Start(range.start))?;
    match file.take(length).read_to_end(bytes)? as u64 == length {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

impl Length for Window {
    fn len(&self) -> u64 {
        self.0.length
    }
}

impl ChunkReader for Window {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        if let Some(bytes) = self.slice(start, None) {
            return Ok(Box::new(bytes.reader()));
        }
        let mut file = self.0.file.file()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(Box::new(BufReader::new(file)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if let Some(bytes) = self.slice(start, Some(length)) {
            return Ok(bytes);
        }
        let end = start.checked_add(length as u64).filter(|end| *end <= self.0.length);
        let end = end.ok_or_else(|| ParquetError::EOF(format!("{length} bytes at {start}")))?;
        let mut bytes = Vec::new();
        read(&self.0.file.file()?, &(start..end), &mut bytes)?;
        Ok(bytes.into())
    }
}
