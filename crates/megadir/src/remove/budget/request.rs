//! Budgets as people type them, and what they mean for a directory.

use std::fmt;

use rustix::fs::StatVfs;

use super::rows::Amount;
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::mount_traits::{InodeCount, MountTraits};
use crate::quantity;

/// Unit of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Space on disk, as du(1), not apparent sizes: holes of sparse files take nothing.
    Bytes,
    /// Regular files. All names of one inode are one file.
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

/// A budget of nothing, or of all that a file system has, would empty the directory.
const EMPTIES: &str =
    "would remove everything; write a smaller share, or 'megadir remove --contents' to empty the directory";

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
            Some(Ok(percent)) if (0.0..100.0).contains(&percent) => Ok(Portion::Percent(percent)),
            Some(Ok(percent)) if percent >= 100.0 => Err(format!("'{text}' {EMPTIES}")),
            Some(_) => Err(malformed()),
        };
        // 100k may be meant as files, and 50G as 50 GB or 50 GiB.
        let bytes = |number: &str| match number.strip_suffix('b').filter(|rest| !rest.is_empty()) {
            Some(_) => quantity::bytes(number).map_err(|_| malformed()),
            None => Err(malformed()),
        };
        let count = |number: &str| quantity::count(number).map_err(|_| malformed());
        let holds = |measure, limit| match limit {
            0 => Err(format!("'{text}' {EMPTIES}")),
            limit => Ok(Self::Holds(measure, limit)),
        };
        if let Some(number) = ends(&["free inodes", "inodes free", "free files", "files free"]) {
            return Ok(Self::Free(Measure::Files, portion(&number, &count)?));
        }
        if let Some(number) = ends(&["free space", "free"]) {
            return Ok(Self::Free(Measure::Bytes, portion(&number, &bytes)?));
        }
        if let Some(number) = ends(&["files", "file", "inodes"]) {
            return holds(Measure::Files, count(&number)?);
        }
        holds(Measure::Bytes, bytes(&plain)?)
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

/// Free amounts, of ordinary users and with what only root may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Free {
    pub(super) of_users: u64,
    pub(super) with_reserve: u64,
}

/// Servers without a size report one that no storage has: rclone and gcsfuse 1 PiB, s3fs 256 TiB and more.
const INVENTED_BYTES: u64 = 1 << 48;

/// Free and all of what ordinary users may use; `None` if the file system does not count it.
fn counted(measure: Measure, status: &StatVfs, count: InodeCount) -> Option<(u64, u64)> {
    let invents = count == InodeCount::Invented;
    let (free, all) = match measure {
        Measure::Bytes => {
            let reserved = status.f_bfree.saturating_sub(status.f_bavail);
            let all = status.f_blocks.saturating_sub(reserved).saturating_mul(status.f_frsize);
            if invents && all >= INVENTED_BYTES {
                return None;
            }
            (status.f_bavail.saturating_mul(status.f_frsize), all)
        }
        Measure::Files if invents || count == InodeCount::Nothing => return None,
        Measure::Files => (status.f_favail, status.f_files),
    };
    (all > 0 && free <= all).then_some((free, all))
}

impl Budget {
    /// Amounts of what the budget names that are free now.
    pub(super) fn free(&self, directory: &Dir) -> Option<Free> {
        let status = rustix::fs::fstatvfs(directory).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(status.f_frsize);
        Some(match self.measure() {
            Measure::Bytes => Free { of_users: bytes(status.f_bavail), with_reserve: bytes(status.f_bfree) },
            Measure::Files => Free { of_users: status.f_favail, with_reserve: status.f_ffree },
        })
    }

