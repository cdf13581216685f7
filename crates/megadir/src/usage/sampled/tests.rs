//! Coverage of the intervals on trees in memory, which are skewed in the ways that trees of files are.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use super::directory::{EXAMINED_MAX, extrapolated};
use super::{Estimated, Figures, QUANTITIES, Random, Reading, Sampler, Step, Tree};

const TRIALS: u64 = 500;
/// Each tree is sampled by as many seeds.
const SEEDS: u64 = 50;

/// Directories by number; the first is the root. Sizes of files follow from their numbers.
#[derive(Default)]
struct Planted {
    directories: Vec<Directory>,
}

#[derive(Default)]
struct Directory {
    files: u64,
    mean_bytes: f64,
    below: Vec<usize>,
}

/// Reading takes as many units of the budget as a file system takes time: one for a directory, and one for a thousand entries.
struct Budgeted<'t> {
    tree: &'t Planted,
    budget: u64,
    spent: AtomicU64,
}

fn bytes(directory: usize, file: u64, mean: f64) -> f64 {
    (mean * 2.0 * Random::new(directory as u64, file).unit()).floor()
}

impl Planted {
    fn add(&mut self, parent: usize, random: &mut Random, files: u64) -> usize {
        let mean_bytes = 10.0_f64.powf(2.0 + 3.0 * random.unit());
        self.directories.push(Directory { files, mean_bytes, below: Vec::new() });
        let number = self.directories.len() - 1;
        if number > 0 {
            self.directories[parent].below.push(number);
        }
        number
    }

    fn root() -> Self {
        Self { directories: vec![Directory::default()] }
    }

    /// Level by level: each directory gets up to twelve others, until there are `count`.
    fn grow(&mut self, top: usize, count: usize, random: &mut Random) {
        let end = self.directories.len() + count;
        let mut above = VecDeque::from([top]);
        while let Some(parent) = above.pop_front() {
            let least = u64::from(above.is_empty());
            for _ in 0..least + random.below(13 - least) {
                if self.directories.len() == end {
                    return;
                }
                let files = random.below(8);
                above.push_back(self.add(parent, random, files));
            }
        }
    }

    /// Each new directory is put into a random one of the tree: some subtrees are as large as all others together.
    fn grow_unevenly(&mut self, count: usize, random: &mut Random) {
        for _ in 0..count {
            let (parent, files) = (random.below(self.directories.len() as u64), random.below(8));
            self.add(parent as usize, random, files);
        }
    }

    fn all(&self, from: usize) -> Figures {
        let mut figures = Figures::default();
        let mut stack = vec![from];
        while let Some(number) = stack.pop() {
            let directory = &self.directories[number];
            figures[0] += (directory.files + directory.below.len() as u64) as f64;
            figures[1] += directory.below.len() as f64;
            let sizes = (0..directory.files).map(|file| bytes(number, file, directory.mean_bytes));
            let sum: f64 = sizes.sum();
            figures[2] += sum;
            figures[3] += sum;
            stack.extend(&directory.below);
        }
        figures
    }
}

impl Tree for Budgeted<'_> {
    type Node = usize;

    fn read(&self, node: &usize, places: usize, random: &mut Random) -> Reading<usize> {
        let directory = &self.tree.directories[*node];
        let units = 1 + directory.files / 1000;
        let is_complete = self.spent.fetch_add(units, Ordering::Relaxed) + units <= self.budget;
        let mut chosen = Vec::new();
        (0..directory.files).for_each(|file| random.reserve(&mut chosen, file, EXAMINED_MAX, || file));
        let size = |file: &u64| bytes(*node, *file, directory.mean_bytes);
        let examined: Vec<_> = chosen.iter().map(|file| [1.0, 0.0, size(file), size(file)]).collect();
        let (mut figures, variance, unseen) = extrapolated(directory.files, &examined);
        let directories = directory.below.len() as f64;
        (figures[0], figures[1]) = (figures[0] + directories, directories);
        let mut below = Vec::new();
        for (number, child) in (0..).zip(&directory.below) {
            random.reserve(&mut below, number, places, || *child);
        }
        Reading { figures, variance, unseen, directories, below, is_complete }
    }
}

