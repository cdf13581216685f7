//! Order in which a worker processes its files. As listed and by inode, directories are listed beforehand, untimed, at 20 or 36
//! bytes per file. Names are found by a 64-bit hash of their path; unexpected and missing ones count as wrong.
//!
//! ```text
//!  Order: nth file of the worker -> its number -> Batch: up to 4096 files with path, size and content, ready to use
//! ```
//!
//! Preparation is separate from the timed loop: computing names and contents is no operation on files.

use std::ffi::{CStr, CString};

use megadir::{Dir, ReadOptions};
use megadir_record::{Access, FileOrder};
use megadir_stats::permutation::Permutation;

use crate::control::{Result, RunControl, WorkError};
use crate::dataset::{Files, PlaceBuffer};
use crate::kind::files::task::{Set, Task, directories, no_place, path_key};
use crate::os::{self, At};

/// Maximum number of files per worker in a prepared order: preparation needs 1.2 GiB.
pub(crate) const LISTED_MAX: u64 = 1 << 25;
const BUFFER_BYTES: usize = 128 << 10;

#[derive(Debug)]
pub(crate) enum Order {
    AsWritten,
    Random(Permutation),
    Listed(Vec<u32>),
}

impl Order {
    /// Number of the nth file. A random order is a permutation computed from the seed, which takes no
    /// memory.
    #[inline]
    pub(crate) fn get(&self, nth: u64) -> u64 {
        match self {
            Self::AsWritten => nth,
            Self::Random(permutation) => permutation.get(nth).unwrap_or(nth),
            Self::Listed(numbers) => numbers.get(nth as usize).map_or(nth, |number| u64::from(*number)),
        }
    }

    pub(crate) fn prepare(task: &Task, set: &Set, top: &Dir, control: RunControl<'_>) -> Result<(Self, u64)> {
        match task.work.access {
            Access::Directory | Access::Name { order: FileOrder::AsWritten } => Ok((Self::AsWritten, 0)),
            Access::Name { order: FileOrder::Random } => {
                Ok((Self::Random(Permutation::new(set.count, task.block_seed)), 0))
            }
            Access::Name { order: FileOrder::Listing } => listed(set, top, false, control),
            Access::Name { order: FileOrder::Inode } => listed(set, top, true, control),
        }
    }
}

/// The order comes from a real listing, because the kernel's cannot be computed. Each name is looked up
/// by the hash of its path in a sorted table, which takes 12 bytes for a file instead of its name. Files that
/// were not listed are added at the end and counted as wrong, so that the worker still processes all of its
/// files.
fn listed(set: &Set, top: &Dir, by_inode: bool, control: RunControl<'_>) -> Result<(Order, u64)> {
    let mut keys = Vec::with_capacity(set.count as usize);
    let directories = directories(set, control, |directory, file, nth| {
        keys.push((path_key(directory, file), nth as u32));
    })?;
    keys.sort_unstable();
    let mut numbers: Vec<(u64, u32)> = Vec::with_capacity(keys.len());
    let mut wrong = 0;
    let backend = megadir::backend(os::LISTED_BY)?;
    let options = ReadOptions::serial(BUFFER_BYTES);
    for path in &directories {
        let directory = match path.is_empty() {
            true => top.again()?,
            false => {
                let opened = os::open_below(top.at(), path).map_err(WorkError::at("opening a directory"))?;
                Dir::from_descriptor(opened, String::from_utf8_lossy(path).as_ref())
            }
        };
        let mut reader = backend.open(&directory, &options)?;
        while let Some(batch) = reader.next_batch()? {
            control.check()?;
            for entry in batch.entries().filter(|entry| entry.kind != megadir::FileType::Directory) {
                let key = path_key(path, entry.name);
                match keys.binary_search_by_key(&key, |(key, _)| *key) {
                    Ok(at) => numbers.push((entry.inode, keys[at].1)),
                    // In a shared tree it belongs to another worker.
                    Err(_) => wrong += u64::from(!set.shared()),
                }
            }
        }
    }
    wrong += (keys.len() as u64).saturating_sub(numbers.len() as u64);
    drop(keys);
    if by_inode {
        numbers.sort_unstable();
    }
    let mut numbers: Vec<u32> = numbers.into_iter().map(|(_, number)| number).collect();
    complete(&mut numbers, set.count);
    Ok((Order::Listed(numbers), wrong))
}

