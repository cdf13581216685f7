//! Listing a directory, with stages of two programs: read, keep, sort, stat, format, write.
//!
//! ```text
//!  `ls -l`                       read -> keep -> sort -> attributes -> extended attributes -> format-long  -> write
//!  getdents with a large buffer  read -------------------------------------------------> format-raw -> write
//! ```
//!
//! The published comparison changed everything at once and named the buffer as the cause. Arms that add one
//! stage at a time show each stage's share; their differences telescope to the whole difference.
//!
//! | file | subject |
//! |---|---|
//! | `plan.rs` | arms and groups |
//! | `run.rs` | one listing, stage by stage |
//! | `ls_stat.rs`, `format_long.rs`, `output.rs` | the stages as the programs carry them out |

mod format_long;
mod ls_stat;
mod output;
mod plan;
mod run;

use megadir_record::Stage;
use serde::Deserialize;

pub(crate) use plan::{chosen, of_study, traits};
pub(crate) use run::Listing;

/// Section of a study on listings: every reading is compared with the baseline, two programs are decomposed
/// into steps, and readings are followed over sizes. `windows` replaces the rest there, since Linux's
/// readings do not exist.
#[derive(Clone, Debug, PartialEq)]
pub struct ListSpec {
    pub baseline: Reading,
    pub compare: Vec<CompareSpec>,
    pub decompose: Vec<DecomposeSpec>,
    pub grow: Vec<GrowSpec>,
    pub windows: Option<WindowsSpec>,
}

/// The counterpart of the study on Windows, with a question of its own. `unlike` states in which way it
/// differs from the published source, and is printed with the result.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowsSpec {
    pub question: String,
    pub unlike: String,
    pub baseline: Reading,
    #[serde(default)]
    pub compare: Vec<CompareSpec>,
    #[serde(default)]
    pub decompose: Vec<DecomposeSpec>,
    #[serde(default)]
    pub grow: Vec<GrowSpec>,
}

/// As the baseline it also supplies the values that other arms omit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    pub backend: String,
    pub buffer_bytes: u64,
    pub threads: u32,
}

/// An empty list stands for the baseline's value; buffers are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmSpec {
    #[serde(default)]
    pub backend: Vec<String>,
    #[serde(default)]
    pub buffer_bytes: Vec<u64>,
    #[serde(default)]
    pub threads: Vec<u32>,
}

/// Readings compared with the baseline. Several values in one arm are crossed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareSpec {
    pub name: String,
    pub title: String,
    #[serde(default)]
    pub answers: bool,
    pub arms: Vec<ArmSpec>,
}

/// Two programs as lists of steps. Each step is a reading that does everything of the step before it and one
/// thing more, so that the difference of two neighbours is the cost of that thing.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecomposeSpec {
    pub name: String,
    pub title: String,
    #[serde(default)]
    pub answers: bool,
    pub slow_name: String,
    pub slow: Vec<StepSpec>,
    pub fast_name: String,
    pub fast: Vec<StepSpec>,
}

/// One step of a program: the thing that changes, and its name in the table of shares.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepSpec {
    pub factor: String,
    pub backend: Option<String>,
    pub buffer_bytes: Option<u64>,
    pub stage: Option<Stage>,
}

/// The same readings at several sizes, from which the report computes how the time grows. Fractions instead
/// of numbers, because the sizes of the presets differ.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrowSpec {
    pub name: String,
    pub title: String,
    #[serde(default)]
    pub answers: bool,
    /// Sizes as fractions of the run's number of entries, ascending; the last is 1.
    pub fractions: Vec<f64>,
    pub series: Vec<SeriesSpec>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesSpec {
    pub name: String,
    pub backend: Option<String>,
    pub buffer_bytes: Option<u64>,
    pub stages: Vec<Stage>,
}

impl ListSpec {
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.compare.is_empty() && self.decompose.is_empty() && self.grow.is_empty() {
            let text = "it has no group; add [[compare]], [[decompose]] or [[grow]]";
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

/// A chain must begin with a plain reading, and each step must change something, or its share would be
/// noise.
fn steps_contradiction(steps: &[StepSpec]) -> Option<String> {
    let first = steps.first()?;
    if first.backend.is_none() || first.stage.is_some() {
        return Some(format!(
            "the first step (`{}`) must name a backend and read, without further stages",
            first.factor
        ));
    }
    if let Some(step) =
        steps[1..].iter().find(|s| s.backend.is_none() && s.buffer_bytes.is_none() && s.stage.is_none())
    {
        return Some(format!(
            "the step `{}` changes nothing; add a backend, a buffer or a stage",
            step.factor
        ));
    }
    let stages: Vec<Stage> =
        std::iter::once(Stage::Read).chain(steps.iter().filter_map(|step| step.stage)).collect();
    stages_contradiction(&stages)
}

/// Stages that depend on others, as a table: the first contradiction is the message.
pub(crate) fn stages_contradiction(stages: &[Stage]) -> Option<String> {
    let has = |stage| stages.contains(&stage);
    let in_order =
        stages.is_sorted_by_key(|stage| *stage as u8) && stages.windows(2).all(|pair| pair[0] != pair[1]);
    let of_kept = [Stage::Sort, Stage::Attributes, Stage::ExtendedAttributes, Stage::FormatLong];
    let (keeps, formats_long, formats_raw) =
        (has(Stage::Keep), has(Stage::FormatLong), has(Stage::FormatRaw));
    let contradictions = [
        (stages.first() != Some(&Stage::Read), "the first stage must be `read`"),
        (
            !in_order,
            "each stage may appear once, in this order: read, keep, sort, attributes, \
            extended-attributes, format-long or format-raw, write",
        ),
        (
            of_kept.into_iter().any(has) && !keeps,
            "the stages sort, attributes, extended-attributes and format-long need the stage `keep`",
        ),
        (formats_long && !has(Stage::Attributes), "the stage format-long needs the stage `attributes`"),
        (
            formats_raw && (keeps || formats_long),
            "format-raw formats the reader's buffer, so it excludes keep and format-long",
        ),
        (
            has(Stage::Write) && !formats_long && !formats_raw,
            "the stage write needs the stage format-long or format-raw",
        ),
    ];
    contradictions.into_iter().find(|(is_there, _)| *is_there).map(|(_, text)| text.to_owned())
}
