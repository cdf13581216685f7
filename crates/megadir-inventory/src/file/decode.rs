//! Decoded row group with random access to rows.

use std::cell::RefCell;
use std::ops::Range;

use bytes::Bytes;
use megadir::FileType;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

use super::chunk::{Chunk, Parents, Strings, Values, malformed};
use super::schema::{COLUMNS, ERROR, HASH, NAME, NUMBERS_AT, PARENT, ROOT, TYPE};
use super::write::GROUP_ROWS_MAX;
use crate::block::{PlainRows, Whole};
use crate::row::{Facts, Key, NUMBERS, Row};

/// The limit of a row group, plus rows added in one call.
const ROWS_MAX: usize = 2 * GROUP_ROWS_MAX;

pub(super) struct Decoded {
    pub(super) rows: usize,
    root: Values,
    parent: Parents,
    names: Strings,
    kind: Values,
    kinds: Vec<FileType>,
    numbers: [Values; NUMBERS],
    error: Values,
    errors: Vec<Bytes>,
    hash: Values,
    hashes: Vec<Bytes>,
}

impl Decoded {
    /// `places` are the indexes of [`COLUMNS`] in the file; the buffers of `spare` are reused.
    pub(super) fn read(
        group: &dyn RowGroupReader,
        places: &[Option<usize>],
        spare: Option<Self>,
    ) -> Result<Self> {
        let rows = usize::try_from(group.metadata().num_rows()).map_err(|_| malformed())?;
        // A few bytes can claim any number of equal rows.
        if rows > ROWS_MAX {
            return Err(ParquetError::General(format!("a row group of {rows} rows")));
        }
        let spare = RefCell::new(spare.map(Self::into_memory).unwrap_or_default());
        let read = |number: usize, place| Chunk::read(group, place, &COLUMNS[number], rows, &spare);
        let chunk = |number: usize| read(number, places[number].ok_or_else(malformed)?);
        let (kind, words) = chunk(TYPE)?.texts()?;
        let (error, errors) = chunk(ERROR)?.texts()?;
        let (hash, hashes) = chunk(HASH)?.texts()?;
        let mut numbers = std::array::from_fn(|_| Values::Nothing);
        for (at, number) in numbers.iter_mut().enumerate() {
            if places[NUMBERS_AT + at].is_some() {
                *number = chunk(NUMBERS_AT + at)?.values()?;
            }
        }
        Ok(Self {
            rows,
            root: chunk(ROOT)?.values()?,
            parent: chunk(PARENT)?.parents()?,
            names: chunk(NAME)?.strings()?,
            kind,
            kinds: words.iter().map(|word| type_of(word)).collect(),
            numbers,
            error,
            errors,
            hash,
            hashes,
        })
    }

    /// Allocating the buffers costs as much as decoding.
    fn into_memory(self) -> Vec<Vec<i64>> {
        let Self { root, parent, kind, numbers, error, hash, .. } = self;
        let parent = match parent {
            Parents::Dictionary(values, _) => values,
            Parents::Prefixes(_) => Values::Nothing,
        };
        let values = [root, parent, kind, error, hash].into_iter().chain(numbers);
        let memory = values.filter_map(|values| match values {
            Values::Each(values) | Values::Some(values, _) => Some(values),
            Values::Nothing | Values::Same(_) => None,
        });
        memory.collect()
    }

    #[inline]
    pub(super) fn go_to(&mut self, row: usize) -> Option<()> {
        match &mut self.parent {
            Parents::Dictionary(..) => Some(()),
            Parents::Prefixes(prefixes) => prefixes.go_to(row),
        }
    }

