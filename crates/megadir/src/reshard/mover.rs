//! Reads a tree into windows of files, and gives these to the carrier in groups.

use std::collections::HashSet;
use std::sync::Arc;
use std::thread::Scope;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::carrier::{Carrier, Job, Outcome};
use super::foresee::WAITING_MAX;
use super::judge::{Counts, Judge, keeps_back};
use super::relink::{Refusal, failure, is_spelled_so};
use super::route::{Route, is_below_own_path};
use super::targets::{Targets, in_its_own_way, split};
use super::tree::{At, Visit};
use super::window::Window;
use super::{Progress, ReshardOptions, Stopped};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file_system::FileSystem;
use crate::file_type::FileType;

/// Source and target directories of the group that is moved and of the next one.
const DESCRIPTORS_SHARES: u64 = 4;
/// For directories on the way, and for the caller.
const DESCRIPTORS_FREE: u64 = 64;

/// Files in the way that are remembered after they were refused.
const STUCK_MAX: usize = 1 << 16;

/// As many source as target directories. On XFS larger groups are faster, because entries leave the old directory in its order,
/// and blocks of it are logged less often; on ext4 they are slower, on btrfs equal (records/2026-11-26-reshard.md).
fn open_max(file_system: FileSystem) -> u64 {
    if file_system == FileSystem::Xfs { 4096 } else { 256 }
}

/// Files at several levels can be in the way of one directory, and other processes can put new ones there.
const TRIES_MAX: u32 = 16;

/// Outcome for a file in the way of a directory.
enum Way {
    /// It is gone.
    Clear,
    /// It stays: it has no new path, waits itself, or was reported.
    Blocked,
    Refused(Error),
}

/// State of the thread that reads. Two windows exist at most: one that is being filled, and `last`, whose
/// files the carrier moves.
///
/// ```text
/// tree -> window -> sorted -> groups of open_max directories -> carrier (its thread) -> results, in the order of the jobs
/// ```
///
/// `sources` are the open directories that files of the window are in; `left` are directories that may be
/// empty when the window was moved. `open_max` keeps descriptors within a share of the process's limit.
/// `stuck` remembers refused files whose paths a directory of the new layout would need: nothing below can be
/// made.
pub(super) struct Mover<'a> {
    options: &'a ReshardOptions<'a>,
    window: Window,
    /// The previous window; one of its groups may still be moving.
    last: Option<Arc<Window>>,
    targets: Targets,
    sources: Vec<Arc<Dir>>,
    open_max: usize,
    /// Paths of files that were refused, and are in the way of directories.
    stuck: HashSet<Box<[u8]>>,
    /// The deepest first: parent and name.
    left: Vec<(Arc<Dir>, Box<[u8]>)>,
    carrier: Carrier<'a>,
    results: Results<'a>,
}

struct Results<'a> {
    judge: Judge<'a>,
    progress: &'a Progress,
    on_failure: &'a dyn Fn(Error),
    fatal: Option<Error>,
}

