//! Why a name has no place in a layout.

use std::fmt;

use super::NAME_BYTES_MAX;

/// Why a layout has no path for a name.
///
/// Printed, it is a sentence about the name, which it does not repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refused {
    /// The name is empty.
    Empty,
    /// The name has more bytes than a directory's entry can have.
    TooLong {
        /// The name's length, bytes.
        bytes: usize,
    },
    /// The name holds `/` or NUL.
    Separator,
    /// The name is `.` or `..`.
    Dots,
    /// The name is too short for the directories to be taken from it, and for something to be left to the file.
    TooShort {
        /// The name's length, bytes.
        bytes: usize,
        /// The least length, bytes.
        least: usize,
    },
    /// A directory, or what is left to the file, would be called `.` or `..`.
    DotsInPath,
    /// The name is not a decimal number without leading zeros, of at most so many digits.
    NotDecimal {
        /// The most digits.
        digits: usize,
    },
    /// The name is not a number in 8 upper-case hex digits.
    NotSequence,
    /// At one depth the file would have a name that at another depth a directory may have.
    LikeDirectory,
    /// This system cannot have such a component in a path.
    System(&'static str),
    /// The depth depends on the number of files, which was not said.
    Growing,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "it is empty"),
            Self::TooLong { bytes } => write!(f, "it has {bytes} bytes, and at most {NAME_BYTES_MAX} can be"),
            Self::Separator => write!(f, "it holds '/' or a NUL byte"),
            Self::Dots => write!(f, "'.' and '..' are directories"),
            Self::TooShort { bytes, least } => {
                let plural = if *bytes == 1 { "" } else { "s" };
                write!(f, "it has {bytes} byte{plural}, and the layout needs at least {least}")
            }
            Self::DotsInPath => write!(f, "a part of it that names a directory or the file is '.' or '..'"),
            Self::NotDecimal { digits } => {
                write!(f, "it is not a decimal number of at most {digits} digits without leading zeros")
            }
            Self::NotSequence => write!(f, "it is not a number in 8 upper-case hex digits"),
            Self::LikeDirectory => {
                write!(f, "it may be the name of a directory when there are more files or fewer")
            }
            Self::System(reason) => write!(f, "{reason}"),
            Self::Growing => write!(f, "its depth depends on the number of files"),
        }
    }
}

impl std::error::Error for Refused {}
