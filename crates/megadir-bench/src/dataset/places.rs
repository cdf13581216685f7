//! Path of the n-th file: flat, in a layout, a number of files per directory, or in the shape of a user's
//! tree.
//!
//! ```text
//!  Flat            file000000000042
//!  Layout          3e/ac/3eac1f3c...               the library's `Placer`, as a program would use it
//!  PerDirectory    d000000/file000000000042        index / files
//!  Shape           d0/d17/...                      levels of a copied tree
//! ```
//!
//! The opposite question, the n-th directory, is `Directories`: directories can be made and timed before
//! the files only if they are known without going through all names.

use megadir::layout::{Layout, PathBuffer, Placer, Refused, Source};
use megadir_record::{Level, NameScheme, Spread};

use crate::dataset::names::{decimal, hex_digits};
use crate::dataset::{FilesError, NAME_BYTES_MAX, Names};

/// Enough for 10^8 files in directories of 100; larger numbers take more digits.
const DIRECTORY_DIGITS: usize = 6;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Places {
    Flat,
    Layout(Placer),
    PerDirectory(u64),
    Shape(Shape),
}

impl Places {
    pub(super) fn new(spread: &Spread, entries: u64) -> Result<Self, FilesError> {
        let contradiction = |reason: String| Err(FilesError::Contradiction(reason));
        match spread {
            Spread::Flat => Ok(Self::Flat),
            Spread::Layout { layout } => match layout.parse::<Layout>() {
                Ok(layout) => Ok(Self::Layout(layout.at(entries))),
                Err(error) => Err(FilesError::Layout { layout: layout.clone(), reason: error.to_string() }),
            },
            Spread::PerDirectory { files: 0 } => {
                contradiction("0 files per directory: must be at least 1".into())
            }
            Spread::PerDirectory { files } => Ok(Self::PerDirectory(*files)),
            Spread::Shape { levels } => match Shape::new(levels) {
                Ok(shape) if shape.files == entries => Ok(Self::Shape(shape)),
                Ok(shape) => contradiction(format!(
                    "the shape has {} files, but {entries} were requested",
                    shape.files
                )),
                Err(reason) => contradiction(reason),
            },
        }
    }

    /// Writes the path of a file into the buffer. Errors: the layout refuses the name.
    pub(super) fn place<'a>(
        &self,
        names: Names,
        index: u64,
        buffer: &'a mut PlaceBuffer,
    ) -> Result<FilePlace<'a>, Refused> {
        let PlaceBuffer { name, layout, path } = buffer;
        Ok(match self {
            Self::Flat => FilePlace { path: names.write(index, name), file_at: 0 },
            Self::Layout(placer) => {
                let written = names.write(index, name);
                let ending = placer.layout().ending();
                let placed = match ending {
                    "" => placer.place(written, layout)?,
                    ending => placer.place(&[written, ending.as_bytes()].concat(), layout)?,
                };
                FilePlace { path: placed.path(), file_at: placed.path().len() - placed.file().len() }
            }
            Self::PerDirectory(files) => {
                let mut path = PathWriter::new(path);
                path.directory(index / files, DIRECTORY_DIGITS);
                path.file(names.write_in(index % files, index, name))
            }
            Self::Shape(shape) => {
                let mut path = PathWriter::new(path);
                let number = shape.directory_of(index, &mut path);
                path.file(names.write_in(number, index, name))
            }
        })
    }
}

/// Directories of a data set by number, parents before their subdirectories.
#[derive(Clone, Debug)]
pub struct Directories<'a> {
    places: &'a Places,
    levels: Vec<u64>,
}

impl<'a> Directories<'a> {
    pub(super) fn of(places: &'a Places, names: NameScheme, entries: u64) -> Option<Self> {
        let levels = match places {
            Places::Flat => Vec::new(),
            Places::Layout(placer) => layout_levels(placer, names, entries)?,
            Places::PerDirectory(files) => vec![entries.div_ceil(*files)],
            Places::Shape(shape) => shape.levels_below().collect(),
        };
        Some(Self { places, levels })
    }

    pub fn count(&self) -> u64 {
        self.levels.iter().fold(0, |sum, level| sum.saturating_add(*level))
    }

