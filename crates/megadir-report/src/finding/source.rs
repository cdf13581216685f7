//! What the published sources claim, so that findings can say whether a claim stands.
//!
//! Holds words only: whether a claim stands is decided by the numbers of the run.

/// The claims of a study's source.
pub(super) struct Claims {
    /// How the source is called in a sentence.
    pub(super) who: &'static str,
    /// Whether it claims that the buffer makes the difference.
    pub(super) buffer_is_the_cause: bool,
    /// Whether it claims that time grows linearly with entries.
    pub(super) growth_is_linear: bool,
}

/// The studies whose sources make claims that the rules can judge.
const CLAIMS: &[(&str, Claims)] =
    &[("listing", Claims { who: "the article", buffer_is_the_cause: true, growth_is_linear: true })];

/// Returns the claims of a study's source, if the rules can judge any.
pub(super) fn claims(study: &str) -> Option<&'static Claims> {
    CLAIMS.iter().find(|(name, _)| *name == study).map(|(_, claims)| claims)
}
