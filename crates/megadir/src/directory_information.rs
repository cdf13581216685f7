//! The records that Windows fills a buffer with when a directory is read, and their checked decoder.
//!
//! Four layouts share the first 64 bytes; what stands before the name differs:
//!
//! ```text
//! byte 0     4      8        16         24       32       40    48          56          60           64
//!      | next | index | created | accessed | written | changed | size | allocated | attributes | name bytes | ... name
//! ```
//!
//! `next` leads from a record to the one behind it; 0 stands in the last. The name is UTF-16, which may hold unpaired
//! surrogates, without a NUL. For a reparse point the length of extended attributes tells its kind instead.
//! The code is the same on every system, so that it is tested and fuzzed where that is done; calls are in `backend/windows/`.
//! Reference: `FILE_ID_FULL_DIR_INFORMATION` and its relatives in the documentation of the Windows driver kit.

use crate::attributes::{Attributes, Time, Want};
use crate::file_type::FileType;

/// Bytes that all layouts begin with.
const COMMON_BYTES: usize = 64;
const DIRECTORY: u32 = 0x10;
const REPARSE_POINT: u32 = 0x400;
/// A reparse point that stands for another path: a symbolic link or a junction.
const NAME_SURROGATE: u32 = 0x2000_0000;

/// A layout of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `FILE_FULL_DIR_INFORMATION`, `FILE_FULL_DIR_INFO`.
    Full,
    /// `FILE_ID_FULL_DIR_INFORMATION`.
    IdFull,
    /// `FILE_ID_BOTH_DIR_INFORMATION`, `FILE_ID_BOTH_DIR_INFO`.
    IdBoth,
    /// `FILE_ID_EXTD_DIR_INFORMATION`.
    IdExtended,
}

/// Where a layout has what, bytes from the start of a record.
struct Places {
    reparse_tag: usize,
    file_id: Option<usize>,
    name: usize,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Self; 4] = [Self::Full, Self::IdFull, Self::IdBoth, Self::IdExtended];

    const fn places(self) -> Places {
        let (reparse_tag, file_id, name) = match self {
            Self::Full => (64, None, 68),
            Self::IdFull => (64, Some(72), 80),
            Self::IdBoth => (64, Some(96), 104),
            Self::IdExtended => (68, Some(72), 88),
        };
        Places { reparse_tag, file_id, name }
    }

    /// Returns the attributes that records of this layout tell.
    pub const fn tells(self) -> Want {
        let always =
            Want::TYPE.union(Want::SIZE).union(Want::MODIFIED).union(Want::CHANGED).union(Want::BORN);
        if self.places().file_id.is_some() { always.union(Want::INODE) } else { always }
    }
}

/// What a record tells of an entry besides its name. Times are 100 ns since 1601, 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// `FILE_ATTRIBUTE_...` bits.
    pub attributes: u32,
    /// What kind of reparse point it is; 0 for none or unknown.
    pub reparse_tag: u32,
    /// When it was made.
    pub created: i64,
    /// When it was last written to.
    pub written: i64,
    /// When it or its metadata was last changed.
    pub changed: i64,
    /// Its size, bytes.
    pub size_bytes: u64,
    /// Its number on the volume (the lower half of the 128 bits of ReFS), 0 where the layout has none.
    pub file_id: u64,
}

impl Found {
    /// Returns the type: a reparse point that stands for another path is a symbolic link, any other is what it would be
    /// without (deduplicated and compressed files, those that lie in a cloud).
    pub fn kind(&self) -> FileType {
        if self.attributes & REPARSE_POINT != 0 && self.reparse_tag & NAME_SURROGATE != 0 {
            FileType::Symlink
        } else if self.attributes & DIRECTORY != 0 {
            FileType::Directory
        } else {
            FileType::File
        }
    }

