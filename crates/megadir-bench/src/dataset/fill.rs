//! Fills a directory: relative to its descriptor, never through a link, resumable. Files are created with
//! O_EXCL, so that no existing file is overwritten. Filling again keeps complete files and completes
//! truncated ones of the current user without other hard links, because a kill leaves such files. Any other
//! entry under a name is left alone and counted, and everything below a non-directory is skipped.
//!
//! ```text
//!  Sweep: for each file of `Files`, in order          Tree: open directories on the way to the last file
//!    path -> Tree::enter -> leaf directory -> create_file -> FileOutcome -> Filled
//!                             |                   |
//!                             |                   +-- the name exists: `existing` decides, and nothing is overwritten
//!                             +-- a file, link or mount in the way: InTheWay, for every file below it
//! ```
//!
//! Neighbouring files mostly share their directory, so `Tree` keeps the directories on the current path
//! open, and opens or makes only the part that differs.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use megadir::FileType;
use megadir::limits::{Explanation, Step, explain_at};

use crate::dataset::{Content, FilePlace, Files, FillError, FillProgress, Filled, PlaceBuffer};
use crate::os::{self, Access, At, Borrowed, Owned, Status};

/// Files between two looks at `stop`; a large file has looks of its own, every `STEP_PIECES` pieces.
const STEP: u64 = 256;
const STEP_PIECES: u64 = 16;
const PIECE_BYTES: usize = 64 << 10;

/// Fills `path`, which is created if missing. `progress` is called regularly; setting `stop` ends the filling
/// soon, and the result says so. Errors: [`FillError`]; files made so far stay.
pub fn fill(
    path: &Path,
    files: &Files,
    progress: &mut dyn FnMut(FillProgress),
    stop: &AtomicBool,
) -> Result<Filled, FillError> {
    let open = |source| FillError::Open { path: path.to_owned(), source };
    os::check_path(path).map_err(open)?;
    let created = os::is_new(std::fs::create_dir(path));
    created.map_err(|source| FillError::Directory { path: path.to_owned(), source })?;
    let directory = os::open_directory(path).map_err(open)?;
    let mut filling = Filling::new(directory.at(), files);
    let count = files.directories_before().unwrap_or(0);
    for from in (0..count).step_by(STEP as usize) {
        progress(FillProgress { done: 0, of: files.entries() });
        if stop.load(Ordering::Relaxed) {
            return Ok(Filled { stopped: true, ..filling.sweep.filled });
        }
        filling.directories(from, count.min(from + STEP))?;
    }
    filling.to(files.entries(), progress, stop)?;
    Ok(filling.sweep.filled)
}

/// Goes through the files of a data set in order, to make or to examine them.
///
/// `buffer` and `piece` are reused for each path and content, so a sweep over 10^8 files allocates nothing
/// for a file.
pub(crate) struct Sweep<'a> {
    files: &'a Files,
    buffer: PlaceBuffer,
    piece: Vec<u8>,
    /// Number of the next file.
    pub(crate) next: u64,
    pub(crate) filled: Filled,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(files: &'a Files) -> Self {
        let largest_bytes = files.sizes().largest_bytes().min(PIECE_BYTES as u64);
        let piece = vec![0; largest_bytes as usize];
        Self { files, buffer: PlaceBuffer::new(), piece, next: 0, filled: Filled::default() }
    }

    /// Calls `fill_file` for every file up to, not including, `end`, and counts what it returns.
    ///
    /// `next` advances only after a file is complete, so a stopped sweep can be resumed where it ended: a
    /// file that was cut short is the next one, and filling again completes it. Cancellation is looked at
    /// every `STEP` files, and within a large file by `task`.
    pub(super) fn to(
        &mut self,
        end: u64,
        progress: &mut dyn FnMut(FillProgress),
        stop: &AtomicBool,
        mut fill_file: impl FnMut(&FilePlace<'_>, Content, &mut Task<'_>) -> Result<FileOutcome, Failed>,
    ) -> Result<(), FillError> {
        let Self { files, buffer, piece, next, filled } = self;
        let of = files.entries();
        while *next < end {
            let index = *next;
            let mut stopped = || {
                progress(FillProgress { done: index, of });
                stop.load(Ordering::Relaxed)
            };
            if index.is_multiple_of(STEP) && stopped() {
                filled.stopped = true;
                break;
            }
            let placed = files.placed(index, buffer)?;
            let mut task = Task { size_bytes: files.size_bytes(index), piece, stopped: &mut stopped };
            match fill_file(&placed, files.content(index), &mut task) {
                Ok(found) => count(filled, &found, placed.path()),
                Err(failed) => {
                    failed.unless_stopped(placed.path(), index, of)?;
                    filled.stopped = true;
                    break;
                }
            }
            *next += 1;
        }
        Ok(())
    }
}

