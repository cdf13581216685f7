//! Measuring any program: arms are command lines, and each run is a process of its own.
//!
//! Programs run on Linux only: elsewhere the plan refuses them.
//!
//! A launcher (`bench worker -- PROGRAM`) finds the program, waits for a signal, forks, and reports the result of
//! wait4(2): the engine itself must not fork, because the kernel counts the memory before exec as the program's. It
//! forks without the standard library (`megadir_sys::child::ReadyProgram`), which would wait for the program's start.
//!
//! `run/trial.rs` runs every program once and writes the result of each task's reference into the plan; `run/intact.rs`
//! examines the data sets after every round and makes them again if a program changed them. A program that fails ends
//! its arm as a full directory does (`Sample::refused`).
//!
//! ```text
//!  Program (run.rs)                       launcher (launch.rs)        program
//!    clean, prepare, warm its own files
//!    start launcher, go  ---------------> clock, start  ------------> runs
//!    read output (lines.rs) <------------------------------------------- prints
//!                          <------------- status, times, memory
//!    count: lines, exit code or remaining files -> Counted
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `words.rs`, `program.rs` | command lines, and the programs that they name |
//! | `plan.rs` | arms, groups and data sets |
//! | `lines.rs`, `fingerprint.rs` | equal work: printed lines, remaining files |
//! | `reading/` | groups with `read`: their programs make containers of the files, and reads from these are measured |

mod fingerprint;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(any(target_os = "linux", test))]
mod lines;
mod plan;
mod program;
#[cfg(target_os = "linux")]
mod reading;
#[cfg(target_os = "linux")]
mod run;
mod words;

use std::collections::{BTreeMap, HashSet};

use megadir::nearest::choices;
use megadir_record::{CommandWork, Container, OutputTo, ReadOperation, SameWork};
use serde::Deserialize;

use crate::kind::Traits;
use crate::kind::cost::{BLOCK_NS, MAKE_NS, REMOVE_NS, STAT_NS};

pub(crate) use fingerprint::{Fingerprint, fingerprint};
#[cfg(target_os = "linux")]
pub use launch::launch;
pub(crate) use plan::commands;
pub use program::program_facts;
#[cfg(target_os = "linux")]
pub(crate) use run::{Program, printed_otherwise};
pub use words::CommandLine;

pub(crate) fn traits(work: &CommandWork, entries: u64) -> Traits {
    let block_ns = match &work.reading {
        // Opening a container may take as long as its listing, and warm work is done twice.
        Some(reading) => match reading.operation {
            ReadOperation::First => 2 * reading.files * entries * OPEN_NS,
            ReadOperation::Random => entries * LIST_NS + 2 * reading.files * READ_NS,
            ReadOperation::All => 2 * entries * READ_NS,
            ReadOperation::List => 2 * entries * LIST_NS,
        },
        None => entries * if work.changes { MAKE_NS + REMOVE_NS } else { STAT_NS },
    };
    Traits { block_ns: BLOCK_NS + block_ns, ..Traits::default() }
}

/// Read of a small file from a container.
const READ_NS: u64 = 4_000;
/// An entry of a container's index that is listed, or kept in memory.
const LIST_NS: u64 = 1_000;
/// An entry of an index that is opened for one file.
const OPEN_NS: u64 = 250;

/// Default time limit of one run of a program, seconds.
pub const TIMEOUT_S: u64 = 600;
pub(crate) const LINUX_ONLY: &str = "programs can be measured on Linux only";

/// `[command]` of a study: groups of programs that do the same, and the environment of all.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    pub groups: Vec<CommandGroup>,
}

/// Programs that do the same work; the first installed one is the baseline.
///
/// One section of a study file, with the user's words; whatever is left out has the default of its field.
/// `name` is part of arms' names in records, so it identifies the task across versions of a study.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandGroup {
    pub name: String,
    pub title: String,
    #[serde(default)]
    pub answers: bool,
    /// Criterion of equal work [default: the printed lines; if the arms change the data, the remaining files].
    pub same: Option<SameWork>,
    #[serde(default = "pipe")]
    pub output: OutputTo,
    /// `true` if `/bin/sh` interprets the command lines.
    #[serde(default)]
    pub shell: bool,
    /// `true` if the programs change the data set, which is then made again before each run.
    #[serde(default)]
    pub changes: bool,
    pub prepare: Option<String>,
    #[serde(default)]
    pub exit_code: i32,
    #[serde(default = "timeout_s")]
    pub timeout_s: u64,
    /// Layout of the group's files [default: the study's].
    pub spread: Option<String>,
    /// The programs make containers of the files, once and untimed, and reads from them are measured.
    pub read: Option<ReadOperation>,
    /// Files of a block, for reads at random; fewer if there are fewer.
    #[serde(default = "reads")]
    pub reads: u64,
    pub arms: Vec<CommandArm>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandArm {
    /// Name in tables [default: the command line without `{dir}`].
    pub name: Option<String>,
    /// Makes the container `{out}` in a group with `read`; empty for the files themselves.
    #[serde(default)]
    pub run: String,
    /// Form of the container, in a group with `read`.
    pub container: Option<Container>,
    /// Layout of the files of a container that is a directory [default: that of the data set].
    pub layout: Option<String>,
}

