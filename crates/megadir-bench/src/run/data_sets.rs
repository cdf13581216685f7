//! Fills and ages the data sets of a plan, and measures their space.
//!
//! Data sets grow by turns, the least complete first, so that none gets a better part of disk or cache. An aged directory gets
//! further files, written back and then removed; their numbers are far beyond the names that look-ups treat as absent.
//!
//! ```text
//!  turns of 1024:  directories of all sets -> files of all sets -> further files written back -> removed
//!  then, each set: write back -> walk (inodes, bytes, hash of names) -> Built
//! ```
//!
//! The space of a whole file system is recorded as well as the sum over files: journals, indexes and inode
//! tables belong to no file.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use megadir::{Dir, FileType};
use megadir_record::{Built, BuiltAged, BuiltSet, Counted, Data, DataSource, Plan, Used, When};
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

/// Files or directories of a turn: enough to hide the cost of changing from set to set, and few enough that
/// the sets lie mixed on the disk.
const TURN: u64 = 1024;

pub(crate) struct Made {
    pub(crate) directories: Vec<Dir>,
    pub(crate) usages: Vec<TreeUsage>,
    pub(crate) built: Built,
    /// As far as the system reports.
    pub(crate) written: bool,
}

/// One tree of a data set while it is filled. `entries` is the number that it will have. The times are
/// nanoseconds of wall time over all its turns, without the turns of other sets. `directories` are the number made
/// so far and the number of all, which are made before the files.
struct Set<'a> {
    data: &'a Data,
    filling: Filling<'a>,
    directories: (u64, u64),
    entries: u64,
    directories_ns: Option<u64>,
    files_ns: u64,
    aging: Option<Aging<'a>>,
}

