//! The fields of a study file, as they are written.
//!
//! Unknown fields are errors everywhere, so that a misspelt one cannot silently do nothing.

use megadir_record::{CacheState, Keys, LookupCall, Made, Presence, Published, Stage};
use serde::Deserialize;

use super::files::{FillSpec, LayoutSpec, RemoveSpec, SmallFileSpec};

/// A study file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Its name, as `bench run` takes it.
    pub name: String,
    /// The question it answers, one sentence.
    pub question: String,
    /// The published source that it reproduces.
    pub source: String,
    /// What it keeps of its source.
    pub keeps: Vec<String>,
    /// What it mends of its source.
    pub mends: Vec<String>,
    /// The source's figures.
    #[serde(default)]
    pub published: Vec<Published>,
    /// The sizes it can run at.
    pub size: Sizes,
    /// The files it makes.
    #[serde(deserialize_with = "super::data::made")]
    pub data: Made,
    /// Warm-up, bands and voiding.
    pub rules: RulesSpec,
    /// The arm that the others are compared with, of a study that lists.
    pub baseline: Option<BaselineSpec>,
    /// What is asked, of a study that looks names up.
    pub lookup: Option<LookupSpec>,
    /// What is asked, of a study that fills directories until one file is refused.
    pub refusal: Option<RefusalSpec>,
    /// How attributes are found out, of a study that compares ways of doing so.
    pub attributes: Option<AttributesSpec>,
    /// What is asked for and against what, of a study that holds asking for some files against listing all.
    pub ask: Option<AskSpec>,
    /// What is asked, of a study that fills a directory.
    pub fill: Option<FillSpec>,
    /// What is asked, of a study that compares layouts.
    pub layout: Option<LayoutSpec>,
    /// What is asked, of a study of the life of small files.
    pub smallfile: Option<SmallFileSpec>,
    /// What is asked, of a study that removes trees.
    pub remove: Option<RemoveSpec>,
    /// Groups of arms compared with the baseline.
    #[serde(default)]
    pub compare: Vec<CompareSpec>,
    /// Groups that take the difference between two programs apart.
    #[serde(default)]
    pub decompose: Vec<DecomposeSpec>,
    /// Groups that follow the time as the number of entries grows.
    #[serde(default)]
    pub grow: Vec<GrowSpec>,
    /// What a study that lists does in place of these on Windows, whose calls are others.
    pub windows: Option<WindowsSpec>,
}

/// Baseline and groups of a study that lists, on Windows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowsSpec {
    /// As the study's.
    pub question: String,
    /// Why the source's figures are of something else.
    pub unlike: String,
    /// As the study's.
    pub baseline: BaselineSpec,
    /// As the study's.
    #[serde(default)]
    pub compare: Vec<CompareSpec>,
    /// As the study's.
    #[serde(default)]
    pub decompose: Vec<DecomposeSpec>,
    /// As the study's.
    #[serde(default)]
    pub grow: Vec<GrowSpec>,
}

impl Study {
    /// Returns the study as it is on Windows.
    #[must_use]
    pub(crate) fn on_windows(mut self) -> Self {
        let Some(of_windows) = self.windows.take() else { return self };
        let WindowsSpec { question, unlike, baseline, compare, decompose, grow } = of_windows;
        for figure in &mut self.published {
            (figure.ours, figure.unlike) = (None, Some(unlike.clone()));
        }
        Self { question, baseline: Some(baseline), compare, decompose, grow, ..self }
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
    /// How many voided rounds are redone, as a fraction of the rounds.
    pub redone_fraction_max: f64,
}

/// Reads the confidence of intervals.
fn confidence<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    /// What `megadir_stats::judge_family` judges at.
    const ALLOWED: f64 = 0.95;
    let value = f64::deserialize(deserializer)?;
    if value.to_bits() == ALLOWED.to_bits() {
        return Ok(value);
    }
    Err(serde::de::Error::custom(format!("rules.confidence is {value}; allowed: {ALLOWED}")))
}

