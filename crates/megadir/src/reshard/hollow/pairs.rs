//! The directories beside the one that is replaced, and the links between them.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Mode, RenameFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::super::renew::{Place, entries_up_to};
use super::super::{lock, relink};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::likeness::make_alike;

pub(super) use relink::inode;

const BASE: &str = "base";
const TAKEN: &str = "taken";
/// Link with the inodes of the old and the small directory.
const OF: &str = "of";

pub(super) type Inode = Option<(u64, u64)>;

/// The old directory, the small one, and the two of the module's picture, which only this user may change. `old_inode`
/// is kept as evidence for the removal of the old directory by its name.
pub(super) struct Sets {
    pub(super) old: Dir,
    pub(super) new: Dir,
    pub(super) base: Dir,
    pub(super) taken: Dir,
    pub(super) old_inode: Inode,
}

pub(super) enum Pair {
    Same,
    Linked,
    Directory,
}

pub(super) fn names(directory: &Dir) -> Result<Vec<Box<[u8]>>> {
    Ok(entries_up_to(directory, usize::MAX)?.into_iter().map(|(name, _)| name).collect())
}

/// Inodes of the old and the small directory.
pub(super) fn recorded(at: &Dir) -> Option<[u64; 2]> {
    let text = rustix::fs::readlinkat(at, OF, Vec::new()).ok()?.into_string().ok()?;
    let (old, new) = text.split_once('-')?;
    Some([old.parse().ok()?, new.parse().ok()?])
}

fn removed(result: std::result::Result<(), Errno>) -> std::result::Result<(), Errno> {
    if result == Err(Errno::NOENT) { Ok(()) } else { result }
}

/// Removes the directories of a run that was killed before it had linked anything: all of them are empty.
pub(super) fn remove_empty(place: &Place<'_>, sets: &str, at: &Dir) -> Result<()> {
    let failed = |error: Errno| Error::io("remove", at.path(), error.into());
    for name in [BASE, TAKEN] {
        removed(rustix::fs::unlinkat(at, name, AtFlags::REMOVEDIR)).map_err(failed)?;
    }
    let beside = rustix::fs::unlinkat(place.parent, &*place.hidden, AtFlags::REMOVEDIR);
    removed(beside).map_err(failed)?;
    rustix::fs::unlinkat(place.parent, sets, AtFlags::REMOVEDIR).map_err(failed)
}

/// Before the exchange: removes the links and the directories. Only links that this module made go, so a file that another program has put
/// into the small directory stays, and the removal fails.
pub(super) fn undo(place: &Place<'_>, sets: &str, at: &Dir, new: Option<&Dir>) -> Result<()> {
    let base = match at.open_below(BASE.as_bytes()) {
        Ok(base) => base,
        Err(error) if error.kind() == ErrorKind::NotFound => return end(place, sets, at),
        Err(error) => return Err(error),
    };
    if let Some(new) = new {
        for name in names(new)? {
            let linked = inode(&base, &name);
            if linked.is_some() && linked == inode(new, &name) {
                unlink(new, &name)?;
            }
        }
    }
    for name in names(&base)? {
        unlink(&base, &name)?;
    }
    end(place, sets, at)
}

/// The directory with the record is removed last.
fn end(place: &Place<'_>, sets: &str, at: &Dir) -> Result<()> {
    let failed = |error: Errno| Error::io("remove", at.path(), error.into());
    let hidden = place.parent.path().join(&place.hidden);
    removed(rustix::fs::unlinkat(place.parent, &*place.hidden, AtFlags::REMOVEDIR))
        .map_err(|error| Error::io("remove", &hidden, error.into()))?;
    for name in [TAKEN, BASE] {
        removed(rustix::fs::unlinkat(at, name, AtFlags::REMOVEDIR)).map_err(failed)?;
    }
    removed(rustix::fs::unlinkat(at, OF, AtFlags::empty())).map_err(failed)?;
    rustix::fs::unlinkat(place.parent, sets, AtFlags::REMOVEDIR).map_err(failed)
}

fn unlink(at: &Dir, name: &[u8]) -> Result<()> {
    removed(rustix::fs::unlinkat(at, name, AtFlags::empty()))
        .map_err(|error| Error::io("remove", &at.entry_path(name), error.into()))
}

