//! Replaces a directory that holds only directories of a layout with a small one, while every path below it works.
//!
//! ```text
//! old: DIR/ab/...            new, hidden beside it: ab -> .megadir-reshard-other/ab
//! exchange old and new       DIR/ab leads through DIR/.megadir-reshard-other to the hidden directory
//! exchange each ab           DIR/ab is the directory, and the hidden link ab leads back to it
//! ```
//!
//! `.megadir-reshard-other` is a link from each of the two directories to the other, so that a process that
//! has read a link before the move, or has the old directory open, still reaches the file. Each step is one
//! atomic call, and after a kill the same call completes the work or undoes it ([`complete`]).

use std::path::PathBuf;

use rustix::fs::{Access, AtFlags, Mode, RenameFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::lock;
use super::tree::READ;
use crate::backend;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::layout::Layout;
use crate::likeness::make_alike;
use crate::remove::aside::can_be_copied;

const OTHER: &str = ".megadir-reshard-other";
const DIRECTORIES_MAX: usize = 1 << 17;

/// Replaces a directory that holds only directories of the layout. The new one has the same owner, mode, ACLs and other
/// extended attributes. Paths through it always work, if meanwhile through symbolic links; processes that have the old
/// directory open must open it again. Errors: [`ErrorKind::Unavailable`] if it has any other entry, another process holds its
/// lock (flock), the file system cannot exchange entries atomically, and for btrfs subvolumes and encrypted directories;
/// [`ErrorKind::MountPoint`]; an error of copying the metadata. Before the exchange, an error leaves the
/// directory unchanged; later, the same call continues.
pub fn renew(parent: &Dir, name: &[u8], layout: &Layout) -> Result<()> {
    let place = Place::new(parent, name)?;
    let old = place.open(name)?;
    lock(&old)?;
    if place.complete(&old)? {
        return Ok(());
    }
    can_be_copied(&old, &place.path)?;
    let names = place.check(&old, layout)?;
    let new = place.make(&old, &names).inspect_err(|_| drop(place.undo(&old)))?;
    place.exchange(&old, &new)?;
    place.finish(&new, &old).map(drop)
}

/// Completes or undoes a [`renew`] that was killed; `true` if it was completed. Errors: as [`renew`].
pub fn complete(parent: &Dir, name: &[u8]) -> Result<bool> {
    let place = Place::new(parent, name)?;
    let now = place.open(name)?;
    lock(&now)?;
    place.complete(&now)
}

struct Place<'a> {
    parent: &'a Dir,
    name: &'a [u8],
    hidden: String,
    path: PathBuf,
}

impl<'a> Place<'a> {
    fn new(parent: &'a Dir, name: &'a [u8]) -> Result<Self> {
        let digest = Sha256::digest(name)[..8].iter().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
        let path = parent.entry_path(name);
        Ok(Self { parent, name, hidden: format!(".megadir-reshard-renew-{digest:016x}"), path })
    }

    fn refuse<T>(&self, kind: ErrorKind, reason: impl Into<String>) -> Result<T> {
        Err(Error::new("renew", &self.path, kind, reason.into()))
    }

    fn failed(&self, error: Errno) -> Error {
        match error {
            Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => {
                let reason = "this file system cannot exchange two entries atomically (RENAME_EXCHANGE)";
                Error::new("renew", &self.path, ErrorKind::Unavailable, reason)
            }
            error => Error::io("renew", &self.path, error.into()),
        }
    }

    fn open(&self, name: &[u8]) -> Result<Dir> {
        match self.parent.open_below_on_this_mount(name)? {
            Some(directory) => Ok(directory),
            None => self.refuse(ErrorKind::MountPoint, "a mount point, which cannot be renamed"),
        }
    }

    fn check(&self, old: &Dir, layout: &Layout) -> Result<Vec<Box<[u8]>>> {
        let mut names = Vec::new();
        for (name, kind) in entries(old)? {
            let shown = name.escape_ascii();
            if kind != FileType::Directory || !layout.has_directory(0, &name) {
                let reason = format!("it holds '{shown}', which is no directory of {layout}; move it first");
                return self.refuse(ErrorKind::Unavailable, reason);
            }
            if old.open_below_on_this_mount(&name)?.is_none() {
                let reason = format!("a file system is mounted on '{shown}' in it; unmount it first");
                return self.refuse(ErrorKind::Unavailable, reason);
            }
            // The kernel requires it for `..`.
            rustix::fs::accessat(old, &*name, Access::WRITE_OK, AtFlags::EACCESS)
                .map_err(|error| Error::io("renew", &old.entry_path(&name), error.into()))?;
            names.push(name);
        }
        Ok(names)
    }

    fn make(&self, old: &Dir, names: &[Box<[u8]>]) -> Result<Dir> {
        let failed = |error| self.failed(error);
        rustix::fs::mkdirat(self.parent, &*self.hidden, Mode::RWXU).map_err(failed)?;
        let new = self.open(self.hidden.as_bytes())?;
        self.check_made(&new)?;
        lock(&new)?;
        make_alike(old, &new, "renew", &self.path)?;
        let owner = rustix::fs::fstat(old).map_err(failed)?.st_uid;
        // The kernel follows links in sticky directories only if they are the directory owner's.
        let to_owner =
            (owner != rustix::process::geteuid().as_raw()).then_some(rustix::fs::Uid::from_raw(owner));
        let link = |text: &[u8], at: &Dir, name: &[u8]| {
            rustix::fs::symlinkat(text, at, name)?;
            to_owner.map_or(Ok(()), |owner| {
                rustix::fs::chownat(at, name, Some(owner), None, AtFlags::SYMLINK_NOFOLLOW)
            })
        };
        for name in names {
            link(&through_other(name), &new, name).map_err(failed)?;
        }
        link(&beside(self.hidden.as_bytes()), &new, OTHER.as_bytes()).map_err(failed)?;
        link(&beside(self.name), old, OTHER.as_bytes()).map_err(failed)?;
        Ok(new)
    }

