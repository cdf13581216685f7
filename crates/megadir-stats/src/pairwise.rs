//! Order statistics of all pairwise means or differences, without enumerating the pairs.
//!
//! ```text
//! sorted x:   x0 <= x1 <= ... <= xn        mean(i, j) grows to the right and downwards,
//!        j -> x0  x1  x2  x3               so for a threshold t the pairs at or below t
//!  i = 0     [ .   .   .  |>              form a staircase, counted in n steps. Two thresholds
//!  i = 1         [ .   . |>               close in on the rank until no more pairs than n
//!  i = 2             [ .|>                lie between them; those are made and selected from.
//! ```
//!
//! The result is the double that a full sort would give, in O(n) memory and typically about ten walks of n steps.
//! Reference: Johnson and Mizoguchi, *SIAM J. Comput.* 7 (1978).

use crate::descriptive::sorted;

/// Pair values ascend along every row.
pub(crate) trait Pairs: Sized {
    fn count(&self) -> usize;

    fn samples(&self) -> usize;

    fn range(&self) -> (f64, f64);

    fn up_to(&self, threshold: f64) -> usize;

    /// Above `low`, up to `high`.
    fn between(&self, low: f64, high: f64) -> Vec<f64>;

    /// `rank` counts from 1.
    fn nth(&self, rank: usize) -> f64 {
        select(self, rank)
    }

    fn median(&self) -> f64 {
        let count = self.count();
        0.5 * self.nth(count.div_ceil(2)) + 0.5 * self.nth(count / 2 + 1)
    }
}

/// Walsh averages (x_i + x_j) / 2, i <= j, of sorted finite samples.
pub(crate) struct Means(Vec<f64>);

impl Means {
    pub(crate) fn new(samples: &[f64]) -> Option<Self> {
        sorted(samples, 1).map(Self)
    }

    fn mean(&self, arm: usize, other: usize) -> f64 {
        0.5 * self.0[arm] + 0.5 * self.0[other]
    }
}

impl Pairs for Means {
    fn count(&self) -> usize {
        self.0.len() * (self.0.len() + 1) / 2
    }

    fn samples(&self) -> usize {
        self.0.len()
    }

    fn range(&self) -> (f64, f64) {
        // Halving the smallest double gives 0.
        let last = self.0.len() - 1;
        (self.mean(0, 0), self.mean(last, last))
    }

    fn up_to(&self, threshold: f64) -> usize {
        let mut count = 0;
        let mut end = self.0.len();
        for index in 0..self.0.len() {
            while end > index && self.mean(index, end - 1) > threshold {
                end -= 1;
            }
            if end <= index {
                break;
            }
            count += end - index;
        }
        count
    }

    fn between(&self, low: f64, high: f64) -> Vec<f64> {
        let mut values = Vec::new();
        let (mut below, mut end) = (self.0.len(), self.0.len());
        for index in 0..self.0.len() {
            while end > index && self.mean(index, end - 1) > high {
                end -= 1;
            }
            while below > index && self.mean(index, below - 1) > low {
                below -= 1;
            }
            values.extend((below.max(index)..end).map(|other| self.mean(index, other)));
        }
        values
    }
}

/// Differences b_j - a_i of two sorted finite series.
pub(crate) struct Differences {
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Differences {
    pub(crate) fn new(a: &[f64], b: &[f64]) -> Option<Self> {
        Some(Self { a: sorted(a, 1)?, b: sorted(b, 1)? })
    }
}

impl Pairs for Differences {
    fn count(&self) -> usize {
        self.a.len() * self.b.len()
    }

    fn samples(&self) -> usize {
        self.a.len() + self.b.len()
    }

    fn range(&self) -> (f64, f64) {
        (self.b[0] - self.a[self.a.len() - 1], self.b[self.b.len() - 1] - self.a[0])
    }

