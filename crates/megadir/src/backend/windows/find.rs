//! Backends `find-first-file` and variants: one entry per call, by the directory's current path, as most programs list.

use std::path::PathBuf;
use std::sync::Arc;

use megadir_sys::windows::find::Search;

use super::Gathered;
use crate::attributes::StatMask;
use crate::backend::{Backend, Reader};
use crate::batch::Batch;
use crate::dir::Dir;
use crate::directory_information::Found;
use crate::error::{At, Error, ErrorKind, Result};
use crate::options::ReadOptions;

const BATCH_BYTES: usize = 128 << 10;
/// 259 characters of three bytes each.
const LONGEST: &[u8] = &[b'x'; 777];

/// Change times and file IDs are missing.
const AVAILABLE: StatMask =
    StatMask::TYPE.union(StatMask::SIZE).union(StatMask::MODIFIED).union(StatMask::BORN);

pub(in crate::backend) struct Find {
    name: &'static str,
    about: &'static str,
    basic: bool,
    large_fetch: bool,
}

pub(in crate::backend) static STANDARD: Find = Find {
    name: "find-first-file",
    about: "FindFirstFileExW(Standard): one entry per call, with short names",
    basic: false,
    large_fetch: false,
};

pub(in crate::backend) static BASIC: Find = Find {
    name: "find-first-file-basic",
    about: "FindFirstFileExW(Basic): one entry per call, without short names",
    basic: true,
    large_fetch: false,
};

pub(in crate::backend) static STANDARD_LARGE: Find = Find {
    name: "find-first-file-large",
    about: "FindFirstFileExW(Standard, LARGE_FETCH): with short names and larger internal buffers",
    basic: false,
    large_fetch: true,
};

pub(in crate::backend) static BASIC_LARGE: Find = Find {
    name: "find-first-file-basic-large",
    about: "FindFirstFileExW(Basic, LARGE_FETCH): without short names, with larger internal buffers",
    basic: true,
    large_fetch: true,
};

impl Backend for Find {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn is_raw(&self) -> bool {
        false
    }

    fn open(&self, directory: &Dir, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        self.start(directory, options, None)
    }

    fn provides(&self) -> StatMask {
        AVAILABLE
    }

    fn open_with_attributes(
        &self,
        directory: &Arc<Dir>,
        options: &ReadOptions,
        want: StatMask,
    ) -> Result<Box<dyn Reader>> {
        self.start(directory, options, Some((want, AVAILABLE)))
    }
}

impl Find {
    fn start(
        &self,
        directory: &Dir,
        options: &ReadOptions,
        want: Option<(StatMask, StatMask)>,
    ) -> Result<Box<dyn Reader>> {
        options.check_plain(self.name, directory.dir_path())?;
        let pattern = directory.readable_path()?.join("*");
        let pattern: Vec<u16> = std::os::windows::ffi::OsStrExt::encode_wide(pattern.as_os_str()).collect();
        let search = match Search::open(&pattern, self.basic, self.large_fetch) {
            Ok(search) => Some(search),
            // The root of an empty volume has not even `.` and `..`.
            Err(error) if error.raw_os_error() == Some(2) => None,
            Err(error) => return Err(Error::io("read", directory.path(), error)),
        };
        Ok(Box::new(FindReader {
            path: directory.path().to_owned(),
            search,
            gathered: Gathered::new(BATCH_BYTES, want),
            failed: None,
        }))
    }
}

struct FindReader {
    path: PathBuf,
    search: Option<Search>,
    gathered: Gathered,
    failed: Option<Error>,
}

impl Reader for FindReader {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        self.gathered.clear();
        while let Some(search) = &mut self.search
            && self.gathered.builder.fits(LONGEST)
        {
            let entry = match search.next_entry() {
                Ok(Some(entry)) => entry,
                ended => {
                    self.failed = ended.at("read", &self.path).err();
                    self.search = None;
                    break;
                }
            };
            if matches!(entry.name, [DOT] | [DOT, DOT]) {
                continue;
            }
            if !self.gathered.push(entry.name.iter().copied(), &Found::from(&entry.facts)) {
                self.search = None;
                let reason = "the system returned an invalid name";
                self.failed = Some(Error::new("read", &self.path, ErrorKind::Malformed, reason));
            }
        }
        match self.gathered.builder.is_empty() {
            true => self.failed.take().map_or(Ok(None), Err),
            false => Ok(Some(self.gathered.batch())),
        }
    }
}

const DOT: u16 = b'.' as u16;
