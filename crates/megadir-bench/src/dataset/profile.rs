//! Profile of a user's tree: numbers only, no file is opened. Everything but directories counts as a file, of
//! size 0 unless regular; links are not followed, mounts not entered. Numbers are grouped by their first
//! eight binary digits with exact sums, which bounds memory.
//!
//! ```text
//!  walk -> for each file: size, length of its name     -> histograms -> at most 256 sizes, 256 lengths
//!       -> for each directory: its level, its files    -> histogram for each level -> at most 32 classes
//! ```
//!
//! A class has exact counts and sums, so the profile keeps the numbers of files, bytes and directories of
//! the tree, and only their distribution is rounded.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use megadir::{Dir, Error, FileType, STAT_BACKENDS, StatMask, Walk, WalkItem, WalkOptions};
use megadir_record::{DirectoryClass, Level, NAME_LENGTHS, NameScheme, SizeLaw, Spread};

use super::{LEVELS_MAX, Sizes};

const SIZES_MAX: u64 = 256;
const CLASSES_MAX: u64 = 32;
/// Numbers are grouped with an error below one part in 128.
const DIGITS: u32 = 8;

/// A user's tree as the laws of a data set, from which a similar one can be made. It has no name and no
/// content of a file, so that it can be published.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    pub entries: u64,
    pub names: NameScheme,
    pub sizes: Sizes,
    pub spread: Spread,
    /// Directories not read completely; the unread part is not in the figures.
    pub unread: u64,
    /// Files of unknown size; they count as 0 bytes.
    pub unexamined: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error(transparent)]
    Read(#[from] Error),
    #[error("'{}' contains no files", .0.display())]
    Empty(std::path::PathBuf),
    #[error("'{}' has more than {LEVELS_MAX} levels, the maximum for data sets", .0.display())]
    Deep(std::path::PathBuf),
    #[error("interrupted")]
    Stopped,
}

/// Increments `heartbeat`, and ends soon after `stop` is set. An unreadable subdirectory is only counted.
pub fn look_at(path: &Path, stop: &AtomicBool, heartbeat: &AtomicU64) -> Result<Look, LookError> {
    // On Windows the listing includes sizes.
    let cheapest = if cfg!(windows) { "listed" } else { "statx" };
    let cheapest =
        STAT_BACKENDS.iter().find(|stat_backend| stat_backend.name() == cheapest).or(STAT_BACKENDS.first());
    let options = WalkOptions {
        buffer_bytes: 64 << 10,
        queue_directories_max: 1024,
        examine: cheapest.map(|stat_backend| (*stat_backend, StatMask::SIZE)),
        report_ends: true,
        ..WalkOptions::new(1)
    };
    let mut walk = Walk::new(Dir::open(path)?, &options)?;
    let mut looking = Looking::new(path);
    while let Some(item) = walk.next_item() {
        heartbeat.fetch_add(1, Ordering::Relaxed);
        if stop.load(Ordering::Relaxed) {
            return Err(LookError::Stopped);
        }
        match item {
            WalkItem::Batch { directory, batch, attributes } => {
                let mut files = 0;
                for (entry, row) in batch.entries().zip(attributes) {
                    if entry.kind == FileType::Directory || row.has_vanished() {
                        continue;
                    }
                    files += 1;
                    looking.file(entry.name.len(), (entry.kind == FileType::File).then_some(row));
                }
                *looking.begun.entry(directory.as_os_str().to_owned()).or_default() += files;
            }
            WalkItem::End { directory } => looking.end(directory)?,
            WalkItem::Error(_) => looking.unread += 1,
            WalkItem::OtherMount(_) => {}
        }
    }
    looking.finish()
}

/// Count and sum of numbers, by their leading binary digits.
type Counts = BTreeMap<u64, (u64, u64)>;

/// State of the walk over a user's tree. `levels`, `sizes` and `lengths` are histograms with exact sums, so
/// memory is bounded however large the tree is. `begun` counts the files of the directories that are open at
/// the moment.
struct Looking<'a> {
    root: &'a Path,
    begun: HashMap<OsString, u64>,
    levels: Vec<Counts>,
    sizes: Counts,
    lengths: Counts,
    unread: u64,
    unexamined: u64,
}

impl<'a> Looking<'a> {
    fn new(root: &'a Path) -> Self {
        let (sizes, lengths) = (Counts::new(), Counts::new());
        Self { root, begun: HashMap::new(), levels: Vec::new(), sizes, lengths, unread: 0, unexamined: 0 }
    }

    /// Counts one file. `regular` has its attributes; other types have no size that a data set could
    /// repeat.
    fn file(&mut self, name_bytes: usize, regular: Option<&megadir::Attributes>) {
        let size = match regular {
            None => 0,
            Some(row) if row.have.contains(StatMask::SIZE) => row.size_bytes,
            Some(_) => {
                self.unexamined += 1;
                0
            }
        };
        count(&mut self.sizes, size);
        count(&mut self.lengths, name_bytes as u64);
    }

    /// Counts a directory once all its entries were seen.
    fn end(&mut self, directory: &Path) -> Result<(), LookError> {
        let files = self.begun.remove::<OsStr>(directory.as_os_str()).unwrap_or(0);
        let below = directory.strip_prefix(self.root).unwrap_or(directory);
        let level = below.components().count();
        if level >= LEVELS_MAX {
            return Err(LookError::Deep(self.root.to_owned()));
        }
        if self.levels.len() <= level {
            self.levels.resize(level + 1, Counts::new());
        }
        count(&mut self.levels[level], files);
        Ok(())
    }

