//! Deterministic pseudorandom numbers.

use megadir_stats::permutation::SplitMix64;
pub use megadir_stats::permutation::mix;

/// A generator with a seed: the same test sees the same numbers everywhere.
#[derive(Clone, Debug)]
pub struct Rng(SplitMix64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Biased by the remainder, which does not matter for tests.
    pub fn within(&mut self, from: u64, to: u64) -> u64 {
        from + self.next_u64() % (to - from + 1)
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.within(0, of.len() as u64 - 1) as usize]
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.within(0, 99) < percent
    }
}
