//! Cache states: established before a block, verified, and restored for arms that need a warm cache; never part
//! of a measured time.
//!
//! ```text
//! cold arm:  the work gets ready -> drop -> verify -> touch our own pages again -> measure
//! warm arm:  anything dropped since? a pass over the data set, one over the arm's work -> ready -> measure
//! ```
//!
//! A state that is unavailable or cannot be verified is an error, never silently another state.
//!
//! ```text
//!                 drop (any state that drops names)
//!  set: warm ------------------------------------------> not warm
//!    ^                                                      |
//!    +-- a pass before the next warm block: list, examine --+       then each warm arm works once, unrecorded
//! ```
//!
//! Three questions for each drop: was it warm before (else a miss proves nothing), is it cold now, and did
//! the block read from the device (`after`)?

#[cfg(any(windows, test))]
mod judge;
#[cfg(target_os = "linux")]
mod linux;
mod tree;
#[cfg(windows)]
mod windows;

use std::collections::HashSet;

use megadir::Dir;
use megadir_record::{Arm, ArmId, CacheState, DataId, DataSource, Note, Plan, Sample, When, Work};
use megadir_stats::permutation::SplitMix64;
use system::System;

use self::tree::Sampled;
use crate::control::{RunControl, WorkError};
use crate::host;
use crate::kind::{BlockKey, WorkBlock, Workload};
use crate::measure::Stopwatch;
use crate::note::NoteKind;
use crate::os::At;
use crate::request::CacheFact;
use tree::Pass;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "linux")]
pub(crate) use system::is_memory;
#[cfg(windows)]
use windows as system;

/// Every cache state, with the reason if it is unavailable. In a virtual machine cold ones are `guest-...`: the host stays warm.
pub fn cache_facts(directory: &Dir) -> Vec<CacheFact> {
    let unavailable = system::refusals(directory);
    let guest = if host::is_virtual() { "guest-" } else { "" };
    let facts = CacheState::ALL.into_iter().map(|state| CacheFact {
        state,
        name: if state.drops() { format!("{guest}{}", state.name()) } else { state.name().to_owned() },
        unavailable: if state.drops() { unavailable(state) } else { None },
    });
    facts.collect()
}

/// Directories of data sets, for the code that establishes a cache state: a remount replaces them, so they
/// are looked up by number and never kept.
pub(crate) trait Directories {
    fn of(&self, data: DataId) -> &Dir;

    fn remount(&mut self, data: DataId) -> Result<(), WorkError>;

    /// Opens a directory by its name again: a command may have put another one in its place.
    fn reopen(&mut self, data: DataId) -> Result<(), WorkError>;

    /// Removes the files of a data set and makes identical ones, written to disk.
    fn recreate_files(&mut self, data: DataId) -> Result<(), WorkError>;
}

/// A state that cannot be established or verified, named by the state.
fn refused(state: CacheState, reason: impl Into<String>) -> WorkError {
    let reason: String = reason.into();
    WorkError::other(state.name(), reason)
}

/// State of the caches during a run. `sets` are in the order of the plan's data sets. A warm arm is removed
/// from `warm_arms` when its data is dropped, and warmed again before its next block. `noted` keeps a note
/// from being repeated for each block of an arm. `random` chooses the files of the samples.
#[derive(Clone, Debug)]
pub(crate) struct Caches {
    evicts: bool,
    sets: Vec<Set>,
    /// Warm arms that have run since the data they need were last dropped.
    warm_arms: HashSet<ArmId>,
    noted: HashSet<ArmId>,
    system: System,
    random: SplitMix64,
}

/// Cache state of one data set: `warm` is `false` from a drop until a pass over the data. `sample` are files
/// to verify the drop, drawn once and looked up in the cache alone, so that the verification does
/// not warm them.
#[derive(Clone, Debug)]
struct Set {
    deep: bool,
    warm: bool,
    entries: u64,
    sample: Vec<Sampled>,
    file_system: String,
}

/// The block that is about to begin, without its directory: establishing a cache state may replace the
/// directory (a remount, files made again), so it is looked up after that.
pub(crate) struct Before<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) planned: &'a Arm,
    pub(crate) key: BlockKey,
    pub(crate) operations: u64,
    pub(crate) control: RunControl<'a>,
}

impl Before<'_> {
    pub(crate) fn block_in<'b>(&'b self, directory: &'b Dir) -> WorkBlock<'b> {
        WorkBlock { directory, key: self.key, operations: self.operations, control: self.control }
    }
}

