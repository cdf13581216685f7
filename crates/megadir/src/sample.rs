//! A uniform random sample of entries of unknown number, in one pass and in memory that grows with the sample alone.
//!
//! Each entry gets a tag, a hash of the seed, its directory and its name, and the entries with the smallest tags are kept. So
//! all sets of as many entries are equally probable over the seeds, as with the reservoir of Vitter (*ACM TOMS* 11, 1985). Other than
//! there, the sample does not depend on the order of the entries, which several threads return differently in each run. It is the
//! method of Cohen and Kaplan, *Summarizing data using bottom-k sketches* (PODC 2007).
//!
//! The tags are SipHash of the standard library, whose values may differ between versions of megadir.

use std::collections::BinaryHeap;
use std::hash::{DefaultHasher, Hasher};

/// Sample of entries; `T` is what is kept of an entry.
///
/// ```
/// let mut sample = megadir::sample::Sample::new(2, 1);
/// let directory = sample.directory(0, b"");
/// for name in [b"a", b"b", b"c"] {
///     sample.offer(&directory, name, || *name);
/// }
/// assert_eq!((sample.offered(), sample.into_vec().len()), (3, 2));
/// ```
#[derive(Debug)]
pub struct Sample<T> {
    size: usize,
    seed: u64,
    offered: u64,
    kept: BinaryHeap<Kept<T>>,
}

/// Directory of the entries that are offered next: the part of their tags that they share.
#[derive(Clone, Debug)]
pub struct Tags(DefaultHasher);

#[derive(Debug)]
struct Kept<T> {
    tag: u64,
    entry: T,
}

impl<T> Sample<T> {
    /// Begins a sample of `size` entries, or of all if there are fewer.
    pub fn new(size: usize, seed: u64) -> Self {
        Self { size, seed, offered: 0, kept: BinaryHeap::new() }
    }

    /// Prepares the tags of the entries of a directory: number of its tree, and path below the tree's root.
    pub fn directory(&self, tree: u64, below: &[u8]) -> Tags {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.seed);
        hasher.write_u64(tree);
        hasher.write_u64(below.len() as u64);
        hasher.write(below);
        Tags(hasher)
    }

    /// Offers an entry. `entry` is called only if it is in the sample so far.
    #[inline]
    pub fn offer(&mut self, directory: &Tags, name: &[u8], entry: impl FnOnce() -> T) {
        let mut hasher = directory.0.clone();
        hasher.write(name);
        let tag = hasher.finish();
        self.offered += 1;
        if self.kept.len() < self.size {
            self.kept.push(Kept { tag, entry: entry() });
        } else if let Some(mut largest) = self.kept.peek_mut()
            && tag < largest.tag
        {
            *largest = Kept { tag, entry: entry() };
        }
    }

    /// Number of entries that were offered.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// The sample, in no order.
    pub fn into_vec(self) -> Vec<T> {
        self.kept.into_iter().map(|kept| kept.entry).collect()
    }
}

impl<T> PartialEq for Kept<T> {
    fn eq(&self, other: &Self) -> bool {
        self.tag == other.tag
    }
}

impl<T> Eq for Kept<T> {}

