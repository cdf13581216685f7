//! Reads a tree into windows of files, and gives these to the carrier in groups.

use std::sync::Arc;
use std::thread::Scope;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::carrier::{Carrier, Job, Outcome};
use super::judge::{Counts, Judge};
use super::relink::Refusal;
use super::route::Route;
use super::targets::Targets;
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

/// As many source as target directories. On XFS larger groups are faster, because entries leave the old directory in its order,
/// and blocks of it are logged less often; on ext4 they are slower, on btrfs equal (records/2026-11-26-reshard.md).
fn open_max(file_system: FileSystem) -> u64 {
    if file_system == FileSystem::Xfs { 4096 } else { 256 }
}

pub(super) struct Mover<'a> {
    options: &'a ReshardOptions<'a>,
    window: Window,
    /// The window before, of which a group may still be moved.
    last: Option<Arc<Window>>,
    targets: Targets,
    sources: Vec<Arc<Dir>>,
    open_max: usize,
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
        let mut results = self.results;
        self.carrier.wait(&mut |outcome| results.take(outcome));
        results.judge.counts.directories_made = self.targets.made;
        let counts = results.judge.counts;
        match results.fatal.or(read.err()) {
            Some(error) => Err(Stopped { error: Box::new(error), counts }),
            None => Ok(counts),
        }
    }

    fn flush(&mut self) {
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
            let open = |path: &[u8]| {
                let opened = self.targets.open(path);
                targets.push(opened.map_err(|error| (self.options.on_failure)(error)).ok());
            };
            let Some(group) = window.group(self.open_max, open) else { break };
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
        let Refusal { source, name, error, both } = refusal;
        if *error == Errno::NOENT && !exists(source, name) {
            return;
        }
        let failure = failure(source, name, *error, *both);
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
        if let Some(placed) = self.results.judge.look(at.path, name, kind) {
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
}

fn exists(directory: &Dir, name: &[u8]) -> bool {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

fn failure(source: &Dir, name: &[u8], error: Errno, both: bool) -> Error {
    let path = source.entry_path(name);
    let new = |kind, reason| Error::new("rename", &path, kind, reason);
    match error {
        Errno::EXIST if both => new(
            ErrorKind::Io,
            "its new path is a link to the same file; if no other program changes the directory, --offline removes the old path",
        ),
        Errno::EXIST => new(ErrorKind::Io, "another entry has its new path"),
        Errno::INVAL | Errno::NOSYS => {
            new(ErrorKind::Unavailable, "this file system cannot rename without replacing (RENAME_NOREPLACE)")
        }
        Errno::XDEV => new(
            ErrorKind::Io,
            "the new directory is on another mount, or of another project with a quota; both must be the same",
        ),
        _ => Error::io("rename", &path, error.into()),
    }
}
