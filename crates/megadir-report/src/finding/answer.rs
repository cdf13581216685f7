//! Answers to the study's question, and a one-sentence summary of many comparisons.
//! Picking the smallest and the largest ratio afterwards is fair: intervals are adjusted for the whole group.
//!
//! Two questions are answered here: which groups lead a report, and how many comparisons become one
//! sentence.
//!
//! ```text
//! groups with `answers` -> lead; none declared -> the first by `rank`
//! few pairs of one group  -> each by name
//! many pairs of one group -> the range of their ratios
//! ```

use megadir_record::Pair;
use megadir_record::claims::ClaimedGrowth;

use super::{Finding, FindingKind, beside};
use crate::summary::{
    GroupReading, GroupSummary, Growth, Outcome, OutcomeClass, PairRow, Pairs, Series, Shape, Summary,
};
use crate::text;

/// More pairs than this make a sentence that no one reads to the end.
const ONE_BY_ONE_MAX: usize = 4;
/// A screen has room for two findings before its table; the second one is of another leading group.
const FIRST_MAX: usize = 2;

/// Groups that answer the study's question. Older records declare none: then one group leads, by the kind
/// of its rule.
pub(super) fn leading(summary: &Summary) -> impl Iterator<Item = &GroupSummary> {
    let declared = summary.groups.iter().any(|group| group.answers);
    let first = summary.groups.iter().filter(|_| !declared).min_by_key(|group| rank(group));
    let first = first.map(|group| group.name.as_str());
    let leads = move |group: &&GroupSummary| match first {
        Some(first) => group.name == first,
        None => group.answers,
    };
    summary.groups.iter().filter(leads)
}

/// Rules with a result of their own come before comparisons of arms. An unreadable group leads only if
/// there is nothing else.
fn rank(group: &GroupSummary) -> u8 {
    match group.reading {
        GroupReading::Decompose(_) => 0,
        GroupReading::Refusal(_) => 1,
        GroupReading::Fill(_) => 2,
        GroupReading::BreakEven(_) => 3,
        GroupReading::Grow(_) => 4,
        GroupReading::Pairs(_) => 5,
        GroupReading::Compare(_) => 6,
        GroupReading::Unreadable { .. } => 7,
    }
}

pub(crate) fn first<'a>(summary: &Summary, all: &'a [Finding]) -> Vec<&'a Finding> {
    let mut findings = all.iter().filter(|finding| !finding.loud);
    let Some(main) = findings.next() else { return Vec::new() };
    let mut result = vec![main];
    // The sentence on file systems covers all kinds of work; one on a single group would compete with it.
    if summary.overview.is_none() {
        let others = leading(summary).filter(|group| main.group.as_ref().is_some_and(|of| *of != group.name));
        let first_of = |group: &GroupSummary| {
            all.iter().find(|finding| !finding.loud && finding.group.as_ref() == Some(&group.name))
        };
        result.extend(others.filter_map(first_of).take(FIRST_MAX - 1));
    }
    result
}

/// `true` if the answer names each pair of the group, so that the findings of single pairs would repeat it.
pub(super) fn names_each(summary: &Summary, group: &GroupSummary) -> bool {
    let few = match &group.reading {
        GroupReading::Pairs(read) => read.rows.len() <= ONE_BY_ONE_MAX && pairs(summary, read).is_some(),
        _ => false,
    };
    few && leading(summary).any(|leads| leads.name == group.name)
}

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let result = leading(summary).filter_map(|group| {
        let text = match &group.reading {
            GroupReading::Pairs(read) => pairs(summary, read)?,
            GroupReading::Grow(read) => growth(summary, read)?,
            _ => return None,
        };
        Some(Finding::of_group(FindingKind::Answer, &group.name, text))
    });
    result.collect()
}

