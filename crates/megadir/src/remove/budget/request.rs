//! Budgets as people type them, and what they mean for a directory.

use std::fmt;

use super::ranges::Amount;
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::mount_traits::{InodeCount, MountTraits};
use crate::quantity;

/// Unit of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Space on disk, as du(1), not apparent sizes: holes of sparse files take nothing.
    Bytes,
    /// Files that are not directories. All names of one inode are one file.
    Files,
}

/// Part of a file system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Portion {
    /// Number of bytes or inodes.
    Exact(u64),
    /// Percentage of what ordinary users may use.
    Percent(f64),
}

/// Most that a directory may hold, or least that has to be free on its file system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// Most that the directory holds.
    Holds(Measure, u64),
    /// Least that is free for ordinary users: space or inodes.
    Free(Measure, Portion),
}

const WANTED: &str =
    "a budget with a unit: write 50GB, 512MiB, '100k files', '10% free', '20GB free' or '5% free inodes'";

impl Budget {
    /// Parses `50GB`, `100k files`, `10% free`, `20GB free`, `5% free inodes` or `100k free inodes`. Units are required: `50` may be
    /// meant as bytes, files or GB. Errors: one line that names the accepted forms.
    ///
    /// ```
    /// use megadir::remove::budget::{Budget, Measure, Portion};
    /// assert_eq!(Budget::parse("100k files"), Ok(Budget::Holds(Measure::Files, 100_000)));
    /// assert_eq!(Budget::parse("10% free"), Ok(Budget::Free(Measure::Bytes, Portion::Percent(10.0))));
    /// assert!(Budget::parse("50").is_err());
    /// ```
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let malformed = || format!("'{text}' is not {WANTED}");
        let plain = text.trim().to_ascii_lowercase();
        let ends = |words: &[&str]| {
            words.iter().find_map(|word| Some(plain.strip_suffix(word)?.trim_end().to_owned()))
        };
        let portion = |number: &str, exact: &dyn Fn(&str) -> std::result::Result<u64, String>| match number
            .strip_suffix('%')
            .map(|number| number.trim_end().parse())
        {
            None => exact(number).map(Portion::Exact),
            Some(Ok(percent)) if (0.0..=100.0).contains(&percent) => Ok(Portion::Percent(percent)),
            Some(_) => Err(malformed()),
        };
        let bytes = |number: &str| match number.ends_with(|letter: char| letter.is_ascii_alphabetic()) {
            true => quantity::bytes(number).map_err(|_| malformed()),
            false => Err(malformed()),
        };
        let count = |number: &str| quantity::count(number).map_err(|_| malformed());
        if let Some(number) = ends(&["free inodes", "inodes free", "free files", "files free"]) {
            return Ok(Self::Free(Measure::Files, portion(&number, &count)?));
        }
        if let Some(number) = ends(&["free space", "free"]) {
            return Ok(Self::Free(Measure::Bytes, portion(&number, &bytes)?));
        }
        if let Some(number) = ends(&["files", "file", "inodes"]) {
            return Ok(Self::Holds(Measure::Files, count(&number)?));
        }
        Ok(Self::Holds(Measure::Bytes, bytes(&plain)?))
    }

    /// Unit of the budget.
    pub fn measure(&self) -> Measure {
        match *self {
            Self::Holds(measure, _) | Self::Free(measure, _) => measure,
        }
    }

    /// `true` for a budget of free space or free inodes.
    pub fn is_of_free(&self) -> bool {
        matches!(self, Self::Free(..))
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = |portion: &Portion, measure: Measure| match (portion, measure) {
            (Portion::Percent(percent), _) => format!("{percent}%"),
            (Portion::Exact(bytes), Measure::Bytes) => format!("{bytes}B"),
            (Portion::Exact(count), Measure::Files) => count.to_string(),
        };
        match self {
            Self::Holds(Measure::Bytes, bytes) => write!(f, "{bytes}B"),
            Self::Holds(Measure::Files, files) => write!(f, "{files} files"),
            Self::Free(Measure::Bytes, portion) => write!(f, "{} free", amount(portion, Measure::Bytes)),
            Self::Free(Measure::Files, portion) => {
                write!(f, "{} free inodes", amount(portion, Measure::Files))
            }
        }
    }
}

