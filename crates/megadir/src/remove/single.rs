//! Removal of single entries below a directory by their paths, each compared by the caller just before it goes.
//!
//! ```text
//! path -> directory above it, opened from the root for each entry -> look, caller's judgement -> (announcement, second look) -> unlinkat
//! ```
//!
//! No part of a path may be a symbolic link or lead to another mount, and the directory is opened again for each entry: what was moved
//! away, exchanged or mounted over since it was selected is not reached. Attributes are the server's, because a client's cache may hide
//! that another client has changed the file. An entry that takes the name in the microseconds between the look and the unlink goes: no
//! system call can check what it removes.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, openat, openat2, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use super::engine::{Turn, announce, system};
use super::progress::{Call, FileId};
use super::{Counts, Progress, RemoveOptions, Removed};
use crate::attributes::{Attributes, Time};
use crate::dir::{Dir, DirId};
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::mount_traits::is_read_only;

/// Longest path of one system call; longer ones are opened in parts.
const PATH_BYTES_MAX: usize = 4000;

const FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// An entry that was looked at, in its open directory.
#[derive(Debug)]
pub struct Seen<'s> {
    /// Directory that holds it, opened for lookups only.
    pub directory: BorrowedFd<'s>,
    /// Its name there.
    pub name: &'s [u8],
    /// Its attributes.
    pub attributes: Attributes,
    /// The time of change is the one that the file got when this removal took another of its names just before, and nothing has changed since.
    pub is_changed_by_removal: bool,
}

/// Judgement on an entry that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It stays.
    Stays,
    /// It goes.
    Goes,
    /// It goes, if a second look finds the same: the judgement took time, because the contents were read.
    GoesIfStill,
}

/// Result for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Removed; in a dry run it would be.
    Removed,
    /// It stays by the judgement, or because it changed after that.
    Stays,
    /// Nothing has the path any more, or it leads through a link. What a mount covers is a failure: it is there, and nothing else names it.
    Missing,
    /// A directory that is not empty.
    Filled,
    /// It could not be removed, which was reported to [`RemoveOptions::on_failure`].
    Failed,
    /// The removal was cancelled.
    Cancelled,
}

/// Removes entries below one directory, one after the other, on the caller's thread. The directory is known by its descriptor `root`
/// and must stay at its path, by `id`. `linked` is the file of which names were taken last, as names of a file follow each other.
#[derive(Debug)]
pub struct SingleRemoval<'a> {
    root: Dir,
    id: DirId,
    options: &'a RemoveOptions<'a>,
    call: Call<'a>,
    turn: Turn<'a>,
    is_read_only: bool,
    linked: Option<LinkedFile>,
}

/// File with several names of which the removal has taken `removed`, one after the other; `left` are there still. Its space counts
/// only when none is left, and `changed` makes the removal's own change of the file known from others.
#[derive(Clone, Copy, Debug)]
struct LinkedFile {
    id: FileId,
    removed: u64,
    left: u64,
    bytes: u64,
    /// Its time of change after the last of them; `None` if it is unknown.
    changed: Option<Time>,
}

/// Entry in its open directory. `held` refers to a file with further names, whose time of change is read after the removal of this one.
/// `flags` is the error that the removal would return because of flags of the entry.
struct Found {
    directory: OwnedFd,
    name: CString,
    attributes: Attributes,
    flags: Option<Errno>,
    held: Option<OwnedFd>,
}

impl<'a> SingleRemoval<'a> {
    /// Begins a removal below `directory`. Of the options, `dry_run`, the rate, the pauses and the callbacks have an effect.
    ///
    /// Errors: the path of the directory leads to another one by now, or the system does not let this process open directories so that no
    /// exchange can divert it.
    pub fn new(directory: &Dir, options: &'a RemoveOptions<'a>, progress: &'a Progress) -> Result<Self> {
        let root = directory.again_for_reader()?.into_top();
        let removal = Self {
            id: root.id()?,
            is_read_only: options.dry_run && is_read_only(&root),
            root,
            options,
            call: Call::new(progress),
            turn: Turn::new(options, progress),
            linked: None,
        };
        removal.check_place()?;
        if let Err(error) = open_beneath(removal.root.as_fd(), b".") {
            let reason = format!(
                "the system refuses openat2 ({error}), without which files may be exchanged unnoticed"
            );
            return Err(Error::new("remove", removal.root.path(), ErrorKind::Unavailable, reason));
        }
        Ok(removal)
    }