impl CommandArm {
    /// Reads the files themselves, so that there is no program.
    fn is_of_data_set(&self) -> bool {
        self.container == Some(Container::Directory) && self.run.is_empty()
    }
}

fn reads() -> u64 {
    1000
}

fn pipe() -> OutputTo {
    OutputTo::Pipe
}

fn timeout_s() -> u64 {
    TIMEOUT_S
}

impl CommandSpec {
    /// Keeps the groups that the user named. Errors: an unknown name, with the known ones.
    pub fn keep_groups(&mut self, names: &[String]) -> Result<(), String> {
        let known = || self.groups.iter().map(|group| group.name.as_str());
        if let Some(name) = names.iter().find(|name| known().all(|known| known != *name)) {
            return Err(format!("the study has no group `{name}`: {}", choices(name, known())));
        }
        self.groups.retain(|group| names.contains(&group.name));
        Ok(())
    }

    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.groups.is_empty() {
            return Some("command.groups needs at least one group".into());
        }
        let mut known = HashSet::new();
        if let Some(group) = self.groups.iter().find(|group| !known.insert(&group.name)) {
            return Some(format!("the command group `{}` appears twice", group.name));
        }
        self.groups.iter().find_map(CommandGroup::contradiction)
    }
}

impl CommandGroup {
    pub(crate) fn same(&self) -> SameWork {
        self.same.unwrap_or(if self.changes { SameWork::Left } else { SameWork::Lines })
    }

    fn contradiction(&self) -> Option<String> {
        let of = |text: &str| Some(format!("the command group `{}` {text}", self.name));
        if self.arms.is_empty() {
            return of("needs at least one arm");
        }
        if self.timeout_s == 0 {
            return of("has timeout_s = 0: no program would finish in time");
        }
        if let Some(spread) = &self.spread
            && let Err(reason) = crate::dataset::parse_spread(spread)
        {
            return of(&format!("has an impossible spread: {reason}"));
        }
        if let Some(reason) = self.arms.iter().find_map(|arm| self.contradiction_of_reading(arm)) {
            return of(&reason);
        }
        let lines =
            self.arms.iter().filter(|arm| !arm.is_of_data_set()).map(|arm| &arm.run).chain(&self.prepare);
        let wrong = lines.filter_map(|line| CommandLine::parse(line, self.shell).err()).next();
        wrong.and_then(|reason| of(&format!("has a command that cannot run: {reason}")))
    }

    fn has_output_options(&self) -> bool {
        self.same.is_some() || self.changes || self.prepare.is_some() || self.output != OutputTo::Pipe
    }

    fn contradiction_of_reading(&self, arm: &CommandArm) -> Option<String> {
        let is_directory = arm.container == Some(Container::Directory);
        let reason = match (self.read, arm.container) {
            (None, None) if arm.layout.is_none() => return None,
            (None, _) => "has an arm with `container` or `layout`, which are for groups with `read`",
            (Some(_), None) => "reads from containers, so each arm needs `container`",
            (Some(_), _) if self.has_output_options() => {
                "reads from containers, so it cannot have `same`, `changes`, `prepare` or `output`"
            }
            (Some(_), _) if self.reads == 0 => "has reads = 0",
            _ if arm.run.is_empty() && !is_directory => "has a container without a program that makes it",
            _ if !arm.run.is_empty() && !arm.run.contains("{out}") => {
                "has a program that makes no `{out}`, which would be the container"
            }
            _ if arm.layout.is_some() && !is_directory => {
                "has a `layout` of a container that is no directory"
            }
            _ => {
                let parsed = arm.layout.as_ref().map(|text| text.parse::<megadir::layout::Layout>());
                let error = parsed.and_then(Result::err)?;
                return Some(format!("has an impossible layout: {error}"));
            }
        };
        Some(reason.to_owned())
    }
}
