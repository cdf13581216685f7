//! Findings on pairs of arms: contrasts, aged directories, and the cost of making directories.

use megadir_record::{AGED_GROUP, ArmId, BuiltSet, Data, FileOperation, Spread, Work};

use crate::finding::{Finding, FindingKind, answer, published};
use crate::summary::{
    ArmSummary, GroupReading, GroupSummary, Outcome, PairRow, Summary, Verdict, rounds_for_interval,
};
use crate::text;

/// More rounds than a user runs in practice: about three hours for rounds of a second.
const ROUNDS_PRACTICAL: u64 = 10_000;
/// Single comparisons of a group that are sentences; the table has the others.
const LISTED_MAX: usize = 4;

/// On the largest data set; the source's claim is judged on all pairs.
pub(super) fn describe_each(summary: &Summary, group: &GroupSummary) -> Vec<String> {
    let GroupReading::Pairs(pairs) = &group.reading else { return Vec::new() };
    let claim = claim(summary, group, &pairs.rows).into_iter();
    if answer::names_each(summary, group) {
        return claim.collect();
    }
    let largest = pairs.rows.iter().filter_map(|row| entries(summary, row)).max();
    let on_largest = pairs.rows.iter().filter(|row| entries(summary, row) == largest);
    let mut listed: Vec<&PairRow> = on_largest.collect();
    let more = match listed.len().saturating_sub(LISTED_MAX) as u64 {
        0 => None,
        1 => Some("Another comparison is in the table.".to_owned()),
        left => Some(format!("{} other comparisons are in the table.", text::count(left))),
    };
    if more.is_some() {
        // Only a selection is sorted. If all pairs fit, the order of the plan stays, which a reader can
        // follow in the table.
        listed.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        listed.truncate(LISTED_MAX);
    }
    claim.chain(listed.into_iter().filter_map(|row| describe(summary, row))).chain(more).collect()
}

/// Decided before undecided, large differences before small ones.
fn weight(row: &PairRow) -> f64 {
    match row.outcome {
        Outcome::Judged { ratio, verdict, .. } => match verdict {
            // Logarithms make 2x and 0.5x equally large. The offset of 2 places every decided difference
            // before the equal ones.
            Verdict::Faster { negligible: false } | Verdict::Slower { negligible: false } => {
                2.0 + ratio.value.max(f64::MIN_POSITIVE).ln().abs()
            }
            Verdict::Faster { .. } | Verdict::Slower { .. } | Verdict::Equivalent => 1.0,
            Verdict::Inconclusive { .. } => 0.0,
        },
        _ => 0.0,
    }
}

fn entries(summary: &Summary, row: &PairRow) -> Option<u64> {
    summary.data_of(row.pair.arm).map(|data| data.entries)
}

/// One sentence for a pair, which claims no more than its verdict. If a difference was not shown, the
/// sentence has the number of further rounds that would decide, unless that number is beyond all practice.
/// `None` for pairs without a measurement, which have warnings.
fn describe(summary: &Summary, row: &PairRow) -> Option<String> {
    let (subject, than) = (&row.pair.subject, &row.pair.than);
    let (on, to) = (summary.place(row.pair.arm), summary.place(row.pair.to));
    // Two places in one pair means that file systems are compared, and the circumstances already name them.
    let begin = if on == to { format!("On {on}, {}:", row.pair.at) } else { format!("{}:", row.pair.at) };
    match row.outcome {
        Outcome::Judged { verdict, .. } => {
            let figure = row.outcome.ratio_text();
            Some(match verdict {
                Verdict::Faster { negligible } | Verdict::Slower { negligible } => {
                    let so = if negligible { ", which is negligible" } else { "" };
                    format!("{begin} {subject} cost {figure} of {than}{so}.")
                }
                Verdict::Equivalent => format!("{begin} {subject} cost as much as {than} ({figure})."),
                Verdict::Inconclusive { rounds_to_decide } => {
                    // The projection is the total number of rounds; a reader needs the rest.
                    let more = rounds_to_decide.map(|rounds| rounds.saturating_sub(row.rounds as u64));
                    let decide = more.map(|more| match more {
                        ROUNDS_PRACTICAL.. => "; no practical number of rounds would decide".to_owned(),
                        more => format!("; about {} would decide", text::counted(more.max(1), "more round")),
                    });
                    let decide = decide.unwrap_or_default();
                    format!("{begin} {subject} against {than}: no difference shown ({figure}){decide}.")
                }
            })
        }
        Outcome::TooFewRounds { ratio } => Some(format!(
            "{begin} {subject} took {} of the time of {than}; under {} rounds nothing is judged.",
            text::ratio(ratio, None),
            rounds_for_interval(summary.rules.confidence)
        )),
        Outcome::Baseline | Outcome::Unequal | Outcome::NotMeasured => None,
    }
}

