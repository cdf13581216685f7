//! What is done to one file: system calls and nothing else.
//!
//! | operation | calls |
//! |---|---|
//! | create | openat (`O_CREAT`, `O_EXCL`), write, close |
//! | read | openat, read until it gives nothing, close |
//! | rewrite | openat, unlinkat, close, and as for create |
//! | stat | newfstatat |
//! | unlink | unlinkat |
//!
//! Before the close of a file that was written come fchown to the caller's own user and group and fchmod, if they are asked
//! for, and fsync by the policy; after it the fsync of its directory.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::AtomicU64;

use megadir::limits::Step;
use megadir_record::{FileOperation, FileWork, SyncPolicy};
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::path::Arg;

use super::batch::{Bytes, CONTENTS_MAX};
use crate::beat::{WRITING_BACK, marked};

/// What is read or computed in one go, bytes.
const PIECE_BYTES: usize = 128 << 10;
const OPEN: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

/// A call that failed, and at what.
#[derive(Debug)]
pub(super) struct Met {
    pub(super) stage: &'static str,
    pub(super) step: Step,
    pub(super) error: Errno,
}

fn met(stage: &'static str, step: Step) -> impl Fn(Errno) -> Met {
    move |error| Met { stage, step, error }
}

/// What files are worked on with.
pub(super) struct Hand<'a> {
    operation: FileOperation,
    sync: SyncPolicy,
    /// Who files are given to.
    owner: Option<(Uid, Gid)>,
    piece: Vec<u8>,
    beat: &'a AtomicU64,
}

impl<'a> Hand<'a> {
    pub(super) fn new(work: &FileWork, beat: &'a AtomicU64) -> Self {
        let own = || (rustix::process::geteuid(), rustix::process::getegid());
        Self {
            operation: work.operation,
            sync: work.sync,
            owner: work.owner_and_mode.then(own),
            piece: vec![0; PIECE_BYTES],
            beat,
        }
    }

    /// Works on one file; returns whether it was as it should be.
    ///
    /// A file that is missing, or is there and should not, is not as it should be; only what stands for the whole block is
    /// an error.
    #[inline]
    pub(super) fn work(
        &mut self,
        at: BorrowedFd<'_>,
        name: impl Arg + Copy,
        size_bytes: u64,
        content: Bytes<'_>,
    ) -> Result<bool, Met> {
        let done = match self.operation {
            FileOperation::MakeDirectories => Ok(true),
            FileOperation::Create => self.create(at, name, size_bytes, content),
            FileOperation::Read => self.read(at, name).map(|read| read == size_bytes),
            FileOperation::Rewrite => self.rewrite(at, name, size_bytes, content),
            FileOperation::Stat => Self::stat(at, name).map(|size| size == Some(size_bytes)),
            FileOperation::Unlink => Self::unlink(at, name).map(|()| true),
        };
        match done {
            Err(Met { error: Errno::NOENT | Errno::EXIST | Errno::LOOP | Errno::ISDIR, .. }) => Ok(false),
            done => done,
        }
    }

    fn create(
        &mut self,
        at: BorrowedFd<'_>,
        name: impl Arg + Copy,
        size_bytes: u64,
        content: Bytes<'_>,
    ) -> Result<bool, Met> {
        let flags = OPEN | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mode = if self.owner.is_some() { 0o600 } else { 0o644 };
        let file = rustix::fs::openat(at, name, flags, Mode::from_raw_mode(mode))
            .map_err(met("making a file", Step::Create))?;
        self.write(file.as_fd(), size_bytes, content).map_err(met("writing a file", Step::Write))?;
        if let Some((user, group)) = self.owner {
            rustix::fs::fchown(&file, Some(user), Some(group)).map_err(met("fchown", Step::Write))?;
            rustix::fs::fchmod(&file, Mode::from_raw_mode(0o644)).map_err(met("fchmod", Step::Write))?;
        }
        if matches!(self.sync, SyncPolicy::EachFile | SyncPolicy::FileAndDirectory) {
            self.fsync(file.as_fd())?;
        }
        Ok(true)
    }

