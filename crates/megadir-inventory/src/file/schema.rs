//! Columns of an inventory and their encodings.

use std::sync::{Arc, OnceLock};

use parquet::basic::{ConvertedType, Encoding, LogicalType, Repetition, Type};
use parquet::errors::Result;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr, WriterVersion};
use parquet::schema::types::{Type as SchemaType, TypePtr};

use crate::row::{Facts, NUMBERS, STORED_NUMBERS};

#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) required: bool,
    pub(super) stored: Encoding,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Int32,
    Int64,
    Unsigned32,
    Unsigned64,
    Bytes,
    Text,
}

const fn required(name: &'static str, kind: Kind, stored: Encoding) -> Column {
    Column { name, kind, required: true, stored }
}

const fn optional(name: &'static str, kind: Kind, stored: Encoding) -> Column {
    Column { name, kind, required: false, stored }
}

/// From [`NUMBERS_AT`] on they match [`Facts::numbers`].
pub(super) static COLUMNS: [Column; 22] = [
    required("root", Kind::Int32, Encoding::RLE_DICTIONARY),
    required("parent", Kind::Bytes, Encoding::RLE_DICTIONARY),
    required("name", Kind::Bytes, Encoding::DELTA_LENGTH_BYTE_ARRAY),
    required("path", Kind::Text, Encoding::DELTA_BYTE_ARRAY),
    required("type", Kind::Text, Encoding::RLE_DICTIONARY),
    optional("size", Kind::Int64, Encoding::DELTA_BINARY_PACKED),
    optional("mtime_ns", Kind::Int64, Encoding::DELTA_BINARY_PACKED),
    optional("ctime_ns", Kind::Int64, Encoding::DELTA_BINARY_PACKED),
    optional("btime_ns", Kind::Int64, Encoding::DELTA_BINARY_PACKED),
    optional("inode", Kind::Unsigned64, Encoding::DELTA_BINARY_PACKED),
    optional("inode_high", Kind::Unsigned64, Encoding::RLE_DICTIONARY),
    optional("device", Kind::Int64, Encoding::RLE_DICTIONARY),
    optional("mode", Kind::Int32, Encoding::RLE_DICTIONARY),
    optional("uid", Kind::Unsigned32, Encoding::RLE_DICTIONARY),
    optional("gid", Kind::Unsigned32, Encoding::RLE_DICTIONARY),
    optional("links", Kind::Int64, Encoding::RLE_DICTIONARY),
    optional("errno", Kind::Int32, Encoding::RLE_DICTIONARY),
    optional("allocated", Kind::Int64, Encoding::DELTA_BINARY_PACKED),
    optional("atime_ns", Kind::Int64, Encoding::DELTA_BINARY_PACKED),
    optional("error", Kind::Text, Encoding::RLE_DICTIONARY),
    optional("sha256", Kind::Bytes, Encoding::PLAIN),
    optional("blake3", Kind::Bytes, Encoding::PLAIN),
];

/// Further columns of the index of a pack, as [`Stored::numbers`](crate::Stored::numbers). Readers of inventories ignore them.
pub(super) static STORED: [Column; STORED_NUMBERS] = [
    optional("shard", Kind::Int32, Encoding::RLE_DICTIONARY),
    optional("header_offset", Kind::Int64, Encoding::DELTA_BINARY_PACKED),
    optional("data_offset", Kind::Int64, Encoding::DELTA_BINARY_PACKED),
    optional("data_length", Kind::Int64, Encoding::DELTA_BINARY_PACKED),
    optional("attributes_hash", Kind::Unsigned64, Encoding::RLE_DICTIONARY),
];

/// Columns of a file in their order.
pub(super) fn columns(is_pack: bool) -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().chain(STORED.iter().take(if is_pack { STORED.len() } else { 0 }))
}

/// The column with this number in a file.
pub(super) fn column(number: usize) -> &'static Column {
    COLUMNS.get(number).unwrap_or_else(|| &STORED[number - COLUMNS.len()])
}

pub(super) const ROOT: usize = 0;
pub(super) const PARENT: usize = 1;
pub(super) const NAME: usize = 2;
pub(super) const PATH: usize = 3;
pub(super) const TYPE: usize = 4;
pub(super) const NUMBERS_AT: usize = 5;
pub(super) const ACCESSED: usize = ERROR - 1;
pub(super) const ERROR: usize = NUMBERS_AT + NUMBERS;
pub(super) const SHA256: usize = ERROR + 1;
pub(super) const BLAKE3: usize = ERROR + 2;

/// [`Facts::numbers`] with the names of their columns. All but times and error numbers are unsigned.
pub fn named_numbers(facts: &Facts) -> impl Iterator<Item = (&'static str, Option<i128>)> {
    COLUMNS[NUMBERS_AT..ERROR].iter().zip(facts.numbers()).map(|(Column { name, .. }, number)| {
        let is_signed = name.ends_with("_ns") || *name == "errno";
        (*name, number.map(|number| if is_signed { number.into() } else { (number as u64).into() }))
    })
}

impl Column {
    fn schema(&self) -> Result<SchemaType> {
        let (physical, logical, converted) = match self.kind {
            Kind::Int32 => (Type::INT32, None, ConvertedType::NONE),
            Kind::Int64 => (Type::INT64, None, ConvertedType::NONE),
            Kind::Unsigned32 => (Type::INT32, Some(LogicalType::integer(32, false)), ConvertedType::UINT_32),
            Kind::Unsigned64 => (Type::INT64, Some(LogicalType::integer(64, false)), ConvertedType::UINT_64),
            Kind::Bytes => (Type::BYTE_ARRAY, None, ConvertedType::NONE),
            Kind::Text => (Type::BYTE_ARRAY, Some(LogicalType::String), ConvertedType::UTF8),
        };
        SchemaType::primitive_type_builder(self.name, physical)
            .with_repetition(if self.required { Repetition::REQUIRED } else { Repetition::OPTIONAL })
            .with_logical_type(logical)
            .with_converted_type(converted)
            .build()
    }

    pub(super) fn physical(&self) -> Type {
        match self.kind {
            Kind::Int32 | Kind::Unsigned32 => Type::INT32,
            Kind::Int64 | Kind::Unsigned64 => Type::INT64,
            Kind::Bytes | Kind::Text => Type::BYTE_ARRAY,
        }
    }
}

pub(super) fn schema(is_pack: bool) -> Result<TypePtr> {
    static SCHEMAS: [OnceLock<TypePtr>; 2] = [OnceLock::new(), OnceLock::new()];
    let kept = &SCHEMAS[usize::from(is_pack)];
    if let Some(schema) = kept.get() {
        return Ok(Arc::clone(schema));
    }
    let fields = columns(is_pack).map(|column| column.schema().map(Arc::new)).collect::<Result<Vec<_>>>()?;
    let schema = SchemaType::group_type_builder("inventory").with_fields(fields).build()?;
    Ok(Arc::clone(kept.get_or_init(|| Arc::new(schema))))
}

pub(super) fn properties() -> WriterPropertiesPtr {
    let properties = WriterProperties::builder()
        .set_created_by(concat!("megadir version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_offset_index_disabled(true);
    Arc::new(properties.build())
}

#[cfg(test)]
mod tests {
    use super::COLUMNS;

    #[test]
    fn the_text_forms_have_the_same_columns() {
        let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
        assert_eq!(names.join(",") + "\r\n", crate::CSV_HEADER);
    }
}