/// Numbers of slower, faster, equal and undecided outcomes in words. Callers pass outcomes with a ratio
/// only, so each has a class.
fn tally<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> String {
    let classes: Vec<OutcomeClass> =
        outcomes.map(|outcome| outcome.class().unwrap_or(OutcomeClass::Same)).collect();
    let all = text::count(classes.len() as u64);
    let words = [
        (OutcomeClass::Slower, "slower"),
        (OutcomeClass::Faster, "faster"),
        (OutcomeClass::Same, "the same"),
        (OutcomeClass::Open, "not decided"),
    ];
    let parts = words.map(|(of, word)| (classes.iter().filter(|class| **class == of).count() as u64, word));
    let parts: Vec<(u64, &str)> = parts.into_iter().filter(|(number, _)| *number > 0).collect();
    match parts[..] {
        [(1, word)] => word.into(),
        [(_, "not decided")] => format!("none of {all} decided"),
        [(_, word)] => format!("all {all} {word}"),
        [(number, word), ref others @ ..] => {
            let others: String =
                others.iter().map(|(number, word)| format!(", {} {word}", text::count(*number))).collect();
            format!("{} of {all} {word}{others}", text::count(number))
        }
        [] => String::new(),
    }
}

struct Judged<'a> {
    row: &'a PairRow,
    ratio: f64,
}

struct Compared<'a> {
    summary: &'a Summary,
    than: &'a str,
    rows: Vec<Judged<'a>>,
    places: Vec<&'a str>,
}

fn pairs(summary: &Summary, pairs: &Pairs) -> Option<String> {
    let judged = pairs.rows.iter().filter_map(|row| Some(Judged { row, ratio: row.outcome.ratio_value()? }));
    let rows: Vec<Judged<'_>> = judged.collect();
    let first = &rows.first()?.row.pair;
    // One reference is needed: ratios to different arms have no common unit that a sentence could name.
    if rows.len() < 2 || rows.iter().any(|judged| judged.row.pair.than != first.than) {
        return None;
    }
    let places = text::distinct(rows.iter().map(|judged| judged.row.pair.at.as_str()));
    let (on, than) = (summary.place(first.arm), &*first.than);
    let tally = tally(rows.iter().map(|judged| &judged.row.outcome));
    let compared = Compared { summary, than, rows, places };
    let result = match compared.rows.len() {
        ..=ONE_BY_ONE_MAX => compared.one_by_one(),
        _ => compared.range()?,
    };
    Some(format!("On {on}, {result}: {tally}."))
}

