//! Streams of record batches for Python: the Arrow PyCapsule interface, and an iterator of batches.
//!
//! ```text
//! Source (next: a batch) -> Stream -> iterator of Batch               errors as raised
//!                              `----> Consumed -> ArrowArrayStream      errors as text; Ctrl-C in the main thread
//! ```
//!
//! A stream is consumed once, by one consumer: its source moves out of it.

use std::sync::{Mutex, PoisonError};

use arrow_array::ffi::to_ffi;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::attention::repeat_interrupt;
use crate::failure::{for_stream, value_error};

/// Source of record batches. Called with or without the interpreter.
pub(crate) trait Source: Send {
    /// Returns the next batch, or `None` at the end.
    fn next(&mut self) -> PyResult<Option<RecordBatch>>;
}

/// Batches that are all in memory.
impl Source for std::vec::IntoIter<RecordBatch> {
    fn next(&mut self) -> PyResult<Option<RecordBatch>> {
        Ok(Iterator::next(self))
    }
}

/// Record batches that are read as they are consumed, once.
///
/// Any library with the Arrow PyCapsule interface takes it: `pyarrow.table(stream)`, `polars.DataFrame(stream)`,
/// `duckdb.from_arrow(stream)`. As an iterator it yields batches and raises the errors of reading themselves; libraries
/// replace them by their own.
#[pyclass(module = "megadir", frozen)]
pub(crate) struct Stream {
    schema: SchemaRef,
    source: Mutex<Option<Box<dyn Source>>>,
}

impl Stream {
    pub(crate) fn new(schema: SchemaRef, source: Box<dyn Source>) -> Self {
        Self { schema, source: Mutex::new(Some(source)) }
    }

    /// Takes what is left of the stream, which is consumed then.
    pub(crate) fn take(&self) -> PyResult<Box<dyn Source>> {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner).take();
        source
            .ok_or_else(|| PyValueError::new_err("the stream has been consumed, or another thread reads it"))
    }
}

/// The schema is wanted before and after the stream is consumed.
fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(&**schema).map_err(value_error)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

#[pymethods]
impl Stream {
    /// The schema, for the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    /// The stream, for the Arrow PyCapsule interface. It can be consumed once. A requested schema is ignored, as the
    /// interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let consumed = Consumed { schema: self.schema.clone(), source: self.take()? };
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(consumed)), c"arrow_array_stream")
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        // Taken for the time of reading: another thread finds the stream empty and ends, instead of
        // waiting.
        let Ok(mut source) = self.take() else { return Ok(None) };
        let batch = py.detach(|| source.next())?;
        // Not put back after the end or an error, so the iterator stays at its end.
        if batch.is_some() {
            *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Some(source);
        }
        Ok(batch.map(|batch| Batch { batch }))
    }
}

/// Record batch: `pyarrow.record_batch(batch)` takes it without copying.
#[pyclass(module = "megadir", frozen)]
pub(crate) struct Batch {
    batch: RecordBatch,
}

#[pymethods]
impl Batch {
    /// Schema and array, for the Arrow PyCapsule interface. A requested schema is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let data = StructArray::from(self.batch.clone()).to_data();
        let (array, _) = to_ffi(&data).map_err(value_error)?;
        Ok((schema_capsule(py, &self.batch.schema())?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }
}

/// Source in the hands of a consumer in C, which may call it from any thread.
struct Consumed {
    schema: SchemaRef,
    source: Box<dyn Source>,
}

impl Iterator for Consumed {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.source.next() {
            Ok(batch) => batch.map(Ok),
            Err(error) => {
                let ended = for_stream(&error);
                // Last: any use of the interpreter would meet the interrupt.
                repeat_interrupt(&error);
                Some(Err(ended))
            }
        }
    }
}

impl RecordBatchReader for Consumed {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
