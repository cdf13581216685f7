//! Columns of a listing: names, types, the attributes they need, and their arrays.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, Int8Builder, Int32Builder, Int64Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, RecordBatch, RecordBatchOptions, StringArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use megadir::nearest::choices;
use megadir::{Attributes, Entry, FileType, StatMask, Time};
use megadir_inventory::nanoseconds;
use pyo3::exceptions::{PyUnicodeError, PyValueError};
use pyo3::prelude::*;

use crate::names::Naming;

/// The entries of one buffer stay together.
pub(crate) const BATCH_ROWS: usize = 1 << 16;
/// Limit of one column; offsets have 31 bits.
const BATCH_BYTES: usize = 64 << 20;

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

impl Column {
    pub(crate) fn from_name(name: &str) -> PyResult<Self> {
        COLUMNS.iter().find(|row| row.1 == name).map(|row| row.0).ok_or_else(|| {
            let choices = choices(name, COLUMNS.iter().map(|row| row.1));
            PyValueError::new_err(format!("columns: unknown column '{name}': {choices}"))
        })
    }

    fn name(self) -> &'static str {
        COLUMNS[self as usize].1
    }

    pub(crate) fn want(self) -> StatMask {
        COLUMNS[self as usize].2
    }

    fn field(self, naming: Naming) -> Field {
        let (data_type, nullable) = match self {
            Self::Name | Self::Path | Self::Parent => (text_type(naming), false),
            Self::Type => (type_type(), false),
            Self::Inode => (DataType::UInt64, false),
            Self::Uid | Self::Gid => (DataType::UInt32, true),
            Self::Mode | Self::Errno => (DataType::Int32, true),
            Self::Size | Self::Allocated | Self::Links => (DataType::Int64, true),
            Self::Mtime | Self::Ctime | Self::Btime | Self::Atime => (time_type(), true),
        };
        Field::new(self.name(), data_type, nullable)
    }
}

pub(crate) fn text_type(naming: Naming) -> DataType {
    match naming {
        Naming::Text => DataType::Utf8,
        Naming::Bytes => DataType::Binary,
    }
}

pub(crate) fn type_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))
}

pub(crate) fn time_type() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
}

/// Not every name is text.
pub(crate) fn texts(mut bytes: BinaryBuilder, naming: Naming) -> PyResult<ArrayRef> {
    let bytes = bytes.finish();
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

pub(crate) fn times(mut times: Int64Builder) -> ArrayRef {
    let (_, values, nulls) = times.finish().into_parts();
    Arc::new(TimestampNanosecondArray::new(values, nulls).with_timezone("UTC"))
}

pub(crate) fn types(mut keys: Int8Builder) -> PyResult<ArrayRef> {
    let names = StringArray::from_iter_values(FileType::ALL.into_iter().map(FileType::name));
    let array = DictionaryArray::<Int8Type>::try_new(keys.finish(), Arc::new(names));
    Ok(Arc::new(array.map_err(|error| PyValueError::new_err(error.to_string()))?))
}

enum Values {
    Bytes(BinaryBuilder),
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
                Self::Bytes(BinaryBuilder::with_capacity(BATCH_ROWS, BATCH_ROWS * 32))
            }
            Column::Type => Self::Type(Int8Builder::with_capacity(BATCH_ROWS)),
            Column::Inode => Self::U64(UInt64Builder::with_capacity(BATCH_ROWS)),
            Column::Uid | Column::Gid => Self::U32(UInt32Builder::with_capacity(BATCH_ROWS)),
            Column::Mode | Column::Errno => Self::I32(Int32Builder::with_capacity(BATCH_ROWS)),
            Column::Size | Column::Allocated | Column::Links => {
                Self::I64(Int64Builder::with_capacity(BATCH_ROWS))
            }
            Column::Mtime | Column::Ctime | Column::Btime | Column::Atime => {
                Self::Time(Int64Builder::with_capacity(BATCH_ROWS))
            }
        }
    }

    fn finish(self, naming: Naming) -> PyResult<ArrayRef> {
        Ok(match self {
            Self::Bytes(bytes) => return texts(bytes, naming),
            Self::Type(keys) => return types(keys),
            Self::Time(values) => times(values),
            Self::I32(mut values) => Arc::new(values.finish()),
            Self::I64(mut values) => Arc::new(values.finish()),
            Self::U32(mut values) => Arc::new(values.finish()),
            Self::U64(mut values) => Arc::new(values.finish()),
        })
    }
}