    fn write(&mut self, file: BorrowedFd<'_>, size_bytes: u64, content: Bytes<'_>) -> Result<(), Errno> {
        match content {
            Bytes::Ready(bytes) => write_all(file, bytes),
            Bytes::Later(files, index) => {
                let mut content = files.content(index);
                let mut left = size_bytes;
                while left > 0 {
                    let length = left.min(PIECE_BYTES as u64) as usize;
                    content.fill(&mut self.piece[..length]);
                    write_all(file, &self.piece[..length])?;
                    left -= length as u64;
                }
                Ok(())
            }
        }
    }

    /// Makes what was written to a file, or the names in a directory, durable.
    pub(super) fn fsync(&self, file: BorrowedFd<'_>) -> Result<(), Met> {
        marked(self.beat, WRITING_BACK, || rustix::fs::fsync(file)).map_err(met("fsync", Step::Write))
    }

    /// Returns whether the directory is to be made durable after each file.
    pub(super) fn syncs_directory(&self) -> bool {
        self.sync == SyncPolicy::FileAndDirectory
    }

    fn rewrite(
        &mut self,
        at: BorrowedFd<'_>,
        name: impl Arg + Copy,
        size_bytes: u64,
        content: Bytes<'_>,
    ) -> Result<bool, Met> {
        let flags = OPEN | OFlags::RDONLY | OFlags::NONBLOCK;
        let old = rustix::fs::openat(at, name, flags, Mode::empty())
            .map_err(met("opening a file", Step::Create))?;
        Self::unlink(at, name)?;
        drop(old);
        self.create(at, name, size_bytes, content)
    }

    /// Reads a file to its end and returns how many bytes there were.
    fn read(&mut self, at: BorrowedFd<'_>, name: impl Arg) -> Result<u64, Met> {
        let flags = OPEN | OFlags::RDONLY | OFlags::NONBLOCK;
        let file = rustix::fs::openat(at, name, flags, Mode::empty())
            .map_err(met("opening a file", Step::Create))?;
        let mut sum = 0;
        loop {
            match rustix::io::read(&file, self.piece.as_mut_slice()) {
                Ok(0) => return Ok(sum),
                Ok(bytes) => sum += bytes as u64,
                Err(Errno::INTR) => {}
                Err(error) => return Err(met("reading a file", Step::Create)(error)),
            }
        }
    }

    /// Returns a file's size; nothing of what is no file.
    fn stat(at: BorrowedFd<'_>, name: impl Arg) -> Result<Option<u64>, Met> {
        let stat =
            rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW).map_err(met("stat", Step::Create))?;
        let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        Ok(regular.then(|| u64::try_from(stat.st_size).unwrap_or(u64::MAX)))
    }

    fn unlink(at: BorrowedFd<'_>, name: impl Arg) -> Result<(), Met> {
        rustix::fs::unlinkat(at, name, AtFlags::empty()).map_err(met("unlinking a file", Step::Create))
    }

    /// Works on a file that was listed; returns its size where that was looked at.
    pub(super) fn listed(&mut self, at: BorrowedFd<'_>, name: &[u8]) -> Result<Option<u64>, Met> {
        match self.operation {
            FileOperation::Read => self.read(at, name).map(Some),
            FileOperation::Stat => Self::stat(at, name).map(|size| Some(size.unwrap_or(u64::MAX))),
            FileOperation::Unlink => Self::unlink(at, name).map(|()| None),
            FileOperation::MakeDirectories | FileOperation::Create | FileOperation::Rewrite => Ok(None),
        }
    }
}

/// Makes a directory and those above it that are missing: `mkdir -p`, one call where the directory is there.
pub(super) fn make_directories(top: BorrowedFd<'_>, path: &[u8]) -> Result<(), Met> {
    let mode = Mode::from_raw_mode(0o755);
    let make = |path: &[u8]| match rustix::fs::mkdirat(top, path, mode) {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    };
    let all = || {
        let ends = (0..path.len()).filter(|at| path[*at] == b'/').chain([path.len()]);
        ends.into_iter().try_for_each(|end| make(&path[..end]))
    };
    match make(path) {
        Err(Errno::NOENT) => all(),
        made => made,
    }
    .map_err(met("making a directory", Step::MakeDirectory))
}

fn write_all(file: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    debug_assert!(bytes.len() as u64 <= CONTENTS_MAX);
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
