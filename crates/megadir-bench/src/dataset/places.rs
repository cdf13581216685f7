//! Where the n-th file lies, and which directories that takes.

use megadir::layout::{Layout, Placer, Refused, Source};
use megadir_record::{NameScheme, Spread};

use super::names::hex_digits;
use super::rel_path::{PathWriter, Place, PlaceBuffer};
use super::shape::Shape;
use super::{FilesError, Names};

/// Digits of the directories that hold so many files each; more where there are more.
const DIRECTORY_DIGITS: usize = 6;

/// Where files lie.
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
            Spread::PerDirectory { files: 0 } => contradiction("0 files in a directory: 1 or more".into()),
            Spread::PerDirectory { files } => Ok(Self::PerDirectory(*files)),
            Spread::Shape { levels } => match Shape::new(levels) {
                Ok(shape) if shape.files() == entries => Ok(Self::Shape(shape)),
                Ok(shape) => contradiction(format!(
                    "the shape is that of {} files, and {entries} are asked for",
                    shape.files()
                )),
                Err(reason) => contradiction(reason),
            },
        }
    }

    pub(super) fn place<'a>(
        &self,
        names: Names,
        index: u64,
        buffer: &'a mut PlaceBuffer,
    ) -> Result<Place<'a>, Refused> {
        let PlaceBuffer { name, layout, path } = buffer;
        Ok(match self {
            Self::Flat => Place { path: names.write(index, name), file_at: 0 },
            Self::Layout(placer) => {
                let placed = placer.place(names.write(index, name), layout)?;
                Place { path: placed.path(), file_at: placed.path().len() - placed.file().len() }
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

/// The directories of a data set, each by its number; one that holds others comes before them.
#[derive(Clone, Debug)]
pub struct Directories<'a> {
    places: &'a Places,
    /// How many there are on each level below the top.
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

    /// Returns how many there are; `u64::MAX` stands for that many or more.
    pub fn count(&self) -> u64 {
        self.levels.iter().fold(0, |sum, level| sum.saturating_add(*level))
    }

    /// Writes the path of the directory of `number` (below [`Directories::count`]) into a buffer; `None` beyond.
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
                    // Of the files in it, the first shows what it is called.
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

/// Returns the directories of each level of a layout, if they follow from the number of files.
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

/// Returns how many numbers fall into one directory of a level, of layouts by number.
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

/// Writes the path of a directory whose components are hex digits of its number.
fn write_hex(layout: &Layout, level: usize, number: u64, path: &mut PathWriter<'_>) {
    let mut digits = [0; 16];
    hex_digits(&number.to_be_bytes(), &mut digits);
    let widths = &layout.levels()[..=level];
    let mut left: usize = widths.iter().map(|width| usize::from(*width)).sum();
    for width in widths {
        path.separate();
        path.push(layout.label().as_bytes());
        for _ in 0..*width {
            // A number has 16 digits; those before them are zeros.
            let digit = digits.len().checked_sub(left).map_or(b'0', |at| digits[at]);
            path.push(&[digit]);
            left -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
