//! Layouts: rules that spread files over directories, as values that can be parsed and printed.
//!
//! A [`Layout`] maps a file's name to its path; if the depth grows, it also needs the number of files. It
//! does not access the file system. The caller may create directories in advance or on demand.
//!
//! # Syntax
//!
//! ```text
//! LAYOUT  = "flat" | PRESET | SOURCE ":" LEVEL { "/" LEVEL } { "+" OPTION }
//! SOURCE  = "prefix" | "suffix" | "next-to-last" | "digest" | "decimal" | "sequence"
//! LEVEL   = number of characters of a directory's name; with sequence, number of directories
//! OPTION  = "rest" | "from=" LEVELS | "under=" FILES | "label=" TEXT | "ending=" TEXT
//! ```
//!
//! | layout | name | path |
//! |---|---|---|
//! | `flat` | `abcdef` | `abcdef` |
//! | `prefix:2/2` | `abcdef` | `ab/cd/abcdef` |
//! | `prefix:2+rest` | `abcdef` | `ab/cdef` |
//! | `suffix:1/2` | `abcdef` | `f/de/abcdef` |
//! | `next-to-last:2` | `abcdef` | `de/abcdef` |
//! | `digest:2/2` | `abcdef` | `be/f5/abcdef`: SHA-256 of the name in hex, as `printf %s abcdef \| sha256sum` |
//! | `decimal:3/3/3` | `1234` | `000/001/234` |
//! | `sequence:16/256` | `00012345` | `01/23/00012345` |
//! | `suffix:1/1+label=DIR_` | `abcdef` | `DIR_f/DIR_e/abcdef` |
//! | `next-to-last:2+ending=.data` | `abcdef.data` | `de/abcdef.data`; other endings are refused |
//!
//! With `+from=2+under=2000` the depth grows: 2 levels at first, and one more whenever directories would
//! otherwise hold 2000 files or more on average, for hex digits. A file may then have any of these depths;
//! [`Layout::placers`] returns them all.
//!
//! # Guarantees
//!
//! Two names that a layout accepts never share a path, at any depth, and no file's path is the directory of another file. Other
//! names are [refused](Refused). A path stays below the top: it has no empty component, no `.` or `..`, and no component longer
//! than 255 bytes. This also holds if ASCII case is ignored, for names that differ in more than case.
//!
//! Names are bytes, so a directory's name may be a part of a character. Where names must be Unicode, the
//! layout (on Windows) or the file system refuses such names.
//!
//! A [`Layout`] is the rule, a `Placer` the rule at one depth. Names that might share a path with another, or be a
//! directory of another, are refused at all depths alike. Digests are SHA-256, which any language and any shell can
//! compute; they will never change.

mod component;
mod count;
mod place;
mod presets;
mod text;

pub use component::Refused;
pub use count::Shape;
pub use place::{Buffer, NameBuffer, PATH_BYTES_MAX, PathBuffer, Placed, Placer};
pub use presets::{PRESETS, Preset, by_name as preset};
pub use text::LayoutError;

use std::path::PathBuf;

/// Maximum number of levels of a layout.
pub const LEVELS_MAX: usize = 32;
/// Maximum length of a name and of a path's component, bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// Maximum length of a label, bytes.
pub const LABEL_BYTES_MAX: usize = 8;
/// Maximum length of an ending, bytes.
pub const ENDING_BYTES_MAX: usize = 16;
const SEQUENCE_MAX: u16 = u16::MAX;
const SEQUENCE_DIGITS: usize = 8;
const DIGEST_DIGITS: usize = 64;

/// Source of directory names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// None: all files lie in one directory.
    Flat,
    /// Beginning of the name; deeper levels take the characters that follow.
    Prefix,
    /// End of the name; deeper levels take the characters that precede.
    Suffix,
    /// End of the name without its last character, which in some encodings does not take all values.
    NextToLast,
    /// SHA-256 of the name in lower-case hex.
    ///
    /// Never changes, because files are found by it. Most languages and shells have SHA-256.
    Digest,
    /// The name as a decimal number, padded with zeros and cut into groups. The last group names the file.
    Decimal,
    /// The name as a number of 8 upper-case hex digits. Files fill one directory, then the next. Levels are
    /// numbers of directories; the last is also the number of files per directory.
    Sequence,
}

/// Growth of a layout's depth with the number of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Growth {
    /// Initial number of levels, less than the layout's.
    pub from_levels: usize,
    /// One more level is used if directories would otherwise hold this many files or more, on average.
    pub under_files: u64,
}

