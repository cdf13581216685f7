//! Whether the file system has inodes and blocks for so many files and their directories: no layout helps where it has not.

use megadir::limits::{Ceiling, Limit, Limits, Span};

use crate::candidate::Candidate;

/// What the file system has too little of.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortage {
    /// What runs out.
    pub limit: Limit,
    /// Files and directories that are still to be made.
    pub needed: u64,
    /// Those that there is room for.
    pub room: Span,
}

impl Shortage {
    /// Tells whether it runs out as far as is known, and not only at worst.
    #[must_use]
    pub fn is_likely(&self) -> bool {
        self.room.likely < self.needed
    }
}

/// Returns what runs out first before so many files are made in this layout; `None` where all is enough.
///
/// What the directory holds already counts as made.
#[must_use]
pub fn shortage(limits: &Limits, layout: &Candidate, files: u64) -> Option<Shortage> {
    let there = limits.facts.entries.as_ref().map_or(0, |entries| entries.value.likely);
    let further = files.saturating_sub(there);
    if further == 0 {
        return None;
    }
    let needed = further.saturating_add(layout.shape.directories.ceil() as u64);
    let of_all =
        |ceiling: &&Ceiling| matches!(ceiling.limit, Limit::Inodes | Limit::Blocks | Limit::Quota(_));
    let short = |ceiling: &&Ceiling| ceiling.more.low < needed;
    let first =
        limits.ceilings.iter().filter(of_all).filter(short).min_by_key(|ceiling| ceiling.more.likely)?;
    Some(Shortage { limit: first.limit, needed, room: first.more })
}
