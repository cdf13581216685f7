//! Differences larger than the equivalence band. To name a winner, the family must hold every comparison from
//! which one could be chosen; [`crate::judge_family_of_epochs`] only excludes a ratio of 1 within its own family.

use crate::sequential::holm;
use crate::verdict::{FAMILY_ALPHA, Judging, Rounds};

/// Side of the equivalence band of a ratio new / old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Below 1 / (1 + band).
    Faster,
    /// Above 1 + band.
    Slower,
}

/// Side of the band on which each contrast is shown to lie, if any.
///
/// Contrasts are as in [`crate::judge_family_of_epochs`]. The null hypothesis, a ratio within the band, is tested
/// two-sided at the nearer end of the band, which errs on the safe side. Holm's procedure keeps the probability of
/// any false call at 5 % (divided by the looks of [`Judging`]). Reference: Wellek, *Testing Statistical Hypotheses of
/// Equivalence and Noninferiority*, 2nd edition, 2010, section 11.1.
pub fn beyond_band(contrasts: &[Vec<Vec<f64>>], judging: Judging) -> Vec<Option<Beyond>> {
    let margin = judging.band.ln_1p();
    let looks = f64::from(judging.looks.max(1));
    let tested: Vec<Option<(Beyond, f64)>> = contrasts.iter().map(|epochs| test(epochs, margin)).collect();
    let p_values: Vec<f64> = tested.iter().map(|tested| tested.map_or(f64::NAN, |(_, p)| p)).collect();
    let shown = holm(&p_values).into_iter().map(|p| p <= FAMILY_ALPHA / looks);
    tested
        .into_iter()
        .zip(shown)
        .map(|(tested, shown)| tested.filter(|_| shown).map(|(side, _)| side))
        .collect()
}

/// Nearer side of the band, and the p value of a ratio within it.
fn test(epochs: &[Vec<f64>], margin: f64) -> Option<(Beyond, f64)> {
    let center = Rounds::of_epochs(epochs)?.test.center();
    let side = if center < 0.0 { Beyond::Faster } else { Beyond::Slower };
    // It still counts in the family.
    if center.abs() <= margin {
        return Some((side, 1.0));
    }
    let end = margin.copysign(center);
    let shifted: Vec<Vec<f64>> =
        epochs.iter().map(|rounds| rounds.iter().map(|log| log - end).collect()).collect();
    Some((side, Rounds::of_epochs(&shifted)?.test.p()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(center: f64) -> Vec<Vec<f64>> {
        vec![(0..20).map(|round| center + f64::from(round % 7 - 3) * 0.002).collect()]
    }

    #[test]
    fn a_difference_within_the_band_is_never_beyond_it() {
        let judging = Judging { band: 0.03, looks: 1 };
        assert_eq!(beyond_band(&[rounds(0.028), rounds(-0.028), rounds(0.0)], judging), [None; 3]);
        assert_eq!(beyond_band(&[rounds(0.04)], judging), [Some(Beyond::Slower)]);
        assert_eq!(beyond_band(&[vec![], vec![vec![f64::NAN; 9]]], judging), [None; 2]);
    }

    #[test]
    fn every_contrast_of_the_screen_counts() {
        let judging = Judging { band: 0.03, looks: 1 };
        // Ten rounds reach a p value of 2 / 1024: enough for 25 contrasts, not for 26.
        let ten: Vec<Vec<f64>> = vec![(0..10).map(|round| 0.2 + f64::from(round) * 0.001).collect()];
        let screen = |others: usize| -> Vec<Vec<Vec<f64>>> {
            std::iter::once(ten.clone()).chain((0..others).map(|_| rounds(0.0))).collect()
        };
        assert_eq!(beyond_band(&screen(24), judging)[0], Some(Beyond::Slower));
        assert_eq!(beyond_band(&screen(25), judging)[0], None);
    }
}