/// `false` if nothing has the old name.
pub(super) fn move_to(from: &Dir, to: &Dir, name: &[u8]) -> std::result::Result<bool, Errno> {
    match rustix::fs::renameat_with(from, name, to, name, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

impl Sets {
    /// Owner, ACLs and project come first, so that what cannot be copied is refused before any link.
    pub(super) fn make(place: &Place<'_>, sets: &str, old: Dir) -> Result<Self> {
        let made = |parent: &Dir, name: &str| {
            let path = parent.path().join(name);
            let failed = |error: Errno| Error::io("create", &path, error.into());
            rustix::fs::mkdirat(parent, name, Mode::RWXU).map_err(failed)?;
            parent.open_below(name.as_bytes())
        };
        let at = made(place.parent, sets)?;
        // A default ACL of the parent may permit more.
        make_private(place, &at)?;
        let (base, taken) = (made(&at, BASE)?, made(&at, TAKEN)?);
        let new = made(place.parent, &place.hidden)?;
        lock(&new)?;
        for directory in [&base, &taken, &new] {
            make_alike(&old, directory, "renew", &place.path)?;
            make_private(place, directory)?;
        }
        let text = format!("{}-{}", old.id()?.inode, new.id()?.inode);
        rustix::fs::symlinkat(&*text, &at, OF).map_err(|error| place.failed(error))?;
        Self::of(old, new, base, taken)
    }

    pub(super) fn open(at: &Dir, old: Dir, new: Dir) -> Result<Self> {
        let open = |name: &str| match at.open_below(name.as_bytes()) {
            // `clear` had removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => at.again(),
            opened => opened,
        };
        Self::of(old, new, open(BASE)?, open(TAKEN)?)
    }

    fn of(old: Dir, new: Dir, base: Dir, taken: Dir) -> Result<Self> {
        let status = rustix::fs::fstat(&old).map_err(|error| Error::io("stat", old.path(), error.into()))?;
        Ok(Self { old_inode: Some((status.st_dev, status.st_ino)), old, new, base, taken })
    }

    /// As the old directory is now, with its times.
    pub(super) fn make_alike(&self, place: &Place<'_>) -> Result<()> {
        make_alike(&self.old, &self.new, "renew", &place.path)?;
        let failed = |error: Errno| Error::io("renew", &place.path, error.into());
        let status = rustix::fs::fstat(&self.old).map_err(failed)?;
        let times = Timestamps {
            last_access: Timespec { tv_sec: status.st_atime, tv_nsec: status.st_atime_nsec as _ },
            last_modification: Timespec { tv_sec: status.st_mtime, tv_nsec: status.st_mtime_nsec as _ },
        };
        rustix::fs::futimens(&self.new, &times).map_err(failed)
    }

    /// Makes the entry of the small directory, and of `base`, that of the old one; both are the same at any time, apart from a link in
    /// `base` that the small directory does not have yet.
    pub(super) fn link(&self, name: &[u8]) -> std::result::Result<Pair, Errno> {
        let known = inode(&self.base, name);
        let now = inode(&self.old, name);
        if known == now && known == inode(&self.new, name) {
            return Ok(Pair::Same);
        }
        if known.is_some() {
            removed(rustix::fs::unlinkat(&self.new, name, AtFlags::empty()))?;
            removed(rustix::fs::unlinkat(&self.base, name, AtFlags::empty()))?;
        }
        if now.is_none() {
            return Ok(Pair::Linked);
        }
        match rustix::fs::linkat(&self.old, name, &self.base, name, AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(Pair::Linked),
            Err(_) if matches!(self.old.kind_of(name), Ok(FileType::Directory)) => {
                return Ok(Pair::Directory);
            }
            Err(error) => return Err(error),
        }
        // Not from the old directory, where it may be another file by now.
        rustix::fs::linkat(&self.base, name, &self.new, name, AtFlags::empty()).map(|()| Pair::Linked)
    }

    /// After the removal of the old directory. Links in `taken` go before those of `base` that prove them.
    pub(super) fn clear(&self, place: &Place<'_>, sets: &str) -> Result<()> {
        let at = place.open(sets.as_bytes())?;
        let is_there = |name: &str| inode(&at, name.as_bytes()).is_some();
        if is_there(TAKEN) {
            for name in names(&self.taken)? {
                if inode(&self.taken, &name) != inode(&self.base, &name) {
                    let reason = "it is no file of the directory that was replaced; move it away";
                    return Err(Error::new("remove", &self.taken.entry_path(&name), ErrorKind::Io, reason));
                }
                unlink(&self.taken, &name)?;
            }
        }
        if is_there(BASE) {
            for name in names(&self.base)? {
                unlink(&self.base, &name)?;
            }
        }
        end(place, sets, &at)
    }
}

fn make_private(place: &Place<'_>, directory: impl AsFd) -> Result<()> {
    rustix::fs::fchmod(directory, Mode::RWXU).map_err(|error| place.failed(error))
}
