//! Backends `by-handle` and `nt-query`: each call fills a buffer with entries and their attributes. `FileIdBothDirectoryInfo`
//! includes short names (8.3), which NTFS stores separately; `FileFullDirectoryInfo` has no file IDs.

use std::os::windows::io::AsHandle;
use std::sync::Arc;

use megadir_sys::windows::enumerate::{self as sys, Buffer};
use megadir_sys::windows::is_not_known;

use super::Gathered;
use crate::attributes::StatMask;
use crate::backend::{Backend, Reader};
use crate::batch::Batch;
use crate::dir::Dir;
use crate::directory_information::{Layout, Records};
use crate::error::{Error, ErrorKind, Result};
use crate::options::ReadOptions;

#[derive(Clone, Copy)]
pub(in crate::backend) struct Enumerate {
    name: &'static str,
    about: &'static str,
    call: Call,
    layout: Layout,
}

#[derive(Clone, Copy)]
enum Call {
    /// The call that restarts the listing has its own class.
    ByHandle {
        first: i32,
        next: i32,
    },
    NtQuery {
        class: i32,
    },
    NtQueryEx {
        class: i32,
    },
}

pub(in crate::backend) static BY_HANDLE: Enumerate = Enumerate {
    name: "by-handle",
    about: "GetFileInformationByHandleEx(FileIdBothDirectoryInfo): a buffer of entries per call, with attributes and file IDs",
    call: Call::ByHandle { first: 11, next: 10 },
    layout: Layout::IdBoth,
};

pub(in crate::backend) static BY_HANDLE_FULL: Enumerate = Enumerate {
    name: "by-handle-full",
    about: "GetFileInformationByHandleEx(FileFullDirectoryInfo): a buffer of entries per call, with attributes",
    call: Call::ByHandle { first: 15, next: 14 },
    layout: Layout::Full,
};

pub(in crate::backend) static NT_QUERY: Enumerate = Enumerate {
    name: "nt-query",
    about: "NtQueryDirectoryFile(FileIdFullDirectoryInformation): as by-handle, without short names",
    call: Call::NtQuery { class: 38 },
    layout: Layout::IdFull,
};

pub(in crate::backend) static NT_QUERY_EXTENDED: Enumerate = Enumerate {
    name: "nt-query-extended",
    about: "NtQueryDirectoryFile(FileIdExtdDirectoryInformation): 128-bit file IDs, Windows 8 and later",
    call: Call::NtQuery { class: 60 },
    layout: Layout::IdExtended,
};

pub(in crate::backend) static NT_QUERY_EX: Enumerate = Enumerate {
    name: "nt-query-ex",
    about: "NtQueryDirectoryFileEx(FileIdFullDirectoryInformation): Windows 10 1709 and later",
    call: Call::NtQueryEx { class: 38 },
    layout: Layout::IdFull,
};

impl Backend for Enumerate {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn is_raw(&self) -> bool {
        false
    }

    fn uses_buffer(&self) -> bool {
        true
    }

    fn provides(&self) -> StatMask {
        self.layout.attributes()
    }

    fn probe(&self, directory: &Dir) -> Result<()> {
        let unavailable =
            |reason: String| Err(Error::new("read", directory.path(), ErrorKind::Unavailable, reason));
        match self.call {
            Call::NtQueryEx { .. } if !sys::has_nt_query_ex() => {
                unavailable("this system has no NtQueryDirectoryFileEx".to_owned())
            }
            Call::NtQuery { class: class @ 60 } => {
                let handle = directory.reopen()?;
                let queried = sys::nt_query(handle.as_handle(), class, true, &mut Buffer::new(4 << 10));
                queried.map(drop).map_err(|error| Error::io("read", directory.path(), error).reason()).or_else(|error| {
                    unavailable(format!(
                        "this system or file system does not know FileIdExtdDirectoryInformation ({error})"
                    ))
                })
            }
            _ => Ok(()),
        }
    }

    fn open(&self, directory: &Dir, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        self.start(&Arc::new(directory.again()?), options, None)
    }

    fn open_again(
        &self,
        directory: &Arc<Dir>,
        options: &ReadOptions,
        _buffer: Vec<u8>,
    ) -> Result<Box<dyn Reader>> {
        self.start(directory, options, None)
    }

    fn open_with_attributes(
        &self,
        directory: &Arc<Dir>,
        options: &ReadOptions,
        want: StatMask,
    ) -> Result<Box<dyn Reader>> {
        self.start(directory, options, Some(want))
    }
}

