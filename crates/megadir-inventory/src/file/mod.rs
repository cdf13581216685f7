//! Inventories as Parquet files that DuckDB, pandas, Polars and Spark read. Times are integers, because Spark
//! reads no nanosecond timestamps and DuckDB truncates them to microseconds.
//!
//! ```text
//! Writer: packed rows (65 536) -> threads: columns, pages, Zstandard -> Replacement (temporary file, fsync, rename)
//! ```
//!
//! * A failure on an entry is the `error` of its row.
//! * `parent` is a column, because a table of parents would need a recursive join in every query. With more than 4 MiB
//!   of paths it is encoded by DELTA_BYTE_ARRAY instead of a dictionary.
//! * Rows stay in byte order, because old files have it and other programs sort by it.
//! * The reader checks that each directory has a row. For that it keeps only the subdirectories of the directories
//!   whose bytes the current path begins with (`contained.rs`).
//! * A row group ends when the paths of its rows reach 128 MiB, because other readers hold them whole, or its packed
//!   rows 8 MiB (names of more than 100 bytes), because encoding takes several times as much. Ordinary trees never
//!   reach these sizes.
//! * Each row group has a checksum, because the decoders of Parquet trust their input.
//! * Headers, metadata and schema come from the crate `parquet`, and a test reads every column back with it.
//!   `schema.rs` is the only list of columns.
//!
//! | file | subject |
//! |---|---|
//! | `schema.rs`, `encoding/` | the columns; encodings of the values in a page |
//! | `gathered.rs`, `columns.rs`, `encode.rs`, `write.rs` | writing: packed rows, columns, chunks, the file |
//! | `window.rs`, `open.rs`, `chunk.rs`, `decode.rs` | reading: bytes of a row group, checks, columns, rows |
//! | `contained.rs` | rows of untrusted files stay in their tree |
//! | `folder.rs`, `inventory.rs`, `pack_index.rs` | parts merged by key; a file or a folder; the index of a pack |
//! | `fuzz.rs` | what the fuzzer checks |

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
mod pack_index;
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
pub use pack_index::PackIndex;
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
