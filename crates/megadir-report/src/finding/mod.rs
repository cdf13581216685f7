//! Rules that turn numbers into sentences, also for undecided results. No rule knows an output format or
//! recomputes a number.

mod answer;
mod attributes;
mod compare;
mod file_systems;
mod growth;
mod loud;
mod pairs;

use megadir_record::claims::ClaimedGrowth;
use megadir_record::{ArmId, Published};
use serde::{Deserialize, Serialize};

use crate::summary::{GroupSummary, Summary, unlike_contents, unlike_entries};
use crate::text;

pub(crate) use answer::first;
pub(crate) use file_systems::passes_over_removed;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Rule that found it.
    pub kind: FindingKind,
    /// Group that the finding is about.
    pub group: Option<String>,
    /// `true` if the numbers must not be used.
    pub loud: bool,
    /// One or more sentences.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Joint result of several comparisons that answer the study's question.
    Answer,
    /// Arms that did not do the same work, and groups that cannot be read because of them.
    Work,
    Decomposition,
    Comparison,
    /// Number of entries at the first refusal.
    Refusal,
    /// Verdict on a claim of the source that no other rule judges.
    Claim,
    /// From which share of a directory on listing beats asking.
    BreakEven,
    Fill,
    Pair,
    /// Remaining size of a directory after aging.
    Aged,
    /// Effect of the number of calls on the time.
    Calls,
    Growth,
    FileSystems,
}

impl Finding {
    fn of_group(kind: FindingKind, group: &str, text: String) -> Self {
        Self { kind, group: Some(group.into()), loud: false, text }
    }
}

fn of_groups<Texts: IntoIterator<Item = String>>(
    summary: &Summary,
    kind: FindingKind,
    tell: impl Fn(&GroupSummary) -> Texts,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in &summary.groups {
        findings.extend(tell(group).into_iter().map(|text| Finding::of_group(kind, &group.name, text)));
    }
    findings
}

const RULES: &[fn(&Summary) -> Vec<Finding>] = &[
    loud::find_work,
    loud::find_reference,
    file_systems::find_fastest,
    answer::find,
    compare::find_decompose,
    growth::find_refusal,
    loud::find_stopped,
    growth::find_fill,
    attributes::find_break_even,
    attributes::find,
    pairs::find,
    pairs::find_aged,
    pairs::find_directories,
    compare::find,
    compare::find_calls,
    growth::find,
    file_systems::find_apart,
    file_systems::find,
];

const OPEN: &str = "is undecided here";

pub(crate) fn derive(summary: &Summary) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(summary)).collect();
    let leading: Vec<&str> = answer::leading(summary).map(|group| group.name.as_str()).collect();
    let of_file_systems = file_systems::is_told(summary);
    let order = |finding: &Finding| {
        let of_all = match finding.kind {
            FindingKind::FileSystems => of_file_systems && finding.group.is_none(),
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

const JSON: &str = "JSON";

fn growth_words(growth: ClaimedGrowth) -> &'static str {
    match growth {
        ClaimedGrowth::Linear => "linear",
        ClaimedGrowth::BelowLinear => "far below linear",
        ClaimedGrowth::AboveLinear => "more than linear",
    }
}

/// The source's figures for a group as ratios, limited to contents like the run's; names both numbers of
/// entries if they differ.
fn published(summary: &Summary, group: &GroupSummary, arm: ArmId) -> String {
    let of_group = |figure: &&Published| {
        figure.unit == "ratio" && figure.group.as_ref().is_some_and(|of| group.is_of(of))
    };
    let of_contents = |figure: &&Published| unlike_contents(summary, figure, arm).is_none();
    let mut figures: Vec<&Published> =
        summary.published.iter().filter(of_group).filter(of_contents).collect();
    // Older records mark figures of JSON documents by words alone.
    if figures.iter().any(|figure| figure.what.contains(JSON)) {
        figures.retain(|figure| figure.what.contains(JSON));
    }
    let one = |figure: &&Published| {
        let unlike = unlike_entries(summary, figure, arm);
        let unlike = unlike.map(|why| format!("; {why}")).unwrap_or_default();
        format!("{} ({}{unlike})", text::ratio(figure.value, None), figure.what)
    };
    let told: Vec<String> = figures.iter().map(one).collect();
    if told.is_empty() { String::new() } else { format!(" Published: {}.", told.join("; ")) }
}