pub(crate) struct Rows {
    columns: Vec<(Column, Values)>,
    schema: SchemaRef,
    naming: Naming,
    len: usize,
    bytes: usize,
}

impl Rows {
    pub(crate) fn new(columns: &[Column], naming: Naming) -> Self {
        let fields: Vec<Field> = columns.iter().map(|column| column.field(naming)).collect();
        let columns = columns.iter().map(|column| (*column, Values::new(*column))).collect();
        Self { columns, schema: Arc::new(Schema::new(fields)), naming, len: 0, bytes: 0 }
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// `parent` is the path of the directory below the root.
    pub(crate) fn add(&mut self, parent: &[u8], entry: &Entry<'_>, row: &Attributes) {
        let has = |mask| row.have.contains(mask);
        let time = |mask, time: Time| has(mask).then(|| nanoseconds(time));
        let number = |mask, value: u64| has(mask).then(|| i64::try_from(value).unwrap_or(i64::MAX));
        for (column, values) in &mut self.columns {
            match (values, *column) {
                (Values::Bytes(bytes), Column::Name) => bytes.append_value(entry.name),
                (Values::Bytes(bytes), Column::Parent) => bytes.append_value(parent),
                (Values::Bytes(bytes), _) => append_path(bytes, parent, entry.name),
                (Values::Type(keys), _) => {
                    let kind = if has(StatMask::TYPE) { row.kind } else { entry.kind };
                    keys.append_value(kind as i8);
                }
                (Values::U64(values), _) => {
                    values.append_value(if has(StatMask::INODE) { row.inode } else { entry.inode });
                }
                (Values::U32(values), Column::Gid) => {
                    values.append_option(has(StatMask::OWNER).then_some(row.group))
                }
                (Values::U32(values), _) => values.append_option(has(StatMask::OWNER).then_some(row.user)),
                (Values::I32(values), Column::Mode) => {
                    values.append_option(has(StatMask::MODE).then_some(row.mode.into()))
                }
                (Values::I32(values), _) => values.append_option((row.error != 0).then_some(row.error)),
                (Values::I64(values), Column::Size) => {
                    values.append_option(number(StatMask::SIZE, row.size_bytes))
                }
                (Values::I64(values), Column::Allocated) => {
                    values.append_option(number(StatMask::ALLOCATED, row.allocated_bytes));
                }
                (Values::I64(values), _) => values.append_option(number(StatMask::LINKS, row.links)),
                (Values::Time(values), Column::Mtime) => {
                    values.append_option(time(StatMask::MODIFIED, row.modified))
                }
                (Values::Time(values), Column::Ctime) => {
                    values.append_option(time(StatMask::CHANGED, row.changed))
                }
                (Values::Time(values), Column::Btime) => values.append_option(time(StatMask::BORN, row.born)),
                (Values::Time(values), _) => values.append_option(time(StatMask::ACCESSED, row.accessed)),
            }
        }
        self.bytes += parent.len() + entry.name.len();
        self.len += 1;
    }

    pub(crate) fn count(&mut self, entries: usize) {
        self.len += entries;
    }

    /// `true` if rows have no columns and are only counted.
    pub(crate) fn only_counts(&self) -> bool {
        self.columns.is_empty()
    }

    pub(crate) fn take(&mut self) -> PyResult<RecordBatch> {
        let (naming, len) = (self.naming, self.len);
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (column, values) in &mut self.columns {
            arrays.push(std::mem::replace(values, Values::new(*column)).finish(naming)?);
        }
        (self.len, self.bytes) = (0, 0);
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        RecordBatch::try_new_with_options(self.schema(), arrays, &options)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

fn append_path(bytes: &mut BinaryBuilder, parent: &[u8], name: &[u8]) {
    if parent.is_empty() {
        return bytes.append_value(name);
    }
    bytes.append_value([parent, b"/", name].concat());
}
