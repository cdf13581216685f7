//! Finding on pairs: the contrasts on the largest data set, and the source's claim about all of them.

use megadir_record::Spread;
use megadir_record::claims::SlowerPairs;

use super::source::published;
use super::{Finding, FindingKind, answer};
use crate::summary::{GroupReading, GroupSummary, Outcome, PairRow, Summary, Verdict, rounds_for_interval};
use crate::text;

/// More rounds than this are impractical.
const ROUNDS_PRACTICAL: u64 = 10_000;
/// Up to this many comparisons of a group are described in words; its table has them all.
const TOLD_MAX: usize = 4;

/// Describes the pairs on the largest data set, and judges the source's claim about all pairs.
pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let told = summary.groups.iter().flat_map(|group| {
        let GroupReading::Pairs(pairs) = &group.reading else { return Vec::new() };
        let largest = pairs.rows.iter().filter_map(|row| entries(summary, row)).max();
        let on_largest = pairs.rows.iter().filter(|row| entries(summary, row) == largest);
        let mut told: Vec<&PairRow> = on_largest.collect();
        let left = told.len().saturating_sub(TOLD_MAX) as u64;
        if left > 0 {
            told.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
            told.truncate(TOLD_MAX);
        }
        let more = (left > 0).then(|| match left {
            1 => "Another comparison is in the table.".to_owned(),
            left => format!("{} other comparisons are in the table.", text::count(left)),
        });
        // The answer already covers each of these.
        let told = if answer::tells_each(summary, group) { Vec::new() } else { told };
        let more = more.filter(|_| !told.is_empty());
        let sentences = told.into_iter().filter_map(|row| tell(summary, row)).chain(more);
        let claim = claim(summary, group, &pairs.rows);
        let of_group = |text| Finding::of_group(FindingKind::Pair, &group.name, text);
        claim.into_iter().chain(sentences).map(of_group).collect()
    });
    told.collect()
}

/// Sort key: decided before undecided, large differences before small ones.
fn weight(row: &PairRow) -> f64 {
    match row.outcome {
        Outcome::Judged { ratio, verdict, .. } => match verdict {
            Verdict::Faster { negligible: false } | Verdict::Slower { negligible: false } => {
                2.0 + ratio.value.max(f64::MIN_POSITIVE).ln().abs()
            }
            Verdict::Faster { .. } | Verdict::Slower { .. } | Verdict::Equivalent => 1.0,
            Verdict::Inconclusive { .. } => 0.0,
        },
        _ => 0.0,
    }
}

/// Returns the number of entries in the pair's data set.
fn entries(summary: &Summary, row: &PairRow) -> Option<u64> {
    let arm = summary.arm(row.pair.arm)?;
    summary.data.iter().find(|check| check.data.id == arm.cell.data).map(|check| check.data.entries)
}

fn tell(summary: &Summary, row: &PairRow) -> Option<String> {
    let (what, than) = (&row.pair.what, &row.pair.than);
    let (on, to) = (summary.place(row.pair.arm), summary.place(row.pair.to));
    let begin = if on == to { format!("On {on}, {}:", row.pair.at) } else { format!("{}:", row.pair.at) };
    match row.outcome {
        Outcome::Judged { ratio, adjusted, verdict, .. } => {
            let figure = text::ratio(ratio.value, adjusted);
            Some(match verdict {
                Verdict::Faster { negligible } | Verdict::Slower { negligible } => {
                    let so = if negligible { ", which is negligible" } else { "" };
                    format!("{begin} {what} cost {figure} of {than}{so}.")
                }
                Verdict::Equivalent => format!("{begin} {what} cost as much as {than} ({figure})."),
                Verdict::Inconclusive { rounds_to_decide } => {
                    let more = rounds_to_decide.map(|rounds| rounds.saturating_sub(row.rounds as u64));
                    let decide = more.map(|more| match more {
                        ROUNDS_PRACTICAL.. => "; no practical number of rounds would decide".to_owned(),
                        more => {
                            let rounds = text::counted(more.max(1), "more round");
                            format!("; about {rounds} would decide")
                        }
                    });
                    let decide = decide.unwrap_or_default();
                    format!("{begin} {what} against {than}: no difference shown ({figure}){decide}.")
                }
            })
        }
        Outcome::TooFewRounds { ratio } => Some(format!(
            "{begin} {what} took {} of the time of {than}; under {} rounds nothing is judged.",
            text::ratio(ratio, None),
            rounds_for_interval(summary.rules.confidence)
        )),
        Outcome::Baseline | Outcome::Unequal | Outcome::NotMeasured => None,
    }
}

/// `true` if the source's claim covers the comparison: it is about all layouts, or the one of the arm.
fn is_claimed(summary: &Summary, claimed: &SlowerPairs, row: &PairRow) -> bool {
    let Some(claimed) = &claimed.layout else { return true };
    let data = summary.arm(row.pair.arm).and_then(|arm| summary.data.get(arm.cell.data.0 as usize));
    let made = data.and_then(|check| check.data.source.made());
    made.is_some_and(|made| matches!(&made.spread, Spread::Layout { layout } if layout == claimed))
}

/// Judges the source's claim that the first of each pair takes longer.
fn claim(summary: &Summary, group: &GroupSummary, rows: &[PairRow]) -> Option<String> {
    let claims = summary.claims.as_ref()?;
    let claimed = claims.slower_pairs.iter().find(|claimed| claimed.group == group.name)?;
    let rows: Vec<&PairRow> = rows.iter().filter(|row| is_claimed(summary, claimed, row)).collect();
    let verdicts: Vec<Verdict> = rows
        .iter()
        .filter_map(|row| match row.outcome {
            Outcome::Judged { verdict, .. } => Some(verdict),
            _ => None,
        })
        .collect();
    let slower = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Slower { .. })).count();
    let against = |verdict: &&Verdict| matches!(verdict, Verdict::Faster { .. } | Verdict::Equivalent);
    let against = verdicts.iter().filter(against).count();
    let of_layout =
        claimed.layout.as_ref().map(|layout| format!(" (judged by `{layout}`)")).unwrap_or_default();
    let begin = format!("The claim of {} that {}{of_layout}", claims.who, claimed.words);
    let stands = match (slower, against, verdicts.len()) {
        (_, _, 0) => format!("{begin} is undecided here: nothing is judged."),
        (1, _, 1) => format!("{begin} stands here."),
        (0, 1, 1) => format!("{begin} falls here."),
        (slower, _, all) if slower == all => format!("{begin} stands here in all {all} comparisons."),
        (0, against, all) if against > 0 => {
            format!("{begin} falls here: not shown in any of {all} comparisons, excluded in {against}.")
        }
        (0, _, all) => {
            format!("{begin} is undecided here: none of {all} comparisons shows it or excludes it.")
        }
        (slower, against, all) => {
            format!("{begin} stands here in {slower} of {all} comparisons and is excluded in {against}.")
        }
    };
    let published = rows.first().map(|row| published(summary, group, row.pair.arm));
    Some(format!("{stands}{}", published.unwrap_or_default()))
}
