//! A small example of each function of the crate.

#[test]
fn beyond_band() {
    use megadir_stats::{Beyond, Judging, beyond_band};
    let rounds = |center: f64| vec![(0..20).map(|round| center + f64::from(round % 5) * 0.001).collect()];
    let judging = Judging { band: 0.03, looks: 1 };
    let shown = beyond_band(&[rounds(0.1), rounds(-0.1), rounds(0.02)], judging);
    assert_eq!(shown, [Some(Beyond::Slower), Some(Beyond::Faster), None]);
}

#[test]
fn crossing() {
    use megadir_stats::{Crossing, crossing};
    assert_eq!(crossing(&[1.0, 4.0], &[10.0, 40.0], 20.0), Some(Crossing::At(2.0)));
    assert_eq!(crossing(&[1.0, 4.0], &[10.0, 40.0], 50.0), Some(Crossing::Beyond));
    assert_eq!(crossing(&[1.0, 4.0], &[10.0, 40.0], 5.0), Some(Crossing::Before));
}

#[test]
fn crossing_estimate() {
    use megadir_stats::{Crossing, crossing_estimate};
    let rounds: Vec<Crossing> = (0..9).map(|round| Crossing::At(f64::from(20 + round % 3))).collect();
    let Some(estimate) = crossing_estimate(&rounds, 0.95) else { panic!() };
    assert!(matches!(estimate.value, Crossing::At(share) if (share - 21.0).abs() < 0.1));
}

#[test]
fn mean() {
    assert_eq!(megadir_stats::mean(&[1.0, 2.0, 6.0]), Some(3.0));
    assert_eq!(megadir_stats::mean(&[]), None);
}

#[test]
fn standard_deviation() {
    assert_eq!(megadir_stats::standard_deviation(&[1.0, 2.0, 3.0]), Some(1.0));
}

#[test]
fn quantile() {
    assert_eq!(megadir_stats::quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.5));
}

#[test]
fn median() {
    assert_eq!(megadir_stats::median(&[9.0, 1.0, 2.0]), Some(2.0));
}

#[test]
fn median_interval() {
    let times_ns: Vec<f64> = (1..=11).map(f64::from).collect();
    let estimate = megadir_stats::median_interval(&times_ns, 0.95).expect("eleven samples");
    assert_eq!(estimate.value, 6.0);
    assert_eq!((estimate.interval.low, estimate.interval.high), (2.0, 10.0));
    assert!(megadir_stats::median_interval(&times_ns[..5], 0.95).is_none());
}

#[test]
fn error_999() {
    let error = megadir_stats::error_999(&[10.0, 11.0, 12.0, 11.0]).expect("four samples");
    assert!((error - 5.276).abs() < 0.001);
}

#[test]
fn interval() {
    let interval = megadir_stats::Interval { low: 0.98, high: 1.04 };
    assert!(interval.contains(1.0));
    assert!((interval.half_width() - 0.03).abs() < 1e-12);
}

#[test]
fn hierarchical_bootstrap() {
    let epochs: Vec<Vec<f64>> =
        (0..5).map(|e| (0..20).map(|r| f64::from(e) + f64::from(r % 5)).collect()).collect();
    let estimate = megadir_stats::hierarchical_bootstrap(&epochs, 0.95, 1).expect("five epochs");
    assert!((estimate.value - 4.0).abs() < 1e-9);
    assert!(estimate.interval.low < 2.1 && estimate.interval.high > 5.9);
}

#[test]
fn histogram() {
    let mut histogram = megadir_stats::histogram::Histogram::new();
    for time_ns in 1..=1000 {
        histogram.record(time_ns);
    }
    assert_eq!(histogram.count(), 1000);
    let median_ns = histogram.quantile(0.5).expect("not empty");
    assert!(median_ns.abs_diff(500) <= 500 / 256 + 1);
}

#[test]
fn histogram_recording() {
    let mut histogram = megadir_stats::histogram::Histogram::new();
    let mut recording = histogram.recording();
    for time_ns in [3, 5] {
        recording.record(time_ns);
    }
    drop(recording);
    assert_eq!((histogram.count(), histogram.sum(), histogram.max()), (2, 8, Some(5)));
}

#[test]
fn histogram_merge() {
    let mut all = megadir_stats::histogram::Histogram::new();
    let mut block = all.clone();
    block.record(7);
    all.merge(&block);
    assert_eq!(all, block);
}

#[test]
fn histogram_quantile() {
    let mut histogram = megadir_stats::histogram::Histogram::new();
    for time_ns in [3, 5, 1_000_000] {
        histogram.record(time_ns);
    }
    assert_eq!(histogram.quantile(0.5), Some(5));
    assert_eq!(histogram.quantile(1.0), Some(1_000_000));
}

