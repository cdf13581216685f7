//! Fills and ages the data sets of a plan, and measures their space.
//!
//! Data sets grow by turns, the least complete first, so that none gets a better part of disk or cache. An aged directory gets
//! further files, written back and then removed; their numbers are far beyond the names that look-ups treat as absent.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use megadir::{Dir, FileType};
use megadir_record::{
    Built, BuiltAged, BuiltSet, Counted, Data, DataSource, MakeDirectories, Plan, Used, When,
};
use megadir_stats::permutation::{SplitMix64, shuffle};
use megadir_sys::clock::monotonic_ns;

use crate::control::{RunControl, WorkError};
use crate::dataset::{Files, FillError, FillProgress, Filling, LEVELS_MAX, PlaceBuffer};
use crate::event::Event;
use crate::kind::{ABSENT_NAMES, name_hash};
use crate::os::{self, At, Borrowed, Owned, Status, write_back};
use crate::plan::{ENTRIES_MAX, trees};
use crate::run::volumes::{Volumes, data_name};
use crate::run::{Listeners, RunError};
use crate::workspace::Workspace;

const TURN: u64 = 1024;

pub(crate) struct Made {
    pub(crate) directories: Vec<Dir>,
    pub(crate) usages: Vec<TreeUsage>,
    pub(crate) built: Built,
    /// As far as the system reports.
    pub(crate) written: bool,
}

struct Set<'a> {
    data: &'a Data,
    filling: Filling<'a>,
    directories: (u64, u64),
    entries: u64,
    directories_ns: Option<u64>,
    files_ns: u64,
    aging: Option<Aging<'a>>,
}

pub(crate) fn build(
    plan: &Plan,
    volumes: &Volumes,
    control: RunControl<'_>,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Made, RunError> {
    let set_dir = |data| DataSetDir::make(plan, data, volumes.of(data).own()?);
    let set_dirs: Vec<DataSetDir<'_>> = plan.data.iter().map(set_dir).collect::<Result<_, _>>()?;
    let before = free(volumes)?;
    let mut sets: Vec<Set<'_>> = set_dirs.iter().flat_map(DataSetDir::sets).collect();
    fill_sets(&mut sets, plan.seed, control, listeners)?;
    let times = |data: &Data| {
        let of = || sets.iter().filter(|set| set.data.id == data.id);
        let directories_ns: Option<u64> = of().map(|set| set.directories_ns).sum();
        (directories_ns, of().map(|set| set.files_ns).sum())
    };
    let mut built = Built { sets: Vec::new(), file_system_inodes: None, file_system_bytes: 0 };
    let (mut usages, mut written) = (Vec::new(), true);
    for set_dir in &set_dirs {
        let unusable = RunError::unusable(&set_dir.path);
        written &= write_back(&set_dir.directory, control.heartbeat).map_err(&unusable)?;
        let found = tree_usage(set_dir.directory.at(), control)
            .map_err(|error| RunError::of_arm(set_dir.path.display(), error))?;
        let (directories_ns, files_ns) = times(set_dir.data);
        if !set_dir.trees.is_empty() {
            let of_data = sets.iter().filter(|set| set.data.id == set_dir.data.id);
            let aged = of_data.filter_map(|set| set.aging.as_ref().map(Aging::built)).next();
            let flat = set_dir.trees.iter().all(|(files, _)| files.is_flat()) && set_dir.trees.len() == 1;
            let directory_bytes =
                flat.then(|| size_of(set_dir.directory.at())).transpose().map_err(&unusable)?;
            let (data, used) = (set_dir.data.id, found.used);
            built.sets.push(BuiltSet { data, used, directories_ns, files_ns, directory_bytes, aged });
        }
        usages.push(found);
    }
    let after = free(volumes)?;
    built.file_system_inodes = before.0.zip(after.0).map(|(before, after)| before.wrapping_sub(after) as i64);
    built.file_system_bytes = before.1.wrapping_sub(after.1) as i64;
    let directories = set_dirs.into_iter().map(DataSetDir::again).collect::<Result<_, _>>()?;
    Ok(Made { directories, usages, built, written })
}

