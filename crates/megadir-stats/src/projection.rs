//! Projection of the number of rounds that would decide an open contrast. Reference: half-widths of intervals
//! of a mean or a center shrink with the square root of the number of samples (Hollander, Wolfe and Chicken,
//! *Nonparametric Statistical Methods*, 3rd edition, section 3.3).

use crate::Interval;
use crate::verdict::Evidence;

impl Evidence {
    /// Returns the number of rounds at which one of the two decisions probably becomes possible; `None` without
    /// a basis. Intervals shrink with 1/sqrt(rounds) around the present ratio. The end that must move decides,
    /// because intervals of ratios are not symmetric. The projection is at least a quarter more rounds.
    pub(crate) fn rounds_to_decide(&self) -> Option<u64> {
        /// Above this a double no longer counts in ones, and no run gets there.
        const ROUNDS_MAX: f64 = 9e15;
        /// A ratio known to no better than a factor of two gives no basis for a projection.
        const HALF_WIDTH_MAX: f64 = std::f64::consts::LN_2;
        /// The ratio itself moves with more rounds, so a smaller step would be a guess.
        const STEP_MIN: f64 = 1.25;
        let reach = |interval: Interval| (self.center - interval.low).max(interval.high - self.center);
        let (adjusted, equivalence) = (reach(self.adjusted), reach(self.equivalence));
        // Infinite if the rounds are too few for the adjusted level.
        if equivalence > HALF_WIDTH_MAX || (adjusted.is_finite() && adjusted > HALF_WIDTH_MAX) {
            return None;
        }
        let distance = self.center.abs();
        let room = self.margin - distance;
        // Rounds grow with the square of the factor by which the reach shrinks.
        let growth = |reach: f64, target: f64| (reach / target).powi(2);
        let different = growth(adjusted, distance);
        // Equivalence needs an interval that contains 0 and fits into the band. Once `distance` exceeds half
        // the margin, an interval short enough to fit has already lost the 0.
        let equivalent = if distance <= room { growth(equivalence, room) } else { f64::INFINITY };
        let rounds = self.rounds as f64 * different.min(equivalent).max(STEP_MIN);
        // Rounding of the logarithms must not add a round.
        (rounds < ROUNDS_MAX).then(|| (rounds * (1.0 - 1e-9)).ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
