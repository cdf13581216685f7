//! Reasons why a layout refuses a name.

use std::fmt;

use super::NAME_BYTES_MAX;

/// Reason why a layout has no path for a name: a sentence that does not repeat the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refused {
    /// The name is empty.
    Empty,
    /// The name is longer than a directory entry can be.
    TooLong {
        /// Length of the name, bytes.
        bytes: usize,
    },
    /// The name contains `/` or NUL.
    Separator,
    /// The name is `.` or `..`.
    Dots,
    /// The name has too few characters for the directories and the file.
    TooShort {
        /// Length of the name, bytes.
        bytes: usize,
        /// Minimum length, bytes.
        least: usize,
    },
    /// A directory or the file would be `.` or `..`.
    DotsInPath,
    /// The name is not a decimal number without leading zeros, or has too many digits.
    NotDecimal {
        /// Maximum number of digits.
        digits: usize,
    },
    /// The name is not a number of 8 upper-case hex digits.
    NotSequence,
    /// At one depth the file would have a name that a directory may have at another depth.
    LikeDirectory,
    /// The path would have a component that this system cannot have.
    System(&'static str),
    /// The depth depends on the number of files, which is not given.
    Growing,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "it is empty"),
            Self::TooLong { bytes } => write!(f, "it has {bytes} bytes, and the maximum is {NAME_BYTES_MAX}"),
            Self::Separator => write!(f, "it contains '/' or a NUL byte"),
            Self::Dots => write!(f, "'.' and '..' are directories"),
            Self::TooShort { bytes, least } => {
                let plural = if *bytes == 1 { "" } else { "s" };
                write!(f, "it has {bytes} byte{plural}, and the layout needs at least {least}")
            }
            Self::DotsInPath => write!(f, "its path would contain '.' or '..'"),
            Self::NotDecimal { digits } => {
                write!(f, "it is not a decimal number of at most {digits} digits without leading zeros")
            }
            Self::NotSequence => write!(f, "it is not a number of 8 upper-case hex digits"),
            Self::LikeDirectory => {
                write!(f, "with more or fewer files, a directory may have this name")
            }
            Self::System(reason) => write!(f, "{reason}"),
            Self::Growing => write!(f, "its depth depends on the number of files"),
        }
    }
}

impl std::error::Error for Refused {}
