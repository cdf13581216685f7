//! Makes the data sets of a plan, those of several arms in turns, and finds out what they use.
//!
//! Where several data sets are made, each goes on a part at a time, and the one that is least far always next: so none gets
//! the better part of a disk, of a group of inodes or of the cache. Which of them begins is drawn from the seed.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use megadir::Dir;
use megadir_record::{Built, BuiltSet, Data, DataSource, MakeDirectories, Plan, When};
use megadir_stats::permutation::{SplitMix64, shuffle};
use megadir_sys::clock::monotonic_ns;

use super::aging::{Aging, size_of};
use super::sites::{Sites, data_name};
use super::survey::{Survey, survey};
use super::{Listeners, RunError};
use crate::at::{self, At, Owned};
use crate::control::{RunControl, WorkError};
use crate::dataset::{Files, FillError, FillProgress, Filling};
use crate::event::Event;
use crate::plan::trees;
use crate::workspace::Workspace;
use crate::write_back::write_back;

/// Files or directories that are made of a data set before it is another's turn.
const TURN: u64 = 1024;

/// What was made.
pub(super) struct Made {
    /// The directories of the plan's data sets.
    pub(super) directories: Vec<Dir>,
    /// What is in them.
    pub(super) surveys: Vec<Survey>,
    pub(super) built: Built,
    /// Whether it is on the disk, as far as that can be known.
    pub(super) written: bool,
}

/// One tree that is being made.
struct Set<'a> {
    data: &'a Data,
    filling: Filling<'a>,
    /// Directories that were made before the first file, and how many there will be.
    directories: (u64, u64),
    entries: u64,
    directories_ns: Option<u64>,
    files_ns: u64,
    aging: Option<Aging<'a>>,
}

/// Makes every data set of the plan.
pub(super) fn build(
    plan: &Plan,
    sites: &Sites,
    control: RunControl<'_>,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Made, RunError> {
    let ground = |data| Ground::make(plan, data, sites.of(data).own()?);
    let grounds: Vec<Ground<'_>> = plan.data.iter().map(ground).collect::<Result<_, _>>()?;
    let before = free(sites)?;
    let mut sets: Vec<Set<'_>> = grounds.iter().flat_map(Ground::sets).collect();
    let mut order: Vec<usize> = (0..sets.len()).collect();
    shuffle(&mut order, &mut SplitMix64::new(plan.seed));
    in_turns(&mut sets, &order, Set::directories_left, |set| set.make_directories(control))?;
    let of = sets.iter().map(|set| set.entries).sum();
    let mut made = FillProgress { done: 0, of };
    in_turns(&mut sets, &order, Set::files_left, |set| set.make_files(&mut made, control, listeners))?;
    for set in &mut sets {
        set.filled(control)?;
    }
    in_turns(&mut sets, &order, Set::aging_left, |set| set.remove_files(control))?;
    let times = |data: &Data| {
        let of = || sets.iter().filter(|set| set.data.id == data.id);
        let directories_ns: Option<u64> = of().map(|set| set.directories_ns).sum();
        (directories_ns, of().map(|set| set.files_ns).sum())
    };
    let mut built = Built { sets: Vec::new(), file_system_inodes: None, file_system_bytes: 0 };
    let (mut surveys, mut written) = (Vec::new(), true);
    for ground in &grounds {
        let unusable = |source| RunError::Directory { path: ground.path.clone(), source };
        // What is still to be written would be written while we measure.
        written &= write_back(&ground.directory, control.heartbeat).map_err(unusable)?;
        let found = survey(ground.directory.at(), control).map_err(|error| match error {
            WorkError::Stopped => RunError::Interrupted,
            error => RunError::Arm { arm: ground.path.display().to_string(), reason: error.to_string() },
        })?;
        let (directories_ns, files_ns) = times(ground.data);
        if !ground.trees.is_empty() {
            let of_data = sets.iter().filter(|set| set.data.id == ground.data.id);
            let aged = of_data.filter_map(|set| set.aging.as_ref().map(Aging::built)).next();
            let flat = ground.trees.iter().all(|(files, _)| files.is_flat()) && ground.trees.len() == 1;
            let directory_bytes =
                flat.then(|| size_of(ground.directory.at())).transpose().map_err(unusable)?;
            let (data, used) = (ground.data.id, found.used);
            built.sets.push(BuiltSet { data, used, directories_ns, files_ns, directory_bytes, aged });
        }
        surveys.push(found);
    }
    let after = free(sites)?;
    built.file_system_inodes = before.0.zip(after.0).map(|(before, after)| before.wrapping_sub(after) as i64);
    built.file_system_bytes = before.1.wrapping_sub(after.1) as i64;
    let again = |ground: Ground<'_>| {
        let unusable =
            |error: megadir::Error| RunError::Directory { path: ground.path.clone(), source: error.into() };
        // Opened again, since btrfs tells of a directory what was in it when it was opened; not by its path.
        Dir::from_descriptor(ground.directory, &ground.path).again().map_err(unusable)
    };
    Ok(Made {
        directories: grounds.into_iter().map(again).collect::<Result<_, _>>()?,
        surveys,
        built,
        written,
    })
}

