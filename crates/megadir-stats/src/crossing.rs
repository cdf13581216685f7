//! Point at which a rising curve reaches a level, round by round, with an interval over rounds. A curve known
//! at a few points may reach the level before the first or after the last point. Such a crossing is reported as
//! censored, never extrapolated.

use crate::descriptive::finite;
use crate::{hodges_lehmann, median, median_interval};

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Crossing {
    /// Before the first point: the curve starts above the level.
    Before,
    At(f64),
    /// After the last point: the curve ends below the level.
    Beyond,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossingEstimate {
    pub value: Crossing,
    /// `None` with too few rounds.
    pub interval: Option<(Crossing, Crossing)>,
}

/// Stands for a censored crossing; far outside the logarithm of any abscissa.
const FAR: f64 = 1e6;

/// Returns where the curve through the points (x, y) reaches `level`, interpolated linearly between logarithms.
/// If noise makes the curve reach the level more than once, the last crossing counts. `None` unless `x`
/// ascends, all numbers are positive and finite, and both series have the same length.
///
/// ```
/// use megadir_stats::{Crossing, crossing};
/// assert_eq!(crossing(&[1.0, 4.0], &[10.0, 40.0], 20.0), Some(Crossing::At(2.0)));
/// assert_eq!(crossing(&[1.0, 4.0], &[10.0, 40.0], 50.0), Some(Crossing::Beyond));
/// assert_eq!(crossing(&[1.0, 4.0], &[10.0, 40.0], 5.0), Some(Crossing::Before));
/// ```
#[must_use]
pub fn crossing(x: &[f64], y: &[f64], level: f64) -> Option<Crossing> {
    let positive =
        |values: &[f64]| finite(values, 1).is_some_and(|values| values.iter().all(|value| *value > 0.0));
    if x.len() != y.len() || !positive(x) || !positive(y) || !positive(&[level]) {
        return None;
    }
    if x.windows(2).any(|pair| pair[0] >= pair[1]) {
        return None;
    }
    let Some(below) = y.iter().rposition(|time| *time < level) else { return Some(Crossing::Before) };
    let (Some(&x_above), Some(&y_above)) = (x.get(below + 1), y.get(below + 1)) else {
        return Some(Crossing::Beyond);
    };
    let part = (level / y[below]).ln() / (y_above / y[below]).ln();
    Some(Crossing::At(x[below] * (x_above / x[below]).powf(part)))
}

/// Returns the crossing over rounds, with an interval of at least `confidence`; `None` without rounds. If no
/// round is censored: the Hodges-Lehmann estimate of the logarithms with Wilcoxon's interval. Otherwise the
/// median with the order-statistic interval, which need only the side of a censored round.
///
/// ```
/// use megadir_stats::{Crossing, crossing_estimate};
/// let rounds: Vec<Crossing> = (0..9).map(|round| Crossing::At(f64::from(20 + round % 3))).collect();
/// let Some(estimate) = crossing_estimate(&rounds, 0.95) else { panic!() };
/// assert!(matches!(estimate.value, Crossing::At(share) if (share - 21.0).abs() < 0.1));
/// ```
#[must_use]
pub fn crossing_estimate(rounds: &[Crossing], confidence: f64) -> Option<CrossingEstimate> {
    let number = |crossing: &Crossing| match crossing {
        Crossing::Before => -FAR,
        Crossing::At(place) => place.ln(),
        Crossing::Beyond => FAR,
    };
    let place = |log: f64| match log {
        // The mean of a crossing and a censored one is censored.
        _ if log < -FAR / 4.0 => Crossing::Before,
        _ if log > FAR / 4.0 => Crossing::Beyond,
        _ => Crossing::At(log.exp()),
    };
    let logs: Vec<f64> = rounds.iter().map(number).collect();
    let censored = rounds.iter().any(|crossing| !matches!(crossing, Crossing::At(_)));
    let estimate =
        if censored { median_interval(&logs, confidence) } else { hodges_lehmann(&logs, confidence) };
    Some(match estimate {
        Some(estimate) => CrossingEstimate {
            value: place(estimate.value),
            interval: Some((place(estimate.interval.low), place(estimate.interval.high))),
        },
        None => CrossingEstimate { value: place(median(&logs)?), interval: None },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permutation::SplitMix64;

    const X: [f64; 7] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];

    fn at(crossing: Option<Crossing>) -> f64 {
        match crossing {
            Some(Crossing::At(place)) => place,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn power_laws_are_crossed_exactly_where_they_are() {
        for exponent in [0.7, 1.0, 1.3] {
            let y = X.map(|x| 5e8 * x.powf(exponent));
            for truth in [0.0011, 0.03, 0.23, 0.999] {
                let found = at(crossing(&X, &y, 5e8 * f64::powf(truth, exponent)));
                assert!((found / truth - 1.0).abs() < 1e-9, "{found} {truth}");
            }
        }
        let y = X.map(|x| 5e8 * x);
        assert_eq!(crossing(&X, &y, 5e8 * 1.01), Some(Crossing::Beyond));
        assert_eq!(crossing(&X, &y, 5e8 * 0.0009), Some(Crossing::Before));
    }

    #[test]
    fn what_makes_no_sense_has_no_crossing() {
        for (x, y, level) in [
            (&[1.0, 2.0][..], &[1.0][..], 1.0),
            (&[2.0, 1.0], &[1.0, 2.0], 1.0),
            (&[1.0, 1.0], &[1.0, 2.0], 1.0),
            (&[1.0, 2.0], &[0.0, 2.0], 1.0),
            (&[1.0, 2.0], &[1.0, f64::NAN], 1.0),
            (&[1.0, 2.0], &[1.0, 2.0], 0.0),
            (&[], &[], 1.0),
        ] {
            assert_eq!(crossing(x, y, level), None);
        }
        assert_eq!(crossing_estimate(&[], 0.95), None);
    }

    #[test]
    fn of_a_curve_that_wavers_the_last_crossing_counts() {
        assert_eq!(
            crossing(&[1.0, 2.0, 4.0, 8.0], &[1.0, 3.0, 1.0, 4.0], 2.0),
            Some(Crossing::At(4.0 * 2f64.sqrt()))
        );
    }

    #[test]
    fn censored_rounds_count_by_their_side_alone() {
        let mut rounds = vec![Crossing::At(0.5); 20];
        rounds.extend([Crossing::Beyond; 5]);
        let few = crossing_estimate(&rounds, 0.95).unwrap();
        assert_eq!(few.value, Crossing::At(0.5));
        assert_eq!(few.interval, Some((Crossing::At(0.5), Crossing::At(0.5))));
        rounds.extend([Crossing::Beyond; 14]);
        let half = crossing_estimate(&rounds, 0.95).unwrap();
        assert_eq!(half.value, Crossing::At(0.5));
        assert_eq!(half.interval, Some((Crossing::At(0.5), Crossing::Beyond)));
        for none in [Crossing::Before, Crossing::Beyond] {
            let all = crossing_estimate(&[none; 30], 0.95).unwrap();
            assert_eq!((all.value, all.interval), (none, Some((none, none))));
        }
        // Half crossings, half censored: the median is censored.
        let even: Vec<Crossing> = [Crossing::At(0.5), Crossing::Beyond].repeat(10);
        assert_eq!(crossing_estimate(&even, 0.95).unwrap().value, Crossing::Beyond);
        assert_eq!(crossing_estimate(&[Crossing::At(0.5); 5], 0.95).unwrap().interval, None);
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        const TRUTH: f64 = 0.23;
        let mut random = SplitMix64::new(11);
        let mut normal = move || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let mut held = 0;
        let (runs, rounds) = (400, 30);
        for _ in 0..runs {
            let all: Vec<Crossing> = (0..rounds)
                .map(|_| {
                    // Noise shared by the arms of a round cancels; noise of one arm does not.
                    let weather = 1.0 + 0.2 * normal().abs();
                    let y = X.map(|x| 1e8 * x * weather * (0.04 * normal()).exp());
                    crossing(&X, &y, 1e8 * TRUTH * weather * (0.04 * normal()).exp()).unwrap()
                })
                .collect();
            let estimate = crossing_estimate(&all, 0.95).unwrap();
            let Some((Crossing::At(low), Crossing::At(high))) = estimate.interval else {
                panic!("{estimate:?}")
            };
            assert!(high / low < 1.2, "{low} {high}");
            held += u32::from(low <= TRUTH && TRUTH <= high);
        }
        // 95 % of 400 is 380, with a standard deviation of 4.4.
        assert!(held >= 366, "{held} of {runs}");
    }
}
