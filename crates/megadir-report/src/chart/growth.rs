//! Curves over the number of entries: growth, filling, refusals and the break-even share.
//!
//! Lines are medians, and the shaded areas around them their intervals. Series with a single point are left
//! out.

use megadir_record::{Predicted, Work, axes};

use crate::chart::lines::{Frame, Line, Point, draw, xs, ys, ys_with_ends};
use crate::chart::rows::{self, Mark, Row};
use crate::chart::{Axis, Picture, Shape, Unit, Width, bounds};
use crate::report::Report;
use crate::summary::{
    BreakEven, BreakEvenSeries, Bucket, Figure, Fill, GroupReading, GroupSummary, Interval,
    OperationQuantiles, Series, Threshold,
};
use crate::text;

/// Times are divided by the number of entries if every point has such a time, so that the usual linear growth
/// is a level line and a deviation from it is visible. If one series lacks it, all show whole operations: two
/// units do not share an axis. The predicted capacity of the directory is drawn as a limit, even where it is
/// beyond the measured sizes.
pub(super) fn growth_lines(report: &Report, group: &GroupSummary, width: Width) -> Option<Picture> {
    let GroupReading::Grow(growth) = &group.reading else { return None };
    let series: Vec<&Series> = growth.series.iter().filter(|series| series.points.len() > 1).collect();
    // Linear growth of listings is a level line per entry.
    let an_entry = series.iter().all(|series| series.points.iter().all(|point| point.entry_ns.is_some()));
    let point = |point: &crate::summary::Point| {
        let figure = point.entry_ns.filter(|_| an_entry).unwrap_or(point.time_ns);
        Point { x: point.entries as f64, y: figure }
    };
    let line = |series: &&Series| {
        let power = series.exponent.as_ref().map(|of| format!(": power {}", text::exponent(of)));
        let name = format!("{}{}", series.name, power.unwrap_or_default());
        Line::new(name, series.points.iter().map(point).collect())
    };
    let lines: Vec<Line> = series.iter().map(line).collect();
    if lines.is_empty() {
        return None;
    }
    let limits = predicted_limit(report);
    let entries = Axis::log(Unit::Count, xs(&lines).chain(limits.iter().map(|(at, _)| *at)));
    let times = Axis::fitting(Unit::Time, ys_with_ends(&lines));
    let times_title = if an_entry { "time an entry" } else { "time of an operation" };
    let frame = Frame::new(width, (entries, "entries of the directory"), (times, times_title));
    let frame = Frame { limits, ..frame };
    let phrases: Vec<String> = series.iter().map(|series| text_of(series)).collect();
    let description = format!(
        "{} over entries of the directory; shaded: 95 % intervals. {}.",
        if an_entry { "Time an entry" } else { "Time of an operation" },
        phrases.join("; ")
    );
    Some(Picture::new("growth", Some(&group.name), &group.title, draw(&frame, &lines), description))
}

fn text_of(series: &Series) -> String {
    let point = |point: &crate::summary::Point| {
        format!("{} among {}", text::time_with_interval(&point.time_ns), text::count(point.entries))
    };
    format!("{}: {}", series.name, series.points.iter().map(point).collect::<Vec<_>>().join(", "))
}

/// Only the first predicted limit of the plan: one vertical line.
pub(super) fn predicted_limit(report: &Report) -> Vec<(f64, String)> {
    let arms = report.record.header.plan.arms.iter();
    let predicted = arms.filter_map(|arm| match &arm.work {
        Work::FillUntilRefused { predicted, .. } => predicted.as_ref(),
        _ => None,
    });
    let limit = |of: &Predicted| (of.entries as f64, format!("predicted limit, {}", text::count(of.entries)));
    predicted.take(1).map(limit).collect()
}

pub(super) fn filling(report: &Report, group: &GroupSummary, width: Width) -> Option<Picture> {
    let GroupReading::Fill(fill) = &group.reading else { return None };
    let mut lines = vec![line("median of the rounds", fill, |bucket| bucket.time_ns)];
    let quantile = |of: fn(&OperationQuantiles) -> Figure| {
        move |bucket: &Bucket| Some(of(&report.summary.arm(bucket.arm)?.single()?.quantiles?))
    };
    lines.push(line("p50 of single files", fill, quantile(|of| of.p50_ns)));
    lines.push(line("p99 of single files", fill, quantile(|of| of.p99_ns)));
    lines.retain(|line| line.points.len() > 1);
    if lines.is_empty() {
        return None;
    }
    let limits = predicted_limit(report);
    let files = Axis::from_zero(Unit::Count, xs(&lines).chain(limits.iter().map(|(at, _)| *at)));
    let times = Axis::fitting(Unit::Time, ys_with_ends(&lines));
    let frame = Frame::new(width, (files, "files in the directory"), (times, "time of creating a file"));
    let frame = Frame { limits, ..frame };
    let point = |bucket: &Bucket| {
        let time = bucket.time_ns?;
        Some(format!("{} from {} files on", text::time_with_interval(&time), text::count(bucket.from)))
    };
    let phrases: Vec<String> = fill.buckets.iter().filter_map(point).collect();
    let description =
        format!("Time of creating a file over files that are there. Median: {}.", phrases.join("; "));
    Some(Picture::new("fill", Some(&group.name), &group.title, draw(&frame, &lines), description))
}

