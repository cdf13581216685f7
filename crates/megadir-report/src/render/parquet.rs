//! Every sample as a row of Parquet (Zstandard), with the columns of the CSV.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type as SchemaType;

use super::columns::{COLUMNS, Column, Kind, Row, Value, of_cells, rows};
use crate::report::Report;

/// The columns of a row group are in memory at once.
const ROWS: usize = 65_536;
/// The output grows by one group after the other, and each is cleared from memory once written.
pub(crate) fn write(report: &Report, output: &mut dyn Write) -> io::Result<()> {
    // The library wraps an error of the output, which is returned unwrapped.
    write_file(report, output).map_err(|error| match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    })
}

/// Rows are gathered into groups of `ROWS`, so memory does not grow with the number of samples. The columns
/// are the columns of the CSV, from one list. The study, version and command are in the file's metadata, since a
/// file of samples is often separated from its record.
fn write_file(report: &Report, output: &mut dyn Write) -> Result<()> {
    let fields = COLUMNS.iter().map(|column| field(column).map(Arc::new)).collect::<Result<Vec<_>>>()?;
    let schema = Arc::new(SchemaType::group_type_builder("samples").with_fields(fields).build()?);
    let header = &report.record.header;
    let metadata = [
        ("megadir.study", header.plan.study.clone()),
        ("megadir.version", header.machine.version.clone()),
        ("megadir.started_unix_s", header.started_unix_s.to_string()),
        ("megadir.command", header.command.join(" ")),
    ];
    let wine = header.machine.wine.as_ref();
    let wine = wine.map(|version| ("megadir.wine", format!("{version}: says nothing of Windows")));
    let emulator = header.machine.emulator.as_ref();
    let emulator = emulator.map(|emulator| ("megadir.emulator", emulator.clone()));
    let metadata = metadata.into_iter().chain(wine).chain(emulator);
    let metadata = metadata.map(|(key, value)| KeyValue::new(key.into(), value)).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("megadir {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(metadata))
        .build();
    // The writer requires `Send` of its output, so it writes to memory and this copies.
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let arms = of_cells(&header.plan);
    let mut all = rows(report, &arms).peekable();
    while all.peek().is_some() {
        let group: Vec<Row<'_>> = all.by_ref().take(ROWS).collect();
        let mut columns = writer.next_row_group()?;
        for column in COLUMNS {
            add(&mut columns, column, &group)?;
        }
        columns.close()?;
        output.write_all(writer.inner())?;
        writer.inner_mut().clear();
    }
    writer.finish()?;
    output.write_all(writer.inner())?;
    Ok(())
}

/// Both annotations of a column's type are set: older readers know only the converted type.
fn field(column: &Column) -> Result<SchemaType> {
    let (physical, logical, converted) = match column.kind {
        Kind::Number | Kind::Hash => (Type::INT64, LogicalType::integer(64, false), ConvertedType::UINT_64),
        Kind::Text => (Type::BYTE_ARRAY, LogicalType::String, ConvertedType::UTF8),
    };
    SchemaType::primitive_type_builder(column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(Some(logical))
        .with_converted_type(converted)
        .build()
}

/// Values are written without the missing ones, whose places are in the definition levels (0: missing, 1:
/// present).
fn add(group: &mut SerializedRowGroupWriter<'_, Vec<u8>>, column: &Column, rows: &[Row<'_>]) -> Result<()> {
    let mut writer = group.next_column()?.ok_or_else(|| ParquetError::General("no column is left".into()))?;
    let (mut there, mut numbers, mut texts) = (Vec::with_capacity(rows.len()), Vec::new(), Vec::new());
    for row in rows {
        let value = (column.value)(row);
        there.push(i16::from(!matches!(value, Value::Missing)));
        match value {
            Value::Missing => {}
            // Parquet has no unsigned 64-bit type of its own: the bits are stored as a signed one, and the
            // annotation restores their meaning.
            Value::Number(number) | Value::Hash(number) => numbers.push(number.cast_signed()),
            Value::Text(text) => texts.push(ByteArray::from(text)),
        }
    }
    match writer.untyped() {
        ColumnWriter::Int64ColumnWriter(typed) => typed.write_batch(&numbers, Some(&there), None)?,
        ColumnWriter::ByteArrayColumnWriter(typed) => typed.write_batch(&texts, Some(&there), None)?,
        _ => return Err(ParquetError::General(format!("no writer for {}", column.name))),
    };
    writer.close()
}
