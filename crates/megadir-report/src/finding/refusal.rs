//! Finding on full directories: the number of entries at the first refusal, the prediction, and the source's
//! figures.

use super::{Finding, FindingKind};
use crate::summary::{GroupReading, GroupSummary, Refusal, Summary};
use crate::text;

/// Published figures that differ from the mean by more than this factor belong to another kind of directory.
const COMPARABLE: f64 = 2.0;

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    summary.groups.iter().filter_map(|group| of_group(summary, group)).collect()
}

fn of_group(summary: &Summary, group: &GroupSummary) -> Option<Finding> {
    let GroupReading::Refusal(refusal) = &group.reading else { return None };
    let mut text = format!(
        "The first file was refused after {} entries in the mean of {} ({} to {}){}.",
        text::count(refusal.mean.round() as u64),
        directories(refusal.directories as u64),
        text::count(refusal.least),
        text::count(refusal.most),
        predicted(summary, refusal)
    );
    if let Some(published) = published(summary, group, refusal) {
        text.push(' ');
        text.push_str(&published);
    }
    Some(Finding::of_group(FindingKind::Refusal, &group.name, text))
}

fn directories(number: u64) -> String {
    if number == 1 { "1 directory".into() } else { format!("{} directories", text::count(number)) }
}

fn predicted(summary: &Summary, refusal: &Refusal) -> String {
    let (Some(predicted), Some(error)) = (&refusal.predicted, refusal.error) else {
        return "; nothing was predicted".into();
    };
    let band = summary.rules.equivalence_band;
    let holds = if error.abs() <= band { "holds" } else { "does NOT hold" };
    let safe = match refusal.least >= predicted.low {
        true => "no directory was full before the lower bound",
        false => "a directory was full BEFORE the lower bound",
    };
    format!(
        "; {} were predicted, {} {}: the prediction {holds} (within {}), and {safe} of {}",
        text::count(predicted.entries),
        text::percent(100.0 * error.abs()),
        if error < 0.0 { "fewer" } else { "more" },
        text::chosen(band),
        text::count(predicted.low)
    )
}

/// Compares the source's figures with the mean, if they belong to the same kind of directory.
fn published(summary: &Summary, group: &GroupSummary, refusal: &Refusal) -> Option<String> {
    let of_group = summary.published.iter().filter(|figure| {
        figure.group.as_ref() == Some(&group.name) && figure.unit == "entries" && figure.value > 0.0
    });
    let ratios: Vec<f64> = of_group.map(|figure| figure.value / refusal.mean).collect();
    if ratios.is_empty() {
        return None;
    }
    if ratios.iter().any(|ratio| !(1.0 / COMPARABLE..=COMPARABLE).contains(ratio)) {
        return Some(
            "The published figures are of directories of another size: --published is for them.".into(),
        );
    }
    let far = |ratio: &f64| text::percent(100.0 * (ratio - 1.0).abs());
    let off: Vec<String> = ratios.iter().map(far).collect();
    let within = ratios.iter().all(|ratio| (ratio - 1.0).abs() <= summary.rules.equivalence_band);
    let words = if within { "are reproduced" } else { "are NOT reproduced" };
    Some(format!("The published figures {words}: {} from the mean.", text::list(&off)))
}
