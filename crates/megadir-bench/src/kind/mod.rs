//! Kinds of work, one folder each: section of a study file (`mod.rs`), arms (`plan.rs`), blocks (`run.rs`). A
//! new kind is a folder, a variant of [`Kind`], and perhaps of `megadir_record::Work`. Blocks know no rounds,
//! clocks or records.

pub(crate) mod arms;
pub(crate) mod command;
pub(crate) mod files;
pub(crate) mod fill;
pub(crate) mod fill_until_full;
pub(crate) mod layout;
pub(crate) mod list;
pub(crate) mod lookup;
pub(crate) mod remove;
pub(crate) mod small_files;
pub(crate) mod stat_all;
pub(crate) mod stat_some;
pub(crate) mod work_hash;

use std::ffi::OsString;
use std::path::PathBuf;

use megadir::Dir;
use megadir_record::{Cell, Plan, Work};
use megadir_record::{Counted, Note, Phase};
use megadir_stats::permutation::SplitMix64;
use megadir_sys::usage::Usage;

use crate::control::{RunControl, WorkError};
use crate::measure::Stopwatch;
use command::CommandSpec;
#[cfg(target_os = "linux")]
pub use command::launch;
pub use command::program_facts;
pub(crate) use command::{Fingerprint, Program, fingerprint, printed_otherwise};
use files::Files;
pub use files::serve;
use fill::FillSpec;
use fill_until_full::{FillUntilFull, FillUntilFullSpec};
use layout::LayoutSpec;
use list::ListSpec;
pub(crate) use list::Listing;
pub(crate) use lookup::{ABSENT_NAMES, NameSource, SAMPLE_MAX};
use lookup::{Lookup, LookupSpec};
use remove::{Removal, RemoveSpec};
use small_files::SmallFilesSpec;
pub(crate) use stat_all::Expected;
use stat_all::{FileAttributes, StatAllSpec};
pub(crate) use stat_some::FILES_MAX;
use stat_some::{Ask, StatSomeSpec};
pub(crate) use work_hash::name_hash;

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Listing: `[baseline]` and groups.
    List(ListSpec),
    /// Name look-ups: `[lookup]`.
    Lookup(LookupSpec),
    /// Attributes of all files: `[attributes]`.
    StatAll(StatAllSpec),
    /// Attributes of some files by name: `[ask]`.
    StatSome(StatSomeSpec),
    /// Filling a directory: `[fill]`.
    Fill(FillSpec),
    /// Filling until a file is refused: `[refusal]`.
    FillUntilFull(FillUntilFullSpec),
    /// Comparing layouts: `[layout]`.
    Layout(LayoutSpec),
    /// Life cycle of small files: `[smallfile]`.
    SmallFiles(SmallFilesSpec),
    /// Removing trees: `[remove]`.
    Remove(RemoveSpec),
    /// Running any program: `[command]`.
    Command(CommandSpec),
}

impl Kind {
    /// Returns the first contradiction within this kind's section of a study.
    pub(crate) fn contradiction(&self) -> Option<String> {
        match self {
            Self::List(spec) => spec.contradiction(),
            Self::Lookup(spec) => spec.contradiction(),
            Self::StatAll(spec) => spec.contradiction(),
            Self::StatSome(spec) => spec.contradiction(),
            Self::Fill(_) | Self::FillUntilFull(_) => None,
            Self::Layout(spec) => spec.contradiction(),
            Self::SmallFiles(spec) => spec.contradiction(),
            Self::Remove(spec) => spec.contradiction(),
            Self::Command(spec) => spec.contradiction(),
        }
    }

    /// `true` if the arms create their files themselves, again in every round; such studies have no warm-up.
    pub(crate) fn makes_files(&self) -> bool {
        match self {
            Self::List(_) | Self::Lookup(_) | Self::StatAll(_) | Self::StatSome(_) | Self::Command(_) => {
                false
            }
            Self::Fill(_)
            | Self::FillUntilFull(_)
            | Self::Layout(_)
            | Self::SmallFiles(_)
            | Self::Remove(_) => true,
        }
    }
}

/// Command that starts a worker process: it calls [`serve`] of this same version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

pub(crate) trait Workload {
    /// Returns the reason why it is impossible on `directory`.
    fn unavailable(&self, directory: &Dir) -> Option<String>;

    /// Returns a note if the work differs here from the plan but is still worth measuring.
    fn remark(&self) -> Option<Note> {
        None
    }

    fn setup(
        &mut self,
        _directory: &Dir,
        _block: BlockKey,
        _operations: u64,
        _signals: RunControl<'_>,
    ) -> Result<(), WorkError> {
        Ok(())
    }

    /// Runs the block. Work that times single operations uses the stopwatch, which is empty at the start; other
    /// work ignores it.
    fn run(
        &mut self,
        directory: &Dir,
        operations: u64,
        stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<Counted, WorkError>;

    /// Returns the resources of the last block, if the caller cannot measure them: the work paused, or ran in
    /// other processes.
    fn usage(&self) -> Option<BlockUsage> {
        None
    }

    /// Cleans up after a block, untimed.
    fn teardown(&mut self, _directory: &Dir, _signals: RunControl<'_>) -> Result<(), WorkError> {
        Ok(())
    }
}

/// Resources that a block used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockUsage {
    /// Wall time, nanoseconds.
    pub(crate) elapsed_ns: u64,
    pub(crate) usage: Usage,
    /// Peak memory of the process that did the work, if it was not this one, bytes.
    pub(crate) peak_bytes: Option<u64>,
}

/// Identifies a block; with the plan's seed it determines all random choices of a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockKey {
    pub(crate) phase: Phase,
    pub(crate) round: u32,
    pub(crate) attempt: u32,
    /// `true` if no name may repeat: after a drop the second use would be warm.
    pub(crate) distinct: bool,
}

impl BlockKey {
    fn number(self) -> u64 {
        let phase = match self.phase {
            Phase::WarmUp => 1,
            Phase::Measure => 2,
        };
        let of_block = (u64::from(self.round) << 32) | (u64::from(self.attempt) << 8) | phase;
        SplitMix64::new(of_block).next_u64()
    }
}

pub(crate) fn workload<'a>(
    plan: &Plan,
    cell: &Cell,
    names: &'a NameSource,
    worker: Option<&'a WorkerCommand>,
) -> Result<Box<dyn Workload + 'a>, WorkError> {
    let seed = plan.seed;
    Ok(match &cell.work {
        Work::List { .. } => Box::new(Listing::new(&cell.work)?),
        Work::Lookup { presence, keys, call } => Box::new(Lookup::new(*presence, *keys, *call, names, seed)),
        Work::Files(work) => Box::new(Files::new(work, &plan.data[cell.data.0 as usize], seed, worker)),
        Work::Remove(work) => Box::new(Removal::new(*work)),
        Work::Attributes { method, buffer_bytes, threads, keeps, .. } => {
            Box::new(FileAttributes::new(method, *buffer_bytes, *threads, *keeps)?)
        }
        Work::Ask { files } => Box::new(Ask::new(*files, names, seed)),
        Work::Command(work) => Box::new(Program::of(plan, cell, work, worker)),
        Work::FillUntilRefused { .. } => Box::new(FillUntilFull::new(names.scheme(), seed)),
    })
}