    fn finish(self) -> Result<Look, LookError> {
        let entries: u64 = self.sizes.values().map(|(count, _)| count).sum();
        if entries == 0 {
            return Err(LookError::Empty(self.root.to_owned()));
        }
        let mean = |(count, sum): &(u64, u64)| (sum + count / 2) / count;
        let bytes: Vec<u64> = classes(&self.sizes, SIZES_MAX).iter().map(mean).collect();
        let all: u128 = bytes.iter().map(|bytes| u128::from(*bytes)).sum();
        let size_bytes = (all / bytes.len() as u128) as u64;
        let lengths = classes(&self.lengths, NAME_LENGTHS as u64);
        // With fewer names than table entries, each name fills several entries.
        let length = |place: usize| mean(&lengths[place * lengths.len() / NAME_LENGTHS]).clamp(1, 255) as u8;
        let level = |counts: &Counts| {
            let class = |(directories, files): (u64, u64)| DirectoryClass { directories, files };
            let few = counts.len() as u64 <= CLASSES_MAX;
            let of_level =
                if few { counts.values().copied().collect() } else { classes(counts, CLASSES_MAX) };
            Level { classes: of_level.into_iter().map(class).collect() }
        };
        let levels: Vec<Level> = self.levels.iter().map(level).collect();
        let flat = levels.len() == 1;
        Ok(Look {
            entries,
            names: NameScheme::Lengths { bytes: std::array::from_fn(length) },
            sizes: Sizes { size_bytes, law: SizeLaw::Quantiles { bytes } },
            spread: if flat { Spread::Flat } else { Spread::Shape { levels } },
            unread: self.unread,
            unexamined: self.unexamined,
        })
    }
}

/// Counts a number under its first eight binary digits.
fn count(counts: &mut Counts, number: u64) {
    let digits = u64::BITS - number.leading_zeros();
    let key = number >> digits.saturating_sub(DIGITS) << digits.saturating_sub(DIGITS);
    let (count, sum) = counts.entry(key).or_default();
    *count += 1;
    *sum = sum.saturating_add(number);
}

/// Splits numbers, ascending, into classes of nearly equal count; returns count and sum of each.
fn classes(counts: &Counts, most: u64) -> Vec<(u64, u64)> {
    let all: u64 = counts.values().map(|(count, _)| count).sum();
    let classes = all.min(most);
    let mut found = Vec::new();
    let mut left = counts.values().copied();
    let mut current = (0, 0);
    for class in 1..=classes {
        // Class k begins at number k all / classes, rounded down.
        let bound = |class: u64| (u128::from(class) * u128::from(all) / u128::from(classes)) as u64;
        let mut needed = bound(class) - bound(class - 1);
        let mut taken = (0, 0_u64);
        while needed > 0 {
            if current.0 == 0 {
                match left.next() {
                    Some(next) => current = next,
                    None => break,
                }
            }
            let count = needed.min(current.0);
            // A part gets its share of the sum; the last part gets the rest.
            let sum = (u128::from(current.1) * u128::from(count) / u128::from(current.0)) as u64;
            current = (current.0 - count, current.1 - sum);
            taken = (taken.0 + count, taken.1.saturating_add(sum));
            needed -= count;
        }
        found.push(taken);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn look(path: &Path) -> Result<Look, LookError> {
        look_at(path, &NEVER, &AtomicU64::new(0))
    }

    #[test]
    fn classes_keep_numbers_and_sums() {
        let mut counts = Counts::new();
        (0..1000_u64).for_each(|number| count(&mut counts, number * number));
        for most in [1, 7, 32, 256, 5000] {
            let classes = classes(&counts, most);
            assert_eq!(classes.len() as u64, most.min(1000));
            assert_eq!(classes.iter().map(|class| class.0).sum::<u64>(), 1000);
            assert_eq!(
                classes.iter().map(|class| class.1).sum::<u64>(),
                (0..1000_u64).map(|n| n * n).sum::<u64>()
            );
            assert!(classes.iter().map(|class| class.1 / class.0).is_sorted());
        }
    }

    #[test]
    fn profile_counts_existing_entries() {
        let top = tempfile::tempdir().unwrap();
        let make = |path: &str, bytes: usize| std::fs::write(top.path().join(path), vec![0; bytes]).unwrap();
        std::fs::create_dir_all(top.path().join("a/b")).unwrap();
        std::fs::create_dir(top.path().join("c")).unwrap();
        for (path, bytes) in [("12345", 10), ("a/1", 20), ("a/2", 30), ("a/b/1234567", 4096)] {
            make(path, bytes);
        }
        let found = look(top.path()).unwrap();
        let class = |directories, files| DirectoryClass { directories, files };
        let level = |classes: &[DirectoryClass]| Level { classes: classes.to_vec() };
        let levels = vec![level(&[class(1, 1)]), level(&[class(1, 0), class(1, 2)]), level(&[class(1, 1)])];
        assert_eq!((found.entries, found.unread, found.unexamined), (4, 0, 0));
        assert_eq!(found.spread, Spread::Shape { levels });
        assert_eq!(found.sizes.law, SizeLaw::Quantiles { bytes: vec![10, 20, 30, 4096] });
        let NameScheme::Lengths { bytes } = found.names else { panic!("{found:?}") };
        assert_eq!((bytes[0], bytes[15], bytes[16], bytes[31]), (1, 1, 5, 7));
        assert!(matches!(look(&top.path().join("c")), Err(LookError::Empty(_))));
        assert_eq!(look(&top.path().join("a/b")).unwrap().spread, Spread::Flat);
        let stop = AtomicBool::new(true);
        assert!(matches!(look_at(top.path(), &stop, &AtomicU64::new(0)), Err(LookError::Stopped)));
    }
}