    fn up_to(&self, threshold: f64) -> usize {
        let mut count = 0;
        let mut end = 0;
        for x in &self.a {
            while end < self.b.len() && self.b[end] - x <= threshold {
                end += 1;
            }
            count += end;
        }
        count
    }

    fn between(&self, low: f64, high: f64) -> Vec<f64> {
        let mut values = Vec::new();
        let (mut below, mut end) = (0, 0);
        for x in &self.a {
            while end < self.b.len() && self.b[end] - x <= high {
                end += 1;
            }
            while below < self.b.len() && self.b[below] - x <= low {
                below += 1;
            }
            values.extend(self.b[below..end].iter().map(|y| y - x));
        }
        values
    }
}

/// Thresholds around the value sought, and the pairs at or below each.
///
/// Thresholds are doubles mapped to integers in the same order (`key`), so that the middle of two is exact
/// and the search ends even if the values around it are neighbours. Invariant: `up_to_low < rank <=
/// up_to_high`. The search is over once no more than `most` pairs lie between, which are then made and
/// selected from; `most` is the number of samples and bounds the memory.
struct Bracket {
    /// `low` is below the value sought, `high` is not.
    low: i64,
    high: i64,
    up_to_low: usize,
    up_to_high: usize,
    rank: usize,
    most: usize,
}

/// Distance of the thresholds from the rank, as a share of the pairs in the bracket.
const MARGIN: f64 = 1.0 / 16.0;

impl Bracket {
    fn pairs(&self) -> usize {
        self.up_to_high - self.up_to_low
    }

    fn is_closed(&self) -> bool {
        self.pairs() <= self.most || self.high - 1 == self.low
    }

    fn narrow(&mut self, pairs: &impl Pairs, at: i64) {
        let up_to = pairs.up_to(value(at));
        if up_to >= self.rank {
            (self.high, self.up_to_high) = (at, up_to);
        } else {
            (self.low, self.up_to_low) = (at, up_to);
        }
    }

    /// Threshold with about `aim` pairs at or below it, if pairs are spread evenly; `None` outside the bracket or if it is closed.
    fn interpolate(&self, aim: f64) -> Option<i64> {
        if self.is_closed() {
            return None;
        }
        let share = (aim - self.up_to_low as f64) / self.pairs() as f64;
        let (low, high) = (value(self.low), value(self.high));
        // Weighted, because the difference of two doubles can overflow.
        let at = key((1.0 - share) * low + share * high).clamp(self.low + 1, self.high - 1);
        (share > 0.0 && share < 1.0).then_some(at)
    }