    #[inline]
    pub(super) fn key(&self, row: usize) -> Option<Key<'_>> {
        let parent = match &self.parent {
            Parents::Dictionary(values, texts) => &texts.get(values.get(row)? as usize)?[..],
            Parents::Prefixes(prefixes) => prefixes.current(),
        };
        Some(Key { root: self.root.get(row)? as u32, parent, name: self.names.get(row)? })
    }

    pub(super) fn directory_end(&self, row: usize) -> usize {
        let after = row + 1..self.rows;
        let more = match (&self.root, &self.parent) {
            (Values::Same(_), Parents::Dictionary(Values::Same(_), _)) => after.len(),
            (Values::Same(_), Parents::Dictionary(Values::Each(parents), _)) => {
                let rest = parents.get(after).unwrap_or_default();
                rest.iter().take_while(|parent| parents.get(row) == Some(parent)).count()
            }
            (_, Parents::Prefixes(prefixes)) => {
                let root = self.root.get(row);
                after.take_while(|row| self.root.get(*row) == root && prefixes.is_same(*row)).count()
            }
            (_, Parents::Dictionary(parent, _)) => {
                let of = |row| (self.root.get(row), parent.get(row));
                let first = of(row);
                after.take_while(|row| of(*row) == first).count()
            }
        };
        row + 1 + more
    }

    pub(super) fn plain(&self, rows: &Range<usize>) -> Option<PlainRows<'_>> {
        let numbers: [Option<Whole<'_>>; NUMBERS] = std::array::from_fn(|at| self.numbers[at].whole(rows));
        if numbers.iter().any(Option::is_none) {
            return None;
        }
        let nothing = |values: &Values| matches!(values.whole(rows), Some(Whole::Nothing));
        if !nothing(&self.error) || !nothing(&self.hash) {
            return None;
        }
        let ends = self.names.ends.get(rows.clone())?;
        let names_start = rows.start.checked_sub(1).map_or(0, |last| self.names.ends[last]);
        let names = self.names.bytes.get(names_start..*ends.last()?)?;
        let (kind, kinds) = (self.kind.whole(rows)?, &self.kinds[..]);
        let numbers = numbers.map(|whole| whole.unwrap_or(Whole::Nothing));
        Some(PlainRows { names, ends, names_start, kind, kinds, numbers })
    }

    pub(super) fn name_bytes(&self, rows: &Range<usize>) -> usize {
        let end =
            |row: usize| row.checked_sub(1).and_then(|last| self.names.ends.get(last)).copied().unwrap_or(0);
        end(rows.end).saturating_sub(end(rows.start))
    }

    #[inline]
    pub(super) fn row(&self, row: usize) -> Option<Row<'_>> {
        let text = |values: &Values, texts: &[Bytes]| {
            values.get(row).map(|at| at as usize).filter(|at| *at < texts.len())
        };
        let key = self.key(row)?;
        let numbers: [Option<i64>; NUMBERS] = std::array::from_fn(|at| self.numbers[at].get(row));
        let kind = self.kinds.get(self.kind.get(row)? as usize).copied().unwrap_or(FileType::Unknown);
        let mut facts = Facts::from_numbers(kind, &numbers);
        if let Some(at) = text(&self.hash, &self.hashes) {
            facts.sha256 = self.hashes[at][..].try_into().ok();
        }
        let error = text(&self.error, &self.errors).and_then(|at| std::str::from_utf8(&self.errors[at]).ok());
        Some(Row { key, facts, error })
    }
}

fn type_of(word: &[u8]) -> FileType {
    std::str::from_utf8(word).ok().and_then(FileType::from_name).unwrap_or(FileType::Unknown)
}

#[derive(Default)]
pub(super) struct Batch {
    columns: Option<Box<Decoded>>,
    given: usize,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.columns.as_ref().is_none_or(|columns| self.given == columns.rows)
    }

    pub(super) fn begin(&mut self, group: &dyn RowGroupReader, places: &[Option<usize>]) -> Result<()> {
        let spare = self.columns.take().map(|columns| *columns);
        self.columns = Some(Box::new(Decoded::read(group, places, spare)?));
        self.given = 0;
        Ok(())
    }

    #[inline]
    pub(super) fn prepare(&mut self) -> Result<()> {
        match &mut self.columns {
            Some(columns) if self.given < columns.rows => columns.go_to(self.given).ok_or_else(malformed),
            _ => Ok(()),
        }
    }

    #[inline]
    pub(super) fn key(&self) -> Option<Key<'_>> {
        self.columns.as_ref()?.key(self.given)
    }

    pub(super) fn directory(&self) -> Option<(u32, &[u8], Range<usize>)> {
        let columns = self.columns.as_ref()?;
        let key = columns.key(self.given)?;
        Some((key.root, key.parent, self.given..columns.directory_end(self.given)))
    }

    pub(super) fn columns(&self) -> Option<&Decoded> {
        self.columns.as_deref()
    }

    pub(super) fn go_to(&mut self, row: usize) {
        self.given = row;
    }

    pub(super) fn row(&self) -> Option<Row<'_>> {
        self.columns.as_ref()?.row(self.given)
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<Row<'_>> {
        self.given += 1;
        self.columns.as_ref()?.row(self.given - 1)
    }
}