/// Up to `MOST` values.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Few<T, const MOST: usize> {
    values: [T; MOST],
    count: usize,
}

impl<T: Copy, const MOST: usize> Few<T, MOST> {
    const fn new(all: &[T], unused: T) -> Self {
        let mut values = [unused; MOST];
        let mut at = 0;
        while at < all.len() {
            values[at] = all[at];
            at += 1;
        }
        Self { values, count: all.len() }
    }

    fn all(&self) -> &[T] {
        &self.values[..self.count]
    }
}

/// A rule that maps a file's name to its path.
///
/// ```
/// use megadir::layout::Layout;
/// let layout: Layout = "prefix:2/2".parse()?;
/// let path = layout.path_for(b"d41d8cd98f00b204e9800998ecf8427e")?;
/// assert_eq!(path.to_str(), Some("d4/1d/d41d8cd98f00b204e9800998ecf8427e"));
/// assert_eq!(layout.to_string(), "prefix:2/2");
/// let refused = layout.path_for(b"abc").unwrap_err();
/// assert_eq!(refused.to_string(), "it has 3 bytes, and the layout needs at least 4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// For millions of names use [`Placer::place`], which does not allocate.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    source: Source,
    levels: Few<u16, LEVELS_MAX>,
    trimmed: bool,
    growth: Option<Growth>,
    label: Few<u8, LABEL_BYTES_MAX>,
    ending: Few<u8, ENDING_BYTES_MAX>,
}

impl Layout {
    /// All files in one directory.
    pub const FLAT: Self = Self::fixed(Source::Flat, &[]);

    const fn fixed(source: Source, levels: &[u16]) -> Self {
        let (levels, label, ending) = (Few::new(levels, 0), Few::new(&[], 0), Few::new(&[], 0));
        Self { source, levels, trimmed: false, growth: None, label, ending }
    }

    /// Creates a layout with these widths of levels (with [`Source::Sequence`], numbers of directories). Errors: no levels or
    /// more than [`LEVELS_MAX`], a width of 0, or more characters than a name or digest has.
    pub fn new(source: Source, levels: &[u16]) -> Result<Self, LayoutError> {
        text::check_levels(source, levels)?;
        Ok(Self::fixed(source, levels))
    }

    /// Leaves the characters that became directories out of the file's name. Errors: the source is not
    /// [`Source::Prefix`].
    pub fn trimmed(self) -> Result<Self, LayoutError> {
        if self.source != Source::Prefix {
            return Err(LayoutError::new("only prefix supports rest"));
        }
        Ok(Self { trimmed: true, ..self })
    }

    /// Makes the depth grow with the number of files. Errors: a source whose digits are not part of the name
    /// or its digest, an initial number of levels that is not less than the layout's, or a limit of 0 files.
    pub fn growing(self, growth: Growth) -> Result<Self, LayoutError> {
        if !self.takes_label() {
            return Err(LayoutError::new(
                "only prefix, suffix, next-to-last and digest support from and under",
            ));
        }
        if growth.from_levels >= self.levels.count {
            let most = self.levels.count - 1;
            return Err(LayoutError::new(format!(
                "from must be less than the number of levels: 0 to {most}"
            )));
        }
        if growth.under_files == 0 {
            return Err(LayoutError::new("under must be at least 1"));
        }
        Ok(Self { growth: Some(growth), ..self })
    }

