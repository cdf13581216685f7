//! Maps a name to its path without allocating.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::component::{check, check_name};
use super::{
    DIGEST_DIGITS, LABEL_BYTES_MAX, LEVELS_MAX, Layout, NAME_BYTES_MAX, Refused, SEQUENCE_DIGITS, Source,
};

/// Maximum length of a path, bytes: digits of all levels, labels, separators, and the file.
pub const PATH_BYTES_MAX: usize = NAME_BYTES_MAX + LEVELS_MAX * (LABEL_BYTES_MAX + 1) + NAME_BYTES_MAX;

/// Buffer of a fixed size.
#[derive(Clone)]
pub struct Buffer<const BYTES: usize> {
    bytes: [u8; BYTES],
}

/// Buffer for a path.
pub type PathBuffer = Buffer<PATH_BYTES_MAX>;
/// Buffer for a name.
pub type NameBuffer = Buffer<NAME_BYTES_MAX>;

impl<const BYTES: usize> Buffer<BYTES> {
    /// Creates an empty buffer.
    pub fn new() -> Self {
        Self { bytes: [0; BYTES] }
    }
}

impl<const BYTES: usize> Default for Buffer<BYTES> {
    fn default() -> Self {
        Self::new()
    }
}

/// Path of a name, relative to the top, with `/` between its components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<'a> {
    path: &'a [u8],
    file_at: usize,
}

impl<'a> Placed<'a> {
    /// The whole path.
    pub fn path(&self) -> &'a [u8] {
        self.path
    }

    /// Directory of the file; empty for the top itself.
    pub fn directory(&self) -> &'a [u8] {
        &self.path[..self.file_at.saturating_sub(1)]
    }

    /// Name of the file in its directory.
    pub fn file(&self) -> &'a [u8] {
        &self.path[self.file_at..]
    }
}

/// A layout at one depth.
///
/// ```
/// use megadir::layout::{Layout, PathBuffer};
/// let placer = "git".parse::<Layout>()?.at(1_000_000);
/// let mut buffer = PathBuffer::new();
/// let placed = placer.place(b"d670460b4b4aece5915caf5c68d12f560a9fe3e4", &mut buffer)?;
/// assert_eq!(placed.directory(), b"d6");
/// assert_eq!(placed.file(), b"70460b4b4aece5915caf5c68d12f560a9fe3e4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Placer {
    layout: Layout,
    depth: usize,
}

