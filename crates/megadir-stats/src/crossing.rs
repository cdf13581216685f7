//! Point at which a rising curve reaches a level, round by round; never extrapolated.

use crate::descriptive::finite;
use crate::verdict::Evidence;
use crate::{Interval, hodges_lehmann, median, median_interval};

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
    pub interval: Option<(Crossing, Crossing)>,
}

const FAR: f64 = 1e6;

/// Point where the curve through the points (x, y) reaches `level`, interpolated linearly between logarithms; of several
/// crossings the last. `None` unless `x` ascends, all numbers are positive and finite, and both series have the same length.
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

/// Crossing over rounds, with an interval of at least `confidence`; `None` without rounds. If no round is
/// censored, the Hodges-Lehmann estimate of the logarithms with Wilcoxon's interval; otherwise the median
/// with the order-statistic interval, which need only the side of a censored round.
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

impl Evidence {
    /// Number of rounds at which one of the two decisions probably becomes possible: intervals shrink with
    /// 1/sqrt(rounds) around the present ratio. The end that must move decides, as intervals are not symmetric.
    pub(crate) fn rounds_to_decide(&self) -> Option<u64> {
        /// Above this, a double no longer counts in ones.
        const ROUNDS_MAX: f64 = 9e15;
        /// A ratio known to no better than a factor of two gives no basis for a projection.
        const HALF_WIDTH_MAX: f64 = std::f64::consts::LN_2;
        /// The ratio itself moves with more rounds, so a smaller step would be a guess.
        const STEP_MIN: f64 = 1.25;
        let reach = |interval: Interval| (self.center - interval.low).max(interval.high - self.center);
        let (adjusted, equivalence) = (reach(self.adjusted), reach(self.equivalence));
        if equivalence > HALF_WIDTH_MAX || (adjusted.is_finite() && adjusted > HALF_WIDTH_MAX) {
            return None;
        }
        let distance = self.center.abs();
        let room = self.margin - distance;
        let growth = |reach: f64, target: f64| (reach / target).powi(2);
        let different = growth(adjusted, distance);
        // Once `distance` exceeds half the margin, an interval short enough for the band has lost the 0.
        let equivalent = if distance <= room { growth(equivalence, room) } else { f64::INFINITY };
        let rounds = self.rounds as f64 * different.min(equivalent).max(STEP_MIN);
        // Rounding of the logarithms must not add a round.
        (rounds < ROUNDS_MAX).then(|| (rounds * (1.0 - 1e-9)).ceil() as u64)
    }
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
    fn invalid_input_has_no_crossing() {
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
    fn intervals_have_their_nominal_coverage() {
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

    fn evidence(center: f64, adjusted_half: f64, equivalence_half: f64) -> Evidence {
        let around = |half| Interval { low: center - half, high: center + half };
        Evidence {
            rounds: 100,
            center,
            adjusted: around(adjusted_half),
            equivalence: around(equivalence_half),
            margin: 0.03,
        }
    }

    #[test]
    fn rounds_follow_the_nearer_decision() {
        // No difference: the 90 % interval must shrink from 0.06 to 0.03, four times the rounds.
        assert_eq!(evidence(0.0, 0.08, 0.06).rounds_to_decide(), Some(400));
        // Outside the band only a difference can be found: from 0.08 to 0.04.
        assert_eq!(evidence(0.04, 0.08, 0.06).rounds_to_decide(), Some(400));
        // No adjusted interval, and outside the band: no estimate.
        assert_eq!(evidence(0.04, f64::INFINITY, 0.06).rounds_to_decide(), None);
        // Nearly decided: a quarter more.
        assert_eq!(evidence(0.04, 0.0401, 0.03).rounds_to_decide(), Some(125));
    }

    #[test]
    fn rounds_follow_the_end_that_must_move_or_are_not_projected() {
        // 1.20x [0.99, 2.0]: the near end is closer than half the interval suggests.
        let skewed = Interval { low: 0.99f64.ln(), high: 2.0f64.ln() };
        let skewed = Evidence { adjusted: skewed, ..evidence(1.2f64.ln(), 0.0, 0.3) };
        assert_eq!(skewed.rounds_to_decide(), Some(785));
        // 3.54x [0.92, 9.39] is known to no better than a factor of two: no projection.
        let wide = Interval { low: 0.92f64.ln(), high: 9.39f64.ln() };
        let wide =
            Evidence { rounds: 7, adjusted: wide, equivalence: wide, ..evidence(3.54f64.ln(), 0.0, 0.0) };
        assert_eq!(wide.rounds_to_decide(), None);
    }
}
