//! Seeded order: a generator, shuffling, balanced designs and permutations.

/// Not for secrets. Reference: Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// Below `end`, all equally probable; `None` if `end` is 0. Reference: Lemire, ACM TOMACS 29 (2019).
    pub fn below(&mut self, end: u64) -> Option<u64> {
        // Values to reject, so that every result has the same number of them.
        let refused = end.wrapping_neg().checked_rem(end)?;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(end);
            if product as u64 >= refused {
                return Some((product >> 64) as u64);
            }
        }
    }

    /// In [0, 1), with 53 random bits. Reference: Blackman and Vigna, prng.di.unimi.it.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// All orders are equally probable. Reference: Durstenfeld, *Communications of the ACM* 7 (1964).
pub fn shuffle<T>(items: &mut [T], random: &mut SplitMix64) {
    for last in (1..items.len()).rev() {
        let chosen = random.below(last as u64 + 1).map_or(last, |index| index as usize);
        items.swap(last, chosen);
    }
}

/// Bijection in which every input bit affects every output bit.
#[inline]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

const ROUNDS: usize = 8;

/// Seeded permutation of 0 to n - 1, computed instead of stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    pub fn new(n: u64, seed: u64) -> Self {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        let mut random = SplitMix64::new(seed);
        Self {
            count: n,
            half_bits: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| random.next_u64()),
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn get(&self, i: u64) -> Option<u64> {
        if i >= self.count {
            return None;
        }
        // The cycle of `i` returns to `i`, which is in range.
        let mut number = self.encrypt(i);
        while number >= self.count {
            number = self.encrypt(number);
        }
        Some(number)
    }

    /// Feistel network on numbers of at most 2 * `half_bits` bits.
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

/// Williams design: n rows for an even `n`, 2n for an odd one. Every arm occurs equally often at every position, and
/// directly after every other arm. Reference: Williams, *Australian Journal of Scientific Research A* 2 (1949).
pub fn balanced_latin_square(n: usize) -> Vec<Vec<usize>> {
    // The first row zigzags 0, n-1, 1, n-2, ...; the other rows are shifted.
    let zigzag = (0..n).map(|place| if place % 2 == 0 { place / 2 } else { n - 1 - place / 2 });
    let first: Vec<usize> = zigzag.collect();
    let shifted = |shift: usize| first.iter().map(|arm| (arm + shift) % n).collect();
    let mut rows: Vec<Vec<usize>> = (0..n).map(shifted).collect();
    if n % 2 == 1 {
        let mirrored = rows.iter().map(|row| row.iter().rev().copied().collect());
        rows.extend(mirrored.collect::<Vec<_>>());
    }
    rows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_match_the_published_code() {
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
            let (index, next) = (order.get(i).unwrap(), order.get((i + 1) % n).unwrap());
            prop_assert!(index < n && next < n && index != next);
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

    #[test]
    fn places_and_neighbours_are_balanced() {
        for n in 1..=12 {
            let rows = balanced_latin_square(n);
            assert_eq!(rows.len(), if n % 2 == 0 { n } else { 2 * n });
            let mut at_place = vec![vec![0; n]; n];
            let mut after = vec![vec![0; n]; n];
            for row in &rows {
                row.iter().enumerate().for_each(|(place, &arm)| at_place[place][arm] += 1);
                row.windows(2).for_each(|pair| after[pair[0]][pair[1]] += 1);
            }
            assert!(at_place.iter().flatten().all(|&count| count == rows.len() / n));
            for (arm, counts) in after.iter().enumerate() {
                let others = counts.iter().enumerate().filter(|(other, _)| *other != arm);
                assert!(others.clone().all(|(_, &count)| count == rows.len() / n));
                assert_eq!(counts[arm], 0);
            }
        }
        assert!(balanced_latin_square(0).is_empty());
    }
}