    /// `None` from [`Directories::count`] on.
    ///
    /// Directories are numbered level by level from the top, so that a directory has a higher number than its
    /// parent and making them in order never lacks one. In layouts by number a directory is found through the
    /// first file that is placed in it; in those by digest its digits are its number.
    pub fn path<'b>(&self, number: u64, buffer: &'b mut PlaceBuffer) -> Option<&'b [u8]> {
        let mut number = number;
        let mut level = 0;
        while number >= *self.levels.get(level)? {
            number -= self.levels[level];
            level += 1;
        }
        let mut path = PathWriter::new(&mut buffer.path);
        match self.places {
            Places::Flat => return None,
            Places::PerDirectory(_) => path.directory(number, DIRECTORY_DIGITS),
            Places::Shape(shape) => shape.write_directory(level + 1, number, &mut path),
            Places::Layout(placer) => match placer.layout().source() {
                Source::Decimal | Source::Sequence => {
                    let first = number.checked_mul(files_below(placer, level))?;
                    let names = match placer.layout().source() {
                        Source::Decimal => NameScheme::Decimal,
                        _ => NameScheme::UpperHex,
                    };
                    let name = Names { scheme: names, seed: 0 }.write(first, &mut buffer.name);
                    let placed = placer.place(name, &mut buffer.layout).ok()?;
                    let components = placed.path().split(|byte| *byte == b'/').take(level + 1);
                    for component in components {
                        path.separate();
                        path.push(component);
                    }
                }
                _ => write_hex(placer.layout(), level, number, &mut path),
            },
        }
        Some(path.path())
    }
}

/// Directories on each level of a layout; `None` if they depend on the names. Digests and hexadecimal names
/// use all directories sooner or later, so all are counted; numbers use them from the first on.
fn layout_levels(placer: &Placer, names: NameScheme, entries: u64) -> Option<Vec<u64>> {
    let layout = placer.layout();
    let mut product = 1_u64;
    let hex = |width: &u16| {
        product = product.saturating_mul(16_u64.saturating_pow(u32::from(*width)));
        product
    };
    let widths = &layout.levels()[..placer.depth()];
    match (layout.source(), names) {
        (Source::Flat, _) => Some(Vec::new()),
        (Source::Digest, _)
        | (Source::Prefix | Source::Suffix | Source::NextToLast, NameScheme::Md5 | NameScheme::Hex) => {
            Some(widths.iter().map(hex).collect())
        }
        (Source::Decimal, NameScheme::Decimal) => {
            let used = |level| entries.div_ceil(files_below(placer, level));
            Some((0..placer.depth()).map(used).collect())
        }
        (Source::Sequence, NameScheme::UpperHex) => {
            let mut most = 1_u64;
            let used = |(level, count): (usize, &u16)| {
                most = most.saturating_mul(u64::from(*count));
                entries.div_ceil(files_below(placer, level)).min(most)
            };
            Some(widths.iter().enumerate().map(used).collect())
        }
        _ => None,
    }
}

/// Files that a directory of this level takes in a layout by number.
fn files_below(placer: &Placer, level: usize) -> u64 {
    let levels = placer.layout().levels();
    match placer.layout().source() {
        Source::Decimal => {
            let digits = levels[level + 1..].iter().map(|width| u32::from(*width)).sum();
            10_u64.saturating_pow(digits)
        }
        _ => {
            let last = levels.last().map_or(1, |count| u64::from(*count));
            levels[level + 1..].iter().fold(last, |below, count| below.saturating_mul(u64::from(*count)))
        }
    }
}

/// Path of a directory in a layout by digits: the digits of its number, cut into the widths of the levels.
fn write_hex(layout: &Layout, level: usize, number: u64, path: &mut PathWriter<'_>) {
    let mut digits = [0; 16];
    hex_digits(&number.to_be_bytes(), &mut digits);
    let widths = &layout.levels()[..=level];
    let mut left: usize = widths.iter().map(|width| usize::from(*width)).sum();
    for width in widths {
        path.separate();
        path.push(layout.label().as_bytes());
        for _ in 0..*width {
            let digit = digits.len().checked_sub(left).map_or(b'0', |at| digits[at]);
            path.push(&[digit]);
            left -= 1;
        }
    }
}

/// The longest path of a file, bytes: for shapes, 48 directories of `d` and 20 digits; layouts have shorter paths.
pub(super) const PATH_BYTES_MAX: usize = 48 * 22 + NAME_BYTES_MAX + 1;
/// Memory for one name and one path, so that computing them allocates nothing.
#[derive(Clone)]
pub struct PlaceBuffer {
    pub(super) name: [u8; NAME_BYTES_MAX],
    pub(super) layout: PathBuffer,
    pub(super) path: [u8; PATH_BYTES_MAX],
}

impl PlaceBuffer {
    pub fn new() -> Self {
        Self { name: [0; NAME_BYTES_MAX], layout: PathBuffer::new(), path: [0; PATH_BYTES_MAX] }
    }
}

impl Default for PlaceBuffer {
    fn default() -> Self {
        Self::new()
    }
}

/// Path of a file, with the offset of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePlace<'a> {
    path: &'a [u8],
    file_at: usize,
}

impl<'a> FilePlace<'a> {
    pub fn path(&self) -> &'a [u8] {
        self.path
    }

    pub fn directory(&self) -> &'a [u8] {
        &self.path[..self.file_at.saturating_sub(1)]
    }

    pub fn file(&self) -> &'a [u8] {
        &self.path[self.file_at..]
    }
}

/// Writes a path component by component. The buffer is long enough for the longest path, so it never
/// checks.
pub(super) struct PathWriter<'a> {
    bytes: &'a mut [u8; PATH_BYTES_MAX],
    length: usize,
}