pub(crate) struct Filling<'a> {
    pub(crate) sweep: Sweep<'a>,
    tree: Tree<'a>,
}

impl<'a> Filling<'a> {
    pub(crate) fn new(dir: Borrowed<'a>, files: &'a Files) -> Self {
        Self { sweep: Sweep::new(files), tree: Tree::new(dir) }
    }

    pub(crate) fn to(
        &mut self,
        end: u64,
        progress: &mut dyn FnMut(FillProgress),
        stop: &AtomicBool,
    ) -> Result<(), FillError> {
        let Self { sweep, tree } = self;
        sweep.to(end, progress, stop, |placed, content, task| {
            match tree.enter(placed.directory(), true) {
                Ok(Entered::Directory(leaf)) => create_file(leaf, placed.file(), content, task),
                Ok(Entered::Taken(end) | Entered::Missing(end)) => Ok(FileOutcome::InTheWay(end)),
                Err(error) => Err(refused(tree.deepest(), Step::MakeDirectory, error)),
            }
        })?;
        sweep.filled.directories_made = tree.made;
        let of = sweep.files.entries();
        if end == of && !sweep.filled.stopped {
            progress(FillProgress { done: of, of });
        }
        Ok(())
    }

    /// Makes the directories from number `from` up to, not including, `to`.
    pub(crate) fn directories(&mut self, from: u64, to: u64) -> Result<(), FillError> {
        let Self { sweep: Sweep { files, buffer, filled, .. }, tree } = self;
        let Some(directories) = files.directories() else { return Ok(()) };
        for number in from..to {
            let Some(path) = directories.path(number, buffer) else { break };
            let failed = match tree.enter(path, true) {
                Ok(Entered::Directory(_)) => continue,
                Ok(Entered::Taken(_) | Entered::Missing(_)) => Failed::Io(os::not_a_directory()),
                Err(error) => refused(tree.deepest(), Step::MakeDirectory, error),
            };
            failed.unless_stopped(path, 0, files.entries())?;
        }
        filled.directories_made = tree.made;
        Ok(())
    }
}

/// Fate of one file; the counts of `Filled` follow from it. `InTheWay` has the length of the path up to the
/// entry that is no directory.
pub(super) enum FileOutcome {
    Nothing,
    Whole,
    CutShort,
    Other,
    InTheWay(usize),
}

fn count(filled: &mut Filled, found: &FileOutcome, path: &[u8]) {
    match *found {
        FileOutcome::Nothing => filled.made += 1,
        FileOutcome::Whole => filled.already += 1,
        FileOutcome::CutShort => filled.completed += 1,
        FileOutcome::Other => filled.take(path),
        FileOutcome::InTheWay(end) => filled.take(&path[..end]),
    }
}

/// Reason for not completing a file. `Met` is a limit of the file system, explained while everything is
/// still in place: after a removal the figures would be others.
pub(super) enum Failed {
    Stopped,
    Met(Box<Explanation>),
    Io(io::Error),
}

impl Failed {
    /// The error of the file `path`, after `made` of `of` files; `Ok` if it was stopped.
    fn unless_stopped(self, path: &[u8], made: u64, of: u64) -> Result<(), FillError> {
        match self {
            Self::Stopped => Ok(()),
            Self::Met(met) => Err(FillError::NoRoom { made, of, met }),
            Self::Io(source) => {
                let name = String::from_utf8_lossy(path).into_owned();
                Err(FillError::Make { name, made, of, source })
            }
        }
    }
}

