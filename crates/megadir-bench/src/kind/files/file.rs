//! Operations on one file: system calls only.
//!
//! | operation | Linux | Windows |
//! |---|---|---|
//! | create | openat (`O_CREAT`, `O_EXCL`), write, close | NtCreateFile (`FILE_CREATE`), NtWriteFile, CloseHandle |
//! | read | openat, read until it returns 0, close | NtCreateFile, NtReadFile to the end of the file, CloseHandle |
//! | rewrite | openat, unlinkat, close, and as for create | NtCreateFile, as for unlink, CloseHandle, and as for create |
//! | stat | newfstatat | NtQueryFullAttributesFile (Wine lacks it: NtCreateFile, queries, CloseHandle) |
//! | unlink | unlinkat | NtCreateFile (`DELETE`), NtSetInformationFile (disposition), CloseHandle |
//!
//! Before close, if requested: fchown, fchmod, fsync; after it fsync of the directory (only fsync on Windows). Rewrite closes the old
//! file before it creates the new one, for systems where names go with the last handle. Conversion of names to UTF-16 is timed.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::atomic::AtomicU64;

use megadir::limits::Step;
use megadir_record::{FileOperation, FileWork, SyncPolicy};

use crate::control::{WRITING_BACK, marked};
use crate::kind::files::order::{Bytes, CONTENTS_MAX, Planned};
use crate::os::{self, Arg, Borrowed};

pub(crate) use system::{is_of_one_file, refused};

/// Buffer for reading, and for contents that were not prepared.
const PIECE_BYTES: usize = 128 << 10;

/// Failure of one operation. `step` selects the explanation if the file system is full.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) stage: &'static str,
    pub(crate) step: Step,
    pub(crate) error: io::Error,
}

pub(crate) fn met(stage: &'static str, step: Step) -> impl Fn(io::Error) -> Outcome {
    move |error| Outcome { stage, step, error }
}

/// Values that all files of a worker have in common, so that an operation has nothing to decide while it is timed.
/// `piece` is the buffer for contents. `heartbeat` is increased for each file, since a slow server may take
/// seconds for one.
pub(crate) struct FileOps<'a> {
    operation: FileOperation,
    sync: SyncPolicy,
    owner: Option<system::Owner>,
    piece: Vec<u8>,
    heartbeat: &'a AtomicU64,
}

impl<'a> FileOps<'a> {
    pub(crate) fn new(work: &FileWork, heartbeat: &'a AtomicU64) -> Self {
        Self {
            operation: work.operation,
            sync: work.sync,
            owner: work.owner_and_mode.then(system::own).flatten(),
            piece: vec![0; PIECE_BYTES],
            heartbeat,
        }
    }

    /// `false` if the file is missing or unexpectedly present; only errors that end the block are returned.
    #[inline]
    pub(crate) fn work(
        &mut self,
        at: Borrowed<'_>,
        name: impl Arg + Copy,
        file: &Planned<'_>,
    ) -> Result<bool, Outcome> {
        let done = match self.operation {
            FileOperation::MakeDirectories => Ok(true),
            FileOperation::Create => self.create(at, name, file).map(|()| true),
            FileOperation::Read => self.read(at, name).map(|read| read == file.size_bytes),
            FileOperation::Rewrite => self.rewrite(at, name, file).map(|()| true),
            FileOperation::Stat => Self::stat(at, name).map(|size| size == Some(file.size_bytes)),
            FileOperation::Unlink => Self::unlink(at, name).map(|()| true),
        };
        match done {
            Err(met) if is_of_one_file(&met.error) => Ok(false),
            done => done,
        }
    }

    fn create(&mut self, at: Borrowed<'_>, name: impl Arg, file: &Planned<'_>) -> Result<(), Outcome> {
        let mut new =
            system::create(at, name, self.owner.as_ref()).map_err(met("creating a file", Step::Create))?;
        self.write(&mut new, file).map_err(met("writing a file", Step::Write))?;
        if let Some(owner) = &self.owner {
            owner.give(&new)?;
        }
        if matches!(self.sync, SyncPolicy::EachFile | SyncPolicy::FileAndDirectory) {
            marked(self.heartbeat, WRITING_BACK, || new.sync_all()).map_err(met("fsync", Step::Write))?;
        }
        Ok(())
    }

