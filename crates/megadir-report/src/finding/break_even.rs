//! Finding on break-even: the share of a directory's files at which listing becomes cheaper than single
//! requests, and how it depends on size.

use super::{Finding, FindingKind};
use crate::summary::{BreakEven, BreakEvenSeries, BreakEvenSizes, GroupReading, Summary, Threshold};
use crate::text;

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let told = summary.groups.iter().flat_map(|group| {
        let GroupReading::BreakEven(read) = &group.reading else { return Vec::new() };
        let texts = tell(summary, read).into_iter();
        texts.map(|text| Finding::of_group(FindingKind::BreakEven, &group.name, text)).collect()
    });
    told.collect()
}

fn tell(summary: &Summary, read: &BreakEven) -> Vec<String> {
    // The largest directory matters most.
    let mut series: Vec<&BreakEvenSeries> = read.series.iter().collect();
    series.sort_by_key(|one| std::cmp::Reverse(one.entries));
    let shares = series.into_iter().map(|one| share(summary, one));
    shares.chain(read.sizes.iter().map(size)).collect()
}

fn share(summary: &Summary, series: &BreakEvenSeries) -> String {
    let begin = format!(
        "On {}, listing {} with attributes ({})",
        summary.place(series.list),
        files(series.entries),
        series.name
    );
    let least = series.asks.first().map_or(0.0, |point| point.share);
    let most = series.asks.last().map_or(0.0, |point| point.share);
    match series.from {
        Threshold::At { share } => {
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
        Threshold::Never if most >= 1.0 => {
            format!(
                "{begin} does not beat asking for them one by one, not even for all of them{}.",
                mostly(series, Threshold::Never)
            )
        }
        Threshold::Never => format!(
            "{begin} does not beat asking for {} of them one by one, and more were not asked for{}.",
            text::share_alone(most),
            mostly(series, Threshold::Never)
        ),
    }
}

/// Qualifies a statement if the interval includes other outcomes or is missing.
fn mostly(series: &BreakEvenSeries, told: Threshold) -> String {
    match series.interval {
        Some(interval) if interval == (told, told) => String::new(),
        Some((low, high)) => {
            format!(" in most rounds; the share {}", text::between(low, high))
        }
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
