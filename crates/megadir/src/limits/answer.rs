//! The whole answer for a directory: the model's judgement and the file system's room, the nearest limit first.

use super::basis::Span;
use super::facts::Facts;
use super::limit::{Ceiling, Limit};
use super::model::{Judgement, Model};
use super::room;

/// How many entries fit a directory, and all that was found out on the way.
#[derive(Clone, Debug)]
pub struct Limits {
    /// What the answer is based on.
    pub facts: Facts,
    /// The model of the file system; `None` if there is none.
    pub model: Option<&'static dyn Model>,
    /// What the model says of the directory itself, and the traps that apply, the file system's included.
    pub judgement: Judgement,
    /// Everything that can run out, the nearest first.
    pub ceilings: Vec<Ceiling>,
}

impl Limits {
    /// Judges what is known of a directory; with `churn` names come and go instead of staying.
    pub fn judge(facts: Facts, churn: bool) -> Self {
        let model = super::model_of(facts.file_system);
        let mut judgement = model.map(|model| model.judge(&facts, churn)).unwrap_or_default();
        let mut ceilings = judgement.ceilings.clone();
        ceilings.extend(room::ceilings(&facts, judgement.entry_bytes));
        ceilings.sort_by_key(|ceiling| (ceiling.more.likely, ceiling.more.low));
        judgement.traps.extend(room::traps(&facts));
        Self { facts, model, judgement, ceilings }
    }

    /// Returns how many entries can be made before the first is refused; `None` if nothing that bounds them is known.
    pub fn entries_until_full(&self) -> Option<Span> {
        let least = |of: fn(&Span) -> u64| self.ceilings.iter().map(|ceiling| of(&ceiling.more)).min();
        Some(Span {
            likely: least(|more| more.likely)?,
            low: least(|more| more.low)?,
            high: least(|more| more.high)?,
        })
    }

    /// Returns what runs out first.
    pub fn runs_out_first(&self) -> Option<Limit> {
        self.ceilings.first().map(|ceiling| ceiling.limit)
    }

    /// Returns the limit of which the greatest part is used.
    pub fn most_used(&self) -> Option<&Ceiling> {
        self.ceilings.iter().max_by(|a, b| a.used.total_cmp(&b.used))
    }
}
