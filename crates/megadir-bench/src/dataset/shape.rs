//! The shape of a tree that was looked at, as a rule for the n-th file: levels, directories on each, files in each.
//!
//! On each level directories are numbered by class, those with the fewest files first, and the j-th of n hangs below
//! number j N / n of the N directories above it: the shape keeps how many there are, not which of them hang together.
//! Files are numbered level by level, and within a class they are spread evenly.

use megadir_record::Level;

use super::rel_path::PathWriter;

/// The most levels that a tree may have, its top included.
pub const LEVELS_MAX: usize = 48;

/// A shape, made ready to be asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    classes: Vec<Class>,
    /// Directories of each level, the top's first.
    levels: Vec<u64>,
    files: u64,
}

/// Directories of one level with about equally many files.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Class {
    level: usize,
    /// The number of its first directory on its level.
    first: u64,
    directories: u64,
    /// The index of its first file.
    first_file: u64,
    files: u64,
}

impl Shape {
    /// Makes a shape ready, or tells what is wrong with it.
    pub(super) fn new(levels: &[Level]) -> Result<Self, String> {
        let mut shape = Self { classes: Vec::new(), levels: Vec::new(), files: 0 };
        if !(1..=LEVELS_MAX).contains(&levels.len()) {
            return Err(format!("a shape has 1 to {LEVELS_MAX} levels, not {}", levels.len()));
        }
        for (number, level) in levels.iter().enumerate() {
            let mut first = 0_u64;
            for class in &level.classes {
                if class.directories == 0 {
                    return Err("a class of directories of a shape has no directory".into());
                }
                let too_many = || "the numbers of a shape are too large".to_owned();
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
                return Err(format!("level {number} of a shape has {first} directories; the top is one"));
            }
            shape.levels.push(first);
        }
        Ok(shape)
    }

    pub(super) fn files(&self) -> u64 {
        self.files
    }

    /// Returns how many directories there are below the top.
    pub(super) fn directories(&self) -> u64 {
        self.levels_below().sum()
    }

    pub(super) fn levels_below(&self) -> impl Iterator<Item = u64> + '_ {
        self.levels[1..].iter().copied()
    }

    /// Returns how many directories hold files.
    pub(super) fn leaves(&self) -> u64 {
        self.classes.iter().map(|class| class.directories.min(class.files)).sum()
    }

    /// Returns the most files that a directory holds.
    pub(super) fn files_max(&self) -> u64 {
        self.classes.iter().map(|class| class.files.div_ceil(class.directories)).max().unwrap_or(0)
    }

    /// Writes the directory of the file of `index`, and returns the file's number in it.
    pub(super) fn directory_of(&self, index: u64, path: &mut PathWriter<'_>) -> u64 {
        // Of classes without files, the one that begins where another does comes before it.
        let at = self.classes.partition_point(|class| class.first_file <= index);
        let Some(class) = self.classes[..at].last() else { return index };
        let (files, directories) = (u128::from(class.files.max(1)), u128::from(class.directories));
        let within = u128::from(index - class.first_file);
        // Directory k has the files from k files / directories on, rounded down.
        let k = ((within + 1) * directories - 1) / files;
        self.write_directory(class.level, class.first + k as u64, path);
        (within - k * files / directories) as u64
    }

    /// Writes the path of a directory of a level.
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