    /// Errors: the file system does not count what the budget names, or invents its number, or has less of it.
    pub(super) fn numbers(&self, directory: &Dir) -> Result<Numbers> {
        let (measure, portion) = match *self {
            Self::Holds(_, limit) => return Ok(Numbers { limit, free: 0 }),
            Self::Free(measure, portion) => (measure, portion),
        };
        let refuse = |reason: String| {
            Err(Error::new("keep within a budget", directory.path(), ErrorKind::BadOption, reason))
        };
        let status = rustix::fs::fstatvfs(directory).at("stat", directory.path())?;
        let resource = if measure == Measure::Bytes { "free space" } else { "inodes" };
        let Some((free, all)) = counted(measure, &status, MountTraits::of(directory).inode_count) else {
            let instead = "give a budget of the directory, such as 50GB or '100k files'";
            return refuse(format!("its file system does not count {resource}; {instead}"));
        };
        let limit = match portion {
            Portion::Exact(limit) => limit,
            Portion::Percent(percent) if (0.0..100.0).contains(&percent) => {
                ((all as f64 * percent / 100.0).ceil() as u64).min(all)
            }
            Portion::Percent(percent) => {
                return refuse(format!("{percent} % is no share: give 0 to less than 100 %"));
            }
        };
        // Everything would go, for nothing.
        if limit > all {
            return refuse(format!(
                "its file system has less {resource} in all, so no removal can free as much"
            ));
        }
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
    use rustix::fs::{StatVfs, StatVfsMountFlags};

    use super::{Amount, Budget, InodeCount, Measure, Numbers, Portion, counted};

    fn status(blocks: [u64; 3], inodes: [u64; 2]) -> StatVfs {
        StatVfs {
            f_bsize: 4096,
            f_frsize: 4096,
            f_blocks: blocks[0],
            f_bfree: blocks[1],
            f_bavail: blocks[2],
            f_files: inodes[0],
            f_ffree: inodes[1],
            f_favail: inodes[1],
            f_fsid: 0,
            f_flag: StatVfsMountFlags::empty(),
            f_namemax: 255,
        }
    }

    #[test]
    fn counts_that_are_missing_or_invented_give_no_budget() {
        let space = |blocks, count| counted(Measure::Bytes, &status(blocks, [9, 3]), count);
        let inodes = |inodes, count| counted(Measure::Files, &status([9, 3, 3], inodes), count);
        assert_eq!(space([100, 30, 20], InodeCount::Counted), Some((20 * 4096, 90 * 4096)));
        // No blocks; nonsense; rclone without a size.
        assert_eq!(space([0, 0, 0], InodeCount::Counted), None);
        assert_eq!(space([10, 30, 30], InodeCount::Counted), None);
        assert_eq!(space([1 << 38, 1 << 38, 1 << 38], InodeCount::Invented), None);
        assert_eq!(space([100, 30, 30], InodeCount::Invented), Some((30 * 4096, 100 * 4096)));
        assert_eq!(inodes([100, 30], InodeCount::Counted), Some((30, 100)));
        assert_eq!(inodes([100, 30], InodeCount::OfFreeBlocks), Some((30, 100)));
        assert_eq!(inodes([0, 0], InodeCount::Counted), None);
        assert_eq!(inodes([100, 130], InodeCount::Counted), None);
        for count in [InodeCount::Invented, InodeCount::Nothing] {
            assert_eq!(inodes([1_000_000_000, 0], count), None);
        }
        // Numbers that no sum can hold.
        assert_eq!(space([u64::MAX, u64::MAX, u64::MAX], InodeCount::Counted), Some((u64::MAX, u64::MAX)));
    }

    #[test]
    fn a_share_beyond_the_file_system_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = crate::Dir::open(scratch.path()).unwrap();
        for portion in [
            Portion::Exact(u64::MAX),
            Portion::Percent(100.0),
            Portion::Percent(-1.0),
            Portion::Percent(f64::NAN),
            Portion::Percent(f64::INFINITY),
        ] {
            let refused = Budget::Free(Measure::Bytes, portion).numbers(&directory).unwrap_err();
            assert!(!refused.to_string().contains('\n'), "{refused}");
            assert_eq!(refused.kind(), crate::ErrorKind::BadOption, "{portion:?}");
        }
        assert!(Budget::Free(Measure::Bytes, Portion::Percent(99.9)).numbers(&directory).is_ok());
    }

    #[test]
    fn budgets_need_units() {
        for (text, expected) in [
            ("50GB", Budget::Holds(Measure::Bytes, 50_000_000_000)),
            ("1.5 GiB", Budget::Holds(Measure::Bytes, 3 << 29)),
            ("1b", Budget::Holds(Measure::Bytes, 1)),
            ("100 kB", Budget::Holds(Measure::Bytes, 100_000)),
            ("0% free", Budget::Free(Measure::Bytes, Portion::Percent(0.0))),
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
        for text in [
            "",
            "50",
            "b",
            "100k",
            "50G",
            "5M free",
            "100k free",
            "files",
            "free",
            "10%",
            "nan% free",
            "-1GB",
            "-1% free",
            "x% free",
            "50 free",
            "5 GBfree!",
            "5GB files",
        ] {
            let refused = Budget::parse(text).unwrap_err();
            assert!(refused.contains("write 50GB") && !refused.contains('\n'), "{text}: {refused}");
        }
        for text in ["0B", "0 files", "100% free", "100 % free inodes", "101% free", "inf% free"] {
            let refused = Budget::parse(text).unwrap_err();
            assert!(refused.contains("would remove everything; write a smaller"), "{text}: {refused}");
            assert!(!refused.contains('\n'), "{text}: {refused}");
        }
    }

    #[test]
    fn excess_is_computed_from_the_directory_or_from_free_space() {
        let amount = Amount { files: 7, bytes: 100 };
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