    fn middle(&self) -> i64 {
        // Sum or difference could overflow.
        (self.low & self.high) + ((self.low ^ self.high) >> 1)
    }
}

fn select(pairs: &impl Pairs, rank: usize) -> f64 {
    let (least, greatest) = pairs.range();
    let mut bracket = Bracket {
        low: key(least.next_down()),
        high: key(greatest),
        up_to_low: 0,
        up_to_high: pairs.count(),
        rank,
        most: pairs.samples(),
    };
    while !bracket.is_closed() {
        let before = bracket.pairs();
        for margin in [-MARGIN, MARGIN] {
            if let Some(at) = bracket.interpolate(rank as f64 + margin * before as f64) {
                bracket.narrow(pairs, at);
            }
        }
        // If pairs are spread unevenly (one far from the rest, many equal), bisection guarantees the end.
        if bracket.pairs() > before / 2 && !bracket.is_closed() {
            bracket.narrow(pairs, bracket.middle());
        }
    }
    let found = if bracket.pairs() <= bracket.most {
        let mut values = pairs.between(value(bracket.low), value(bracket.high));
        *values.select_nth_unstable_by(rank - bracket.up_to_low - 1, f64::total_cmp).1
    } else {
        value(bracket.high)
    };
    // Adding zero turns -0.0 into 0.0.
    found + 0.0
}

/// The integer has the same order as the double.
fn key(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    bits ^ ((bits >> 63) & i64::MAX)
}

fn value(key: i64) -> f64 {
    f64::from_bits((key ^ ((key >> 63) & i64::MAX)).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn in_order(mut samples: Vec<f64>) -> Vec<f64> {
        samples.sort_unstable_by(f64::total_cmp);
        samples
    }

    proptest! {
        #[test]
        fn walsh_averages_match_a_full_sort(samples in prop::collection::vec(-5i32..5, 1..40)) {
            let x = in_order(samples.into_iter().map(|v| f64::from(v) * 0.3).collect());
            let means = Means(x.clone());
            let all = in_order((0..x.len())
                .flat_map(|i| (i..x.len()).map(move |j| (i, j)))
                .map(|(i, j)| 0.5 * x[i] + 0.5 * x[j])
                .collect());
            for (index, expected) in all.iter().enumerate() {
                prop_assert_eq!(means.nth(index + 1), *expected);
            }
        }

        #[test]
        fn differences_match_a_full_sort(
            a in prop::collection::vec(-1e3f64..1e3, 1..30),
            b in prop::collection::vec(-1e3f64..1e3, 1..30),
        ) {
            let (a, b) = (in_order(a), in_order(b));
            let differences = Differences::new(&a, &b).unwrap();
            let all = in_order(a.iter().flat_map(|x| b.iter().map(move |y| y - x)).collect());
            for (index, expected) in all.iter().enumerate() {
                prop_assert_eq!(differences.nth(index + 1), *expected);
            }
        }
    }

    /// Counts the passes over the pairs.
    struct Counted<'a> {
        of: &'a Means,
        walks: std::cell::Cell<u32>,
    }

    impl Pairs for Counted<'_> {
        fn count(&self) -> usize {
            self.of.count()
        }

        fn samples(&self) -> usize {
            self.of.samples()
        }

        fn range(&self) -> (f64, f64) {
            self.of.range()
        }

        fn up_to(&self, threshold: f64) -> usize {
            self.walks.set(self.walks.get() + 1);
            self.of.up_to(threshold)
        }

        fn between(&self, low: f64, high: f64) -> Vec<f64> {
            self.of.between(low, high)
        }
    }

    #[track_caller]
    fn walks(samples: Vec<f64>) -> u32 {
        let means = Means(in_order(samples));
        let count = means.count();
        let mut most = 0;
        for rank in [1, count / 20, count / 2, count / 2 + 1, count - count / 20, count] {
            let counted = Counted { of: &means, walks: 0.into() };
            let found = select(&counted, rank);
            assert!(means.up_to(found) >= rank, "rank {rank}: {found}");
            assert!(means.up_to(found.next_down()) < rank, "rank {rank}: {found}");
            most = most.max(counted.walks.get());
        }
        most
    }

    #[test]
    fn few_walks_lead_there() {
        let even = |n: u32| (0..n).map(f64::from);
        assert!(walks(even(20_000).collect()) <= 12);
        // Realistic times: most similar, some a hundred times longer.
        let skewed = even(20_000).map(|x| 1e6 / (1.0 + x)).collect();
        assert!(walks(skewed) <= 40);
        let one_far_away = even(20_000).map(|x| if x == 0.0 { 1e300 } else { x }).collect();
        assert!(walks(one_far_away) <= 40);
    }

    #[test]
    fn extremes_come_to_an_end() {
        let (max, tiny) = (f64::MAX, f64::from_bits(1));
        for samples in [
            vec![0.0; 500],
            vec![-0.0; 500],
            [vec![-0.0; 300], vec![0.0; 300]].concat(),
            [vec![-max; 300], vec![max; 300]].concat(),
            [vec![-tiny; 300], vec![tiny; 300], vec![0.0; 3]].concat(),
            [vec![1.0; 300], vec![1.0f64.next_up(); 300]].concat(),
        ] {
            assert!(walks(samples) <= 192);
        }
    }
}
