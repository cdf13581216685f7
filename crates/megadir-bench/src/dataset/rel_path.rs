//! Path of a file relative to the top of its data set, and the buffer it is written into.

use megadir::layout::PathBuffer;

use super::NAME_BYTES_MAX;
use super::names::decimal;

/// The longest path of a file, bytes: of shapes, 48 directories of `d` and 20 digits; those of layouts are shorter.
pub(super) const PATH_BYTES_MAX: usize = 48 * 22 + NAME_BYTES_MAX + 1;
/// What a path is written into; reused from file to file.
#[derive(Clone)]
pub struct PlaceBuffer {
    pub(super) name: [u8; NAME_BYTES_MAX],
    pub(super) layout: PathBuffer,
    pub(super) path: [u8; PATH_BYTES_MAX],
}

impl PlaceBuffer {
    /// Makes an empty one.
    pub fn new() -> Self {
        Self { name: [0; NAME_BYTES_MAX], layout: PathBuffer::new(), path: [0; PATH_BYTES_MAX] }
    }
}

impl Default for PlaceBuffer {
    fn default() -> Self {
        Self::new()
    }
}

/// The path of a file, relative to the top, with `/` between its components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    pub(super) path: &'a [u8],
    pub(super) file_at: usize,
}

impl<'a> Place<'a> {
    /// Returns the whole path.
    pub fn path(&self) -> &'a [u8] {
        self.path
    }

    /// Returns the directory that the file is in; empty for the top itself.
    pub fn directory(&self) -> &'a [u8] {
        &self.path[..self.file_at.saturating_sub(1)]
    }

    /// Returns the file's own name in its directory.
    pub fn file(&self) -> &'a [u8] {
        &self.path[self.file_at..]
    }
}

/// A path being written.
pub(super) struct PathWriter<'a> {
    bytes: &'a mut [u8; PATH_BYTES_MAX],
    length: usize,
}

impl<'a> PathWriter<'a> {
    pub(super) fn new(bytes: &'a mut [u8; PATH_BYTES_MAX]) -> Self {
        Self { bytes, length: 0 }
    }

    pub(super) fn push(&mut self, text: &[u8]) {
        self.bytes[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
    }

    /// Appends `d` and a number of so many digits or more as a directory.
    pub(super) fn directory(&mut self, number: u64, digits: usize) {
        let mut text = [0; 41];
        let text = decimal(number, &mut text);
        self.separate();
        self.push(b"d");
        (text.len()..digits).for_each(|_| self.push(b"0"));
        self.push(text);
    }

    pub(super) fn separate(&mut self) {
        if self.length > 0 {
            self.push(b"/");
        }
    }

    pub(super) fn path(self) -> &'a [u8] {
        &self.bytes[..self.length]
    }

    pub(super) fn file(mut self, name: &[u8]) -> Place<'a> {
        self.separate();
        let file_at = self.length;
        self.push(name);
        Place { path: self.path(), file_at }
    }
}
