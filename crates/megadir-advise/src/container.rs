//! The third answer besides flat and deep: no files, but one container of them.
//!
//! It is no layout, and no rule of [`RULES`](crate::RULES) can choose it: whether files change, and whether programs open them by
//! their paths, is not in a directory. So it stands beside the layout, where it may help, with its conditions.

use megadir::limits::Facts;

use crate::candidate::{Pattern, Question};

/// With fewer files, neither inodes nor blocks are worth the change.
pub const FILES_MIN: u64 = 100_000;
/// Space of a file's contents, in blocks of the file system. Larger files waste little of their last block, and take
/// more time for their contents than for being opened.
pub const BLOCKS_MAX: f64 = 2.0;

/// Records of the study `container` with the figures below: cached, and uncached.
pub const RECORDS: [&str; 2] =
    ["records/2026-12-01-container-ext4", "records/2026-12-01-container-uncached-ext4"];

/// Medians of these records: times of a pack divided by those of one directory, with 100 000 files of 1000 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Read at random, uncached.
    pub random: f64,
    /// All files, cached.
    pub all: f64,
    /// Paths and sizes, cached.
    pub list: f64,
}

/// A test compares them with the records.
pub const FIGURES: Figures = Figures { random: 0.58, all: 0.65, list: 0.28 };

/// `true` if a container is worth a thought: many small files that are mainly read or walked, under names that stay.
pub fn suits(question: &Question, facts: &Facts) -> bool {
    let blocks = facts.contents.value.mean_bytes / facts.space.block_bytes.max(1) as f64;
    matches!(question.pattern, Pattern::Read | Pattern::Walk)
        && !question.churn
        && question.files >= FILES_MIN
        && blocks <= BLOCKS_MAX
}