/// Trials by quantity: `held` of those with an interval, `low_held` of all for the lower end alone. `rows` are of directories in the root.
#[derive(Debug, Default)]
struct Coverage {
    with_interval: [u64; QUANTITIES],
    held: [u64; QUANTITIES],
    low_held: [u64; QUANTITIES],
    rows: [u64; 2],
    width: f64,
}

impl Coverage {
    fn add(&mut self, total: &[Estimated; QUANTITIES], truth: &Figures) {
        for (quantity, of) in total.iter().enumerate() {
            let low_holds = of.low as f64 <= truth[quantity] + 1.0;
            self.low_held[quantity] += u64::from(low_holds);
            if let Some(high) = of.high {
                self.with_interval[quantity] += 1;
                self.held[quantity] += u64::from(low_holds && high as f64 + 1.0 >= truth[quantity]);
            }
        }
        if let (low, Some(high)) = (total[0].low, total[0].high) {
            self.width += (high - low) as f64 / truth[0];
        }
    }

    fn add_row(&mut self, row: &Estimated, truth: f64) {
        if let (low, Some(high)) = (row.low, row.high)
            && !row.is_exact()
        {
            let holds = low as f64 <= truth && high as f64 >= truth;
            self.rows = [self.rows[0] + u64::from(holds), self.rows[1] + 1];
        }
    }
}

fn coverage(make: impl Fn(&mut Random) -> Planted, budget: u64) -> Coverage {
    let mut found = Coverage::default();
    for number in 0..TRIALS / SEEDS {
        let tree = make(&mut Random::new(11, number));
        let truth = tree.all(0);
        let below: Vec<_> = tree.directories[0].below.iter().map(|top| tree.all(*top)).collect();
        for seed in 0..SEEDS {
            let budgeted = Budgeted { tree: &tree, budget, spent: AtomicU64::new(0) };
            let sampler = Sampler::new(budgeted, 0, number << 32 | seed);
            let spent = || sampler.tree().spent.load(Ordering::Relaxed);
            while spent() < budget && sampler.step(spent() as f64 / budget as f64) == Step::Again {}
            let usage = sampler.usage();
            found.add(&usage.total, &truth);
            for ((_, row), truth) in usage.directories.iter().zip(&below) {
                found.add_row(&row[0], truth[0]);
            }
        }
    }
    found
}

/// At least 93 % of the intervals hold, of the whole and of the directories in the root, and so do the lower ends of all trials, of which
/// at least `with_interval` have an interval of the entries.
#[track_caller]
fn check(name: &str, with_interval: u64, make: impl Fn(&mut Random) -> Planted, budget: u64) {
    let found = coverage(make, budget);
    assert!(found.with_interval[0] >= with_interval, "{name}: {found:?}");
    for quantity in 0..QUANTITIES {
        let [some, held, low_held] =
            [&found.with_interval, &found.held, &found.low_held].map(|times| times[quantity]);
        assert!(held * 100 >= some * 93 && low_held * 100 >= TRIALS * 93, "{name}: {found:?}");
    }
    assert!(found.rows[0] * 100 >= found.rows[1] * 93, "{name}: {found:?}");
}

#[test]
fn intervals_hold_for_balanced_trees() {
    let make = |random: &mut Random| {
        let mut tree = Planted::root();
        let mut level = vec![0];
        for _ in 0..4 {
            let below = |parent: usize, tree: &mut Planted| {
                let files = 1 + random.below(6);
                tree.add(parent, random, files)
            };
            let mut add = below;
            level =
                level.iter().flat_map(|parent| [*parent; 9]).map(|parent| add(parent, &mut tree)).collect();
        }
        tree
    };
    check("balanced", TRIALS / 2, make, 1500);
}

