//! What one new directory takes, where the files are to lie.
//!
//! The directory that was named may have a past; those that a layout makes have none. So its facts are judged once more as those of
//! an empty directory beside it: same file system, same features, same names.

use megadir::FileSystem;
use megadir::limits::{Contents, Details, Fact, Facts, Known, Limit, Limits, NameLengths, Span};

/// Plan for this part of what a directory takes, where the model does not say more: the bounds of all models lie above it.
const PLANNED: f64 = 0.75;
/// With fewer entries than this, or mostly directories, a directory's own names say nothing about those to come.
const SAMPLE_MIN: u64 = 20;

/// What a directory takes before a further entry is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Holds {
    /// So many entries.
    Bounded {
        /// Entries when the first is refused.
        full: Span,
        /// How many of them to plan for, as sure as `full` is.
        plan: Span,
        /// What refuses it.
        by: Limit,
    },
    /// As many as the file system has room for.
    Unbounded,
    /// Nobody tells from here.
    Unknown,
    /// Any number, but each create looks through all of them: there is no index.
    Linear,
}

/// Where the files are to lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Ground {
    /// What a new directory takes.
    pub holds: Holds,
    /// The lengths of names to come.
    pub names: NameLengths,
}

impl Ground {
    /// Judges a new directory beside the one that was looked at.
    #[must_use]
    pub fn of(limits: &Limits, churn: bool) -> Self {
        let facts = of_new_directory(&limits.facts);
        let names = facts.names.value.clone();
        Self { holds: holds(&Limits::judge(facts, churn), churn), names }
    }

    /// Returns the most entries of a directory that is planned for; `None` where nothing bounds them or nobody tells.
    #[must_use]
    pub fn plan(&self) -> Option<Span> {
        match self.holds {
            Holds::Bounded { plan, .. } => Some(plan),
            Holds::Unbounded | Holds::Unknown | Holds::Linear => None,
        }
    }
}

/// Returns facts of which the names and sizes to come are taken for usual ones where the directory has too few files to tell.
///
/// Says whether they were.
#[must_use]
pub fn ready(facts: Facts) -> (Facts, bool) {
    // Directories are named by other habits than the files that are to come.
    let few = facts.directory_share > 0.5
        || facts.entries.as_ref().is_none_or(|entries| entries.value.likely < SAMPLE_MIN);
    let of_few = |known| few && known == Known::Measured;
    let mut facts = facts;
    let assumed = of_few(facts.names.basis.known) || facts.names.basis.known == Known::Assumed;
    if of_few(facts.names.basis.known) {
        facts.names = Fact::new(NameLengths::of(32), Known::Assumed, "32 bytes, a digest in hex");
    }
    if of_few(facts.contents.basis.known) {
        let block = Contents::exact(facts.space.unit_bytes as f64);
        facts.contents = Fact::new(block, Known::Assumed, "a block for the contents of each");
    }
    (facts, assumed)
}

/// Returns the facts of an empty directory beside another one.
fn of_new_directory(facts: &Facts) -> Facts {
    let mut new = facts.clone();
    new.directory_bytes = match facts.file_system {
        FileSystem::Ext4 => facts.space.block_bytes,
        _ => 0,
    };
    new.links = 2;
    new.entries = Some(Fact::new(Span::exact(0), Known::Measured, "a new directory"));
    new.directory_share = 0.0;
    // The root of FAT16 is the only directory that is no like of others.
    new.inode = 0;
    if let Details::Ext4(ext4) = &mut new.details {
        ext4.indexed = None;
    }
    new
}

fn holds(limits: &Limits, churn: bool) -> Holds {
    let facts = &limits.facts;
    if matches!(&facts.details, Details::Ext4(ext4) if !ext4.features.value.dir_index) {
        return Holds::Linear;
    }
    let by_option = limits.ceilings.iter().find(|ceiling| ceiling.limit == Limit::MountOption);
    let by_itself = limits.judgement.capacity.as_ref().map(|full| full.value);
    let full = match (by_itself, by_option.map(|ceiling| ceiling.more)) {
        (Some(itself), Some(option)) if option.likely < itself.likely => Some((option, Limit::MountOption)),
        (Some(itself), _) => Some((itself, limit_of(limits))),
        (None, Some(option)) => Some((option, Limit::MountOption)),
        (None, None) => None,
    };
    match full {
        Some((full, by)) => {
            let planned = limits.judgement.plan.map(|plan| if churn { plan.churning } else { plan.growing });
            let whole = by_itself.map_or(full.likely, |itself| itself.likely).max(1) as f64;
            let part = planned.map_or(PLANNED, |planned| planned as f64 / whole);
            let of = |entries: u64| part * entries as f64;
            let plan = Span::rounded(of(full.likely), of(full.low), of(full.high));
            Holds::Bounded { full, plan, by }
        }
        None if limits.model.is_none() => Holds::Unknown,
        None if matches!(facts.file_system, FileSystem::Nfs | FileSystem::Overlay) => Holds::Unknown,
        None => Holds::Unbounded,
    }
}

/// Returns what of a directory itself runs out.
fn limit_of(limits: &Limits) -> Limit {
    limits.judgement.ceilings.first().map_or(Limit::Unknown, |ceiling| ceiling.limit)
}