    /// Errors: the path leads to another directory by now.
    fn check_place(&self) -> Result<()> {
        let path = self.root.path();
        let is_same = rustix::fs::stat(path)
            .is_ok_and(|found| (found.st_dev, found.st_ino) == (self.id.device, self.id.inode));
        if is_same {
            return Ok(());
        }
        let reason = "moved or replaced since it was read; nothing more was removed";
        Err(Error::new("remove", path, ErrorKind::NotFound, reason))
    }

    /// Removes the entry with this path below the directory, if `judge` lets it go. A directory goes if it is empty.
    ///
    /// One look precedes the judgement. A second one follows if time has passed since: after an announcement, or after the judgement has read the
    /// contents. The entry goes only if both find the same, apart from the time of access. Errors: as [`Self::new`]; failures of the
    /// entry alone are reported and end in [`Fate::Failed`].
    pub fn remove(&mut self, path: &[u8], judge: &mut dyn FnMut(&Seen<'_>) -> Judgement) -> Result<Fate> {
        let progress = self.call.progress;
        if progress.is_cancelled() || !self.turn.have_place() {
            return Ok(Fate::Cancelled);
        }
        self.check_place()?;
        let first = match self.find(path) {
            Ok(found) => found,
            Err(error) => return Ok(self.not_found(path, error)),
        };
        let is_changed_by_removal = self.linked.is_some_and(|linked| {
            linked.id == id_of(&first.attributes) && linked.changed == Some(first.attributes.changed)
        });
        let seen = Seen {
            directory: first.directory.as_fd(),
            name: first.name.to_bytes(),
            attributes: first.attributes,
            is_changed_by_removal,
        };
        let judgement = judge(&seen);
        if judgement == Judgement::Stays {
            return Ok(Fate::Stays);
        }
        let is_announced = self.options.on_removal.is_some();
        if !announce(self.options, progress, || self.whole(path), first.attributes.kind) {
            return Ok(Fate::Cancelled);
        }
        let found = match is_announced || judgement == Judgement::GoesIfStill {
            false => first,
            true => match self.find(path) {
                Ok(found) if is_still(&first.attributes, &found.attributes) => found,
                Ok(_) => {
                    self.take_back(path, "stays: it was changed or replaced meanwhile");
                    return Ok(Fate::Stays);
                }
                Err(error) => return Ok(self.not_found(path, error)),
            },
        };
        Ok(self.remove_found(path, &found))
    }

    /// Counts a directory that a dry run would find filled.
    pub fn note_filled(&self) {
        self.call.add(&Counts { directories_kept: 1, ..Counts::default() });
    }

    /// Ends the removal.
    pub fn finish(mut self) -> Removed {
        self.settle();
        let (counts, cancelled) = (self.call.counts(), self.call.progress.is_cancelled());
        Removed { counts, complete: !cancelled && counts.failures == 0, cancelled }
    }

    fn whole(&self, path: &[u8]) -> PathBuf {
        self.root.path().join(Path::new(std::ffi::OsStr::from_bytes(path)))
    }

    fn take_back(&self, path: &[u8], why: &str) {
        self.options.take_back(|| self.whole(path), why);
    }

    /// A file with several names is held before it is looked at, so that its time of change is known after the removal.
    fn find(&self, path: &[u8]) -> std::result::Result<Found, Errno> {
        let (above, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&b"."[..], path),
        };
        let name = CString::new(name).map_err(|_| Errno::INVAL)?;
        if matches!(name.to_bytes(), b"" | b"." | b"..") {
            return Err(Errno::INVAL);
        }
        let directory = open_parts(self.root.as_fd(), above)?;
        let (mut attributes, mut flags) = system::facts_at_the_server(&directory, &name)?;
        let mut held = None;
        if attributes.kind != FileType::Directory && attributes.links > 1 {
            let of_file = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            held = retry_on_intr(|| openat(&directory, &name, of_file, Mode::empty())).ok();
            (attributes, flags) = system::facts_at_the_server(&directory, &name)?;
        }
        if flags == Some(Errno::BUSY) {
            return Err(Errno::XDEV);
        }
        Ok(Found { directory, name, attributes, flags, held })
    }

