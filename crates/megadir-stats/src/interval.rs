//! Intervals, and estimates with their interval.

/// Closed interval, in the unit of its quantity.
///
/// ```
/// let interval = megadir_stats::Interval { low: 0.98, high: 1.04 };
/// assert!(interval.contains(1.0));
/// assert!((interval.half_width() - 0.03).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// `true` if `value` lies in the interval, ends included; `false` for NaN.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    #[must_use]
    pub fn half_width(&self) -> f64 {
        0.5 * (self.high - self.low)
    }

    pub(crate) fn exp(self) -> Self {
        Self { low: self.low.exp(), high: self.high.exp() }
    }

    pub(crate) fn encloses(self, other: Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }
}

/// Point estimate with its confidence interval, in the unit of the samples (or a ratio).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// At the level that the caller asked for.
    pub interval: Interval,
}

impl Estimate {
    pub(crate) fn exp(self) -> Self {
        Self { value: self.value.exp(), interval: self.interval.exp() }
    }
}
