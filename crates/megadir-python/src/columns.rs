//! Columns of a listing: names, types, the attributes they need, and their arrays.
//!
//! One column is one array of one type. Batches are bounded by rows and by bytes, because offsets of
//! Arrow's texts have 31 bits.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, Int8Builder, Int32Builder, Int64Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Int8Array, Int64Array, RecordBatch, RecordBatchOptions,
    StringArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use megadir::{Attributes, Entry, FileType, StatMask, Time};
use megadir_inventory::nanoseconds;
use pyo3::exceptions::PyUnicodeError;
use pyo3::prelude::*;

use crate::conditions::named;
use crate::failure::value_error;
use crate::names::Naming;

/// The entries of one buffer stay together.
pub(crate) const BATCH_ROWS: usize = 1 << 16;
/// Limit of one column; offsets have 31 bits.
const BATCH_BYTES: usize = 64 << 20;
/// Enough for a batch that the last buffer of entries makes longer than its limit.
const CAPACITY_ROWS: usize = BATCH_ROWS / 4 * 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Name,
    Path,
    Parent,
    Type,
    Inode,
    Size,
    Allocated,
    Mtime,
    Ctime,
    Btime,
    Atime,
    Mode,
    Uid,
    Gid,
    Links,
    Errno,
}

const COLUMNS: [(Column, &str, StatMask); 16] = [
    (Column::Name, "name", StatMask::NOTHING),
    (Column::Path, "path", StatMask::NOTHING),
    (Column::Parent, "parent", StatMask::NOTHING),
    (Column::Type, "type", StatMask::NOTHING),
    (Column::Inode, "inode", StatMask::NOTHING),
    (Column::Size, "size", StatMask::SIZE),
    (Column::Allocated, "allocated", StatMask::ALLOCATED),
    (Column::Mtime, "mtime", StatMask::MODIFIED),
    (Column::Ctime, "ctime", StatMask::CHANGED),
    (Column::Btime, "btime", StatMask::BORN),
    (Column::Atime, "atime", StatMask::ACCESSED),
    (Column::Mode, "mode", StatMask::MODE),
    (Column::Uid, "uid", StatMask::OWNER),
    (Column::Gid, "gid", StatMask::OWNER),
    (Column::Links, "links", StatMask::LINKS),
    (Column::Errno, "errno", StatMask::NOTHING),
];

// The order of the table is the order of the variants, which indexes it.
impl Column {
    pub(crate) fn from_name(name: &str) -> PyResult<Self> {
        named(COLUMNS.map(|row| row.0), Self::name, "columns: unknown column", name)
    }

    fn name(self) -> &'static str {
        COLUMNS[self as usize].1
    }

    pub(crate) fn want(self) -> StatMask {
        COLUMNS[self as usize].2
    }

    /// Names, types and inodes are never null; attributes are, where the file system has no value.
    fn field(self, naming: Naming) -> Field {
        let (data_type, nullable) = match self {
            Self::Name | Self::Path | Self::Parent => match naming {
                Naming::Text => (DataType::Utf8, false),
                Naming::Bytes => (DataType::Binary, false),
            },
            Self::Type => (DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)), false),
            Self::Inode => (DataType::UInt64, false),
            Self::Uid | Self::Gid => (DataType::UInt32, true),
            Self::Mode | Self::Errno => (DataType::Int32, true),
            Self::Size | Self::Allocated | Self::Links => (DataType::Int64, true),
            Self::Mtime | Self::Ctime | Self::Btime | Self::Atime => {
                (DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), true)
            }
        };
        Field::new(self.name(), data_type, nullable)
    }
}

/// Name, values and whether some may be missing, of each column.
pub(crate) fn table_of<const N: usize>(columns: [(&str, ArrayRef, bool); N]) -> PyResult<RecordBatch> {
    RecordBatch::try_from_iter_with_nullable(columns).map_err(value_error)
}

