//! Order statistics of all pairwise means or differences, without ever making the pairs.
//!
//! ```text
//! sorted x:   x0 <= x1 <= ... <= xn        mean(i, j) grows to the right and downwards,
//!        j -> x0  x1  x2  x3               so for a threshold t the pairs at or below t
//!  i = 0     [ .   .   .  |>              form a staircase, walked in n steps;
//!  i = 1         [ .   . |>               t itself is bisected over the doubles, in
//!  i = 2             [ .|>                at most 64 walks.
//! ```
//!
//! The result is the exact double a full sort would give (rounding is monotone), in O(n) memory and 64 n steps. The idea of
//! counting below a threshold in a matrix with sorted rows and columns: Johnson and Mizoguchi, *SIAM J. Comput.* 7 (1978).

/// Returns the `rank`-th smallest (from 1) of the Walsh averages (x_i + x_j) / 2, i <= j, of sorted finite samples.
pub(crate) fn walsh_average(sorted: &[f64], rank: usize) -> f64 {
    let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
    bisect(low, high, rank, |t| walsh_averages_up_to(sorted, t))
}

/// Returns how many Walsh averages of sorted samples are at most `threshold`.
pub(crate) fn walsh_averages_up_to(sorted: &[f64], threshold: f64) -> usize {
    let mut count = 0;
    let mut end = sorted.len();
    for (index, &x) in sorted.iter().enumerate() {
        while end > index && 0.5 * x + 0.5 * sorted[end - 1] > threshold {
            end -= 1;
        }
        if end <= index {
            break;
        }
        count += end - index;
    }
    count
}

/// Returns the `rank`-th smallest (from 1) of the differences b_j - a_i of two sorted finite series.
pub(crate) fn difference(a: &[f64], b: &[f64], rank: usize) -> f64 {
    let low = b[0] - a[a.len() - 1];
    let high = b[b.len() - 1] - a[0];
    bisect(low, high, rank, |t| differences_up_to(a, b, t))
}

/// Returns how many differences b_j - a_i of two sorted series are at most `threshold`.
pub(crate) fn differences_up_to(a: &[f64], b: &[f64], threshold: f64) -> usize {
    let mut count = 0;
    let mut end = 0;
    for &x in a {
        while end < b.len() && b[end] - x <= threshold {
            end += 1;
        }
        count += end;
    }
    count
}

/// Returns the smallest double between `low` and `high` at which the growing `count_up_to` reaches `rank`.
fn bisect(low: f64, high: f64, rank: usize, count_up_to: impl Fn(f64) -> usize) -> f64 {
    let (mut low, mut high) = (key(low), key(high));
    while low < high {
        // The keys may have opposite signs, so their plain sum or difference could overflow.
        let middle = (low & high) + ((low ^ high) >> 1);
        if count_up_to(value(middle)) >= rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    // Adding zero turns the negative zero, which has a key of its own, into the usual one.
    value(high) + 0.0
}

/// Returns an integer that orders as the double does.
fn key(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    bits ^ ((bits >> 63) & i64::MAX)
}

/// Returns the double of a key.
fn value(key: i64) -> f64 {
    f64::from_bits((key ^ ((key >> 63) & i64::MAX)).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(mut samples: Vec<f64>) -> Vec<f64> {
        samples.sort_unstable_by(f64::total_cmp);
        samples
    }

    proptest! {
        #[test]
        fn walsh_averages_are_those_of_a_full_sort(samples in prop::collection::vec(-5i32..5, 1..12)) {
            let x = sorted(samples.into_iter().map(|v| f64::from(v) * 0.3).collect());
            let all = sorted((0..x.len())
                .flat_map(|i| (i..x.len()).map(move |j| (i, j)))
                .map(|(i, j)| 0.5 * x[i] + 0.5 * x[j])
                .collect());
            for (index, expected) in all.iter().enumerate() {
                prop_assert_eq!(walsh_average(&x, index + 1), *expected);
            }
        }

        #[test]
        fn differences_are_those_of_a_full_sort(
            a in prop::collection::vec(-1e3f64..1e3, 1..9),
            b in prop::collection::vec(-1e3f64..1e3, 1..9),
        ) {
            let (a, b) = (sorted(a), sorted(b));
            let all = sorted(a.iter().flat_map(|x| b.iter().map(move |y| y - x)).collect());
            for (index, expected) in all.iter().enumerate() {
                prop_assert_eq!(difference(&a, &b, index + 1), *expected);
            }
        }
    }
}
