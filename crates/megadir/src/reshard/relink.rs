//! Moves files, in one of two ways: by renaming, or by linking and unlinking.
//!
//! The latter do not take the kernel's one lock for renames of a file system, so the caller's thread links, and
//! another one unlinks behind it. A file has both paths for a moment. Only for directories that no other program changes: a file that replaces
//! the old path between the two calls would be unlinked.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

use super::window::Waiting;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind};
use crate::file_type::FileType;

/// Files that are passed to the other thread at once, unless the rate is limited.
const BATCH: usize = 16;
const BATCHES_MAX: usize = 64;

struct Linked {
    source: Arc<Dir>,
    name: Box<[u8]>,
    /// Directory and name of the link that was made; `None` if an earlier run made it.
    made: Option<(Arc<Dir>, Box<[u8]>)>,
}

pub(super) struct Refusal {
    pub(super) source: Arc<Dir>,
    pub(super) name: Box<[u8]>,
    pub(super) error: Errno,
    pub(super) taken: Taken,
}

/// Entry that has a file's new path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    SameFile,
    Directory,
    Other,
}

/// Number of files that have only the new path, and of files that could not be unlinked.
#[derive(Default)]
pub(super) struct Done {
    pub(super) moved: u64,
    pub(super) refused: Vec<Refusal>,
}

/// Links are collected in `batch` and sent to the thread that unlinks, as a whole, so that the two threads
/// seldom wait for each other. `pending` counts batches whose answer has not come; the job ends only when it
/// is 0. `renamed` counts files that could not be linked and were renamed.
pub(super) struct Relinker {
    batch_files: usize,
    batch: Vec<Linked>,
    batches: SyncSender<Vec<Linked>>,
    done: Receiver<Done>,
    pending: usize,
    renamed: u64,
}

impl Relinker {
    /// `None` if the system refuses a thread.
    pub(super) fn start(is_slow: bool) -> Option<Self> {
        let (batches, waiting) = sync_channel(BATCHES_MAX);
        let (finished, done) = channel();
        std::thread::Builder::new().spawn(move || unlink_all(&waiting, &finished)).ok()?;
        let batch_files = if is_slow { 1 } else { BATCH };
        Some(Self { batch_files, batch: Vec::new(), batches, done, pending: 0, renamed: 0 })
    }

    /// Links, and leaves the rest to the other thread. Renames a file that cannot be linked.
    pub(super) fn link(
        &mut self,
        source: &Arc<Dir>,
        target: &Arc<Dir>,
        file: &Waiting<'_>,
    ) -> Result<(), Errno> {
        let linked = rustix::io::retry_on_intr(|| {
            rustix::fs::linkat(&**source, file.name, &**target, file.file, AtFlags::empty())
        });
        let made = match linked {
            Ok(()) => Some((Arc::clone(target), file.file.into())),
            Err(Errno::EXIST) if is_same(source, target, file) => None,
            Err(Errno::EXIST) => return Err(Errno::EXIST),
            Err(_) => {
                rename(source, target, file)?;
                self.renamed += 1;
                return Ok(());
            }
        };
        self.batch.push(Linked { source: Arc::clone(source), name: file.name.into(), made });
        if self.batch.len() == self.batch_files {
            self.send();
        }
        Ok(())
    }

    fn send(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(self.batch_files));
        self.pending += usize::from(self.batches.send(batch).is_ok());
    }

    pub(super) fn done(&mut self) -> Done {
        let mut sum = Done { moved: std::mem::take(&mut self.renamed), ..Done::default() };
        while let Ok(done) = self.done.try_recv() {
            self.add(&mut sum, done);
        }
        sum
    }

    /// Waits until no file has both paths.
    pub(super) fn wait(&mut self) -> Done {
        if !self.batch.is_empty() {
            self.send();
        }
        let mut sum = self.done();
        while self.pending > 0
            && let Ok(done) = self.done.recv()
        {
            self.add(&mut sum, done);
        }
        sum
    }

    fn add(&mut self, sum: &mut Done, done: Done) {
        self.pending -= 1;
        sum.moved += done.moved;
        sum.refused.extend(done.refused);
    }
}

pub(super) fn rename(source: &Dir, target: &Dir, file: &Waiting<'_>) -> Result<(), Errno> {
    rustix::io::retry_on_intr(|| {
        rustix::fs::renameat_with(source, file.name, target, file.file, RenameFlags::NOREPLACE)
    })
}

