//! Capacity of a new directory next to the given one, which may have a history: the facts are judged for an empty one.
//!
//! The given directory serves as a sample of names and sizes. Its own entries, links and size do not matter
//! to a directory that the program will create near it.

use megadir::FileSystem;
use megadir::limits::{
    Contents, Details, Fact, Facts, Known, Limit, Limits, NameLengths, Span, is_searched_linearly,
};

/// If the model gives none; the bounds of all models lie above it.
const PLANNED: f64 = 0.75;
/// Fewer entries, or mostly directories, are no sample of future names.
const SAMPLE_MIN: u64 = 20;

/// `Linear`: each create searches all entries.
///
/// Entries that one new directory can hold: `full` is the number at which the first name is refused, and
/// `plan` the number to design for, lower by the scatter of that refusal. `by` is the limit that is met
/// first. `Unknown` is not `Unbounded`: a server may have a limit that this machine cannot see.
#[derive(Clone, Debug, PartialEq)]
pub enum Capacity {
    Bounded { full: Span, plan: Span, by: Limit },
    Unbounded,
    Unknown,
    Linear,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewDir {
    pub capacity: Capacity,
    pub names: NameLengths,
}

impl NewDir {
    /// `limits` belong to the given directory.
    pub fn of(limits: &Limits, churn: bool) -> Self {
        let facts = of_new_directory(&limits.facts);
        let names = facts.names.value.clone();
        Self { capacity: capacity(&Limits::judge(facts, churn), churn), names }
    }
}

/// Typical lengths and sizes if the directory has too few files; `true` if lengths are assumed.
pub fn ready(mut facts: Facts) -> (Facts, bool) {
    // Directories are named differently from the files to come.
    let few = facts.directory_share > 0.5
        || facts.entries.as_ref().is_none_or(|entries| entries.value.likely < SAMPLE_MIN);
    let of_few = |known| few && known == Known::Measured;
    let assumed = of_few(facts.names.basis.known) || facts.names.basis.known == Known::Assumed;
    if of_few(facts.names.basis.known) {
        facts.names = Fact::new(NameLengths::of(32), Known::Assumed, "32 bytes, a digest in hex");
    }
    if of_few(facts.contents.basis.known) {
        let block = Contents::exact(facts.space.unit_bytes as f64);
        facts.contents = Fact::new(block, Known::Assumed, "one block each");
    }
    (facts, assumed)
}

/// Facts as they would be in an empty directory on the same file system. Two links are its own name and its
/// `.`.
fn of_new_directory(facts: &Facts) -> Facts {
    let mut new = facts.clone();
    new.directory_bytes = match facts.file_system {
        FileSystem::Ext4 => facts.space.block_bytes,
        _ => 0,
    };
    new.links = 2;
    new.entries = Some(Fact::new(Span::exact(0), Known::Measured, "a new directory"));
    new.directory_share = 0.0;
    // Only the root of FAT16 differs from other directories.
    new.inode = 0;
    // An old directory may have been created without an index; a new one follows the features of the file
    // system.
    if let Details::Ext4(ext4) = &mut new.details {
        ext4.indexed = None;
    }
    new
}

fn capacity(limits: &Limits, churn: bool) -> Capacity {
    let facts = &limits.facts;
    if is_searched_linearly(facts) {
        return Capacity::Linear;
    }
    if matches!(&facts.details, Details::Ext4(ext4) if !ext4.features.value.dir_index) {
        return Capacity::Linear;
    }
    let by_index = limits.judgement.capacity.as_ref().map(|full| (full.value, limit_of(limits)));
    let by_option = limits.ceilings.iter().find(|ceiling| ceiling.limit == Limit::MountOption);
    let both = by_index.into_iter().chain(by_option.map(|ceiling| (ceiling.more, ceiling.limit)));
    // The first of equals: the directory's own limit.
    match both.min_by_key(|(full, _)| full.likely) {
        Some((full, by)) => {
            let planned = limits.judgement.plan.map(|plan| if churn { plan.churning } else { plan.growing });
            let whole = by_index.map_or(full.likely, |(full, _)| full.likely).max(1) as f64;
            let part = planned.map_or(PLANNED, |planned| planned as f64 / whole);
            let of = |entries: u64| part * entries as f64;
            let plan = Span::rounded(of(full.likely), of(full.low), of(full.high));
            Capacity::Bounded { full, plan, by }
        }
        None if limits.model.is_none() => Capacity::Unknown,
        None if matches!(facts.file_system, FileSystem::Nfs | FileSystem::Overlay) => Capacity::Unknown,
        None => Capacity::Unbounded,
    }
}

fn limit_of(limits: &Limits) -> Limit {
    limits.judgement.ceilings.first().map_or(Limit::Unknown, |ceiling| ceiling.limit)
}
