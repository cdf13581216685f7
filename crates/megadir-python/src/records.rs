//! `records.read`: the samples of a benchmark's record, with the columns of `megadir bench report --format parquet`.
//!
//! The record becomes a report first, as for the program, so that both have equal columns. All samples are
//! in memory.

use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use megadir_inventory::open_stream;
use megadir_record::jsonl::read_partly;
use megadir_report::Report;
use megadir_report::render::{
    COLUMNS, SampleColumn, SampleKind, SampleRow, SampleValue, sample_arms, sample_rows,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::columns::BATCH_ROWS;
use crate::failure::{exception, value_error};
use crate::names::Named;
use crate::stream::Stream;

/// See `megadir.records.read`.
#[pyfunction]
pub(crate) fn record_samples(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Stream> {
    let Named { path, naming } = Named::from(path)?;
    let file = open_stream(&path).map_err(|error| exception(&error, naming))?;
    py.detach(|| {
        let schema = schema();
        let batches = batches(&report(&path, file)?, &schema)?;
        Ok(Stream::new(schema, Box::new(batches.into_iter())))
    })
}

/// A truncated record, of a killed run, has its complete lines. Damage within is an error.
fn report(path: &Path, file: Box<dyn Read + Send>) -> PyResult<Report> {
    let refused =
        |reason: &dyn std::fmt::Display| PyValueError::new_err(format!("'{}': {reason}", path.display()));
    let (record, damage) =
        // Buffered, because the reader takes a line at a time.
        read_partly(BufReader::with_capacity(256 << 10, file)).map_err(|error| refused(&error))?;
    match damage {
        Some(damage) => Err(refused(&damage)),
        None => Report::of(record).map_err(|error| refused(&error)),
    }
}

fn schema() -> SchemaRef {
    let field = |column: &SampleColumn| {
        let data_type = match column.kind {
            SampleKind::Number | SampleKind::Hash => DataType::UInt64,
            SampleKind::Text => DataType::Utf8,
        };
        Field::new(column.name, data_type, true)
    };
    Arc::new(Schema::new(COLUMNS.iter().map(field).collect::<Vec<_>>()))
}

/// In batches, as consumers expect them bounded.
fn batches(report: &Report, schema: &SchemaRef) -> PyResult<Vec<RecordBatch>> {
    let arms = sample_arms(&report.record.header.plan);
    let rows: Vec<_> = sample_rows(report, &arms).collect();
    let batch = |rows| {
        let arrays = COLUMNS.iter().map(|column| array(column, rows)).collect();
        RecordBatch::try_new(schema.clone(), arrays).map_err(value_error)
    };
    rows.chunks(BATCH_ROWS).map(batch).collect()
}

fn array(column: &SampleColumn, rows: &[SampleRow<'_>]) -> ArrayRef {
    let (mut numbers, mut texts) = (UInt64Builder::new(), StringBuilder::new());
    for row in rows {
        match ((column.value)(row), column.kind) {
            (SampleValue::Number(number) | SampleValue::Hash(number), _) => numbers.append_value(number),
            (SampleValue::Text(text), _) => texts.append_value(text),
            (SampleValue::Missing, SampleKind::Text) => texts.append_null(),
            (SampleValue::Missing, SampleKind::Number | SampleKind::Hash) => numbers.append_null(),
        }
    }
    match column.kind {
        SampleKind::Text => Arc::new(texts.finish()),
        SampleKind::Number | SampleKind::Hash => Arc::new(numbers.finish()),
    }
}
