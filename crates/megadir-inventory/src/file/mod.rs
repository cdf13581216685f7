//! Inventories as Parquet files that DuckDB, pandas, Polars and Spark read. Times are integers, because Spark
//! reads no nanosecond timestamps and DuckDB truncates them to microseconds.

mod chunk;
mod columns;
mod contained;
mod decode;
mod encode;
mod encoding;
mod folder;
mod fuzz;
mod gathered;
mod inventory;
mod open;
mod schema;
#[cfg(test)]
pub(crate) mod tests;
mod window;
mod write;

use parquet::file::metadata::ParquetMetaData;

#[doc(hidden)]
pub use self::fuzz::fuzz;
pub use folder::PARTS_FILE;
pub use inventory::Inventory;
pub use schema::named_numbers;
pub use write::{GROUP_ROWS, WriteOptions, Writer, note};

/// XXH64 of each row group's bytes, 16 hex digits each, in order.
const CHECKSUMS_KEY: &str = "megadir.checksums";

/// XXH64 of the two values above, concatenated, 16 hex digits; missing in files of older versions.
const FOOTER_CHECKSUM_KEY: &str = "megadir.footer";

fn value<'m>(metadata: &'m ParquetMetaData, key: &str) -> Option<&'m str> {
    let values = metadata.file_metadata().key_value_metadata()?;
    values.iter().find(|value| value.key == key)?.value.as_deref()
}

fn footer_checksum(metadata: &str, checksums: &str) -> String {
    let mut hasher = twox_hash::XxHash64::with_seed(0);
    std::hash::Hasher::write(&mut hasher, metadata.as_bytes());
    std::hash::Hasher::write(&mut hasher, checksums.as_bytes());
    format!("{:016x}", std::hash::Hasher::finish(&hasher))
}
