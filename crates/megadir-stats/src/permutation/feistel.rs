//! Random permutation of a range of any size in constant memory.
//!
//! ```text
//!   left | right            one of 8 rounds; both halves have the same number of bits
//!     \  /   |
//!     xor <- f(right, key)  f need not be invertible, the round is: swap and undo the xor
//!      \/
//!   right | left xor f
//! ```
//!
//! The network permutes 0 to 4^k, the next power of four above n; a result of n or more goes through it again
//! ("cycle walking"), on average fewer than four times. References: Luby and Rackoff, *SIAM Journal on
//! Computing* 17 (1988); Black and Rogaway, *Ciphers with Arbitrary Finite Domains*, CT-RSA 2002. Not for
//! secrets.

use super::generator::{SplitMix64, mix};

const ROUNDS: usize = 8;

/// Seeded permutation of 0 to n - 1, computed instead of stored: the order of the keys of a huge directory.
///
/// ```
/// use megadir_stats::permutation::Permutation;
/// let order = Permutation::new(1_000_000_000, 42);
/// assert!(order.get(0) < Some(1_000_000_000));
/// assert_ne!(order.get(0), order.get(1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// Permutation of 0 to `n` - 1, determined by `seed`.
    #[must_use]
    pub fn new(n: u64, seed: u64) -> Self {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        let mut random = SplitMix64::new(seed);
        Self {
            count: n,
            half_bits: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| random.next_u64()),
        }
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number at index `i`; `None` if `i` is not below n.
    ///
    /// ```
    /// use megadir_stats::permutation::Permutation;
    /// let order = Permutation::new(3, 5);
    /// let mut all: Vec<_> = (0..3).filter_map(|i| order.get(i)).collect();
    /// all.sort();
    /// assert_eq!(all, [0, 1, 2]);
    /// assert_eq!(order.get(3), None);
    /// ```
    #[must_use]
    pub fn get(&self, i: u64) -> Option<u64> {
        if i >= self.count {
            return None;
        }
        // The walk ends: the cycle of `i` returns to `i`, which is in range.
        let mut number = self.encrypt(i);
        while number >= self.count {
            number = self.encrypt(number);
        }
        Some(number)
    }

    /// Returns the image under the network of a number of at most 2 * `half_bits` bits.
    #[inline]
    fn encrypt(&self, number: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_comes_once(n in 0u64..3000, seed in any::<u64>()) {
            let order = Permutation::new(n, seed);
            let mut seen = vec![false; n as usize];
            for i in 0..n {
                let number = order.get(i).unwrap() as usize;
                prop_assert!(!std::mem::replace(&mut seen[number], true));
            }
            prop_assert_eq!(order.get(n), None);
        }

        #[test]
        fn huge_ranges_stay_in_range_and_apart(n in (1u64 << 40).., i in 0u64..(1 << 40), seed in any::<u64>()) {
            let order = Permutation::new(n, seed);
            let (one, next) = (order.get(i).unwrap(), order.get((i + 1) % n).unwrap());
            prop_assert!(one < n && next < n && one != next);
        }
    }

    #[test]
    fn the_last_of_all_numbers_has_a_place() {
        let order = Permutation::new(u64::MAX, 3);
        assert!(order.get(u64::MAX - 1).is_some());
        assert_eq!(order.get(u64::MAX), None);
        assert_eq!(Permutation::new(1, 3).get(0), Some(0));
    }

    #[test]
    fn each_place_gets_each_number_as_often() {
        let mut counts = [[0i32; 7]; 7];
        for seed in 0..7000 {
            let order = Permutation::new(7, seed);
            for (i, row) in (0..7).zip(&mut counts) {
                row[order.get(i).unwrap() as usize] += 1;
            }
        }
        // Five standard deviations of a count with mean 1000.
        assert!(counts.iter().flatten().all(|count| (count - 1000).abs() < 150), "{counts:?}");
    }

    #[test]
    fn neighbours_do_not_stay_neighbours() {
        let order = Permutation::new(100_000, 8);
        let close =
            (0..99_999).filter(|&i| order.get(i).unwrap().abs_diff(order.get(i + 1).unwrap()) <= 10).count();
        // Expected: 20 of 100 000; five standard deviations more.
        assert!(close < 45, "{close}");
    }
}
