//! Before measuring: room for the data, leftovers of killed runs, the run's own directory, the data sets.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{SystemTime, UNIX_EPOCH};

use megadir::Dir;
use megadir_record::{Built, CellId, Counted, Data, DataSource, Note, Plan, Stage, Work};

use super::build::build;
use super::expect::expect_files;
use super::refusals::predict;
use super::room::check_room;
use super::sites::{Places, Sites, data_name, kinds, notes_on, wanted};
use super::survey::Survey;
use super::truth::{before_run, settle};
use super::{Listeners, RunError, RunRequest};
use crate::at;
use crate::cache::Caches;
use crate::control::{RunControl, WorkError};
use crate::dataset::{Files, Names};
use crate::event::Event;
use crate::lab::Lab;
use crate::machine::Program;
use crate::note::NoteKind;
use crate::plan::{in_one_directory, prune};
use crate::workload::WorkerCommand;
use crate::workload::{FILES_MAX, Listing, NameSource, SAMPLE_MAX, workload};
use crate::workspace::remove_leftovers;

/// Everything that measuring needs.
pub(super) struct Prepared<'a> {
    /// The plan of the epoch; of a run with one epoch that of the run.
    pub(super) plan: Plan,
    /// The epoch, from 0.
    pub(super) epoch: u32,
    pub(super) notes: Vec<Note>,
    pub(super) command: Vec<String>,
    pub(super) program: Program,
    /// The directory that was named, for the machine's description.
    pub(super) directory: Dir,
    /// The directories of the plan's data sets.
    pub(super) data: Vec<Dir>,
    /// What making them took.
    pub(super) built: Option<Built>,
    /// What the oracle saw in each of them.
    pub(super) truths: Vec<Counted>,
    /// Where look-ups get their names from, for each of them.
    pub(super) names: Vec<NameSource>,
    pub(super) control: RunControl<'a>,
    /// How processes that work are started.
    pub(super) worker: Option<WorkerCommand>,
    /// In which state their caches are.
    pub(super) caches: Caches,
    /// Where its data lie.
    pub(super) sites: Sites,
}

impl Prepared<'_> {
    /// Writes into the plan what every listing must see.
    pub(super) fn settle(&mut self) -> Result<(), RunError> {
        settle(&mut self.plan, &mut self.truths, self.control)
    }

    /// Removes what is the run's own.
    pub(super) fn clean(self, listeners: &mut Listeners<'_, '_>) -> Result<(), RunError> {
        if !self.sites.are_ours() {
            return Ok(());
        }
        // A listener that cannot go on must not keep the directory from being removed.
        let told = listeners.tell(&Event::Cleaning);
        drop(self.data);
        self.sites.remove(self.control)?;
        told
    }
}

/// Makes what the plan needs; on an error nothing is left behind.
pub(super) fn prepare<'a>(
    request: RunRequest<'a>,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Prepared<'a>, RunError> {
    let RunRequest { plan, mut notes, directory: path, command, program, stop, heartbeat, worker, .. } =
        request;
    let control = RunControl { stop, heartbeat };
    let unusable = |source: std::io::Error| RunError::Directory { path: path.clone(), source };
    let open = || Dir::open(&path).map_err(|error| unusable(error.into()));
    let (mut sites, plan) = match plan.file_systems.is_empty() {
        true => (Sites::named(&path, open()?), plan),
        false => Sites::mount(plan, &path, request.erase_device, control, &mut notes)?,
    };
    // Now, for the lab has its own namespace, in which what was opened before is on no mount.
    let directory = open()?;
    let plan = fit(&mut sites, plan, &mut notes)?;
    let (mut data, mut surveys, mut built) = (Vec::new(), Vec::new(), None);
    if makes(&plan) {
        if plan.file_systems.is_empty() {
            notes.extend(leftovers(&path, heartbeat));
        }
        let started_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let made = sites.make_workspaces(started_unix_s, plan.seed);
        match made.and_then(|()| build(&plan, &sites, control, listeners)) {
            Ok(made) => {
                notes.extend((!made.written).then(not_written_back));
                (data, surveys, built) = (made.directories, made.surveys, Some(made.built));
            }
            Err(error) => return Err(error.and_cleaned(sites.remove(control))),
        }
    } else {
        data.push(directory.again().map_err(|error| unusable(error.into()))?);
    }
    let caches = Caches::new(&plan, kinds(&sites, &plan));
    let mut prepared = Prepared {
        plan,
        epoch: 0,
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
        caches,
        sites,
    };
    match verify(&mut prepared, &surveys) {
        Ok(()) => Ok(prepared),
        Err(error) => Err(error.and_cleaned(prepared.clean(listeners))),
    }
}

