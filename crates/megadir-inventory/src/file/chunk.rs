//! Decodes a column of a row group. Checksums detect damage, not malice, so nothing is trusted.

use std::cell::RefCell;
use std::ops::Range;

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

use super::encoding::{delta, runs};
use super::schema::{Column, Kind};
use crate::block::Whole;

#[derive(Default)]
pub(super) enum Values {
    #[default]
    Nothing,
    Same(i64),
    Each(Vec<i64>),
    Some(Vec<i64>, Vec<bool>),
}

#[derive(Default)]
pub(super) struct Strings {
    pub(super) bytes: Bytes,
    pub(super) ends: Vec<usize>,
}

/// Each string as the length of the prefix shared with the previous row, and a suffix.
#[derive(Default)]
pub(super) struct Prefixes {
    common: Vec<i64>,
    rest: Strings,
    current: Vec<u8>,
    made: usize,
}

#[derive(Default)]
pub(super) struct Texts {
    pub(super) indexes: Values,
    pub(super) texts: Vec<Bytes>,
}

pub(super) enum Parents {
    Dictionary(Texts),
    Prefixes(Prefixes),
}

impl Default for Parents {
    fn default() -> Self {
        Self::Dictionary(Texts::default())
    }
}

impl Prefixes {
    pub(super) fn go_to(&mut self, row: usize) -> Option<()> {
        while self.made <= row {
            let common = usize::try_from(*self.common.get(self.made)?).ok()?;
            let rest = self.rest.get(self.made)?;
            if common > self.current.len() {
                return None;
            }
            self.current.truncate(common);
            self.current.extend_from_slice(rest);
            self.made += 1;
        }
        (self.made == row + 1).then_some(())
    }

    pub(super) fn current(&self) -> &[u8] {
        &self.current
    }

    /// All rows between must repeat the current string too.
    pub(super) fn is_same(&self, row: usize) -> bool {
        self.common.get(row).is_some_and(|common| usize::try_from(*common) == Ok(self.current.len()))
            && self.rest.get(row).is_some_and(<[u8]>::is_empty)
    }
}

pub(super) fn malformed() -> ParquetError {
    ParquetError::General("values do not match their description".to_owned())
}

impl Values {
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<i64> {
        match self {
            Self::Nothing => None,
            Self::Same(value) => Some(*value),
            Self::Each(values) => values.get(row).copied(),
            Self::Some(values, present) => values.get(row).copied().filter(|_| present[row]),
        }
    }

    /// The column of one directory, if it needs no marks: all rows have a value, or none has. `None` sends
    /// the caller to single rows.
    pub(super) fn whole(&self, rows: &Range<usize>) -> Option<Whole<'_>> {
        match self {
            Self::Nothing => Some(Whole::Nothing),
            Self::Same(value) => Some(Whole::Same(*value)),
            Self::Each(values) => values.get(rows.clone()).map(Whole::Each),
            Self::Some(values, present) => {
                let present = present.get(rows.clone())?;
                match present.iter().filter(|present| **present).count() {
                    0 => Some(Whole::Nothing),
                    all if all == present.len() => values.get(rows.clone()).map(Whole::Each),
                    _ => None,
                }
            }
        }
    }
}

impl Strings {
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<&[u8]> {
        let end = *self.ends.get(row)?;
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        self.bytes.get(start..end)
    }
}

/// Values are kept in the most compact form that the pages allow, and spread out only when they must be:
///
/// ```text
/// same:   (value, times)            while one value has filled every page so far; most columns of a directory tree
/// values: one for each value        from the second value on, or for other encodings
/// present: runs of 1 and 0          only of columns that may lack values; values has nothing for a 0
/// ```
///
/// Texts are slices of the pages, which are reference counted, and are not copied. `spare` lends vectors that
/// earlier row groups have used, because clearing a vector costs less than faulting in new pages. `read`
/// counts rows, so that a page with too many is refused.
pub(super) struct Chunk<'c> {
    column: &'c Column,
    rows: usize,
    read: usize,
    present: Vec<runs::Run>,
    /// Or its index in `texts`; kept as runs while there are few.
    same: Vec<(i64, u32)>,
    values: Vec<i64>,
    /// The dictionary, followed by values outside it.
    dictionary: Vec<i64>,
    texts: Vec<Bytes>,
    strings: Strings,
    common: Vec<i64>,
    spare: &'c RefCell<Vec<Vec<i64>>>,
}

