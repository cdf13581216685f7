//! Counts the effects of a run without changes.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::foresee::{Foreseen, Foresight};
use super::judge::{Counts, Judge};
use super::route::Route;
use super::tree::{self, At, Visit};
use super::{Progress, ReshardOptions, check_into, trial};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;

const DIRECTORIES_MAX: usize = 1 << 20;

/// Counts of a run that changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Files that would be moved.
    pub to_move: u64,
    /// Files of the old layout's directories that lie in their new places.
    pub in_place: u64,
    /// Directories that receive files; `None` if there are more than a million.
    pub target_directories: Option<u64>,
    /// Entries that would stay, as far as that is foreseen; the other counts are 0.
    pub stay: Counts,
}

/// Counts the effects of a run, and reports what it would refuse: taken paths, and directories that cannot be made or written. What
/// other programs change before the run, and permissions of single files, are not foreseen. If it is not known that the file system can
/// rename without replacing, an empty directory is made, renamed and removed. Errors: as [`reshard`](super::reshard), without the lock.
pub fn survey(directory: &Dir, options: &ReshardOptions<'_>, progress: &Progress) -> Result<Survey> {
    checked_count(directory, options, Count { enough: u64::MAX, foresees: true }, progress)
}

/// Counts the files that would be moved, including files that would be refused. Ends early with more than `enough`. Errors: as [`survey`].
pub fn count_up_to(
    directory: &Dir,
    options: &ReshardOptions<'_>,
    enough: u64,
    progress: &Progress,
) -> Result<u64> {
    Ok(checked_count(directory, options, Count { enough, foresees: false }, progress)?.to_move)
}

fn checked_count(
    directory: &Dir,
    options: &ReshardOptions<'_>,
    goal: Count,
    progress: &Progress,
) -> Result<Survey> {
    // The second walk reports the same failures.
    let silent = ReshardOptions { on_failure: &|_| {}, ..*options };
    let files = depth_files(directory, &silent, goal.enough, progress)?;
    if let Some(into) = options.into {
        check_into(directory, into, &options.to)?;
    }
    trial::check(options.into.unwrap_or(directory), options.offline)?;
    count(directory, options, files, goal, progress)
}

/// Number of files that decides the depth of the new layout; 0 if it is fixed.
pub(super) fn depth_files(
    directory: &Dir,
    options: &ReshardOptions<'_>,
    enough: u64,
    progress: &Progress,
) -> Result<u64> {
    if options.to.growth().is_none() {
        return Ok(0);
    }
    if options.into.is_some() {
        let reason = "the depth of the new layout depends on the number of files, which is only counted in place; \
                      name a layout without from= and under=";
        return Err(Error::new("reshard", directory.path(), ErrorKind::BadOption, reason));
    }
    let found = count(directory, options, 0, Count { enough, foresees: false }, progress)?;
    Ok(found.to_move + found.in_place)
}

#[derive(Clone, Copy)]
struct Count {
    enough: u64,
    foresees: bool,
}

/// The same visit as a run's, with a visitor that only counts. Target directories are counted by the hash of
/// their path up to a limit, above which the number is unknown. `enough` ends the visit early if the caller
/// needs no more than this number of files.
fn count(
    directory: &Dir,
    options: &ReshardOptions<'_>,
    files: u64,
    Count { enough, foresees }: Count,
    progress: &Progress,
) -> Result<Survey> {
    let route = Route::of(directory, options, files)?;
    let mut surveyor = Surveyor {
        judge: Judge::new(route, options.exclude),
        foresight: foresees.then(|| Foresight::new(directory, options, route)).transpose()?,
        also_new: options.to.growth().is_some(),
        to_move: 0,
        targets: HashSet::new(),
        hasher: RandomState::new(),
        enough,
        progress,
        on_failure: options.on_failure,
    };
    tree::visit(directory, options.into.map(Dir::id).transpose()?, &mut surveyor)?;
    if let Some(foresight) = &mut surveyor.foresight {
        foresight.report();
    }
    let Surveyor { judge, to_move, targets, .. } = surveyor;
    Ok(Survey {
        to_move,
        in_place: judge.in_place,
        target_directories: (targets.len() < DIRECTORIES_MAX).then_some(targets.len() as u64),
        stay: judge.counts,
    })
}

/// `also_new` is `true` if the depth of the new layout depends on the number of files: then files at paths of
/// the new layout count too, since an earlier run may have moved some. `foresight` is absent if only numbers
/// are wanted, which takes no look at targets.
struct Surveyor<'a> {
    judge: Judge<'a>,
    foresight: Option<Foresight<'a>>,
    also_new: bool,
    to_move: u64,
    targets: HashSet<u64>,
    hasher: RandomState,
    enough: u64,
    progress: &'a Progress,
    on_failure: &'a dyn Fn(Error),
}

impl Visit for Surveyor<'_> {
    fn enters(&self, level: usize, name: &[u8]) -> bool {
        self.judge.route.leads_to_files(level, name)
            || self.also_new && self.judge.route.placer.layout().has_directory(level, name)
    }

    fn is_ended(&self) -> bool {
        self.to_move > self.enough || self.progress.is_cancelled()
    }

    fn entry(&mut self, at: &At<'_>, name: &[u8], kind: FileType) {
        // A count before a run is no progress of the run.
        if self.foresight.is_some() {
            self.progress.more(1);
        }
        let Some(placed) = self.judge.look(at.path, name, kind) else { return };
        let foreseen = match &mut self.foresight {
            Some(foresight) => foresight.look(at, name, &placed),
            None => Foreseen::Moves,
        };
        let failure = match foreseen {
            Foreseen::Moves => {
                self.to_move += 1;
                if self.targets.len() < DIRECTORIES_MAX {
                    self.targets.insert(self.hasher.hash_one(placed.directory()));
                }
                return;
            }
            Foreseen::Conflict(failure) => {
                self.judge.counts.conflicts += 1;
                Some(failure)
            }
            Foreseen::Refused(failure) => {
                self.judge.counts.failures += 1;
                failure
            }
        };
        failure.into_iter().for_each(self.on_failure);
    }

    fn fail(&mut self, failure: Error) {
        self.judge.counts.failures += 1;
        (self.on_failure)(failure);
    }

    fn unread(&mut self, failure: Error) {
        (self.on_failure)(self.judge.counts.unread(failure));
    }
}