    fn write(&mut self, to: &mut File, file: &Planned<'_>) -> io::Result<()> {
        match file.content {
            Bytes::Ready(bytes) => {
                debug_assert!(bytes.len() as u64 <= CONTENTS_MAX);
                to.write_all(bytes)
            }
            Bytes::Later(files, index) => {
                let mut content = files.content(index);
                let mut left = file.size_bytes;
                while left > 0 {
                    let length = left.min(PIECE_BYTES as u64) as usize;
                    content.fill(&mut self.piece[..length]);
                    to.write_all(&self.piece[..length])?;
                    left -= length as u64;
                }
                Ok(())
            }
        }
    }

    pub(crate) fn sync_directory(&self, directory: Borrowed<'_>) -> Result<(), Outcome> {
        let sync = || system::sync_directory(directory);
        marked(self.heartbeat, WRITING_BACK, sync).map_err(met("fsync", Step::Write))
    }

    pub(crate) fn syncs_directory(&self) -> bool {
        self.sync == SyncPolicy::FileAndDirectory
    }

    fn rewrite(&mut self, at: Borrowed<'_>, name: impl Arg + Copy, new: &Planned<'_>) -> Result<(), Outcome> {
        let old = os::open_file(at, name, os::Access::Read).map_err(met("opening a file", Step::Create))?;
        Self::unlink(at, name)?;
        drop(old);
        self.create(at, name, new)
    }

    fn read(&mut self, at: Borrowed<'_>, name: impl Arg) -> Result<u64, Outcome> {
        let mut file =
            os::open_file(at, name, os::Access::Read).map_err(met("opening a file", Step::Create))?;
        let mut sum = 0;
        loop {
            match file.read(self.piece.as_mut_slice()) {
                Ok(0) => return Ok(sum),
                Ok(bytes) => sum += bytes as u64,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(met("reading a file", Step::Create)(error)),
            }
        }
    }

    fn stat(at: Borrowed<'_>, name: impl Arg + Copy) -> Result<Option<u64>, Outcome> {
        system::size_of(at, name).map_err(met("stat", Step::Create))
    }

    fn unlink(at: Borrowed<'_>, name: impl Arg) -> Result<(), Outcome> {
        os::remove_file(at, name).map_err(met("unlinking a file", Step::Create))
    }

    /// Operation on an entry that was just listed; returns the size of what it found, to be compared with
    /// the expected sum.
    pub(crate) fn listed(&mut self, at: Borrowed<'_>, name: &[u8]) -> Result<Option<u64>, Outcome> {
        match self.operation {
            FileOperation::Read => self.read(at, name).map(Some),
            FileOperation::Stat => Self::stat(at, name).map(|size| Some(size.unwrap_or(u64::MAX))),
            FileOperation::Unlink => Self::unlink(at, name).map(|()| None),
            FileOperation::MakeDirectories | FileOperation::Create | FileOperation::Rewrite => Ok(None),
        }
    }
}

