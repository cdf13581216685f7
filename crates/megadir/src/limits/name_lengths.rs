//! Name lengths: one length, or a weighted mix.

use std::fmt;
use std::str::FromStr;

/// Longest name on any supported file system, bytes.
pub const NAME_BYTES_MAX: u16 = 255;

/// A mix of name lengths, bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct NameLengths {
    /// Ascending; the shares add up to 1.
    shares: Vec<(u16, f64)>,
}

impl NameLengths {
    /// Names of one length, bytes; clamped to the possible range.
    pub fn of(bytes: u16) -> Self {
        Self { shares: vec![(bytes.clamp(1, NAME_BYTES_MAX), 1.0)] }
    }

    /// Mix from the number of names of each length; `None` if there are no names.
    pub fn counted(counts: impl IntoIterator<Item = (u16, u64)>) -> Option<Self> {
        let mut by_length = [0_u64; NAME_BYTES_MAX as usize + 1];
        for (bytes, count) in counts {
            by_length[usize::from(bytes.clamp(1, NAME_BYTES_MAX))] += count;
        }
        let total = by_length.iter().sum::<u64>() as f64;
        let share = |(bytes, count): (u16, u64)| (count > 0).then(|| (bytes, count as f64 / total));
        let shares: Vec<_> = (0..).zip(by_length).filter_map(share).collect();
        (!shares.is_empty()).then_some(Self { shares })
    }

    /// Lengths in ascending order with their shares.
    pub fn shares(&self) -> &[(u16, f64)] {
        &self.shares
    }

    /// Weighted mean of `of` over the lengths.
    pub fn mean_of(&self, of: impl Fn(u16) -> f64) -> f64 {
        self.shares.iter().map(|(bytes, share)| of(*bytes) * share).sum()
    }

    /// Mean length, bytes.
    pub fn mean(&self) -> f64 {
        self.mean_of(f64::from)
    }

    /// Greatest length, bytes.
    pub fn longest(&self) -> u16 {
        self.shares.last().map_or(0, |last| last.0)
    }

    /// Smallest length, bytes.
    pub fn shortest(&self) -> u16 {
        self.shares.first().map_or(0, |first| first.0)
    }

    /// Expected number of records of sizes `of` that fit `capacity` before the first that does not. For a
    /// mix, the expansion of the renewal function, E\[N(t)\] = t / m + E\[d²\] / (2 m²) - 1 with m = E\[d\]
    /// (Feller, *An Introduction to Probability Theory*, volume 2, XI.3).
    pub fn fitting(&self, capacity: f64, of: impl Fn(u16) -> f64) -> f64 {
        let mean = self.mean_of(&of);
        let same = self.shares.iter().all(|(bytes, _)| of(*bytes).to_bits() == of(self.shortest()).to_bits());
        if same {
            return (capacity / mean).floor();
        }
        let square = self.mean_of(|bytes| of(bytes) * of(bytes));
        (capacity / mean + square / (2.0 * mean * mean) - 1.0).max(1.0)
    }
}

impl fmt::Display for NameLengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shares.as_slice() {
            [(bytes, _)] => write!(f, "{bytes} bytes"),
            _ => write!(f, "{} to {} bytes, mean {:.1}", self.shortest(), self.longest(), self.mean()),
        }
    }
}

/// Parses `32`, `8-64` (uniform), `8,32,255` (equal parts) and `8:60,32:40` (weighted parts).
impl FromStr for NameLengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!("'{text}' is not a name length: write 32, 8-64, 8,32,255 or 8:60,32:40 (bytes, 1 to 255)")
        };
        let length = |text: &str| match text.trim().parse() {
            Ok(bytes @ 1..=NAME_BYTES_MAX) => Ok(bytes),
            _ => Err(bad()),
        };
        let mut counts = Vec::new();
        for part in text.split(',') {
            let (lengths, weight) = match part.split_once(':') {
                Some((lengths, weight)) => (lengths, weight.trim().parse::<u32>().map_err(|_| bad())?),
                None => (part, 1),
            };
            let (from, to) = match lengths.split_once('-') {
                Some((from, to)) => (length(from)?, length(to)?),
                None => (length(lengths)?, length(lengths)?),
            };
            if from > to {
                return Err(bad());
            }
            // A range weighs as much as one part; most widths divide 720720.
            let each = u64::from(weight) * 720_720 / u64::from(to - from + 1);
            counts.extend((from..=to).map(|bytes| (bytes, each)));
        }
        Self::counted(counts).ok_or_else(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::NameLengths;

    fn parse(text: &str) -> NameLengths {
        text.parse().unwrap()
    }

    #[test]
    fn lengths_are_parsed_as_people_write_them() {
        assert_eq!(parse("32"), NameLengths::of(32));
        assert_eq!(parse("8, 32").shares(), [(8, 0.5), (32, 0.5)]);
        assert_eq!(parse("8:60,32:40").shares(), [(8, 0.6), (32, 0.4)]);
        assert_eq!(parse("1-2:50,9:50").shares(), [(1, 0.25), (2, 0.25), (9, 0.5)]);
        assert!((parse("8-64").mean() - 36.0).abs() < 1e-9);
        assert_eq!((parse("8-64").shortest(), parse("8-64").longest()), (8, 64));
        for bad in ["", "0", "256", "a", "8:", "8:x", "9-8", "8-", "8:0", "-1", "1,,2"] {
            let error = bad.parse::<NameLengths>().unwrap_err();
            assert!(error.contains("write 32"), "{bad}: {error}");
        }
    }

    #[test]
    fn durations_are_printed_in_common_units() {
        assert_eq!(parse("32").to_string(), "32 bytes");
        assert_eq!(parse("8:3,32:1").to_string(), "8 to 32 bytes, mean 14.0");
    }

    #[test]
    fn capacity_matches_a_packing_simulation() {
        let sizes = |bytes: u16| f64::from((bytes + 11) & !3);
        assert_eq!(parse("32").fitting(4084.0, sizes), 102.0);
        // Sizes that are equal after rounding behave like one length.
        assert_eq!(parse("30-32").fitting(4084.0, sizes), 102.0);
        for text in ["8,32,255", "8-64", "16:9,255:1"] {
            let lengths = parse(text);
            let (mut state, rounds, mut packed) = (1_u64, 40_000, 0_u64);
            for _ in 0..rounds {
                let mut left = 4084.0;
                loop {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let mut at = (state >> 11) as f64 / (1_u64 << 53) as f64;
                    let drawn = lengths.shares().iter().find(|(_, share)| {
                        at -= share;
                        at < 0.0
                    });
                    left -= sizes(drawn.unwrap_or(&lengths.shares()[0]).0);
                    if left < 0.0 {
                        break;
                    }
                    packed += 1;
                }
            }
            let (packed, computed) = (packed as f64 / f64::from(rounds), lengths.fitting(4084.0, sizes));
            assert!((packed / computed - 1.0).abs() < 0.01, "{text}: {packed} {computed}");
        }
    }
}
