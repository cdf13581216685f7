//! Seeded generator, the same on every machine and in every version, because seeds are part of a record.

/// SplitMix64: 64-bit numbers from 64 bits of state. Not for secrets. Reference: Steele, Lea and Flood, *Fast
/// Splittable Pseudorandom Number Generators*, OOPSLA 2014; Vigna's public C code.
///
/// ```
/// use megadir_stats::permutation::SplitMix64;
/// let mut random = SplitMix64::new(1234567);
/// assert_eq!(random.next_u64(), 6457827717110365317);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// Returns a number below `end`, all equally probable; `None` if `end` is 0. Reference: Lemire, *Fast
    /// Random Integer Generation in an Interval*, ACM TOMACS 29 (2019).
    ///
    /// ```
    /// use megadir_stats::permutation::SplitMix64;
    /// let mut random = SplitMix64::new(42);
    /// assert!(random.below(6) < Some(6));
    /// assert_eq!(random.below(0), None);
    /// ```
    pub fn below(&mut self, end: u64) -> Option<u64> {
        // Number of the 2^64 values to reject so that every result has the same number of values.
        let refused = end.wrapping_neg().checked_rem(end)?;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(end);
            if product as u64 >= refused {
                return Some((product >> 64) as u64);
            }
        }
    }

    /// Returns a number in [0, 1) with 53 random bits. Reference: Blackman and Vigna, prng.di.unimi.it,
    /// "Generating uniform doubles in the unit interval".
    ///
    /// ```
    /// use megadir_stats::permutation::SplitMix64;
    /// assert!((0.0..1.0).contains(&SplitMix64::new(3).unit()));
    /// ```
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Puts the items into a random order, all orders equally probable (as far as 64 bits of state reach).
/// Reference: Durstenfeld, *Communications of the ACM* 7 (1964), the Fisher-Yates shuffle.
///
/// ```
/// use megadir_stats::permutation::{SplitMix64, shuffle};
/// let mut arms = [0, 1, 2, 3];
/// shuffle(&mut arms, &mut SplitMix64::new(1));
/// arms.sort();
/// assert_eq!(arms, [0, 1, 2, 3]);
/// ```
pub fn shuffle<T>(items: &mut [T], random: &mut SplitMix64) {
    for last in (1..items.len()).rev() {
        let chosen = random.below(last as u64 + 1).map_or(last, |index| index as usize);
        items.swap(last, chosen);
    }
}

/// Mixes the bits of `value` by a bijection in which every input bit affects every output bit.
#[inline]
pub(super) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_code() {
        let mut random = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| random.next_u64()).collect();
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(first, published);
    }

    #[test]
    fn every_order_of_three_is_as_frequent() {
        let mut random = SplitMix64::new(99);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut items = [0, 1, 2];
            shuffle(&mut items, &mut random);
            *seen.entry(items).or_insert(0i32) += 1;
        }
        assert_eq!(seen.len(), 6);
        // Five standard deviations of a count with mean 1000.
        assert!(seen.values().all(|count| (count - 1000).abs() < 145), "{seen:?}");
    }
}