/// Removes files that were listed twice and appends missing ones, so that every file is processed once.
fn complete(numbers: &mut Vec<u32>, count: u64) {
    if numbers.len() as u64 == count {
        return;
    }
    let mut seen = vec![false; count as usize];
    numbers.retain(|number| !std::mem::replace(&mut seen[*number as usize], true));
    numbers.extend((0..count as u32).filter(|number| !seen[*number as usize]));
}

/// Maximum number of files in a batch: names and pointers fit in the L2 cache.
const FILES_MAX: usize = 4096;
/// Larger files are computed piece by piece while they are written, bytes.
pub(crate) const CONTENTS_MAX: u64 = 4 << 20;

/// Files that come next, prepared between timed operations; their memory is reused.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    files: Vec<Next>,
    contents: Vec<u8>,
}

/// One file, prepared before its operation is timed. `file_at` is the offset of the name within the path, and
/// `content_at` the place of the content in the batch's bytes.
#[derive(Debug)]
struct Next {
    index: u64,
    path: CString,
    file_at: usize,
    size_bytes: u64,
    content_at: usize,
}

#[derive(Clone, Copy)]
pub(crate) struct Planned<'a> {
    pub(crate) path: &'a CStr,
    file_at: usize,
    pub(crate) size_bytes: u64,
    pub(crate) content: Bytes<'a>,
}

/// Content of a file: prepared, or generated piece by piece while a large file is written.
#[derive(Clone, Copy)]
pub(crate) enum Bytes<'a> {
    Ready(&'a [u8]),
    Later(&'a Files, u64),
}

impl<'a> Planned<'a> {
    pub(crate) fn directory(&self) -> &'a [u8] {
        &self.path.to_bytes()[..self.file_at.saturating_sub(1)]
    }

    pub(crate) fn file(&self) -> &'a [u8] {
        &self.path.to_bytes()[self.file_at..]
    }
}

impl Batch {
    /// Loads the files from position `from` of the order, with contents if they are written; returns their number.
    pub(crate) fn fill(&mut self, set: &Set, order: &Order, from: u64, contents: bool) -> Result<u64> {
        self.files.clear();
        self.contents.clear();
        let mut buffer = PlaceBuffer::new();
        for nth in from..set.count {
            let index = set.index(order.get(nth));
            let size_bytes = set.files.size_bytes(index);
            let content_at = self.contents.len();
            if contents && size_bytes <= CONTENTS_MAX {
                let end = content_at + size_bytes as usize;
                if end as u64 > CONTENTS_MAX && !self.files.is_empty() {
                    break;
                }
                self.contents.resize(end, 0);
                set.files.content(index).fill(&mut self.contents[content_at..]);
            }
            let place = set.files.place(index, &mut buffer).map_err(|reason| no_place(reason, index))?;
            let file_at = place.path().len() - place.file().len();
            let path = CString::new(place.path()).map_err(std::io::Error::from);
            let path = path.map_err(WorkError::at("computing a name"))?;
            self.files.push(Next { index, path, file_at, size_bytes, content_at });
            if self.files.len() == FILES_MAX {
                break;
            }
        }
        Ok(self.files.len() as u64)
    }

    #[inline]
    pub(crate) fn get<'a>(&'a self, at: usize, files: &'a Files) -> Planned<'a> {
        let next = &self.files[at];
        let content = match next.size_bytes {
            size @ 0..=CONTENTS_MAX => {
                let end = (next.content_at + size as usize).min(self.contents.len());
                Bytes::Ready(&self.contents[next.content_at.min(end)..end])
            }
            _ => Bytes::Later(files, next.index),
        };
        Planned { path: &next.path, file_at: next.file_at, size_bytes: next.size_bytes, content }
    }
}
