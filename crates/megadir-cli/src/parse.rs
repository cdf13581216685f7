//! Counts, sizes and ages as people type them.

pub(crate) use megadir::quantity::{age_s, bytes, count};
