//! Claims of a study's published source, which reports judge.
//!
//! Claims are data in the study's file (`[claims]`), and a plan carries them to the report, which knows no study by
//! name. Records without claims get those of their study from `earlier_claims.json`.

use serde::{Deserialize, Serialize};

// A field for each kind of claim that a report can judge from the groups of a plan, and none for a study by
// name: an absent field is a claim that the source does not make, and adds nothing to the report. `who` is
// the subject of each sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claims {
    /// Name of the source in a sentence, e.g. `the article`.
    pub who: String,
    /// `true` if it claims that the size of the buffer causes the difference of two programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub buffer_is_the_cause: bool,
    /// Claimed growth of time with the number of entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<ClaimedGrowth>,
    /// `true` if it claims that the cost of creating a file does not depend on the number of files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flat_filling: bool,
    /// Pairs of which it claims that the first takes longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slower_pairs: Vec<SlowerPairs>,
    /// Claim on attributes that come with the listing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_attributes: Option<ListedAttributes>,
    /// Claim that a method is as slow as the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_slow: Option<AsSlow>,
    /// Claims on file systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_systems: Option<FileSystemClaims>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClaimedGrowth {
    Linear,
    BelowLinear,
    AboveLinear,
}

/// Pairs of which a source claims that the first takes longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowerPairs {
    /// Group of the pairs.
    pub group: String,
    /// The claim in words, after `that`.
    pub words: String,
    /// `None` for all layouts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
}

/// Claim that attributes which come with the listing are many times faster than a query of each file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedAttributes {
    /// Methods of the source whose listings return attributes.
    pub methods: Vec<String>,
    /// Nearest methods on other systems.
    pub in_kind: Vec<String>,
    /// Lowest speed-up that it measured on cached directories.
    pub least: u32,
    /// Highest speed-up that it measured on cached directories.
    pub most: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AsSlow {
    /// Method of the claim.
    pub method: String,
    /// Language or library of the method, for runs without it.
    pub needs: String,
    /// The claim in words, after `that`.
    pub words: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSystemClaims {
    /// All claims in words, after `that`.
    pub words: String,
    /// Single claims.
    pub each: Vec<FileSystemClaim>,
    /// `true` if the source limits them to rotating disks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disks_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct FileSystemClaim {
    /// The claim in words, after `that`.
    pub words: String,
    /// File system of the claim.
    pub of: String,
    /// File systems that it is compared with.
    pub than: Vec<String>,
    /// Claimed relation of their times.
    pub takes: Takes,
}

/// Claimed relation of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Takes {
    /// More than each of the others.
    More,
    /// Less than each of the others.
    Less,
    /// Different for different kinds of work, so that no single figure judges the claim.
    Varies,
}

pub fn of_earlier(study: &str) -> Option<Claims> {
    let mut all: std::collections::BTreeMap<String, Claims> =
        serde_json::from_str(include_str!("earlier_claims.json")).unwrap_or_default();
    all.remove(study)
}
