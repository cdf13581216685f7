//! The summary of a record. Records may come from anywhere: the plan is checked first, and nothing here panics.
//!
//! ```text
//! header: plan, machine      -> copied: rules, claims, file systems, machine
//! samples -> Rounds          -> progress, arms, groups, resolution, overview
//! end     (None: killed)     -> ending, pressure after, disks, cost of the empty loop
//! ```

use std::collections::BTreeSet;

use megadir_record::{
    ArmId, Built, Claims, Data, DataId, DiskUse, FILE_SYSTEM_GROUP, Group, GroupRule, LabFileSystem,
    LabMount, Machine, Pair, Phase, Plan, Preset, Pressure, Published, Record, Role, Rules, Sample,
    Unavailable, UsedByArms,
};
use serde::{Deserialize, Serialize};

use super::arm::arms;
use super::break_even::break_even;
use super::compare::compare;
use super::decompose::{Programs, decompose};
use super::overview::{Overview, comparable, overview};
use super::resolution::resolutions;
use super::self_check::{judge, withhold_quantiles};
use super::{
    ArmSummary, BreakEven, Comparison, DataCheck, Decomposition, Evidence, Fill, Growth, Pairs, Refusal,
    Resolution, Rounds, SelfChecked, SummaryError, Timing, equal_work,
};
use crate::summary::compare::{read_file_systems, read_pairs};
use crate::summary::fillings::{fill, grow, refusal};

// Everything that a report needs, without the samples: texts, tables and JSON are written from it. The
// fields that repeat the plan or the header are copied, so that the JSON form is complete without the
// record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Rounds measured, and the end of the run.
    pub progress: Progress,
    /// `None` for a single file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overview: Option<Overview>,
    /// Groups of the study, in the plan's order.
    pub groups: Vec<GroupSummary>,
    /// The baseline against itself, for every such arm.
    pub resolution: Vec<Resolution>,
    /// In the plan's order: `arms[i].cell.id` is `i`.
    pub arms: Vec<ArmSummary>,
    /// Arms that were stopped because a directory was full or a program failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped: Vec<Stopped>,
    /// The data sets, and their changes during the run.
    pub data: Vec<DataCheck>,
    /// File systems created for the run; `data[i].data.on` is an index. Empty if the run used a given directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<LabFileSystem>,
    /// Properties of the file systems after mounting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounted: Vec<LabMount>,
    /// Requested file systems that are unavailable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<Unavailable>,
    /// Figures of the published source.
    pub published: Vec<Published>,
    /// Claims of the published source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Claims>,
    /// Points of its source that the study reproduces.
    #[serde(rename = "keeps")]
    pub reproduces: Vec<String>,
    /// Points of its source that the study corrects.
    #[serde(rename = "mends")]
    pub fixes: Vec<String>,
    /// Size of the study.
    pub preset: Preset,
    /// Seed of all random choices: names, contents, orders.
    pub seed: u64,
    /// Rules of the run: rounds, stopping, order.
    pub rules: Rules,
    /// Machine of the run, as found at its start.
    pub machine: Machine,
    /// Load and pressure at the end of the run; `None` if it was killed.
    pub pressure_after: Option<Pressure>,
    /// Use of the disks made for the run; empty if it was killed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskUse>,
    /// Cost of the empty measurement loop, nanoseconds an operation.
    pub null_loop_ns: Option<f64>,
    /// Check of the run's own timing; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_check: Option<SelfChecked>,
    /// Creation of the data sets before the run; `None` if nothing was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built: Option<Built>,
    /// Space of the data sets that the arms created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<UsedByArms>,
    /// Start of the run, seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// Command line that repeats the run.
    pub command: Vec<String>,
}

// Rounds by their fate; voided rounds were repeated and count nowhere else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// Maximum number of measured rounds.
    pub rounds_planned: u32,
    /// Rounds that count and have every arm.
    pub rounds_used: usize,
    /// Rounds that were voided and repeated.
    pub rounds_voided: usize,
    /// Rounds of the warm-up.
    pub rounds_warm_up: usize,
    /// End of the run.
    pub ending: Ending,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Ending {
    Complete,
    /// Before all planned rounds, by itself.
    Early {
        /// One sentence.
        reason: Option<String>,
    },
    /// The record has no end: the run was killed or is still running.
    Killed {
        /// Line in which the record is truncated, from 1; `None` if it ends with a whole line.
        cut_line: Option<u64>,
    },
}

