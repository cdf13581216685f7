//! Figures about a directory or a tree, collected while it is listed with attributes.
//!
//! | type | content | memory |
//! |---|---|---|
//! | [`Summary`] | entries, bytes, sizes, ages, the largest, newest and oldest entries | 60 KiB and the listed paths |
//! | [`DirectorySummary`] | entries and bytes of each directory of a tree | unfinished directories, and twice the listed ones |
//!
//! Adding an entry takes a few nanoseconds. Memory does not grow with the number of entries.

pub(crate) mod ages;
mod directories;
pub(crate) mod sizes;
mod top;

pub use ages::{AgeBucket, Ages};
pub use directories::{DirectoryRow, DirectorySummary, DirectoryTotals};
pub use sizes::{SizeBucket, Sizes};
pub use top::Ranked;

use std::cmp::Reverse;

use self::top::Top;
use crate::attributes::{Attributes, StatMask, Time};
use crate::batch::Entry;
use crate::file_type::FileType;

/// Number of entries and sum of their sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Number of entries.
    pub entries: u64,
    /// Sum of their apparent sizes (not the space on disk), bytes. Entries of unknown size add nothing.
    pub bytes: u128,
}

impl Total {
    #[inline]
    fn add(&mut self, size_bytes: u64) {
        self.entries += 1;
        self.bytes += u128::from(size_bytes);
    }

    fn merge(&mut self, other: Self) {
        self.entries += other.entries;
        self.bytes += other.bytes;
    }
}

/// Buckets from the first to the last non-empty one, with their numbers.
pub(crate) fn filled<B: Copy>(buckets: &[B], count: impl Fn(&B) -> u64) -> impl Iterator<Item = (usize, B)> {
    let holds = |bucket: &B| count(bucket) > 0;
    let first = buckets.iter().position(holds).unwrap_or(0);
    let end = buckets.iter().rposition(holds).map_or(0, |last| last + 1);
    buckets.iter().copied().enumerate().take(end).skip(first)
}

/// Figures about entries: types, sizes, ages, and the entries that stand out.
///
/// Sizes are apparent: the length of a file, of a symbolic link's target, and for a directory what the file
/// system reports. Each hard link counts with its full size. An age is the time from the last modification to
/// a reference time, in whole seconds.
///
/// ```
/// use megadir::{AttributeListing, Summary};
/// let mut summary = Summary::new(1_767_323_045, 3);
/// let mut listing = AttributeListing::open("/usr", Summary::WANT, 1)?;
/// while let Some(batch) = listing.next_batch()? {
///     for (entry, attributes) in batch.entries() {
///         summary.add(b"/usr/", &entry, attributes);
///     }
/// }
/// println!("{} entries, {} bytes", summary.total().entries, summary.total().bytes);
/// for largest in summary.largest() {
///     println!("{} {}", largest.value, String::from_utf8_lossy(largest.name));
/// }
/// # Ok::<(), megadir::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Summary {
    now_s: i64,
    total: Total,
    types: [Total; FileType::ALL.len()],
    linked: u64,
    unexamined: u64,
    sizes: Sizes,
    ages: Ages,
    largest: Top<u64>,
    newest: Top<Time>,
    oldest: Top<Reverse<Time>>,
}

impl Summary {
    /// Attributes needed. Figures omit entries without theirs.
    pub const WANT: StatMask =
        StatMask::TYPE.union(StatMask::SIZE).union(StatMask::MODIFIED).union(StatMask::LINKS);

    /// Creates an empty summary. `now_s` is the reference time for ages, in seconds since 1970-01-01 UTC.
    /// `top` is the number of largest, newest and oldest entries to list.
    pub fn new(now_s: i64, top: usize) -> Self {
        Self {
            now_s,
            total: Total::default(),
            types: [Total::default(); FileType::ALL.len()],
            linked: 0,
            unexamined: 0,
            sizes: Sizes::new(),
            ages: Ages::default(),
            largest: Top::new(top),
            newest: Top::new(top),
            oldest: Top::new(top),
        }
    }