    fn not_found(&self, path: &[u8], error: Errno) -> Fate {
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => {
                self.take_back(path, "another process has moved, removed or covered it");
                Fate::Missing
            }
            error => self.failed(path, error),
        }
    }

    fn failed(&self, path: &[u8], error: Errno) -> Fate {
        self.call.add(&Counts { failures: 1, ..Counts::default() });
        (self.options.on_failure)(Error::io("remove", &self.whole(path), error.into()));
        Fate::Failed
    }

    /// Takes the name, or in a dry run predicts whether the system would let it go.
    ///
    /// The kernel itself decides whether a directory is empty. That it is not is no failure: something in it stays, which was
    /// counted there. The place in the rate is used up before the call, and the pause follows the time that the call took.
    fn remove_found(&mut self, path: &[u8], found: &Found) -> Fate {
        if !self.turn.take_place() {
            return Fate::Cancelled;
        }
        let is_directory = found.attributes.kind == FileType::Directory;
        let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        let started = self.options.back_off.then(Instant::now);
        let removed = match self.options.dry_run {
            true => system::Permit::of(&found.directory, self.is_read_only)
                .refusal(&(found.attributes, found.flags))
                .map_or(Ok(()), Err),
            false => retry_on_intr(|| unlinkat(&found.directory, &found.name, flags)),
        };
        self.turn.pause_after(started);
        match removed {
            Ok(()) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) if is_directory => {
                self.take_back(path, "stays: it is not empty");
                self.note_filled();
                return Fate::Filled;
            }
            Err(Errno::NOENT) => return self.not_found(path, Errno::NOENT),
            Err(error) => return self.failed(path, error),
        }
        self.count(found);
        Fate::Removed
    }

    fn count(&mut self, found: &Found) {
        let Attributes { kind, links, allocated_bytes: bytes, .. } = found.attributes;
        let id = id_of(&found.attributes);
        if kind == FileType::Directory {
            return self.call.add(&Counts { directories: 1, bytes, ..Counts::default() });
        }
        self.call.add(&Counts { entries: 1, ..Counts::default() });
        let before = self.linked.filter(|linked| linked.id == id);
        if links <= 1 && before.is_none() {
            return self.call.add(&Counts { bytes, ..Counts::default() });
        }
        if before.is_none() {
            self.settle();
        }
        let removed = before.map_or(0, |linked| linked.removed) + 1;
        let left = match before {
            Some(linked) if self.options.dry_run => linked.left.saturating_sub(1),
            _ => links.saturating_sub(1),
        };
        let after = found.held.as_ref().and_then(|held| system::facts_of_open_at_the_server(held).ok());
        let is_only_unlinked = |after: &Attributes| {
            let of = |facts: &Attributes| (facts.modified, facts.size_bytes, facts.mode, facts.user);
            after.links + 1 == links && of(after) == of(&found.attributes)
        };
        let changed = after.filter(|after| is_only_unlinked(after)).map(|after| after.changed);
        self.linked = Some(LinkedFile { id, removed, left, bytes, changed });
    }

    /// Counts the space of the last file with several names, if all went, or otherwise its names.
    fn settle(&mut self) {
        let Some(LinkedFile { removed, left, bytes, .. }) = self.linked.take() else { return };
        self.call.add(&match left {
            0 => Counts { bytes, ..Counts::default() },
            _ => Counts { linked: removed, ..Counts::default() },
        });
    }
}

fn id_of(attributes: &Attributes) -> FileId {
    (attributes.device, attributes.inode)
}

/// All attributes are equal, apart from the time of access, which reading sets, and the blocks, which some file systems allocate late.
fn is_still(before: &Attributes, now: &Attributes) -> bool {
    let of = |facts: &Attributes| Attributes { accessed: Time::EPOCH, allocated_bytes: 0, ..*facts };
    of(before) == of(now)
}

fn open_beneath(above: BorrowedFd<'_>, path: &[u8]) -> std::result::Result<OwnedFd, Errno> {
    retry_on_intr(|| openat2(above, path, FLAGS, Mode::empty(), RESOLVE))
}

/// Opens a directory below another one by a path of any length.
fn open_parts(root: BorrowedFd<'_>, mut path: &[u8]) -> std::result::Result<OwnedFd, Errno> {
    let mut above: Option<OwnedFd> = None;
    loop {
        let from = above.as_ref().map_or(root, AsFd::as_fd);
        if path.len() <= PATH_BYTES_MAX {
            return open_beneath(from, path);
        }
        let at = path[..PATH_BYTES_MAX].iter().rposition(|byte| *byte == b'/').ok_or(Errno::NAMETOOLONG)?;
        above = Some(open_beneath(from, &path[..at])?);
        path = &path[at + 1..];
    }
}
