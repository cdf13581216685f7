//! Recorded values are reported within the error bound, however they were recorded.

use super::*;
use proptest::prelude::*;

/// Values of every magnitude, not only large ones.
fn any_size() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
}

proptest! {
    #[test]
    fn bucket_holds_its_value_within_the_error_bound(value in any_size()) {
        let (low, high) = bounds_of(index_of(value));
        prop_assert!(low <= value && value <= high);
        prop_assert!(low.midpoint(high).abs_diff(value) <= value / 256);
    }

    #[test]
    fn merge_equals_recording(mut a in prop::collection::vec(any_size(), 0..40), b in prop::collection::vec(any_size(), 0..40)) {
        let record = |values: &[u64]| {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&value| histogram.record(value));
            histogram
        };
        let mut recorded = Histogram::new();
        for part in a.chunks(7) {
            let mut recording = recorded.recording();
            part.iter().for_each(|&value| recording.record(value));
        }
        prop_assert_eq!(&recorded, &record(&a));
        let mut merged = record(&a);
        merged.merge(&record(&b));
        a.extend(b);
        prop_assert_eq!(&merged, &record(&a));
        prop_assert_eq!(merged.buckets().map(|bucket| bucket.count).sum::<u64>(), a.len() as u64);
        if let (Some(min), Some(max)) = (merged.min(), merged.max()) {
            let again = Histogram::from_counts(merged.counts(), merged.sum(), min, max);
            prop_assert_eq!(again.as_ref(), Some(&merged));
        }
        merged.clear();
        prop_assert_eq!(merged, Histogram::new());
    }

    #[test]
    fn quantiles_are_close_to_sorted_ones(mut values in prop::collection::vec(any_size(), 1..200), p in 0.0f64..=1.0) {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        values.sort_unstable();
        let rank = ((p * values.len() as f64).ceil() as usize).max(1);
        let exact = values[rank - 1];
        prop_assert!(histogram.quantile(p).unwrap().abs_diff(exact) <= exact / 256);
    }
}

#[test]
fn counts_that_cannot_be_are_refused() {
    let from =
        |counts: &[(u32, u64)], sum, min, max| Histogram::from_counts(counts.iter().copied(), sum, min, max);
    assert!(from(&[(3, 1), (9, 2)], 21, 3, 9).is_some());
    for (counts, sum, min, max) in [
        (&[][..], 0, 0, 0),
        (&[(3, 0)], 0, 3, 3),
        (&[(9, 2), (3, 1)], 21, 3, 9),
        (&[(3, 1), (3, 1)], 6, 3, 3),
        (&[(3, 1), (9, 2)], 22, 3, 9),
        (&[(3, 1), (9, 2)], 21, 4, 9),
        (&[(8191, 1)], 0, 0, 0),
        (&[(u32::MAX, 1)], 0, 0, 0),
        (&[(3, u64::MAX), (4, 1)], 3 * u128::from(u64::MAX) + 4, 3, 4),
    ] {
        assert_eq!(from(counts, sum, min, max), None, "{counts:?}");
    }
}

#[test]
fn buckets_follow_each_other_without_a_gap() {
    let mut next = 0;
    for index in 0..=index_of(u64::MAX) {
        let (low, high) = bounds_of(index);
        assert_eq!(low, next);
        assert_eq!((index_of(low), index_of(high)), (index, index));
        next = high.wrapping_add(1);
    }
    assert_eq!(next, 0);
}
