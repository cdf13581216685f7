//! Holm's step-down procedure: many contrasts, one family-wise error. Reference: Holm, *Scandinavian Journal of
//! Statistics* 6 (1979).

/// Returns Holm's adjusted p values (0 to 1), in the order given. The p value of rank i (from 0) of m is
/// multiplied by m - i; no adjusted value is below an earlier one. NaN stands for a contrast that could not be
/// tested: it stays NaN and does not count in the family, as in R's `p.adjust`. Reference: Holm (1979); Wright,
/// *Biometrics* 48 (1992), for adjusted p values.
///
/// ```
/// assert_eq!(megadir_stats::holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
/// ```
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![f64::NAN; p_values.len()];
    let mut largest: f64 = 0.0;
    for step in steps(p_values) {
        largest = largest.max(step.divisor * step.p).min(1.0);
        adjusted[step.contrast] = largest;
    }
    adjusted
}

/// Returns for each contrast the confidence level whose interval agrees with Holm's decision, in the order
/// given.
///
/// A rejected contrast of rank i of m was tested at `family_alpha` / (m - i). Its level is 1 minus that, and
/// its interval excludes the null value. The procedure stops at the first contrast that is not rejected; that
/// contrast and all later ones get the level of that step, so their intervals include the null value. Hence
/// "the interval excludes the null" and "the adjusted p value is at most `family_alpha`" are equivalent,
/// provided that interval and p value come from the same test. The decisions control the family-wise error; the
/// intervals of rejected contrasts do not cover jointly. NaN is treated as in [`holm`]. References: Holm
/// (1979); Guilbaud, *Biometrical Journal* 50 (2008), for the matching confidence regions.
///
/// ```
/// let levels = megadir_stats::holm_confidences(&[0.001, 0.5, 0.2], 0.06);
/// assert_eq!(levels, [1.0 - 0.02, 1.0 - 0.03, 1.0 - 0.03]);
/// ```
#[must_use]
pub fn holm_confidences(p_values: &[f64], family_alpha: f64) -> Vec<f64> {
    let mut levels = vec![f64::NAN; p_values.len()];
    let mut stopped_at = None;
    for step in steps(p_values) {
        // The same product as in `holm`: rounding cannot make the two disagree.
        if stopped_at.is_none() && step.divisor * step.p > family_alpha {
            stopped_at = Some(step.divisor);
        }
        levels[step.contrast] = 1.0 - family_alpha / stopped_at.unwrap_or(step.divisor);
    }
    levels
}

/// One step: the contrast tested, its p value, and the divisor of the family's alpha.
struct Step {
    contrast: usize,
    p: f64,
    divisor: f64,
}

/// Returns the steps from the smallest p value on, without NaN.
fn steps(p_values: &[f64]) -> impl Iterator<Item = Step> {
    let mut order: Vec<usize> = (0..p_values.len()).filter(|&i| !p_values[i].is_nan()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let count = order.len();
    order.into_iter().enumerate().map(move |(rank, contrast)| Step {
        contrast,
        p: p_values[contrast],
        divisor: (count - rank) as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn untested_contrasts_do_not_count() {
        let adjusted = holm(&[f64::NAN, 0.02, 0.03]);
        assert!(adjusted[0].is_nan());
        assert_eq!(adjusted[1..], [0.04, 0.04]);
        assert!(holm_confidences(&[f64::NAN], 0.05)[0].is_nan());
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn level_agrees_with_adjusted_p(p in prop::collection::vec(0.0f64..0.2, 1..12)) {
            let adjusted = holm(&p);
            let levels = holm_confidences(&p, 0.05);
            for ((p, adjusted), level) in p.iter().zip(adjusted).zip(levels) {
                // Farther from the boundary than the rounding of 1 - (1 - alpha).
                if (p - (1.0 - level)).abs() > 1e-12 {
                    prop_assert_eq!(adjusted <= 0.05, *p <= 1.0 - level);
                }
            }
        }
    }
}
