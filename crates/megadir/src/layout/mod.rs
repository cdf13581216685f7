//! Where a name belongs: rules that spread files over directories, as values that can be parsed and printed.
//!
//! A [`Layout`] tells the path of a file from its name alone, or (where the depth grows) from its name and
//! the number of files. It makes nothing and asks the file system nothing. Whether directories are made
//! beforehand or when a file needs one, and whether a file is written under another name first and then
//! renamed, is up to whoever writes: the path is the same.
//!
//! # How layouts are written
//!
//! ```text
//! LAYOUT  = "flat" | PRESET | SOURCE ":" LEVEL { "/" LEVEL } { "+" OPTION }
//! SOURCE  = "prefix" | "suffix" | "next-to-last" | "digest" | "decimal" | "sequence"
//! LEVEL   = how many characters a directory's name takes; with sequence, how many directories there are
//! OPTION  = "rest" | "from=" LEVELS | "under=" FILES | "label=" TEXT
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
//!
//! With `+from=2+under=2000` the depth grows: so many levels at first, and one more wherever directories
//! would otherwise hold that many files or more on average, were every digit a hex digit. A name may then lie
//! at any of these depths, and [`Layout::placers`] gives them all.
//!
//! # What holds of every path
//!
//! Two names that a layout accepts never share a path, at no depth, and no file's path is a directory of
//! another's: names of which that cannot be said are [refused](Refused). A path stays below the directory
//! that it is relative to: it has no empty component, no `.`, no `..`, and none longer than 255 bytes. Both holds
//! too where the case of ASCII letters is ignored, for names that differ in more than that.
//!
//! Names are bytes, and a directory's name may be a part of a character; where names must be Unicode
//! (Windows, and file systems set up so) that is refused, here on Windows and there by the file system.

mod component;
mod count;
mod name_of;
mod place;
mod presets;
mod refused;
mod text;

pub use component::refused_by_windows;
pub use count::Shape;
pub use name_of::NameBuffer;
pub use place::{PATH_BYTES_MAX, PathBuffer, Placed, Placer};
pub use presets::{PRESETS, Preset, by_name as preset};
pub use refused::Refused;
pub use text::LayoutError;

use std::path::PathBuf;

/// The most levels that a layout may have.
pub const LEVELS_MAX: usize = 32;
/// The longest name, and the longest component of a path, bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// The longest label, bytes.
pub const LABEL_BYTES_MAX: usize = 8;
/// The most directories in one directory of [`Source::Sequence`].
const SEQUENCE_MAX: u16 = u16::MAX;
/// The hex digits of a name of [`Source::Sequence`].
const SEQUENCE_DIGITS: usize = 8;
/// The hex digits of a digest.
const DIGEST_DIGITS: usize = 64;

/// What a directory's name is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// Nothing: all files lie in one directory.
    Flat,
    /// The beginning of the name; further levels take what follows.
    Prefix,
    /// The end of the name; further levels take what precedes.
    Suffix,
    /// The end of the name without its last character, which in some encodings does not take all values.
    NextToLast,
    /// The beginning of the name's SHA-256 in lower-case hex, whatever the name looks like.
    ///
    /// This will not change: trees are found again only by the digest that they were made with. SHA-256 because
    /// every language's own library and every system's shell has it.
    Digest,
    /// The name as a decimal number, filled up with zeros and cut into groups; the last one names the file.
    Decimal,
    /// The name as a number in 8 upper-case hex digits: a directory is filled, then the next one begins.
    ///
    /// Levels are numbers of directories, and the last one is also the number of files in a directory.
    Sequence,
}

/// How a layout becomes deeper with the number of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Growth {
    /// Levels at first; fewer than the layout has.
    pub from_levels: usize,
    /// A level more is used where directories would otherwise hold this many files or more, on average.
    pub under_files: u64,
}

/// Widths or numbers, one a level.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Levels {
    values: [u16; LEVELS_MAX],
    count: usize,
}

impl Levels {
    const fn new(levels: &[u16]) -> Self {
        let mut values = [0; LEVELS_MAX];
        let mut at = 0;
        while at < levels.len() {
            values[at] = levels[at];
            at += 1;
        }
        Self { values, count: levels.len() }
    }

    fn all(&self) -> &[u16] {
        &self.values[..self.count]
    }
}

/// What every directory's name begins with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Label {
    bytes: [u8; LABEL_BYTES_MAX],
    length: usize,
}

impl Label {
    const NONE: Self = Self::new("");

    const fn new(text: &str) -> Self {
        let mut bytes = [0; LABEL_BYTES_MAX];
        let mut at = 0;
        while at < text.len() {
            bytes[at] = text.as_bytes()[at];
            at += 1;
        }
        Self { bytes, length: text.len() }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// A rule that tells where below a directory a name belongs.
///
/// ```
/// use megadir::layout::Layout;
/// let layout: Layout = "prefix:2/2".parse()?;
/// let path = layout.path_for(b"d41d8cd98f00b204e9800998ecf8427e")?;
/// assert_eq!(path.to_str(), Some("d4/1d/d41d8cd98f00b204e9800998ecf8427e"));
/// assert_eq!(layout.to_string(), "prefix:2/2");
///
/// let refused = layout.path_for(b"abc").unwrap_err();
/// assert_eq!(refused.to_string(), "it has 3 bytes, and the layout needs at least 4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// For millions of names there is [`Placer::place`], which allocates nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    source: Source,
    levels: Levels,
    trimmed: bool,
    growth: Option<Growth>,
    label: Label,
}

impl Layout {
    /// All files in one directory.
    pub const FLAT: Self = Self::fixed(Source::Flat, &[]);

