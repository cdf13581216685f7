//! Batches of entries, borrowed from a reader's buffer: no allocation per entry.

use crate::attributes::{Attributes, StatMask};
use crate::decode::{self, Records};
use crate::error::{Error, Result};
use crate::file_type::FileType;

/// Entries of a directory without `.` and `..`, decoded in place from the reader's buffer, a few nanoseconds each.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    bytes: &'a [u8],
    checked: decode::Checked,
    cookies: bool,
    attributes: Option<&'a [Attributes]>,
}

/// One entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Name without path, as bytes: the kernel's own on Unix, WTF-8 on Windows. Not necessarily UTF-8.
    pub name: &'a [u8],
    /// Inode number. On Windows the file ID, or 0 if the backend does not return one.
    pub inode: u64,
    /// Type, if the directory stores it.
    pub kind: FileType,
    /// Position after this entry (`telldir`), if known, from which a reader continues. Valid only in this directory and on this mount.
    pub cookie: Option<i64>,
    /// Length of the entry's record, bytes.
    pub record_bytes: u16,
}

impl<'a> Batch<'a> {
    /// Entries of an unchecked buffer end at the first bad record.
    pub(crate) fn from_checked(bytes: &'a [u8], checked: decode::Checked, cookies: bool) -> Self {
        Self { bytes, checked, cookies, attributes: None }
    }

    /// Attaches attributes: one row per entry, in the batch's order.
    #[must_use]
    pub fn with_attributes(self, attributes: &'a [Attributes]) -> Self {
        Self { attributes: Some(attributes).filter(|rows| rows.len() == self.checked.entries), ..self }
    }

    /// Attributes of each entry, if the listing returned them ([`Backend::open_with_attributes`](crate::Backend::open_with_attributes)).
    pub fn attributes(&self) -> Option<&'a [Attributes]> {
        self.attributes
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.checked.entries
    }

    /// `true` if the batch has no entries.
    pub fn is_empty(&self) -> bool {
        self.checked.entries == 0
    }

    /// Iterates over the entries in directory order.
    #[inline]
    pub fn entries(&self) -> Entries<'a> {
        Entries { records: Records::new(self.bytes), cookies: self.cookies }
    }

    /// Iterates over the names alone, which decodes nothing else.
    #[inline]
    pub fn names(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        Records::new(self.bytes).filter(|record| !record.is_dot()).map(|record| record.name)
    }

    /// Number of entries whose type the directory does not store.
    pub fn unknown_types(&self) -> usize {
        self.checked.unknown_types
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn has_cookies(&self) -> bool {
        self.cookies
    }
}

#[derive(Debug, Default)]
pub(crate) struct OwnedBatch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) checked: decode::Checked,
    pub(crate) cookies: bool,
    pub(crate) rows: Vec<Attributes>,
}

impl OwnedBatch {
    pub(crate) fn copy(&mut self, batch: Batch<'_>) {
        self.bytes.clear();
        self.bytes.extend_from_slice(batch.bytes);
        self.checked = batch.checked;
        self.cookies = batch.cookies;
        self.rows.clear();
    }

    /// Replaces unknown types by those in the attributes: a second call for each entry would double the time on file systems
    /// without types in directories. Types that the attributes lack, as for entries that vanished, stay unknown.
    pub(crate) fn take_types(&mut self) {
        if self.checked.unknown_types == 0 {
            return;
        }
        let rows = &self.rows;
        let mut unknown_types = 0;
        decode::resolve_types(&mut self.bytes, |entry, _| {
            let row = rows.get(entry).filter(|row| row.have.contains(StatMask::TYPE));
            let kind = row.map_or(FileType::Unknown, |row| row.kind);
            unknown_types += usize::from(kind == FileType::Unknown);
            kind.d_type()
        });
        self.checked.unknown_types = unknown_types;
    }

    pub(crate) fn batch(&self) -> Batch<'_> {
        debug_assert_eq!(decode::check(&self.bytes), Ok(self.checked), "records are copied whole");
        Batch::from_checked(&self.bytes, self.checked, self.cookies)
    }
}

impl<'a> IntoIterator for Batch<'a> {
    type Item = Entry<'a>;
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        self.entries()
    }
}

/// Iterator over the entries of a [`Batch`].
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

/// Encodes entries one by one into a [`Batch`], for backends that do not receive records.
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    bytes: Vec<u8>,
    /// A record of a very long name may exceed it, and `bytes` then has a larger capacity.
    limit_bytes: usize,
    checked: decode::Checked,
    cookies: bool,
}

impl BatchBuilder {
    /// Creates a builder for about `buffer_bytes` of records. With `cookies`, offsets are positions.
    pub fn new(buffer_bytes: usize, cookies: bool) -> Self {
        let bytes = Vec::with_capacity(buffer_bytes);
        Self { bytes, limit_bytes: buffer_bytes, checked: decode::Checked::default(), cookies }
    }

    /// Removes all entries and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.checked = decode::Checked::default();
    }

    /// `true` if a record for `name` fits into the requested memory. An empty builder accepts any name.
    pub fn fits(&self, name: &[u8]) -> bool {
        self.bytes.is_empty() || self.bytes.len() + decode::record_length(name) <= self.limit_bytes
    }

    /// Appends an entry; `false` if the name is empty, contains a NUL or is longer than 65 000 bytes.
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

    /// `true` if nothing was added since the last [`BatchBuilder::clear`].
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn finish(&self, failed: &mut Option<Error>) -> Result<Option<Batch<'_>>> {
        match self.is_empty() {
            true => failed.take().map_or(Ok(None), Err),
            false => Ok(Some(self.batch())),
        }
    }

    /// Returns the added entries.
    pub fn batch(&self) -> Batch<'_> {
        debug_assert_eq!(decode::check(&self.bytes), Ok(self.checked), "records made by push are whole");
        Batch::from_checked(&self.bytes, self.checked, self.cookies)
    }
}

#[cfg(test)]
mod tests {
    use super::BatchBuilder;
    use crate::file_type::FileType;

    /// FUSE may have names of more than 255 bytes, and readers leave no space for them.
    #[test]
    fn long_names_do_not_make_batches_grow_from_one_to_the_next() {
        let mut builder = BatchBuilder::new(4096, false);
        for _ in 0..20 {
            builder.clear();
            while builder.fits(&[b'x'; 255]) {
                assert!(builder.push(&[b'n'; 700], 1, FileType::File, 0));
            }
            assert!(builder.bytes.len() < 4096 + 800, "{}", builder.bytes.len());
        }
    }
}