impl<E: Into<io::Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Io(error.into())
    }
}

/// The file at hand, with the memory and the cancellation that it shares with the others.
pub(super) struct Task<'a> {
    pub(super) size_bytes: u64,
    piece: &'a mut [u8],
    stopped: &'a mut dyn FnMut() -> bool,
}

impl Task<'_> {
    /// Checks only now and then, and never before the first piece.
    fn check(&mut self, at: u64) -> Result<(), Failed> {
        let step = STEP_PIECES * PIECE_BYTES as u64;
        if at > 0 && at.is_multiple_of(step) && (self.stopped)() { Err(Failed::Stopped) } else { Ok(()) }
    }
}

/// Creates a file with its content. A file that could not be completed is removed, so that a full disk
/// leaves no truncated files; a stop leaves it, because filling again completes it.
fn create_file(
    dir: Borrowed<'_>,
    name: &[u8],
    content: Content,
    task: &mut Task<'_>,
) -> Result<FileOutcome, Failed> {
    match os::create(dir, name) {
        Ok(file) if task.size_bytes == 0 => drop(file),
        Ok(mut file) => {
            let written = write_in(dir, &mut file, content, 0, task);
            if matches!(written, Err(Failed::Io(_) | Failed::Met(_))) {
                // Remove the truncated file only if the name still refers to it.
                let still = (os::status(dir, name).ok()).zip(os::status_of(&file).ok());
                if still.is_some_and(|(named, made)| named.identity == made.identity) {
                    let _ = os::remove_file(dir, name);
                }
            }
            written?;
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let (found, file) = existing(dir, name, content.clone(), task)?;
            if let Some((mut file, there)) = file {
                write_in(dir, &mut file, content, there, task)?;
            }
            return Ok(found);
        }
        Err(error) => return Err(refused(dir, Step::Create, error)),
    }
    Ok(FileOutcome::Nothing)
}

/// Writes the content; on an error, determines the limit that was reached before anything is released.
fn write_in(
    dir: Borrowed<'_>,
    file: &mut File,
    content: Content,
    from: u64,
    task: &mut Task<'_>,
) -> Result<(), Failed> {
    write(file, content, from, task).map_err(|failed| match failed {
        Failed::Io(error) => refused(dir, Step::Write, error),
        other => other,
    })
}

fn refused(dir: Borrowed<'_>, step: Step, error: io::Error) -> Failed {
    explain_at(dir, Path::new("."), step, &error).map_or(Failed::Io(error), |met| Failed::Met(Box::new(met)))
}

/// Examines the existing entry of a name; a truncated file of ours is returned with its length.
///
/// An existing file counts as ours only if its type, length and contents are what this run would write. The
/// identity is compared again after it is opened, because another process may replace it between the two
/// calls; only then may it be completed. Any doubt makes it `OTHER`, which is never written to.
pub(super) fn existing(
    dir: Borrowed<'_>,
    name: &[u8],
    content: Content,
    task: &mut Task<'_>,
) -> Result<(FileOutcome, Option<(File, u64)>), Failed> {
    const OTHER: (FileOutcome, Option<(File, u64)>) = (FileOutcome::Other, None);
    let status = os::status(dir, name)?;
    let there = status.size_bytes;
    if status.kind != FileType::File || there > task.size_bytes {
        return Ok(OTHER);
    }
    if task.size_bytes == 0 {
        return Ok((FileOutcome::Whole, None));
    }
    let whole = there == task.size_bytes;
    if !whole && !may_complete(&status) {
        return Ok(OTHER);
    }
    let access = if whole { Access::Read } else { Access::ReadWrite };
    let mut file = match os::open_file(dir, name, access) {
        Ok(file) => file,
        Err(error) if os::is_no_file_of_ours(&error) => return Ok(OTHER),
        Err(error) => return Err(error.into()),
    };
    let opened = os::status_of(&file)?;
    if opened.identity != status.identity
        || !(whole || may_complete(&opened) && os::is_own(&file)?)
        || !begins(&mut file, content, there, task)?
    {
        return Ok(OTHER);
    }
    Ok(if whole { (FileOutcome::Whole, None) } else { (FileOutcome::CutShort, Some((file, there))) })
}

