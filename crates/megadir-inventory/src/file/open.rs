//! One file of an inventory; foreign, damaged and newer files get different errors.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use megadir::{Error, ErrorKind, Result};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::schema::types::ColumnDescPtr;
use twox_hash::XxHash64 as Hasher;

use super::chunk;
use super::contained::Contained;
use super::decode::Decoded;
use super::schema::{ACCESSED, Column, columns};
use super::window::Window;
use super::{CHECKSUMS_KEY, FOOTER_CHECKSUM_KEY, footer_checksum, value};
use crate::block::BlockBuilder;
use crate::metadata::{FORMAT_VERSION, Metadata};
use crate::open_at_once::open_to_read;
use crate::recognize::{ADDED, METADATA_KEY};
use crate::row::{Key, OwnedRow, Row, Stored};
use crate::rows::{Ascending, Building, Rows};

const MAGIC: &[u8; 4] = b"PAR1";

const NOT_ASCENDING: &str = "its rows are not sorted; scan again";

/// One file, read row by row: a whole inventory, or a part.
///
/// Memory holds one decoded row group, whatever the size of the file. `window` gives the decoder of Parquet
/// ranges of the file and reports damage; `checksums` and `is_checked` belong to the checks of row groups
/// before they are decoded. `order` checks that rows ascend, on which everything that merges or searches
/// relies. `given` counts rows, to compare it with the number in the metadata at the end.
pub(super) struct Part {
    path: PathBuf,
    file: SerializedFileReader<Window>,
    window: Window,
    is_checked: bool,
    checksums: String,
    metadata: Metadata,
    places: Vec<Option<usize>>,
    next_group: usize,
    /// The last group, and its next row.
    group: Decoded,
    next: usize,
    order: Ascending,
    /// `None` for parts, whose directories may have their rows in other parts.
    contained: Option<Contained>,
    given: u64,
    /// First keys of row groups that lookups have met.
    firsts: HashMap<usize, (u32, Vec<u8>, Vec<u8>)>,
}

