//! Studies: declared experiments, read from TOML: the arms, their sizes, and properties of the source that
//! are reproduced or fixed. [`crate::plan()`] decides the parameters of a particular run.
//!
//! | file | subject |
//! |---|---|
//! | `load.rs` | file -> `Study`, with errors that name the line; the built-in studies |
//! | `data.rs` | the section `[data]` |
//! | `unknown_keys.rs` | misspelt keys in sections whose types belong to the record |
//!
//! A study repeats a published experiment, usually with better rules, so its file must list the properties
//! that it keeps and the ones that it changes. Nothing in it depends on a machine; the same file is planned
//! on Linux and Windows.

mod data;
mod load;
mod unknown_keys;

use megadir_record::{CacheState, Claims, Made, Preset, Published};
use serde::Deserialize;

pub use crate::kind::Kind;
pub use crate::kind::command::{CommandArm, CommandGroup, CommandLine, CommandSpec, TIMEOUT_S};
use crate::kind::list::{ListSpec, WindowsSpec};
pub use load::{BUILT_IN, BuiltIn, StudyError, built_in, from_text, plain};

/// Declaration of an experiment, independent of machine and request: the same file gives comparable runs everywhere.
/// `kind` has the arms, and all else is common to all kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    pub meta: Meta,
    pub sizes: Sizes,
    pub rules: RulesSpec,
    pub data: Made,
    pub kind: Kind,
}

/// Words and published figures that a report prints, and no part of the measurement. `source` is the
/// published text that the study repeats; `reproduces` and `fixes` list the parts of its method that were
/// kept and corrected.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    pub name: String,
    pub question: String,
    pub source: String,
    pub reproduces: Vec<String>,
    pub fixes: Vec<String>,
    pub published: Vec<Published>,
    pub claims: Option<Claims>,
}

impl Study {
    /// Replaces the listing study by its part for Windows, whose backends are others. The source's figures
    /// were measured on another system then, so they are shown without a counterpart of ours.
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

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    pub quick: SizeSpec,
    pub default: SizeSpec,
    pub published: SizeSpec,
}

/// One size of a study: quick, default or published. All numbers that make a run long are here, so that a
/// preset changes nothing else.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeSpec {
    pub entries: u64,
    /// Entries of smaller directories in a study of look-ups, attributes or filling, ascending.
    #[serde(default)]
    pub smaller: Vec<u64>,
    /// Measured; a cold cache has its own number.
    pub rounds: u32,
    #[serde(default)]
    pub cache: Vec<CacheState>,
    /// File system that the size is for, in the words of `--fs`; used where several studies run one after the other.
    #[serde(default)]
    pub file_system: Option<String>,
}

impl Sizes {
    pub fn of(&self, preset: Preset) -> &SizeSpec {
        match preset {
            Preset::Quick => &self.quick,
            Preset::Default => &self.default,
            Preset::Published => &self.published,
        }
    }
}

/// Rules of counting rounds and judging results. They are recorded with each run, because a verdict
/// means nothing without them. Fractions are of 1; `equivalence_band` is the largest ratio of times, minus 1,
/// that counts as no difference.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesSpec {
    pub warm_up_rounds_min: u32,
    /// Seconds of measured work.
    pub warm_up_s_max: u64,
    pub equivalence_band: f64,
    /// Confidence of intervals. Only 0.95 is allowed: the verdicts assume it.
    #[serde(deserialize_with = "confidence")]
    pub confidence: f64,
    /// Fraction of a round's time that may be stolen before the round is void.
    pub stolen_fraction_max: f64,
    /// Void rounds that may be measured again, as a fraction of the rounds.
    pub redone_fraction_max: f64,
}

fn confidence<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    const ALLOWED: f64 = 0.95;
    let value = f64::deserialize(deserializer)?;
    if value.to_bits() == ALLOWED.to_bits() {
        return Ok(value);
    }
    Err(serde::de::Error::custom(format!("rules.confidence is {value}; allowed: {ALLOWED}")))
}