impl Caches {
    pub(crate) fn new(plan: &Plan, file_systems: Vec<String>) -> Self {
        let set = |(data, file_system): (&megadir_record::Data, String)| Set {
            deep: matches!(data.source, DataSource::Made(_)),
            warm: true,
            entries: data.entries,
            sample: Vec::new(),
            file_system,
        };
        Self {
            evicts: plan.arms.iter().any(|planned| planned.cache.is_cold()),
            sets: plan.data.iter().zip(file_systems).map(set).collect(),
            warm_arms: HashSet::new(),
            noted: HashSet::new(),
            system: System::default(),
            random: SplitMix64::new(plan.seed ^ 0x0063_6163_6865),
        }
    }

    /// Tries every cache state of the plan on every non-empty data set; returns the arms whose state is impossible or unverifiable.
    pub(crate) fn dry_run(
        &mut self,
        plan: &Plan,
        directories: &mut dyn Directories,
        control: RunControl<'_>,
    ) -> Result<Vec<(ArmId, String)>, WorkError> {
        let mut unavailable = Vec::new();
        let there = |data: &megadir_record::Data| {
            data.entries > 0 && data.source.made().is_none_or(|made| made.when == When::BeforeRun)
        };
        for data in plan.data.iter().filter(|data| there(data)) {
            for state in CacheState::ALL.into_iter().filter(|state| state.drops()) {
                let arms =
                    plan.arms.iter().filter(|planned| planned.data == data.id && planned.cache == state);
                let arms: Vec<ArmId> = arms.map(|planned| planned.id).collect();
                if arms.is_empty() {
                    continue;
                }
                let mut tried = || -> Result<(), WorkError> {
                    self.warm_names(data.id, directories.of(data.id), control)?;
                    self.evict(state, data.id, directories, control)?;
                    if state.drops_names() {
                        self.forget_names(state, plan, data.id);
                        self.verify_cold(state, data.id, directories.of(data.id))?;
                    }
                    Ok(())
                };
                match tried() {
                    Ok(()) => {}
                    Err(error @ (WorkError::Stopped | WorkError::Remount(_))) => return Err(error),
                    Err(error) => unavailable.extend(arms.into_iter().map(|arm| (arm, error.to_string()))),
                }
            }
        }
        Ok(unavailable)
    }

    /// Establishes the state before a block. The order matters: warming comes first, because it carries out
    /// the same workload with other names; the drop comes last, because `setup` and the program of
    /// `--prepare` leave the cache warm.
    pub(crate) fn prepare(
        &mut self,
        work: &mut dyn Workload,
        stopwatch: &mut Stopwatch,
        before: &Before<'_>,
        directories: &mut dyn Directories,
    ) -> Result<(), WorkError> {
        let Before { planned, control, .. } = *before;
        let directory = directories.of(planned.data);
        if self.evicts && !planned.cache.is_cold() {
            self.warm_names(planned.data, directory, control)?;
            self.warm_arm(work, stopwatch, before, directory)?;
        }
        work.setup(&before.block_in(directory))?;
        if matches!(&planned.work, Work::Command(work) if work.prepare.is_some()) {
            directories.reopen(planned.data)?;
        }
        if planned.cache.is_cold() {
            let evicted = self.evict(planned.cache, planned.data, directories, control);
            self.forget(planned.cache, before);
            evicted?;
        }
        Ok(())
    }

    /// Notes a cold block without reads, once per arm: it was probably not cold.
    pub(crate) fn after(&mut self, planned: &Arm, sample: &Sample) -> Option<Note> {
        let elsewhere = is_served_elsewhere(&self.sets[planned.data.0 as usize].file_system);
        let nothing = planned.cache.drops_names() && sample.read_bytes == Some(0) && !elsewhere;
        (nothing && self.noted.insert(planned.id)).then(|| {
            NoteKind::ColdWithoutReads.note(format!(
                "{}: nothing was read from the device in round {} although the cache was cold",
                planned.name, sample.round
            ))
        })
    }

    /// A pass over the data set if something dropped it, or if no sample was drawn yet.
    fn warm_names(
        &mut self,
        data: DataId,
        directory: &Dir,
        control: RunControl<'_>,
    ) -> Result<(), WorkError> {
        let place = data.0 as usize;
        if self.sets[place].warm && !self.sets[place].sample.is_empty() {
            return Ok(());
        }
        self.pass(data, directory, control)?;
        self.sets[place].warm = true;
        Ok(())
    }