impl<'c> Chunk<'c> {
    pub(super) fn read(
        group: &dyn RowGroupReader,
        place: usize,
        column: &'c Column,
        rows: usize,
        spare: &'c RefCell<Vec<Vec<i64>>>,
    ) -> Result<Self> {
        // Pages come in the order of the file: at most one dictionary, then data. Versions and encodings that
        // this crate does not write are refused, except the plain ones that other programs write for small
        // columns. The number of rows must match in the end, since everything later indexes columns by row.
        let mut chunk = Self {
            spare,
            column,
            rows,
            read: 0,
            present: Vec::new(),
            same: Vec::new(),
            values: Vec::new(),
            dictionary: Vec::new(),
            texts: Vec::new(),
            strings: Strings::default(),
            common: Vec::new(),
        };
        let mut pages = group.get_column_page_reader(place)?;
        while let Some(page) = pages.get_next_page()? {
            match page {
                Page::DictionaryPage { buf, num_values, encoding, .. } => {
                    if !matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
                        return Err(malformed());
                    }
                    chunk.dictionary(&buf, num_values as usize).ok_or_else(malformed)?;
                }
                Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                    if def_level_encoding != Encoding::RLE {
                        return Err(malformed());
                    }
                    chunk.page(&buf, num_values as usize, encoding).ok_or_else(malformed)?;
                }
                Page::DataPageV2 { .. } => return Err(malformed()),
            }
        }
        if chunk.read == rows { Ok(chunk) } else { Err(malformed()) }
    }

    fn dictionary(&mut self, bytes: &Bytes, count: usize) -> Option<()> {
        if self.is_text() {
            return plain_texts(bytes, count, |text| self.texts.push(text));
        }
        let wide = self.column.physical() == parquet::basic::Type::INT64;
        let each = if wide { 8 } else { 4 };
        if bytes.len() < count.checked_mul(each)? {
            return None;
        }
        let kind = self.column.kind;
        self.dictionary.extend(bytes.chunks_exact(each).take(count).map(|bytes| number(bytes, kind)));
        Some(())
    }

    /// A page of an optional column begins with its definition levels: their length in four bytes, then runs
    /// of 1 (a value) and 0. What follows has only the values that are present. `None` means damage. Counts
    /// come from the page itself and are checked against the rows of the group before anything is allocated
    /// by them.
    fn page(&mut self, bytes: &Bytes, rows: usize, encoding: Encoding) -> Option<()> {
        self.read = self.read.checked_add(rows).filter(|read| *read <= self.rows)?;
        let mut rest = &bytes[..];
        let mut count = rows;
        if !self.column.required {
            let (length, after) = rest.split_first_chunk()?;
            let (mut levels, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = after;
            count = 0;
            let present = &mut self.present;
            runs::decode(&mut levels, 1, rows, |level, length| {
                runs::push(present, level, length);
                count += if level == 1 { length as usize } else { 0 };
                Some(())
            })?;
        }
        match encoding {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => self.indexes(rest, count),
            Encoding::DELTA_BINARY_PACKED if !self.is_text() => {
                self.spread();
                delta::decode(&mut rest, count, &mut self.values)
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY if self.is_text() => self.lengths(rest, bytes, count),
            Encoding::DELTA_BYTE_ARRAY if self.is_text() && self.read == rows && rows == self.rows => {
                delta::decode(&mut rest, count, &mut self.common)?;
                self.lengths(rest, bytes, count)
            }
            Encoding::PLAIN if self.is_text() => {
                let from = self.texts.len();
                let (start, texts) = (bytes.len() - rest.len(), &mut self.texts);
                plain_texts(&bytes.slice(start..), count, |text| texts.push(text))?;
                self.spread();
                self.values.extend((from..self.texts.len()).map(|index| index as i64));
                Some(())
            }
            _ => None,
        }
    }

    fn is_text(&self) -> bool {
        matches!(self.column.kind, Kind::Bytes | Kind::Text)
    }

    /// Indices are replaced by values at once; texts keep their index. Equal neighbours, also across runs,
    /// are counted as one, and as long as all values are equal they are not spread out.
    fn indexes(&mut self, bytes: &[u8], count: usize) -> Option<()> {
        if count == 0 {
            return Some(());
        }
        let (&width, mut rest) = bytes.split_first()?;
        let is_text = self.is_text();
        let Self { same, dictionary, texts, .. } = self;
        runs::decode(&mut rest, width.into(), count, |index, length| {
            let value = match is_text {
                true => texts.get(index as usize).map(|_| index.into())?,
                false => *dictionary.get(index as usize)?,
            };
            match same.last_mut() {
                Some((last, times)) if *last == value => *times = times.checked_add(length)?,
                _ => same.push((value, length)),
            }
            Some(())
        })?;
        if self.same.len() > 1 || !self.values.is_empty() {
            self.spread();
        }
        Some(())
    }

    fn spread(&mut self) {
        if self.values.capacity() == 0 {
            self.values = self.spare.borrow_mut().pop().unwrap_or_default();
            self.values.clear();
        }
        for (value, times) in self.same.drain(..) {
            self.values.extend(std::iter::repeat_n(value, times as usize));
        }
    }

    /// Lengths come first and all bytes after them, so names are slices of the page and are not copied,
    /// unless the column has several pages. The sum of the lengths is checked against the page; a negative
    /// length fails the conversion.
    fn lengths(&mut self, mut rest: &[u8], bytes: &Bytes, count: usize) -> Option<()> {
        let mut lengths = Vec::new();
        delta::decode(&mut rest, count, &mut lengths)?;
        let mut end = 0usize;
        let before = self.strings.bytes.len();
        for length in lengths {
            end = end.checked_add(usize::try_from(length).ok()?)?;
            self.strings.ends.push(before + end);
        }
        if end > rest.len() {
            return None;
        }
        let start = bytes.len() - rest.len();
        let these = bytes.slice(start..start + end);
        self.strings.bytes =
            if before == 0 { these } else { [&self.strings.bytes[..], &these[..]].concat().into() };
        Some(())
    }

    /// Chooses the cheapest form of a finished column: no value at all, one value for all rows, a value for
    /// each, or values with marks. Later code compares whole columns of a directory by this form. In the last
    /// form a row without a value has a 0, so that rows remain indices.
    pub(super) fn values(mut self) -> Result<Values> {
        let present: usize = match self.column.required {
            true => self.rows,
            false => self.present.iter().map(|run| if run.0 == 1 { run.1 as usize } else { 0 }).sum(),
        };
        if present == 0 && self.rows > 0 {
            return Ok(Values::Nothing);
        }
        if let [(value, times)] = self.same[..]
            && self.values.is_empty()
            && present == self.rows
            && times as usize == self.rows
        {
            return Ok(Values::Same(value));
        }
        self.spread();
        if self.values.len() != present {
            return Err(malformed());
        }
        if present == self.rows {
            return Ok(Values::Each(self.values));
        }
        let (mut values, mut has) = (Vec::with_capacity(self.rows), Vec::with_capacity(self.rows));
        let mut given = self.values.into_iter();
        for (level, length) in self.present {
            has.extend(std::iter::repeat_n(level == 1, length as usize));
            match level {
                1 => values.extend(given.by_ref().take(length as usize)),
                _ => values.extend(std::iter::repeat_n(0, length as usize)),
            }
        }
        Ok(Values::Some(values, has))
    }

    pub(super) fn texts(mut self) -> Result<Texts> {
        let texts = std::mem::take(&mut self.texts);
        Ok(Texts { indexes: self.values()?, texts })
    }

    pub(super) fn parents(self) -> Result<Parents> {
        if self.common.is_empty() {
            return self.texts().map(Parents::Dictionary);
        }
        Ok(Parents::Prefixes(Prefixes { common: self.common, rest: self.strings, ..Prefixes::default() }))
    }

    /// Names must not share beginnings, because rows are accessed at random. A dictionary of names is
    /// accepted for files of other writers.
    pub(super) fn strings(mut self) -> Result<Strings> {
        if !self.common.is_empty() {
            return Err(malformed());
        }
        if self.strings.ends.len() == self.rows {
            return Ok(self.strings);
        }
        // Other writers may use another encoding.
        self.spread();
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for value in &self.values {
            let text =
                usize::try_from(*value).ok().and_then(|at| self.texts.get(at)).ok_or_else(malformed)?;
            bytes.extend_from_slice(text);
            ends.push(bytes.len());
        }
        if ends.len() == self.rows { Ok(Strings { bytes: bytes.into(), ends }) } else { Err(malformed()) }
    }
}

fn plain_texts(bytes: &Bytes, count: usize, mut take: impl FnMut(Bytes)) -> Option<()> {
    let mut at = 0usize;
    for _ in 0..count {
        let length = bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)? as usize;
        let end = (at + 4).checked_add(length).filter(|end| *end <= bytes.len())?;
        take(bytes.slice(at + 4..end));
        at = end;
    }
    Some(())
}

fn number(bytes: &[u8], kind: Kind) -> i64 {
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    let number = i64::from_le_bytes(eight);
    if bytes.len() == 4 && kind == Kind::Int32 { (number as i32).into() } else { number }
}
