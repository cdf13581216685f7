//! What the blocks of a plan do, as real work on real directories.
//!
//! A workload knows nothing of rounds, clocks or records: it does a block's operations when it is told to and
//! says what it saw.

mod ask;
mod attributes;
mod file_attributes;
mod files;
mod format_long;
mod format_raw;
mod kept;
mod list;
mod lookup;
mod output;
mod refusal;
mod removal;
mod same_work;

use std::ffi::OsString;
use std::path::PathBuf;

use megadir::Dir;
use megadir_record::{Cell, Plan, Work};
use megadir_record::{Counted, Note, Phase};
use megadir_stats::permutation::SplitMix64;
use megadir_sys::usage::Usage;

use crate::control::{RunControl, WorkError};
use crate::measure::Stopwatch;
use ask::Ask;
pub(crate) use ask::FILES_MAX;
use file_attributes::FileAttributes;
pub(crate) use file_attributes::Truth;
use files::Files;
pub use files::serve;
pub(crate) use list::Listing;
use lookup::Lookup;
pub(crate) use lookup::{ABSENT_NAMES, NameSource, SAMPLE_MAX};
use refusal::Refusal;
use removal::Removal;
pub(crate) use same_work::name_hash;

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
    /// Tells why it cannot be done on `directory`, if it cannot.
    fn unavailable(&self, directory: &Dir) -> Option<String>;

    /// Says what is otherwise here than the plan has it, and still worth measuring.
    fn remark(&self) -> Option<Note> {
        None
    }

    /// Prepares a block outside the time that is measured.
    fn ready(
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

    /// Tells what the block that was just done has taken, where the work knows better than the one who called it: it has
    /// paused, or others did it.
    fn taken(&self) -> Option<Taken> {
        None
    }

    /// Takes away what a block has left, after it was timed.
    fn finish(&mut self, _directory: &Dir, _signals: RunControl<'_>) -> Result<(), WorkError> {
        Ok(())
    }
}

/// What a block took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
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
    /// Whether nothing may be asked for twice: after a drop the second time would be warm.
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
        Work::FillUntilRefused { .. } => Box::new(Refusal::new(names.scheme(), seed)),
    })
}