/// Finds out what would keep a run from beginning, making and writing nothing.
///
/// # Errors
///
/// As [`run`](super::run) for what it refuses: privileges, room, devices that must not be erased, directories that cannot be written to.
pub fn check(
    plan: &Plan,
    path: &Path,
    erase_device: bool,
    stop: &AtomicBool,
    heartbeat: &AtomicU64,
) -> Result<(), RunError> {
    let unusable = |source: std::io::Error| RunError::Directory { path: path.to_owned(), source };
    let control = RunControl { stop, heartbeat };
    if makes(plan) {
        at::may_make_in(path).map_err(unusable)?;
    }
    if !plan.file_systems.is_empty() {
        let all = plan.file_systems.iter().map(|of| wanted(plan, of, erase_device));
        return Ok(Lab::check(path, &all.collect::<Result<Vec<_>, _>>()?, control)?);
    }
    let directory = Dir::open(path).map_err(|error| unusable(error.into()))?;
    fit(&mut Sites::named(path, directory), plan.clone(), &mut Vec::new()).map(drop)
}

/// Takes the data sets away and makes those of another epoch, whose plan this is.
pub(super) fn make_anew(
    prepared: &mut Prepared<'_>,
    plan: Plan,
    listeners: &mut Listeners<'_, '_>,
) -> Result<(), RunError> {
    prepared.plan = plan;
    if !prepared.sites.are_ours() {
        return Ok(());
    }
    prepared.data.clear();
    for data in &prepared.plan.data {
        let (name, workspace) = (data_name(data.id), prepared.sites.of(data).own()?);
        let path = workspace.path().join(&name);
        let removed = workspace.remove_data_directory(&name, prepared.control.heartbeat);
        removed.map_err(|source| RunError::Directory { path, source })?;
    }
    let made = build(&prepared.plan, &prepared.sites, prepared.control, listeners)?;
    prepared.data = made.directories;
    prepared.caches = Caches::new(&prepared.plan, kinds(&prepared.sites, &prepared.plan));
    prepared.truths.clear();
    prepared.names.clear();
    let arms = prepared.plan.cells.len();
    verify(prepared, &made.surveys)?;
    if prepared.plan.cells.len() < arms {
        let reason = "it was available in the first epoch and is not any more".into();
        return Err(RunError::Arm { arm: "an arm".into(), reason });
    }
    prepared.settle()
}

/// Returns whether the run makes what it works on.
fn makes(plan: &Plan) -> bool {
    plan.data.iter().any(|data| matches!(data.source, DataSource::Made { .. }))
}

/// Writes into the plan what is predicted of its arms, and refuses what has no room; of several file systems made for the run
/// one without room is left out.
fn fit(sites: &mut Sites, plan: Plan, notes: &mut Vec<Note>) -> Result<Plan, RunError> {
    let (mut plan, mut gone) = (plan, Vec::new());
    for site in sites.all() {
        let fits = predict(&mut plan, site).and_then(|()| match makes(&plan) {
            true => check_room(&plan, site),
            false => Ok(Vec::new()),
        });
        match (fits, site.on) {
            (Ok(noted), _) => notes.extend(noted),
            (Err(error), Some(on)) if sites.all().len() > 1 => gone.push((on, error.to_string())),
            (Err(error), _) => return Err(error),
        }
    }
    sites.leave_out(plan, &gone)
}

/// Removes what killed runs left, and says so; trouble with that keeps no run from running.
fn leftovers(path: &Path, heartbeat: &AtomicU64) -> Vec<Note> {
    match remove_leftovers(path, heartbeat) {
        Ok(found) => notes_on(&found),
        Err(error) => {
            vec![NoteKind::Leftovers.note(format!("looking for directories of killed runs failed: {error}"))]
        }
    }
}

