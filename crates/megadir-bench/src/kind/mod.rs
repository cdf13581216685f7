//! Kinds of work: one folder each, with its part of a study file (`mod.rs`), its arms (`plan.rs`) and what a block does
//! (`run.rs`).
//!
//! A new kind is a folder, a variant of [`Kind`], and a variant of `megadir_record::Work` if no existing one describes it.
//! A block knows nothing of rounds, clocks or records: it does a number of operations and returns what it counted.
//! `files` is the engine that all kinds of work on single files share, `arms` what all plans are put together from.

pub(crate) mod arms;
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

/// Kind of work of a study, with its specification.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Listing: `[baseline]` and groups.
    List(ListSpec),
    /// Looking names up: `[lookup]`.
    Lookup(LookupSpec),
    /// Finding the attributes of all files: `[attributes]`.
    StatAll(StatAllSpec),
    /// Asking for the attributes of some files: `[ask]`.
    StatSome(StatSomeSpec),
    /// Filling a directory: `[fill]`.
    Fill(FillSpec),
    /// Filling until a file is refused: `[refusal]`.
    FillUntilFull(FillUntilFullSpec),
    /// Comparing layouts: `[layout]`.
    Layout(LayoutSpec),
    /// The life of small files: `[smallfile]`.
    SmallFiles(SmallFilesSpec),
    /// Removing trees: `[remove]`.
    Remove(RemoveSpec),
}

impl Kind {
    /// Returns the first contradiction within this kind's part of a study.
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
        }
    }

    /// `true` if the arms make their files themselves, new in every round: then nothing is warmed up.
    pub(crate) fn makes_files(&self) -> bool {
        match self {
            Self::List(_) | Self::Lookup(_) | Self::StatAll(_) | Self::StatSome(_) => false,
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
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// One arm's work.
pub(crate) trait Workload {
    /// Returns the reason why it cannot be done on `directory`, if it cannot.
    fn unavailable(&self, directory: &Dir) -> Option<String>;

    /// Returns a note if the work differs here from the plan and is still worth measuring.
    fn remark(&self) -> Option<Note> {
        None
    }

    /// Prepares a block outside the time that is measured.
    fn setup(
        &mut self,
        _directory: &Dir,
        _block: BlockKey,
        _operations: u64,
        _signals: RunControl<'_>,
    ) -> Result<(), WorkError> {
        Ok(())
    }

    /// Does the block. Work that times single operations does them with the stopwatch, which is empty before; other work
    /// leaves it alone.
    fn run(
        &mut self,
        directory: &Dir,
        operations: u64,
        stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<Counted, WorkError>;

    /// Returns the resources of the last block if the work knows them better than its caller: it paused, or other processes
    /// did it.
    fn usage(&self) -> Option<BlockUsage> {
        None
    }

    /// Takes away what a block has left, after it was timed.
    fn teardown(&mut self, _directory: &Dir, _signals: RunControl<'_>) -> Result<(), WorkError> {
        Ok(())
    }
}

/// Resources that a block used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockUsage {
    /// Wall time, nanoseconds.
    pub(crate) elapsed_ns: u64,
    /// Processor time of all who worked.
    pub(crate) usage: Usage,
}

/// Which block it is: whatever a workload draws for it is drawn from this and the plan's seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockKey {
    pub(crate) phase: Phase,
    pub(crate) round: u32,
    pub(crate) attempt: u32,
    /// `true` if nothing may be asked for twice: after a drop the second time would be warm.
    pub(crate) distinct: bool,
}

impl BlockKey {
    /// Returns a number that belongs to this block alone, as good as random.
    fn number(self) -> u64 {
        let phase = match self.phase {
            Phase::WarmUp => 1,
            Phase::Measure => 2,
        };
        let of_block = (u64::from(self.round) << 32) | (u64::from(self.attempt) << 8) | phase;
        SplitMix64::new(of_block).next_u64()
    }
}

/// Returns the work of an arm on a data set with these names.
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
        Work::FillUntilRefused { .. } => Box::new(FillUntilFull::new(names.scheme(), seed)),
    })
}