    /// Prefixes every directory's name with `label`. Errors: a source whose directories are numbers; a label
    /// that is empty, longer than [`LABEL_BYTES_MAX`], too long for the widest level, or has characters other
    /// than ASCII letters, digits, `_` and `-`; and the Windows devices `COM` and `LPT`.
    pub fn labelled(self, label: &str) -> Result<Self, LayoutError> {
        if !self.takes_label() {
            return Err(LayoutError::new("only prefix, suffix, next-to-last and digest take a label"));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if label.is_empty() || label.len() > LABEL_BYTES_MAX || !label.bytes().all(plain) {
            let reason = format!("a label is 1 to {LABEL_BYTES_MAX} of A-Z, a-z, 0-9, '_' and '-'");
            return Err(LayoutError::new(reason));
        }
        if label.eq_ignore_ascii_case("com") || label.eq_ignore_ascii_case("lpt") {
            return Err(LayoutError::new("followed by a digit, the label names a device on Windows"));
        }
        let widest = self.levels().iter().copied().max().map_or(0, usize::from);
        if label.len() + widest > NAME_BYTES_MAX {
            let most = NAME_BYTES_MAX - widest;
            let reason = format!("followed by {widest} characters, a label has at most {most}");
            return Err(LayoutError::new(reason));
        }
        Ok(Self { label: Few::new(label.as_bytes(), 0), ..self })
    }

    /// Accepts only names with `ending`, and takes directories from the characters before it. Errors: a source other than
    /// [`Source::Suffix`] and [`Source::NextToLast`]; an ending that is empty, longer than [`ENDING_BYTES_MAX`], leaves no room for the
    /// levels, or has characters other than ASCII letters, digits, `_`, `-` and `.`.
    pub fn ended(self, ending: &str) -> Result<Self, LayoutError> {
        if !matches!(self.source, Source::Suffix | Source::NextToLast) {
            return Err(LayoutError::new("only suffix and next-to-last take an ending"));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if ending.is_empty() || ending.len() > ENDING_BYTES_MAX || !ending.bytes().all(plain) {
            let reason = format!("an ending is 1 to {ENDING_BYTES_MAX} of A-Z, a-z, 0-9, '_', '-' and '.'");
            return Err(LayoutError::new(reason));
        }
        let layout = Self { ending: Few::new(ending.as_bytes(), 0), ..self };
        let least = layout.name_bytes_min();
        if least > NAME_BYTES_MAX {
            let reason = format!(
                "with this ending a name has at least {least} characters, and the maximum is {NAME_BYTES_MAX}"
            );
            return Err(LayoutError::new(reason));
        }
        Ok(layout)
    }

    /// Length of the shortest name that has all characters the directories are taken from, bytes, for sources that take them from the name.
    pub fn name_bytes_min(&self) -> usize {
        let widths: usize = self.levels().iter().map(|width| usize::from(*width)).sum();
        let spare = usize::from(self.trimmed || self.source == Source::NextToLast);
        widths + spare + self.ending.count
    }

    fn takes_label(&self) -> bool {
        matches!(self.source, Source::Prefix | Source::Suffix | Source::NextToLast | Source::Digest)
    }

    /// Source of directory names.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Widths of the levels in characters (with [`Source::Sequence`], numbers of directories).
    pub fn levels(&self) -> &[u16] {
        self.levels.all()
    }

    /// `true` if the characters that became directories are left out of the file's name.
    pub fn is_trimmed(&self) -> bool {
        self.trimmed
    }

    /// Growth of the depth; `None` if it is fixed.
    pub fn growth(&self) -> Option<Growth> {
        self.growth
    }

    /// Prefix of every directory's name; empty by default.
    pub fn label(&self) -> &str {
        std::str::from_utf8(self.label.all()).unwrap_or_default()
    }

    /// Ending of every name, which no directory is taken from; empty by default.
    pub fn ending(&self) -> &str {
        std::str::from_utf8(self.ending.all()).unwrap_or_default()
    }

    /// Minimum and maximum number of directories between the top and a file.
    pub fn depths(&self) -> std::ops::RangeInclusive<usize> {
        let most = match self.source {
            Source::Decimal => self.levels.count - 1,
            _ => self.levels.count,
        };
        self.growth.map_or(most, |growth| growth.from_levels)..=most
    }

    /// The layout at its depth for `files` files.
    pub fn at(&self, files: u64) -> Placer {
        let depths = self.depths();
        let Some(growth) = self.growth else { return Placer::new(*self, *depths.end()) };
        let holds = |depth: usize| {
            let bits: u32 = self.levels()[..depth].iter().map(|width| 4 * u32::from(*width)).sum();
            files.checked_shr(bits).unwrap_or(0)
        };
        let deepest = *depths.end();
        let depth = depths.clone().find(|depth| holds(*depth) < growth.under_files).unwrap_or(deepest);
        Placer::new(*self, depth)
    }

    /// The layout at each of its depths, the shallowest first.
    pub fn placers(&self) -> impl Iterator<Item = Placer> + use<> {
        let layout = *self;
        self.depths().map(move |depth| Placer::new(layout, depth))
    }

    /// Returns the path of a name, relative to the top. Errors: the layout refuses the name;
    /// [`Refused::Growing`] if the depth depends on the number of files (use [`Layout::at`]).
    pub fn path_for(&self, name: &[u8]) -> Result<PathBuf, Refused> {
        match self.growth {
            Some(_) => Err(Refused::Growing),
            None => self.at(0).path_for(name),
        }
    }
}

#[cfg(test)]
mod tests;