    /// Returns those of the attributes that are wanted and `told`; times that the file system does not keep are left out.
    pub fn attributes(&self, want: Want, told: Want) -> Attributes {
        let mut row = Attributes::NOTHING;
        let mut lacking = Want::NOTHING;
        row.kind = self.kind();
        row.size_bytes = self.size_bytes;
        row.inode = self.file_id;
        let times = [
            (self.written, &mut row.modified, Want::MODIFIED),
            (self.changed, &mut row.changed, Want::CHANGED),
            (self.created, &mut row.born, Want::BORN),
        ];
        for (ticks, time, field) in times {
            *time = Time::from_windows(ticks);
            if ticks == 0 {
                lacking = lacking | field;
            }
        }
        // ReFS says -1 where 64 bits do not hold the number.
        if matches!(self.file_id, 0 | u64::MAX) {
            lacking = lacking | Want::INODE;
        }
        row.have = (want & told).without(lacking);
        row
    }
}

/// A buffer that is not a sequence of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Where the bad record starts, bytes.
    pub at: usize,
}

/// One record: what it tells, and its name as the bytes of UTF-16 in little-endian order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// What it tells besides.
    pub found: Found,
    name: &'a [u8],
}

impl Record<'_> {
    /// Returns the name's characters in UTF-16.
    pub fn name(&self) -> impl Iterator<Item = u16> + '_ {
        self.name.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit))
    }

    /// Tells whether this is `.` or `..`.
    pub fn is_dot(&self) -> bool {
        matches!(self.name, [b'.', 0] | [b'.', 0, b'.', 0])
    }
}

/// Iterates over the records of a buffer that the system filled; ends after a malformed one.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    layout: Layout,
    /// Where the next record starts; `None` at the end.
    at: Option<usize>,
}

impl<'a> Records<'a> {
    /// Begins with the first record of a buffer; an empty one has none.
    pub fn new(bytes: &'a [u8], layout: Layout) -> Self {
        Self { bytes, layout, at: (!bytes.is_empty()).then_some(0) }
    }

    fn decode(&mut self, at: usize) -> Option<Record<'a>> {
        let rest = self.bytes.get(at..)?;
        let places = self.layout.places();
        let next = number(rest, 0)? as usize;
        let record = if next == 0 { rest } else { rest.get(..next)? };
        let header: &[u8; COMMON_BYTES] = record.first_chunk()?;
        let long = |place: usize| header[place..].first_chunk().map(|bytes| i64::from_le_bytes(*bytes));
        let name_bytes = number(record, 60)? as usize;
        let name = record.get(places.name..)?.get(..name_bytes)?;
        if name.is_empty() || !name.len().is_multiple_of(2) {
            return None;
        }
        let attributes = number(record, 56)?;
        let is_reparse_point = attributes & REPARSE_POINT != 0;
        let found = Found {
            attributes,
            reparse_tag: if is_reparse_point { number(record, places.reparse_tag)? } else { 0 },
            created: long(8)?,
            written: long(24)?,
            changed: long(32)?,
            size_bytes: long(40)?.cast_unsigned(),
            file_id: match places.file_id {
                Some(place) => u64::from_le_bytes(*record.get(place..)?.first_chunk()?),
                None => 0,
            },
        };
        self.at = if next == 0 { None } else { Some(at + next) };
        Some(Record { found, name })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at.take()?;
        Some(self.decode(at).ok_or(Malformed { at }))
    }
}

fn number(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(place..)?.first_chunk()?))
}

/// Decodes arbitrary bytes in every layout, for the fuzzer: must never panic nor go on for ever, and names lie where their
/// records say.
pub fn fuzz(bytes: &[u8]) {
    let mut name = Vec::new();
    for layout in Layout::ALL {
        let mut names = 0;
        for record in Records::new(bytes, layout).map_while(Result::ok) {
            name.clear();
            crate::names::push_wide(&mut name, record.name());
            let wide = crate::names::to_wide(&name);
            assert!(wide.is_some_and(|wide| wide.into_iter().eq(record.name())), "a name survives both ways");
            let row = record.found.attributes(Want::ALL, layout.tells());
            assert!(layout.tells().contains(row.have));
            names += record.name.len();
        }
        assert!(names <= bytes.len(), "records do not overlap");
    }
}

#[cfg(test)]
mod tests;
