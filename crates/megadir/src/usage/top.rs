//! Directories with the highest ranks.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

use super::subtree::Gathering;
use super::{Amount, By, Directory, Sum, UsageOptions};
use crate::tree_path::TreePath;

const SLACK: usize = 64;

/// Keeps about `top` candidates, but decides nothing that files with several links could still change: until
/// these are placed at the end, a directory has a lowest and a highest possible rank. Candidates are dropped
/// in bulk when `kept` reaches `shorten_at`, by `least`, the rank that enough others surely have.
#[derive(Debug)]
pub(super) struct Top {
    by: By,
    top: usize,
    kept: Vec<Candidate>,
    shorten_at: usize,
    least: Option<Rank>,
    /// By root: number of directories offered.
    offered: Vec<u64>,
}

#[derive(Debug)]
struct Candidate {
    directory: Directory,
    low: Rank,
    /// If all linked files count here.
    high: Rank,
}

/// Greater is first. Never greater than the parent's, so that a list of the highest is a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Number(u128),
    Time(Option<(i64, u32)>),
    Earliest(Option<Reverse<(i64, u32)>>),
}

fn rank(by: By, sum: &Sum, linked: (u128, u128)) -> Rank {
    let Amount { entries, allocated, apparent, .. } = sum.amount;
    let time = |time: Option<crate::Time>| time.map(|time| (time.seconds, time.nanoseconds));
    match by {
        By::Entries => Rank::Number(entries.into()),
        By::Allocated => Rank::Number(allocated + linked.0),
        By::Apparent => Rank::Number(apparent + linked.1),
        By::Newest => Rank::Time(time(sum.newest)),
        By::Oldest => Rank::Earliest(time(sum.oldest).map(Reverse)),
    }
}

impl Top {
    pub(super) fn new(options: &UsageOptions) -> Self {
        let shorten_at = options.top.saturating_mul(2).saturating_add(SLACK);
        Self {
            by: options.by,
            top: options.top,
            kept: Vec::new(),
            shorten_at,
            least: None,
            offered: Vec::new(),
        }
    }

    pub(super) fn offer(&mut self, (root, path, depth): (u32, &TreePath, u32), gathered: &Gathering) {
        let at = root as usize;
        if self.offered.len() <= at {
            self.offered.resize(at + 1, 0);
        }
        self.offered[at] += 1;
        let high = rank(self.by, &gathered.sum, (gathered.linked_allocated, gathered.linked_apparent));
        if self.top == 0 || self.least.is_some_and(|least| high < least) {
            return;
        }
        let directory = Directory { root, path: path.clone(), depth, sum: gathered.sum };
        self.kept.push(Candidate { low: rank(self.by, &gathered.sum, (0, 0)), high, directory });
        if self.kept.len() >= self.shorten_at {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let mut lows: Vec<Rank> = self.kept.iter().map(|kept| kept.low).collect();
        let (_, least, _) = lows.select_nth_unstable_by(self.top - 1, |a, b| b.cmp(a));
        let least = *least;
        self.least = Some(least);
        self.kept.retain(|kept| kept.high >= least);
        if self.kept.iter().all(|kept| kept.low == kept.high) {
            self.kept.sort_unstable_by(|a, b| order((a.low, &a.directory), (b.low, &b.directory)));
            self.kept.truncate(self.top);
        }
        self.shorten_at = self.shorten_at.max(self.kept.len() * 2);
    }

    pub(super) fn offered(&self, root: usize) -> u64 {
        self.offered.get(root).copied().unwrap_or(0)
    }

    pub(super) fn take(&mut self) -> Vec<Directory> {
        std::mem::take(&mut self.kept).into_iter().map(|kept| kept.directory).collect()
    }
}

fn order(a: (Rank, &Directory), b: (Rank, &Directory)) -> Ordering {
    let place = |left: &Directory, right: &Directory| {
        (left.depth, left.root, &left.path).cmp(&(right.depth, right.root, &right.path))
    };
    b.0.cmp(&a.0).then_with(|| place(a.1, b.1))
}

/// Each directory after its parent, the highest first among siblings.
pub(super) fn best(all: &[Directory], by: By, top: usize) -> Vec<&Directory> {
    let ranked = |directory: &Directory| rank(by, &directory.sum, (0, 0));
    let mut best: Vec<&Directory> = all.iter().collect();
    best.sort_by(|a, b| order((ranked(a), a), (ranked(b), b)));
    best.truncate(top);
    let mut below: HashMap<(u32, TreePath), Vec<&Directory>> = HashMap::new();
    let mut stack = Vec::new();
    for directory in best {
        match directory.depth {
            1 => stack.push(directory),
            _ => below.entry((directory.root, directory.path.parent())).or_default().push(directory),
        }
    }
    stack.sort_by_key(|directory| directory.root);
    stack.reverse();
    let mut tree = Vec::new();
    while let Some(directory) = stack.pop() {
        tree.push(directory);
        let children = below.remove(&(directory.root, directory.path.clone())).unwrap_or_default();
        stack.extend(children.into_iter().rev());
    }
    tree
}