/// The arm that the others are compared with; arms take from it what they leave out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineSpec {
    /// The backend that reads.
    pub backend: String,
    /// The size of the buffer of one call, bytes.
    pub buffer_bytes: u64,
    /// Threads that read.
    pub threads: u32,
}

/// Look-ups: every directory with every presence and every way of drawing names; the first of all is the baseline.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookupSpec {
    /// Whether names exist.
    pub presence: Vec<Presence>,
    /// How names are drawn.
    pub keys: Vec<Keys>,
    /// By which calls; those of the system where the study does not say.
    #[serde(default = "system_calls")]
    pub calls: Vec<LookupCall>,
}

/// Returns the calls by which this system is asked whether a name exists; the published study's comes first.
pub(crate) fn system_calls() -> Vec<LookupCall> {
    if cfg!(windows) {
        vec![LookupCall::AttributesByPath, LookupCall::AttributesByHandle]
    } else {
        vec![LookupCall::Fstatat]
    }
}

/// Filling directories until one file is refused; a size's `entries` are about as many as that takes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusalSpec {
    /// What it asks, for the heading of its table.
    pub title: String,
}

/// Finding out name, size and time of every file: every method on every directory, against the first of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttributesSpec {
    /// The methods; every one that there is when empty.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Numbers of threads of the method that has threads.
    pub threads: Vec<u32>,
}

/// Asking for shares of a directory's files by name, against listing it with attributes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskSpec {
    /// What it asks, for the heading of its table.
    pub title: String,
    /// The methods that list.
    pub list: Vec<String>,
    /// The shares that are asked for, ascending, at most 1.
    pub shares: Vec<f64>,
}

/// Arms that cross every value of every field with every other.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmSpec {
    /// Backends; the baseline's when empty.
    #[serde(default)]
    pub backend: Vec<String>,
    /// Buffers, bytes; the baseline's when empty.
    #[serde(default)]
    pub buffer_bytes: Vec<u64>,
    /// Numbers of threads; the baseline's when empty.
    #[serde(default)]
    pub threads: Vec<u32>,
}

/// A group of arms compared with the baseline.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareSpec {
    /// The group's name.
    pub name: String,
    /// What it asks.
    pub title: String,
    /// Whether what comes out of it answers the study's question.
    #[serde(default)]
    pub answers: bool,
    /// Its arms.
    pub arms: Vec<ArmSpec>,
}

/// Two programs, each a chain of steps from reading to the whole program.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecomposeSpec {
    /// The group's name.
    pub name: String,
    /// What it asks.
    pub title: String,
    /// Whether what comes out of it answers the study's question.
    #[serde(default)]
    pub answers: bool,
    /// What the slow program is.
    pub slow_name: String,
    /// Its steps.
    pub slow: Vec<StepSpec>,
    /// What the fast program is.
    pub fast_name: String,
    /// Its steps.
    pub fast: Vec<StepSpec>,
}

/// One step of a program: what it changes of the step before it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepSpec {
    /// The factor that the step adds.
    pub factor: String,
    /// The backend from here on.
    pub backend: Option<String>,
    /// The buffer from here on, bytes.
    pub buffer_bytes: Option<u64>,
    /// The stage that is added.
    pub stage: Option<Stage>,
}

/// Series of the same work on ever larger directories.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrowSpec {
    /// The group's name.
    pub name: String,
    /// What it asks.
    pub title: String,
    /// Whether what comes out of it answers the study's question.
    #[serde(default)]
    pub answers: bool,
    /// The sizes, as fractions of the run's number of entries, ascending, the last being 1.
    pub fractions: Vec<f64>,
    /// The series.
    pub series: Vec<SeriesSpec>,
}

/// One series.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesSpec {
    /// Its name.
    pub name: String,
    /// The backend; the baseline's when left out.
    pub backend: Option<String>,
    /// The buffer, bytes; the baseline's when left out.
    pub buffer_bytes: Option<u64>,
    /// What is done with the entries.
    pub stages: Vec<Stage>,
}
