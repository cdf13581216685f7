//! The batch: entries borrowed from a reader's buffer, with no allocation an entry.

use crate::attributes::Attributes;
use crate::decode::{self, Records};
use crate::file_type::FileType;

/// A number of entries, borrowed from the reader until it is asked for the next batch.
///
/// `.` and `..` are never among them. Iterating decodes in place: an entry costs a few nanoseconds and
/// no allocation.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    bytes: &'a [u8],
    entries: usize,
    unknown_types: usize,
    cookies: bool,
    attributes: Option<&'a [Attributes]>,
}

/// One entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The name's bytes, without path: on Unix as the kernel has them, on Windows WTF-8. Never assume UTF-8.
    pub name: &'a [u8],
    /// The inode number (on Windows the file's number, 0 where the backend is not told).
    pub inode: u64,
    /// The type, as far as the directory tells.
    pub kind: FileType,
    /// The position after this entry, where the backend knows it: seeking there goes on with the next entry.
    /// What `telldir` gives; means nothing outside this directory and this mount.
    pub cookie: Option<i64>,
    /// The length of the record that held the entry, bytes.
    pub record_bytes: u16,
}

impl<'a> Batch<'a> {
    /// Checks a buffer of records and makes a batch of it.
    pub(crate) fn check(bytes: &'a [u8], cookies: bool) -> Result<Self, decode::Malformed> {
        Ok(Self::from_checked(bytes, decode::check(bytes)?, cookies))
    }

    /// Makes a batch of a buffer that has been checked; of another, its entries end at the first bad record.
    pub(crate) fn from_checked(bytes: &'a [u8], checked: decode::Checked, cookies: bool) -> Self {
        let unknown_types = checked.unknown_types;
        Self { bytes, entries: checked.entries, unknown_types, cookies, attributes: None }
    }

    /// Returns the batch with the attributes that the listing brought along: one row an entry, in the order of the batch.
    #[must_use]
    pub fn with_attributes(self, attributes: &'a [Attributes]) -> Self {
        Self { attributes: Some(attributes).filter(|rows| rows.len() == self.entries), ..self }
    }

    /// Returns the attributes of each entry where the listing brought them along
    /// ([`Backend::open_with_attributes`](crate::Backend::open_with_attributes)).
    pub fn attributes(&self) -> Option<&'a [Attributes]> {
        self.attributes
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Returns whether there is no entry (a batch of a directory that holds only `.` and `..`).
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Returns the entries, in the order of the directory.
    #[inline]
    pub fn entries(&self) -> Entries<'a> {
        Entries { records: Records::new(self.bytes), cookies: self.cookies }
    }

    /// Returns how many entries have a type that the directory does not tell.
    pub fn unknown_types(&self) -> usize {
        self.unknown_types
    }

    /// Returns the records' bytes.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns whether the records' offsets are positions.
    pub(crate) fn has_cookies(&self) -> bool {
        self.cookies
    }
}

impl<'a> IntoIterator for Batch<'a> {
    type Item = Entry<'a>;
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        self.entries()
    }
}

/// The entries of a [`Batch`].
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    records: Records<'a>,
    cookies: bool,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            let record = self.records.next()?;
            if record.is_dot() {
                continue;
            }
            return Some(Entry {
                name: record.name,
                inode: record.inode,
                kind: FileType::from_d_type(record.kind),
                cookie: self.cookies.then_some(record.offset),
                record_bytes: record.record_bytes,
            });
        }
    }
}

/// Builds the bytes of a batch for backends (and tests) that get entries one by one.
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    bytes: Vec<u8>,
    /// What is in them, counted as it comes: its own records need no second look.
    checked: decode::Checked,
    cookies: bool,
}

impl BatchBuilder {
    /// Makes a builder for about `buffer_bytes` of records; `cookies` tells whether offsets are positions.
    pub fn new(buffer_bytes: usize, cookies: bool) -> Self {
        Self { bytes: Vec::with_capacity(buffer_bytes), checked: decode::Checked::NOTHING, cookies }
    }

    /// Empties the builder and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.checked = decode::Checked::NOTHING;
    }

    /// Returns whether a record for `name` still fits the memory that was asked for; the first always does.
    pub fn fits(&self, name: &[u8]) -> bool {
        self.bytes.is_empty() || self.bytes.len() + decode::record_length(name) <= self.bytes.capacity()
    }

    /// Returns how many bytes are left of the memory that was asked for.
    #[cfg(windows)]
    pub(crate) fn bytes_left(&self) -> usize {
        self.bytes.capacity().saturating_sub(self.bytes.len())
    }

    /// Adds an entry; returns `false`, adding nothing, when the name is empty, holds a NUL or is
    /// longer than 65 000 bytes.
    pub fn push(&mut self, name: &[u8], inode: u64, kind: FileType, offset: i64) -> bool {
        let kind = kind.d_type();
        if name.is_empty() || name.contains(&0) || !decode::encode(&mut self.bytes, inode, offset, kind, name)
        {
            return false;
        }
        if !matches!(name, b"." | b"..") {
            self.checked.entries += 1;
            self.checked.unknown_types += usize::from(kind == 0);
        }
        true
    }

    /// Returns whether nothing was added since the last [`BatchBuilder::clear`].
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns what was added as a batch.
    pub fn batch(&self) -> Batch<'_> {
        debug_assert_eq!(decode::check(&self.bytes), Ok(self.checked), "records made by push are whole");
        Batch::from_checked(&self.bytes, self.checked, self.cookies)
    }
}