fn line(name: &str, fill: &Fill, figure: impl Fn(&Bucket) -> Option<Figure>) -> Line {
    // The middle of a bucket, since its files were created from its start to its end.
    let point = |of: &Bucket| Some(Point { x: of.from.midpoint(of.to) as f64, y: figure(of)? });
    Line::new(name, fill.buckets.iter().filter_map(point).collect())
}

/// The bar of the measurement spans the fewest to the most entries of all directories, not an interval of
/// confidence. Published figures are shown if they are within a factor of two of the mean: others belong to
/// another configuration, and would press the measured values into a corner of the axis.
pub(super) fn refused(report: &Report, group: &GroupSummary, width: Width) -> Option<Picture> {
    let GroupReading::Refusal(refusal) = &group.reading else { return None };
    let label = format!("measured, {}", axes::directories(refusal.directories as u64));
    let [mean, least, most] = [refusal.mean.round() as u64, refusal.least, refusal.most].map(text::count);
    let figure = |value, low: u64, high: u64| Figure {
        value,
        interval: Some(Interval { low: low as f64, high: high as f64 }),
    };
    let measured = figure(refusal.mean, refusal.least, refusal.most);
    let mut rows = vec![Row::bar(label, format!("{mean} ({least} to {most})"), measured, "s0")];
    let mut values = vec![refusal.most as f64];
    if let Some(predicted) = &refusal.predicted {
        let Predicted { entries, low, high, .. } = *predicted;
        values.extend([entries, high].map(|entries| entries as f64));
        let shown = [entries, low, high].map(text::count);
        let value = format!("{} [{}, {}]", shown[0], shown[1], shown[2]);
        rows.push(Row::bar("predicted before the first", value, figure(entries as f64, low, high), "s2"));
    }
    for published in report.summary.published.iter().filter(|figure| {
        let of_group = figure.group.as_ref() == Some(&group.name) && figure.unit == "entries";
        of_group && (0.5..2.0).contains(&(figure.value / refusal.mean))
    }) {
        values.push(published.value);
        let label = format!("published: {}", published.quantity);
        let value = text::count(published.value.max(0.0).round() as u64);
        let mark = Mark::Dot { at: published.value, shape: Shape::Diamond, class: "s3".into() };
        rows.push(Row::new(label, value, vec![mark]));
    }
    let axis = Axis::from_zero(Unit::Count, values);
    let frame = rows::Frame::new(width, "entries when the first file was refused", axis);
    let drawing = rows::draw(&frame, &rows);
    let described = format!("Entries when the first file was refused. {}.", rows::description_of(&rows));
    Some(Picture::new("refusal", Some(&group.name), &group.title, drawing, described))
}

pub(super) fn break_even_curves(_: &Report, group: &GroupSummary, width: Width) -> Option<Picture> {
    let GroupReading::BreakEven(read) = &group.reading else { return None };
    let name = |series: &BreakEvenSeries| {
        format!("{} of {}: {}", series.name, text::entries(series.entries), meets(series))
    };
    let line = |series: &BreakEvenSeries| {
        let points = series.points.iter().map(|point| Point { x: point.share, y: point.ratio });
        Line::new(name(series), points.collect())
    };
    let mut lines: Vec<Line> = read.series.iter().map(line).filter(|line| !line.points.is_empty()).collect();
    // All curves meet the line of the listing, which is 1 by definition.
    let (low, high) = bounds(xs(&lines))?;
    lines.push(Line::reference("listing all, 1x", [(low, 1.0), (high, 1.0)]));
    let shares = (Axis::log(Unit::Share, [low, high]), "share of the entries that are asked for, %");
    let times = (Axis::log(Unit::Ratio, ys(&lines)), "time of asking / time of listing all");
    let frame = Frame { band: band(read), ..Frame::new(width, shares, times) };
    let phrases: Vec<String> = read.series.iter().map(name).collect();
    let description = format!(
        "Time of asking for a share of the entries over the time of listing all; above 1 listing costs less. Shaded: where they meet. {}.",
        phrases.join("; ")
    );
    Some(Picture::new("break-even", Some(&group.name), &group.title, draw(&frame, &lines), description))
}

fn meets(series: &BreakEvenSeries) -> String {
    match series.from {
        Threshold::At { share } => format!("even at {}", text::threshold(share, series.interval)),
        Threshold::Always => "listing costs less throughout".into(),
        Threshold::Never => "asking costs less throughout".into(),
    }
}

/// One band for all series, from the lowest end to the highest; none if an end is beyond the measured
/// shares.
fn band(read: &BreakEven) -> Option<(f64, f64)> {
    let share = |threshold: Threshold| match threshold {
        Threshold::At { share } => Some(share),
        Threshold::Always | Threshold::Never => None,
    };
    let of = |series: &BreakEvenSeries| {
        let (low, high) = series.interval.unwrap_or((series.from, series.from));
        Some([share(low)?, share(high)?])
    };
    let ends: Option<Vec<[f64; 2]>> = read.series.iter().map(of).collect();
    bounds(ends?.into_iter().flatten())
}
