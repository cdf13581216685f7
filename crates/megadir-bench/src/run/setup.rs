//! Setup: capacity, leftovers of killed runs, the run's own directory, data sets, and the arms that are
//! possible on them.
//!
//! ```text
//!  prepare   volumes -> fit (predict, check_room) -> leftovers -> workspaces -> build -> verify
//!  check     volumes -> fit                                                      (`--dry-run`: writes nothing)
//!  verify    oracle's listing -> names -> attributes -> arms that refuse -> programs -> cold states -> prune
//! ```
//!
//! Checks come in the order of their cost, and everything that could fail in the middle of the rounds is
//! tried once before them: a run of hours must not end in its last round for a reason that was known at its
//! start.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use megadir::Dir;
use megadir::limits::{Assumptions, Ceiling, Limit, NameLengths, limits};
use megadir_record::{ArmId, DataSource, NameScheme, Note, Plan, Predicted, Stage, When, Work};

use crate::cache::Caches;
use crate::control::RunControl;
use crate::dataset::{Files, FillError, NAME_BYTES_MAX, Names};
use crate::event::Event;
use crate::kind::{Listing, WorkerSource, name_source, names_needed, workload};
use crate::lab::Lab;
use crate::note::NoteKind;
use crate::os::{self, At};
use crate::plan::{Estimate, estimate, estimate_on, in_one_directory, prune, trees};
use crate::run::data_dirs::DataDirs;
use crate::run::data_sets::{TreeUsage, build};
use crate::run::expected::{before_run, expect_attributes, record_expected};
#[cfg(target_os = "linux")]
use crate::run::trial::try_programs;
use crate::run::volumes::{Volume, Volumes, data_name, kinds, notes_on, wanted};
use crate::run::{Listeners, Prepared, RunError, RunRequest};
use crate::workspace::remove_leftovers;

impl Prepared<'_> {
    pub(crate) fn record_expected(&mut self) -> Result<(), RunError> {
        record_expected(&mut self.plan, &mut self.truths, self.control)
    }

    /// Removes everything that the run created. Directories of data sets are closed first, since an open
    /// one would keep its file system from being unmounted.
    pub(crate) fn clean(self, listeners: &mut Listeners<'_, '_>) -> Result<(), RunError> {
        if !self.volumes.are_ours() {
            return Ok(());
        }
        // Remove the directory even if an observer fails.
        let cleaning = listeners.emit(&Event::Cleaning);
        drop(self.data);
        self.volumes.remove(self.control)?;
        cleaning
    }

    /// Replaces all data sets by the data sets of another epoch, and verifies them as at the start. An arm
    /// that became impossible is an error: epochs with different arms could not be compared.
    pub(crate) fn rebuild_for_epoch(
        &mut self,
        plan: Plan,
        listeners: &mut Listeners<'_, '_>,
    ) -> Result<(), RunError> {
        self.plan = plan;
        if !self.volumes.are_ours() {
            return Ok(());
        }
        self.data.clear();
        for data in &self.plan.data {
            let (name, workspace) = (data_name(data.id), self.volumes.of(data).own()?);
            let removed = workspace.remove_data_directory(&name, self.control.heartbeat);
            removed.map_err(RunError::unusable(&workspace.path().join(&name)))?;
        }
        let made = build(&self.plan, &self.volumes, self.control, listeners)?;
        self.data = made.directories;
        self.caches = Caches::new(&self.plan, kinds(&self.volumes, &self.plan));
        self.truths.clear();
        self.names.clear();
        let arms = self.plan.arms.len();
        verify(self, &made.usages)?;
        if self.plan.arms.len() < arms {
            let reason = "it was available in the first epoch and no longer is".into();
            return Err(RunError::Arm { arm: "an arm".into(), reason });
        }
        self.record_expected()
    }
}