impl Placer {
    pub(super) fn new(layout: Layout, depth: usize) -> Self {
        Self { layout, depth }
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Number of directories between the top and a file.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Writes the path of a name into a buffer. A name is accepted at all depths or at none. Errors: the layout refuses the name.
    pub fn place<'a>(&self, name: &[u8], buffer: &'a mut PathBuffer) -> Result<Placed<'a>, Refused> {
        check_name(name)?;
        let mut path = Path { bytes: &mut buffer.bytes, length: 0, depth: self.depth };
        let file = match self.layout.source {
            Source::Flat => name,
            Source::Prefix | Source::Suffix | Source::NextToLast => self.cut(name, &mut path)?,
            Source::Digest => self.digest(name, &mut path)?,
            Source::Decimal => return self.decimal(name, path),
            Source::Sequence => self.sequence(name, &mut path)?,
        };
        check(file)?;
        Ok(path.end(file))
    }

    /// Returns the path of a name, relative to the top. Errors: as [`Placer::place`].
    pub fn path_for(&self, name: &[u8]) -> Result<PathBuf, Refused> {
        let mut buffer = PathBuffer::new();
        let placed = self.place(name, &mut buffer)?;
        let path = crate::names::to_os(placed.path());
        path.map(|path| path.into_owned().into()).map_err(|_| Refused::System("it is not Unicode"))
    }

    /// Checks all levels, but writes only the levels of this depth; returns the file's name.
    fn cut<'n>(&self, name: &'n [u8], path: &mut Path<'_>) -> Result<&'n [u8], Refused> {
        // A name must be accepted at all depths or at none, since the depth may grow later: so every level is
        // checked even if it is not written. Digits are cut from the beginning or the end of the name, level
        // by level. With `trimmed`, a file's name loses the digits of its directories, and what is left is
        // checked as a name at each level.
        let Layout { source, trimmed, .. } = self.layout;
        let label = self.layout.label.all();
        let widths = self.layout.levels().iter().map(|width| usize::from(*width));
        let least = self.layout.name_bytes_min();
        if name.len() < least {
            return Err(Refused::TooShort { bytes: name.len(), least });
        }
        let mut left = name.strip_suffix(self.layout.ending.all()).ok_or(Refused::OtherEnding)?;
        if source == Source::NextToLast {
            left = &left[..left.len() - 1];
        }
        let mut file = name;
        if trimmed {
            self.check_at(name, 0)?;
        } else {
            self.check_whole(name)?;
        }
        for (level, width) in widths.enumerate() {
            let digits;
            if source == Source::Prefix {
                (digits, left) = left.split_at(width);
            } else {
                (left, digits) = left.split_at(left.len() - width);
            }
            // With a label, a directory is never '.' or '..'. Windows has more rules.
            if label.is_empty() {
                check(digits)?;
            } else if cfg!(windows) {
                check(&[label, digits].concat())?;
            }
            path.push(label, digits);
            if trimmed {
                self.check_at(left, level + 1)?;
                file = if level < self.depth { left } else { file };
            }
        }
        Ok(file)
    }

    fn digest<'n>(&self, name: &'n [u8], path: &mut Path<'_>) -> Result<&'n [u8], Refused> {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        self.check_whole(name)?;
        if self.depth > 0 {
            let mut digits = [0; DIGEST_DIGITS];
            for (pair, byte) in digits.chunks_exact_mut(2).zip(Sha256::digest(name)) {
                pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
            let mut left = &digits[..];
            for width in self.layout.levels() {
                let (digits, after) = left.split_at(usize::from(*width));
                path.push(self.layout.label.all(), digits);
                left = after;
            }
        }
        Ok(name)
    }

    fn decimal<'a>(&self, name: &[u8], mut path: Path<'a>) -> Result<Placed<'a>, Refused> {
        let digits: usize = self.layout.levels().iter().map(|width| usize::from(*width)).sum();
        let leading = name.len() > 1 && name[0] == b'0';
        if name.len() > digits || leading || !name.iter().all(u8::is_ascii_digit) {
            return Err(Refused::NotDecimal { digits });
        }
        let mut padded = [b'0'; NAME_BYTES_MAX];
        padded[digits - name.len()..digits].copy_from_slice(name);
        let mut left = &padded[..digits];
        for width in &self.layout.levels()[..self.depth] {
            let (group, after) = left.split_at(usize::from(*width));
            path.push(b"", group);
            left = after;
        }
        Ok(path.end(left))
    }

    fn sequence<'n>(&self, name: &'n [u8], path: &mut Path<'_>) -> Result<&'n [u8], Refused> {
        if name.len() != SEQUENCE_DIGITS {
            return Err(Refused::NotSequence);
        }
        let mut number: u32 = 0;
        for byte in name {
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'A'..=b'F' => byte - b'A' + 10,
                _ => return Err(Refused::NotSequence),
            };
            number = number << 4 | u32::from(digit);
        }
        let counts = self.layout.levels();
        let mut directories = [0; LEVELS_MAX];
        number /= u32::from(counts[counts.len() - 1]);
        for (directory, count) in directories.iter_mut().zip(counts).rev() {
            *directory = number % u32::from(*count);
            number /= u32::from(*count);
        }
        for directory in &directories[..counts.len()] {
            let mut digits = [0; 4];
            path.push(b"", upper_hex(*directory, &mut digits));
        }
        Ok(name)
    }

    fn check_whole(&self, file: &[u8]) -> Result<(), Refused> {
        (0..self.layout.levels().len()).try_for_each(|depth| self.check_at(file, depth))
    }

    /// A name must be possible at the depth, and impossible for a directory next to the file. Ignores case, as some file systems do.
    fn check_at(&self, file: &[u8], depth: usize) -> Result<(), Refused> {
        if self.layout.growth.is_none_or(|growth| depth < growth.from_levels) {
            return Ok(());
        }
        check(file)?;
        let Some(width) = self.layout.levels().get(depth) else { return Ok(()) };
        let label = self.layout.label.all();
        let labelled = file.get(..label.len()).is_some_and(|start| start.eq_ignore_ascii_case(label));
        let like = labelled && file.len() == label.len() + usize::from(*width);
        if like { Err(Refused::LikeDirectory) } else { Ok(()) }
    }
}