    /// Adds an entry. `prefix` precedes its name in lists: the path of its directory with a trailing slash,
    /// or nothing. Skips entries removed since the listing.
    #[inline]
    pub fn add(&mut self, prefix: &[u8], entry: &Entry<'_>, attributes: &Attributes) {
        if attributes.has_vanished() {
            return;
        }
        let have = attributes.have;
        let kind = if have.contains(StatMask::TYPE) { attributes.kind } else { entry.kind };
        let size_bytes = if have.contains(StatMask::SIZE) { attributes.size_bytes } else { 0 };
        self.total.add(size_bytes);
        self.types[kind as usize].add(size_bytes);
        if attributes.error != 0 {
            self.unexamined += 1;
            return;
        }
        if have.contains(StatMask::SIZE) {
            self.sizes.add(size_bytes);
            self.largest.offer(size_bytes, prefix, entry.name);
        }
        if have.contains(StatMask::MODIFIED) {
            let modified = attributes.modified;
            self.ages.add(self.now_s.saturating_sub(modified.seconds), size_bytes);
            self.newest.offer(modified, prefix, entry.name);
            self.oldest.offer(Reverse(modified), prefix, entry.name);
        }
        // On many file systems a directory has a link for each subdirectory.
        let linked = have.contains(StatMask::LINKS) && attributes.links > 1 && kind != FileType::Directory;
        self.linked += u64::from(linked);
    }

    /// Adds the entries of another summary, which should have the same reference time.
    pub fn merge(&mut self, other: &Self) {
        self.total.merge(other.total);
        for (own, other) in self.types.iter_mut().zip(&other.types) {
            own.merge(*other);
        }
        self.linked += other.linked;
        self.unexamined += other.unexamined;
        self.sizes.merge(&other.sizes);
        self.ages.merge(&other.ages);
        self.largest.merge(&other.largest);
        self.newest.merge(&other.newest);
        self.oldest.merge(&other.oldest);
    }

    /// All entries and their bytes.
    pub fn total(&self) -> Total {
        self.total
    }

    /// Types that occur, most entries first.
    pub fn types(&self) -> Vec<(FileType, Total)> {
        let all = FileType::ALL.map(|kind| (kind, self.types[kind as usize]));
        let mut types: Vec<_> = all.into_iter().filter(|(_, total)| total.entries > 0).collect();
        types.sort_by_key(|(_, total)| Reverse(total.entries));
        types
    }

    /// Number of entries, except directories, with more than one hard link.
    pub fn linked(&self) -> u64 {
        self.linked
    }

    /// Number of entries whose attributes could not be read; they count by type only.
    pub fn unexamined(&self) -> u64 {
        self.unexamined
    }

    /// Distribution of sizes.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Distribution of ages.
    pub fn ages(&self) -> &Ages {
        &self.ages
    }

