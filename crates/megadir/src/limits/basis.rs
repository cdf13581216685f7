//! How something is known, and numbers that are known within bounds.

use std::borrow::Cow;
use std::fmt;

/// How well something is known, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Known {
    /// Counted or measured here and now.
    Measured,
    /// Told by the file system: statfs, an ioctl, the superblock, the mount table.
    Read,
    /// Said by the caller.
    Given,
    /// Nobody told: the usual case is assumed.
    Assumed,
}

impl Known {
    /// Returns the word for it, as output has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Read => "read",
            Self::Given => "given",
            Self::Assumed => "assumed",
        }
    }
}

/// What an answer is based on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// How well it is known; of what is computed, how well the worst of what it is computed from is.
    pub known: Known,
    /// From what, in a few words.
    pub how: Cow<'static, str>,
}

impl Basis {
    /// Makes a basis.
    pub fn new(known: Known, how: impl Into<Cow<'static, str>>) -> Self {
        Self { known, how: how.into() }
    }

    /// Returns the basis of what is computed from several things, in other words.
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

/// A value with what it is based on.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact<T> {
    /// The value.
    pub value: T,
    /// How it is known.
    pub basis: Basis,
}

impl<T> Fact<T> {
    /// Makes a fact.
    pub fn new(value: T, known: Known, how: impl Into<Cow<'static, str>>) -> Self {
        Self { value, basis: Basis::new(known, how) }
    }
}

/// A number with the bounds that it is expected to lie between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The likely value.
    pub likely: u64,
    /// It is hardly less than this.
    pub low: u64,
    /// It is hardly more than this.
    pub high: u64,
}

impl Span {
    /// Returns a number that is known exactly.
    pub fn exact(value: u64) -> Self {
        Self { likely: value, low: value, high: value }
    }

    /// Returns a number and its bounds, rounded; what is beyond 2^64 becomes that.
    pub fn rounded(likely: f64, low: f64, high: f64) -> Self {
        // A conversion from f64 saturates, and takes what is not a number for 0.
        Self { likely: likely.round() as u64, low: low.round() as u64, high: high.round() as u64 }
    }

    /// Tells whether both bounds are the value itself.
    pub fn is_exact(self) -> bool {
        self.low == self.likely && self.high == self.likely
    }

    /// Returns what is left of it when as many as `taken` are taken: never less than nothing.
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
    fn what_is_computed_is_known_as_well_as_the_worst_known_part() {
        let (read, given) = (Basis::new(Known::Read, "statfs"), Basis::new(Known::Given, "--name-length"));
        assert_eq!(Basis::of(&[&read, &given], "x").known, Known::Given);
        assert_eq!(Basis::of(&[&read], "x").to_string(), "read: x");
        assert_eq!(Basis::of(&[], "x").known, Known::Assumed);
    }

    #[test]
    fn what_is_left_is_bounded_by_the_bounds_of_both() {
        let all = Span { likely: 100, low: 85, high: 115 };
        assert_eq!(all.less(Span { likely: 60, low: 58, high: 62 }), Span { likely: 40, low: 23, high: 57 });
        assert_eq!(all.less(Span::exact(110)), Span { likely: 0, low: 0, high: 5 });
        assert_eq!(Span::rounded(1.5, f64::NAN, f64::INFINITY), Span { likely: 2, low: 0, high: u64::MAX });
    }
}