#[test]
fn histogram_buckets() {
    let mut histogram = megadir_stats::histogram::Histogram::new();
    for time_ns in [9, 9, 300] {
        histogram.record(time_ns);
    }
    let counts: Vec<u64> = histogram.buckets().map(|bucket| bucket.count).collect();
    assert_eq!(counts, [2, 1]);
}

#[test]
fn histogram_counts() {
    let mut histogram = megadir_stats::histogram::Histogram::new();
    for time_ns in [9, 9, 513] {
        histogram.record(time_ns);
    }
    assert_eq!(histogram.counts().collect::<Vec<_>>(), [(9, 2), (384, 1)]);
}

#[test]
fn histogram_from_counts() {
    use megadir_stats::histogram::Histogram;
    let again = Histogram::from_counts([(9, 2), (384, 1)], 531, 9, 513).expect("they belong together");
    assert_eq!(again.quantile(1.0), Some(513));
    assert_eq!(Histogram::from_counts([(9, 2)], 18, 9, 10), None);
}

#[test]
fn lag1_autocorrelation() {
    let alternating = [1.0, -1.0, 1.0, -1.0];
    assert_eq!(megadir_stats::lag1_autocorrelation(&alternating), Some(-0.75));
}

#[test]
fn change_point() {
    let mut samples = vec![10.0; 20];
    samples.extend([12.0; 20]);
    let change = megadir_stats::change_point(&samples).expect("forty samples");
    assert_eq!(change.index, 20);
    assert!(change.p < 0.001);
}

#[test]
fn halves_differ() {
    let times_ns = [10.0, 11.0, 10.5, 10.2, 20.0, 22.0, 21.0, 20.4];
    let ratio = megadir_stats::halves_differ(&times_ns).expect("eight samples");
    assert!((ratio.value - 2.0).abs() < 0.05);
    assert!(!ratio.interval.contains(1.0));
}

#[test]
fn bimodality_coefficient() {
    let two_modes = [1.0, 1.1, 0.9, 1.0, 5.0, 5.1, 4.9, 5.0].repeat(10);
    assert!(megadir_stats::bimodality_coefficient(&two_modes) > Some(5.0 / 9.0));
}

#[test]
fn hodges_lehmann() {
    let differences_ns = [1.0, 2.0, 3.0, 4.0, 5.0, 6.5];
    let estimate = megadir_stats::hodges_lehmann(&differences_ns, 0.95).expect("six differences");
    assert_eq!(estimate.value, 3.5);
    assert_eq!((estimate.interval.low, estimate.interval.high), (1.0, 6.5));
}

#[test]
fn paired_ratio() {
    let old_ns = [100.0, 120.0, 90.0, 110.0, 105.0, 95.0, 101.0];
    let new_ns: Vec<f64> = old_ns.iter().map(|t| t * 0.9).collect();
    let ratio = megadir_stats::paired_ratio(&new_ns, &old_ns, 0.95).expect("seven rounds");
    assert!((ratio.value - 0.9).abs() < 1e-12);
}

#[test]
fn log_ratios() {
    assert_eq!(megadir_stats::log_ratios(&[2.0, 3.0], &[2.0, 3.0]), Some(vec![0.0, 0.0]));
    assert_eq!(megadir_stats::log_ratios(&[2.0], &[0.0]), None);
}

#[test]
fn split_mix64() {
    use megadir_stats::permutation::SplitMix64;
    let mut random = SplitMix64::new(1234567);
    assert_eq!(random.next_u64(), 6457827717110365317);
}

#[test]
fn split_mix64_below() {
    use megadir_stats::permutation::SplitMix64;
    let mut random = SplitMix64::new(42);
    assert!(random.below(6) < Some(6));
    assert_eq!(random.below(0), None);
}

#[test]
fn split_mix64_unit() {
    use megadir_stats::permutation::SplitMix64;
    assert!((0.0..1.0).contains(&SplitMix64::new(3).unit()));
}

#[test]
fn shuffle() {
    use megadir_stats::permutation::{SplitMix64, shuffle};
    let mut arms = [0, 1, 2, 3];
    shuffle(&mut arms, &mut SplitMix64::new(1));
    arms.sort();
    assert_eq!(arms, [0, 1, 2, 3]);
}

#[test]
fn permutation() {
    use megadir_stats::permutation::Permutation;
    let order = Permutation::new(1_000_000_000, 42);
    assert!(order.get(0) < Some(1_000_000_000));
    assert_ne!(order.get(0), order.get(1));
}