/// Returns what is said where nothing is waited for to be on the disk.
fn not_written_back() -> Note {
    let text = "whether what is made is on the disk was not waited for: having a volume written back takes an administrator, and a volume that can be";
    NoteKind::NotWrittenBack.note(text.into())
}

/// Lets the oracle list every data set once, and takes out of the plan what cannot be done on them.
fn verify(prepared: &mut Prepared<'_>, surveys: &[Survey]) -> Result<(), RunError> {
    let oracle = Work::List {
        backend: "std".into(),
        buffer_bytes: 32 << 10,
        threads: 1,
        shares: 1,
        stages: vec![Stage::Read],
    };
    let arm = |name: &str, error: WorkError| match error {
        WorkError::Stopped => RunError::Interrupted,
        error => RunError::Arm { arm: name.to_owned(), reason: error.to_string() },
    };
    let oracle = Listing::new(&oracle).map_err(|error| arm("std", error))?;
    for (index, (data, directory)) in prepared.plan.data.iter().zip(&prepared.data).enumerate() {
        let seen = match surveys.get(index) {
            Some(survey) if !in_one_directory(&prepared.plan, data) => survey.counted(),
            _ => oracle.once(directory, prepared.control).map_err(|error| arm("std", error))?,
        };
        let made = before_run(&prepared.plan, data).iter().map(Files::entries).sum();
        if matches!(data.source, DataSource::Made(_)) && seen.entries != made {
            return Err(RunError::Lost { made, seen: seen.entries });
        }
        prepared.truths.push(seen);
    }
    for (data, directory) in prepared.plan.data.iter().zip(&prepared.data) {
        let source = name_source(&prepared.plan, data, directory, prepared.control);
        prepared.names.push(source.map_err(|error| arm("std", error))?);
    }
    expect_files(&mut prepared.plan, &prepared.data, prepared.control).map_err(|error| arm("std", error))?;
    let mut gone: Vec<(CellId, String)> = Vec::new();
    for cell in &prepared.plan.cells {
        let names = &prepared.names[cell.data.0 as usize];
        let work = workload(&prepared.plan, cell, names, prepared.worker.as_ref())
            .map_err(|error| arm(&cell.name, error))?;
        if let Some(note) = work.remark()
            && !prepared.notes.contains(&note)
        {
            prepared.notes.push(note);
        }
        gone.extend(work.unavailable(&prepared.data[cell.data.0 as usize]).map(|reason| (cell.id, reason)));
    }
    let Prepared { caches, plan, data, control, sites, .. } = prepared;
    let mut places = Places { plan, sites, directories: std::mem::take(data), control: *control };
    let rehearsed = caches.rehearse(plan, &mut places, *control);
    *data = places.directories;
    gone.extend(rehearsed.map_err(|error| arm("cold caches", error))?);
    let left = prune(prepared.plan.clone(), &gone)?;
    prepared.plan = left.plan;
    prepared.notes.extend(left.notes);
    Ok(())
}

/// Returns where look-ups in a data set get their names from.
fn name_source(
    plan: &Plan,
    data: &Data,
    directory: &Dir,
    control: RunControl<'_>,
) -> Result<NameSource, WorkError> {
    let cells = || plan.cells.iter().filter(|cell| cell.data == data.id);
    let looked_up = cells().any(|cell| !cell.work.lists());
    match &data.source {
        DataSource::Made(made) => Ok(NameSource::Made {
            names: Names { scheme: made.names, seed: plan.seed },
            entries: data.entries,
        }),
        DataSource::Existing { .. } if looked_up => {
            let asked = cells().filter_map(|cell| match cell.work {
                Work::Ask { files } => Some(files.min(FILES_MAX) as usize),
                _ => None,
            });
            let at_most = asked.chain([SAMPLE_MAX]).max().unwrap_or(SAMPLE_MAX);
            NameSource::sample(directory, plan.seed, at_most, control)
        }
        DataSource::Existing { .. } => Ok(NameSource::Listed(Vec::new())),
    }
}
