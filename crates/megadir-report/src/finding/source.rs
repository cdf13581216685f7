//! What the published sources claim, so that findings can say whether a claim stands.
//!
//! Holds words only: whether a claim stands is decided by the numbers of the run.

/// The claims of a study's source.
pub(super) struct Claims {
    /// How the source is called in a sentence.
    pub(super) who: &'static str,
    /// Whether it claims that the buffer makes the difference.
    pub(super) buffer_is_the_cause: bool,
    /// How it says that time grows with entries.
    pub(super) growth: Option<ClaimedGrowth>,
    /// Groups of pairs of which it says that the first of each takes longer, with what it says in words.
    pub(super) slower_pairs: &'static [(&'static str, &'static str)],
    /// Whether it says that creating a file costs the same however many are there.
    pub(super) flat_filling: bool,
    /// What it says of file systems, which one file system cannot tell.
    pub(super) of_file_systems: Option<&'static str>,
}

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
            slower_pairs: &[("absent", "absent names cost more than present ones")],
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
                ("write", "nested directories take longer to write than one flat directory"),
                ("read", "nested directories take longer to read than one flat directory"),
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
