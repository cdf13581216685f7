//! Inventories: what a tree held at a moment, one row an entry, sorted by directory and name.
//!
//! * [`Row`] is an entry, [`Key`] its place in the order; rows come from [`Rows`] and go into a [`Sink`].
//! * [`Metadata`] is what holds for all rows: which trees, when, by which clock, and whether all could be read.
//!
//! Nothing here prints, and no thread is started that was not asked for.

mod metadata;
mod row;
mod rows;

pub use metadata::{FORMAT_VERSION, Metadata, Root, Scanned};
pub use row::{Facts, Key, OwnedRow, Row, nanoseconds};
pub use rows::{Rows, Sink, SliceRows};