    /// Lists and examines every entry, which brings all names and inodes into the cache, and draws the
    /// sample on the way.
    fn pass(&mut self, data: DataId, directory: &Dir, control: RunControl<'_>) -> Result<(), WorkError> {
        let set = &mut self.sets[data.0 as usize];
        let mut pass = Pass::new(&mut self.random);
        tree::each(directory.at(), set.deep, control, &mut |entry| pass.see(entry))?;
        (set.entries, set.sample) = (pass.seen, pass.sample);
        Ok(())
    }

    /// Runs a warm arm's work once, unrecorded, if its data were dropped.
    fn warm_arm(
        &mut self,
        work: &mut dyn Workload,
        stopwatch: &mut Stopwatch,
        before: &Before<'_>,
        directory: &Dir,
    ) -> Result<(), WorkError> {
        let planned = before.planned;
        if !self.warm_arms.insert(planned.id) || !planned.work.leaves_all() {
            return Ok(());
        }
        // Other names: the block's own would be warmer than in normal operation.
        let key = BlockKey { phase: megadir_record::Phase::WarmUp, attempt: u32::MAX, ..before.key };
        let other = WorkBlock { key, ..before.block_in(directory) };
        stopwatch.set_rate(None);
        work.setup(&other)?;
        work.run(&other, stopwatch)?;
        work.teardown(&other)?;
        stopwatch.clear();
        Ok(())
    }

    /// Drops what the state requires. Samples of names are drawn before, since afterwards every look-up
    /// would warm.
    fn evict(
        &mut self,
        state: CacheState,
        data: DataId,
        directories: &mut dyn Directories,
        control: RunControl<'_>,
    ) -> Result<(), WorkError> {
        match state {
            CacheState::Warm => return Ok(()),
            CacheState::Unseen => return directories.recreate_files(data),
            CacheState::DataCold => {}
            CacheState::VfsCold | CacheState::FsCold => self.draw(data, directories.of(data), control)?,
        }
        self.system.evict(state, (data, &self.sets[data.0 as usize]), directories, control)
    }

    /// Samples the names again if they are gone: the arms make their own files.
    fn draw(&mut self, data: DataId, directory: &Dir, control: RunControl<'_>) -> Result<(), WorkError> {
        match tree::are_there(directory.at(), &self.sets[data.0 as usize].sample)? {
            true => Ok(()),
            false => self.pass(data, directory, control),
        }
    }

    /// Marks the data sets and warm arms that the state has cooled. It happens even if the verification
    /// fails: part of the cache is cold then.
    fn forget(&mut self, state: CacheState, before: &Before<'_>) {
        match state {
            CacheState::Warm => {}
            CacheState::Unseen => {
                self.sets[before.planned.data.0 as usize].warm = false;
                self.warm_arms.retain(|arm| before.plan.arms[arm.0 as usize].data != before.planned.data);
            }
            CacheState::DataCold => {
                let reads =
                    |planned: &&Arm| planned.data == before.planned.data && planned.work.reads_contents();
                for planned in before.plan.arms.iter().filter(reads) {
                    self.warm_arms.remove(&planned.id);
                }
            }
            CacheState::VfsCold | CacheState::FsCold => {
                self.forget_names(state, before.plan, before.planned.data);
            }
        }
    }

    /// A drop of caches cools the whole machine, a remount only the data sets on its file system.
    fn forget_names(&mut self, state: CacheState, plan: &Plan, data: DataId) {
        let on = |data: DataId| plan.data[data.0 as usize].on;
        let cold = |other: DataId| state != CacheState::FsCold || on(other) == on(data);
        self.warm_arms.retain(|arm| !cold(plan.arms[arm.0 as usize].data));
        for (set, data) in self.sets.iter_mut().zip(&plan.data) {
            set.warm &= !cold(data.id);
        }
    }

    fn verify_cold(&self, state: CacheState, data: DataId, directory: &Dir) -> Result<(), WorkError> {
        let set = &self.sets[data.0 as usize];
        match is_served_elsewhere(&set.file_system) {
            true => Ok(()),
            false => system::verify_cold(state, directory.at(), &set.sample),
        }
    }
}

/// `true` if another process reads the device (FUSE), so that our read counters stay 0.
fn is_served_elsewhere(file_system: &str) -> bool {
    file_system.starts_with("fuse")
}