impl<'a> PathWriter<'a> {
    pub(super) fn new(bytes: &'a mut [u8; PATH_BYTES_MAX]) -> Self {
        Self { bytes, length: 0 }
    }

    pub(super) fn push(&mut self, text: &[u8]) {
        self.bytes[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
    }

    pub(super) fn directory(&mut self, number: u64, digits: usize) {
        let mut text = [0; 41];
        let text = decimal(number, &mut text);
        self.separate();
        self.push(b"d");
        (text.len()..digits).for_each(|_| self.push(b"0"));
        self.push(text);
    }

    pub(super) fn separate(&mut self) {
        if self.length > 0 {
            self.push(b"/");
        }
    }

    pub(super) fn path(self) -> &'a [u8] {
        &self.bytes[..self.length]
    }

    pub(super) fn file(mut self, name: &[u8]) -> FilePlace<'a> {
        self.separate();
        let file_at = self.length;
        self.push(name);
        FilePlace { path: self.path(), file_at }
    }
}

/// Deeper trees are refused: the buffers of paths have a fixed size.
pub const LEVELS_MAX: usize = 48;

/// Shape of a tree: classes of directories in the order of their files, and the number of directories of
/// each level. A directory's parent is computed, as parents get their children in order and nearly evenly.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    classes: Vec<Class>,
    levels: Vec<u64>,
    files: u64,
}

/// Directories of one level with about as many files each: the files of a class are spread evenly over its
/// directories, so the shape of a large tree stays small. `first` is the number of the first such directory
/// within its level, `first_file` the number of its first file within the data set, and `files` counts the
/// files of all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Class {
    level: usize,
    first: u64,
    directories: u64,
    first_file: u64,
    files: u64,
}

impl Shape {
    /// Shapes come from study files and records, so all sums are checked for overflow, and a shape without a
    /// single top directory is refused here: nothing later tests it again.
    pub(super) fn new(levels: &[Level]) -> Result<Self, String> {
        let mut shape = Self { classes: Vec::new(), levels: Vec::new(), files: 0 };
        if !(1..=LEVELS_MAX).contains(&levels.len()) {
            return Err(format!("expected 1 to {LEVELS_MAX} levels in the shape, found {}", levels.len()));
        }
        for (number, level) in levels.iter().enumerate() {
            let mut first = 0_u64;
            for class in &level.classes {
                if class.directories == 0 {
                    return Err("a class of directories in the shape is empty".into());
                }
                let too_many = || "the numbers in the shape are too large".to_owned();
                let of = Class {
                    level: number,
                    first,
                    directories: class.directories,
                    first_file: shape.files,
                    files: class.files,
                };
                shape.classes.push(of);
                first = first.checked_add(class.directories).ok_or_else(too_many)?;
                shape.files = shape.files.checked_add(class.files).ok_or_else(too_many)?;
            }
            if first == 0 || (number == 0 && first != 1) {
                return Err(format!(
                    "level {number} of the shape has {first} directories; expected 1 at the top"
                ));
            }
            shape.levels.push(first);
        }
        Ok(shape)
    }

    pub(super) fn directories(&self) -> u64 {
        self.levels_below().sum()
    }

    pub(super) fn levels_below(&self) -> impl Iterator<Item = u64> + '_ {
        self.levels[1..].iter().copied()
    }

    pub(super) fn leaves(&self) -> u64 {
        self.classes.iter().map(|class| class.directories.min(class.files)).sum()
    }

    pub(super) fn files_max(&self) -> u64 {
        self.classes.iter().map(|class| class.files.div_ceil(class.directories)).max().unwrap_or(0)
    }

    /// Writes the file's directory, and returns the file's number in it.
    pub(super) fn directory_of(&self, index: u64, path: &mut PathWriter<'_>) -> u64 {
        // A class without files starts at the same file as the next class, and comes before it.
        let at = self.classes.partition_point(|class| class.first_file <= index);
        let Some(class) = self.classes[..at].last() else { return index };
        let (files, directories) = (u128::from(class.files.max(1)), u128::from(class.directories));
        let within = u128::from(index - class.first_file);
        // Directory k has the files from k files / directories on, rounded down.
        let k = ((within + 1) * directories - 1) / files;
        self.write_directory(class.level, class.first + k as u64, path);
        (within - k * files / directories) as u64
    }

    /// Path of a directory by its level and its number there, found from the bottom up and written from the
    /// top down.
    pub(super) fn write_directory(&self, level: usize, number: u64, path: &mut PathWriter<'_>) {
        let mut numbers = [0; LEVELS_MAX];
        let mut number = number;
        for level in (1..=level).rev() {
            numbers[level] = number;
            let (here, above) = (u128::from(self.levels[level]), u128::from(self.levels[level - 1]));
            number = (u128::from(number) * above / here) as u64;
        }
        numbers[1..=level].iter().for_each(|number| path.directory(*number, 1));
    }
}

#[cfg(test)]
mod tests;
