//! Estimates of the usage of a tree from a part of it, each with a 95 % interval: for answers within a time limit.
//!
//! ```text
//! effort 0 to 0.4: directories are read level by level; their figures are certain      root
//! then the waiting ones are the frontier, and probes estimate what lies below some      /  \
//! of them: each level of a probe is thinned to 16 directories with weights             a    b       read: certain
//!                                                                                     /|\   |\
//!                                                                                    . . .  . .     frontier: probes
//! ```
//!
//! A probe is unbiased whatever the tree looks like: a directory that stands for others counts for all of them (stratified sampling
//! of Chen, *SIAM J. Comput.* 21, 1992, with levels as strata; Knuth, *Math. Comp.* 29, 1975, has one directory a level). The probed
//! directories of the frontier spread evenly over it, so that each directory of the first level has its share.
//! `interval.rs` computes the intervals, and has what they assume.
//!
//! No sample sees a subtree that is larger than all others and lies below one of very many directories of the frontier. Then the
//! interval is too low, as it is for bytes if one file has most of them.
//!
//! | file | subject |
//! |---|---|
//! | `frontier.rs` | certain part, frontier, and the order of the work |
//! | `probe.rs` | an unbiased estimate of one subtree |
//! | `interval.rs` | intervals from probes |
//! | `directory.rs` | directories of a file system |
//! | `random.rs` | random numbers |

mod directory;
mod frontier;
mod interval;
mod probe;
mod random;
#[cfg(test)]
mod tests;

pub use self::directory::DirectoryTree;
pub use self::frontier::{Sampler, Step};
pub use self::interval::Estimated;
pub use self::random::Random;

/// Number of quantities that are estimated.
pub const QUANTITIES: usize = 4;

/// Entries, directories among them, bytes on disk, and the sum of sizes.
pub type Figures = [f64; QUANTITIES];

/// A tree whose directories are read one by one.
pub trait Tree: Sync {
    /// Directory that may be read.
    type Node: Clone + Send;

    /// Reads a directory: at most `places` of the directories in it are returned, all with the same probability.
    fn read(&self, node: &Self::Node, places: usize, random: &mut Random) -> Reading<Self::Node>;
}

/// Directory that was read.
///
/// `figures` are of the entries directly in it. If the attributes of a sample of these were read, `variance` is that of the
/// figures, and `unseen` what the rule of three adds to them for entries that are not in the sample. `directories` is the number of
/// directories to enter, of which `below` has all or a sample.
#[derive(Clone, Debug)]
pub struct Reading<N> {
    /// Figures of the entries.
    pub figures: Figures,
    /// Variance of the figures.
    pub variance: Figures,
    /// Upper bound of what the sample of attributes has missed.
    pub unseen: Figures,
    /// Number of directories to enter.
    pub directories: f64,
    /// Directories to enter.
    pub below: Vec<N>,
    /// `false` if the time was over before all entries were read.
    pub is_complete: bool,
}

impl<N> Reading<N> {
    /// A directory without entries.
    pub const EMPTY: Self = Self {
        figures: [0.0; QUANTITIES],
        variance: [0.0; QUANTITIES],
        unseen: [0.0; QUANTITIES],
        directories: 0.0,
        below: Vec::new(),
        is_complete: true,
    };
}

/// Estimates of a tree.
#[derive(Clone, Debug)]
pub struct SampledUsage<N> {
    /// Everything below the root.
    pub total: [Estimated; QUANTITIES],
    /// Directories in the root, if these are not too many to be kept, with the figures of all below them.
    pub directories: Vec<(N, [Estimated; QUANTITIES])>,
    /// Number of directories that were read.
    pub read: u64,
    /// Number of subtrees that were probed.
    pub probes: u64,
}

#[inline]
fn add(to: &mut Figures, other: &Figures, factor: f64) {
    to.iter_mut().zip(other).for_each(|(to, other)| *to += other * factor);
}

#[inline]
fn raise(to: &mut Figures, other: &Figures) {
    to.iter_mut().zip(other).for_each(|(to, other)| *to = to.max(*other));
}
