//! Rules that turn numbers into sentences, one file a rule.
//!
//! Sentences use figures, intervals and verdicts only; each rule has wording for an undecided result. No rule
//! knows an output format or recomputes a number.

mod aged;
mod answer;
mod attributes;
mod break_even;
mod calls;
mod compare;
mod decompose;
mod derive;
mod directories;
mod file_systems;
mod fill;
mod growth;
mod pairs;
mod reference;
mod refusal;
mod source;
mod stopped;
mod work;

pub use derive::{Finding, FindingKind};

pub(crate) use answer::told_first;
pub(crate) use derive::derive;
pub(crate) use file_systems::passes_over_removed;