/// A published claim stands only where the run shows the difference, and falls only where the run excludes
/// it; all else is undecided. The counts are stated for several comparisons, because a claim may hold for
/// some sizes and not for others. A claim on one layout is judged by that layout alone.
fn claim(summary: &Summary, group: &GroupSummary, rows: &[PairRow]) -> Option<String> {
    let claims = summary.claims.as_ref()?;
    let claimed = claims.slower_pairs.iter().find(|claimed| claimed.group == group.name)?;
    // A claim without a layout is judged by all pairs of the group.
    let is_claimed = |row: &&PairRow| {
        claimed.layout.is_none() || layout(summary, row.pair.arm) == claimed.layout.as_deref()
    };
    let rows: Vec<&PairRow> = rows.iter().filter(is_claimed).collect();
    let verdicts: Vec<Verdict> = rows.iter().filter_map(|row| row.outcome.verdict()).collect();
    let slower = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Slower { .. })).count();
    let against = |verdict: &&Verdict| matches!(verdict, Verdict::Faster { .. } | Verdict::Equivalent);
    let against = verdicts.iter().filter(against).count();
    let of_layout =
        claimed.layout.as_ref().map(|layout| format!(" (judged by `{layout}`)")).unwrap_or_default();
    let begin = format!("The claim of {} that {}{of_layout}", claims.who, claimed.words);
    let verdict = match (slower, against, verdicts.len()) {
        // One comparison needs no counts. With several, "stands" needs all of them, and "falls" needs one
        // that excludes the difference and none that shows it.
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
    Some(format!("{verdict}{}", published.unwrap_or_default()))
}

/// An aged directory this many times larger than a fresh one has kept space that it does not need.
const KEPT: f64 = 1.5;

/// The largest aged directory of each file system, with a fresh one that holds as many files.
pub(super) fn find_aged(summary: &Summary) -> Vec<Finding> {
    // Data sets on other file systems are other series, so "largest" is meant for each of them.
    let Some(built) = &summary.built else { return Vec::new() };
    let largest = |data: &Data| {
        let others = built.sets.iter().filter(|set| set.aged.is_some());
        let mut others =
            others.filter_map(|set| summary.data_set(set.data)).filter(|other| other.on == data.on);
        others.all(|other| other.entries <= data.entries)
    };
    let texts = built.sets.iter().filter_map(|aged| {
        let data = summary.data_set(aged.data).filter(|data| largest(data))?;
        let fresh = built.sets.iter().find(|fresh| {
            fresh.aged.is_none() && summary.data_set(fresh.data).is_some_and(|fresh| is_twin(data, fresh))
        });
        let text = describe_aged(summary, data, aged, fresh?)?;
        Some(Finding::of_group(FindingKind::Aged, AGED_GROUP, text))
    });
    texts.collect()
}

/// Same files, same place; only the age differs.
fn is_twin(aged: &Data, fresh: &Data) -> bool {
    let (Some(made), Some(other)) = (aged.source.made(), fresh.source.made()) else { return false };
    let fresh_made = megadir_record::Made { aged_files: 0, ..made.clone() };
    aged.entries == fresh.entries && aged.on == fresh.on && fresh_made == *other
}

fn describe_aged(summary: &Summary, data: &Data, aged: &BuiltSet, fresh: &BuiltSet) -> Option<String> {
    let of = aged.aged?;
    let (now, usual) = (aged.directory_bytes?, fresh.directory_bytes?);
    let (held, left) = (of.files.saturating_add(data.entries), data.entries);
    let (full, now_text) = (text::bytes(of.directory_bytes), text::bytes(now));
    // The size of the directory now, by `st_size`: larger than a fresh one, unchanged since it was full, or
    // reduced again.
    let so = match () {
        () if now as f64 > KEPT * usual as f64 => {
            format!("still says {now_text}, and so is larger than it need be")
        }
        () if now == of.directory_bytes => format!("says {now_text} now too"),
        () => format!("says {now_text} now: it gave back what it had grown to"),
    };
    Some(format!(
        "On {}, a directory of {} that had held {} was of {full} when full and {so}; a fresh one is of {}.",
        summary.place_of(data.id),
        text::counted(left, "file"),
        text::count(held),
        text::bytes(usual)
    ))
}

/// Creating directories in advance is an arm of its own, since the time of a file must not contain it. The
/// sentence puts the two next to each other.
pub(super) fn describe_directories(summary: &Summary, group: &GroupSummary) -> Option<String> {
    let arms = summary.arms.iter().filter(|arm| arm.planned.groups.contains(&group.name));
    let phrases: Vec<String> = arms.filter_map(|arm| made_before(summary, arm)).collect();
    (!phrases.is_empty()).then(|| format!("Making the directories beforehand took {}.", text::list(&phrases)))
}

fn made_before(summary: &Summary, arm: &ArmSummary) -> Option<String> {
    let time_ns = median(arm, FileOperation::MakeDirectories)?;
    // Writing to the same data set is the natural unit for the cost of its directories.
    let mut of_data = summary.arms.iter().filter(|other| other.planned.data == arm.planned.data);
    let writing = of_data.find_map(|other| median(other, FileOperation::Create));
    let share = writing.filter(|ns| *ns > 0.0).map(|ns| time_ns / ns);
    let share = share.map(|share| format!(" ({} of writing)", text::percent(100.0 * share)));
    let of = layout(summary, arm.planned.id).map(|layout| format!(" for `{layout}`")).unwrap_or_default();
    Some(format!("{} a file more{}{of}", text::time(time_ns), share.unwrap_or_default()))
}

fn median(arm: &ArmSummary, operation: FileOperation) -> Option<f64> {
    let does = matches!(&arm.planned.work, Work::Files(work) if work.operation == operation);
    arm.timing.as_ref().filter(|_| does).map(|timing| timing.time_ns.value)
}

fn layout(summary: &Summary, arm: ArmId) -> Option<&str> {
    match &summary.data_of(arm)?.source.made()?.spread {
        Spread::Layout { layout } => Some(layout),
        _ => None,
    }
}