impl Measure {
    pub(super) fn of(self, amount: &Amount) -> u64 {
        match self {
            Self::Bytes => amount.bytes,
            Self::Files => amount.files,
        }
    }
}

/// A budget in numbers, for one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Most in the directory, or least that is free.
    pub(super) limit: u64,
    /// Free before anything was removed; 0 for a budget of the directory.
    pub(super) free: u64,
}

impl Budget {
    /// Errors: the file system reports no inodes, or invents their number.
    pub(super) fn numbers(&self, directory: &Dir) -> Result<Numbers> {
        let (measure, portion) = match *self {
            Self::Holds(_, limit) => return Ok(Numbers { limit, free: 0 }),
            Self::Free(measure, portion) => (measure, portion),
        };
        let status = rustix::fs::fstatvfs(directory).at("stat", directory.path())?;
        let (free, all) = match measure {
            Measure::Bytes => {
                let reserved = status.f_bfree.saturating_sub(status.f_bavail);
                let all = status.f_blocks.saturating_sub(reserved);
                (status.f_bavail.saturating_mul(status.f_frsize), all.saturating_mul(status.f_frsize))
            }
            Measure::Files => {
                let counted = MountTraits::of(directory).inode_count;
                if matches!(counted, InodeCount::Invented | InodeCount::Nothing) || status.f_files == 0 {
                    let reason = "its file system does not count inodes; give a number of files or bytes";
                    return Err(Error::new("budget", directory.path(), ErrorKind::BadOption, reason));
                }
                (status.f_favail, status.f_files)
            }
        };
        let limit = match portion {
            Portion::Exact(limit) => limit,
            Portion::Percent(percent) => (all as f64 * percent / 100.0).ceil() as u64,
        };
        Ok(Numbers { limit, free })
    }

    /// Amount that has to go, if the directory holds `amount`.
    pub(super) fn excess(&self, numbers: &Numbers, amount: &Amount) -> u64 {
        match self {
            Self::Holds(measure, limit) => measure.of(amount).saturating_sub(*limit),
            Self::Free(..) => numbers.limit.saturating_sub(numbers.free),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Amount, Budget, Measure, Numbers, Portion};

    #[test]
    fn budgets_need_units() {
        for (text, expected) in [
            ("50GB", Budget::Holds(Measure::Bytes, 50_000_000_000)),
            ("1.5 GiB", Budget::Holds(Measure::Bytes, 3 << 29)),
            ("0B", Budget::Holds(Measure::Bytes, 0)),
            ("100k files", Budget::Holds(Measure::Files, 100_000)),
            ("1 file", Budget::Holds(Measure::Files, 1)),
            ("10% free", Budget::Free(Measure::Bytes, Portion::Percent(10.0))),
            ("2.5 % free space", Budget::Free(Measure::Bytes, Portion::Percent(2.5))),
            ("20GB free", Budget::Free(Measure::Bytes, Portion::Exact(20_000_000_000))),
            ("5% free inodes", Budget::Free(Measure::Files, Portion::Percent(5.0))),
            ("10k free inodes", Budget::Free(Measure::Files, Portion::Exact(10_000))),
        ] {
            assert_eq!(Budget::parse(text), Ok(expected), "{text}");
            assert_eq!(Budget::parse(&expected.to_string()), Ok(expected), "{expected}");
        }
        for text in ["", "50", "files", "free", "10%", "101% free", "-1GB", "x% free", "50 free", "5 GBfree!"]
        {
            let refused = Budget::parse(text).unwrap_err();
            assert!(refused.contains("write 50GB") && !refused.contains('\n'), "{text}: {refused}");
        }
    }

    #[test]
    fn excess_is_computed_from_the_directory_or_from_free_space() {
        let amount = Amount { names: 9, files: 7, bytes: 100 };
        let numbers = Numbers { limit: 50, free: 20 };
        for (budget, excess) in [
            (Budget::Holds(Measure::Bytes, 60), 40),
            (Budget::Holds(Measure::Bytes, 100), 0),
            (Budget::Holds(Measure::Files, 5), 2),
            (Budget::Free(Measure::Bytes, Portion::Exact(50)), 30),
        ] {
            assert_eq!(budget.excess(&numbers, &amount), excess, "{budget}");
        }
    }
}