    /// Largest entries and their sizes, bytes. Ties are in byte order of their paths.
    pub fn largest(&self) -> Vec<Ranked<'_, u64>> {
        self.largest.ranked(|size_bytes| size_bytes)
    }

    /// Most recently modified entries. Ties are in byte order of their paths.
    pub fn newest(&self) -> Vec<Ranked<'_, Time>> {
        self.newest.ranked(|modified| modified)
    }

    /// Least recently modified entries. Ties are in byte order of their paths.
    pub fn oldest(&self) -> Vec<Ranked<'_, Time>> {
        self.oldest.ranked(|Reverse(modified)| modified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW_S: i64 = 1_767_323_045;

    fn entry(name: &[u8]) -> Entry<'_> {
        Entry { name, inode: 1, kind: FileType::Symlink, cookie: None, record_bytes: 24 }
    }

    fn file(size_bytes: u64, age_s: i64) -> Attributes {
        let modified = Time { seconds: NOW_S - age_s, nanoseconds: 0 };
        let (have, kind) = (Summary::WANT, FileType::File);
        Attributes { have, kind, links: 1, size_bytes, modified, ..Attributes::NOTHING }
    }

    #[test]
    fn types_match_the_inodes_and_directories_are_not_hard_linked() {
        let mut summary = Summary::new(NOW_S, 1);
        summary.add(b"", &entry(b"a"), &file(5, 0));
        summary.add(b"", &entry(b"b"), &Attributes { links: 2, ..file(7, 0) });
        summary.add(b"", &entry(b"c"), &Attributes { links: 9, kind: FileType::Directory, ..file(4096, 0) });
        let (files, directories) = (Total { entries: 2, bytes: 12 }, Total { entries: 1, bytes: 4096 });
        assert_eq!(summary.types(), [(FileType::File, files), (FileType::Directory, directories)]);
        assert_eq!((summary.linked(), summary.total().bytes), (1, 4108));
        assert_eq!(summary.largest(), [Ranked { value: 4096, prefix: b"", name: b"c" }]);
    }

    #[test]
    fn unexaminable_entry_has_neither_size_nor_age() {
        let mut summary = Summary::new(NOW_S, 5);
        summary.add(b"", &entry(b"denied"), &Attributes { error: 13, ..Attributes::NOTHING });
        summary.add(b"", &entry(b"without time"), &Attributes { have: StatMask::SIZE, ..file(3, 0) });
        assert_eq!((summary.total().entries, summary.unexamined()), (2, 1));
        assert_eq!((summary.sizes().entries(), summary.ages().entries()), (1, 0));
        assert_eq!((summary.largest().len(), summary.oldest().len()), (1, 0));
        assert_eq!(summary.types()[0].0, FileType::Symlink, "the type as listed");
    }

    #[cfg(unix)]
    #[test]
    fn vanished_names_are_no_entries() {
        let mut summary = Summary::new(NOW_S, 5);
        summary.add(b"", &entry(b"gone"), &Attributes { error: 2, ..Attributes::NOTHING });
        assert_eq!(summary.total(), Total::default());
    }

    #[test]
    fn times_beyond_every_calendar_have_an_age() {
        let mut summary = Summary::new(NOW_S, 1);
        for seconds in [i64::MIN, i64::MAX] {
            let modified = Time { seconds, nanoseconds: 999_999_999 };
            summary.add(b"", &entry(b"x"), &Attributes { modified, ..file(0, 0) });
        }
        let buckets = summary.ages().buckets();
        assert_eq!((buckets[0].from_s, buckets[10].to_s), (None, None));
        assert_eq!(
            (summary.newest()[0].value.seconds, summary.oldest()[0].value.seconds),
            (i64::MAX, i64::MIN)
        );
    }

    proptest! {
        #[test]
        fn merged_parts_are_the_whole(
            all in prop::collection::vec((0..5000u64, -100..1_000_000_000i64, 0..3u64), 0..80),
            split in 0..80usize,
        ) {
            let mut summaries = [Summary::new(NOW_S, 4), Summary::new(NOW_S, 4), Summary::new(NOW_S, 4)];
            for (index, (size, age_s, links)) in all.iter().enumerate() {
                let name = format!("{}", index % 50);
                let row = Attributes { links: *links, ..file(*size, *age_s) };
                for part in [0, 1 + usize::from(index >= split)] {
                    summaries[part].add(b"d/", &entry(name.as_bytes()), &row);
                }
            }
            let [whole, mut merged, second] = summaries;
            merged.merge(&second);
            prop_assert_eq!(merged.types(), whole.types());
            prop_assert_eq!((merged.total(), merged.linked()), (whole.total(), whole.linked()));
            prop_assert_eq!(merged.sizes(), whole.sizes());
            prop_assert_eq!(merged.ages(), whole.ages());
            prop_assert_eq!(merged.largest(), whole.largest());
            prop_assert_eq!((merged.newest(), merged.oldest()), (whole.newest(), whole.oldest()));
            prop_assert_eq!(whole.total().bytes, all.iter().map(|row| u128::from(row.0)).sum::<u128>());
        }
    }
}
