//! Complete answer to a question, computed from numbers alone; facts about the directory, and shortages.
//!
//! `look` reads the directory, `advise` computes. A measurement comes between the two, if the caller makes
//! one, and needs the candidates that follow from `look`.

use megadir::limits::{Assumptions, Ceiling, Limit, Limits, Span, limits};
use megadir::{Dir, FileType, Listing};

use crate::candidate::{Candidate, Question};
use crate::container;
use crate::crossover::{Change, changes};
use crate::measured::Measured;
use crate::new_dir::{NewDir, ready};
use crate::rule::{Case, Rule, decide, layout};

/// Everything that an answer shows, computed once, so that text, JSON and code agree. `below` and `above` are
/// the nearest numbers of files on either side of the question's at which another layout would be advised.
/// `shortage` is independent of the rule: the files may not fit on the file system whatever the layout.
#[derive(Clone, Debug)]
pub struct Advice {
    pub question: Question,
    pub new_dir: NewDir,
    pub layout: Candidate,
    pub rule: &'static Rule,
    /// Layout of a known program with as many levels, without digests, if names are known and spread evenly.
    pub by_name: Option<Candidate>,
    pub shortage: Option<Shortage>,
    pub below: Option<Change>,
    pub above: Option<Change>,
    /// `true` if one container of the files may be better than any layout.
    pub suits_container: bool,
}

/// `names_are_known` is `false` for assumed hex digits.
pub fn advise(
    question: &Question,
    limits: &Limits,
    candidates: &[Candidate],
    measured: Option<&Measured>,
    names_are_known: bool,
) -> Advice {
    let new_dir = NewDir::of(limits, question.churn);
    let rule = decide(&Case { question, new_dir: &new_dir, measured });
    let layout = layout(rule, question, &new_dir);
    let by_name = |candidate: &&Candidate| {
        names_are_known && candidate.preset.is_some() && candidate.levels() == layout.levels()
    };
    let by_name = (layout.levels() > 0).then(|| candidates.iter().find(by_name)).flatten().cloned();
    let (mut below, mut above) = (None, None);
    for change in changes(question, &new_dir, measured) {
        if change.files.likely <= question.files {
            below = Some(change);
        } else if above.is_none() {
            above = Some(change);
        }
    }
    let shortage = shortage(limits, &layout, question.files);
    let suits_container = container::suits(question, &limits.facts);
    Advice { question: *question, new_dir, layout, rule, by_name, shortage, below, above, suits_container }
}

/// Enough for the test of spread (`candidate.rs`), and read in moments from a directory of any size.
const NAMES_MAX: usize = 4096;

/// Facts of a directory without a judgement. `names` are a sample of the names in it (or in the directory
/// that the files will resemble), empty if their lengths were given or had to be assumed.
#[derive(Clone, Debug)]
pub struct Look {
    pub limits: Limits,
    /// Neither given nor measured.
    pub names_assumed: bool,
    pub names: Vec<Vec<u8>>,
}

/// The cost does not grow with the directory.
pub fn look(directory: &Dir, assumptions: &Assumptions<'_>) -> megadir::Result<Look> {
    // Too few files are no sample: `ready` replaces their figures by typical ones, and the limits are
    // judged again.
    let found = limits(directory, assumptions)?;
    let (facts, names_assumed) = ready(found.facts);
    let given = assumptions.names.is_some() || names_assumed;
    let names = if given { Vec::new() } else { names(assumptions.like.unwrap_or(directory))? };
    Ok(Look { limits: Limits::judge(facts, assumptions.churn), names_assumed, names })
}

fn names(directory: &Dir) -> megadir::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let mut listing = Listing::open(directory.path())?;
    while let Some(batch) = listing.next_batch()? {
        for entry in batch {
            if entry.kind != FileType::Directory {
                names.push(entry.name.to_vec());
            }
            if names.len() >= NAMES_MAX {
                return Ok(names);
            }
        }
    }
    Ok(names)
}

#[derive(Clone, Debug, PartialEq)]
pub struct Shortage {
    pub limit: Limit,
    pub needed: u64,
    pub available: Span,
}

impl Shortage {
    /// `true` if more than the lower bound runs out.
    pub fn is_likely(&self) -> bool {
        self.available.likely < self.needed
    }
}

/// First resource to run out before `files` files exist. Existing entries count as created.
pub fn shortage(limits: &Limits, layout: &Candidate, files: u64) -> Option<Shortage> {
    let there = limits.facts.listed_entries().map_or(0, |entries| entries.value.likely);
    let further = files.saturating_sub(there);
    if further == 0 {
        return None;
    }
    // Each directory takes an inode and a block, too, which decides on small file systems with many
    // directories.
    let needed = further.saturating_add(layout.shape.directories.ceil() as u64);
    let of_all = |ceiling: &&Ceiling| {
        // Limits of one directory are the rule's business: another layout avoids them.
        matches!(ceiling.limit, Limit::Inodes | Limit::Blocks | Limit::Quota(_) | Limit::ReadOnly)
    };
    let short = |ceiling: &&Ceiling| ceiling.more.low < needed;
    let first =
        limits.ceilings.iter().filter(of_all).filter(short).min_by_key(|ceiling| ceiling.more.likely)?;
    Some(Shortage { limit: first.limit, needed, available: first.more })
}