    /// Makes a layout that nobody checks: for constants, which tests check.
    const fn fixed(source: Source, levels: &[u16]) -> Self {
        Self { source, levels: Levels::new(levels), trimmed: false, growth: None, label: Label::NONE }
    }

    /// Makes a layout of so many levels, of these widths (with [`Source::Sequence`], numbers).
    ///
    /// # Errors
    ///
    /// Levels that the source cannot have: none or more than [`LEVELS_MAX`], a width of 0, more characters than a name
    /// or a digest has.
    pub fn new(source: Source, levels: &[u16]) -> Result<Self, LayoutError> {
        text::check_levels(source, levels)?;
        Ok(Self::fixed(source, levels))
    }

    /// Leaves the characters that became directories out of the file's own name.
    ///
    /// # Errors
    ///
    /// If the source is not [`Source::Prefix`].
    pub fn trimmed(self) -> Result<Self, LayoutError> {
        if self.source != Source::Prefix {
            return Err(LayoutError::new("only prefix can leave the file the rest of the name"));
        }
        Ok(Self { trimmed: true, ..self })
    }

    /// Makes the depth grow with the number of files.
    ///
    /// # Errors
    ///
    /// A source whose digits are no part of the name or its digest, as many levels from the start as there are, or
    /// a limit of 0 files.
    pub fn growing(self, growth: Growth) -> Result<Self, LayoutError> {
        if !self.takes_label() {
            return Err(LayoutError::new("only prefix, suffix, next-to-last and digest can grow"));
        }
        if growth.from_levels >= self.levels.count {
            let most = self.levels.count - 1;
            return Err(LayoutError::new(format!("from is less than the levels written: 0 to {most}")));
        }
        if growth.under_files == 0 {
            return Err(LayoutError::new("under is at least 1 file"));
        }
        Ok(Self { growth: Some(growth), ..self })
    }

    /// Puts the same text before every directory's name.
    ///
    /// # Errors
    ///
    /// A source whose directories are numbers; a text that is empty, longer than [`LABEL_BYTES_MAX`] or too long for the
    /// widest level, or has characters other than letters, digits, `_` and `-` of ASCII; and `COM` and `LPT`, which a
    /// digit makes devices of Windows.
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
            return Err(LayoutError::new("with a digit after it, the label names a device on Windows"));
        }
        let widest = self.levels().iter().copied().max().map_or(0, usize::from);
        if label.len() + widest > NAME_BYTES_MAX {
            let most = NAME_BYTES_MAX - widest;
            let reason = format!("with {widest} characters after it, a label has at most {most} here");
            return Err(LayoutError::new(reason));
        }
        Ok(Self { label: Label::new(label), ..self })
    }

    fn takes_label(&self) -> bool {
        matches!(self.source, Source::Prefix | Source::Suffix | Source::NextToLast | Source::Digest)
    }

    /// Returns what directories' names are taken from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Returns the widths of the levels in characters (with [`Source::Sequence`], their numbers of directories).
    pub fn levels(&self) -> &[u16] {
        self.levels.all()
    }

    /// Tells whether the characters that became directories are left out of the file's own name.
    pub fn is_trimmed(&self) -> bool {
        self.trimmed
    }

    /// Returns how the depth grows; `None` if it is the same for any number of files.
    pub fn growth(&self) -> Option<Growth> {
        self.growth
    }

    /// Returns what every directory's name begins with; mostly nothing.
    pub fn label(&self) -> &str {
        std::str::from_utf8(self.label.as_bytes()).unwrap_or_default()
    }

    /// Returns the fewest and the most directories that are between the top and a file.
    pub fn depths(&self) -> std::ops::RangeInclusive<usize> {
        let most = match self.source {
            Source::Decimal => self.levels.count - 1,
            _ => self.levels.count,
        };
        self.growth.map_or(most, |growth| growth.from_levels)..=most
    }

    /// Returns the layout at the depth that it has for so many files.
    pub fn at(&self, files: u64) -> Placer {
        let depths = self.depths();
        let Some(growth) = self.growth else { return Placer::new(*self, *depths.end()) };
        // Files in a directory, were every character a hex digit: by division, as ccache does.
        let holds = |depth: usize| {
            let bits: u32 = self.levels()[..depth].iter().map(|width| 4 * u32::from(*width)).sum();
            files.checked_shr(bits).unwrap_or(0)
        };
        let deepest = *depths.end();
        let depth = depths.clone().find(|depth| holds(*depth) < growth.under_files).unwrap_or(deepest);
        Placer::new(*self, depth)
    }

    /// Returns the layout at every depth that it can have, the shallowest first.
    ///
    /// A file may lie at any of them, since it was put there when there were fewer files or more.
    pub fn placers(&self) -> impl Iterator<Item = Placer> + use<> {
        let layout = *self;
        self.depths().map(move |depth| Placer::new(layout, depth))
    }

    /// Returns the path of a name, relative to the top.
    ///
    /// # Errors
    ///
    /// The reason why the name has no place in this layout; [`Refused::Growing`] if the depth depends on the number of
    /// files: then ask [`Layout::at`].
    pub fn path_for(&self, name: &[u8]) -> Result<PathBuf, Refused> {
        match self.growth {
            Some(_) => Err(Refused::Growing),
            None => self.at(0).path_for(name),
        }
    }
}

#[cfg(test)]
mod tests;
