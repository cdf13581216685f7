//! The median with its distribution-free interval.

use crate::descriptive::{quantile, sorted};
use crate::distribution::{fair_coin_cumulative, tail_of};
use crate::{Estimate, Interval};

/// Returns the median with the order-statistic interval of at least `confidence`, in the unit of the samples.
///
/// No shape of the distribution is assumed: the number of samples below the true median is that of heads in tosses of a fair
/// coin, so the interval runs from the k-th smallest to the k-th largest sample for the largest k whose coverage still
/// reaches `confidence`. Coverage is therefore at least nominal.
///
/// None where no such interval exists: with samples that are not finite, `confidence` outside 0 to 1, or too few samples, for
/// even the whole range covers the median only with probability 1 - 2^(1-n). At 95 % that is under 6 samples, at 99 % under 8.
///
/// Reference: Conover, *Practical Nonparametric Statistics*, 3rd edition, section 3.2.
///
/// ```
/// let times_ns: Vec<f64> = (1..=11).map(f64::from).collect();
/// let estimate = megadir_stats::median_interval(&times_ns, 0.95).expect("eleven samples");
/// assert_eq!(estimate.value, 6.0);
/// assert_eq!((estimate.interval.low, estimate.interval.high), (2.0, 10.0));
/// assert!(megadir_stats::median_interval(&times_ns[..5], 0.95).is_none());
/// ```
#[must_use]
pub fn median_interval(samples: &[f64], confidence: f64) -> Option<Estimate> {
    let tail = tail_of(confidence)?;
    let sorted = sorted(samples, 1)?;
    let count = sorted.len();
    // `outside` samples may be left out at each end: the first count whose tail is too heavy, found by bisection.
    let (mut outside, mut too_many) = (0, count.div_ceil(2));
    if fair_coin_cumulative(count, outside) > tail {
        return None;
    }
    while too_many - outside > 1 {
        let middle = outside.midpoint(too_many);
        if fair_coin_cumulative(count, middle) <= tail {
            outside = middle;
        } else {
            too_many = middle;
        }
    }
    Some(Estimate {
        value: quantile(&sorted, 0.5)?,
        interval: Interval { low: sorted[outside], high: sorted[count - 1 - outside] },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_counts_are_those_documented() {
        let samples: Vec<f64> = (0..8).map(f64::from).collect();
        assert!(median_interval(&samples[..5], 0.95).is_none());
        assert!(median_interval(&samples[..6], 0.95).is_some());
        assert!(median_interval(&samples[..7], 0.99).is_none());
        assert!(median_interval(&samples, 0.99).is_some());
        assert!(median_interval(&[], 0.5).is_none());
        assert!(median_interval(&samples, 1.0).is_none());
        assert!(median_interval(&[1.0], 0.5).is_none());
    }
}
