//! What the published sources claim, so that findings can say whether a claim stands.
//!
//! Holds words, and chooses which published figures are of the same kind of data: whether a claim stands is decided by the
//! numbers of the run.

use megadir_record::{CellId, Published};

use crate::summary::{GroupSummary, Summary, unlike_contents, unlike_entries};
use crate::text;

/// What published figures of directories of JSON documents say of them.
const JSON: &str = "JSON";

/// The claims of a study's source.
pub(super) struct Claims {
    /// How the source is called in a sentence.
    pub(super) who: &'static str,
    /// Whether it claims that the buffer makes the difference.
    pub(super) buffer_is_the_cause: bool,
    /// How it says that time grows with entries.
    pub(super) growth: Option<ClaimedGrowth>,
    /// Groups of pairs of which it says that the first of each takes longer.
    pub(super) slower_pairs: &'static [SlowerPairs],
    /// Whether it says that creating a file costs the same however many are there.
    pub(super) flat_filling: bool,
    /// What it says of file systems, which one file system cannot tell.
    pub(super) of_file_systems: Option<&'static str>,
}

/// Pairs of which a source says that the first takes longer.
pub(super) struct SlowerPairs {
    /// Their group.
    pub(super) group: &'static str,
    /// What it says, in words.
    pub(super) words: &'static str,
    /// The layout that it speaks of, where it does of one only: pairs of others do not judge it.
    pub(super) layout: Option<&'static str>,
}

/// The layout of the article that kept files two levels deep.
const TWO_LEVELS: Option<&str> = Some("prefix:2/2");

/// How a source says that time grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimedGrowth {
    /// As entries do.
    Linear,
    /// Less than they do.
    BelowLinear,
    /// More than they do.
    AboveLinear,
}

impl ClaimedGrowth {
    /// Returns the source's words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::BelowLinear => "far below linear",
            Self::AboveLinear => "more than linear",
        }
    }
}

/// The studies whose sources make claims that the rules can judge.
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

/// Returns the claims of a study's source, if the rules can judge any.
pub(super) fn claims(study: &str) -> Option<&'static Claims> {
    CLAIMS.iter().find(|(name, _)| *name == study).map(|(_, claims)| claims)
}

/// Returns the source's figures for a group, as ratios, of contents like those of the run; of another number of entries with both numbers.
pub(super) fn published(summary: &Summary, group: &GroupSummary, arm: CellId) -> String {
    let of_group = |figure: &&Published| {
        figure.unit == "ratio" && figure.group.as_ref().is_some_and(|of| summary.is_of(group, of))
    };
    let of_contents = |figure: &&Published| unlike_contents(summary, figure, arm).is_none();
    let mut figures: Vec<&Published> =
        summary.published.iter().filter(of_group).filter(of_contents).collect();
    // Older records say in words alone which figures are of JSON documents: those of a run on them, and the others are not.
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
