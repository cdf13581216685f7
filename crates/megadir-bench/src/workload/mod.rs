//! What the blocks of a plan do, as real work on real directories.
//!
//! A workload knows nothing of rounds, clocks or records: it does one operation when it is told to and
//! says what it saw.

mod attributes;
mod format_long;
mod format_raw;
mod kept;
mod list;
mod output;
mod owners;

pub(crate) use list::{ListError, Listing, Signals, name_hash};