/// Ours at most if it has one hard link, is not guarded and is the current user's. Completed only if its bytes
/// begin the intended content.
fn may_complete(status: &Status) -> bool {
    status.links == 1 && !status.guarded && status.owner == os::own_user()
}

/// `true` if the first `there` bytes of the file are the first bytes of the content.
fn begins(file: &mut File, mut content: Content, there: u64, task: &mut Task<'_>) -> Result<bool, Failed> {
    let mut read = vec![0; task.piece.len()];
    let mut at = 0;
    while at < there {
        task.check(at)?;
        let length = (task.piece.len() as u64).min(there - at) as usize;
        content.fill(&mut task.piece[..length]);
        file.read_exact(&mut read[..length])?;
        if read[..length] != task.piece[..length] {
            return Ok(false);
        }
        at += length as u64;
    }
    Ok(true)
}

/// Writes the content from the piece that contains byte `from`. Content can only be generated from its
/// beginning.
fn write(file: &mut File, mut content: Content, from: u64, task: &mut Task<'_>) -> Result<(), Failed> {
    let mut at = 0;
    while at < task.size_bytes {
        task.check(at)?;
        let length = (task.piece.len() as u64).min(task.size_bytes - at) as usize;
        content.fill(&mut task.piece[..length]);
        let end = at + length as u64;
        if end > from {
            if from > 0 {
                file.seek(SeekFrom::Start(at))?;
            }
            file.write_all(&task.piece[..length])?;
        }
        at = end;
    }
    Ok(())
}

/// Stack of open directories from the top to the one entered last, with their names. `made` counts new
/// directories.
pub(super) struct Tree<'a> {
    top: Borrowed<'a>,
    open: Vec<(Vec<u8>, Owned)>,
    made: u64,
}

pub(super) enum Entered<'a> {
    Directory(Borrowed<'a>),
    /// It does not exist; this many leading bytes of its path do.
    Missing(usize),
    /// This many leading bytes of its path name something that is not a directory of this tree.
    Taken(usize),
}

impl<'a> Tree<'a> {
    pub(super) fn new(top: Borrowed<'a>) -> Self {
        Self { top, open: Vec::new(), made: 0 }
    }

    /// The directory reached last, even on the way to one that could not be entered.
    fn deepest(&self) -> Borrowed<'_> {
        self.open.last().map_or(self.top, |(_, directory)| directory.at())
    }

    /// Goes to the directory `path`, and makes missing ones if `make` is set. Each step is relative to the
    /// directory before it and crosses neither links nor mounts.
    pub(super) fn enter(&mut self, path: &[u8], make: bool) -> io::Result<Entered<'_>> {
        let (mut depth, mut reached) = (0, 0);
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let end = reached + usize::from(depth > 0) + name.len();
            if self.open.get(depth).is_none_or(|(open, _)| open != name) {
                self.open.truncate(depth);
                match self.open_below(name, make) {
                    Ok(directory) => self.open.push((name.to_vec(), directory)),
                    Err(error) => match error.kind() {
                        ErrorKind::NotFound if !make => return Ok(Entered::Missing(reached)),
                        ErrorKind::NotADirectory | ErrorKind::CrossesDevices => {
                            return Ok(Entered::Taken(end));
                        }
                        _ => return Err(error),
                    },
                }
            }
            depth += 1;
            reached = end;
        }
        self.open.truncate(depth);
        Ok(Entered::Directory(self.deepest()))
    }

    fn open_below(&mut self, name: &[u8], make: bool) -> io::Result<Owned> {
        match os::open_on_this_mount(self.deepest(), name) {
            Err(error) if make && error.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
        self.made += u64::from(os::is_new(os::make_directory(self.deepest(), name))?);
        os::open_on_this_mount(self.deepest(), name)
    }
}
