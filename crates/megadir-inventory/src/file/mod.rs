//! Inventories as Parquet files: the columns, writing and reading them.
//!
//! Reference: <https://parquet.apache.org/docs/file-format/>. Every column has a plain type that DuckDB, pandas, Polars
//! and Spark know, so times are numbers of nanoseconds and not timestamps: Spark reads no timestamps of nanoseconds,
//! and DuckDB cuts those in UTC to microseconds.

mod chunk;
mod columns;
mod contained;
mod decode;
mod encode;
mod encoding;
mod fuzz;
mod gathered;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod long;
mod open;
mod read;
mod schema;
mod whole;
mod window;
mod write;

#[doc(hidden)]
pub use self::fuzz::fuzz;
pub use open::Inventory;
pub use write::{GROUP_ROWS, WriteOptions, Writer};

/// The key under which a file's metadata hold [`Metadata`](crate::Metadata), as JSON.
const METADATA_KEY: &str = "megadir";

/// The key of the checksums: for each row group the XXH64 of its bytes in the file, 16 hex digits, in their order.
///
/// The decoders of the library trust what they read; with the checksums, damage is told before it gets there.
const CHECKSUMS_KEY: &str = "megadir.checksums";

/// The key of the checksum of the two values above: XXH64 of the one, then the other, 16 hex digits. Files of older versions have none.
const FOOTER_CHECKSUM_KEY: &str = "megadir.footer";

/// Returns the checksum of the metadata and of those of the row groups.
fn footer_checksum(metadata: &str, checksums: &str) -> String {
    let mut hasher = twox_hash::XxHash64::with_seed(0);
    std::hash::Hasher::write(&mut hasher, metadata.as_bytes());
    std::hash::Hasher::write(&mut hasher, checksums.as_bytes());
    format!("{:016x}", std::hash::Hasher::finish(&hasher))
}
