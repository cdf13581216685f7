//! Reading: columns become rows again, some thousands at a time.

use megadir::{FileType, Result};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::RowGroupReader;
use std::path::Path;

use super::open::damaged;
use crate::row::{Facts, Key, Row};

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 8192;

/// Decoded rows, of which some have been given.
#[derive(Default)]
pub(super) struct Batch {
    columns: Option<Box<Columns>>,
    rows: usize,
    given: usize,
}

/// The columns that are read; the path as text is made of others.
struct Columns {
    root: Required<Int32Type>,
    parent: Required<ByteArrayType>,
    name: Required<ByteArrayType>,
    kind: Required<ByteArrayType>,
    size: Optional<Int64Type>,
    modified: Optional<Int64Type>,
    changed: Optional<Int64Type>,
    born: Optional<Int64Type>,
    inode: Optional<Int64Type>,
    inode_high: Optional<Int64Type>,
    device: Optional<Int64Type>,
    mode: Optional<Int32Type>,
    user: Optional<Int32Type>,
    group: Optional<Int32Type>,
    links: Optional<Int64Type>,
    errno: Optional<Int32Type>,
    error: Optional<ByteArrayType>,
    hash: Optional<ByteArrayType>,
}

/// A column in which every row has a value.
struct Required<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
}

/// A column in which some rows have none.
struct Optional<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
    levels: Vec<i16>,
    /// For each row where its value is, if it has one; empty while all have.
    at: Vec<u32>,
}

impl<T: DataType> Required<T> {
    fn new(reader: ColumnReader) -> Self {
        Self { reader: get_typed_column_reader(reader), values: Vec::new() }
    }

    fn read(&mut self) -> ParquetResult<usize> {
        self.values.clear();
        let (rows, values, _) = self.reader.read_records(BATCH_ROWS, None, None, &mut self.values)?;
        if values != rows || self.values.len() != rows {
            return Err(ParquetError::General("a column has too few values".to_owned()));
        }
        Ok(rows)
    }
}

impl<T: DataType> Optional<T> {
    fn new(reader: ColumnReader) -> Self {
        Self {
            reader: get_typed_column_reader(reader),
            values: Vec::new(),
            levels: Vec::new(),
            at: Vec::new(),
        }
    }

    fn read(&mut self, expected: usize) -> ParquetResult<()> {
        self.values.clear();
        self.levels.clear();
        self.at.clear();
        let (rows, _, _) =
            self.reader.read_records(BATCH_ROWS, Some(&mut self.levels), None, &mut self.values)?;
        let present = self.levels.iter().filter(|&&level| level != 0).count();
        if rows != expected || self.levels.len() != rows || present != self.values.len() {
            return Err(ParquetError::General("columns differ in their length".to_owned()));
        }
        if present < rows {
            let mut next = 0;
            self.at.extend(self.levels.iter().map(|&level| {
                let at = next;
                next += u32::from(level != 0);
                at
            }));
        }
        Ok(())
    }

    #[inline]
    fn get(&self, row: usize) -> Option<&T::T> {
        if self.at.is_empty() {
            return self.values.get(row);
        }
        if self.levels[row] == 0 { None } else { self.values.get(self.at[row] as usize) }
    }
}

impl Batch {
    /// Tells whether every decoded row has been given.
    pub(super) fn is_empty(&self) -> bool {
        self.given == self.rows
    }