impl<'a> Mover<'a> {
    /// The limit of descriptors is divided, because source and target directories of two groups are open at a
    /// time: of the group that is moved, and of the next one. The carrier's thread starts at once and lives
    /// as long as the scope.
    pub(super) fn new<'scope>(
        scope: &'scope Scope<'scope, '_>,
        route: Route,
        targets: Targets,
        options: &'a ReshardOptions<'a>,
        progress: &'a Progress,
    ) -> Self
    where
        'a: 'scope,
    {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let open_max = open_max(targets.file_system());
        let share =
            limit.map_or(open_max, |limit| limit.saturating_sub(DESCRIPTORS_FREE) / DESCRIPTORS_SHARES);
        Self {
            options,
            window: Window::new(options.window_bytes),
            last: None,
            targets,
            sources: Vec::new(),
            stuck: HashSet::new(),
            open_max: share.clamp(1, open_max) as usize,
            left: Vec::new(),
            carrier: Carrier::start(scope, options, progress),
            results: Results {
                judge: Judge::new(route, options.exclude),
                progress,
                on_failure: options.on_failure,
                fatal: None,
            },
        }
    }

    /// After an error in reading no further file is moved.
    pub(super) fn finish(mut self, read: Result<()>) -> std::result::Result<Counts, Stopped> {
        if read.is_ok() {
            self.flush();
        }
        self.wait();
        if self.results.judge.counts.moved == 0 {
            self.targets.remove_made();
        }
        let mut results = self.results;
        results.judge.counts.directories_made = self.targets.made;
        let counts = results.judge.counts;
        match results.fatal.or(read.err()) {
            Some(error) => Err(Stopped { error: Box::new(error), counts }),
            None => Ok(counts),
        }
    }

    /// The order protects files: first every directory that the window needs is made, while none of its files
    /// has moved, so that a failure leaves all of them in place; then groups are moved; and then emptied
    /// directories are removed, which the carrier does after all groups, since jobs are done in order. Giving
    /// a job waits for the end of the one before it, so once the loop has given one, the groups of the
    /// previous window are done and its memory can be used again.
    fn flush(&mut self) {
        if self.results.judge.counts.moved > 0 {
            self.targets.keep_made();
        }
        let mut window = std::mem::take(&mut self.window).sort();
        // Before any file of the window moves. Failures are reported with the group.
        for directory in window.directories() {
            if self.results.is_ended() {
                break;
            }
            self.targets.ensure(directory);
        }
        let sources = Arc::new(std::mem::take(&mut self.sources));
        while !self.results.is_ended() {
            let mut targets = Vec::new();
            let open_max = self.open_max;
            let open = |path: &[u8], files: usize| {
                // Files of a group without directories stay, as they do once the run has ended.
                let opened = self.open_until_the_end(path);
                let report = |error| (self.options.on_failure)(keeps_back(error, files as u64));
                targets.push(opened.and_then(|opened| opened.map_err(report).ok()));
            };
            let Some(group) = window.group(open_max, open) else { break };
            let sources = Arc::clone(&sources);
            self.give(Job::Move { group, sources, targets });
        }
        self.targets.close();
        let left = std::mem::take(&mut self.left);
        if !left.is_empty() {
            self.give(Job::RemoveEmptied(left));
        }
        // If a group was given, the last window's groups are done.
        let last = self.last.replace(window.window()).and_then(Window::reuse);
        self.window = last.unwrap_or_else(|| Window::new(self.options.window_bytes));
    }

    /// `None` if the run has ended, which is reported elsewhere.
    fn open_until_the_end(&mut self, path: &[u8]) -> Option<Result<Arc<Dir>>> {
        let opened = (!self.results.is_ended()).then(|| self.open_target(path, &mut Vec::new()));
        opened.filter(|opened| opened.is_ok() || !self.results.is_ended())
    }

    /// Files that are in the way move first. `waiting` are paths of files that wait for this directory.
    fn open_target(&mut self, path: &[u8], waiting: &mut Vec<Box<[u8]>>) -> Result<Arc<Dir>> {
        let mut tries = 0;
        loop {
            let error = match self.targets.open(path) {
                Err(error) if error.kind() == ErrorKind::NotADirectory => error,
                opened => return opened,
            };
            tries += 1;
            let refused = self.targets.refused(path);
            let (parent, name) = split(refused);
            let way = match self.targets.open(parent) {
                Ok(source) if is_spelled_so(&source, name) => self.give_way(refused, &source, waiting),
                _ => Way::Blocked,
            };
            if !matches!(way, Way::Clear) || tries >= TRIES_MAX {
                return Err(error);
            }
        }
    }

    /// Moves a file, with its path and directory, whose path a directory of the new layout has.
    fn give_way(&mut self, path: &[u8], source: &Arc<Dir>, waiting: &mut Vec<Box<[u8]>>) -> Way {
        // Files of another directory (`into`) are not moved.
        if !self.results.judge.route.keeps(path)
            || self.stuck.contains(path)
            || waiting.len() >= WAITING_MAX
            || waiting.iter().any(|other| **other == *path)
        {
            return Way::Blocked;
        }
        let name = split(path).1;
        match source.kind_of(name) {
            Ok(FileType::File) => {}
            // Gone, or the directory that another process has made.
            Ok(FileType::Unknown | FileType::Directory) => return Way::Clear,
            Ok(_) => return Way::Blocked,
            Err(error) => return Way::Refused(keeps_back(error, 1)),
        }
        let Some(placed) = self.results.judge.new_path(path) else { return Way::Blocked };
        if is_below_own_path(path, &placed) {
            return Way::Refused(in_its_own_way(&source.entry_path(name)));
        }
        let (directory, file): (Box<[u8]>, Box<[u8]>) = (placed.directory().into(), placed.file().into());
        waiting.push(path.into());
        let target = self.open_target(&directory, waiting);
        waiting.pop();
        if self.results.is_ended() {
            return Way::Blocked;
        }
        let target = match target {
            Ok(target) => target,
            Err(error) => return Way::Refused(keeps_back(error, 1)),
        };
        self.wait();
        let moved = self.results.judge.counts.moved;
        self.give(Job::MoveOne { source: Arc::clone(source), name: name.into(), target, file });
        self.wait();
        if self.results.judge.counts.moved > moved || !exists(source, name) {
            return Way::Clear;
        }
        if self.stuck.len() < STUCK_MAX && !self.results.is_ended() {
            self.stuck.insert(path.into());
        }
        Way::Blocked
    }

    /// A file that may be in the way of a directory never waits in a window: another file's directory may then take its place, and
    /// would be moved instead. By now it may have been moved.
    fn move_ahead(&mut self, at: &At<'_>) {
        if let Way::Refused(error) = self.give_way(at.path, at.directory, &mut Vec::new()) {
            self.results.judge.counts.failures += 1;
            (self.options.on_failure)(error);
        }
        self.targets.close();
    }

    fn wait(&mut self) {
        let results = &mut self.results;
        self.carrier.wait(&mut |outcome| results.take(outcome));
    }

    fn give(&mut self, job: Job) {
        let results = &mut self.results;
        self.carrier.give(job, &mut |outcome| results.take(outcome));
    }
}

