//! Columns encoded and compressed, ready to be appended to a file.

use bytes::Bytes;
use megadir::FileType;
use parquet::column::writer::{
    ColumnCloseResult, ColumnWriterImpl, get_column_writer, get_typed_column_writer,
};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor};
use std::sync::Arc;
use twox_hash::XxHash64;

use super::columns::{Columns, Optional};
use super::schema::{properties, schema};

/// Columns to be encoded, and memory for what comes of them.
pub(super) struct Task {
    pub(super) columns: Columns,
    pub(super) memory: Vec<u8>,
}

/// An encoded row group.
pub(super) struct Group {
    /// The bytes of all its columns, one after another.
    pub(super) bytes: Bytes,
    /// What the file says of each column.
    pub(super) columns: Vec<ColumnCloseResult>,
    /// The checksum of the bytes.
    pub(super) checksum: u64,
    /// Columns without rows, whose memory is to be used again.
    pub(super) spare: Columns,
}

/// Encodes columns.
pub(super) struct Encoder {
    schema: SchemaDescPtr,
    properties: WriterPropertiesPtr,
    /// The words of the types, each at the index that it has as a number.
    types: Vec<ByteArray>,
    /// Memory for values on their way.
    arrays: Vec<ByteArray>,
}

/// The columns of a row group being written.
struct Chunks<'e> {
    schema: &'e SchemaDescPtr,
    properties: &'e WriterPropertiesPtr,
    bytes: TrackedWrite<Vec<u8>>,
    written: Vec<ColumnCloseResult>,
}

impl Encoder {
    pub(super) fn new(level: i32) -> Result<Self> {
        let types = FileType::ALL.map(|kind| ByteArray::from(kind.name())).to_vec();
        let schema = Arc::new(SchemaDescriptor::new(schema()?));
        Ok(Self { schema, properties: properties(level)?, types, arrays: Vec::new() })
    }

    /// Encodes the columns of a row group, in their order.
    pub(super) fn encode(&mut self, task: Task) -> Result<Group> {
        let Task { mut columns, mut memory } = task;
        memory.clear();
        let arrays = &mut self.arrays;
        let mut chunks = Chunks {
            schema: &self.schema,
            properties: &self.properties,
            bytes: TrackedWrite::new(memory),
            written: Vec::new(),
        };
        chunks.required::<Int32Type>(&columns.root)?;
        // Here and not before: threads that count references to the same bytes wait for each other.
        arrays.extend(columns.parent.iter().map(|&parent| columns.parents[parent as usize].clone()));
        chunks.required::<ByteArrayType>(arrays)?;
        arrays.clear();
        columns.name.arrays(arrays, |names| chunks.required::<ByteArrayType>(names))?;
        columns.path.arrays(arrays, |paths| chunks.required::<ByteArrayType>(paths))?;
        arrays.extend(columns.kind.iter().map(|&kind| self.types[usize::from(kind)].clone()));
        chunks.required::<ByteArrayType>(arrays)?;
        arrays.clear();
        chunks.optional::<Int64Type>(&columns.size)?;
        chunks.optional::<Int64Type>(&columns.modified)?;
        chunks.optional::<Int64Type>(&columns.changed)?;
        chunks.optional::<Int64Type>(&columns.born)?;
        chunks.optional::<Int64Type>(&columns.inode)?;
        chunks.optional::<Int64Type>(&columns.inode_high)?;
        chunks.optional::<Int64Type>(&columns.device)?;
        chunks.optional::<Int32Type>(&columns.mode)?;
        chunks.optional::<Int32Type>(&columns.user)?;
        chunks.optional::<Int32Type>(&columns.group)?;
        chunks.optional::<Int64Type>(&columns.links)?;
        chunks.optional::<Int32Type>(&columns.errno)?;
        chunks.optional::<ByteArrayType>(&columns.error)?;
        chunks.optional::<ByteArrayType>(&columns.hash)?;
        let Chunks { bytes, written, .. } = chunks;
        let bytes = Bytes::from(bytes.into_inner()?);
        columns.clear();
        Ok(Group { checksum: XxHash64::oneshot(0, &bytes), bytes, columns: written, spare: columns })
    }
}

impl Chunks<'_> {
    /// Writes the next column, in which every row has a value.
    fn required<T: DataType>(&mut self, values: &[T::T]) -> Result<()> {
        self.column::<T>(|writer| writer.write_batch(values, None, None))
    }

    /// Writes the next column, in which some rows have none.
    fn optional<T: DataType>(&mut self, values: &Optional<T::T>) -> Result<()> {
        self.column::<T>(|writer| writer.write_batch(&values.values, Some(&values.levels), None))
    }

    fn column<T: DataType>(
        &mut self,
        write: impl FnOnce(&mut ColumnWriterImpl<'_, T>) -> Result<usize>,
    ) -> Result<()> {
        let column = self.schema.column(self.written.len());
        let pages = Box::new(SerializedPageWriter::new(&mut self.bytes));
        let mut writer =
            get_typed_column_writer::<T>(get_column_writer(column, Arc::clone(self.properties), pages));
        write(&mut writer)?;
        let written = writer.close()?;
        self.written.push(written);
        Ok(())
    }
}
