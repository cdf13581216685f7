//! Properties for all inputs: symmetry, agreement of test and interval, and wider intervals for more
//! confidence.

use megadir_stats as stats;
use megadir_stats::{Estimate, Judgement, Judging, Verdict};
use proptest::prelude::*;

/// Log ratios, with or without the ties and zeros of a coarse clock.
fn log_ratios(rounds: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    let coarse = (-4i32..8).prop_map(|step| f64::from(step) * 0.01);
    let fine = -0.05f64..0.12;
    prop_oneof![prop::collection::vec(coarse, rounds.clone()), prop::collection::vec(fine, rounds)]
}

fn times(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((1.0f64..1e6, 1.0f64..1e6), count)
}

/// Two series of arbitrary doubles; NaN and infinities are rare, so that the calculations are reached too.
fn anything() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let series = |number: BoxedStrategy<f64>| prop::collection::vec(number, 0..30);
    let all = prop::num::f64::ANY.boxed();
    let finite = prop_oneof![any::<f64>(), prop::num::f64::POSITIVE, Just(0.0)].boxed();
    prop_oneof![(series(finite.clone()), series(finite)), (series(all.clone()), series(all))]
}

fn nested(outer: Option<Estimate>, inner: Option<Estimate>) -> bool {
    match (outer, inner) {
        (Some(outer), Some(inner)) => {
            outer.interval.low <= inner.interval.low && inner.interval.high <= outer.interval.high
        }
        (outer, _) => outer.is_none(),
    }
}

fn mirrored(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Faster { negligible } => Verdict::Slower { negligible },
        Verdict::Slower { negligible } => Verdict::Faster { negligible },
        same => same,
    }
}

/// Judges a family of contrasts, each of one epoch.
fn judge_family(family: &[Vec<f64>], band: f64) -> Vec<Option<Judgement>> {
    let epochs: Vec<Vec<Vec<f64>>> = family.iter().map(|rounds| vec![rounds.clone()]).collect();
    stats::judge_family_of_epochs(&epochs, Judging { band, looks: 1 })
}

