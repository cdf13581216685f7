//! The records that Windows returns for a directory, and their checked decoder.
//!
//! ```text
//! byte 0     4      8        16         24       32       40    48          56          60           64
//!      | next | index | created | accessed | written | changed | size | allocated | attributes | name bytes | ... name
//! ```
//!
//! The layouts differ in what precedes the name. `next` is the distance to the next record, 0 in the last.
//! The name is UTF-16, possibly with unpaired surrogates. For a reparse point, the length of extended
//! attributes is its tag. The decoder compiles on every system for fuzzing.

use crate::attributes::{Attributes, StatMask, Time};
use crate::file_type::FileType;

const COMMON_BYTES: usize = 64;
const DIRECTORY: u32 = 0x10;
const REPARSE_POINT: u32 = 0x400;
const NAME_SURROGATE: u32 = 0x2000_0000;

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

struct Places {
    reparse_tag: usize,
    file_id: Option<usize>,
    name: usize,
}

impl Layout {
    pub const ALL: [Self; 4] = [Self::Full, Self::IdFull, Self::IdBoth, Self::IdExtended];

    const fn places(self) -> Places {
        match self {
            Self::Full => Places { reparse_tag: 64, file_id: None, name: 68 },
            Self::IdFull => Places { reparse_tag: 64, file_id: Some(72), name: 80 },
            Self::IdBoth => Places { reparse_tag: 64, file_id: Some(96), name: 104 },
            Self::IdExtended => Places { reparse_tag: 68, file_id: Some(72), name: 88 },
        }
    }

    /// Attributes that records of this layout contain.
    pub const fn attributes(self) -> StatMask {
        let always = StatMask::TYPE
            .union(StatMask::SIZE)
            .union(StatMask::MODIFIED)
            .union(StatMask::CHANGED)
            .union(StatMask::BORN);
        let always = always.union(StatMask::ACCESSED).union(StatMask::ALLOCATED);
        if self.places().file_id.is_some() { always.union(StatMask::INODE) } else { always }
    }
}

/// Fields of a record except the name. Times are in units of 100 ns since 1601; 0 means none.
///
/// All layouts share these fields up to the attributes. Values come from the record, unchecked: sizes and
/// times may be anything, and only lengths and distances were verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// `FILE_ATTRIBUTE_...` bits.
    pub attributes: u32,
    /// 0 for none or unknown.
    pub reparse_tag: u32,
    pub created: i64,
    pub accessed: i64,
    pub written: i64,
    /// Time of the last change of data or metadata.
    pub changed: i64,
    pub size_bytes: u64,
    pub allocated_bytes: u64,
    /// File ID (on ReFS the lower half of its 128 bits), 0 if the layout has none.
    pub file_id: u64,
}

impl Found {
    /// By these two fields alone.
    #[cfg(windows)]
    pub(crate) fn kind_of((attributes, reparse_tag): (u32, u32)) -> FileType {
        Self { attributes, reparse_tag, ..Self::default() }.kind()
    }

    /// Type of the entry. A redirecting reparse point is a symbolic link; others (deduplicated, compressed or
    /// cloud files) have their underlying type.
    pub fn kind(&self) -> FileType {
        if self.attributes & REPARSE_POINT != 0 && self.reparse_tag & NAME_SURROGATE != 0 {
            FileType::Symlink
        } else if self.attributes & DIRECTORY != 0 {
            FileType::Directory
        } else {
            FileType::File
        }
    }

    /// Returns the attributes in both `want` and `available`, except times that the file system does not keep.
    pub fn attributes(&self, want: StatMask, available: StatMask) -> Attributes {
        let mut row = Attributes::NOTHING;
        let mut lacking = StatMask::NOTHING;
        row.kind = self.kind();
        row.size_bytes = self.size_bytes;
        row.allocated_bytes = self.allocated_bytes;
        row.inode = self.file_id;
        let times = [
            (self.written, &mut row.modified, StatMask::MODIFIED),
            (self.accessed, &mut row.accessed, StatMask::ACCESSED),
            (self.changed, &mut row.changed, StatMask::CHANGED),
            (self.created, &mut row.born, StatMask::BORN),
        ];
        for (ticks, time, field) in times {
            *time = Time::from_windows(ticks);
            if ticks == 0 {
                lacking = lacking | field;
            }
        }
        // ReFS returns -1 if the file ID does not fit 64 bits.
        if matches!(self.file_id, 0 | u64::MAX) {
            lacking = lacking | StatMask::INODE;
        }
        row.have = (want & available).without(lacking);
        row
    }
}

#[cfg(windows)]
impl From<&megadir_sys::windows::facts::Facts> for Found {
    fn from(facts: &megadir_sys::windows::facts::Facts) -> Self {
        Self {
            attributes: facts.attributes,
            reparse_tag: facts.reparse_tag,
            created: facts.created,
            accessed: facts.accessed,
            written: facts.written,
            changed: facts.changed,
            size_bytes: facts.size_bytes,
            file_id: facts.index,
            ..Self::default()
        }
    }
}

/// The buffer is not a sequence of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Byte offset of the bad record.
    pub at: usize,
}

/// A record; its name is little-endian UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    pub found: Found,
    name: &'a [u8],
}

impl Record<'_> {
    /// UTF-16 units of the name.
    pub fn name(&self) -> impl Iterator<Item = u16> + '_ {
        self.name.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit))
    }

    pub fn is_dot(&self) -> bool {
        matches!(self.name, [b'.', 0] | [b'.', 0, b'.', 0])
    }
}

/// Iterator over the records of a buffer that the system filled. Ends after a malformed one.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    layout: Layout,
    at: Option<usize>,
}

impl<'a> Records<'a> {
    /// Starts at the first record. An empty buffer has none.
    pub fn new(bytes: &'a [u8], layout: Layout) -> Self {
        Self { bytes, layout, at: (!bytes.is_empty()).then_some(0) }
    }

    fn decode(&mut self, at: usize) -> Option<Record<'a>> {
        // Every number is read by a checked access: lengths and distances come from the system, or from a
        // server behind it. A record ends where the next one begins, and the name must end within it. A
        // distance that is not 0 leads forward, so that the loop over records ends.
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
            accessed: long(16)?,
            written: long(24)?,
            changed: long(32)?,
            size_bytes: long(40)?.cast_unsigned(),
            allocated_bytes: long(48)?.cast_unsigned(),
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

/// Fuzz target: arbitrary bytes must not panic or loop, and names must lie inside their records.
pub fn fuzz(bytes: &[u8]) {
    let mut name = Vec::new();
    for layout in Layout::ALL {
        let mut names = 0;
        for record in Records::new(bytes, layout).map_while(Result::ok) {
            name.clear();
            crate::names::push_wide(&mut name, record.name());
            let wide = crate::names::to_wide(&name);
            assert!(wide.is_some_and(|wide| wide.into_iter().eq(record.name())), "a name survives both ways");
            let row = record.found.attributes(StatMask::ALL, layout.attributes());
            assert!(layout.attributes().contains(row.have));
            names += record.name.len();
        }
        assert!(names <= bytes.len(), "records do not overlap");
    }
}

#[cfg(test)]
mod tests;
