//! A finding, and the rules in the order in which their findings are told.

use serde::{Deserialize, Serialize};

use super::{
    aged, attributes, break_even, calls, compare, decompose, directories, file_systems, fill, growth, pairs,
    refusal, stopped, work,
};
use crate::summary::Summary;

/// One sentence or two that follow from the numbers by a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The rule.
    pub kind: FindingKind,
    /// The group that it reads, if it is about one.
    pub group: Option<String>,
    /// Whether it says that numbers must not be used.
    pub loud: bool,
    /// The sentences.
    pub text: String,
}

/// The rules that make findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Arms that did not do the same work, and groups that cannot be read because of them.
    Work,
    /// What makes the difference between two programs.
    Decomposition,
    /// The fastest and the slowest arm of a group.
    Comparison,
    /// After how many entries the first was refused.
    Refusal,
    /// Whether a claim of the source stands that no other rule judges.
    Claim,
    /// From which share of a directory on listing beats asking.
    BreakEven,
    /// What creating a file costs as a directory fills.
    Fill,
    /// What one arm costs against another.
    Pair,
    /// What aging left of a directory's size.
    Aged,
    /// What the number of calls does to the time.
    Calls,
    /// How time grows with entries.
    Growth,
    /// Claims that compare file systems.
    FileSystems,
}

/// The rules, the most important first.
const RULES: &[fn(&Summary) -> Vec<Finding>] = &[
    work::find,
    file_systems::find_fastest,
    decompose::find,
    refusal::find,
    stopped::find,
    fill::find,
    break_even::find,
    attributes::find,
    pairs::find,
    aged::find,
    directories::find,
    compare::find,
    calls::find,
    growth::find,
    file_systems::find_apart,
    file_systems::find,
];

/// What claims say that a run leaves open.
const OPEN: &str = "cannot be told here";

/// Applies every rule.
pub(crate) fn derive(summary: &Summary) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(summary)).collect();
    // A reader is told first what the run says, and then what it does not.
    findings.sort_by_key(|finding| finding.kind == FindingKind::Claim && finding.text.contains(OPEN));
    findings
}

impl Finding {
    /// Returns a finding about a group.
    pub(super) fn of_group(kind: FindingKind, group: &str, text: String) -> Self {
        Self { kind, group: Some(group.into()), loud: false, text }
    }
}