fn unlink_all(batches: &Receiver<Vec<Linked>>, finished: &Sender<Done>) {
    while let Ok(batch) = batches.recv() {
        let mut done = Done::default();
        for file in batch {
            match unlink(&file.source, &file.name) {
                // Another program may have removed it.
                Ok(()) | Err(Errno::NOENT) => done.moved += 1,
                Err(error) => {
                    // The file stays where it was, as with rename.
                    if let Some((target, name)) = &file.made {
                        let _ = unlink(target, name);
                    }
                    let Linked { source, name, .. } = file;
                    done.refused.push(Refusal { source, name, error, taken: Taken::Other });
                }
            }
        }
        if finished.send(done).is_err() {
            return;
        }
    }
}

fn unlink(directory: &Dir, name: &[u8]) -> Result<(), Errno> {
    rustix::io::retry_on_intr(|| rustix::fs::unlinkat(directory, name, AtFlags::empty()))
}

/// `false` if another spelling is the same entry: names there have no case, and a file may have another name than the path that finds it.
pub(super) fn is_spelled_so(directory: &Dir, name: &[u8]) -> bool {
    let other: Vec<u8> =
        name.iter()
            .map(|byte| {
                if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() }
            })
            .collect();
    other == name || inode(directory, &other).is_none_or(|found| inode(directory, name) != Some(found))
}

/// With the device; `None` if there is no entry.
pub(super) fn inode(directory: &Dir, name: &[u8]) -> Option<(u64, u64)> {
    let status = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((status.st_dev, status.st_ino))
}

/// `true` if both paths are links to one file. In one directory they may be one link, if names there have no case.
pub(super) fn is_same(source: &Dir, target: &Dir, file: &Waiting<'_>) -> bool {
    let (Ok(from), Ok(to)) = (source.id(), target.id()) else { return false };
    let old = inode(source, file.name);
    from != to && old.is_some() && old == inode(target, file.file)
}

pub(super) fn taken_by(source: &Dir, target: &Dir, file: &Waiting<'_>) -> Taken {
    if is_same(source, target, file) { Taken::SameFile } else { Taken::by_another(target, file.file) }
}

impl Taken {
    /// Another entry than the file itself.
    pub(super) fn by_another(directory: &Dir, name: &[u8]) -> Self {
        match directory.kind_of(name) {
            Ok(FileType::Directory) => Self::Directory,
            _ => Self::Other,
        }
    }
}

/// `path` is the old one.
pub(super) fn failure(path: &Path, error: Errno, taken: Taken) -> Error {
    let new = |kind, reason| Error::new("rename", path, kind, reason);
    match (error, taken) {
        (Errno::EXIST, Taken::SameFile) => new(
            ErrorKind::Io,
            "its new path is a link to the same file; if no other program changes the directory, --offline removes the old path",
        ),
        (Errno::EXIST, Taken::Directory) => new(
            ErrorKind::Io,
            "a directory has its new path: if a run empties and removes it, run the command again",
        ),
        (Errno::EXIST, Taken::Other) => new(ErrorKind::Io, "another entry has its new path"),
        (Errno::INVAL | Errno::NOSYS, _) => {
            new(ErrorKind::Unavailable, "this file system cannot rename without replacing (RENAME_NOREPLACE)")
        }
        (Errno::XDEV, _) => new(
            ErrorKind::Io,
            "the new directory is on another mount, or of another project with a quota; both must be the same",
        ),
        _ => Error::io("rename", path, error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_one_directory_may_be_one_name() {
        let scratch = tempfile::tempdir().unwrap();
        let at = scratch.path();
        std::fs::create_dir(at.join("new")).unwrap();
        std::fs::write(at.join("a"), "").unwrap();
        std::fs::hard_link(at.join("a"), at.join("b")).unwrap();
        std::fs::hard_link(at.join("a"), at.join("new/b")).unwrap();
        let [top, new] = ["", "new"].map(|name| Dir::open(at.join(name)).unwrap());
        let file = Waiting { target: 0, source: 0, name: b"a", file: b"b" };
        assert!(is_same(&top, &new, &file));
        assert!(!is_same(&top, &top, &file));
        std::fs::remove_file(at.join("new/b")).unwrap();
        std::fs::write(at.join("new/b"), "").unwrap();
        assert!(!is_same(&top, &new, &file));
    }

    /// Two links of one file look as one entry of a directory whose names have no case.
    #[test]
    fn a_file_found_by_another_spelling_has_perhaps_another_name() {
        let scratch = tempfile::tempdir().unwrap();
        let at = scratch.path();
        for name in ["ab", "AB", "CD", "10"] {
            std::fs::write(at.join(name), name).unwrap();
        }
        std::fs::hard_link(at.join("CD"), at.join("cd")).unwrap();
        let directory = Dir::open(at).unwrap();
        assert_eq!(
            ["ab", "AB", "10", "ef", "cd"].map(|name| is_spelled_so(&directory, name.as_bytes())),
            [true, true, true, true, false]
        );
    }
}
