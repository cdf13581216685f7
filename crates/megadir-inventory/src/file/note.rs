//! Text that a program keeps in the metadata of its inventory.

use std::fs::File;
use std::path::Path;

use megadir::{Error, ErrorKind, Result};
use parquet::file::metadata::ParquetMetaDataReader;

/// Reads what [`Writer::add_note`](super::Writer::add_note) wrote; `None` without a note of this key.
///
/// Errors: the file cannot be opened, or [`ErrorKind::Malformed`] if it is no Parquet file.
pub fn note(path: &Path, key: &str) -> Result<Option<String>> {
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let read = ParquetMetaDataReader::new().parse_and_finish(&file);
    let metadata = read.map_err(|error| Error::new("read", path, ErrorKind::Malformed, error.to_string()))?;
    let values = metadata.file_metadata().key_value_metadata();
    let found = values.into_iter().flatten().find(|value| value.key == key);
    Ok(found.and_then(|found| found.value.clone()))
}