// Arms that are read together, by one rule. An arm may be in several groups. Multiple comparisons are
// adjusted within the group, so its size decides how wide the intervals are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupSummary {
    /// Name of the group, unique in the report.
    pub name: String,
    /// The study's name of the group, if this is its part on one of several file systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Question of the group.
    pub title: String,
    /// `true` if its result answers the study's question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answers: bool,
    /// Result, by the group's rule.
    pub reading: GroupReading,
}

// One variant per rule of a plan. A rule that cannot be followed is a reading, too, so that a report keeps
// the group and names the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "rule")]
pub enum GroupReading {
    Compare(Comparison),
    Decompose(Box<Decomposition>),
    Pairs(Pairs),
    /// Number of entries at the first refusal.
    Refusal(Refusal),
    Fill(Fill),
    Grow(Growth),
    /// Stat of some entries against listing all.
    BreakEven(BreakEven),
    Unreadable {
        /// One sentence without its full stop.
        reason: String,
    },
}

impl GroupSummary {
    pub fn of_study(&self) -> &str {
        self.of.as_deref().unwrap_or(&self.name)
    }

    /// A figure of the source names the study's group; on several file systems each part of it is meant.
    pub fn is_of(&self, name: &str) -> bool {
        self.name == name || self.of_study() == name
    }
}

impl Summary {
    /// Records are checked, but arms that callers invent are not: a question mark is better than a panic.
    pub fn arm_name(&self, arm: ArmId) -> &str {
        self.arm(arm).map_or("?", |arm| &arm.planned.name)
    }

    /// Omits the directory if all arms of the comparison share it: the group names it.
    pub(crate) fn arm_name_in(&self, comparison: &Comparison, arm: ArmId) -> String {
        let Some(planned) = self.arm(arm).map(|arm| &arm.planned) else { return "?".into() };
        match self.shares_directory(comparison) && planned.role != Role::Control {
            true => planned.named(&planned.axes.without_directory()),
            false => planned.name.clone(),
        }
    }

    fn shares_directory(&self, comparison: &Comparison) -> bool {
        let axes = |arm: ArmId| self.arm(arm).map(|arm| &arm.planned.axes);
        let Some(baseline) = axes(comparison.baseline).filter(|axes| axes.entries.is_some()) else {
            return false;
        };
        let mut arms = comparison.rows.iter().filter_map(|row| self.arm(row.arm)).map(|arm| &arm.planned);
        // Controls have names of their own and are not shortened.
        arms.all(|planned| planned.role == Role::Control || planned.axes.is_on_like_directory(baseline))
    }

    /// Omits the file system, which the group names.
    pub fn circumstances(&self, pair: &Pair) -> String {
        let time = if pair.wall_time { ", wall time per file" } else { "" };
        format!("{}{time}", pair.at)
    }

    pub fn circumstances_in_full(&self, pair: &Pair) -> String {
        // With one file system, or with two in one pair, its name would be noise or is already there.
        let (on, at) = (self.place(pair.arm), self.circumstances(pair));
        if self.file_systems.len() > 1 && on == self.place(pair.to) { format!("{at}, {on}") } else { at }
    }

    pub(crate) fn compares_volumes(&self) -> bool {
        self.file_systems.iter().any(|of| of.place.is_directory())
    }

    pub(crate) fn place_word(&self) -> &'static str {
        if self.compares_volumes() { "volume" } else { "file system" }
    }

    /// Data sets without a lab file system lie on the machine's own.
    pub(crate) fn place_of(&self, data: DataId) -> &str {
        let on = self.data_set(data).and_then(|data| self.file_systems.get(data.on?.0 as usize));
        on.map_or(&self.machine.file_system.kind, |on| &on.label)
    }

    pub fn place(&self, arm: ArmId) -> &str {
        self.arm(arm).map_or(&self.machine.file_system.kind, |arm| self.place_of(arm.planned.data))
    }

    /// Arms of the study's groups; the others are preparation.
    pub fn measured(&self) -> impl Iterator<Item = &ArmSummary> {
        self.arms.iter().filter(|arm| !arm.planned.groups.is_empty())
    }

    pub fn arm(&self, arm: ArmId) -> Option<&ArmSummary> {
        self.arms.get(arm.0 as usize)
    }

    pub(crate) fn is_control(&self, arm: ArmId) -> bool {
        self.arm(arm).is_some_and(|arm| arm.planned.role == Role::Control)
    }

    /// An unknown width is the widest of all: a run without an interval resolves nothing.
    pub(crate) fn widest_resolution(&self) -> Option<&Resolution> {
        let wide = |resolution: &&Resolution| resolution.half_width_percent.unwrap_or(f64::INFINITY);
        self.resolution.iter().max_by(|a, b| wide(a).total_cmp(&wide(b)))
    }

    pub(crate) fn timing(&self, arm: ArmId) -> Option<&Timing> {
        self.arm(arm)?.timing.as_ref()
    }

    pub(crate) fn data_set(&self, id: DataId) -> Option<&Data> {
        self.data.iter().map(|check| &check.data).find(|data| data.id == id)
    }

    pub(crate) fn data_of(&self, arm: ArmId) -> Option<&Data> {
        self.data_set(self.arm(arm)?.planned.data)
    }
}