proptest! {
    #[test]
    fn swapping_arms_inverts_the_ratio(pairs in times(6..80)) {
        let (new, old): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let ratio = stats::paired_ratio(&new, &old, 0.95).unwrap();
        let inverse = stats::paired_ratio(&old, &new, 0.95).unwrap();
        let close = |a: f64, b: f64| (a * b - 1.0).abs() < 1e-9;
        prop_assert!(close(ratio.value, inverse.value));
        prop_assert!(close(ratio.interval.low, inverse.interval.high));
        prop_assert!(close(ratio.interval.high, inverse.interval.low));
    }

    #[test]
    fn swapping_arms_mirrors_the_verdict(samples in log_ratios(6..80), band in 0.01f64..0.1) {
        let swapped: Vec<f64> = samples.iter().map(|x| -x).collect();
        let verdict = judge_family(&[samples], band)[0].unwrap().verdict;
        let other = judge_family(&[swapped], band)[0].unwrap().verdict;
        prop_assert_eq!(mirrored(verdict), other);
    }

    #[test]
    fn more_confidence_never_narrows(pairs in times(1..70), a in 0.5f64..0.9999, b in 0.5f64..0.9999) {
        let (more, less) = (a.max(b), a.min(b));
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        prop_assert!(nested(stats::median_interval(&x, more), stats::median_interval(&x, less)));
        prop_assert!(nested(stats::hodges_lehmann(&x, more), stats::hodges_lehmann(&x, less)));
        prop_assert!(nested(stats::paired_ratio(&x, &y, more), stats::paired_ratio(&x, &y, less)));
        prop_assert!(nested(stats::theil_sen(&x, &y, more), stats::theil_sen(&x, &y, less)));
    }

    #[test]
    fn estimates_lie_in_their_intervals(pairs in times(8..70)) {
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let estimates = [
            stats::median_interval(&x, 0.9),
            stats::hodges_lehmann(&x, 0.9),
            stats::theil_sen(&x, &y, 0.9),
            stats::halves_differ(&x),
        ];
        for estimate in estimates {
            let estimate = estimate.unwrap();
            prop_assert!(estimate.interval.contains(estimate.value), "{:?}", estimate);
        }
    }

    #[test]
    fn shifting_and_scaling_carry_over(samples in log_ratios(6..60), shift in -3i32..3, scale in 1i32..5) {
        let (shift, scale) = (f64::from(shift), f64::from(scale));
        let moved: Vec<f64> = samples.iter().map(|x| shift + scale * x).collect();
        let before = stats::hodges_lehmann(&samples, 0.95).unwrap();
        let after = stats::hodges_lehmann(&moved, 0.95).unwrap();
        prop_assert!((after.value - (shift + scale * before.value)).abs() < 1e-9);
        prop_assert!((after.interval.half_width() - scale * before.interval.half_width()).abs() < 1e-9);
    }

    #[test]
    fn more_looks_never_turn_an_undecided_contrast_into_a_difference(
        family in prop::collection::vec(log_ratios(4..40), 1..5),
    ) {
        let one_epoch: Vec<Vec<Vec<f64>>> = family.iter().map(|rounds| vec![rounds.clone()]).collect();
        let looked = stats::judge_family_of_epochs(&one_epoch, Judging { band: 0.03, looks: 5 });
        for (looked, plain) in looked.iter().zip(judge_family(&family, 0.03)) {
            let different = |judged: &Judgement| !judged.adjusted.contains(1.0);
            prop_assert!(!looked.is_some_and(|j| different(&j)) || plain.is_some_and(|j| different(&j)));
        }
    }

    #[test]
    fn adding_a_contrast_never_makes_another_different(family in prop::collection::vec(log_ratios(8..40), 2..6)) {
        let different = |judged: Option<Judgement>| !judged.unwrap().adjusted.contains(1.0);
        let all = judge_family(&family, 0.03);
        let fewer = judge_family(&family[1..], 0.03);
        for (with, without) in all[1..].iter().zip(fewer) {
            prop_assert!(!different(*with) || different(without));
        }
    }

    #[test]
    fn no_input_panics((x, y) in anything(), c in prop_oneof![0.0f64..1.0, prop::num::f64::ANY]) {
        let _ = (stats::median_interval(&x, c), stats::hodges_lehmann(&x, c), stats::theil_sen(&x, &y, c));
        let _ = (stats::paired_ratio(&x, &y, c), stats::power_law(&x, &y));
        let _ = judge_family(&[x.clone(), y.clone()], c);
        let _ = (stats::change_point(&x), stats::halves_differ(&x), stats::bimodality_coefficient(&x));
        let _ = (stats::lag1_autocorrelation(&x), stats::error_999(&x), stats::quantile(&x, c));
        let _ = stats::holm(&x);
        let epochs: Vec<Vec<f64>> = x.chunks(4).map(<[f64]>::to_vec).collect();
        let judging = Judging { band: c, looks: y.len() as u32 };
        let _ = (stats::hierarchical_bootstrap(&epochs, c, 1), stats::judge_family_of_epochs(&[epochs], judging));
        for target in [stats::HalfWidth::Fraction(c), stats::HalfWidth::Absolute(c)] {
            let _ = stats::narrow_enough(&x, &y, target, c);
        }
    }
}

proptest! {
    // Each case draws thousands of resamples.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn swapping_arms_mirrors_the_verdict_over_epochs(epochs in prop::collection::vec(log_ratios(2..12), 5..8)) {
        let swapped = epochs.iter().map(|rounds| rounds.iter().map(|x| -x).collect()).collect();
        let judging = Judging { band: 0.03, looks: 2 };
        let judged = stats::judge_family_of_epochs(&[epochs], judging)[0].unwrap();
        let other = stats::judge_family_of_epochs(&[swapped], judging)[0].unwrap();
        prop_assert_eq!(mirrored(judged.verdict), other.verdict);
        prop_assert!((judged.ratio.value * other.ratio.value - 1.0).abs() < 1e-9);
    }
}
