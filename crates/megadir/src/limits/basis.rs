//! Evidence for values, and numbers with bounds.

use std::borrow::Cow;
use std::fmt;

/// Quality of evidence, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Known {
    /// Counted or measured on this system.
    Measured,
    /// Reported by the file system: statfs, an ioctl, the superblock, the mount table.
    Read,
    /// Given by the caller.
    Given,
    /// Assumed: the usual case, because no source is available.
    Assumed,
}

impl Known {
    /// The word used in output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Read => "read",
            Self::Given => "given",
            Self::Assumed => "assumed",
        }
    }
}

/// Evidence for a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// Quality; a computed value has the quality of its worst input.
    pub known: Known,
    /// Source, in a few words.
    pub how: Cow<'static, str>,
}

impl Basis {
    /// Creates a basis from its parts.
    pub fn new(known: Known, how: impl Into<Cow<'static, str>>) -> Self {
        Self { known, how: how.into() }
    }

    /// Basis of a value computed from several inputs.
    pub fn of(from: &[&Self], how: impl Into<Cow<'static, str>>) -> Self {
        let known = from.iter().map(|basis| basis.known).max().unwrap_or(Known::Assumed);
        Self::new(known, how)
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.known.word(), self.how)
    }
}

/// A value and its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact<T> {
    /// The value.
    pub value: T,
    /// Its evidence.
    pub basis: Basis,
}

impl<T> Fact<T> {
    /// Creates a fact from its parts.
    pub fn new(value: T, known: Known, how: impl Into<Cow<'static, str>>) -> Self {
        Self { value, basis: Basis::new(known, how) }
    }
}

/// A number with the bounds of its expected range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Likely value.
    pub likely: u64,
    /// Lower bound.
    pub low: u64,
    /// Upper bound.
    pub high: u64,
}

impl Span {
    /// An exact number.
    pub fn exact(value: u64) -> Self {
        Self { likely: value, low: value, high: value }
    }

    /// Rounds a number and its bounds; values beyond 2^64 saturate.
    pub fn rounded(likely: f64, low: f64, high: f64) -> Self {
        // A conversion from f64 saturates and maps NaN to 0.
        Self { likely: likely.round() as u64, low: low.round() as u64, high: high.round() as u64 }
    }

    /// `true` if both bounds equal the value.
    pub fn is_exact(self) -> bool {
        self.low == self.likely && self.high == self.likely
    }

    /// Remainder after `taken`, at least 0.
    pub fn less(self, taken: Self) -> Self {
        Self {
            likely: self.likely.saturating_sub(taken.likely),
            low: self.low.saturating_sub(taken.high),
            high: self.high.saturating_sub(taken.low),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Basis, Known, Span};

    #[test]
    fn computed_values_have_the_certainty_of_their_weakest_part() {
        let (read, given) = (Basis::new(Known::Read, "statfs"), Basis::new(Known::Given, "--name-length"));
        assert_eq!(Basis::of(&[&read, &given], "x").known, Known::Given);
        assert_eq!(Basis::of(&[&read], "x").to_string(), "read: x");
        assert_eq!(Basis::of(&[], "x").known, Known::Assumed);
    }

    #[test]
    fn remainder_is_bounded_by_both_bounds() {
        let all = Span { likely: 100, low: 85, high: 115 };
        assert_eq!(all.less(Span { likely: 60, low: 58, high: 62 }), Span { likely: 40, low: 23, high: 57 });
        assert_eq!(all.less(Span::exact(110)), Span { likely: 0, low: 0, high: 5 });
        assert_eq!(Span::rounded(1.5, f64::NAN, f64::INFINITY), Span { likely: 2, low: 0, high: u64::MAX });
    }
}
