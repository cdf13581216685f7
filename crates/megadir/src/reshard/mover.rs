//! Moves the files of a tree, a window at a time.

use std::sync::Arc;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::ReshardOptions;
use super::judge::{Counts, Judge};
use super::progress::Progress;
use super::relink::{Done, Relinker, is_same, rename};
use super::route::Route;
use super::targets::Targets;
use super::tree::{At, Visit};
use super::window::Window;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file_system::FileSystem;
use crate::file_type::FileType;
use crate::pace::Pace;

const DESCRIPTORS_SHARE: u64 = 4;

/// As many source as target directories. On XFS larger groups are faster, because entries leave the old directory in its order,
/// and blocks of it are logged less often; on ext4 they are slower, on btrfs equal (records/2026-11-26-reshard.md).
fn open_max(file_system: FileSystem) -> u64 {
    if file_system == FileSystem::Xfs { 4096 } else { 256 }
}

pub(super) struct Mover<'a> {
    judge: Judge<'a>,
    options: &'a ReshardOptions<'a>,
    progress: &'a Progress,
    pace: Option<Pace>,
    window: Window,
    targets: Targets,
    sources: Vec<Arc<Dir>>,
    open: Vec<Result<Arc<Dir>>>,
    open_max: usize,
    /// The deepest first: parent and name.
    left: Vec<(Arc<Dir>, Box<[u8]>)>,
    /// `None` to rename.
    relinker: Option<Relinker>,
    fatal: Option<Error>,
}

impl<'a> Mover<'a> {
    pub(super) fn new(
        route: Route,
        targets: Targets,
        options: &'a ReshardOptions<'a>,
        progress: &'a Progress,
    ) -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let open_max = open_max(targets.file_system());
        let share = limit.map_or(open_max, |limit| limit / DESCRIPTORS_SHARE);
        Self {
            judge: Judge::new(route, options.exclude),
            options,
            progress,
            pace: options.files_per_second_max.map(Pace::new),
            window: Window::new(options.window_bytes),
            targets,
            sources: Vec::new(),
            open: Vec::new(),
            open_max: share.clamp(1, open_max) as usize,
            left: Vec::new(),
            relinker: options
                .offline
                .then(|| Relinker::start(options.files_per_second_max.is_some()))
                .flatten(),
            fatal: None,
        }
    }

    pub(super) fn finish(mut self) -> Result<Counts> {
        self.flush();
        self.judge.counts.directories_made = self.targets.made;
        match self.fatal {
            Some(error) => Err(error),
            None => Ok(self.judge.counts),
        }
    }

    fn is_ended(&self) -> bool {
        self.fatal.is_some() || self.progress.is_cancelled()
    }

    fn flush(&mut self) {
        self.window.sort();
        self.make_directories();
        let mut start = 0;
        while start < self.window.len() && !self.is_ended() {
            start = self.move_group(start);
        }
        self.targets.close();
        self.window.clear();
        self.sources.clear();
        for (parent, name) in std::mem::take(&mut self.left) {
            if !self.is_ended() && rustix::fs::unlinkat(&*parent, &*name, AtFlags::REMOVEDIR).is_ok() {
                self.judge.counts.directories_removed += 1;
            }
        }
    }

    /// Before any file of the window moves. Failures are reported with the first file for the directory.
    fn make_directories(&mut self) {
        let mut index = 0;
        while index < self.window.len() && !self.is_ended() {
            self.targets.ensure(self.window.get(index).directory);
            index = self.end_of_run(index);
        }
    }

    fn end_of_run(&self, start: usize) -> usize {
        let directory = self.window.get(start).directory;
        let same = |index: &usize| self.window.get(*index).directory == directory;
        (start..self.window.len()).take_while(same).last().map_or(start + 1, |last| last + 1)
    }

    /// Returns the index after the group.
    fn move_group(&mut self, start: usize) -> usize {
        let (targets, open) = (&mut self.targets, &mut self.open);
        let end = self.window.group(start, self.open_max, |directory| open.push(targets.open(directory)));
        for index in start..end {
            if self.pace.as_ref().is_some_and(|pace| !pace.wait(1, || self.progress.is_cancelled()))
                || self.is_ended()
            {
                break;
            }
            self.move_file(index);
        }
        if let Some(relinker) = &mut self.relinker {
            let done = relinker.wait();
            self.judge_done(done);
        }
        for error in self.open.drain(..).filter_map(Result::err) {
            (self.options.on_failure)(error);
        }
        end
    }

    fn move_file(&mut self, index: usize) {
        let waiting = self.window.get(index);
        let Ok(target) = &self.open[waiting.target] else {
            self.judge.counts.failures += 1;
            return;
        };
        let source = &self.sources[waiting.source];
        let moved = match &mut self.relinker {
            Some(relinker) => relinker.link(source, target, &waiting).map(|()| relinker.done()),
            None => rename(source, target, &waiting).map(|()| Done { moved: 1, ..Done::default() }),
        };
        match moved {
            Ok(done) => self.judge_done(done),
            Err(error) => {
                let both = error == Errno::EXIST && is_same(source, target, &waiting);
                let (source, name) = (Arc::clone(source), Box::from(waiting.name));
                self.judge_refusal(&source, &name, error, both);
            }
        }
    }

    fn judge_done(&mut self, done: Done) {
        self.judge.counts.moved += done.moved;
        self.progress.more(done.moved);
        for (source, name, error) in done.refused {
            self.judge_refusal(&source, &name, error, false);
        }
    }

    /// `both`: the new path is a link to the same file.
    fn judge_refusal(&mut self, source: &Dir, name: &[u8], error: Errno, both: bool) {
        if error == Errno::NOENT && !exists(source, name) {
            return;
        }
        let failure = failure(source, name, error, both);
        match error {
            Errno::INVAL | Errno::NOSYS => {
                self.fatal = Some(failure);
                return;
            }
            Errno::EXIST => self.judge.counts.conflicts += 1,
            _ => self.judge.counts.failures += 1,
        }
        (self.options.on_failure)(failure);
    }
}

impl Visit for Mover<'_> {
    fn enters(&self, level: usize, name: &[u8]) -> bool {
        self.judge.route.leads_to_files(level, name)
    }

    fn entry(&mut self, at: &At<'_>, name: &[u8], kind: FileType) -> bool {
        if let Some(placed) = self.judge.look(at.level, at.path, name, kind) {
            if self.sources.last().is_none_or(|last| !Arc::ptr_eq(last, at.directory)) {
                self.sources.push(Arc::clone(at.directory));
            }
            self.window.push(self.sources.len() - 1, name, at.inode, &placed);
            if self.window.is_full() {
                self.flush();
            }
        }
        !self.is_ended()
    }

    fn left(&mut self, parent: &Arc<Dir>, name: &[u8], level: usize) {
        if self.options.remove_emptied && !self.judge.route.keeps(level, name) {
            self.left.push((Arc::clone(parent), name.into()));
        }
        if self.sources.len() >= self.open_max || self.left.len() >= self.open_max {
            self.flush();
        }
    }

    fn fail(&mut self, failure: Error) {
        self.judge.counts.failures += 1;
        (self.options.on_failure)(failure);
    }
}

fn exists(directory: &Dir, name: &[u8]) -> bool {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

fn failure(source: &Dir, name: &[u8], error: Errno, both: bool) -> Error {
    let path = match crate::names::to_os(name) {
        Ok(name) => source.path().join(name),
        Err(error) => return error,
    };
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
