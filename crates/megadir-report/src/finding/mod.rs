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

pub(crate) use answer::first;
pub(crate) use derive::derive;
pub(crate) use file_systems::passes_over_removed;

use serde::{Deserialize, Serialize};

/// One sentence or two that follow from the numbers by a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The rule.
    pub kind: FindingKind,
    /// The group that it reads, if it is about one.
    pub group: Option<String>,
    /// `true` if the numbers must not be used.
    pub loud: bool,
    /// The sentences.
    pub text: String,
}

/// The rules that make findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Joint result of several comparisons that answer the study's question.
    Answer,
    /// Arms that did not do the same work, and groups that cannot be read because of them.
    Work,
    /// Cause of the difference between two programs.
    Decomposition,
    /// The fastest and the slowest arm of a group.
    Comparison,
    /// After how many entries the first was refused.
    Refusal,
    /// Verdict on a claim of the source that no other rule judges.
    Claim,
    /// From which share of a directory on listing beats asking.
    BreakEven,
    /// Cost of creating a file as a directory fills.
    Fill,
    /// Cost of one arm relative to another.
    Pair,
    /// Remaining size of a directory after aging.
    Aged,
    /// Effect of the number of calls on the time.
    Calls,
    /// Growth of time with entries.
    Growth,
    /// Claims that compare file systems.
    FileSystems,
}

impl Finding {
    fn of_group(kind: FindingKind, group: &str, text: String) -> Self {
        Self { kind, group: Some(group.into()), loud: false, text }
    }
}
