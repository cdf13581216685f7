//! Directories of the new layout, reached one name at a time.

use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, RenameFlags};
use rustix::io::Errno;

use super::judge::NEW;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file_system::FileSystem;
use crate::likeness::make_alike;

/// `open` is the chain of directories from the top down to the one opened last: paths come sorted, so the
/// next one shares most of it. `is_plain` is learnt from the first directory that is made: if it needed no
/// change to be like the top, later ones are made by `mkdir` at their final name. `unused` allows a run that
/// moves nothing to remove what it made; once a file has moved, or the list is too long, it is forgotten.
pub(super) struct Targets {
    top: Arc<Dir>,
    open: Vec<(Box<[u8]>, Arc<Dir>)>,
    /// `mkdir` alone makes a directory like the top.
    is_plain: bool,
    pub(super) made: u64,
    /// Paths of directories that were made, each with a 0 behind it, while no file has moved.
    unused: Vec<u8>,
    forgets: bool,
}

/// Paths of directories that may have to be removed again, bytes.
const UNUSED_MAX: usize = 16 << 20;

impl Targets {
    /// Removes the new directory of a killed run.
    pub(super) fn new(top: Arc<Dir>) -> Result<Self> {
        match rustix::fs::unlinkat(&*top, NEW, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            // Said before any look for the name.
            Err(Errno::ROFS) => return Err(Error::io("reshard", top.path(), Errno::ROFS.into())),
            Err(error) => return Err(Error::io("remove", &top.path().join(NEW), error.into())),
        }
        Ok(Self { top, open: Vec::new(), is_plain: false, made: 0, unused: Vec::new(), forgets: false })
    }

    pub(super) fn file_system(&self) -> FileSystem {
        self.top.file_system()
    }

    pub(super) fn close(&mut self) {
        self.open.clear();
    }

    /// Asking if a directory exists takes a fraction of opening it. [`Self::open`] reports failures later.
    pub(super) fn ensure(&mut self, path: &[u8]) {
        let (parent, name) = split(path);
        let Ok(parent) = self.open(parent) else { return };
        if matches!(rustix::fs::statat(&*parent, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT)) {
            drop(self.open(path));
        }
    }

    pub(super) fn open(&mut self, path: &[u8]) -> Result<Arc<Dir>> {
        let mut parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).peekable();
        let mut depth = 0;
        while let Some((name, _)) = self.open.get(depth)
            && parts.next_if(|part| *part == &**name).is_some()
        {
            depth += 1;
        }
        self.open.truncate(depth);
        for part in parts {
            let parent = Arc::clone(self.open.last().map_or(&self.top, |(_, directory)| directory));
            let made = self.made;
            let directory = self.open_or_make(&parent, part);
            if self.made > made {
                self.note_unused(part);
            }
            self.open.push((part.into(), Arc::new(directory?)));
        }
        Ok(Arc::clone(self.open.last().map_or(&self.top, |(_, directory)| directory)))
    }

    fn note_unused(&mut self, name: &[u8]) {
        let Self { open, unused, forgets, .. } = self;
        if *forgets || unused.len() >= UNUSED_MAX {
            return;
        }
        for (part, _) in &*open {
            unused.extend_from_slice(part);
            unused.push(b'/');
        }
        unused.extend_from_slice(name);
        unused.push(0);
    }

    /// A file has moved, so directories that this run made stay.
    pub(super) fn keep_made(&mut self) {
        (self.unused, self.forgets) = (Vec::new(), true);
    }

    /// Removes what this run has made, the last first. Directories that others use by now are not empty, and stay.
    pub(super) fn remove_made(&mut self) {
        self.close();
        let unused = std::mem::take(&mut self.unused);
        for path in unused.split(|byte| *byte == 0).rev().filter(|path| !path.is_empty()) {
            let mut parent = Arc::clone(&self.top);
            let mut parts = path.split(|byte| *byte == b'/').peekable();
            while let Some(name) = parts.next() {
                if parts.peek().is_none() {
                    let removed = rustix::fs::unlinkat(&*parent, name, AtFlags::REMOVEDIR);
                    self.made -= u64::from(removed.is_ok());
                } else if let Ok(directory) = open(&parent, name) {
                    parent = Arc::new(directory);
                } else {
                    break;
                }
            }
        }
    }

    /// Beginning of a path that could not be opened just now: the names that are open, and the one that was refused.
    pub(super) fn refused<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        let mut ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.nth(self.open.len()).map_or(path, |end| &path[..end])
    }

    fn open_or_make(&mut self, parent: &Dir, name: &[u8]) -> Result<Dir> {
        match open(parent, name) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
        if self.is_plain {
            match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => self.made += 1,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(parent, name, error)),
            }
        } else {
            self.make(parent, name)?;
        }
        open(parent, name)
    }

    /// No process sees it with another owner or mode.
    fn make(&mut self, parent: &Dir, name: &[u8]) -> Result<()> {
        let is_first = self.made == 0;
        // The first one shows if `mkdir` alone is enough.
        let mode = if is_first { Mode::from_raw_mode(0o777) } else { Mode::RWXU };
        rustix::fs::mkdirat(&*self.top, NEW, mode).map_err(|error| failed(parent, name, error))?;
        let made = self.make_like_top(parent, name);
        match made {
            Ok(true) => self.made += 1,
            Ok(false) | Err(_) => drop(rustix::fs::unlinkat(&*self.top, NEW, AtFlags::REMOVEDIR)),
        }
        made.map(drop)
    }

    fn make_like_top(&mut self, parent: &Dir, name: &[u8]) -> Result<bool> {
        let directory = open(&self.top, NEW.as_bytes())?;
        let path = parent.entry_path(name);
        let status = rustix::fs::fstat(&directory).map_err(|error| failed(parent, name, error))?;
        if status.st_uid != rustix::process::geteuid().as_raw() {
            let reason = "another process has replaced the directory that was being made";
            return Err(Error::new("create", &path, ErrorKind::Io, reason));
        }
        let changed = make_alike(&*self.top, &directory, "create", &path)
            .map_err(|error| not_alike(&self.top, error, (status.st_uid, status.st_gid)))?;
        self.is_plain |= self.made == 0 && !changed;
        match rustix::fs::renameat_with(&*self.top, NEW, parent, name, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => self.rename_plainly(parent, name),
            Err(error) => Err(failed(parent, name, error)),
        }
    }

    /// For file systems that refuse the flag. A directory replaces an empty directory at most, never a file.
    fn rename_plainly(&self, parent: &Dir, name: &[u8]) -> Result<bool> {
        if !matches!(rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT)) {
            return Ok(false);
        }
        match rustix::fs::renameat(&*self.top, NEW, parent, name) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => Ok(false),
            Err(error) => Err(failed(parent, name, error)),
        }
    }
}