impl Results<'_> {
    fn is_ended(&self) -> bool {
        self.fatal.is_some() || self.progress.is_cancelled()
    }

    fn take(&mut self, outcome: Outcome) {
        let counts = &mut self.judge.counts;
        counts.moved += outcome.moved;
        counts.directories_removed += outcome.removed;
        counts.failures += outcome.unopened;
        outcome.refused.into_iter().for_each(|refusal| self.refused(&refusal));
    }

    fn refused(&mut self, refusal: &Refusal) {
        let Refusal { source, name, error, taken } = refusal;
        if *error == Errno::NOENT && !exists(source, name) {
            return;
        }
        let failure = failure(&source.entry_path(name), *error, *taken);
        match *error {
            Errno::INVAL | Errno::NOSYS => {
                self.fatal = Some(failure);
                return;
            }
            Errno::EXIST => self.judge.counts.conflicts += 1,
            _ => self.judge.counts.failures += 1,
        }
        (self.on_failure)(failure);
    }
}

impl Visit for Mover<'_> {
    fn enters(&self, level: usize, name: &[u8]) -> bool {
        self.results.judge.route.leads_to_files(level, name)
    }

    fn is_ended(&self) -> bool {
        self.results.is_ended()
    }

    fn entry(&mut self, at: &At<'_>, name: &[u8], kind: FileType) {
        let may_be_in_the_way = kind == FileType::File && self.results.judge.route.keeps(at.path);
        if let Some(placed) = self.results.judge.look(at.path, name, kind) {
            if may_be_in_the_way {
                self.move_ahead(at);
                return;
            }
            if self.sources.last().is_none_or(|last| !Arc::ptr_eq(last, at.directory)) {
                self.sources.push(Arc::clone(at.directory));
            }
            self.window.push(self.sources.len() - 1, name, at.inode, &placed);
            if self.window.is_full() {
                self.flush();
            }
        }
    }

    fn left(&mut self, parent: &Arc<Dir>, name: &[u8], path: &[u8]) {
        if self.options.remove_emptied && !self.results.judge.route.keeps(path) {
            self.left.push((Arc::clone(parent), name.into()));
        }
        if self.sources.len() >= self.open_max || self.left.len() >= self.open_max {
            self.flush();
        }
    }

    fn fail(&mut self, failure: Error) {
        self.results.judge.counts.failures += 1;
        (self.options.on_failure)(failure);
    }

    fn unread(&mut self, failure: Error) {
        (self.options.on_failure)(self.results.judge.counts.unread(failure));
    }
}

fn exists(directory: &Dir, name: &[u8]) -> bool {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}
