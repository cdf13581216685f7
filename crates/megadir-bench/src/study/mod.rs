//! Studies: declared experiments, read from TOML.
//!
//! A study says what is compared, at which sizes, and which parts of its source it reproduces or fixes; it holds
//! no parameter of a particular run. The built-in ones are embedded, a user's own file works the same.
//! This module never decides anything: [`crate::plan()`] turns a study and a request into a plan.

mod data;
mod load;
mod plain;

use megadir_record::{CacheState, Made, Published};
use serde::Deserialize;

pub use crate::kind::Kind;
use crate::kind::list::{ListSpec, WindowsSpec};
pub use crate::kind::small_files::AccessSpec;
pub use load::{BUILT_IN, BuiltIn, StudyError, built_in, from_text};
pub use plain::plain;

/// A study file.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Name, question and source.
    pub meta: Meta,
    /// The sizes it can run at.
    pub sizes: Sizes,
    /// Warm-up, bands and voiding.
    pub rules: RulesSpec,
    /// The files it makes.
    pub data: Made,
    /// The kind of work.
    pub kind: Kind,
}

/// Name, question and source of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// Its name, as `bench run` takes it.
    pub name: String,
    /// The question it answers, one sentence.
    pub question: String,
    /// The published source that it reproduces.
    pub source: String,
    /// Properties of its source that it reproduces.
    pub keeps: Vec<String>,
    /// Properties of its source that it fixes.
    pub mends: Vec<String>,
    /// The source's figures.
    pub published: Vec<Published>,
}

impl Study {
    /// Returns the study as it is on Windows.
    #[must_use]
    pub(crate) fn on_windows(mut self) -> Self {
        let Kind::List(list) = &mut self.kind else { return self };
        let Some(of_windows) = list.windows.take() else { return self };
        let WindowsSpec { question, unlike, baseline, compare, decompose, grow } = of_windows;
        for figure in &mut self.meta.published {
            (figure.ours, figure.unlike) = (None, Some(unlike.clone()));
        }
        self.meta.question = question;
        self.kind = Kind::List(ListSpec { baseline, compare, decompose, grow, windows: None });
        self
    }
}

/// The sizes a study can run at.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Under 30 seconds.
    pub quick: SizeSpec,
    /// The study's own size.
    pub default: SizeSpec,
    /// The source's size.
    pub published: SizeSpec,
}

/// One size.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeSpec {
    /// Entries in the directory.
    pub entries: u64,
    /// Entries of the smaller directories that a study of look-ups, attributes or filling asks too, ascending.
    #[serde(default)]
    pub smaller: Vec<u64>,
    /// Measured rounds; where the cache is cold it has rounds of its own.
    pub rounds: u32,
    /// States of the cache to measure in; warm when there are none.
    #[serde(default)]
    pub cache: Vec<CacheState>,
}

/// The rules of a run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesSpec {
    /// Rounds of warm-up, at least.
    pub warm_up_rounds_min: u32,
    /// The longest warm-up, seconds of measured work.
    pub warm_up_s_max: u64,
    /// The width of the equivalence band, as a fraction.
    pub equivalence_band: f64,
    /// The confidence of intervals, as a fraction: 0.95, which the verdicts are made for, and nothing else.
    #[serde(deserialize_with = "confidence")]
    pub confidence: f64,
    /// The fraction of a round's time that may be stolen before it is voided.
    pub stolen_fraction_max: f64,
    /// Limit of voided rounds that are measured again, as a fraction of the rounds.
    pub redone_fraction_max: f64,
}

/// Reads the confidence of intervals.
fn confidence<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    /// The level of `megadir_stats::judge_family`.
    const ALLOWED: f64 = 0.95;
    let value = f64::deserialize(deserializer)?;
    if value.to_bits() == ALLOWED.to_bits() {
        return Ok(value);
    }
    Err(serde::de::Error::custom(format!("rules.confidence is {value}; allowed: {ALLOWED}")))
}