/// An error leaves nothing behind.
///
/// Volumes come first, since a lab changes to a mount namespace of its own; then capacity, leftovers, data.
/// Whatever fails after something was created is cleaned up here, because the caller has no value yet that
/// could do so. An error of cleaning is added to the first error and does not replace it.
pub(crate) fn prepare<'a>(
    request: RunRequest<'a>,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Prepared<'a>, RunError> {
    let RunRequest {
        plan, mut notes, directory: path, command, program, stop, heartbeat, worker, ranks, ..
    } = request;
    let control = RunControl { stop, heartbeat };
    let open = || Dir::open(&path).map_err(RunError::unusable(&path));
    let (mut volumes, plan) = match plan.file_systems.is_empty() {
        true => (Volumes::named(&path, open()?), plan),
        false if plan.compares_directories() => (Volumes::directories(&plan)?, plan),
        false => {
            let place = (path.as_path(), worker.as_ref());
            Volumes::mount(plan, place, request.erase_device, control, &mut notes)?
        }
    };
    // The lab has its own mount namespace, where earlier descriptors belong to no mount.
    let directory = open()?;
    let plan = fit(&mut volumes, plan, &mut notes)?;
    let (mut data, mut usages, mut built) = (Vec::new(), Vec::new(), None);
    if makes(&plan) {
        if plan.file_systems.is_empty() || plan.compares_directories() {
            for volume in &volumes.all {
                notes.extend(leftovers(&volume.path, heartbeat));
            }
        }
        let made = volumes.make_workspaces().and_then(|()| build(&plan, &volumes, control, listeners));
        match made.and_then(|made| volumes.check_disks().map(|()| made)) {
            Ok(made) => {
                notes.extend((!made.written).then(not_written_back));
                (data, usages, built) = (made.directories, made.usages, Some(made.built));
            }
            Err(error) => return Err(volumes.explained(error).and_cleaned(volumes.remove(control))),
        }
    } else {
        data.push(directory.again().map_err(RunError::unusable(&path))?);
    }
    let caches = Caches::new(&plan, kinds(&volumes, &plan));
    let mut prepared = Prepared {
        whole: plan.clone(),
        plan,
        epoch: 0,
        zero_ns: 0,
        unequal_blocks: 0,
        notes,
        command,
        program,
        directory,
        data,
        built,
        truths: Vec::new(),
        names: Vec::new(),
        control,
        worker,
        ranks,
        caches,
        volumes,
    };
    match verify(&mut prepared, &usages) {
        Ok(()) => Ok(prepared),
        Err(error) => Err(prepared.volumes.explained(error).and_cleaned(prepared.clean(listeners))),
    }
}

/// Checks everything that would prevent a run ([`run`](super::run)) from starting; writes nothing.
pub fn check(plan: &Plan, path: &Path, erase_device: bool, control: RunControl<'_>) -> Result<(), RunError> {
    if plan.compares_directories() {
        let mut volumes = Volumes::directories(plan)?;
        for volume in &volumes.all {
            os::may_make_in(&volume.path).map_err(RunError::unusable(&volume.path))?;
        }
        return fit(&mut volumes, plan.clone(), &mut Vec::new()).map(drop);
    }
    if makes(plan) {
        os::may_make_in(path).map_err(RunError::unusable(path))?;
    }
    if !plan.file_systems.is_empty() {
        let all = plan.file_systems.iter().map(|of| wanted(plan, of, erase_device));
        return Ok(Lab::check(path, &all.collect::<Result<Vec<_>, _>>()?, control)?);
    }
    let directory = Dir::open(path).map_err(RunError::unusable(path))?;
    fit(&mut Volumes::named(path, directory), plan.clone(), &mut Vec::new()).map(drop)
}

fn makes(plan: &Plan) -> bool {
    plan.data.iter().any(|data| matches!(data.source, DataSource::Made { .. }))
}

/// Writes predictions into the plan and checks the space. Too small file systems made for the run are
/// omitted, if others remain; a too small volume of the user is an error.
fn fit(volumes: &mut Volumes, plan: Plan, notes: &mut Vec<Note>) -> Result<Plan, RunError> {
    let (mut plan, mut too_small) = (plan, Vec::new());
    for volume in &volumes.all {
        let fits = predict(&mut plan, volume).and_then(|()| match makes(&plan) {
            true => check_room(&plan, volumes, volume),
            false => Ok(Vec::new()),
        });
        match (fits, volume.on) {
            (Ok(noted), _) => notes.extend(noted),
            (Err(error), Some(on)) if volumes.all.len() > 1 && !plan.compares_directories() => {
                too_small.push((on, error.to_string()));
            }
            (Err(error), _) => return Err(error),
        }
    }
    volumes.leave_out(plan, &too_small)
}

/// Removes directories of killed runs before space is needed. Errors are notes: they do not stop the run.
fn leftovers(path: &Path, heartbeat: &AtomicU64) -> Vec<Note> {
    match remove_leftovers(path, heartbeat) {
        Ok(found) => notes_on(&found),
        Err(error) => {
            vec![NoteKind::Leftovers.note(format!("looking for directories of killed runs failed: {error}"))]
        }
    }
}

fn not_written_back() -> Note {
    let text = "the run did not wait for its data to reach the disk: flushing a volume needs an \
        administrator, and a volume that supports it";
    NoteKind::NotWrittenBack.note(text.into())
}

