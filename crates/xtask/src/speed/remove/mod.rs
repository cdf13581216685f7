//! Removing: contenders that destroy what they are measured on, so that each run begins with the same image.
//!
//! A tree is made once in a file system of its own, whose image is kept; before each run the image is copied back, mounted,
//! and brought into memory or dropped from it. So each contender finds the very same file system, block for block.

mod contenders;
mod drive;
mod ground;
mod judge;
mod shapes;

pub(crate) use drive::{chosen, measure};
pub(crate) use shapes::Shape;
