//! Rules for names and for components of paths, and the names of a layout's directories.

use std::fmt;

use super::{Layout, NAME_BYTES_MAX, Source};
use crate::names::refused_by_windows;

fn is_dots(component: &[u8]) -> bool {
    component == b"." || component == b".."
}

pub(super) fn check_name(name: &[u8]) -> Result<(), Refused> {
    if name.is_empty() {
        return Err(Refused::Empty);
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(Refused::TooLong { bytes: name.len() });
    }
    if name.iter().any(|byte| matches!(byte, b'/' | 0)) {
        return Err(Refused::Separator);
    }
    if is_dots(name) { Err(Refused::Dots) } else { Ok(()) }
}

pub(super) fn check(component: &[u8]) -> Result<(), Refused> {
    if is_dots(component) {
        return Err(Refused::DotsInPath);
    }
    if cfg!(windows) {
        on_windows(component).map_or(Ok(()), |reason| Err(Refused::System(reason)))
    } else {
        Ok(())
    }
}

fn on_windows(component: &[u8]) -> Option<&'static str> {
    let Ok(text) = std::str::from_utf8(component) else {
        return Some("its path would contain a component that is not Unicode");
    };
    refused_by_windows(text)
}

/// Reason why a layout has no path for a name, a sentence without the name.
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
    /// The name does not have the ending of the layout.
    OtherEnding,
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
            Self::OtherEnding => write!(f, "it does not end as the layout requires"),
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

impl Layout {
    /// `true` if a directory of the layout can have this name, on a level counted from 0 at the top. Other
    /// directories may have it too: any two characters fit `prefix:2`.
    ///
    /// ```
    /// use megadir::layout::Layout;
    /// let layout: Layout = "digest:2/3".parse()?;
    /// assert!(layout.has_directory(0, b"be") && layout.has_directory(1, b"f50"));
    /// assert!(!layout.has_directory(0, b"xy") && !layout.has_directory(2, b"be"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_directory(&self, level: usize, name: &[u8]) -> bool {
        if level >= *self.depths().end() {
            return false;
        }
        let width = self.levels()[level];
        if self.source == Source::Sequence {
            return is_below(width, name);
        }
        let Some(digits) = name.strip_prefix(self.label.all()) else { return false };
        let is_digit: fn(&u8) -> bool = match self.source {
            Source::Digest => |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Source::Decimal => u8::is_ascii_digit,
            _ => |_| true,
        };
        digits.len() == usize::from(width) && digits.iter().all(is_digit) && !is_dots(name)
    }

    /// [`Self::has_directory`] for every name of a relative path, at a depth of the layout.
    #[cfg(target_os = "linux")]
    pub(crate) fn has_directory_path(&self, path: &[u8], depth: usize) -> bool {
        let mut names = path.split(|byte| *byte == b'/').enumerate();
        names.all(|(level, name)| level < depth && self.has_directory(level, name))
    }

    /// Says why the files of two layouts cannot share a directory: a path may belong to both with different names, because both put
    /// files on the same level, and one of them shortens names. `None` if they can.
    ///
    /// ```
    /// use megadir::layout::Layout;
    /// let git: Layout = "git".parse()?;
    /// assert!(git.ambiguity(&"digest:2".parse()?).is_some() && git.ambiguity(&Layout::FLAT).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ambiguity(&self, other: &Self) -> Option<String> {
        let (old, new) = (self.depths(), other.depths());
        let overlap = old.start() <= new.end() && new.start() <= old.end();
        let level = *old.end().min(new.end());
        let shortens = |layout: &Self| layout.is_trimmed() || layout.source() == Source::Decimal;
        (overlap && self != other && (shortens(self) || shortens(other))).then(|| {
            format!(
                "a path could belong to {self} and to {other} with different names, as both have files {level} level{} down and one \
                 shortens names",
                if level == 1 { "" } else { "s" },
            )
        })
    }
}

fn is_below(count: u16, name: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(name) else { return false };
    let number = u32::from_str_radix(text, 16);
    number.is_ok_and(|number| number < u32::from(count) && format!("{number:02X}") == text)
}

#[cfg(test)]
mod tests {
    use super::{check_name, on_windows};
    use crate::layout::{Layout, PRESETS, PathBuffer, Refused};

    #[test]
    fn impossible_entry_counts_are_refused() {
        for (name, reason) in [
            (&b""[..], Refused::Empty),
            (b".", Refused::Dots),
            (b"..", Refused::Dots),
            (b"a/b", Refused::Separator),
            (b"/", Refused::Separator),
            (b"a\0", Refused::Separator),
            (&[b'x'; 256], Refused::TooLong { bytes: 256 }),
        ] {
            assert_eq!(check_name(name), Err(reason), "{name:?}");
        }
        for name in [&b"..."[..], b" ", b"\n", b".hidden", b"\xff", &[b'x'; 255]] {
            assert_eq!(check_name(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn windows_refuses_more() {
        let refused: [&[u8]; 16] = [
            b"a:b",
            b"a\\b",
            b"a*",
            b"a\x1f",
            b"a.",
            b"a ",
            b"con",
            b"NUL.txt",
            b"Aux .x",
            b"COM1",
            b"lpt9.tar.gz",
            "com\u{b2}".as_bytes(),
            b"conin$",
            b"\xe2\x82",
            b"\xff",
            b"...",
        ];
        for component in refused {
            assert!(on_windows(component).is_some(), "{component:?}");
        }
        for component in [&b"com"[..], b"com10", b"console", b"a.b", "grün".as_bytes(), b"lptx", b".git"] {
            assert_eq!(on_windows(component), None, "{component:?}");
        }
    }

    #[test]
    fn every_directory_of_a_path_is_one_of_the_layout() {
        let others =
            ["prefix:2/3", "suffix:1/2+label=x", "digest:1/4", "next-to-last:3", "sequence:300/4096"];
        let layouts = PRESETS.iter().map(|preset| preset.name).chain(others);
        for layout in layouts.map(|text| text.parse::<Layout>().unwrap()) {
            let mut buffer = PathBuffer::new();
            for name in ["00012345", "123456789", "abcdefghij", "0A1B2C3F"] {
                for placer in layout.placers() {
                    let Ok(placed) = placer.place(name.as_bytes(), &mut buffer) else { continue };
                    let parts =
                        placed.directory().split(|byte| *byte == b'/').filter(|part| !part.is_empty());
                    for (level, part) in parts.enumerate() {
                        assert!(layout.has_directory(level, part), "{layout} {name} {level}");
                    }
                    assert!(!layout.has_directory(*layout.depths().end(), placed.file()), "{layout}");
                }
            }
        }
    }

    #[test]
    fn other_names_are_not() {
        for (layout, name) in [
            ("flat", "ab"),
            ("prefix:2", "abc"),
            ("prefix:2", ".."),
            ("digest:2", "AB"),
            ("digest:2+label=d", "ab"),
            ("paperclip", "00a"),
            ("squid", "10"),
            ("squid", "0a"),
            ("squid", "00A"),
            ("squid", "+1"),
        ] {
            assert!(!layout.parse::<Layout>().unwrap().has_directory(0, name.as_bytes()), "{layout} {name}");
        }
    }
}
