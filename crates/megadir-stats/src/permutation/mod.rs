//! Seeded order: a generator, shuffling, balanced designs and permutations of huge ranges in constant memory.

mod feistel;
mod generator;
mod latin_square;

pub use feistel::Permutation;
pub use generator::{SplitMix64, shuffle};
pub use latin_square::balanced_latin_square;