/// Not every name is text.
pub(crate) fn texts(bytes: BinaryArray, naming: Naming) -> PyResult<ArrayRef> {
    match naming {
        Naming::Bytes => Ok(Arc::new(bytes)),
        Naming::Text => match StringArray::try_from_binary(bytes) {
            Ok(text) => Ok(Arc::new(text)),
            Err(_) => Err(PyUnicodeError::new_err(
                "a name is not UTF-8: pass the path as bytes, os.fsencode(path), for names as bytes",
            )),
        },
    }
}

/// The builder has numbers; the type of a time is given to the finished array, without a copy.
pub(crate) fn times(times: Int64Array) -> ArrayRef {
    let (_, values, nulls) = times.into_parts();
    Arc::new(TimestampNanosecondArray::new(values, nulls).with_timezone("UTC"))
}

/// A type is one byte, and the words of all types are stored once for each batch.
pub(crate) fn types(keys: Int8Array) -> PyResult<ArrayRef> {
    let names = StringArray::from_iter_values(FileType::ALL.into_iter().map(FileType::name));
    let array = DictionaryArray::<Int8Type>::try_new(keys, Arc::new(names));
    Ok(Arc::new(array.map_err(value_error)?))
}

enum Values {
    /// A batch stays far below 2^31 bytes.
    Texts(BinaryBuilder),
    Type(Int8Builder),
    I32(Int32Builder),
    I64(Int64Builder),
    Time(Int64Builder),
    U32(UInt32Builder),
    U64(UInt64Builder),
}

impl Values {
    fn new(column: Column) -> Self {
        match column {
            Column::Name | Column::Path | Column::Parent => {
                Self::Texts(BinaryBuilder::with_capacity(CAPACITY_ROWS, CAPACITY_ROWS * 32))
            }
            Column::Type => Self::Type(Int8Builder::with_capacity(CAPACITY_ROWS)),
            Column::Inode => Self::U64(UInt64Builder::with_capacity(CAPACITY_ROWS)),
            Column::Uid | Column::Gid => Self::U32(UInt32Builder::with_capacity(CAPACITY_ROWS)),
            Column::Mode | Column::Errno => Self::I32(Int32Builder::with_capacity(CAPACITY_ROWS)),
            Column::Size | Column::Allocated | Column::Links => {
                Self::I64(Int64Builder::with_capacity(CAPACITY_ROWS))
            }
            Column::Mtime | Column::Ctime | Column::Btime | Column::Atime => {
                Self::Time(Int64Builder::with_capacity(CAPACITY_ROWS))
            }
        }
    }

    fn finish(self, naming: Naming) -> PyResult<ArrayRef> {
        Ok(match self {
            Self::Texts(mut values) => return texts(values.finish(), naming),
            Self::Type(mut keys) => return types(keys.finish()),
            Self::Time(mut values) => times(values.finish()),
            Self::I32(mut values) => Arc::new(values.finish()),
            Self::I64(mut values) => Arc::new(values.finish()),
            Self::U32(mut values) => Arc::new(values.finish()),
            Self::U64(mut values) => Arc::new(values.finish()),
        })
    }

