//! Fills a directory: relative to its descriptor, never through a link, resumable. Files are created with
//! O_EXCL, so that no existing file is overwritten. Filling again keeps complete files and completes
//! truncated ones of the current user without other hard links, because a kill leaves such files. Any other
//! entry under a name is left alone and counted, and everything below a non-directory is skipped.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use megadir::FileType;
use megadir::limits::{Explanation, Step, explain_at};
use megadir_record::MakeDirectories;

use crate::dataset::{Content, Files, FillError, FillProgress, Filled, PlaceBuffer};
use crate::os::{self, Access, At, Borrowed, Owned, Status};

pub(super) const STEP: u64 = 256;
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
    match std::fs::create_dir(path) {
        Err(source) if source.kind() != ErrorKind::AlreadyExists => {
            return Err(FillError::Directory { path: path.to_owned(), source });
        }
        _ => {}
    }
    fill_at(os::open_directory(path).map_err(open)?.at(), files, progress, stop)
}

fn fill_at(
    dir: Borrowed<'_>,
    files: &Files,
    progress: &mut dyn FnMut(FillProgress),
    stop: &AtomicBool,
) -> Result<Filled, FillError> {
    let mut filling = Filling::new(dir, files);
    if files.made().directories == MakeDirectories::Before {
        let count = files.directories().map_or(0, |directories| directories.count());
        for from in (0..count).step_by(STEP as usize) {
            progress(FillProgress { done: 0, of: files.entries() });
            if stop.load(Ordering::Relaxed) {
                filling.filled.stopped = true;
                return Ok(filling.filled);
            }
            filling.directories(from, count.min(from + STEP))?;
        }
    }
    filling.to(files.entries(), progress, stop)?;
    Ok(filling.filled)
}

pub(crate) struct Filling<'a> {
    files: &'a Files,
    tree: Tree<'a>,
    buffer: PlaceBuffer,
    piece: Vec<u8>,
    /// Number of the next file.
    pub(crate) next: u64,
    pub(crate) filled: Filled,
}

impl<'a> Filling<'a> {
    pub(crate) fn new(dir: Borrowed<'a>, files: &'a Files) -> Self {
        let (tree, buffer, piece) = (Tree::new(dir), PlaceBuffer::new(), piece(files));
        Self { files, tree, buffer, piece, next: 0, filled: Filled::default() }
    }

    pub(crate) fn to(
        &mut self,
        end: u64,
        progress: &mut dyn FnMut(FillProgress),
        stop: &AtomicBool,
    ) -> Result<(), FillError> {
        let of = self.files.entries();
        while self.next < end {
            let index = self.next;
            let mut stopped = || {
                progress(FillProgress { done: index, of });
                stop.load(Ordering::Relaxed)
            };
            if index.is_multiple_of(STEP) && stopped() || !self.one(&mut stopped)? {
                self.filled.stopped = true;
                return Ok(());
            }
            self.next += 1;
        }
        if end == of {
            progress(FillProgress { done: of, of });
        }
        Ok(())
    }

    fn one(&mut self, stopped: &mut dyn FnMut() -> bool) -> Result<bool, FillError> {
        let Self { files, tree, buffer, piece, next, filled } = self;
        let (index, of) = (*next, files.entries());
        let placed = files.place(index, buffer);
        let placed = placed.map_err(|reason| FillError::Files(files.refused(index, reason)))?;
        let content = files.content(index);
        let mut task = Task { size_bytes: files.size_bytes(index), piece, stopped };
        let found = match tree.enter(placed.directory(), true) {
            Ok(Entered::Directory(leaf)) => one(leaf, placed.file(), content, &mut task),
            Ok(Entered::Taken(end) | Entered::Missing(end)) => Ok(Found::InTheWay(end)),
            Err(error) => Err(refused(tree.deepest(), Step::MakeDirectory, error)),
        };
        filled.directories_made = tree.made;
        match found {
            Ok(found) => {
                count(filled, &found, placed.path());
                Ok(true)
            }
            Err(failed) => failed.unless_stopped(placed.path(), index, of).map(|()| false),
        }
    }