/// Sets are filled by turns, and only then measured: data written back for one would otherwise be counted
/// for another. The use of the file system as a whole is a difference before and after, which is signed,
/// since another process may free more than this one takes. The directories are opened again at the end, so
/// that the sets that borrow them can be dropped.
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
    let mut built = Built { sets: Vec::new(), file_system_inodes: None, file_system_bytes: 0 };
    let (mut usages, mut written) = (Vec::new(), true);
    for set_dir in &set_dirs {
        let unusable = RunError::unusable(&set_dir.path);
        written &= write_back(&set_dir.directory, control.heartbeat).map_err(&unusable)?;
        let found = tree_usage(set_dir.directory.at(), control)
            .map_err(|error| RunError::of_arm(set_dir.path.display(), error))?;
        if !set_dir.trees.is_empty() {
            let (data, used) = (set_dir.data.id, found.used);
            let of_data = || sets.iter().filter(|set| set.data.id == data);
            let directories_ns = of_data().map(|set| set.directories_ns).sum();
            let files_ns = of_data().map(|set| set.files_ns).sum();
            let aged = of_data().find_map(|set| set.aging.as_ref().map(Aging::built));
            let flat = set_dir.trees.iter().all(|(files, _)| files.is_flat()) && set_dir.trees.len() == 1;
            let status = flat.then(|| os::status_of(&set_dir.directory)).transpose().map_err(&unusable)?;
            let directory_bytes = status.map(|status| status.size_bytes);
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

/// All steps are done for all sets before the next step begins, so that each set meets the disk in the same
/// state.
fn fill_sets(
    sets: &mut [Set<'_>],
    seed: u64,
    control: RunControl<'_>,
    listeners: &mut Listeners<'_, '_>,
) -> Result<(), RunError> {
    let mut order: Vec<usize> = (0..sets.len()).collect();
    shuffle(&mut order, &mut SplitMix64::new(seed));
    let directories_left = |set: &Set<'_>| left(set.directories.0, set.directories.1);
    in_turns(sets, &order, directories_left, |set| set.make_directories(control))?;
    let of = sets.iter().map(|set| set.entries).sum();
    let mut made = FillProgress { done: 0, of };
    let files_left = |set: &Set<'_>| left(set.filling.sweep.next, set.entries);
    in_turns(sets, &order, files_left, |set| set.make_files(&mut made, control, listeners))?;
    // Further files are written back before their removal.
    sets.iter_mut().filter_map(|set| set.aging.as_mut()).try_for_each(|aging| aging.filled(control))?;
    let removals_left =
        |set: &Set<'_>| set.aging.as_ref().map_or(0.0, |aging| left(aging.removed, aging.files));
    in_turns(sets, &order, removals_left, |set| {
        set.aging.as_mut().map_or(Ok(()), |aging| aging.remove(TURN, control))
    })
}

/// Fraction that remains, so that large and small sets end together.
fn left(done: u64, all: u64) -> f64 {
    (all - done) as f64 / all.max(1) as f64
}

/// Creates one data set again while the run goes through its rounds: a program has changed it. The seed is
/// the same, so its names, contents and sizes are too.
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

/// Directory of a data set with its trees, open. It outlives the `Set`s that borrow it.
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

/// Lets the least complete set take the next turn, until all are complete. Among equals the seeded order
/// decides.
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
        let directories = files.directories_before();
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

    /// One turn of one set. A failure of a listener is kept and returned after the turn, since the callback
    /// cannot return it. For aging the sweep advances by single files, so that the removed ones lie evenly
    /// among the sets that stay.
    fn make_files(
        &mut self,
        made: &mut FillProgress,
        control: RunControl<'_>,
        listeners: &mut Listeners<'_, '_>,
    ) -> Result<(), RunError> {
        let (mut emitted, start) = (Ok(()), self.filling.sweep.next);
        let mut progress = |progress: FillProgress| {
            control.heartbeat.fetch_add(1, Ordering::Relaxed);
            if emitted.is_ok() {
                let done = made.done + (progress.done - start);
                emitted = listeners.emit(&Event::Filling(FillProgress { done, ..*made }));
            }
        };
        let start_ns = monotonic_ns();
        let end = self.entries.min(start + TURN);
        let mut stopped = false;
        match &mut self.aging {
            None => self.filling.to(end, &mut progress, control.stop)?,
            // One by one, so that permanent files lie among removed ones, as in directories in use.
            Some(aging) => {
                while self.filling.sweep.next < end && !stopped && !self.filling.sweep.filled.stopped {
                    self.filling.to(self.filling.sweep.next + 1, &mut progress, control.stop)?;
                    stopped = aging.make(self.filling.sweep.next, self.entries, control)?;
                }
            }
        }
        self.files_ns += monotonic_ns() - start_ns;
        made.done += self.filling.sweep.next - start;
        emitted?;
        if stopped || self.filling.sweep.filled.stopped { Err(RunError::Interrupted) } else { Ok(()) }
    }
}

/// Twelve digits, as in sequential names.
const FIRST: u64 = 500_000_000_000;
const _: () = assert!(FIRST > ENTRIES_MAX + ABSENT_NAMES);

/// Further files of one directory that are removed before the run. `full_bytes` is the size of the directory
/// when it held them all: on most file systems a directory does not shrink, and that is what aging measures.
struct Aging<'a> {
    directory: Borrowed<'a>,
    of: &'a Files,
    filling: Filling<'a>,
    files: u64,
    full_bytes: u64,
    removed: u64,
    removed_ns: u64,
}

fn failed(error: impl std::fmt::Display) -> RunError {
    RunError::Arm { arm: "aging a directory".into(), reason: error.to_string() }
}

impl<'a> Aging<'a> {
    fn new(directory: Borrowed<'a>, of: &'a Files) -> Option<Self> {
        let files = of.made().aged_files;
        let mut filling = Filling::new(directory, of);
        filling.sweep.next = FIRST;
        let aging = Self { directory, of, filling, files, full_bytes: 0, removed: 0, removed_ns: 0 };
        (files > 0).then_some(aging)
    }

    /// Makes the further files that belong to the first `own` of `entries` files; `true` if the run is to end.
    fn make(&mut self, own: u64, entries: u64, control: RunControl<'_>) -> Result<bool, RunError> {
        let part = u128::from(self.files) * u128::from(own) / u128::from(entries.max(1));
        let mut heartbeat = |_| _ = control.check();
        self.filling.to(FIRST + part as u64, &mut heartbeat, control.stop)?;
        Ok(self.filling.sweep.filled.stopped)
    }

    /// Between the creation and the removal of the further files: only files that reached the disk age a
    /// directory, since blocks that were never written leave nothing behind.
    fn filled(&mut self, control: RunControl<'_>) -> Result<(), RunError> {
        write_back(&self.directory, control.heartbeat).map_err(failed)?;
        self.full_bytes = os::status_of(&self.directory).map_err(failed)?.size_bytes;
        Ok(())
    }

    fn remove(&mut self, files: u64, control: RunControl<'_>) -> Result<(), RunError> {
        control.check()?;
        let start_ns = monotonic_ns();
        let end = self.files.min(self.removed + files);
        let mut buffer = PlaceBuffer::new();
        for index in FIRST + self.removed..FIRST + end {
            let place = self.of.placed(index, &mut buffer).map_err(FillError::Files)?;
            os::remove_file(self.directory, place.path()).map_err(failed)?;
        }
        self.removed = end;
        self.removed_ns += monotonic_ns() - start_ns;
        Ok(())
    }

    fn built(&self) -> BuiltAged {
        BuiltAged { files: self.files, directory_bytes: self.full_bytes, removed_ns: self.removed_ns }
    }
}

/// Result of a walk over a data set: its use of space, and the sum of the hashes of its names.
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

/// Walks a tree relative to its descriptor, on one mount. A file with several names counts its inode and
/// blocks once, and each of its names.
pub(crate) fn tree_usage(directory: Borrowed<'_>, control: RunControl<'_>) -> Result<TreeUsage, WorkError> {
    let stage = "going through a data set";
    let mut used = Used { files: 0, directories: 0, inodes: 0, content_bytes: 0, bytes: 0 };
    let (mut hash, mut linked) = (0_u64, HashSet::new());
    // `true` for a directory.
    let mut count = |(status, allocated_bytes): (Status, u64)| {
        let directory = status.kind == FileType::Directory;
        match directory {
            true => used.directories += 1,
            false => used.files += 1,
        }
        if directory || status.links == 1 || linked.insert(status.identity.1) {
            used.inodes += 1;
            used.bytes += allocated_bytes;
            if !directory {
                used.content_bytes += status.size_bytes;
            }
        }
        directory
    };
    count(os::use_of(&directory).map_err(WorkError::at(stage))?);
    each_below(directory, 0, (stage, control), &mut |parent, name, _| {
        let is_directory = count(os::use_of_entry(parent, name)?);
        if !is_directory {
            hash = hash.wrapping_add(name_hash(name));
        }
        Ok(is_directory)
    })?;
    Ok(TreeUsage { used, hash })
}

/// For an entry of a directory; returns whether it is one to enter.
type EachBelow<'f> = dyn FnMut(Borrowed<'_>, &[u8], FileType) -> std::io::Result<bool> + 'f;

/// Calls `each` for every entry of a tree. Subdirectories are entered only after their parent was listed,
/// so that one descriptor for each level is open at a time.
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
    fn files_created_after_opening_a_directory_are_found() {
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