    /// Appends one column of a batch of entries. The match on the column stands outside the loop over the rows: each
    /// arm is a loop over one array with one type, without a branch for the column in it. Attributes that the backend
    /// did not return become null, and an error of 0 as well. Type and inode come from the attributes if these have
    /// them, otherwise from the directory, which may not know the type. Numbers above the largest `i64` become that
    /// number.
    fn extend<'e>(
        &mut self,
        column: Column,
        parent: &[u8],
        rows: impl Iterator<Item = (Entry<'e>, &'e Attributes)>,
    ) {
        let has = |row: &Attributes, mask| row.have.contains(mask);
        let time = |row: &Attributes, mask, time: Time| row.have.contains(mask).then(|| nanoseconds(time));
        let number = |row: &Attributes, mask, value: u64| {
            row.have.contains(mask).then(|| i64::try_from(value).unwrap_or(i64::MAX))
        };
        match (self, column) {
            (Self::Texts(texts), Column::Parent) => rows.for_each(|_| texts.append_value(parent)),
            (Self::Texts(texts), Column::Path) if !parent.is_empty() => {
                rows.for_each(|(entry, _)| {
                    // Into memory, which cannot fail.
                    let _ = texts.write_all(parent).and_then(|()| texts.write_all(b"/"));
                    texts.append_value(entry.name);
                });
            }
            (Self::Texts(texts), _) => rows.for_each(|(entry, _)| texts.append_value(entry.name)),
            (Self::Type(keys), _) => rows.for_each(|(entry, row)| {
                let kind = if has(row, StatMask::TYPE) { row.kind } else { entry.kind };
                keys.append_value(kind as i8);
            }),
            (Self::U64(values), _) => rows.for_each(|(entry, row)| {
                values.append_value(if has(row, StatMask::INODE) { row.inode } else { entry.inode });
            }),
            (Self::U32(values), Column::Gid) => {
                rows.for_each(|(_, row)| values.append_option(has(row, StatMask::OWNER).then_some(row.group)))
            }
            (Self::U32(values), _) => {
                rows.for_each(|(_, row)| values.append_option(has(row, StatMask::OWNER).then_some(row.user)))
            }
            (Self::I32(values), Column::Mode) => rows.for_each(|(_, row)| {
                values.append_option(has(row, StatMask::MODE).then_some(row.mode.into()));
            }),
            (Self::I32(values), _) => {
                rows.for_each(|(_, row)| values.append_option((row.error != 0).then_some(row.error)));
            }
            (Self::I64(values), column) => rows.for_each(|(_, row)| {
                values.append_option(match column {
                    Column::Size => number(row, StatMask::SIZE, row.size_bytes),
                    Column::Allocated => number(row, StatMask::ALLOCATED, row.allocated_bytes),
                    _ => number(row, StatMask::LINKS, row.links),
                });
            }),
            (Self::Time(values), column) => rows.for_each(|(_, row)| {
                values.append_option(match column {
                    Column::Mtime => time(row, StatMask::MODIFIED, row.modified),
                    Column::Ctime => time(row, StatMask::CHANGED, row.changed),
                    Column::Btime => time(row, StatMask::BORN, row.born),
                    _ => time(row, StatMask::ACCESSED, row.accessed),
                });
            }),
        }
    }
}

/// Rows of the next batch, by column. `len` is kept apart, because a mere count has no columns.
pub(crate) struct Rows {
    columns: Vec<(Column, Values)>,
    schema: SchemaRef,
    naming: Naming,
    len: usize,
}

impl Rows {
    pub(crate) fn new(columns: &[Column], naming: Naming) -> Self {
        let fields: Vec<Field> = columns.iter().map(|column| column.field(naming)).collect();
        let columns = columns.iter().map(|column| (*column, Values::new(*column))).collect();
        Self { columns, schema: Arc::new(Schema::new(fields)), naming, len: 0 }
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// `false` if rows are only counted.
    pub(crate) fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Asked after each buffer of entries, so a batch exceeds its limit by at most one buffer.
    pub(crate) fn is_full(&self) -> bool {
        let is_long = |values: &Values| matches!(values, Values::Texts(texts) if texts.values_slice().len() >= BATCH_BYTES);
        self.len >= BATCH_ROWS || self.columns.iter().any(|(_, values)| is_long(values))
    }

    /// Adds entries of one directory, whose path below the root is `parent`, column by column.
    /// The iterator is cloned for each column; it reads a buffer in memory.
    pub(crate) fn extend<'e>(
        &mut self,
        parent: &[u8],
        len: usize,
        rows: impl Iterator<Item = (Entry<'e>, &'e Attributes)> + Clone,
    ) {
        for (column, values) in &mut self.columns {
            values.extend(*column, parent, rows.clone());
        }
        self.len += len;
    }

    pub(crate) fn take(&mut self) -> PyResult<RecordBatch> {
        let (naming, len) = (self.naming, std::mem::take(&mut self.len));
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (column, values) in &mut self.columns {
            // New builders of the same size: their memory goes to the batch.
            arrays.push(std::mem::replace(values, Values::new(*column)).finish(naming)?);
        }
        // Without columns Arrow could not derive the number of rows.
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        RecordBatch::try_new_with_options(self.schema(), arrays, &options).map_err(value_error)
    }
}
