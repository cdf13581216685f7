//! The rules that derive findings, in order of importance.

use super::{
    Finding, FindingKind, aged, answer, attributes, break_even, calls, compare, decompose, directories,
    file_systems, fill, growth, pairs, reference, refusal, stopped, work,
};
use crate::summary::Summary;

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

/// Words for a claim that the run leaves open.
const OPEN: &str = "is undecided here";

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
