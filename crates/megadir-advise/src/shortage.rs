//! Inodes and blocks for the files and their directories, whatever the layout.

use megadir::limits::{Ceiling, Limit, Limits, Span};

use crate::candidate::Candidate;

/// Resource that the file system is short of.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortage {
    pub limit: Limit,
    pub needed: u64,
    /// Number that fits.
    pub available: Span,
}

impl Shortage {
    /// Not only the lower bound.
    #[must_use]
    pub fn is_likely(&self) -> bool {
        self.available.likely < self.needed
    }
}

/// First resource to run out before `files` files exist; `None` if all suffice. Existing entries count as
/// created.
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
    Some(Shortage { limit: first.limit, needed, available: first.more })
}
