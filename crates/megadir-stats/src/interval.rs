//! An interval and an estimate with its interval: what every inference of this crate returns.

/// A closed interval, in the unit of the quantity it belongs to.
///
/// ```
/// let interval = megadir_stats::Interval { low: 0.98, high: 1.04 };
/// assert!(interval.contains(1.0));
/// assert!((interval.half_width() - 0.03).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end, which belongs to the interval.
    pub low: f64,
    /// The upper end, which belongs to the interval.
    pub high: f64,
}

impl Interval {
    /// Returns whether `value` lies in the interval, ends included; a NaN never does.
    ///
    /// ```
    /// assert!(!megadir_stats::Interval { low: 1.0, high: 2.0 }.contains(2.5));
    /// ```
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Returns half the distance between the ends, in the interval's own unit.
    ///
    /// ```
    /// assert_eq!(megadir_stats::Interval { low: 1.0, high: 2.0 }.half_width(), 0.5);
    /// ```
    #[must_use]
    pub fn half_width(&self) -> f64 {
        0.5 * (self.high - self.low)
    }

    /// Returns the interval of the exponential: from the log scale back to ratios.
    pub(crate) fn exp(self) -> Self {
        Self { low: self.low.exp(), high: self.high.exp() }
    }

    /// Returns whether `other` lies wholly inside this interval.
    pub(crate) fn encloses(self, other: Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }
}

/// A point estimate with its confidence interval, both in the unit of the samples (or a ratio).
///
/// ```
/// let estimate = megadir_stats::median_interval(&[3.0, 1.0, 2.0, 5.0, 4.0, 6.0], 0.95);
/// let estimate = estimate.expect("six samples suffice at 95 %");
/// assert_eq!(estimate.value, 3.5);
/// assert_eq!((estimate.interval.low, estimate.interval.high), (1.0, 6.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// The confidence interval, at the level the caller asked for.
    pub interval: Interval,
}

impl Estimate {
    /// Returns the estimate of the exponential: from the log scale back to ratios.
    pub(crate) fn exp(self) -> Self {
        Self { value: self.value.exp(), interval: self.interval.exp() }
    }
}
