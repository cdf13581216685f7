//! Findings on reading attributes: the fastest method, and the share from which listing beats asking.
//! The source's own calls exist on Windows only; on Linux the nearest equivalent is judged: calls that return
//!
//! Verdicts of this module read the adjusted intervals of a comparison and never compute one. A claim has
//! three ends: it stands, it falls, or it is undecided; "many times faster" can also stand in its direction
//! and not in its size.
//! the attributes of many inodes. The claims are about cached directories.

use megadir_record::claims::{AsSlow, Claims, ListedAttributes};
use megadir_record::{CacheState, Work};

use crate::finding::{Finding, FindingKind};
use crate::summary::{
    BreakEvenSeries, BreakEvenSizes, Contrast, GroupReading, GroupSummary, Interval, Outcome, OutcomeClass,
    Summary, Threshold,
};
use crate::text;

struct Judged {
    files: u64,
    ratio: f64,
    adjusted: Option<Interval>,
    class: OutcomeClass,
}

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let Some(Claims { who, listed_attributes, as_slow, .. }) = &summary.claims else { return Vec::new() };
    // Claims concern all groups; the largest directory comes last.
    let compares = |group: &&GroupSummary| matches!(group.reading, GroupReading::Compare(_));
    let Some(group) = summary.groups.iter().rfind(compares) else { return Vec::new() };
    let finding = |text| Finding::of_group(FindingKind::Claim, &group.name, text);
    let listed = listed_attributes.as_ref().map(|claim| Listed { who, claim }.describe(summary));
    let as_slow = as_slow.as_ref().map(|claim| describe_as_slow(who, claim, &judged(summary, &claim.method)));
    listed.into_iter().chain(as_slow).map(finding).collect()
}

struct Listed<'a> {
    who: &'a str,
    claim: &'a ListedAttributes,
}

impl Listed<'_> {
    fn describe(&self, summary: &Summary) -> String {
        // The source's own methods if any was measured; otherwise calls of the same kind on this system,
        // which the sentence then names as a substitute.
        let ListedAttributes { methods, in_kind, .. } = self.claim;
        let of = |names: &[String]| -> Vec<(String, Vec<Judged>)> {
            let all = names.iter().map(|method| (method.clone(), judged(summary, method)));
            all.filter(|(_, judged)| !judged.is_empty()).collect()
        };
        let begin = format!(
            "The claim of {} that attributes delivered with the listing come many times faster than asking for each file ({} to {} times \
             when cached)",
            self.who, self.claim.least, self.claim.most
        );
        let by = |(method, judged): &(String, Vec<Judged>)| {
            format!("by {method} it {} ({})", self.verdict(judged, "here"), figures(judged))
        };
        let own: Vec<String> = of(methods).iter().map(by).collect();
        match (own.is_empty(), of(in_kind).first()) {
            (false, _) => format!("{begin}: {}.", own.join("; ")),
            (true, Some((method, judged))) => format!(
                "{begin}, tested on {method}, for its calls exist on Windows only: {}; time against asking for each by path: {}.",
                self.verdict(judged, "here in kind"),
                figures(judged)
            ),
            (true, None) => format!(
                "{begin} is undecided here: its calls exist on Windows only, and similar calls of Linux ({}, for root) were \
                 unavailable.",
                text::list(in_kind)
            ),
        }
    }

    fn verdict(&self, judged: &[Judged], here: &str) -> String {
        let (all, faster) = (judged.len(), count(judged, &[OutcomeClass::Faster]));
        let against = count(judged, &[OutcomeClass::Same, OutcomeClass::Slower]);
        // The least speed-up that the source reports, as a ratio of times.
        let least = 1.0 / f64::from(self.claim.least);
        let as_claimed = |judged_row: &&Judged| judged_row.adjusted.is_some_and(|ratio| ratio.high <= least);
        let as_claimed = judged.iter().filter(as_claimed).count();
        // All directories must agree for "stands" and "falls"; a mixture is reported with its counts.
        match (faster, against) {
            (faster, _) if faster == all && as_claimed == all => format!("stands {here}"),
            (faster, _) if faster == all => {
                format!("stands here in its direction, not in its size ({as_claimed} of {all} as fast)")
            }
            (0, against) if against == all => format!("falls {here}"),
            (0, 0) => "is undecided here: no difference is shown".to_owned(),
            _ => format!(
                "stands here in its direction on {faster} of {all} directories and falls on {against}"
            ),
        }
    }
}

fn judged(summary: &Summary, method: &str) -> Vec<Judged> {
    let rows = summary.groups.iter().flat_map(|group| match &group.reading {
        GroupReading::Compare(comparison) => &comparison.rows[..],
        _ => &[],
    });
    rows.filter_map(|row| of_row(summary, row, method)).collect()
}