#[test]
fn intervals_hold_for_one_giant_subtree() {
    let make = |random: &mut Random| {
        let mut tree = Planted::root();
        let giant = random.below(60);
        for number in 0..60 {
            let top = tree.add(0, random, 10);
            tree.grow(top, if number == giant { 9000 } else { 20 }, random);
        }
        tree
    };
    check("giant", TRIALS / 2, make, 4000);
}

#[test]
fn intervals_hold_for_directories_of_zipf_sizes() {
    let make = |random: &mut Random| {
        let mut tree = Planted::root();
        for rank in 1..=100 {
            let top = tree.add(0, random, 10);
            tree.grow(top, 2500 / rank, random);
        }
        tree
    };
    check("zipf", TRIALS / 2, make, 3000);
}

#[test]
fn intervals_hold_for_deep_chains() {
    let make = |random: &mut Random| {
        let mut tree = Planted::root();
        for _ in 0..200 {
            let mut above = 0;
            for _ in 0..=random.below(80) {
                let files = random.below(6);
                above = tree.add(above, random, files);
            }
        }
        tree
    };
    check("chains", TRIALS / 2, make, 3000);
}

#[test]
fn intervals_hold_for_one_flat_directory_and_a_tree() {
    let make = |random: &mut Random| {
        let mut tree = Planted::root();
        tree.add(0, random, 20_000);
        for _ in 0..20 {
            let top = tree.add(0, random, 10);
            tree.grow(top, 500, random);
        }
        tree
    };
    check("flat", TRIALS / 2, make, 3000);
}

/// These trees have subtrees that a sample misses: intervals would not hold, so that nearly all trials must do without.
#[test]
fn trees_with_heavy_tails_have_lower_bounds() {
    let make = |random: &mut Random| {
        let mut tree = Planted::root();
        tree.grow_unevenly(10_000, random);
        tree
    };
    let found = coverage(make, 1000);
    assert!(found.with_interval[0] < TRIALS / 20, "{found:?}");
    assert!(found.low_held.iter().all(|held| held * 100 >= TRIALS * 93), "{found:?}");
}

/// Names, sizes, and a file with two links.
#[test]
#[cfg(unix)]
fn a_directory_tree_that_is_read_completely_is_exact() {
    let scratch = tempfile::tempdir().expect("a directory");
    for name in ["a", "a/b", "c"] {
        let directory = scratch.path().join(name);
        std::fs::create_dir(&directory).expect("a directory");
        (0..10).for_each(|file| std::fs::write(directory.join(file.to_string()), "1234").expect("a file"));
    }
    std::fs::hard_link(scratch.path().join("a/0"), scratch.path().join("c/linked")).expect("a link");
    let root = crate::Dir::open(scratch.path()).expect("a directory");
    let own = |path: &str| std::fs::metadata(scratch.path().join(path)).map_or(0, |of| of.len());
    let bytes = 30 * 4 + own("a") + own("a/b") + own("c");
    let tree =
        super::DirectoryTree::new(root, false, None, None, Box::new(|| false)).expect("a stat backend");
    let sampler = Sampler::new(tree, crate::tree_path::TreePath::root(), 1);
    while sampler.step(0.0) == Step::Again {}
    let usage = sampler.usage();
    assert!(usage.total.iter().all(Estimated::is_exact), "{usage:?}");
    let found = usage.total.map(|of| of.low);
    assert_eq!([found[0], found[1], found[3]], [34, 3, bytes.into()]);
    let mut rows: Vec<_> = usage.directories.iter().map(|(path, row)| (path.to_vec(), row[0].low)).collect();
    rows.sort();
    assert_eq!(rows, [(b"a".to_vec(), 21), (b"c".to_vec(), 11)]);
    assert_eq!((usage.read, sampler.tree().unread()), (4, 0));
}
