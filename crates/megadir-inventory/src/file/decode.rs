//! Decoded row group with random access to rows.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::ops::Range;

use megadir::FileType;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

use super::chunk::{Chunk, Parents, Strings, Texts, Values, malformed};
use super::schema::{BLAKE3, COLUMNS, ERROR, NAME, NUMBERS_AT, PARENT, ROOT, SHA256, TYPE, column};
use super::write::GROUP_ROWS_MAX;
use crate::block::{PlainRows, Whole};
use crate::row::{ContentHash, Facts, Key, NUMBERS, Row, STORED_NUMBERS, Stored};

/// The limit of a row group, plus rows added in one call.
const ROWS_MAX: usize = 2 * GROUP_ROWS_MAX;

/// All columns of one row group, of up to 65 536 rows, indexed by row. Nothing is a row yet: rows are put
/// together when they are requested, and blocks of a comparison take whole columns. `kinds` translates the
/// dictionary of types once for all rows.
#[derive(Default)]
pub(super) struct Decoded {
    pub(super) rows: usize,
    root: Values,
    parent: Parents,
    names: Strings,
    kind: Values,
    kinds: Vec<FileType>,
    numbers: [Values; NUMBERS],
    error: Texts,
    sha256: Texts,
    blake3: Texts,
    stored: [Values; STORED_NUMBERS],
}

impl Decoded {
    /// `places` are the indexes of [`COLUMNS`], and for a pack also of its further columns, in the file; the buffers of `spare` are reused.
    pub(super) fn read(group: &dyn RowGroupReader, places: &[Option<usize>], spare: Self) -> Result<Self> {
        let rows = usize::try_from(group.metadata().num_rows()).map_err(|_| malformed())?;
        // A few bytes can claim any number of equal rows.
        if rows > ROWS_MAX {
            return Err(ParquetError::General(format!("a row group of {rows} rows")));
        }
        let spare = RefCell::new(spare.into_memory());
        let read = |number: usize, place| Chunk::read(group, place, column(number), rows, &spare);
        let chunk = |number: usize| read(number, places[number].ok_or_else(malformed)?);
        let Texts { indexes: kind, texts: words } = chunk(TYPE)?.texts()?;
        let (error, sha256) = (chunk(ERROR)?.texts()?, chunk(SHA256)?.texts()?);
        let blake3 = if places[BLAKE3].is_some() { chunk(BLAKE3)?.texts()? } else { Texts::default() };
        let mut numbers = std::array::from_fn(|_| Values::Nothing);
        for (at, number) in numbers.iter_mut().enumerate() {
            if places[NUMBERS_AT + at].is_some() {
                *number = chunk(NUMBERS_AT + at)?.values()?;
            }
        }
        let mut stored = std::array::from_fn(|_| Values::Nothing);
        for (at, number) in stored.iter_mut().enumerate() {
            if places.len() > COLUMNS.len() {
                *number = chunk(COLUMNS.len() + at)?.values()?;
            }
        }
        Ok(Self {
            rows,
            stored,
            root: chunk(ROOT)?.values()?,
            parent: chunk(PARENT)?.parents()?,
            names: chunk(NAME)?.strings()?,
            kind,
            kinds: words.iter().map(|word| type_of(word)).collect(),
            numbers,
            error,
            sha256,
            blake3,
        })
    }

