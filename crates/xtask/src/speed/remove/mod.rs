//! Removal: contenders destroy their data, so each run starts from the same image.
//!
//! A tree is created once in its own file system, and the image is kept. Before each run the image is copied back and
//! mounted, and the tree is read into the cache or dropped from it. Each contender gets the same file system, block for block.

mod contenders;
mod drive;
mod ground;
mod judge;
mod shapes;

pub(crate) use drive::{chosen, measure};
pub(crate) use shapes::Shape;