impl Part {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = open_to_read(path)?;
        Self::of(file, path, true, false)
    }

    /// Closed between row groups, because a folder may have more parts than a process may open files.
    pub(super) fn open_briefly(path: &Path) -> Result<Self> {
        let file = open_to_read(path)?;
        Ok(Self { contained: None, ..Self::of(file, path, true, true)? })
    }

    pub(super) fn of(mut file: File, path: &Path, is_checked: bool, is_brief: bool) -> Result<Self> {
        let failed = |error| Error::io("open", path, error);
        check_ends(&mut file, path)?;
        let window = Window::new(file, is_brief.then_some(path)).map_err(failed)?;
        let file = SerializedFileReader::new_with_options(window.clone(), ReadOptionsBuilder::new().build())
            .map_err(|error| damaged(path, error))?;
        let metadata = metadata(file.metadata(), path, is_checked)?;
        let places = places(file.metadata(), false).map_err(|reason| malformed(path, &reason))?;
        Ok(Self {
            path: path.to_owned(),
            checksums: value(file.metadata(), CHECKSUMS_KEY).unwrap_or_default().to_owned(),
            file,
            window,
            is_checked,
            contained: Some(Contained::new(metadata.roots.len())),
            metadata,
            places,
            next_group: 0,
            group: Decoded::default(),
            next: 0,
            order: Ascending::default(),
            given: 0,
            firsts: HashMap::new(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn has_footer_checksum(&self) -> bool {
        value(self.file.metadata(), FOOTER_CHECKSUM_KEY).is_some()
    }

    pub(super) fn has_access_times(&self) -> bool {
        self.places[ACCESSED].is_some()
    }

    pub(super) fn columns(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// Also reads the further columns of the index of a pack. Errors: [`ErrorKind::Malformed`] without them.
    pub(super) fn with_stored(mut self) -> Result<Self> {
        let missing = |_| malformed(&self.path, "an inventory, but not the index of a pack");
        self.places = places(self.file.metadata(), true).map_err(missing)?;
        Ok(self)
    }

    pub(super) fn last_row(&self) -> Option<Row<'_>> {
        self.group.row(self.next.checked_sub(1)?)
    }

    /// Place of the row that [`Rows::next_row`] returned last.
    pub(super) fn stored(&self) -> Result<Option<Stored>> {
        let row = self.next.saturating_sub(1);
        self.group.stored(row).map_err(|error| damaged(&self.path, error))
    }

    /// Looks up a row by its key, in one row group, which stays decoded. Rows must not be read in order afterwards.
    pub(super) fn find(&mut self, key: &Key<'_>) -> Result<Option<(OwnedRow, Option<Stored>)>> {
        let (mut low, mut high) = (0, self.file.num_row_groups());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.first_of(middle)? <= *key { low = middle + 1 } else { high = middle }
        }
        let Some(group) = low.checked_sub(1) else { return Ok(None) };
        if self.next_group != group + 1 || !self.group.has_random_access() {
            self.load(group)?;
        }
        let damaged = |error| damaged(&self.path, error);
        let row = match self.group.has_random_access() {
            true => self.group.row_of(key),
            // Paths as prefixes are read forwards only.
            false => self.group.search(key).map_err(damaged)?,
        };
        let Some(row) = row else { return Ok(None) };
        let stored = self.group.stored(row).map_err(damaged)?;
        Ok(self.group.row(row).map(|row| (OwnedRow::from(row), stored)))
    }

    /// Key of the first row of a group.
    fn first_of(&mut self, group: usize) -> Result<Key<'_>> {
        if !self.firsts.contains_key(&group) {
            self.load(group)?;
            self.group.go_to(0).ok_or_else(|| damaged(&self.path, chunk::malformed()))?;
            let Key { root, parent, name } =
                self.group.key(0).ok_or_else(|| damaged(&self.path, chunk::malformed()))?;
            self.firsts.insert(group, (root, parent.to_vec(), name.to_vec()));
        }
        let (root, parent, name) = &self.firsts[&group];
        Ok(Key { root: *root, parent, name })
    }

    /// Key of the next row, which stays the next.
    pub(super) fn peek(&mut self) -> Result<Option<Key<'_>>> {
        Ok(if self.has_next()? { self.group.key(self.next) } else { None })
    }

    pub(super) fn peeked(&self) -> Option<Row<'_>> {
        self.group.row(self.next)
    }

    /// Loads the next row group when the current one is used up; a row group may be empty. The number of rows
    /// is compared at the end, to find a file whose last row groups are missing although its footer is whole.
    fn has_next(&mut self) -> Result<bool> {
        while self.next == self.group.rows {
            if self.next_group >= self.file.num_row_groups() {
                let (given, rows) = (self.given, self.metadata.rows);
                return match given == rows {
                    true => Ok(false),
                    false => Err(malformed(&self.path, &format!("{given} rows instead of {rows}"))),
                };
            }
            self.load(self.next_group)?;
        }
        self.group.go_to(self.next).ok_or_else(|| damaged(&self.path, chunk::malformed()))?;
        Ok(true)
    }

    /// The row group is the current one, and the one after it the next.
    fn load(&mut self, number: usize) -> Result<()> {
        self.hold(number)?;
        let group = self.file.get_row_group(number).map_err(|error| damaged(&self.path, error))?;
        self.next_group = number + 1;
        let spare = std::mem::take(&mut self.group);
        self.next = 0;
        self.group =
            Decoded::read(&*group, &self.places, spare).map_err(|error| damaged(&self.path, error))?;
        Ok(())
    }

    /// Reads the bytes of a row group once, checks them, and keeps them for the decoder. The checksum comes
    /// before decoding: decoders of compressed pages would allocate by damaged lengths.
    fn hold(&self, group: usize) -> Result<()> {
        let Some(range) = range(self.file.metadata().row_group(group)) else {
            return Err(malformed(&self.path, "damaged: its columns are misplaced; scan again"));
        };
        let bytes = self.window.hold(range).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                malformed(&self.path, "damaged: it ends too early; scan again")
            }
            _ => Error::io("read", &self.path, error),
        })?;
        if !self.is_checked {
            return Ok(());
        }
        let digits = self.checksums.get(group * 16..group * 16 + 16);
        let checksum = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        if checksum == Some(Hasher::oneshot(0, &bytes)) {
            return Ok(());
        }
        Err(malformed(&self.path, "damaged: its contents do not match their checksums; scan again"))
    }

    /// Adds the rows of the current directory that this row group has; a directory may continue in the next
    /// one. If its columns are plain they are added as a whole, otherwise row by row. Both ways check the
    /// same: keys ascend, and every directory below has a row (`contained`). The order of the rows is
    /// reported first, because a wrong order makes the second check meaningless.
    fn take_directory(&mut self, block: &mut BlockBuilder) -> Result<()> {
        let Some(Key { root, parent, .. }) = self.group.key(self.next) else {
            return Err(malformed(&self.path, "damaged: it has no more rows; scan again"));
        };
        let (columns, rows) = (&self.group, self.next..self.group.directory_end(self.next));
        block.reserve(rows.len(), columns.name_bytes(&rows));
        let (mut ascends, mut last) = (true, None);
        let mut checks = self.contained.as_mut();
        let mut contained = checks.as_mut().map_or(Ok(()), |checks| checks.enter(root, parent));
        let first = columns.key(rows.start).filter(|key| !key.is_root());
        let plain = first.zip(columns.plain(&rows)).filter(|(_, plain)| block.add_plain(plain));
        if let Some((first, plain)) = plain {
            ascends = self.order.admits(&first) && plain.ascend();
            contained = contained.and_then(|()| checks.map_or(Ok(()), |checks| checks.plain(&plain)));
            last = columns.key(rows.end - 1).map(|key| key.name);
        } else {
            for row in rows.clone() {
                let Some(row) = columns.row(row) else {
                    ascends = false;
                    break;
                };
                ascends &= match last {
                    None => self.order.admits(&row.key),
                    Some(last) => last < row.key.name,
                };
                last = Some(row.key.name);
                contained =
                    contained.and_then(|()| checks.as_mut().map_or(Ok(()), |checks| checks.row(&row)));
                match row.key.is_root() {
                    true => block.set_root_row(row.facts, row.error),
                    false => block.add(row.key.name, &row.facts, row.error)?,
                }
            }
        }
        if let (true, Some(name)) = (ascends && rows.len() > 1, last) {
            self.order.go_on(&Key { root, parent, name });
        }
        if !ascends {
            return Err(malformed(&self.path, NOT_ASCENDING));
        }
        contained.map_err(|reason| foreign(&self.path, &reason))?;
        self.given += rows.len() as u64;
        self.next = rows.end;
        Ok(())
    }
}

