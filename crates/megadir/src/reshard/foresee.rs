//! Foresees what a run would refuse: taken paths, files in the way of directories, and directories that cannot be written.
//!
//! Permissions of single files (a sticky directory, an immutable file) and what other programs change meanwhile are not foreseen.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags};
use rustix::io::Errno;

use super::ReshardOptions;
use super::judge::{Judge, keeps_back};
use super::relink::{Taken, failure, inode, is_spelled_so};
use super::route::{Route, is_below_own_path};
use super::targets::{self, in_its_own_way, not_alike, split};
use super::tree::At;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::layout::{NameBuffer, PathBuffer, Placed};
use crate::mount_traits::MountTraits;

/// Directories whose state is remembered.
const KNOWN_MAX: usize = 1 << 17;
/// Directories that keep files back, each with its message.
const REFUSED_MAX: usize = 4096;
/// As of a run.
pub(super) const WAITING_MAX: usize = 256;

pub(super) enum Foreseen {
    Moves,
    Conflict(Error),
    /// `None` if it is reported with others of its directory.
    Refused(Option<Error>),
}

#[derive(Clone, Copy)]
enum State {
    New,
    There,
    /// Index in [`Foresight::refused`].
    Refused(usize),
}

/// Decides for each file as a run would, without changing anything. A directory is examined once: `targets`
/// holds by the hash of its path whether it exists, would be made, or cannot be; 8 bytes instead of a path.
/// Files with the same refusal are counted under one error, as a run reports them.
pub(super) struct Foresight<'a> {
    options: &'a ReshardOptions<'a>,
    from: Arc<Dir>,
    into: Arc<Dir>,
    judge: Judge<'a>,
    targets: HashMap<u64, State>,
    /// `None` for a directory that can be written.
    sources: HashMap<u64, Option<usize>>,
    /// Then one line is enough for all files.
    is_read_only: bool,
    /// With the number of files that stay.
    refused: Vec<(Error, u64)>,
    hasher: RandomState,
    name: NameBuffer,
    path: PathBuffer,
}

impl<'a> Foresight<'a> {
    pub(super) fn new(directory: &Dir, options: &'a ReshardOptions<'a>, route: Route) -> Result<Self> {
        Ok(Self {
            options,
            from: Arc::new(directory.again()?),
            into: Arc::new(options.into.unwrap_or(directory).again()?),
            judge: Judge::new(route, options.exclude),
            targets: HashMap::new(),
            sources: HashMap::new(),
            is_read_only: MountTraits::of(directory).is_read_only,
            refused: Vec::new(),
            hasher: RandomState::new(),
            name: NameBuffer::new(),
            path: PathBuffer::new(),
        })
    }

    pub(super) fn look(&mut self, at: &At<'_>, name: &[u8], placed: &Placed<'_>) -> Foreseen {
        if self.targets.len() + self.sources.len() >= KNOWN_MAX || self.refused.len() >= REFUSED_MAX {
            self.report();
        }
        if self.judge.route.keeps(at.path) && is_below_own_path(at.path, placed) {
            return Foreseen::Refused(Some(in_its_own_way(&at.directory.entry_path(name))));
        }
        if let Some(index) = self.source(at) {
            self.refused[index].1 += 1;
            return Foreseen::Refused(None);
        }
        let taken = match self.target(placed.directory()) {
            State::Refused(index) => {
                self.refused[index].1 += 1;
                return Foreseen::Refused(None);
            }
            State::There => self.taken(at, name, placed),
            State::New => None,
        };
        match taken.or_else(|| self.has_twin(at.path).then_some(Taken::Other)) {
            Some(taken) => Foreseen::Conflict(failure(&at.directory.entry_path(name), Errno::EXIST, taken)),
            None => Foreseen::Moves,
        }
    }

    /// Reports directories that keep files back, and forgets all.
    pub(super) fn report(&mut self) {
        for (error, files) in self.refused.drain(..) {
            (self.options.on_failure)(keeps_back(error, files));
        }
        self.targets.clear();
        self.sources.clear();
    }

    fn refuse(&mut self, error: Error) -> usize {
        self.refused.push((error, 0));
        self.refused.len() - 1
    }

    fn source(&mut self, at: &At<'_>) -> Option<usize> {
        let directory = if self.is_read_only { &[] } else { split(at.path).0 };
        let key = self.hasher.hash_one(directory);
        if let Some(known) = self.sources.get(&key) {
            return *known;
        }
        let refused = match self.is_read_only {
            true => Some(Error::io("reshard", self.from.path(), Errno::ROFS.into())),
            false => may_write(at.directory)
                .err()
                .map(|error| Error::io("rename in", at.directory.path(), error.into())),
        };
        let refused = refused.map(|error| self.refuse(error));
        self.sources.insert(key, refused);
        refused
    }