impl<T> PartialOrd for Kept<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Kept<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.tag.cmp(&other.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::Sample;
    use megadir_testkit::rng::Rng;

    const ENTRIES: usize = 40;
    const SIZE: usize = 5;
    const SEEDS: u64 = 4000;
    /// 99.9 % quantile of chi-square with 39 degrees of freedom.
    const CHI_SQUARE_MAX: f64 = 72.055;

    fn sampled(seed: u64, entries: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut sample = Sample::new(SIZE, seed);
        let tags = sample.directory(0, b"a/b");
        entries.for_each(|entry| sample.offer(&tags, format!("file-{entry}").as_bytes(), || entry));
        sample.into_vec()
    }

    /// Statistic of how often the entries are in samples. Those of one sample are without replacement, which makes the sum
    /// smaller by the factor that is divided out.
    fn chi_square(sampled: impl Fn(u64) -> Vec<usize>) -> f64 {
        let mut times = [0_u64; ENTRIES];
        (0..SEEDS).flat_map(sampled).for_each(|entry| times[entry] += 1);
        let expected = (SEEDS * SIZE as u64) as f64 / ENTRIES as f64;
        let sum: f64 = times.iter().map(|times| (*times as f64 - expected).powi(2) / expected).sum();
        sum * (ENTRIES - 1) as f64 / (ENTRIES - SIZE) as f64
    }

    #[test]
    fn all_entries_are_equally_probable() {
        let found = chi_square(|seed| sampled(seed, 0..ENTRIES));
        assert!(found < CHI_SQUARE_MAX, "chi-square {found}");
    }

    /// The reservoir of Vitter, and the same with the place drawn from one too few.
    #[test]
    fn the_test_of_uniformity_fails_for_a_reservoir_that_is_off_by_one() {
        let reservoir = |seed, places: usize| {
            let (mut random, mut kept) = (Rng::new(seed), Vec::new());
            for entry in 0..ENTRIES {
                match kept.len() < SIZE {
                    true => kept.push(entry),
                    false => {
                        let place = random.within(0, (entry + places) as u64 - 1) as usize;
                        kept.get_mut(place).into_iter().for_each(|kept| *kept = entry);
                    }
                }
            }
            kept
        };
        let right = chi_square(|seed| reservoir(seed, 1));
        assert!(right < CHI_SQUARE_MAX, "chi-square {right}");
        let wrong = chi_square(|seed| reservoir(seed, 0));
        assert!(wrong > CHI_SQUARE_MAX, "chi-square {wrong}");
    }

    #[test]
    fn pairs_of_entries_are_equally_probable() {
        let mut times = vec![0_u64; ENTRIES * ENTRIES];
        for seed in 0..SEEDS {
            let mut kept = sampled(seed, 0..ENTRIES);
            kept.sort_unstable();
            for (at, first) in kept.iter().enumerate() {
                kept[at + 1..].iter().for_each(|second| times[first * ENTRIES + second] += 1);
            }
        }
        let pairs = ENTRIES * (ENTRIES - 1) / 2;
        let expected = SEEDS as f64 * (SIZE * (SIZE - 1) / 2) as f64 / pairs as f64;
        let of = |(first, second): (usize, usize)| times[first * ENTRIES + second] as f64;
        let all = (0..ENTRIES).flat_map(|first| (first + 1..ENTRIES).map(move |second| (first, second)));
        let found: f64 = all.map(|pair| (of(pair) - expected).powi(2) / expected).sum();
        // Mean 779 and standard deviation 39 for independent pairs.
        assert!(found < pairs as f64 + 4.0 * (2.0 * pairs as f64).sqrt(), "chi-square {found}");
    }

    #[test]
    fn the_sample_depends_on_the_seed_and_not_on_the_order() {
        let sorted = |mut sample: Vec<usize>| {
            sample.sort_unstable();
            sample
        };
        let ahead = sorted(sampled(7, 0..ENTRIES));
        assert_eq!(ahead, sorted(sampled(7, (0..ENTRIES).rev())));
        assert_ne!(ahead, sorted(sampled(8, 0..ENTRIES)));
        assert_eq!(sorted(sampled(7, 0..3)), [0, 1, 2]);
    }

    #[test]
    fn equal_names_in_other_directories_have_other_tags() {
        let kept = |tree, below: &[u8]| {
            let mut sample = Sample::new(SIZE, 3);
            let tags = sample.directory(tree, below);
            (0..ENTRIES).for_each(|entry| sample.offer(&tags, entry.to_string().as_bytes(), || entry));
            let mut kept = sample.into_vec();
            kept.sort_unstable();
            kept
        };
        assert_ne!(kept(0, b"a"), kept(0, b"b"));
        assert_ne!(kept(0, b"a"), kept(1, b"a"));
    }
}