struct Path<'a> {
    bytes: &'a mut [u8; PATH_BYTES_MAX],
    length: usize,
    depth: usize,
}

impl<'a> Path<'a> {
    fn push(&mut self, label: &[u8], digits: &[u8]) {
        if self.depth > 0 {
            self.depth -= 1;
            self.append(label);
            self.append(digits);
            self.append(b"/");
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn end(mut self, file: &[u8]) -> Placed<'a> {
        let file_at = self.length;
        self.append(file);
        Placed { path: &self.bytes[..self.length], file_at }
    }
}

/// As printf's `%02X`.
fn upper_hex(number: u32, digits: &mut [u8; 4]) -> &[u8] {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for (place, digit) in digits.iter_mut().enumerate() {
        *digit = HEX[(number >> (12 - 4 * place) & 15) as usize];
    }
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    &digits[zeros.min(2)..]
}

impl Layout {
    /// Returns the name that has this path, at any depth of the layout; `None` if no name has.
    ///
    /// The path is relative to the top, with `/` between its components.
    ///
    /// ```
    /// use megadir::layout::{Layout, NameBuffer};
    /// let layout: Layout = "paperclip".parse()?;
    /// let mut buffer = NameBuffer::new();
    /// assert_eq!(layout.name_of(b"000/001/234", &mut buffer), Some(&b"1234"[..]));
    /// assert_eq!(layout.name_of(b"000/1234", &mut buffer), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name_of<'a>(&self, path: &[u8], buffer: &'a mut NameBuffer) -> Option<&'a [u8]> {
        let depth = path.iter().filter(|byte| **byte == b'/').count();
        let placer = self.placers().find(|placer| placer.depth() == depth)?;
        let length = self.guess(path, &mut buffer.bytes)?;
        let name = &buffer.bytes[..length];
        let mut again = PathBuffer::new();
        let placed = placer.place(name, &mut again).ok()?;
        (placed.path() == path).then_some(name)
    }

    fn guess(&self, path: &[u8], name: &mut [u8; NAME_BYTES_MAX]) -> Option<usize> {
        let mut components = path.split(|byte| *byte == b'/');
        let file = components.next_back()?;
        let mut length = 0;
        let mut append = |bytes: &[u8]| {
            name.get_mut(length..length + bytes.len())?.copy_from_slice(bytes);
            length += bytes.len();
            Some(())
        };
        if self.source == Source::Decimal || self.trimmed {
            for directory in components {
                append(directory.strip_prefix(self.label.all())?)?;
            }
        }
        append(file)?;
        if self.source == Source::Decimal {
            let zeros = name[..length].iter().take_while(|digit| **digit == b'0').count();
            let start = zeros.min(length.saturating_sub(1));
            name.copy_within(start..length, 0);
            length -= start;
        }
        Some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::upper_hex;

    #[test]
    fn hex_has_two_digits_or_more() {
        for number in [0, 1, 15, 16, 255, 256, 4095, 4096, 65_535] {
            assert_eq!(upper_hex(number, &mut [0; 4]), format!("{number:02X}").as_bytes());
        }
    }
}
