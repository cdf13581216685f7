//! Inventories: scanning a tree and detecting changes, against common alternatives.
//!
//! One tree of `--entries` files in directories of 100 is created on a private file system and read repeatedly,
//! warm.

mod contenders;
mod drive;
mod judge;
mod tree;

pub(crate) use drive::{FILE_SYSTEMS, is_asked, measure};
