//! Claims of the published sources, for findings to judge.
//!
//! This file holds words and selects published figures of comparable data; the run's numbers decide whether a
//! claim holds.

use megadir_record::{CellId, Published};

use crate::summary::{GroupSummary, Summary, unlike_contents, unlike_entries};
use crate::text;

/// Marks published figures of directories of JSON documents.
const JSON: &str = "JSON";

/// Claims of a study's source.
pub(super) struct Claims {
    /// Name of the source in a sentence.
    pub(super) who: &'static str,
    /// `true` if it claims that the buffer size causes the difference.
    pub(super) buffer_is_the_cause: bool,
    /// Claimed growth of time with entries.
    pub(super) growth: Option<ClaimedGrowth>,
    /// Groups of pairs in which it claims that the first takes longer.
    pub(super) slower_pairs: &'static [SlowerPairs],
    /// `true` if it claims that the cost of creating a file does not depend on the number of files.
    pub(super) flat_filling: bool,
    /// Its claim about file systems, which a run on a single one cannot judge.
    pub(super) of_file_systems: Option<&'static str>,
}

/// Pairs of which a source claims that the first takes longer.
pub(super) struct SlowerPairs {
    pub(super) group: &'static str,
    /// The claim in words.
    pub(super) words: &'static str,
    /// The layout that the claim is about; `None` if it is about all.
    pub(super) layout: Option<&'static str>,
}

/// Layout of the article that kept files two levels deep.
const TWO_LEVELS: Option<&str> = Some("prefix:2/2");

/// Claimed growth of time with the number of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimedGrowth {
    /// Linear.
    Linear,
    /// Less than linear.
    BelowLinear,
    /// More than linear.
    AboveLinear,
}

impl ClaimedGrowth {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::BelowLinear => "far below linear",
            Self::AboveLinear => "more than linear",
        }
    }
}

/// Studies whose sources make claims that the rules can judge.
const CLAIMS: &[(&str, Claims)] = &[
    (
        "listing",
        Claims {
            who: "the article",
            buffer_is_the_cause: true,
            growth: Some(ClaimedGrowth::Linear),
            slower_pairs: &[],
            flat_filling: false,
            of_file_systems: None,
        },
    ),
    (
        "lookup",
        Claims {
            who: "the article",
            buffer_is_the_cause: false,
            growth: Some(ClaimedGrowth::BelowLinear),
            slower_pairs: &[SlowerPairs {
                group: "absent",
                words: "absent names cost more than present ones",
                layout: None,
            }],
            flat_filling: false,
            of_file_systems: None,
        },
    ),
    (
        "fill",
        Claims {
            who: "the article",
            buffer_is_the_cause: false,
            growth: None,
            slower_pairs: &[],
            flat_filling: true,
            of_file_systems: None,
        },
    ),
    (
        "layout",
        Claims {
            who: "the article",
            buffer_is_the_cause: false,
            growth: None,
            slower_pairs: &[
                SlowerPairs {
                    group: "write",
                    words: "directories two levels deep take longer to write than one flat directory",
                    layout: TWO_LEVELS,
                },
                SlowerPairs {
                    group: "read",
                    words: "directories two levels deep take longer to read than one flat directory",
                    layout: TWO_LEVELS,
                },
            ],
            flat_filling: false,
            of_file_systems: None,
        },
    ),
    (
        "smallfile",
        Claims {
            who: "the article",
            buffer_is_the_cause: false,
            growth: None,
            slower_pairs: &[],
            flat_filling: false,
            of_file_systems: Some(
                "ext4 best overall, XFS weak on small files, ext3 slow, ext2 faster than ext3, ReiserFS good but for concurrent writes",
            ),
        },
    ),
];

/// Returns the claims of a study's source; `None` if no rule can judge them.
pub(super) fn claims(study: &str) -> Option<&'static Claims> {
    CLAIMS.iter().find(|(name, _)| *name == study).map(|(_, claims)| claims)
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
