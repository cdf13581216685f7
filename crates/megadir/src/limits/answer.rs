//! The answer for a directory: the model's judgement and the free space, nearest limit first.

use super::basis::Span;
use super::facts::Facts;
use super::model::{Ceiling, Judgement, Limit, Model};
use super::name_lengths::NameLengths;
use super::room;
use super::stated::Stated;
use crate::dir::Dir;

/// Number of entries that a directory can hold, with the evidence.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Facts about the directory and its file system.
    pub facts: Facts,
    /// Model of the file system; `None` if there is none.
    pub model: Option<&'static Model>,
    /// The model's judgement, with the traps of the directory and its file system, most pressing first.
    pub judgement: Judgement,
    /// Limits that can be reached, nearest first.
    pub ceilings: Vec<Ceiling>,
}

impl Limits {
    /// Judges a directory from its facts. With `churn`, names come and go instead of staying.
    pub fn judge(facts: Facts, churn: bool) -> Self {
        let model = super::model_of(facts.file_system);
        let mut judgement = model.map(|model| model.judge(&facts, churn)).unwrap_or_default();
        let mut ceilings = judgement.ceilings.clone();
        ceilings.extend(room::ceilings(&facts, judgement.entry_bytes));
        if facts.is_read_only {
            // Remedies for other limits would not help.
            ceilings = vec![room::read_only()];
            judgement.traps.clear();
            return Self { facts, model, judgement, ceilings };
        }
        ceilings.sort_by_key(|ceiling| (ceiling.more.likely, ceiling.more.low));
        judgement.traps.extend(room::traps(&facts));
        let first = ceilings.first().and_then(|ceiling| room::trap_of(ceiling.limit));
        judgement.traps.sort_by_key(|trap| Some(trap.name) != first);
        Self { facts, model, judgement, ceilings }
    }

    /// Number of entries that can be created before one is refused; `None` if no limit is known.
    pub fn entries_until_full(&self) -> Option<Span> {
        let least = |of: fn(&Span) -> u64| self.ceilings.iter().map(|ceiling| of(&ceiling.more)).min();
        Some(Span {
            likely: least(|more| more.likely)?,
            low: least(|more| more.low)?,
            high: least(|more| more.high)?,
        })
    }

    /// Number of subdirectories that can be created before one is refused for the link count or for want of inodes; `None` if the
    /// link count does not limit them.
    pub fn subdirectories_until_full(&self) -> Option<Span> {
        let left = self.judgement.subdirectories.as_ref()?.value;
        let inodes = self.ceilings.iter().find(|ceiling| ceiling.limit == Limit::Inodes);
        Some(inodes.map_or(left, |inodes| Span {
            likely: left.likely.min(inodes.more.likely),
            low: left.low.min(inodes.more.low),
            high: left.high.min(inodes.more.high),
        }))
    }

    /// The limit that is reached first.
    pub fn runs_out_first(&self) -> Option<Limit> {
        self.ceilings.first().map(|ceiling| ceiling.limit)
    }

    /// The limit with the highest used share.
    pub fn most_used(&self) -> Option<&Ceiling> {
        self.ceilings.iter().max_by(|a, b| a.used.total_cmp(&b.used))
    }
}

/// Assumptions about the entries to come, beyond the evidence in the directory.
#[derive(Clone, Copy, Debug)]
pub struct Assumptions<'a> {
    /// Name lengths of the entries to come; `None` samples the entries present.
    pub names: Option<&'a NameLengths>,
    /// Sample this directory instead.
    pub like: Option<&'a Dir>,
    /// Content size of each entry to come, bytes; `None` samples the entries present.
    pub contents_bytes: Option<u64>,
    /// The entries to come are directories, whatever is present.
    pub directories: bool,
    /// Names come and go instead of staying.
    pub churn: bool,
    /// Count the entries instead of estimating them; reads the whole directory.
    pub count: bool,
    /// File system in place of the visible one.
    pub stated: Option<&'a Stated>,
}

impl Assumptions<'_> {
    /// More entries like those present.
    pub const MORE_OF_THE_SAME: Self = Self {
        names: None,
        like: None,
        contents_bytes: None,
        directories: false,
        churn: false,
        count: false,
        stated: None,
    };
}

/// Always fails with [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable): not supported on this system.
#[cfg(not(any(target_os = "linux", windows)))]
pub fn limits(directory: &Dir, _assumptions: &Assumptions<'_>) -> crate::Result<Limits> {
    let reason = "not available on this system";
    Err(crate::Error::new("limits", directory.path(), crate::ErrorKind::Unavailable, reason))
}