/// Where a data set is made: its directory, and in it the trees that are filled before the run.
struct Ground<'a> {
    data: &'a Data,
    path: PathBuf,
    directory: Owned,
    trees: Vec<(Files, Owned)>,
}

impl<'a> Ground<'a> {
    fn make(plan: &Plan, data: &'a Data, workspace: &Workspace) -> Result<Self, RunError> {
        let name = data_name(data.id);
        let path = workspace.path().join(&name);
        let unusable = |source| RunError::Directory { path: path.clone(), source };
        let DataSource::Made(made) = &data.source else {
            return Err(unusable(std::io::Error::other("made and existing directories in one plan")));
        };
        let sets = trees(plan, data).map_err(FillError::Files)?;
        let directory = workspace.data_directory(&name).map_err(unusable)?;
        let mut ground = Self { data, path: path.clone(), directory, trees: Vec::new() };
        if made.when == When::ByArms {
            return Ok(ground);
        }
        for (below, files) in sets {
            let tree = match below {
                None => ground.directory.try_clone(),
                Some(below) => {
                    let made = at::make_directory(ground.directory.at(), below.as_str());
                    made.and_then(|()| at::open_on_this_mount(ground.directory.at(), below.as_str()))
                }
            };
            ground.trees.push((files, tree.map_err(unusable)?));
        }
        Ok(ground)
    }

    fn sets(&self) -> impl Iterator<Item = Set<'_>> {
        self.trees.iter().map(|(files, directory)| Set::new(self.data, files, directory))
    }
}

/// Returns how many inodes and bytes are free on all file systems together; no number of inodes where one does not count
/// them.
fn free(sites: &Sites) -> Result<(Option<u64>, u64), RunError> {
    let (mut inodes, mut bytes) = (Some(0_u64), 0_u64);
    for site in sites.all() {
        let unusable = |source| RunError::Directory { path: site.path.clone(), source };
        let space = at::space(site.directory.at()).map_err(unusable)?;
        let counted = (space.inodes > 0).then_some(space.all_free_inodes);
        inodes = inodes.zip(counted).map(|(sum, more)| sum.saturating_add(more));
        bytes = bytes.saturating_add(space.all_free_bytes);
    }
    Ok((inodes, bytes))
}

/// Lets the set that is least far take a step, until nothing is left of any.
fn in_turns<'a>(
    sets: &mut [Set<'a>],
    order: &[usize],
    left: impl Fn(&Set<'a>) -> f64,
    mut step: impl FnMut(&mut Set<'a>) -> Result<(), RunError>,
) -> Result<(), RunError> {
    loop {
        let most = order.iter().copied().max_by(|a, b| {
            // Of equals the first in order; `max_by` would take the last.
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

    /// Returns the share of the directories that are still to be made.
    fn directories_left(&self) -> f64 {
        let (made, all) = self.directories;
        (all - made) as f64 / all.max(1) as f64
    }

    /// Returns the share of the files that are still to be made.
    fn files_left(&self) -> f64 {
        (self.entries - self.filling.done()) as f64 / self.entries.max(1) as f64
    }

    /// Returns the share of the files that are still to be removed again.
    fn aging_left(&self) -> f64 {
        self.aging.as_ref().map_or(0.0, Aging::left)
    }

    /// Ends the making of files: what is to be removed again is written first.
    fn filled(&mut self, control: RunControl<'_>) -> Result<(), RunError> {
        self.aging.as_mut().map_or(Ok(()), |aging| aging.filled(control))
    }

    fn remove_files(&mut self, control: RunControl<'_>) -> Result<(), RunError> {
        self.aging.as_mut().map_or(Ok(()), |aging| aging.remove(TURN, control))
    }

    fn make_directories(&mut self, control: RunControl<'_>) -> Result<(), RunError> {
        control.heartbeat.fetch_add(1, Ordering::Relaxed);
        if control.stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
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
        let (mut told, start) = (Ok(()), self.filling.done());
        let mut progress = |progress: FillProgress| {
            control.heartbeat.fetch_add(1, Ordering::Relaxed);
            if told.is_ok() {
                let done = made.done + (progress.done - start);
                told = listeners.tell(&Event::Filling(FillProgress { done, ..*made }));
            }
        };
        let start_ns = monotonic_ns();
        let end = self.entries.min(self.filling.done() + TURN);
        let mut stopped = false;
        match &mut self.aging {
            None => self.filling.to(end, &mut progress, control.stop)?,
            // One by one, so that those that stay are among those that go, as in directories that have aged by themselves.
            Some(aging) => {
                while self.filling.done() < end && !stopped {
                    self.filling.to(self.filling.done() + 1, &mut progress, control.stop)?;
                    stopped = aging.make(self.filling.done(), self.entries, control)?;
                }
            }
        }
        self.files_ns += monotonic_ns() - start_ns;
        made.done += self.filling.done() - start;
        told?;
        if stopped || self.filling.filled.stopped { Err(RunError::Interrupted) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