    /// Makes the directories from number `from` up to, not including, `to`.
    pub(crate) fn directories(&mut self, from: u64, to: u64) -> Result<(), FillError> {
        let Some(directories) = self.files.directories() else { return Ok(()) };
        for number in from..to {
            let Some(path) = directories.path(number, &mut self.buffer) else { break };
            let made =
                |source| FillError::Make { name: lossy(path), made: 0, of: self.files.entries(), source };
            let error = match self.tree.enter(path, true) {
                Ok(Entered::Directory(_)) => continue,
                Ok(Entered::Taken(_) | Entered::Missing(_)) => return Err(made(os::not_a_directory())),
                Err(error) => error,
            };
            return Err(match limit_met(self.tree.deepest(), Step::MakeDirectory, &error) {
                Some(met) => FillError::NoRoom { made: 0, of: self.files.entries(), met },
                None => made(error),
            });
        }
        self.filled.directories_made = self.tree.made;
        Ok(())
    }
}

pub(super) fn piece(files: &Files) -> Vec<u8> {
    vec![0; usize::try_from(files.sizes().largest_bytes()).map_or(PIECE_BYTES, |size| size.min(PIECE_BYTES))]
}

pub(super) enum Found {
    Nothing,
    Whole,
    CutShort,
    Other,
    InTheWay(usize),
}

pub(super) fn count(filled: &mut Filled, found: &Found, path: &[u8]) {
    match *found {
        Found::Nothing => filled.made += 1,
        Found::Whole => filled.already += 1,
        Found::CutShort => filled.completed += 1,
        Found::Other => filled.take(path),
        Found::InTheWay(end) => filled.take(&path[..end]),
    }
}

pub(super) enum Failed {
    Stopped,
    Met(Box<Explanation>),
    Io(io::Error),
}

impl Failed {
    /// The error of the file `path`, after `made` of `of` files; `Ok` if it was stopped.
    pub(super) fn unless_stopped(self, path: &[u8], made: u64, of: u64) -> Result<(), FillError> {
        match self {
            Self::Stopped => Ok(()),
            Self::Met(met) => Err(FillError::NoRoom { made, of, met }),
            Self::Io(source) => Err(FillError::Make { name: lossy(path), made, of, source }),
        }
    }
}

impl<E: Into<io::Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Io(error.into())
    }
}

pub(super) struct Task<'a> {
    pub(super) size_bytes: u64,
    pub(super) piece: &'a mut [u8],
    pub(super) stopped: &'a mut dyn FnMut() -> bool,
}

impl Task<'_> {
    /// Checks only now and then, and never before the first piece.
    fn check(&mut self, at: u64) -> Result<(), Failed> {
        let step = STEP_PIECES * PIECE_BYTES as u64;
        if at > 0 && at.is_multiple_of(step) && (self.stopped)() { Err(Failed::Stopped) } else { Ok(()) }
    }
}

fn one(dir: Borrowed<'_>, name: &[u8], content: Content, task: &mut Task<'_>) -> Result<Found, Failed> {
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
    Ok(Found::Nothing)
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
    limit_met(dir, step, &error).map_or(Failed::Io(error), Failed::Met)
}

fn limit_met(dir: Borrowed<'_>, step: Step, error: &io::Error) -> Option<Box<Explanation>> {
    explain_at(dir, Path::new("."), step, error).map(Box::new)
}

/// Examines the existing entry of a name; a truncated file of ours is returned with its length.
pub(super) fn existing(
    dir: Borrowed<'_>,
    name: &[u8],
    content: Content,
    task: &mut Task<'_>,
) -> Result<(Found, Option<(File, u64)>), Failed> {
    const OTHER: (Found, Option<(File, u64)>) = (Found::Other, None);
    let status = os::status(dir, name)?;
    let there = status.size_bytes;
    if status.kind != FileType::File || there > task.size_bytes {
        return Ok(OTHER);
    }
    if task.size_bytes == 0 {
        return Ok((Found::Whole, None));
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
    if opened.identity != status.identity || !(whole || may_complete(&opened)) {
        return Ok(OTHER);
    }
    if !whole && !os::is_own(&file)? {
        return Ok(OTHER);
    }
    if !begins(&mut file, content, there, task)? {
        return Ok(OTHER);
    }
    Ok(if whole { (Found::Whole, None) } else { (Found::CutShort, Some((file, there))) })
}

/// Ours at most if it has one hard link, is not guarded and is the current user's. Completed only if its bytes
/// begin the intended content.
fn may_complete(status: &Status) -> bool {
    status.links == 1 && !status.guarded && status.owner == os::own_user()
}

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

pub(super) fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

pub(super) struct Tree<'a> {
    top: Borrowed<'a>,
    open: Vec<(Vec<u8>, Owned)>,
    pub(super) made: u64,
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
    pub(super) fn deepest(&self) -> Borrowed<'_> {
        self.open.last().map_or(self.top, |(_, directory)| directory.at())
    }

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