fn fill_sets(
    sets: &mut [Set<'_>],
    seed: u64,
    control: RunControl<'_>,
    listeners: &mut Listeners<'_, '_>,
) -> Result<(), RunError> {
    let mut order: Vec<usize> = (0..sets.len()).collect();
    shuffle(&mut order, &mut SplitMix64::new(seed));
    in_turns(sets, &order, Set::directories_left, |set| set.make_directories(control))?;
    let of = sets.iter().map(|set| set.entries).sum();
    let mut made = FillProgress { done: 0, of };
    in_turns(sets, &order, Set::files_left, |set| set.make_files(&mut made, control, listeners))?;
    // Further files are written back before their removal.
    sets.iter_mut().filter_map(|set| set.aging.as_mut()).try_for_each(|aging| aging.filled(control))?;
    in_turns(
        sets,
        &order,
        |set| set.aging.as_ref().map_or(0.0, Aging::left),
        |set| set.aging.as_mut().map_or(Ok(()), |aging| aging.remove(TURN, control)),
    )
}

pub(crate) fn rebuild(
    plan: &Plan,
    data: &Data,
    workspace: &Workspace,
    control: RunControl<'_>,
) -> Result<Dir, RunError> {
    let name = data_name(data.id);
    let path = workspace.path().join(&name);
    let unusable = RunError::unusable(&path);
    os::if_there(workspace.remove_data_directory(&name, control.heartbeat)).map_err(&unusable)?;
    let set_dir = DataSetDir::make(plan, data, workspace)?;
    let mut sets: Vec<Set<'_>> = set_dir.sets().collect();
    fill_sets(&mut sets, plan.seed, control, &mut Listeners(&mut []))?;
    drop(sets);
    write_back(&set_dir.directory, control.heartbeat).map_err(unusable)?;
    set_dir.again()
}

struct DataSetDir<'a> {
    data: &'a Data,
    path: PathBuf,
    directory: Owned,
    trees: Vec<(Files, Owned)>,
}

impl<'a> DataSetDir<'a> {
    fn make(plan: &Plan, data: &'a Data, workspace: &Workspace) -> Result<Self, RunError> {
        let name = data_name(data.id);
        let path = workspace.path().join(&name);
        let unusable = RunError::unusable(&path);
        let DataSource::Made(made) = &data.source else {
            return Err(unusable(std::io::Error::other("created and existing directories in one plan")));
        };
        let sets = trees(plan, data).map_err(FillError::Files)?;
        let directory = workspace.data_directory(&name).map_err(&unusable)?;
        let mut set_dir = Self { data, path: path.clone(), directory, trees: Vec::new() };
        if made.when == When::ByArms {
            return Ok(set_dir);
        }
        for (below, files) in sets {
            let tree = match below {
                None => set_dir.directory.try_clone(),
                Some(below) => {
                    let made = os::make_directory(set_dir.directory.at(), below.as_str());
                    made.and_then(|()| os::open_on_this_mount(set_dir.directory.at(), below.as_str()))
                }
            };
            set_dir.trees.push((files, tree.map_err(&unusable)?));
        }
        Ok(set_dir)
    }

    fn sets(&self) -> impl Iterator<Item = Set<'_>> {
        self.trees.iter().map(|(files, directory)| Set::new(self.data, files, directory))
    }

    /// A new open file description: btrfs lists a directory as of its opening.
    fn again(self) -> Result<Dir, RunError> {
        Dir::from_descriptor(self.directory, &self.path).again().map_err(RunError::unusable(&self.path))
    }
}

/// Inodes are `None` if one file system does not count them.
fn free(volumes: &Volumes) -> Result<(Option<u64>, u64), RunError> {
    let (mut inodes, mut bytes) = (Some(0_u64), 0_u64);
    for volume in &volumes.all {
        let space = os::space(volume.directory.at()).map_err(RunError::unusable(&volume.path))?;
        let counted = (space.inodes > 0).then_some(space.all_free_inodes);
        inodes = inodes.zip(counted).map(|(sum, more)| sum.saturating_add(more));
        bytes = bytes.saturating_add(space.all_free_bytes);
    }
    Ok((inodes, bytes))
}