impl Compared<'_> {
    fn time(&self, at: &str) -> Option<f64> {
        let judged = self.rows.iter().find(|judged| judged.row.pair.at == at)?;
        Some(self.summary.timing(judged.row.pair.to)?.time_ns.value)
    }

    fn per(&self) -> &'static str {
        // With wall time the pair is about all workers together, and its unit is a file.
        if self.rows.iter().all(|judged| judged.row.pair.wall_time) { "a file" } else { "an operation" }
    }

    fn one_by_one(&self) -> String {
        let of_place = |at: &&str| {
            let of = self.rows.iter().map(|judged| judged.row).filter(|row| row.pair.at == **at);
            let result = of.map(|row| format!("{} {}", row.pair.subject, row.outcome.ratio_text()));
            let (than, per) = (self.than, self.per());
            let time = self.time(at).map(|ns| format!("{than} takes {} {per}; of that ", text::time(ns)));
            format!("{at}: {}{}", time.unwrap_or_default(), text::list(result))
        };
        self.places.iter().map(of_place).collect::<Vec<_>>().join("; ")
    }

    /// One sentence for many pairs: the absolute times of the common reference, and the smallest and the
    /// largest ratio to it. A word that all pairs share is not repeated with each end. `None` if nothing was
    /// timed.
    fn range(&self) -> Option<String> {
        let (than, per) = (self.than, self.per());
        // Ends by the value of the ratio; both intervals are adjusted for the whole group, so picking the
        // extremes afterwards keeps the error level.
        let by_ratio = |a: &&Judged<'_>, b: &&Judged<'_>| a.ratio.total_cmp(&b.ratio);
        let least = self.rows.iter().min_by(by_ratio)?.row;
        let most = self.rows.iter().max_by(by_ratio)?.row;
        let times: Vec<(String, f64)> =
            self.places.iter().filter_map(|at| Some(((*at).to_owned(), self.time(at)?))).collect();
        let by_time = |a: &&(String, f64), b: &&(String, f64)| a.1.total_cmp(&b.1);
        let (shortest, longest) = (times.iter().min_by(by_time)?, times.iter().max_by(by_time)?);
        let reference = match self.places.len() {
            1 => format!("{}: {than} takes {} {per}", shortest.0, text::time(shortest.1)),
            _ => format!(
                "{than} takes from {} ({}) to {} {per} ({})",
                text::time(shortest.1),
                shortest.0,
                text::time(longest.1),
                longest.0
            ),
        };
        let alike = self.rows.iter().all(|judged| judged.row.pair.subject == least.pair.subject);
        let label = |row: &PairRow| {
            let Pair { subject, at, .. } = &row.pair;
            match (alike, self.places.len()) {
                (true, _) => at.clone(),
                (false, 1) => subject.clone(),
                (false, _) => format!("{subject}, {at}"),
            }
        };
        Some(format!(
            "{reference}; {} from {} ({}) to {} of that ({})",
            if alike { &least.pair.subject } else { "the others" },
            least.outcome.ratio_text(),
            label(least),
            most.outcome.ratio_text(),
            label(most)
        ))
    }
}

struct JudgedSeries<'a> {
    series: &'a Series,
    ends: &'a Outcome,
    ratio: f64,
}

/// The largest against the smallest size of every series, as a sentence. Series whose ends were not
/// compared are left out.
fn growth(summary: &Summary, growth: &Growth) -> Option<String> {
    let judged = growth.series.iter().filter_map(|series| {
        let ends = series.ends.as_ref()?;
        Some(JudgedSeries { series, ends, ratio: ends.ratio_value()? })
    });
    let mut rows: Vec<JudgedSeries<'_>> = judged.collect();
    rows.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let (least, most) = (rows.first()?, rows.last()?);
    let (least_words, most_words) = (least.ends.ratio_text(), most.ends.ratio_text());
    let on = summary.place(most.series.points.first()?.arm);
    let sizes = |series: &Series| match (series.points.first(), series.points.last()) {
        (Some(first), Some(last)) => {
            format!("{}, {} against {}", series.name, text::entries(last.entries), text::count(first.entries))
        }
        _ => series.name.clone(),
    };
    let tally = tally(rows.iter().map(|judged| judged.ends));
    let range = match rows.len() {
        1 => format!("{most_words} of the time of the smallest ({}): {tally}", sizes(most.series)),
        _ => format!(
            "from {least_words} ({}) to {most_words} ({}) of the time of the smallest: {tally}",
            sizes(least.series),
            sizes(most.series)
        ),
    };
    Some(format!("On {on}, the largest directory takes {range}{}.", shapes(summary, growth)))
}

/// Shape that all series share, with the source's word for it.
/// Mixed shapes have no word in common, and the table shows each.
fn shapes(summary: &Summary, growth: &Growth) -> String {
    let all = |shape: Shape| growth.series.iter().all(|series| series.shape == shape);
    let (words, is) = match () {
        () if all(Shape::LessThanLinear) => ("less than linear", ClaimedGrowth::BelowLinear),
        () if all(Shape::Linear) => ("linear", ClaimedGrowth::Linear),
        () if all(Shape::MoreThanLinear) => ("more than linear", ClaimedGrowth::AboveLinear),
        () => return String::new(),
    };
    format!("; growth is {words} throughout{}", beside(summary.claims.as_ref(), is))
}