fn of_row(summary: &Summary, row: &Contrast, method: &str) -> Option<Judged> {
    // Claims are about cached directories, so cold twins of an arm do not count.
    let planned = &summary.arm(row.arm).filter(|arm| arm.planned.cache == CacheState::Warm)?.planned;
    let Work::Attributes { method: of_arm, .. } = &planned.work else { return None };
    let Outcome::Judged { ratio, adjusted, verdict, .. } = row.outcome else { return None };
    let files = summary.data_set(planned.data)?.entries;
    (of_arm == method).then_some(Judged { files, ratio: ratio.value, adjusted, class: verdict.into() })
}

fn count(judged: &[Judged], classes: &[OutcomeClass]) -> usize {
    judged.iter().filter(|judged_row| classes.contains(&judged_row.class)).count()
}

/// Falls only where a difference was shown, stands only where equality was; without either the run is too
/// imprecise.
fn describe_as_slow(who: &str, claim: &AsSlow, judged: &[Judged]) -> String {
    let begin = format!("The claim of {who} that {}", claim.words);
    if judged.is_empty() {
        return format!("{begin} is undecided here: {} was unavailable or is not judged.", claim.needs);
    }
    let (all, same) = (judged.len(), count(judged, &[OutcomeClass::Same]));
    let other = count(judged, &[OutcomeClass::Faster, OutcomeClass::Slower]);
    let verdict = match (same, other) {
        (same, _) if same == all => "stands here".to_owned(),
        (0, other) if other == all => "falls here".to_owned(),
        (0, 0) => "is undecided here".to_owned(),
        (same, other) => format!("stands here on {same} of {all} directories and falls on {other}"),
    };
    format!("{begin} {verdict}; time against that: {}.", figures(judged))
}

fn figures(judged: &[Judged]) -> String {
    let figure = |figure: &Judged| {
        format!("{} at {}", text::ratio(figure.ratio, figure.adjusted), text::counted(figure.files, "file"))
    };
    text::list(judged.iter().map(figure))
}

pub(super) fn describe_break_even(summary: &Summary, group: &GroupSummary) -> Vec<String> {
    let GroupReading::BreakEven(read) = &group.reading else { return Vec::new() };
    let mut series: Vec<&BreakEvenSeries> = read.series.iter().collect();
    // The largest directory first.
    series.sort_by_key(|series| std::cmp::Reverse(series.entries));
    let shares = series.into_iter().map(|series| share(summary, series));
    shares.chain(read.sizes.iter().map(size)).collect()
}

/// The four cases have a wording each, since "never" has two meanings: up to all entries, or only up to the
/// largest share that was measured. The words do not claim more than was measured.
fn share(summary: &Summary, series: &BreakEvenSeries) -> String {
    let begin = format!(
        "On {}, listing {} with attributes ({})",
        summary.place(series.list),
        files(series.entries),
        series.name
    );
    let least = series.points.first().map_or(0.0, |point| point.share);
    let most = series.points.last().map_or(0.0, |point| point.share);
    match series.from {
        Threshold::At { share } => {
            // A share of a million entries is easier to use as a number of files, and at least one file is
            // asked for.
            let number = (share * series.entries as f64).round() as u64;
            format!(
                "{begin} beats asking for them one by one from {} of them on ({}).",
                text::threshold(share, series.interval),
                files(number.max(1)),
            )
        }
        Threshold::Always => format!(
            "{begin} beats asking for them one by one even where only {} of them are asked for{}.",
            text::share_alone(least),
            mostly(series, Threshold::Always)
        ),
        Threshold::Never if most >= 1.0 => format!(
            "{begin} does not beat asking for them one by one, not even for all of them{}.",
            mostly(series, Threshold::Never)
        ),
        Threshold::Never => format!(
            "{begin} does not beat asking for {} of them one by one, and more were not asked for{}.",
            text::share_alone(most),
            mostly(series, Threshold::Never)
        ),
    }
}

/// An end of the curve in most rounds and a crossing in others: the interval then goes from one kind of
/// threshold to the other.
fn mostly(series: &BreakEvenSeries, threshold: Threshold) -> String {
    match series.interval {
        Some(interval) if interval == (threshold, threshold) => String::new(),
        Some((low, high)) => format!(" in most rounds; the share {}", text::between(low, high)),
        None => ", in so few rounds that this has no interval".into(),
    }
}

fn size(sizes: &BreakEvenSizes) -> String {
    let BreakEvenSizes { name, small, large, ratio } = sizes;
    let figure = text::ratio(ratio.value, ratio.interval);
    let begin = format!(
        "The share of {} is {figure} of the share of {} ({name})",
        files(*large),
        text::count(*small)
    );
    match ratio.interval {
        Some(interval) if interval.contains(1.0) => {
            format!("{begin}: that it depends on the size of the directory is not shown.")
        }
        Some(_) => format!("{begin}: it depends on the size of the directory."),
        None => format!("{begin}; with so few rounds, its dependence on the size is undecided."),
    }
}

fn files(number: u64) -> String {
    text::counted(number, "file")
}