/// Not to be read after an error, unlike other [`Rows`]: [`Inventory`](super::Inventory) sees to it.
impl Rows for Part {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Order and tree are checked on the way, row by row, before the row is returned: later code relies on
    /// both, in merges and where it opens directories by these names.
    fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        if !self.has_next()? {
            return Ok(None);
        }
        self.given += 1;
        let follows = self.group.key(self.next).is_some_and(|key| self.order.admits(&key));
        if !follows {
            return Err(malformed(&self.path, NOT_ASCENDING));
        }
        let contained = match (self.group.row(self.next), &mut self.contained) {
            (Some(row), Some(contained)) => contained.admit(&row),
            _ => Ok(()),
        };
        contained.map_err(|reason| foreign(&self.path, &reason))?;
        self.next += 1;
        Ok(self.group.row(self.next - 1))
    }

    fn build(&mut self, building: &mut Building) -> Result<bool> {
        if !self.has_next()? {
            return Ok(false);
        }
        let Some(Key { root, parent, .. }) = self.group.key(self.next) else { return Ok(false) };
        self.take_directory(building.enter(root, parent))?;
        Ok(true)
    }
}

pub(super) fn malformed(path: &Path, reason: &str) -> Error {
    Error::new("read", path, ErrorKind::Malformed, reason)
}

fn foreign(path: &Path, reason: &str) -> Error {
    malformed(path, &format!("not written by a scan: {reason}; scan again"))
}