/// The oracle lists every data set once; impossible arms leave the plan.
///
/// The numbers that every block is compared with come from a plain listing by the standard library, never
/// from the code under test. Trees of many directories were counted when their use was measured. Arms leave
/// the plan at the end and all at once, since their numbers are indices until then.
fn verify(prepared: &mut Prepared<'_>, usages: &[TreeUsage]) -> Result<(), RunError> {
    let std = |error| RunError::of_arm("std", error);
    let oracle = Work::List {
        backend: "std".into(),
        buffer_bytes: 32 << 10,
        threads: 1,
        shares: 1,
        stages: vec![Stage::Read],
    };
    let oracle = Listing::new(&oracle).map_err(std)?;
    for (index, (data, directory)) in prepared.plan.data.iter().zip(&prepared.data).enumerate() {
        let seen = match usages.get(index) {
            Some(tree_usage) if !in_one_directory(&prepared.plan, data) => tree_usage.counted(),
            _ => oracle.once(directory, prepared.control).map_err(std)?,
        };
        let made = before_run(&prepared.plan, data).iter().map(Files::entries).sum();
        if matches!(data.source, DataSource::Made(_)) && seen.entries != made {
            return Err(RunError::Lost { made, seen: seen.entries });
        }
        prepared.truths.push(seen);
    }
    for (data, directory) in prepared.plan.data.iter().zip(&prepared.data) {
        let at_most = names_needed(&prepared.plan, data);
        let source = name_source(prepared.plan.seed, data, at_most, directory, prepared.control);
        prepared.names.push(source.map_err(std)?);
    }
    expect_attributes(&mut prepared.plan, &prepared.data, prepared.control).map_err(std)?;
    let mut unusable = unavailable(prepared)?;
    #[cfg(target_os = "linux")]
    unusable.extend(try_programs(prepared, &unusable)?);
    let Prepared { caches, plan, data, control, volumes, .. } = prepared;
    let mut data_dirs = DataDirs { plan, volumes, directories: data, control: *control };
    let tried = caches.dry_run(plan, &mut data_dirs, *control);
    unusable.extend(tried.map_err(|error| RunError::of_arm("cold caches", error))?);
    let left = prune(prepared.plan.clone(), &unusable)?;
    prepared.plan = left.plan;
    prepared.notes.extend(left.notes);
    Ok(())
}

/// Arms whose work refuses its data set, such as a backend that the file system does not support. The
/// workloads are made only for this question, and again for the rounds with the final plan.
fn unavailable(prepared: &mut Prepared<'_>) -> Result<Vec<(ArmId, String)>, RunError> {
    let mut unavailable = Vec::new();
    let source = WorkerSource { command: prepared.worker.as_ref(), ranks: prepared.ranks };
    for planned in &prepared.plan.arms {
        let failed = |error| RunError::of_arm(&planned.name, error);
        let data = planned.data.0 as usize;
        let work = workload(&prepared.plan, planned, &prepared.names[data], source).map_err(failed)?;
        if let Some(note) = work.remark()
            && !prepared.notes.contains(&note)
        {
            prepared.notes.push(note);
        }
        let lacking = work.unavailable_anywhere(&prepared.data[data], prepared.control).map_err(failed)?;
        unavailable.extend(lacking.map(|reason| (planned.id, reason)));
    }
    Ok(unavailable)
}

