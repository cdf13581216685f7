//! Figures and claims of the published source, as findings print them.

use megadir_record::claims::ClaimedGrowth;
use megadir_record::{CellId, Published};

use crate::summary::{GroupSummary, Summary, unlike_contents, unlike_entries};
use crate::text;

/// Marks published figures of directories of JSON documents.
const JSON: &str = "JSON";

/// Returns the words for a claimed growth.
pub(super) fn growth_words(growth: ClaimedGrowth) -> &'static str {
    match growth {
        ClaimedGrowth::Linear => "linear",
        ClaimedGrowth::BelowLinear => "far below linear",
        ClaimedGrowth::AboveLinear => "more than linear",
    }
}

/// Returns the source's figures for a group as ratios, limited to contents like the run's; if the number of
/// entries differs, with both numbers.
pub(super) fn published(summary: &Summary, group: &GroupSummary, arm: CellId) -> String {
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