/// The order follows trust: first if anything was measured, then which arms did equal work, and only then
/// times and ratios. A run without rounds is an error, unless it met its limit, which is a result. Quantiles
/// are withheld last, since that depends on the check of the run's timing.
pub(crate) fn summarize(record: &Record, rounds: &Rounds<'_>) -> Result<Summary, SummaryError> {
    let plan = &record.header.plan;
    if rounds.keys().is_empty() && !is_limit_met(record) {
        // An error and not an empty report: nothing could be written into any table.
        return Err(SummaryError::NothingMeasured { why: why_nothing(record) });
    }
    let (checks, data) = equal_work::check(record, rounds);
    let evidence = Evidence { plan, rounds, checks: &checks };
    let groups = read_groups(&evidence);
    let (resolution, overview) = (resolutions(&evidence), overview(&evidence));
    let header = &record.header;
    let mut summary = Summary {
        progress: progress(record, rounds),
        overview,
        groups,
        resolution,
        arms: arms(record, rounds, checks),
        stopped: stopped(record),
        data,
        file_systems: plan.file_systems.clone(),
        mounted: header.file_systems.clone(),
        unavailable: plan.unavailable.clone(),
        published: plan.published.clone(),
        // The source is named with its host from here on, so that every sentence about it can be looked up.
        claims: plan.claims.clone().map(|claims| Claims { who: named(&claims.who, &plan.source), ..claims }),
        reproduces: plan.reproduces.clone(),
        fixes: plan.fixes.clone(),
        preset: plan.preset,
        seed: plan.seed,
        rules: plan.rules.clone(),
        machine: header.machine.clone(),
        pressure_after: record.end.as_ref().map(|end| end.pressure.clone()),
        disks: record.end.as_ref().map(|end| end.disks.clone()).unwrap_or_default(),
        null_loop_ns: record.end.as_ref().and_then(|end| end.null_loop_ns),
        // The check was made before the rounds, and is judged with the confidence of the run.
        self_check: record.self_check.as_ref().and_then(|check| judge(check, plan.rules.confidence)),
        built: record.built.clone(),
        used: record.used.clone(),
        started_unix_s: header.started_unix_s,
        command: header.command.clone(),
    };
    withhold_quantiles(&mut summary.arms, summary.self_check.as_ref(), summary.null_loop_ns);
    Ok(summary)
}

/// The number of names at which a directory was full is a result; programs that failed have none.
fn is_limit_met(record: &Record) -> bool {
    let full = |sample: &Sample| sample.refused.as_ref().is_some_and(|refused| refused.entries > 0);
    record.samples.iter().any(full)
}

/// Failed programs give the reason. Without one, the run ended in its warm-up.
fn why_nothing(record: &Record) -> String {
    let refused = |sample: &Sample| {
        let name = &record.header.plan.arm(sample.arm)?.name;
        Some(format!("`{name}` failed: {}", sample.refused.as_ref()?.cause))
    };
    let mut failed = record.samples.iter().filter_map(refused);
    let Some(first) = failed.next() else {
        let warm_up = record.samples.iter().filter(|s| s.phase == Phase::WarmUp).count() as u64;
        return format!(
            "the record has {} of warm-up and none that counts; continue the run (bench run --resume) or start it again",
            crate::text::counted(warm_up, "sample")
        );
    };
    match failed.count() as u64 {
        0 => first,
        others => format!("{first}; {} failed too", crate::text::counted(others, "other arm")),
    }
}

