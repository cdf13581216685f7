//! Fits: the robust slope of a warm-up and the exponent of growth.

use crate::descriptive::{finite, logs, midranks};
use crate::distribution::{normal_critical, tail_of};
use crate::{Estimate, Interval};

/// Returns the Theil-Sen slope of `y` over `x` with Sen's interval, in units of y per unit of x.
///
/// The slope is the median slope of all pairs with different x. The interval is as wide as Kendall's statistic
/// may stray, by its normal approximation with corrections for ties in x and in y; ranks are rounded as in
/// SciPy's `theilslopes`. Time and memory grow with the square of the samples (1000 samples: half a million
/// slopes). `None` if the lengths differ, a value is not finite, `confidence` is outside 0 to 1, all x are
/// equal, a slope overflows, or the samples are too few for the interval (fewer than 5 at 95 %, more with
/// ties). References: Theil, *Proceedings of the KNAW* 53 (1950); Sen, *Journal of the American Statistical
/// Association* 63 (1968).
///
/// ```
/// let round = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
/// let time_ns = [10.0, 12.0, 14.0, 16.0, 90.0, 20.0];
/// let slope = megadir_stats::theil_sen(&round, &time_ns, 0.95).expect("six samples");
/// assert_eq!(slope.value, 2.0);
/// assert!(slope.interval.contains(2.0));
/// ```
#[must_use]
pub fn theil_sen(x: &[f64], y: &[f64], confidence: f64) -> Option<Estimate> {
    let z = normal_critical(tail_of(confidence)?);
    let mut slopes = slopes(x, y)?;
    let count = slopes.len() as f64;
    let spread = z * kendall_variance(x, y).sqrt();
    let below = (0.5 * (count - spread)).round_ties_even() - 1.0;
    let above = (0.5 * (count + spread)).round_ties_even();
    if below < 0.0 || above >= count {
        return None;
    }
    let (lower, upper) = ((slopes.len() - 1) / 2, slopes.len() / 2);
    let mut nth = |rank: usize| *slopes.select_nth_unstable_by(rank, f64::total_cmp).1;
    Some(Estimate {
        value: 0.5 * (nth(lower) + nth(upper)),
        interval: Interval { low: nth(below as usize), high: nth(above as usize) },
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// 0 is constant, 1 is linear.
    pub exponent: f64,
    /// Value at x = 1, in the unit of y.
    pub coefficient: f64,
}

impl PowerLaw {
    /// Value at `x`, in the unit of y.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.coefficient * x.powf(self.exponent)
    }
}

/// Fits a power law by least squares on logarithms. `None` if the lengths differ, a value is not positive and
/// finite, or there are fewer than two different x. Reference: Warton et al., *Biological Reviews* 81 (2006),
/// section on least squares of log-transformed allometry.
///
/// ```
/// let entries = [1e3, 1e4, 1e5];
/// let time_ns = [2e3, 2e5, 2e7];
/// let curve = megadir_stats::power_law(&entries, &time_ns).expect("three points");
/// assert!((curve.exponent - 2.0).abs() < 1e-12);
/// assert!((curve.coefficient - 0.002).abs() < 1e-12);
/// ```
#[must_use]
pub fn power_law(x: &[f64], y: &[f64]) -> Option<PowerLaw> {
    if x.len() != y.len() {
        return None;
    }
    let (x, y) = (logs(x, 2)?, logs(y, 2)?);
    let (x_mean, y_mean) = (crate::mean(&x)?, crate::mean(&y)?);
    let squares: f64 = x.iter().map(|x| (x - x_mean).powi(2)).sum();
    if x.iter().all(|value| *value == x[0]) || squares == 0.0 {
        return None;
    }
    let products: f64 = x.iter().zip(&y).map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let exponent = products / squares;
    Some(PowerLaw { exponent, coefficient: (y_mean - exponent * x_mean).exp() })
}

/// Returns the slopes of all pairs with different x; `None` if one overflows.
fn slopes(x: &[f64], y: &[f64]) -> Option<Vec<f64>> {
    if x.len() != y.len() {
        return None;
    }
    let (x, y) = (finite(x, 2)?, finite(y, 2)?);
    let mut slopes = Vec::with_capacity(x.len() * (x.len() - 1) / 2);
    for later in 1..x.len() {
        for earlier in 0..later {
            if x[later] != x[earlier] {
                slopes.push((y[later] - y[earlier]) / (x[later] - x[earlier]));
            }
        }
    }
    finite(&slopes, 1)?;
    Some(slopes)
}

/// Returns the variance of Kendall's S for independent x and y, with Sen's correction for ties in both.
fn kendall_variance(x: &[f64], y: &[f64]) -> f64 {
    let term = |size: usize| {
        let k = size as f64;
        k * (k - 1.0) * (2.0 * k + 5.0)
    };
    let tied: f64 = [x, y].iter().flat_map(|values| midranks(values).1).map(term).sum();
    ((term(x.len()) - tied) / 18.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_input_is_none() {
        let up = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(theil_sen(&up, &up, 0.95), None);
        assert_eq!(theil_sen(&[1.0; 9], &[2.0; 9], 0.95), None);
        assert_eq!(theil_sen(&up, &up[1..], 0.95), None);
        assert_eq!(power_law(&[2.0, 2.0], &[1.0, 3.0]), None);
        assert_eq!(power_law(&[1.0, 2.0], &[0.0, 3.0]), None);
    }

    #[test]
    fn five_samples_suffice_for_a_slope() {
        let up = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(theil_sen(&up, &up, 0.95).unwrap().value, 1.0);
    }
}
