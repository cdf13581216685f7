//! Findings, and the rules that derive them in order of importance.

use serde::{Deserialize, Serialize};

use super::{
    aged, answer, attributes, break_even, calls, compare, decompose, directories, file_systems, fill, growth,
    pairs, reference, refusal, stopped, work,
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
    /// What several comparisons that answer the study's question come to together.
    Answer,
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
    reference::find,
    file_systems::find_fastest,
    answer::find,
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
    // Order: what answers the question, what else the run shows, what it leaves open.
    let leading: Vec<&str> = answer::leading(summary).map(|group| group.name.as_str()).collect();
    let of_file_systems = file_systems::is_told(summary);
    let order = |finding: &Finding| {
        let of_all = match finding.kind {
            FindingKind::FileSystems => of_file_systems && finding.group.is_none(),
            // A stopped arm outranks everything.
            FindingKind::Refusal => finding.group.is_none(),
            _ => false,
        };
        let claim = finding.kind == FindingKind::Claim;
        let place = finding.group.as_ref().and_then(|group| leading.iter().position(|name| name == group));
        let place = place.unwrap_or(leading.len());
        (!finding.loud, !of_all, claim && finding.text.contains(OPEN), place, claim)
    };
    findings.sort_by_key(order);
    findings
}

impl Finding {
    pub(super) fn of_group(kind: FindingKind, group: &str, text: String) -> Self {
        Self { kind, group: Some(group.into()), loud: false, text }
    }
}