fn in_turns<'a>(
    sets: &mut [Set<'a>],
    order: &[usize],
    left: impl Fn(&Set<'a>) -> f64,
    mut step: impl FnMut(&mut Set<'a>) -> Result<(), RunError>,
) -> Result<(), RunError> {
    loop {
        let most = order.iter().copied().max_by(|a, b| {
            // `max_by` alone would take the last among equals.
            left(&sets[*a]).total_cmp(&left(&sets[*b])).then(std::cmp::Ordering::Greater)
        });
        match most {
            Some(next) if left(&sets[next]) > 0.0 => step(&mut sets[next])?,
            _ => return Ok(()),
        }
    }
}

impl<'a> Set<'a> {
    fn new(data: &'a Data, files: &'a Files, directory: &'a Owned) -> Self {
        let before = files.made().directories == MakeDirectories::Before;
        let directories = files.directories().filter(|_| before).map(|directories| directories.count());
        Self {
            data,
            filling: Filling::new(directory.at(), files),
            directories: (0, directories.unwrap_or(0)),
            entries: files.entries(),
            directories_ns: directories.map(|_| 0),
            files_ns: 0,
            aging: Aging::new(directory.at(), files),
        }
    }

    fn directories_left(&self) -> f64 {
        let (made, all) = self.directories;
        (all - made) as f64 / all.max(1) as f64
    }

    fn files_left(&self) -> f64 {
        (self.entries - self.filling.next) as f64 / self.entries.max(1) as f64
    }

    fn make_directories(&mut self, control: RunControl<'_>) -> Result<(), RunError> {
        control.check()?;
        let (from, all) = self.directories;
        let to = all.min(from + TURN);
        let start_ns = monotonic_ns();
        self.filling.directories(from, to)?;
        *self.directories_ns.get_or_insert(0) += monotonic_ns() - start_ns;
        self.directories.0 = to;
        Ok(())
    }

    fn make_files(
        &mut self,
        made: &mut FillProgress,
        control: RunControl<'_>,
        listeners: &mut Listeners<'_, '_>,
    ) -> Result<(), RunError> {
        let (mut told, start) = (Ok(()), self.filling.next);
        let mut progress = |progress: FillProgress| {
            control.heartbeat.fetch_add(1, Ordering::Relaxed);
            if told.is_ok() {
                let done = made.done + (progress.done - start);
                told = listeners.tell(&Event::Filling(FillProgress { done, ..*made }));
            }
        };
        let start_ns = monotonic_ns();
        let end = self.entries.min(self.filling.next + TURN);
        let mut stopped = false;
        match &mut self.aging {
            None => self.filling.to(end, &mut progress, control.stop)?,
            // One by one, so that permanent files lie among removed ones, as in directories in use.
            Some(aging) => {
                while self.filling.next < end && !stopped {
                    self.filling.to(self.filling.next + 1, &mut progress, control.stop)?;
                    stopped = aging.make(self.filling.next, self.entries, control)?;
                }
            }
        }
        self.files_ns += monotonic_ns() - start_ns;
        made.done += self.filling.next - start;
        told?;
        if stopped || self.filling.filled.stopped { Err(RunError::Interrupted) } else { Ok(()) }
    }
}

/// Twelve digits, as in sequential names.
const FIRST: u64 = 500_000_000_000;
const _: () = assert!(FIRST > ENTRIES_MAX + ABSENT_NAMES);

pub(crate) struct Aging<'a> {
    directory: Borrowed<'a>,
    of: &'a Files,
    filling: Filling<'a>,
    files: u64,
    full_bytes: u64,
    removed: u64,
    removed_ns: u64,
}

pub(crate) fn size_of(directory: Borrowed<'_>) -> std::io::Result<u64> {
    Ok(os::status_of(&directory)?.size_bytes)
}

fn failed(error: impl std::fmt::Display) -> RunError {
    RunError::Arm { arm: "aging a directory".into(), reason: error.to_string() }
}

impl<'a> Aging<'a> {
    pub(crate) fn new(directory: Borrowed<'a>, of: &'a Files) -> Option<Self> {
        let files = of.made().aged_files;
        let mut filling = Filling::new(directory, of);
        filling.next = FIRST;
        (files > 0).then_some(Self {
            directory,
            of,
            filling,
            files,
            full_bytes: 0,
            removed: 0,
            removed_ns: 0,
        })
    }

    /// Makes the further files that belong to the first `own` of `entries` files; `true` if the run is to end.
    pub(crate) fn make(&mut self, own: u64, entries: u64, control: RunControl<'_>) -> Result<bool, RunError> {
        let part = u128::from(self.files) * u128::from(own) / u128::from(entries.max(1));
        let mut heartbeat = |_| {
            control.heartbeat.fetch_add(1, Ordering::Relaxed);
        };
        self.filling.to(FIRST + part as u64, &mut heartbeat, control.stop)?;
        Ok(self.filling.filled.stopped)
    }

    pub(crate) fn filled(&mut self, control: RunControl<'_>) -> Result<(), RunError> {
        write_back(&self.directory, control.heartbeat).map_err(failed)?;
        self.full_bytes = size_of(self.directory).map_err(failed)?;
        Ok(())
    }

    pub(crate) fn left(&self) -> f64 {
        (self.files - self.removed) as f64 / self.files.max(1) as f64
    }

    pub(crate) fn remove(&mut self, files: u64, control: RunControl<'_>) -> Result<(), RunError> {
        control.check()?;
        let start_ns = monotonic_ns();
        let end = self.files.min(self.removed + files);
        let mut buffer = PlaceBuffer::new();
        for index in FIRST + self.removed..FIRST + end {
            let place = self.of.place(index, &mut buffer);
            let place = place.map_err(|reason| FillError::Files(self.of.refused(index, reason)))?;
            os::remove_file(self.directory, place.path()).map_err(failed)?;
        }
        self.removed = end;
        self.removed_ns += monotonic_ns() - start_ns;
        Ok(())
    }

    pub(crate) fn built(&self) -> BuiltAged {
        BuiltAged { files: self.files, directory_bytes: self.full_bytes, removed_ns: self.removed_ns }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeUsage {
    pub(crate) used: Used,
    pub(crate) hash: u64,
}

impl TreeUsage {
    pub(crate) fn counted(&self) -> Counted {
        Counted { entries: self.used.files, hash: self.hash, calls: None, written_bytes: 0 }
    }
}

pub(crate) fn tree_usage(directory: Borrowed<'_>, control: RunControl<'_>) -> Result<TreeUsage, WorkError> {
    let used = Used { files: 0, directories: 0, inodes: 0, content_bytes: 0, bytes: 0 };
    let mut counter = UsageCounter { tree_usage: TreeUsage { used, hash: 0 }, linked: HashSet::new() };
    let stage = "going through a data set";
    counter.count(os::use_of(&directory).map_err(WorkError::at(stage))?);
    each_below(directory, 0, (stage, control), &mut |parent, name, _| {
        let used = os::use_of_entry(parent, name)?;
        let is_directory = counter.count(used);
        if !is_directory {
            counter.tree_usage.hash = counter.tree_usage.hash.wrapping_add(name_hash(name));
        }
        Ok(is_directory)
    })?;
    Ok(counter.tree_usage)
}

struct UsageCounter {
    tree_usage: TreeUsage,
    linked: HashSet<u64>,
}

impl UsageCounter {
    /// `true` if it is a directory.
    fn count(&mut self, (status, allocated_bytes): (Status, u64)) -> bool {
        let used = &mut self.tree_usage.used;
        let directory = status.kind == FileType::Directory;
        match directory {
            true => used.directories += 1,
            false => used.files += 1,
        }
        if directory || status.links == 1 || self.linked.insert(status.identity.1) {
            used.inodes += 1;
            used.bytes += allocated_bytes;
            if !directory {
                used.content_bytes += status.size_bytes;
            }
        }
        directory
    }
}

/// For an entry of a directory; returns whether it is one to enter.
type EachBelow<'f> = dyn FnMut(Borrowed<'_>, &[u8], FileType) -> std::io::Result<bool> + 'f;

pub(crate) fn each_below(
    directory: Borrowed<'_>,
    depth: usize,
    (stage, control): (&'static str, RunControl<'_>),
    each: &mut EachBelow<'_>,
) -> Result<(), WorkError> {
    let failed = WorkError::at(stage);
    if depth > LEVELS_MAX {
        let reason = "directories are nested deeper than this program creates them";
        return Err(failed(std::io::Error::other(reason)));
    }
    let mut directories = Vec::new();
    os::each_entry_of_run(directory, (stage, control), &mut |name, kind| {
        if each(directory, name, kind).map_err(failed)? {
            directories.push(name.to_vec());
        }
        Ok(())
    })?;
    for name in directories {
        let below = os::open_on_this_mount(directory, name.as_slice()).map_err(failed)?;
        each_below(below.at(), depth + 1, (stage, control), each)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

#[cfg(all(test, target_os = "linux"))]
mod tests_of_tree_usage {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use megadir_testkit::mount::{BTRFS, Mount};
    use megadir_testkit::require;

    use crate::run::data_sets::*;

    #[test]
    fn what_was_made_after_a_directory_was_opened_is_found_every_time() {
        let mount = require!(Mount::make(&BTRFS));
        let path = mount.path().join("data");
        std::fs::create_dir(&path).unwrap();
        let opened = std::fs::File::open(&path).unwrap();
        for name in 0..5 {
            std::fs::write(path.join(name.to_string()), "x").unwrap();
        }
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        for _ in 0..2 {
            assert_eq!(tree_usage(opened.at(), control).unwrap().used.files, 5);
        }
    }
}
