//! Diagnostics of a series in the order of measurement: can the run be trusted?

use crate::descriptive::{Test, finite, logs, mean_and_squares, midranks};
use crate::paired::RankTest;
use crate::{Estimate, mean};

/// Within about 2 / sqrt(n) of zero for independent samples. `None` for fewer than three samples, if one is not
/// finite, or if all are equal. Reference: Box, Jenkins and Reinsel, *Time Series Analysis*, 4th edition, 2.1.
pub fn lag1_autocorrelation(samples: &[f64]) -> Option<f64> {
    let (center, squares) = mean_and_squares(finite(samples, 3)?)?;
    let products: f64 = samples.windows(2).map(|pair| (pair[0] - center) * (pair[1] - center)).sum();
    varies(samples).then(|| products / squares)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    pub index: usize,
    /// Approximate p value (0 to 1) of "no change".
    pub p: f64,
}

/// Most probable change of level by Pettitt's test, the first among equals, with its approximate two-sided p value (good below 0.5).
/// `None` for fewer than three samples, if one is not finite, or if all are equal. Reference: Pettitt, *Applied Statistics* 28 (1979).
pub fn change_point(samples: &[f64]) -> Option<ChangePoint> {
    if !varies(finite(samples, 3)?) {
        return None;
    }
    let count = samples.len() as f64;
    let (ranks, _) = midranks(samples);
    let (mut index, mut largest, mut rank_sum) = (0, 0.0, 0.0);
    for (before, rank) in (1..samples.len()).zip(ranks) {
        rank_sum += rank;
        // Doubled rank sums are integers: equal statistics compare equal.
        let statistic = (2.0 * rank_sum - before as f64 * (count + 1.0)).abs();
        if statistic > largest {
            (index, largest) = (before, statistic);
        }
    }
    let exponent = -6.0 * largest * largest / (count.powi(3) + count.powi(2));
    let p = (2.0 * exponent.exp()).min(1.0);
    (index > 0).then_some(ChangePoint { index, p })
}

/// Ratio of the second half's level to the first half's, with its 95 % interval, as in
/// [`judge_unpaired_family`](crate::judge_unpaired_family). With an odd number of samples, the middle one is
/// ignored. `None` for fewer than eight samples, or if one is not positive and finite.
pub fn halves_differ(samples: &[f64]) -> Option<Estimate> {
    let logs = logs(samples, 8)?;
    let half = logs.len() / 2;
    let shift = RankTest::unpaired(&logs[logs.len() - half..], &logs[..half])?;
    Some(shift.estimate(0.95)?.exp())
}

/// Sarle's bimodality coefficient with its correction for finite samples (0 to 1). Above 5/9, the value of the uniform
/// distribution, the samples may have two modes or heavy skew. `None` for fewer than four samples, if one is not finite, or if
/// all are equal. Reference: Pfister et al., *Frontiers in Psychology* 4:700 (2013).
pub fn bimodality_coefficient(samples: &[f64]) -> Option<f64> {
    let center = mean(finite(samples, 4)?)?;
    if !varies(samples) {
        return None;
    }
    let n = samples.len() as f64;
    let moment = |power: i32| samples.iter().map(|x| (x - center).powi(power)).sum::<f64>() / n;
    let variance = moment(2);
    let skewness = moment(3) / variance.powf(1.5) * (n * (n - 1.0)).sqrt() / (n - 2.0);
    let excess = moment(4) / variance.powi(2) - 3.0;
    let kurtosis = (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * excess + 6.0);
    let normal_kurtosis = 3.0 * (n - 1.0).powi(2) / ((n - 2.0) * (n - 3.0));
    Some((skewness * skewness + 1.0) / (kurtosis + normal_kurtosis))
}

fn varies(samples: &[f64]) -> bool {
    samples.iter().any(|x| *x != samples[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_or_short_series_have_no_diagnosis() {
        for samples in [&[2.0; 20][..], &[1.0, 2.0]] {
            assert_eq!(lag1_autocorrelation(samples), None);
            assert_eq!(change_point(samples), None);
            assert_eq!(bimodality_coefficient(samples), None);
        }
        assert_eq!(halves_differ(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), None);
        assert_eq!(halves_differ(&[0.0; 8]), None);
    }

    #[test]
    fn the_middle_sample_belongs_to_no_half() {
        let mut samples = vec![1.0; 9];
        samples[4] = 1e9;
        assert_eq!(halves_differ(&samples).unwrap().interval.high, 1.0);
    }
}