/// The decoder's errors become one line. An error of the disk stays one and is not taken for damage of the
/// file.
pub(super) fn damaged(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
                Error::io("read", path, *source)
            }
            _ => malformed(path, "damaged: it ends too early; scan again"),
        },
        other => {
            let words = other.to_string();
            let line = words.lines().next().unwrap_or_default();
            malformed(path, &format!("damaged ({line}); scan again"))
        }
    }
}

/// `None` unless the columns are contiguous and in order, as the writer stores them.
fn range(group: &RowGroupMetaData) -> Option<Range<u64>> {
    let mut all: Option<Range<u64>> = None;
    for column in group.columns() {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let start = u64::try_from(start).ok()?;
        let end = start.checked_add(u64::try_from(column.compressed_size()).ok()?)?;
        all = match all {
            None => Some(start..end),
            Some(before) if before.end == start => Some(before.start..end),
            Some(_) => return None,
        };
    }
    all
}

/// A truncated file, left by a full disk or a killed copy, gets a message of its own. Files of other kinds
/// are recognised by their first four bytes.
fn check_ends(file: &mut File, path: &Path) -> Result<()> {
    let mut read = |from| -> std::io::Result<[u8; 4]> {
        let mut ends = [0; 4];
        file.seek(from)?;
        file.read_exact(&mut ends)?;
        Ok(ends)
    };
    if read(SeekFrom::Start(0)).is_ok_and(|first| &first == MAGIC) {
        return match (read(SeekFrom::Start(8)), read(SeekFrom::End(-4))) {
            (Ok(_), Ok(last)) if &last == MAGIC => Ok(()),
            _ => Err(malformed(path, "truncated: its end is missing; scan again")),
        };
    }
    Err(malformed(path, "not a Parquet file (expected an inventory written by `megadir scan`)"))
}

/// The version is read before anything else, because metadata of a later version may have another form: such
/// a file gets the advice to use a newer program and is not called damaged.
fn metadata(file: &ParquetMetaData, path: &Path, is_checked: bool) -> Result<Metadata> {
    let Some(text) = value(file, METADATA_KEY) else {
        let reason = "a Parquet file, but not an inventory written by `megadir scan`";
        return Err(malformed(path, reason));
    };
    let damaged =
        |error: serde_json::Error| malformed(path, &format!("damaged metadata ({error}); scan again"));
    let json: serde_json::Value = serde_json::from_str(text).map_err(damaged)?;
    match json["version"].as_u64() {
        Some(version) if version > u64::from(FORMAT_VERSION) => {
            let reason = format!(
                "inventory version {version}, but this program reads up to {FORMAT_VERSION}: use a newer program, or scan again"
            );
            Err(Error::new("read", path, ErrorKind::Unavailable, reason))
        }
        _ if is_checked && !fits_checksum(file, text) => {
            Err(malformed(path, "damaged: its metadata does not match its checksum; scan again"))
        }
        _ => serde_json::from_value(json).map_err(damaged),
    }
}

fn fits_checksum(file: &ParquetMetaData, metadata: &str) -> bool {
    let checksums = value(file, CHECKSUMS_KEY).unwrap_or_default();
    value(file, FOOTER_CHECKSUM_KEY).is_none_or(|checksum| checksum == footer_checksum(metadata, checksums))
}

/// Place of each of our columns in the file, whose columns may be in another order or more in number. A
/// column that later versions have added may be missing; one of the right name and another type is an error,
/// because it would be decoded as something else.
fn places(file: &ParquetMetaData, is_pack: bool) -> std::result::Result<Vec<Option<usize>>, String> {
    let schema = file.file_metadata().schema_descr();
    let place = |column: &Column| {
        let is_it = |there: &ColumnDescPtr| there.name() == column.name;
        let fits = |there: &ColumnDescPtr| {
            there.path().parts() == [column.name.to_owned()]
                && there.physical_type() == column.physical()
                && there.max_rep_level() == 0
                && there.max_def_level() == i16::from(!column.required)
        };
        match schema.columns().iter().position(fits) {
            None if ADDED.contains(&column.name) && !schema.columns().iter().any(is_it) => Ok(None),
            None => Err(format!("the column '{}' is missing or of another type; scan again", column.name)),
            found => Ok(found),
        }
    };
    columns(is_pack).map(place).collect()
}
