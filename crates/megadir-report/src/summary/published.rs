//! Published figures stand next to a figure of this run only if both were measured on like data.
//!
//! The rule came from a claim about JSON documents that stood next to hex digests, and from times among a
//! million files next to times among fifty thousand. If the data differ, the table has the difference in
//! place of a figure.

use megadir_record::{ArmId, ContentKind, Published, Work};

use super::Summary;
use crate::text;

/// Numbers of entries that differ by a smaller fraction are alike.
const ALIKE: f64 = 0.05;
const JSON: &str = "JSON";

/// A few words; `None` if the figure is comparable.
pub(crate) fn unlike(summary: &Summary, figure: &Published, arm: ArmId) -> Option<String> {
    unlike_contents(summary, figure, arm).or_else(|| unlike_entries(summary, figure, arm))
}

pub(crate) fn unlike_contents(summary: &Summary, figure: &Published, arm: ArmId) -> Option<String> {
    // Records before the field `content` mark JSON documents by a word of the quantity.
    let of_json = figure.quantity.contains(JSON).then_some(ContentKind::Json);
    let wanted = figure.content.or(of_json)?;
    let made = summary.data_of(arm)?.source.made();
    match made.map(|made| made.content) {
        Some(content) if content == wanted => None,
        Some(content) => Some(format!("{} here, not {}", named(content), named(wanted))),
        None => Some(format!("not known to be {} here", named(wanted))),
    }
}

/// `None` if some data of the run have the figure's number of entries, or it does not matter.
pub(crate) fn entries_nowhere(summary: &Summary, figure: &Published) -> Option<String> {
    let wanted = figure.entries?;
    let found = summary.data.iter().any(|check| are_alike(check.data.entries, wanted));
    (!found).then(|| format!("no arm here has {}", text::counted(wanted, "file")))
}

fn are_alike(here: u64, wanted: u64) -> bool {
    (here as f64 - wanted as f64).abs() <= ALIKE * wanted as f64
}

pub(crate) fn unlike_entries(summary: &Summary, figure: &Published, arm: ArmId) -> Option<String> {
    let (wanted, here) = (figure.entries?, entries(summary, arm)?);
    (!are_alike(here, wanted))
        .then(|| format!("{} here, not {}", text::counted(here, "file"), text::count(wanted)))
}

/// Number of files of the data, or about as many as the arm creates until one is refused.
/// An arm that fills a directory has no data before; its planned number of entries is taken.
fn entries(summary: &Summary, arm: ArmId) -> Option<u64> {
    match summary.arm(arm)?.planned.work {
        Work::FillUntilRefused { entries_about, .. } => Some(entries_about),
        _ => Some(summary.data_of(arm)?.entries),
    }
}

fn named(content: ContentKind) -> &'static str {
    match content {
        ContentKind::Pseudorandom => "pseudorandom bytes",
        ContentKind::HexDigest => "hex digests",
        ContentKind::Json => "JSON documents",
    }
}
