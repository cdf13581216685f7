//! From numbers to sentences, by rules: what a run found, whatever it turns out to be.
//!
//! One file a rule. A sentence is made of figures, intervals and verdicts only; each rule has words for "cannot be
//! told" too. Nothing here knows a format or recomputes a number.

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