    /// In a parent that others may write, one of them may have exchanged the new directory before it was opened by its name.
    fn check_made(&self, new: &Dir) -> Result<()> {
        let status = rustix::fs::fstat(new).map_err(|error| self.failed(error))?;
        let is_own = status.st_uid == rustix::process::geteuid().as_raw()
            && Mode::from_raw_mode(status.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO) == Mode::RWXU;
        if is_own && entries(new)?.is_empty() {
            return Ok(());
        }
        self.refuse(
            ErrorKind::NotFound,
            "the directory that was made beside it was exchanged by another program",
        )
    }

    fn exchange(&self, old: &Dir, new: &Dir) -> Result<()> {
        let exchange = || {
            rustix::fs::renameat_with(
                self.parent,
                self.name,
                self.parent,
                &*self.hidden,
                RenameFlags::EXCHANGE,
            )
        };
        if let Err(error) = exchange() {
            self.undo(old)?;
            return Err(self.failed(error));
        }
        let is = |name: &[u8], expected: &Dir| {
            self.open(name).and_then(|found| Ok(found.id()? == expected.id()?)).unwrap_or(false)
        };
        if is(self.name, new) && is(self.hidden.as_bytes(), old) {
            return Ok(());
        }
        let _ = exchange();
        self.refuse(ErrorKind::NotFound, "replaced by another directory while it was being renamed")
    }

    fn undo(&self, old: &Dir) -> Result<()> {
        self.complete(old).map(drop)
    }

    fn complete(&self, now: &Dir) -> Result<bool> {
        let other = match self.open(self.hidden.as_bytes()) {
            Ok(other) => other,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.unlink_other(now)?;
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        self.finish(now, &other)
    }

    /// Moves each directory from the hidden directory to the new one, and removes the links and the hidden
    /// directory; `false` without one.
    fn finish(&self, new: &Dir, old: &Dir) -> Result<bool> {
        let mut moved = false;
        let mut links = Vec::new();
        for (name, kind) in entries(old)? {
            if &*name == OTHER.as_bytes() {
                continue;
            }
            if kind == FileType::Symlink && leads(old, &name) == Some(through_other(&name)) {
                links.push(name);
                continue;
            }
            let way = match leads(new, &name) == Some(through_other(&name)) {
                true => RenameFlags::EXCHANGE,
                false => RenameFlags::NOREPLACE,
            };
            rustix::fs::renameat_with(old, &*name, new, &*name, way)
                .map_err(|error| Error::io("renew", &old.entry_path(&name), error.into()))?;
            moved = true;
            if way == RenameFlags::EXCHANGE {
                links.push(name);
            }
        }
        for name in links {
            self.unlink_if(old, &name, |text| *text == through_other(&name))?;
        }
        self.unlink_other(old)?;
        rustix::fs::unlinkat(self.parent, &*self.hidden, AtFlags::REMOVEDIR)
            .map_err(|error| Error::io("remove", old.path(), error.into()))?;
        self.unlink_other(new)?;
        Ok(moved)
    }

    fn unlink_other(&self, at: &Dir) -> Result<()> {
        let texts = [beside(self.hidden.as_bytes()), beside(self.name)];
        self.unlink_if(at, OTHER.as_bytes(), |text| texts.contains(text))
    }

    fn unlink_if(&self, at: &Dir, name: &[u8], is_ours: impl Fn(&Vec<u8>) -> bool) -> Result<()> {
        if !leads(at, name).is_some_and(|text| is_ours(&text)) {
            return Ok(());
        }
        match rustix::fs::unlinkat(at, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }
}

fn leads(at: &Dir, name: &[u8]) -> Option<Vec<u8>> {
    rustix::fs::readlinkat(at, name, Vec::new()).ok().map(std::ffi::CString::into_bytes)
}

fn through_other(name: &[u8]) -> Vec<u8> {
    [OTHER.as_bytes(), b"/", name].concat()
}

fn beside(name: &[u8]) -> Vec<u8> {
    [b"../", name].concat()
}

fn entries(directory: &Dir) -> Result<Vec<(Box<[u8]>, FileType)>> {
    let mut reader = backend::by_name("getdents")?.open(directory, &READ)?;
    let mut found = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        found.extend(batch.entries().map(|entry| (Box::from(entry.name), entry.kind)));
        if found.len() > DIRECTORIES_MAX {
            let reason = format!("it has more than {DIRECTORIES_MAX} entries");
            return Err(Error::new("renew", directory.path(), ErrorKind::Unavailable, reason));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_directory_that_was_not_just_made_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let parent = Dir::open(scratch.path()).unwrap();
        let place = Place::new(&parent, b"cache").unwrap();
        let path = scratch.path().join(&place.hidden);
        std::fs::create_dir(&path).unwrap();
        let permit = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let check = || place.check_made(&place.open(place.hidden.as_bytes()).unwrap());
        permit(0o700);
        check().unwrap();
        permit(0o777);
        assert!(check().unwrap_err().to_string().contains("exchanged by another program"));
        permit(0o700);
        std::fs::write(path.join("file"), "").unwrap();
        assert!(check().unwrap_err().to_string().contains("exchanged by another program"));
    }
}