#[test]
fn permutation_get() {
    use megadir_stats::permutation::Permutation;
    let order = Permutation::new(3, 5);
    let mut all: Vec<_> = (0..3).filter_map(|i| order.get(i)).collect();
    all.sort();
    assert_eq!(all, [0, 1, 2]);
    assert_eq!(order.get(3), None);
}

#[test]
fn balanced_latin_square() {
    use megadir_stats::permutation::balanced_latin_square;
    assert_eq!(balanced_latin_square(2), [[0, 1], [1, 0]]);
    assert_eq!(balanced_latin_square(4)[0], [0, 3, 1, 2]);
    assert_eq!(balanced_latin_square(5).len(), 10);
}

#[test]
fn quantile_intervals() {
    let rounds: Vec<Vec<(u64, u64)>> = (0..20).map(|round| vec![(100 + round % 4, 90), (500, 10)]).collect();
    let found = megadir_stats::quantile_intervals(&rounds, &[0.5, 0.99], 0.95, 1).expect("twenty rounds");
    assert!(found[0].interval.contains(101.0) && found[0].interval.high < 104.0);
    assert_eq!((found[1].value, found[1].interval.high), (500.0, 500.0));
}

#[test]
fn theil_sen() {
    let round = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    let time_ns = [10.0, 12.0, 14.0, 16.0, 90.0, 20.0];
    let slope = megadir_stats::theil_sen(&round, &time_ns, 0.95).expect("six samples");
    assert_eq!(slope.value, 2.0);
    assert!(slope.interval.contains(2.0));
}

#[test]
fn power_law() {
    let entries = [1e3, 1e4, 1e5];
    let time_ns = [2e3, 2e5, 2e7];
    let exponent = megadir_stats::power_law(&entries, &time_ns).expect("three points");
    assert!((exponent - 2.0).abs() < 1e-12);
}

#[test]
fn looks() {
    let looks = megadir_stats::Looks::new(30, 100).expect("30 is at most 100");
    assert_eq!(looks.rounds(), [30, 45, 68, 100]);
    assert!(looks.is_at(45) && !looks.is_at(46));
    assert_eq!(looks.confidence(0.95), 1.0 - (1.0 - 0.95) / 4.0);
}

#[test]
fn looks_confidence() {
    let looks = megadir_stats::Looks::new(30, 45).expect("two looks");
    assert!((looks.confidence(0.9) - 0.95).abs() < 1e-12);
}

#[test]
fn narrow_enough() {
    use megadir_stats::{HalfWidth, narrow_enough};
    let old_ns: Vec<f64> = (0..40).map(|round| 1000.0 + f64::from(round % 7)).collect();
    let new_ns: Vec<f64> = (0..40).map(|round| 1020.0 + f64::from(round % 5)).collect();
    assert!(narrow_enough(&new_ns, &old_ns, HalfWidth::Fraction(0.01), 0.99));
    assert!(!narrow_enough(&new_ns, &old_ns, HalfWidth::Absolute(0.1), 0.99));
}

#[test]
fn holm() {
    assert_eq!(megadir_stats::holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
}

#[test]
fn judge_family_of_epochs() {
    use megadir_stats::{Judging, Method, judge_family_of_epochs};
    let epoch: Vec<f64> = (0..8).map(|round| 0.2 + f64::from(round % 5) * 0.01).collect();
    let judging = Judging { band: 0.03, looks: 1 };
    let judged = judge_family_of_epochs(&[vec![epoch.clone(); 5], vec![epoch]], judging);
    let method = |contrast: usize| judged[contrast].expect("at least eight rounds").method;
    assert_eq!(method(0), Method::HierarchicalBootstrap { epochs: 5 });
    assert_eq!(method(1), Method::SignedRank);
}

#[test]
fn judge_unpaired_family() {
    use megadir_stats::{Judging, Verdict, judge_unpaired_family};
    let old_ns: Vec<f64> = (0..20).map(|round| 100.0 + f64::from(round % 7)).collect();
    let new_ns: Vec<f64> = old_ns.iter().map(|ns| 1.5 * ns).collect();
    let judged = judge_unpaired_family(&[(new_ns, old_ns)], Judging { band: 0.03, looks: 1 });
    assert_eq!(judged[0].expect("twenty times").verdict, Verdict::Slower { negligible: false });
}

#[test]
fn judge_family_of_runs() {
    use megadir_stats::{Judging, Verdict, judge_family_of_runs};
    let (old_ns, new_ns) = (vec![100.0, 101.0, 99.0], vec![150.0, 149.0, 152.0]);
    let judged = judge_family_of_runs(&[(new_ns, old_ns)], Judging { band: 0.03, looks: 1 });
    assert_eq!(judged[0].expect("three runs a side").verdict, Verdict::Slower { negligible: false });
}
