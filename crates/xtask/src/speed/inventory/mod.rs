//! Inventories: scanning a tree, and telling what changed in it, against the programs that one would use otherwise.
//!
//! One tree of `--entries` files in directories of 100 is made on a file system of its own and read again and again, warm.

mod contenders;
mod drive;
mod judge;
mod tree;

pub(crate) use drive::{FILE_SYSTEMS, is_asked, measure};