/// `the article (example.org)`, by the address in the source of the study.
/// Only the host: whole addresses are too long for a sentence, and the page has them below the method.
fn named(who: &str, source: &str) -> String {
    let host = source.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    match host.map(|host| host.trim_start_matches("www.")).filter(|host| !host.is_empty()) {
        Some(host) => format!("{who} ({host})"),
        None => who.to_owned(),
    }
}

fn progress(record: &Record, rounds: &Rounds<'_>) -> Progress {
    // Attempts, not samples: a voided round has a sample of each arm.
    let attempts = |wanted: fn(&&Sample) -> bool| {
        let attempt = |s: &Sample| (s.epoch, s.round, s.attempt);
        record.samples.iter().filter(wanted).map(attempt).collect::<BTreeSet<_>>().len()
    };
    let ending = match &record.end {
        Some(end) if end.complete => Ending::Complete,
        Some(end) => Ending::Early { reason: end.reason.clone() },
        None => Ending::Killed { cut_line: record.cut.map(|cut| cut.line) },
    };
    Progress {
        rounds_planned: record.header.plan.rules.rounds,
        rounds_used: rounds.whole(),
        rounds_voided: attempts(|s| s.phase == Phase::Measure && s.voided.is_some()),
        rounds_warm_up: attempts(|s| s.phase == Phase::WarmUp),
        ending,
    }
}

fn read_groups(evidence: &Evidence<'_>) -> Vec<GroupSummary> {
    let summary = |group: &Group| GroupSummary {
        name: group.name.clone(),
        of: group.of.clone(),
        title: group.title.clone(),
        answers: group.answers,
        // An unreadable group does not fail the report.
        reading: read(evidence, group).unwrap_or_else(|reason| GroupReading::Unreadable { reason }),
    };
    evidence.plan.groups.iter().filter(|group| has_rows(evidence.plan, group)).map(summary).collect()
}

fn read(evidence: &Evidence<'_>, group: &Group) -> Result<GroupReading, String> {
    Ok(match &group.rule {
        GroupRule::Compare { baseline } => GroupReading::Compare(compare(evidence, &group.name, *baseline)),
        GroupRule::Decompose { slow_name, slow, fast_name, fast } => {
            let programs = Programs { slow_name, slow, fast_name, fast };
            GroupReading::Decompose(Box::new(decompose(evidence, &programs)?))
        }
        // The group of file systems is recognized by its name; its families are pairs of file systems, in
        // any other group all pairs are one family.
        GroupRule::Pairs { pairs } if group.name == FILE_SYSTEM_GROUP => {
            GroupReading::Pairs(read_file_systems(evidence, &comparable(evidence.plan, pairs)))
        }
        GroupRule::Pairs { pairs } => GroupReading::Pairs(read_pairs(evidence, pairs)),
        GroupRule::Fill { arms } => GroupReading::Fill(fill(evidence, arms)?),
        GroupRule::Refusal { arm } => GroupReading::Refusal(refusal(evidence, *arm)?),
        GroupRule::Grow { series } => GroupReading::Grow(grow(evidence, series)),
        GroupRule::BreakEven { series } => GroupReading::BreakEven(break_even(evidence, series)?),
    })
}

/// If every file system is on different storage, a finding says so.
/// A group without any comparable pair would be an empty table.
fn has_rows(plan: &Plan, group: &Group) -> bool {
    match &group.rule {
        GroupRule::Pairs { pairs } if group.name == FILE_SYSTEM_GROUP && !pairs.is_empty() => {
            !comparable(plan, pairs).is_empty()
        }
        _ => true,
    }
}

/// An arm that was stopped because a directory was full despite free space, or because a program failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stopped {
    /// Arm that was stopped.
    pub arm: ArmId,
    /// Round in which it was stopped, from 0.
    pub round: u32,
    /// `true` if `round` is a round of the warm-up.
    pub in_warm_up: bool,
    /// Entries of the directory; 0 if a program failed.
    pub entries: u64,
    /// Evidence for the limit, or how the program failed.
    pub cause: String,
}

/// A refusal in the warm-up counts as well: the arm has no times then.
pub(super) fn stopped(record: &Record) -> Vec<Stopped> {
    let of = |sample: &Sample| {
        let refused = sample.refused.as_ref()?;
        let (entries, cause) = (refused.entries, refused.cause.clone());
        let in_warm_up = sample.phase == Phase::WarmUp;
        Some(Stopped { arm: sample.arm, round: sample.round, in_warm_up, entries, cause })
    };
    record.samples.iter().filter_map(of).collect()
}
