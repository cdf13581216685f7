//! Counts the effects of a run without changes.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::judge::{Counts, Judge};
use super::route::Route;
use super::tree::{self, At, Visit};
use super::{Progress, ReshardOptions, check_mount};
use crate::dir::Dir;
use crate::error::{Error, Result};
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
    /// Entries that would stay; the other counts are 0.
    pub stay: Counts,
}

/// Counts the effects of a run. Ends early once more than `enough` files would be moved. For a new layout whose depth grows,
/// `to_move` and `in_place` together decide the depth. Errors: as [`reshard`](super::reshard), without the lock.
pub fn survey(
    directory: &Dir,
    options: &ReshardOptions<'_>,
    enough: u64,
    progress: &Progress,
) -> Result<Survey> {
    if let Some(into) = options.into {
        check_mount(directory, into)?;
    }
    if options.to.growth().is_none() || options.into.is_some() {
        return count(directory, options, 0, enough, progress);
    }
    // The second walk reports the same failures.
    let silent = ReshardOptions { on_failure: &|_| {}, ..*options };
    let files = count_files(directory, &silent, enough, progress)?;
    count(directory, options, files, enough, progress)
}

pub(super) fn count_files(
    directory: &Dir,
    options: &ReshardOptions<'_>,
    enough: u64,
    progress: &Progress,
) -> Result<u64> {
    let found = count(directory, options, 0, enough, progress)?;
    Ok(found.to_move + found.in_place)
}

fn count(
    directory: &Dir,
    options: &ReshardOptions<'_>,
    files: u64,
    enough: u64,
    progress: &Progress,
) -> Result<Survey> {
    let mut surveyor = Surveyor {
        judge: Judge::new(Route::of(directory, options, files)?, options.exclude),
        also_new: options.to.growth().is_some() && options.into.is_none(),
        to_move: 0,
        targets: HashSet::new(),
        hasher: RandomState::new(),
        enough,
        progress,
        on_failure: options.on_failure,
    };
    tree::visit(directory, options.into.map(Dir::id).transpose()?, &mut surveyor)?;
    let Surveyor { judge, to_move, targets, .. } = surveyor;
    Ok(Survey {
        to_move,
        in_place: judge.in_place,
        target_directories: (targets.len() < DIRECTORIES_MAX).then_some(targets.len() as u64),
        stay: judge.counts,
    })
}

struct Surveyor<'a> {
    judge: Judge<'a>,
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
        if let Some(placed) = self.judge.look(at.path, name, kind) {
            self.to_move += 1;
            if self.targets.len() < DIRECTORIES_MAX {
                self.targets.insert(self.hasher.hash_one(placed.directory()));
            }
        }
    }

    fn fail(&mut self, failure: Error) {
        self.judge.counts.failures += 1;
        (self.on_failure)(failure);
    }
}
