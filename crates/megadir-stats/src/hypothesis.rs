//! An estimate whose interval and p value cannot contradict each other: both use one null distribution.

use crate::distribution::{student_critical, student_two_sided, tail_of};
use crate::{Estimate, Interval};

pub(crate) trait Test {
    fn center(&self) -> f64;

    fn interval(&self, confidence: f64) -> Option<Interval>;

    /// Two-sided, of a center of zero; [`Self::interval`] inverts it.
    fn p(&self) -> f64;

    fn estimate(&self, confidence: f64) -> Option<Estimate> {
        Some(Estimate { value: self.center(), interval: self.interval(confidence)? })
    }
}

/// Mean with an estimated standard error.
pub(crate) struct StudentMean {
    pub(crate) mean: f64,
    pub(crate) standard_error: f64,
    pub(crate) degrees: f64,
}

impl Test for StudentMean {
    fn center(&self) -> f64 {
        self.mean
    }

    fn interval(&self, confidence: f64) -> Option<Interval> {
        let half = student_critical(self.degrees, tail_of(confidence)?) * self.standard_error;
        Some(Interval { low: self.mean - half, high: self.mean + half })
    }

    fn p(&self) -> f64 {
        // The standard error may be zero, too.
        if self.mean == 0.0 {
            return 1.0;
        }
        student_two_sided(self.degrees, self.mean / self.standard_error)
    }
}
