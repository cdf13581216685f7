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
use std::hash::Hasher as _;
use std::sync::Arc;
use twox_hash::XxHash64 as Hasher;

use super::columns::{Columns, Optional};
use super::schema::{properties, schema};

/// The bytes of a column and what the file says of them.
pub(super) type Chunk = (Bytes, ColumnCloseResult);

/// An encoded row group.
pub(super) struct Group {
    /// Its columns, in their order.
    pub(super) chunks: Vec<Chunk>,
    /// The checksum of their bytes.
    pub(super) checksum: u64,
}

/// Encodes columns.
pub(super) struct Encoder {
    schema: SchemaDescPtr,
    properties: WriterPropertiesPtr,
    /// The words of the types, each at the index that it has as a number.
    types: Vec<ByteArray>,
}

impl Encoder {
    pub(super) fn new(level: i32) -> Result<Self> {
        let types = FileType::ALL.map(|kind| ByteArray::from(kind.name())).to_vec();
        let schema = Arc::new(SchemaDescriptor::new(schema()?));
        Ok(Self { schema, properties: properties(level)?, types })
    }

    /// Encodes the columns of a row group, in their order.
    pub(super) fn encode(&self, columns: Columns) -> Result<Group> {
        let types: Vec<_> = columns.kind.iter().map(|&kind| self.types[usize::from(kind)].clone()).collect();
        let mut next = 0..;
        let mut at = || next.next().unwrap_or_default();
        let chunks = vec![
            self.required::<Int32Type>(at(), &columns.root)?,
            self.required::<ByteArrayType>(at(), &columns.parent)?,
            self.required::<ByteArrayType>(at(), &columns.name.into_arrays())?,
            self.required::<ByteArrayType>(at(), &columns.path.into_arrays())?,
            self.required::<ByteArrayType>(at(), &types)?,
            self.optional::<Int64Type>(at(), &columns.size)?,
            self.optional::<Int64Type>(at(), &columns.modified)?,
            self.optional::<Int64Type>(at(), &columns.changed)?,
            self.optional::<Int64Type>(at(), &columns.born)?,
            self.optional::<Int64Type>(at(), &columns.inode)?,
            self.optional::<Int64Type>(at(), &columns.inode_high)?,
            self.optional::<Int64Type>(at(), &columns.device)?,
            self.optional::<Int32Type>(at(), &columns.mode)?,
            self.optional::<Int32Type>(at(), &columns.user)?,
            self.optional::<Int32Type>(at(), &columns.group)?,
            self.optional::<Int64Type>(at(), &columns.links)?,
            self.optional::<Int32Type>(at(), &columns.errno)?,
            self.optional::<ByteArrayType>(at(), &columns.error)?,
            self.optional::<ByteArrayType>(at(), &columns.hash)?,
        ];
        let mut hasher = Hasher::with_seed(0);
        chunks.iter().for_each(|(bytes, _)| hasher.write(bytes));
        Ok(Group { chunks, checksum: hasher.finish() })
    }

    fn required<T: DataType>(&self, column: usize, values: &[T::T]) -> Result<Chunk> {
        self.chunk::<T>(column, |writer| writer.write_batch(values, None, None))
    }

    fn optional<T: DataType>(&self, column: usize, values: &Optional<T::T>) -> Result<Chunk> {
        self.chunk::<T>(column, |writer| writer.write_batch(&values.values, Some(&values.levels), None))
    }

    fn chunk<T: DataType>(
        &self,
        column: usize,
        write: impl FnOnce(&mut ColumnWriterImpl<'_, T>) -> Result<usize>,
    ) -> Result<Chunk> {
        let mut bytes = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut bytes));
        let properties = Arc::clone(&self.properties);
        let mut writer =
            get_typed_column_writer::<T>(get_column_writer(self.schema.column(column), properties, pages));
        write(&mut writer)?;
        let close = writer.close()?;
        Ok((Bytes::from(bytes.into_inner()?), close))
    }
}
