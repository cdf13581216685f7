//! Several runs a side: each run is one observation, because its rounds share its time, its location on the disk
//! and its memory layout. Rank tests have no interval at 95 % for three runs against three.

use crate::descriptive::{StudentMean, finite, logs, mean, mean_and_squares, midranks};
use crate::distribution::{normal_critical, tail_of};
use crate::{Estimate, Interval};

pub const RUNS_MIN: usize = 3;

/// Difference new - old of the mean logarithms of run times (one time a run): Welch's test, Student's distribution
/// with Satterthwaite's degrees of freedom. Runs of one version are assumed to be about log-normal; versions may
/// scatter differently. `None` for fewer than [`RUNS_MIN`] runs on either side, if a time is not positive and
/// finite, or if all times of each side are equal. References: Welch, *Biometrika* 34 (1947); Satterthwaite,
/// *Biometrics Bulletin* 2 (1946); Kalibera and Jones, *Rigorous Benchmarking in Reasonable Time*, ISMM 2013.
pub(crate) fn welch_of_times(new: &[f64], old: &[f64]) -> Option<StudentMean> {
    welch(&logs(new, RUNS_MIN)?, &logs(old, RUNS_MIN)?)
}

fn welch(new: &[f64], old: &[f64]) -> Option<StudentMean> {
    let [(new_mean, new_part), (old_mean, old_part)] = [mean_and_variance(new)?, mean_and_variance(old)?];
    let variance = new_part + old_part;
    let each = [(new_part, new.len()), (old_part, old.len())];
    let degrees =
        variance.powi(2) / each.map(|(part, n)| part.powi(2) / (n as f64 - 1.0)).iter().sum::<f64>();
    (variance > 0.0 && degrees.is_finite()).then(|| StudentMean {
        mean: new_mean - old_mean,
        standard_error: variance.sqrt(),
        degrees,
    })
}

fn mean_and_variance(samples: &[f64]) -> Option<(f64, f64)> {
    let (center, squares) = mean_and_squares(samples)?;
    let count = samples.len() as f64;
    Some((center, squares / (count - 1.0) / count))
}

/// Returns the Theil-Sen slope of `y` over `x` with Sen's interval, in units of y per unit of x.
///
/// The slope is the median slope of all pairs with different x. The interval uses the normal approximation of
/// Kendall's statistic with corrections for ties; ranks are rounded as in SciPy's `theilslopes`. Time and memory
/// grow with the square of the samples. `None` if the lengths differ, a value is not finite, `confidence` is
/// outside 0 to 1, all x are equal, a slope overflows, or the samples are too few for the interval (fewer than 5
/// at 95 %, more with ties). Reference: Sen, *Journal of the American Statistical Association* 63 (1968).
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

/// Exponent of a power law, fitted by least squares on logarithms: 0 is constant, 1 is linear. `None` if the lengths
/// differ, a value is not positive and finite, or there are fewer than two different x. Reference: Warton et al.,
/// *Biological Reviews* 81 (2006).
pub fn power_law(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() {
        return None;
    }
    let (x, y) = (logs(x, 2)?, logs(y, 2)?);
    let ((x_mean, squares), y_mean) = (mean_and_squares(&x)?, mean(&y)?);
    if x.iter().all(|value| *value == x[0]) || squares == 0.0 {
        return None;
    }
    let products: f64 = x.iter().zip(&y).map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    Some(products / squares)
}

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
    use crate::descriptive::Test;
    use crate::{Judgement, Judging, Method, Verdict, judge_family_of_runs};

    const JUDGING: Judging = Judging { band: 0.03, looks: 1 };

    #[test]
    fn the_printed_example_is_recovered() {
        // Student's sleep data as in R's manual: t.test(extra ~ group, data = sleep).
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let means = welch(&first, &second).unwrap();
        assert!((means.mean / means.standard_error + 1.8608).abs() < 5e-5);
        assert!((means.degrees - 17.776).abs() < 5e-4, "{}", means.degrees);
        assert!((means.p() - 0.079_39).abs() < 5e-6, "{}", means.p());
        let Interval { low, high } = means.interval(0.95).unwrap();
        assert!((low + 3.365_483_2).abs() < 1e-6 && (high - 0.205_483_2).abs() < 1e-6, "{low} {high}");
    }

    #[test]
    fn too_few_runs_or_runs_without_scatter_have_no_interval() {
        let judged = |new: &[f64], old: &[f64]| -> Option<Judgement> {
            judge_family_of_runs(&[(new.to_vec(), old.to_vec())], JUDGING)[0]
        };
        assert!(judged(&[1.0, 2.0], &[1.0, 2.0, 3.0]).is_none());
        assert!(judged(&[2.0; 3], &[1.0; 3]).is_none());
        assert!(judged(&[0.0, 2.0, 3.0], &[1.0, 2.0, 3.0]).is_none());
        assert!(judged(&[f64::NAN, 2.0, 3.0], &[1.0, 2.0, 3.0]).is_none());
        assert!(welch(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]).unwrap().interval(1.0).is_none());
    }

    #[test]
    fn families_over_runs_are_judged() {
        let old = vec![100.0, 101.0, 99.5, 100.4];
        let times = |factor: f64| old.iter().rev().map(|ns| ns * factor).collect::<Vec<f64>>();
        let family = [(times(1.2), old.clone()), (times(1.001), old.clone()), (vec![1.0], old.clone())];
        let judged = judge_family_of_runs(&family, JUDGING);
        let verdicts: Vec<_> = judged
            .iter()
            .map(|judgement| judgement.map(|judgement| (judgement.verdict, judgement.method)))
            .collect();
        let over_runs = |verdict| Some((verdict, Method::Welch { runs: 4 }));
        let expected =
            [over_runs(Verdict::Slower { negligible: false }), over_runs(Verdict::Equivalent), None];
        assert_eq!(verdicts, expected);
    }

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
