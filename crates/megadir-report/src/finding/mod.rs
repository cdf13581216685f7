//! Rules that turn numbers into sentences, also for undecided results: without output formats, and without computing.
//!
//! ```text
//! Summary -> RULES, each in its turn -> findings -> sorted by (alarm, about all, left open, group leads, claim)
//!                                                         |
//!                               `answer::first`: one or two of them are the answer on a screen
//! ```
//!
//! A sentence is built from figures and outcomes that the summary has. So a rule can be read without
//! statistics, and a record of a later machine gives the same sentences. Rules for claims exist once for
//! all studies: which claims a source makes is data in the record.

mod answer;
mod attributes;
mod compare;
mod file_systems;
mod growth;
mod loud;
mod pairs;

use megadir_record::claims::{ClaimedGrowth, Claims};
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

/// Three signatures keep the loop over groups in one place. `Group` and `Each` differ in the number of
/// sentences only.
enum Rule {
    Whole(fn(&Summary) -> Vec<Finding>),
    /// At most one sentence on each group, or several.
    Group(FindingKind, fn(&Summary, &GroupSummary) -> Option<String>),
    Each(FindingKind, fn(&Summary, &GroupSummary) -> Vec<String>),
}

/// Order of findings that are equal by the key of [`derive`], whose sort is stable.
const RULES: &[Rule] = &[
    Rule::Whole(loud::find_work),
    Rule::Whole(loud::find_reference),
    Rule::Whole(file_systems::find_fastest),
    Rule::Whole(answer::find),
    Rule::Group(FindingKind::Decomposition, compare::describe_decomposition),
    Rule::Group(FindingKind::Refusal, growth::describe_refusal),
    Rule::Whole(loud::find_stopped),
    Rule::Group(FindingKind::Fill, growth::describe_fill),
    Rule::Each(FindingKind::BreakEven, attributes::describe_break_even),
    Rule::Whole(attributes::find),
    Rule::Each(FindingKind::Pair, pairs::describe_each),
    Rule::Whole(pairs::find_aged),
    Rule::Group(FindingKind::Pair, pairs::describe_directories),
    Rule::Group(FindingKind::Comparison, compare::describe),
    Rule::Group(FindingKind::Calls, compare::describe_calls),
    Rule::Each(FindingKind::Growth, growth::describe_growth),
    Rule::Whole(file_systems::find_apart),
    Rule::Whole(file_systems::find),
];

fn find(rule: &Rule, summary: &Summary) -> Vec<Finding> {
    let mut findings = Vec::new();
    match rule {
        Rule::Whole(find) => findings = find(summary),
        Rule::Group(kind, describe) => findings.extend(
            summary
                .groups
                .iter()
                .filter_map(|group| Some(Finding::of_group(*kind, &group.name, describe(summary, group)?))),
        ),
        Rule::Each(kind, describe) => {
            for group in &summary.groups {
                let texts = describe(summary, group).into_iter();
                findings.extend(texts.map(|text| Finding::of_group(*kind, &group.name, text)));
            }
        }
    }
    findings
}

/// Phrase of each claim that this run leaves open; `derive` recognizes such claims by it, so all rules must
/// use it.
const OPEN: &str = "is undecided here";

pub(crate) fn derive(summary: &Summary) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| find(rule, summary)).collect();
    let leading: Vec<&str> = answer::leading(summary).map(|group| group.name.as_str()).collect();
    // The key, from the left: alarms come first, then a result over all file systems or a limit that was
    // met, then settled findings before open claims, then the groups that answer the question, and within a
    // group the figures before the claims about them.
    let of_file_systems = file_systems::is_reported(summary);
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

/// Finding in place of those on the claims of a source.
pub(crate) fn unjudged(who: &str) -> Finding {
    let text = format!("The claims of {who} are not judged here: this run must not be used.");
    Finding { kind: FindingKind::Claim, group: None, loud: false, text }
}

/// Word in the quantity of a published figure that marks JSON documents.
const JSON: &str = "JSON";

/// Source's word for growth, next to the measured one; empty without claims.
fn beside(claims: Option<&Claims>, measured: ClaimedGrowth) -> String {
    let Some((who, claimed)) = claims.and_then(|claims| Some((&claims.who, claims.growth?))) else {
        return String::new();
    };
    match claimed {
        claimed if claimed == measured => format!(", as {who} says"),
        ClaimedGrowth::Linear => format!(", which {who} calls linear"),
        ClaimedGrowth::BelowLinear => format!(", which {who} calls far below linear"),
        ClaimedGrowth::AboveLinear => format!(", which {who} calls more than linear"),
    }
}

/// The source's ratios for a group, of contents like the run's, with both numbers of entries if they differ.
fn published(summary: &Summary, group: &GroupSummary, arm: ArmId) -> String {
    // Ratios only: published times are of other machines, and have a table of their own.
    let of_group = |figure: &&Published| {
        figure.unit == "ratio" && figure.group.as_ref().is_some_and(|of| group.is_of(of))
    };
    let of_contents = |figure: &&Published| unlike_contents(summary, figure, arm).is_none();
    let mut figures: Vec<&Published> =
        summary.published.iter().filter(of_group).filter(of_contents).collect();
    // Older records mark figures of JSON documents by words alone.
    if figures.iter().any(|figure| figure.quantity.contains(JSON)) {
        figures.retain(|figure| figure.quantity.contains(JSON));
    }
    let phrase = |figure: &&Published| {
        let unlike = unlike_entries(summary, figure, arm);
        let unlike = unlike.map(|why| format!("; {why}")).unwrap_or_default();
        format!("{} ({}{unlike})", text::ratio(figure.value, None), figure.quantity)
    };
    let phrases: Vec<String> = figures.iter().map(phrase).collect();
    if phrases.is_empty() { String::new() } else { format!(" Published: {}.", phrases.join("; ")) }
}