/// Checks space and inodes of a volume. If only the directory index limits the arms, they may plan for more
/// files than it certainly holds: an arm is stopped when the directory is full.
pub(crate) fn check_room(plan: &Plan, volumes: &Volumes, volume: &Volume) -> Result<Vec<Note>, RunError> {
    let Volume { on, path, directory, .. } = volume;
    let needed = needed(plan, volumes, volume);
    let mut notes = Vec::new();
    let Ok(space) = os::space(directory.at()) else { return Ok(notes) };
    let room = |resource, needed, free| Err(RunError::Room { path: path.clone(), resource, needed, free });
    if space.free_bytes < needed.space_bytes {
        return room("space", needed.space_bytes, space.free_bytes);
    }
    if space.inodes > 0 && space.free_inodes < needed.inodes {
        return room("inodes", needed.inodes, space.free_inodes);
    }
    for data in plan.data.iter().filter(|data| data.on == *on) {
        for (_, files) in trees(plan, data).map_err(FillError::Files)? {
            let fullest = files.files_in_one_directory_max().saturating_add(files.made().aged_files);
            let fit = fit_directory(&files, directory).filter(|fit| fit.entries < fullest);
            let Some(Fit { entries, by_index }) = fit else { continue };
            if !(by_index && files.made().when == When::ByArms) {
                let resource = "room for names in one directory (see 'megadir limits')";
                return room(resource, fullest, entries);
            }
            let note = NoteKind::IndexFull.note(format!(
                "an arm creates {fullest} files in one directory, which certainly takes only {entries} such \
                 names; the arm stops where it is full"
            ));
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    Ok(notes)
}

/// The files must fit three quarters of the free inodes and half of the free space.
pub(crate) fn keeps_all_rounds(plan: &Plan, volumes: &Volumes) -> bool {
    volumes.all.iter().all(|volume| {
        let Estimate { kept_space_bytes: bytes, kept_inodes: inodes, .. } = needed(plan, volumes, volume);
        os::space(volume.directory.at()).is_ok_and(|space| {
            bytes <= space.free_bytes / 2 && (space.inodes == 0 || inodes <= space.free_inodes / 4 * 3)
        })
    })
}

fn needed(plan: &Plan, volumes: &Volumes, volume: &Volume) -> Estimate {
    match volume.on {
        None => estimate(plan),
        Some(_) => estimate_on(plan, volumes.sharing(volume)),
    }
}

struct Fit {
    /// Number of names that certainly fit.
    entries: u64,
    /// `true` if the index is a limit.
    by_index: bool,
}

/// Capacity of one directory for names of the data set's lengths; `None` if no limit is known. The last
/// name is measured, since numbers in names grow.
fn fit_directory(files: &Files, directory: &Dir) -> Option<Fit> {
    let lengths = match files.made().names {
        NameScheme::Lengths { bytes } => NameLengths::counted(bytes.map(|bytes| (u16::from(bytes), 1)))?,
        _ => {
            let mut name = [0; NAME_BYTES_MAX];
            let last = files.names().write(files.entries().saturating_sub(1), &mut name);
            NameLengths::of(u16::try_from(last.len()).ok()?)
        }
    };
    let query =
        Assumptions { names: Some(&lengths), contents_bytes: Some(0), ..Assumptions::MORE_OF_THE_SAME };
    let found = limits(directory, &query).ok()?;
    let by_index = found.ceilings.iter().any(|ceiling| ceiling.limit == Limit::DirectoryIndex);
    Some(Fit { entries: found.judgement.capacity?.value.low, by_index })
}

/// A study's size fits directories that take from half to twice as many entries.
const FACTOR: f64 = 2.0;

/// Writes the prediction of the first refusal into the arms of the study `limits` on this volume.
pub(crate) fn predict(plan: &mut Plan, volume: &Volume) -> Result<(), RunError> {
    let Volume { on, path, directory, .. } = volume;
    let (seed, data) = (plan.seed, &plan.data);
    for planned in plan.arms.iter_mut().filter(|planned| data[planned.data.0 as usize].on == *on) {
        let Work::FillUntilRefused { entries_about, predicted } = &mut planned.work else { continue };
        let Some(made) = data[planned.data.0 as usize].source.made() else { continue };
        let bytes = Names { scheme: made.names, seed }.write(*entries_about, &mut [0; NAME_BYTES_MAX]).len();
        let refused = |reason| RunError::Arm { arm: format!("'{}'", path.display()), reason };
        *predicted = Some(prediction(directory, bytes as u16, *entries_about).map_err(refused)?);
    }
    Ok(())
}

/// The prediction is made before the first file, so that it cannot be fitted to the result. A study whose
/// size does not match the capacity here would fill for hours or not fill at all, and is refused with a size
/// that matches; so is a volume on which another limit might come first.
fn prediction(directory: &Dir, name_bytes: u16, entries_about: u64) -> Result<Predicted, String> {
    let lengths = NameLengths::of(name_bytes);
    let query =
        Assumptions { names: Some(&lengths), contents_bytes: Some(0), ..Assumptions::MORE_OF_THE_SAME };
    let found = limits(directory, &query).map_err(|error| error.to_string())?;
    let of_index = |ceiling: &&Ceiling| ceiling.limit == Limit::DirectoryIndex;
    let (Some(_), Some(capacity)) = (found.ceilings.iter().find(of_index), &found.judgement.capacity) else {
        return Err(format!(
            "directories of {} have no index that fills up; use ext4",
            found.facts.file_system
        ));
    };
    let all = capacity.value;
    let block_bytes = found.facts.space.block_bytes;
    let fits = entries_about as f64 / all.likely.max(1) as f64;
    if !(1.0 / FACTOR..=FACTOR).contains(&fits) {
        return Err(format!(
            "with blocks of {block_bytes} bytes a directory takes about {} such names, but this size of the \
             study is for about {entries_about}; choose another size (--published is for blocks of 4096 \
             bytes), e.g. --entries {}, or another file system",
            all.likely, all.likely
        ));
    }
    // A volume in use says nothing about new directories, whose index must be the first limit.
    let sooner = found.ceilings.iter().find(|ceiling| !of_index(ceiling) && ceiling.more.low < all.high);
    if let Some(sooner) = sooner {
        let (limit, low, high) = (sooner.limit, sooner.more.low, all.high);
        return Err(format!(
            "{limit} may run out before the index is full: enough for {low} files, up to {high} needed"
        ));
    }
    let basis = format!(
        "{}, {}, blocks of {block_bytes} bytes, names of {name_bytes} bytes",
        capacity.basis, found.facts.file_system
    );
    Ok(Predicted { entries: all.likely, low: all.low, high: all.high, basis })
}