/// Like `mkdir -p`; one call if the directory exists.
pub(crate) fn make_directories(top: Borrowed<'_>, path: &[u8]) -> Result<(), Outcome> {
    let make = |path: &[u8]| os::is_new(os::make_directory(top, path)).map(drop);
    let all = || {
        let ends = (0..path.len()).filter(|at| path[*at] == b'/').chain([path.len()]);
        ends.into_iter().try_for_each(|end| make(&path[..end]))
    };
    match make(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => all(),
        made => made,
    }
    .map_err(met("creating a directory", Step::MakeDirectory))
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs::File;
    use std::io;

    use megadir::FileType;
    use megadir::limits::Step;
    use megadir_record::FileWork;
    use rustix::fs::{Gid, Mode, OFlags, Uid};
    use rustix::io::Errno;

    use super::{Outcome, met};
    use crate::os::{self, Arg, Borrowed};

    pub(crate) struct Owner {
        user: Uid,
        group: Gid,
    }

    pub(crate) fn own() -> Option<Owner> {
        Some(Owner { user: rustix::process::geteuid(), group: rustix::process::getegid() })
    }

    impl Owner {
        pub(crate) fn give(&self, file: &File) -> Result<(), Outcome> {
            let (user, group) = (Some(self.user), Some(self.group));
            rustix::fs::fchown(file, user, group)
                .map_err(io::Error::from)
                .map_err(met("fchown", Step::Write))?;
            let mode = Mode::from_raw_mode(0o644);
            rustix::fs::fchmod(file, mode).map_err(io::Error::from).map_err(met("fchmod", Step::Write))
        }
    }

    /// A file that gets owner and mode later may not be opened by other users before.
    #[inline]
    pub(crate) fn create(at: Borrowed<'_>, name: impl Arg, owner: Option<&Owner>) -> io::Result<File> {
        if owner.is_none() {
            return os::create(at, name);
        }
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        Ok(rustix::fs::openat(at, name, flags, Mode::from_raw_mode(0o600))?.into())
    }

    #[inline]
    pub(crate) fn size_of(at: Borrowed<'_>, name: impl Arg) -> io::Result<Option<u64>> {
        let status = os::status(at, name)?;
        Ok((status.kind == FileType::File).then_some(status.size_bytes))
    }

    pub(crate) fn sync_directory(directory: Borrowed<'_>) -> io::Result<()> {
        Ok(rustix::fs::fsync(directory)?)
    }

    /// `true` if one file is missing, already present, a link or a directory.
    pub(crate) fn is_of_one_file(error: &io::Error) -> bool {
        matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::EXIST | Errno::LOOP | Errno::ISDIR))
    }

    pub(crate) fn refused(_work: &FileWork, _directory: Borrowed<'_>) -> Option<String> {
        None
    }
}

#[cfg(windows)]
mod system {
    use std::fs::File;
    use std::io::{self, ErrorKind};
    use std::sync::OnceLock;

    use megadir::FileType;
    use megadir_record::{FileWork, SyncPolicy};
    use megadir_sys::windows::system::wine_version;

    use super::Outcome;
    use crate::os::{self, Arg, Borrowed};

    const DIRECTORY: u32 = 0x10;
    const REPARSE_POINT: u32 = 0x400;

    pub(crate) enum Owner {}

    pub(crate) fn own() -> Option<Owner> {
        None
    }

    impl Owner {
        pub(crate) fn give(&self, _file: &File) -> Result<(), Outcome> {
            match *self {}
        }
    }

    #[inline]
    pub(crate) fn create(at: Borrowed<'_>, name: impl Arg, _owner: Option<&Owner>) -> io::Result<File> {
        os::create(at, name)
    }

    #[inline]
    pub(crate) fn size_of(at: Borrowed<'_>, name: impl Arg + Copy) -> io::Result<Option<u64>> {
        if !queries_by_name() {
            let status = os::status(at, name)?;
            return Ok((status.kind == FileType::File).then_some(status.size_bytes));
        }
        let facts = os::facts_of(at, name)?;
        let kind = match facts.attributes {
            // Only opening the file reveals the kind of a reparse point.
            with if with & REPARSE_POINT != 0 => os::status(at, name)?.kind,
            with if with & DIRECTORY != 0 => FileType::Directory,
            _ => FileType::File,
        };
        Ok((kind == FileType::File).then_some(facts.size_bytes))
    }

    /// Wine looks in the process's current directory instead.
    fn queries_by_name() -> bool {
        static QUERIES: OnceLock<bool> = OnceLock::new();
        *QUERIES.get_or_init(|| wine_version().is_none())
    }

    const NO_DIRECTORY_SYNC: &str = "Windows documents no call that syncs a directory";

    pub(crate) fn sync_directory(_directory: Borrowed<'_>) -> io::Result<()> {
        Err(io::Error::new(ErrorKind::Unsupported, NO_DIRECTORY_SYNC))
    }

    /// `true` if one file is missing, already present or a directory.
    pub(crate) fn is_of_one_file(error: &io::Error) -> bool {
        matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::IsADirectory)
    }

    pub(crate) fn refused(work: &FileWork, directory: Borrowed<'_>) -> Option<String> {
        if work.owner_and_mode {
            return Some("files on Windows have no owner and mode to set with chown and chmod".into());
        }
        match work.sync {
            SyncPolicy::FileAndDirectory => Some(NO_DIRECTORY_SYNC.into()),
            SyncPolicy::AtEnd => os::sync(directory).err().map(|error| {
                format!("flushing a whole volume needs an administrator, and support by the system: {error}")
            }),
            SyncPolicy::Never | SyncPolicy::EachFile => None,
        }
    }
}