/// Says who can make a directory like the top, if this user and group cannot.
pub(super) fn not_alike(top: &Dir, error: Error, (user, group): (u32, u32)) -> Error {
    if error.kind() != ErrorKind::PermissionDenied {
        return error;
    }
    let Ok(top) = rustix::fs::fstat(top) else { return error };
    let owner = match (top.st_uid == user, top.st_gid == group) {
        (false, _) => format!("belong to user {}: run as this user or as root", top.st_uid),
        (true, false) => format!("have group {}: run as a member or as root", top.st_gid),
        (true, true) => "get the attributes of the directory (lsattr, getfacl): run as root".to_owned(),
    };
    let reason =
        format!("the new directory must {owner}, or move the files into a directory of yours (--into)");
    Error::new("create", error.path(), ErrorKind::PermissionDenied, reason)
}

/// A file whose path its own new directory would have.
pub(super) fn in_its_own_way(path: &Path) -> Error {
    let reason = "its new directory would have the same path, and one path cannot be both: rename the file, or use --into";
    Error::new("rename", path, ErrorKind::Io, reason)
}

/// Parent and name.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let at = path.iter().rposition(|byte| *byte == b'/');
    at.map_or((&[][..], path), |at| (&path[..at], &path[at + 1..]))
}

pub(super) fn open(parent: &Dir, name: &[u8]) -> Result<Dir> {
    let refuse = |kind, reason| Err(Error::new("create", &parent.entry_path(name), kind, reason));
    match parent.open_below_on_this_mount(name) {
        Ok(Some(directory)) => Ok(directory),
        Ok(None) => {
            refuse(ErrorKind::MountPoint, "another file system is mounted there, which is not entered")
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => refuse(
            ErrorKind::NotADirectory,
            "an entry with this name is no directory and does not move: rename it, or use --into",
        ),
        Err(error) => Err(error),
    }
}

fn failed(parent: &Dir, name: &[u8], error: Errno) -> Error {
    let path = parent.entry_path(name);
    match error {
        Errno::PERM => {
            let reason =
                "Operation not permitted ('lsattr -d' shows if the directory is immutable or append-only)";
            Error::new("create", &path, ErrorKind::PermissionDenied, reason)
        }
        error => Error::io("create", &path, error.into()),
    }
}
