//! The names, sizes and contents of the files that come next, computed before their time starts: a buffer with bounds.

use std::ffi::{CStr, CString};

use super::order::Order;
use super::task::{Set, no_place};
use crate::control::WorkError;
use crate::dataset::{Files, PlaceBuffer};

/// The most files in a batch: their names and pointers fit into a second-level cache.
const FILES_MAX: usize = 4096;
/// The most bytes of contents in a batch; a larger file is computed piece by piece while it is written.
pub(super) const CONTENTS_MAX: u64 = 4 << 20;

/// The files that come next.
#[derive(Debug, Default)]
pub(super) struct Batch {
    files: Vec<Next>,
    contents: Vec<u8>,
}

/// One of them.
#[derive(Debug)]
struct Next {
    index: u64,
    path: CString,
    /// Where in `path` the file's own name begins.
    file_at: usize,
    size_bytes: u64,
    /// Where in the batch's contents its own begin.
    content_at: usize,
}

/// A file that is to be worked on.
#[derive(Clone, Copy)]
pub(super) struct Planned<'a> {
    pub(super) path: &'a CStr,
    file_at: usize,
    pub(super) size_bytes: u64,
    pub(super) content: Bytes<'a>,
}

/// What is to be written into a file.
#[derive(Clone, Copy)]
pub(super) enum Bytes<'a> {
    /// These bytes.
    Ready(&'a [u8]),
    /// Those of the file of this number, which are too many to be kept.
    Later(&'a Files, u64),
}

impl<'a> Planned<'a> {
    /// Returns the path of the directory that the file is in; empty for the top.
    pub(super) fn directory(&self) -> &'a [u8] {
        &self.path.to_bytes()[..self.file_at.saturating_sub(1)]
    }

    /// Returns the file's own name.
    pub(super) fn file(&self) -> &'a [u8] {
        &self.path.to_bytes()[self.file_at..]
    }
}

impl Batch {
    /// Takes the files from number `from` of the order on, with their contents where those are to be written; returns
    /// how many.
    pub(super) fn fill(
        &mut self,
        set: &Set,
        order: &Order,
        from: u64,
        contents: bool,
    ) -> Result<u64, WorkError> {
        self.files.clear();
        self.contents.clear();
        let mut buffer = PlaceBuffer::new();
        for nth in from..set.count() {
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
            let path = path.map_err(|source| WorkError::Stage { stage: "computing a name", source })?;
            self.files.push(Next { index, path, file_at, size_bytes, content_at });
            if self.files.len() == FILES_MAX {
                break;
            }
        }
        Ok(self.files.len() as u64)
    }

    /// Returns one of the files.
    #[inline]
    pub(super) fn get<'a>(&'a self, at: usize, files: &'a Files) -> Planned<'a> {
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
