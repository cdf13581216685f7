//! Inventories: the contents of a tree at one moment, one row per entry, sorted by directory and name.
//!
//! * [`scan()`] reads trees into a [`Sink`] of [`Row`]s; [`Writer`] writes a Parquet file, [`Inventory`] reads
//!   it.
//! * [`changes`] compares a tree with an inventory; [`Snapshot`] is an inventory in memory.
//! * [`copies`] compares a tree with its copy, by relative path.
//! * `Lists` writes lists of a tree for programs that copy in parallel.
//! * [`Replacement`] replaces a file atomically; [`Sorter`] sorts more rows than fit in memory.
//!
//! Nothing here prints or starts threads beyond the number requested.
//!
//! | file | subject |
//! |---|---|
//! | `row.rs`, `rows.rs`, `path.rs`, `metadata.rs` | a row and its key; sources and sinks of rows; the description of an inventory |
//! | `scan/` | threads read a tree into sorted rows |
//! | `packed.rs`, `packed/`, `waiting.rs`, `sorter.rs` | rows that wait, as columns or one by one; the external sort |
//! | `file/` | the Parquet file: schema, encoding, writer, reader, folders of parts |
//! | `block/`, `snapshot.rs` | the rows of one directory with random access; an inventory in memory |
//! | `changes/` | comparison with a tree or with another inventory |
//! | `contents/` | files and links that are read: opened by descriptor, hashed in the order of the disk |
//! | `copies/` | comparison with a copy: two trees, two inventories, or one of each |
//! | `named_set.rs` | sets of fields and of properties with names |
//! | `usage.rs`, `split.rs`, `volumes.rs` | sums from an inventory; lists for copies; device numbers that survive a remount |
//! | `replacement.rs`, `recognize.rs`, `open_at_once.rs` | files that are replaced atomically, recognised, or opened without waiting for a pipe |

#![warn(missing_docs)]

/// The Rust code of the page is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/changes.md")]
struct ChangesPage;

mod block;
pub mod changes;
mod contents;
pub mod copies;
mod file;
mod metadata;
mod named_set;
mod open_at_once;
mod packed;
mod path;
mod recognize;
mod replacement;
mod row;
mod rows;
mod scan;
mod snapshot;
mod sorter;
#[cfg(unix)]
mod split;
mod usage;
mod volumes;
mod waiting;

#[doc(hidden)]
pub use file::fuzz;
pub use file::{GROUP_ROWS, Inventory, PARTS_FILE, PackIndex, WriteOptions, Writer, named_numbers, note};
pub use metadata::{FORMAT_VERSION, Metadata, Root, Scanned, Selected, Volume};
pub use open_at_once::{open_file, open_stream, open_to_read, open_to_write};
pub use packed::PackedRows;
pub use path::{TreePath, list_prefix, split_bytes};
pub use recognize::{CSV_HEADER, FileKind};
pub use replacement::Replacement;
pub use row::{ContentHash, Facts, Key, NUMBERS, OwnedRow, Row, Stored, nanoseconds, time_of};
pub use rows::{Rows, SeenRows, Sink};
pub use scan::{Excluded, PartScan, PartTree, ScanOptions, ScanWatch, TreeEnd, root_path, scan, spill_error};
pub use snapshot::{Snapshot, SnapshotRows};
pub use sorter::Sorter;
#[cfg(unix)]
pub use split::{ListLimits, Lists, Split};
pub use usage::{Lacking, usage};