impl Enumerate {
    fn start(
        &self,
        directory: &Arc<Dir>,
        options: &ReadOptions,
        want: Option<StatMask>,
    ) -> Result<Box<dyn Reader>> {
        options.check_plain(self.name, directory.dir_path())?;
        self.probe(directory)?;
        Ok(Box::new(EnumerateReader {
            of: *self,
            directory: Arc::clone(directory),
            buffer: Buffer::new(options.buffer_bytes),
            gathered: Gathered::new(options.buffer_bytes, want.map(|want| (want, self.layout.attributes()))),
            progress: Progress::Start,
            calls: 0,
        }))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Start,
    Midst,
    Ended,
}

/// The system keeps the position in the open handle; the first call must ask for a restart, since the handle
/// may have been read before. `buffer` has what the system returned, and `gathered` the same entries as
/// records and attributes, which batches borrow.
struct EnumerateReader {
    of: Enumerate,
    directory: Arc<Dir>,
    buffer: Buffer,
    gathered: Gathered,
    progress: Progress,
    calls: u64,
}

impl Reader for EnumerateReader {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        if self.progress == Progress::Ended {
            return Ok(None);
        }
        let is_first = self.progress == Progress::Start;
        self.progress = Progress::Ended;
        self.calls += 1;
        let filled = match self.fill(is_first) {
            // The root of an empty volume has not even `.` and `..`.
            Err(error) if is_first && error.raw_os_error() == Some(ERROR_FILE_NOT_FOUND) => return Ok(None),
            Err(error) if is_first && is_not_known(&error) => return Err(self.not_known(error)),
            filled => filled.map_err(|error| self.failed(error))?,
        };
        let Some(filled) = filled else { return Ok(None) };
        self.gathered.clear();
        for record in Records::new(&self.buffer.bytes()[..filled], self.of.layout) {
            let record =
                record.map_err(|bad| self.malformed(&format!("a malformed record at byte {}", bad.at)))?;
            if record.is_dot() {
                continue;
            }
            if !self.gathered.push(record.name(), &record.found) {
                return Err(self.malformed("an invalid name"));
            }
        }
        self.progress = Progress::Midst;
        Ok(Some(self.gathered.batch()))
    }

    fn calls(&self) -> Option<u64> {
        Some(self.calls)
    }
}

const ERROR_FILE_NOT_FOUND: i32 = 2;

impl EnumerateReader {
    fn fill(&mut self, is_first: bool) -> std::io::Result<Option<usize>> {
        let (handle, buffer) = (self.directory.as_handle(), &mut self.buffer);
        match self.of.call {
            Call::ByHandle { first, next } => {
                let is_filled = sys::by_handle(handle, if is_first { first } else { next }, buffer)?;
                Ok(is_filled.then(|| buffer.bytes().len()))
            }
            Call::NtQuery { class } => sys::nt_query(handle, class, is_first, buffer),
            Call::NtQueryEx { class } => sys::nt_query_ex(handle, class, is_first, buffer),
        }
    }

    /// Some network and third-party file systems support only the oldest information classes.
    fn not_known(&self, error: std::io::Error) -> Error {
        let why = self.failed(error).reason();
        let reason = format!(
            "its file system cannot list by handle as {} does ({why}); try the backend find-first-file",
            self.of.name
        );
        Error::new("read", self.directory.path(), ErrorKind::Unavailable, reason)
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::io("read", self.directory.path(), error)
    }

    fn malformed(&self, reason: &str) -> Error {
        Error::new(
            "read",
            self.directory.path(),
            ErrorKind::Malformed,
            format!("the system returned {reason}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Enumerate};
    use crate::backend::Backend;
    use crate::directory_information::Layout;
    use crate::{Dir, ErrorKind, ReadOptions};

    #[test]
    fn unknown_records_are_refused_in_one_line() {
        let directory = Dir::open(std::env::temp_dir()).unwrap();
        let options = ReadOptions::serial(64 << 10);
        for call in [Call::ByHandle { first: 99, next: 99 }, Call::NtQuery { class: 99 }] {
            let of_no_system = Enumerate { name: "none", about: "", call, layout: Layout::Full };
            let mut reader = of_no_system.open(&directory, &options).unwrap();
            let error = reader.next_batch().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert!(error.to_string().contains("cannot list by handle as none does ("), "{error}");
            assert!(reader.next_batch().unwrap().is_none());
        }
    }
}
