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
    /// The group of pairs of which it says that the first of each takes longer.
    pub(super) slower_pairs: Option<&'static str>,
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
            slower_pairs: None,
        },
    ),
    (
        "lookup",
        Claims {
            who: "the article",
            buffer_is_the_cause: false,
            growth: Some(ClaimedGrowth::BelowLinear),
            slower_pairs: Some("absent"),
        },
    ),
];

/// Returns the claims of a study's source, if the rules can judge any.
pub(super) fn claims(study: &str) -> Option<&'static Claims> {
    CLAIMS.iter().find(|(name, _)| *name == study).map(|(_, claims)| claims)
}
