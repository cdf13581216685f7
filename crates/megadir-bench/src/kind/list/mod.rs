//! Listing a directory, with stages of two programs: read, keep, sort, ask for attributes, format, write.

mod format_long;
mod ls_stat;
mod name_arena;
mod output;
mod plan;
mod run;

use megadir_record::Stage;
use serde::Deserialize;

pub(crate) use plan::{chosen, of_study};
pub(crate) use run::Listing;

/// A study that lists: its baseline, and the groups of arms compared with it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListSpec {
    /// The arm that all others are compared with.
    pub baseline: BaselineSpec,
    /// Groups of arms compared with the baseline.
    pub compare: Vec<CompareSpec>,
    /// Groups that divide the difference between two programs into factors.
    pub decompose: Vec<DecomposeSpec>,
    /// Groups that follow the time as the number of entries grows.
    pub grow: Vec<GrowSpec>,
    /// Replacement for all of these on Windows, which has other calls.
    pub windows: Option<WindowsSpec>,
}

/// Baseline and groups of a study that lists, on Windows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowsSpec {
    /// As the study's.
    pub question: String,
    /// Reason why the source's figures do not apply.
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
    /// Its question.
    pub title: String,
    /// `true` if its result answers the study's question.
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
    /// Its question.
    pub title: String,
    /// `true` if its result answers the study's question.
    #[serde(default)]
    pub answers: bool,
    /// Name of the slow program.
    pub slow_name: String,
    /// Its steps.
    pub slow: Vec<StepSpec>,
    /// Name of the fast program.
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
    /// Its question.
    pub title: String,
    /// `true` if its result answers the study's question.
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
    /// Stages of the work on the entries.
    pub stages: Vec<Stage>,
}

impl ListSpec {
    /// Returns the first contradiction of a well-formed specification.
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.compare.is_empty() && self.decompose.is_empty() && self.grow.is_empty() {
            let text = "it has no group: at least one of [[compare]], [[decompose]], [[grow]] is needed";
            return Some(text.into());
        }
        let of_programs = self.decompose.iter().flat_map(|group| [&group.slow, &group.fast]);
        let of_programs = of_programs.filter_map(|steps| steps_contradiction(steps));
        let of_series = self.grow.iter().flat_map(|group| &group.series);
        let of_series = of_series.filter_map(|series| stages_contradiction(&series.stages));
        let ascending =
            |list: &[f64]| list.windows(2).all(|pair| pair[0] < pair[1]) && list.last() == Some(&1.0);
        let growth =
            self.grow.iter().filter(|group| !ascending(&group.fractions) || group.fractions[0] <= 0.0);
        let growth =
            growth.map(|group| format!("grow `{}`: fractions must ascend from above 0 to 1", group.name));
        of_programs.chain(of_series).chain(growth).next()
    }
}

fn steps_contradiction(steps: &[StepSpec]) -> Option<String> {
    let first = steps.first()?;
    if first.backend.is_none() || first.stage.is_some() {
        return Some(format!(
            "the first step (`{}`) names a backend and reads; it adds no stage",
            first.factor
        ));
    }
    if let Some(step) =
        steps[1..].iter().find(|s| s.backend.is_none() && s.buffer_bytes.is_none() && s.stage.is_none())
    {
        return Some(format!(
            "the step `{}` changes nothing: it needs a backend, a buffer or a stage",
            step.factor
        ));
    }
    let stages: Vec<Stage> =
        std::iter::once(Stage::Read).chain(steps.iter().filter_map(|step| step.stage)).collect();
    stages_contradiction(&stages)
}

/// Returns the contradiction in a chain of stages: each stage needs the results of earlier ones.
pub(crate) fn stages_contradiction(stages: &[Stage]) -> Option<String> {
    let has = |stage| stages.contains(&stage);
    if stages.first() != Some(&Stage::Read) {
        return Some("stages begin with `read`".into());
    }
    if !stages.is_sorted_by_key(|stage| order(*stage)) || stages.windows(2).any(|pair| pair[0] == pair[1]) {
        return Some("stages come once each, in this order: read, keep, sort, attributes, extended-attributes, format-long or format-raw, write".into());
    }
    let needs_keep = [Stage::Sort, Stage::Attributes, Stage::ExtendedAttributes, Stage::FormatLong];
    if needs_keep.into_iter().any(has) && !has(Stage::Keep) {
        return Some("sort, attributes, extended-attributes and format-long need the stage `keep`".into());
    }
    if has(Stage::FormatLong) && !has(Stage::Attributes) {
        return Some("format-long needs the stage `attributes`".into());
    }
    if has(Stage::FormatRaw) && (has(Stage::Keep) || has(Stage::FormatLong)) {
        return Some(
            "format-raw formats what is in the reader's buffer: it goes with neither keep nor format-long"
                .into(),
        );
    }
    if has(Stage::Write) && !has(Stage::FormatLong) && !has(Stage::FormatRaw) {
        return Some("write needs something formatted: format-long or format-raw".into());
    }
    None
}

fn order(stage: Stage) -> u8 {
    match stage {
        Stage::Read => 0,
        Stage::Keep => 1,
        Stage::Sort => 2,
        Stage::Attributes => 3,
        Stage::ExtendedAttributes => 4,
        Stage::FormatLong => 5,
        Stage::FormatRaw => 6,
        Stage::Write => 7,
    }
}