    /// Begins a row group; `places` are those of the columns in the file.
    pub(super) fn begin(&mut self, group: &dyn RowGroupReader, places: &[usize]) -> ParquetResult<()> {
        // By the numbers of `COLUMNS`.
        let column = |number: usize| group.get_column_reader(places[number]);
        self.columns = Some(Box::new(Columns {
            root: Required::new(column(0)?),
            parent: Required::new(column(1)?),
            name: Required::new(column(2)?),
            kind: Required::new(column(4)?),
            size: Optional::new(column(5)?),
            modified: Optional::new(column(6)?),
            changed: Optional::new(column(7)?),
            born: Optional::new(column(8)?),
            inode: Optional::new(column(9)?),
            inode_high: Optional::new(column(10)?),
            device: Optional::new(column(11)?),
            mode: Optional::new(column(12)?),
            user: Optional::new(column(13)?),
            group: Optional::new(column(14)?),
            links: Optional::new(column(15)?),
            errno: Optional::new(column(16)?),
            error: Optional::new(column(17)?),
            hash: Optional::new(column(18)?),
        }));
        (self.rows, self.given) = (0, 0);
        Ok(())
    }

    /// Decodes the next rows of the row group; `false` when none is left.
    pub(super) fn next(&mut self, path: &Path) -> Result<bool> {
        let Some(columns) = &mut self.columns else { return Ok(false) };
        (self.rows, self.given) = (0, 0);
        self.rows = columns.read().map_err(|error| damaged(path, error))?;
        if self.rows == 0 {
            self.columns = None;
        }
        Ok(self.rows > 0)
    }

    /// Returns the next row without giving it away.
    #[inline]
    pub(super) fn peek(&self) -> Option<Row<'_>> {
        let columns = self.columns.as_ref().filter(|_| self.given < self.rows)?;
        Some(columns.row(self.given))
    }

    /// Returns the next row.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Row<'_>> {
        let columns = self.columns.as_ref().filter(|_| self.given < self.rows)?;
        self.given += 1;
        Some(columns.row(self.given - 1))
    }
}

impl Columns {
    fn read(&mut self) -> ParquetResult<usize> {
        let rows = self.root.read()?;
        for other in [self.parent.read()?, self.name.read()?, self.kind.read()?] {
            if other != rows {
                return Err(ParquetError::General("columns differ in their length".to_owned()));
            }
        }
        for column in [
            &mut self.size,
            &mut self.modified,
            &mut self.changed,
            &mut self.born,
            &mut self.inode,
            &mut self.inode_high,
            &mut self.device,
            &mut self.links,
        ] {
            column.read(rows)?;
        }
        for column in [&mut self.mode, &mut self.user, &mut self.group, &mut self.errno] {
            column.read(rows)?;
        }
        self.error.read(rows)?;
        self.hash.read(rows)?;
        Ok(rows)
    }

    #[inline]
    fn row(&self, row: usize) -> Row<'_> {
        let key = Key {
            root: self.root.values[row] as u32,
            parent: self.parent.values[row].data(),
            name: self.name.values[row].data(),
        };
        let facts = Facts {
            kind: kind(self.kind.values[row].data()),
            size_bytes: self.size.get(row).map(|&size| size as u64),
            modified_ns: self.modified.get(row).copied(),
            changed_ns: self.changed.get(row).copied(),
            born_ns: self.born.get(row).copied(),
            inode: self.inode.get(row).map(|&inode| inode as u64),
            inode_high: self.inode_high.get(row).map(|&inode| inode as u64),
            device: self.device.get(row).map(|&device| device as u64),
            mode: self.mode.get(row).map(|&mode| mode as u16),
            user: self.user.get(row).map(|&user| user as u32),
            group: self.group.get(row).map(|&group| group as u32),
            links: self.links.get(row).map(|&links| links as u64),
            errno: self.errno.get(row).copied(),
            sha256: self.hash.get(row).and_then(|hash| hash.data().try_into().ok()),
        };
        let error = self.error.get(row).and_then(|error: &ByteArray| error.as_utf8().ok());
        Row { key, facts, error }
    }
}

/// Returns the type that a word stands for.
#[inline]
fn kind(word: &[u8]) -> FileType {
    match word {
        b"file" => FileType::File,
        b"directory" => FileType::Directory,
        other => std::str::from_utf8(other).ok().and_then(FileType::from_name).unwrap_or(FileType::Unknown),
    }
}