    fn target(&mut self, directory: &[u8]) -> State {
        let key = self.hasher.hash_one(directory);
        if let Some(known) = self.targets.get(&key) {
            return *known;
        }
        let state = match self.reach(directory, &mut Vec::new()) {
            Ok(true) => State::There,
            Ok(false) => State::New,
            Err(error) => State::Refused(self.refuse(error)),
        };
        self.targets.insert(key, state);
        state
    }

    /// `true` if a directory of the new layout exists, `false` if it can be made. `waiting` are paths of files that wait for it.
    fn reach(&mut self, path: &[u8], waiting: &mut Vec<Box<[u8]>>) -> Result<bool> {
        let mut parent = Arc::clone(&self.into);
        let mut end = 0;
        for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            end += part.len() + usize::from(end > 0);
            match targets::open(&parent, part) {
                Ok(directory) => parent = Arc::new(directory),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return self.may_make(&parent, part).map(|()| false);
                }
                Err(error) if error.kind() == ErrorKind::NotADirectory => {
                    if !self.gives_way(&path[..end], waiting) {
                        return Err(error);
                    }
                    return self.may_make(&parent, part).map(|()| false);
                }
                Err(error) => return Err(error),
            }
        }
        match may_write(&parent) {
            Ok(()) => Ok(true),
            Err(error) => Err(Error::io("rename into", parent.path(), error.into())),
        }
    }

    /// `true` if a file that has the path of a directory moves before the directory is made.
    fn gives_way(&mut self, path: &[u8], waiting: &mut Vec<Box<[u8]>>) -> bool {
        if !self.judge.route.keeps(path)
            || waiting.len() >= WAITING_MAX
            || waiting.iter().any(|other| **other == *path)
            || !is_file(&self.into, path)
            || !is_spelled_so(&self.into, path)
        {
            return false;
        }
        let Some(placed) = self.judge.new_path(path).filter(|placed| !is_below_own_path(path, placed)) else {
            return false;
        };
        let (directory, new): (Box<[u8]>, Box<[u8]>) = (placed.directory().into(), placed.path().into());
        waiting.push(path.into());
        let reached = self.reach(&directory, waiting);
        waiting.pop();
        match reached {
            Ok(exists) => !exists || inode(&self.into, &new).is_none(),
            Err(_) => false,
        }
    }

    /// A directory is made in the top, given the top's owner, and renamed.
    fn may_make(&self, parent: &Dir, name: &[u8]) -> Result<()> {
        let failed = |error: Errno| Error::io("create", &parent.entry_path(name), error.into());
        may_write(parent).and_then(|()| may_write(&self.into)).map_err(failed)?;
        let user = rustix::process::geteuid();
        match rustix::fs::fstat(&*self.into) {
            Ok(top) if !user.is_root() && top.st_uid != user.as_raw() => {
                Err(not_alike(&self.into, failed(Errno::PERM), (user.as_raw(), top.st_gid)))
            }
            _ => Ok(()),
        }
    }

    fn taken(&self, at: &At<'_>, name: &[u8], placed: &Placed<'_>) -> Option<Taken> {
        let there = inode(&self.into, placed.path())?;
        match inode(at.directory, name) == Some(there) {
            true => (!self.options.offline).then_some(Taken::SameFile),
            false => Some(Taken::by_another(&self.into, placed.path())),
        }
    }

    /// `true` if a file of the same name lies higher: the depth of the old layout grows, and one of both gets the new path.
    fn has_twin(&mut self, path: &[u8]) -> bool {
        let from = self.options.from;
        if from.growth().is_none() {
            return false;
        }
        let depth = path.iter().filter(|byte| **byte == b'/').count();
        let Some(name) = from.name_of(path, &mut self.name) else { return false };
        from.placers().take_while(|placer| placer.depth() < depth).any(|placer| {
            let placed = placer.place(name, &mut self.path);
            placed.is_ok_and(|placed| is_file(&self.from, placed.path()))
        })
    }
}

/// With unknown permissions the run decides.
fn may_write(directory: &Dir) -> std::result::Result<(), Errno> {
    let access = Access::WRITE_OK | Access::EXEC_OK;
    match rustix::fs::accessat(directory, ".", access, AtFlags::EACCESS) {
        Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => Err(error),
        _ => Ok(()),
    }
}

fn is_file(directory: &Dir, path: &[u8]) -> bool {
    matches!(directory.kind_of(path), Ok(FileType::File))
}