    /// Allocating the buffers costs as much as decoding.
    fn into_memory(self) -> Vec<Vec<i64>> {
        let Self { root, parent, kind, numbers, error, sha256, blake3, stored, .. } = self;
        let parent = match parent {
            Parents::Dictionary(texts) => texts.indexes,
            Parents::Prefixes(_) => Values::Nothing,
        };
        let values =
            [root, parent, kind, error.indexes, sha256.indexes, blake3.indexes].into_iter().chain(numbers);
        let values = values.chain(stored);
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
            Parents::Dictionary(texts) => text(texts, row)?,
            Parents::Prefixes(prefixes) => prefixes.current(),
        };
        Some(Key { root: self.root.get(row)? as u32, parent, name: self.names.get(row)? })
    }

    /// `false` if rows are read in their order only.
    pub(super) fn has_random_access(&self) -> bool {
        matches!(self.parent, Parents::Dictionary(_))
    }

    /// The row with this key, if rows have random access and ascend.
    pub(super) fn row_of(&self, key: &Key<'_>) -> Option<usize> {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.key(middle)? < *key { low = middle + 1 } else { high = middle }
        }
        self.key(low).filter(|there| there == key).map(|_| low)
    }

    /// The row with this key, by reading all before it; only once.
    pub(super) fn search(&mut self, key: &Key<'_>) -> Result<Option<usize>> {
        for row in 0..self.rows {
            self.go_to(row).ok_or_else(malformed)?;
            match self.key(row).ok_or_else(malformed)?.cmp(key) {
                Ordering::Less => {}
                Ordering::Equal => return Ok(Some(row)),
                Ordering::Greater => return Ok(None),
            }
        }
        Ok(None)
    }

    /// First row of another directory. Parents are compared by their indices in the dictionary, or by the
    /// length that a path shares with the one before, and never as bytes: this is called for each directory
    /// of an inventory.
    pub(super) fn directory_end(&self, row: usize) -> usize {
        let after = row + 1..self.rows;
        let more = match (&self.root, &self.parent) {
            (Values::Same(_), Parents::Dictionary(Texts { indexes: Values::Same(_), .. })) => after.len(),
            (Values::Same(_), Parents::Dictionary(Texts { indexes: Values::Each(parents), .. })) => {
                let rest = parents.get(after).unwrap_or_default();
                rest.iter().take_while(|parent| parents.get(row) == Some(parent)).count()
            }
            (_, Parents::Prefixes(prefixes)) => {
                let root = self.root.get(row);
                after.take_while(|row| self.root.get(*row) == root && prefixes.is_same(*row)).count()
            }
            (_, Parents::Dictionary(parent)) => {
                let of = |row| (self.root.get(row), parent.indexes.get(row));
                let first = of(row);
                after.take_while(|row| of(*row) == first).count()
            }
        };
        row + 1 + more
    }

    /// `None` if a row has an error or a hash, or if some rows lack a value that others have: those are added
    /// one by one.
    pub(super) fn plain(&self, rows: &Range<usize>) -> Option<PlainRows<'_>> {
        let mut numbers = std::array::from_fn(|_| Whole::Nothing);
        for (whole, values) in numbers.iter_mut().zip(&self.numbers) {
            *whole = values.whole(rows)?;
        }
        let nothing = |texts: &Texts| matches!(texts.indexes.whole(rows), Some(Whole::Nothing));
        if [&self.error, &self.sha256, &self.blake3].into_iter().any(|texts| !nothing(texts)) {
            return None;
        }
        let ends = self.names.ends.get(rows.clone())?;
        let names_start = rows.start.checked_sub(1).map_or(0, |last| self.names.ends[last]);
        let names = self.names.bytes.get(names_start..*ends.last()?)?;
        let (kind, kinds) = (self.kind.whole(rows)?, &self.kinds[..]);
        Some(PlainRows { names, ends, names_start, kind, kinds, numbers })
    }

    pub(super) fn name_bytes(&self, rows: &Range<usize>) -> usize {
        let end =
            |row: usize| row.checked_sub(1).and_then(|last| self.names.ends.get(last)).copied().unwrap_or(0);
        end(rows.end).saturating_sub(end(rows.start))
    }

    /// Fails if only some numbers are there, or one is out of range.
    pub(super) fn stored(&self, row: usize) -> Result<Option<Stored>> {
        let numbers: [Option<i64>; STORED_NUMBERS] = std::array::from_fn(|at| self.stored[at].get(row));
        match numbers {
            [None, None, None, None, None] => Ok(None),
            [Some(shard), Some(header), Some(data), Some(length), Some(hash)] => {
                Stored::from_numbers([shard, header, data, length, hash]).map(Some).ok_or_else(malformed)
            }
            _ => Err(malformed()),
        }
    }

    #[inline]
    pub(super) fn row(&self, row: usize) -> Option<Row<'_>> {
        let key = self.key(row)?;
        let numbers: [Option<i64>; NUMBERS] = std::array::from_fn(|at| self.numbers[at].get(row));
        let kind = self.kinds.get(self.kind.get(row)? as usize).copied().unwrap_or(FileType::Unknown);
        let mut facts = Facts::from_numbers(kind, &numbers);
        let hash = |texts| text(texts, row).and_then(|hash| hash.try_into().ok());
        let sha256 = || hash(&self.sha256).map(ContentHash::Sha256);
        facts.hash = hash(&self.blake3).map(ContentHash::Blake3).or_else(sha256);
        let error = text(&self.error, row).and_then(|error| std::str::from_utf8(error).ok());
        Some(Row { key, facts, error })
    }
}

fn text(Texts { indexes, texts }: &Texts, row: usize) -> Option<&[u8]> {
    Some(&texts.get(indexes.get(row)? as usize)?[..])
}

fn type_of(word: &[u8]) -> FileType {
    std::str::from_utf8(word).ok().and_then(FileType::from_name).unwrap_or(FileType::Unknown)
}
