//! Inventories: what a tree held at a moment, one row an entry, sorted by directory and name.
//!
//! * [`Row`] is an entry, [`Key`] its place in the order; rows come from [`Rows`] and go into a [`Sink`].
//! * [`scan()`] reads trees into a sink, in bounded memory; [`Writer`] is one that writes a Parquet file, [`Inventory`]
//!   reads it.
//! * [`changes`] compares a tree with an inventory of it; [`Snapshot`] is one in memory, [`Replacement`] the file that takes the
//!   place of an old one.
//! * [`Sorter`] sorts more rows than memory holds; `megadir list --sort` has it too.
//! * [`Metadata`] is what holds for all rows: which trees, when, by which clock, and whether all could be read.
//!
//! Nothing here prints, and no thread is started that was not asked for.

#![warn(missing_docs)]

mod block;
pub mod changes;
mod common;
mod file;
mod metadata;
mod packed;
mod path;
mod replacement;
mod row;
mod rows;
mod scan;
mod snapshot;
mod sorter;
mod volumes;

#[doc(hidden)]
pub use file::fuzz;
pub use file::{GROUP_ROWS, Inventory, WriteOptions, Writer};
pub use metadata::{FORMAT_VERSION, Metadata, Root, Scanned};
pub use packed::PackedRows;
pub use path::TreePath;
pub use replacement::Replacement;
pub use row::{Facts, Key, NUMBERS, OwnedRow, Row, nanoseconds};
pub use rows::{Rows, Sink, SliceRows};
pub use scan::{Excluded, ScanEvent, ScanOptions, root_path, scan};
pub use snapshot::{Snapshot, SnapshotRows};
pub use sorter::Sorter;
pub use volumes::Volume;
