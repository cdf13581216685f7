//! Decodes the histograms of single operations.

use megadir_record::Latency;
use megadir_stats::histogram::{Histogram, SUB_BUCKETS};

/// Decodes the histogram of a block, in its ticks; `None` if it contradicts itself.
pub(super) fn histogram(latency: &Latency) -> Option<Histogram> {
    #[cfg(test)]
    DECODED.with(|decoded| decoded.set(decoded.get() + 1));
    let length = latency.ns_per_tick;
    if latency.sub_buckets as usize != SUB_BUCKETS || !(length.is_finite() && length > 0.0) {
        return None;
    }
    let counts: Vec<(u32, u64)> = latency.counts().collect::<Option<_>>()?;
    Histogram::from_counts(counts, u128::from(latency.sum_ticks), latency.min_ticks, latency.max_ticks)
}

/// Times, nanoseconds, each with how often it occurred, in ascending order.
pub(crate) type Times = Vec<(u64, u64)>;

/// Returns the times of a block's operations; `None` if it has none.
pub(super) fn times_of(block: &Histogram, ns_per_tick: f64) -> Option<Times> {
    let ns = |ticks: u64| (ticks as f64 * ns_per_tick).round() as u64;
    let (min, max) = (block.min()?, block.max()?);
    let middle = |low: u64, high: u64| ns(low.midpoint(high).clamp(min, max));
    let mut times: Times =
        block.buckets().map(|bucket| (middle(bucket.low, bucket.high), bucket.count)).collect();
    // The longest is known exactly.
    if let Some(last) = times.last_mut().filter(|last| last.0 != ns(max)) {
        last.1 -= 1;
        times.push((ns(max), 1));
    }
    times.retain(|(_, count)| *count > 0);
    Some(times)
}

#[cfg(test)]
thread_local! {
    /// Histograms decoded by this thread.
    pub(crate) static DECODED: std::cell::Cell<usize> = std::cell::Cell::default();
}
