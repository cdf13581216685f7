//! Replaces a directory of files by a small one, while programs use it: an ext4 directory that once held ten million names keeps its size.
//!
//! A file cannot be in two directories and be moved in one call, but it can have two names: the small directory gets a link to each file
//! first, and then the two directories exchange their names in one call.
//!
//! ```text
//! PARENT/NAME                        the directory that programs use
//! PARENT/.megadir-reshard-small-X    beside it: the small one, after the exchange the old one     (X: digest of NAME)
//! PARENT/.megadir-reshard-hollow-X   mode 0700:  base/   the files that the small one had at the exchange
//!                                                taken/  names that were taken out of a directory, and are settled
//!                                                of      link whose text has the inodes of the old and the small directory
//!
//!  state        NAME    beside   killed here, the next run ...
//!  1 linking    old     small    removes base and small: nothing was changed           (NAME is the inode `old`)
//!        | each entry: old/e -> base/e -> small/e (linkat); what changed meanwhile again, until nothing has
//!        v RENAME_EXCHANGE
//!  2 settling   small   old      settles each name again                               (NAME is the inode `small`)
//!        | each name: as in the table below, until the old directory is empty
//!        v rmdir of the old directory, which succeeds only if it is empty
//!  3 clearing   small   -        removes taken and base
//! ```
//!
//! **Files that no other program changes** are in the small directory before it has the name, and in the old one until then, as the same inode: a
//! look-up of NAME/e finds e before and after the exchange. A look-up that began before it and is still in the old directory when e is
//! taken there fails; nothing is taken for `GRACE` after the exchange. (The kernel's look-up without locks notices the exchange
//! and begins again.)
//!
//! **Changes by other programs** cannot be excluded in the instant of the exchange, nor afterwards by programs that have the old directory
//! open. They are found by comparing three directories, whose state is on disk, so a killed run decides in the same way: `base` is what
//! both had at the exchange. Its links keep the inodes from being used again, so that equal numbers are equal files.
//!
//! ```text
//!  old/e          small/e   what happened                        settled by
//!  base           base      nothing                              old/e -> taken/e
//!  base           other     replaced by its path                 old/e -> taken/e
//!  base           -         removed by its path                  old/e -> taken/e: it does not come back
//!  - (nor taken)  base      removed in the old directory         small/e -> taken/e: it does not come back
//!  other          base      replaced in the old directory        old/e -> taken/e, then exchanged with small/e
//!  other          -         replaced there, removed by its path  old/e -> small/e: nothing is lost
//!  other          other     both replaced                        conflict: old/e stays and is listed
//!  no base        -         new in the old directory             old/e -> small/e, without replacing
//!  no base        other     new in both                          conflict: old/e stays and is listed
//! ```
//!
//! No name is unlinked in the old or the small directory: it is renamed without replacing into `taken`, which only this user can change,
//! and looked at there. If it is not the file that was expected (a program has just put another one there), it goes back.
//! So between a look and a call nothing can be lost; a file that is put back is without its path for that moment. An exchange whose
//! outcome is not the expected file is made again, back.
//!
//! inotify tells which names change, so that the time between the last look and the exchange is some microseconds, and changes in it are
//! settled first. Without inotify all names are compared instead. Directories cannot have two names, so a directory with one is refused;
//! one that appears at the exchange or afterwards is moved.

mod pairs;
mod settle;
#[cfg(test)]
mod tests;
mod watch;

use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use self::pairs::{Pair, Sets};
use self::settle::{Settler, Stay};
use self::watch::{Changed, Watch};
use super::renew::{Place, entries_up_to};
use super::{Progress, lock};
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::remove::aside;

/// Beginnings of the names beside the directory.
const BESIDE: &str = ".megadir-reshard-small-";
const SETS: &str = ".megadir-reshard-hollow-";
/// Names are read into memory.
const NAMES_MAX: usize = 1 << 20;
/// Look-ups that began in the old directory end within this time.
const GRACE: Duration = Duration::from_millis(100);
const GRACE_STEP: Duration = Duration::from_millis(2);
/// With writers that never pause, the exchange follows after this number of looks; their changes are settled afterwards.
const ROUNDS_MAX: u32 = 1000;
/// Without inotify each look reads all names.
const PASSES_MAX: u32 = 5;
/// Further passes over names that stay.
const TRIES: u32 = 2;

/// Result of [`renew_files`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilesRenewed {
    /// Changes of other programs in the old directory that were brought to the new one after the exchange.
    pub followed: u64,
    /// Names that were changed in both directories, or that the system refused: they stay in the old one. Each was reported.
    pub stay: u64,
    /// Size of the new directory, bytes.
    pub size_bytes: u64,
}

/// Outlook of [`renew_files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilesSurvey {
    /// Entries that would get a second name for a moment.
    pub entries: u64,
    /// Size of the directory, bytes.
    pub size_bytes: u64,
    /// An earlier run was ended, and is undone or completed first.
    pub is_begun: bool,
}

/// Callbacks of [`renew_files`].
pub struct FilesOptions<'a> {
    /// Called with each name that stays in the old directory.
    pub on_failure: &'a dyn Fn(Error),
    /// Called after each pass over the old directory, with the number of changes that were brought to the new one; `true` to pass again
    /// before the old directory is removed, for programs that still have it open.
    pub goes_on: &'a mut dyn FnMut(u64) -> bool,
}

/// Replaces a directory of files by a small one with the same owner, mode, ACLs, attributes and times; `None` if it was cancelled before,
/// and nothing was changed. A file that no other program changes has its path at any moment. What other programs create, replace or
/// remove in the instant of the exchange is brought to the new directory afterwards. Errors, with the directory as it was:
/// [`ErrorKind::Unavailable`] if it holds a directory or more than a million names, a file cannot have a second name, another process
/// holds its lock, or as [`renew`](super::renew).
pub fn renew_files(
    parent: &Dir,
    name: &[u8],
    options: &mut FilesOptions<'_>,
    progress: &Progress,
) -> Result<Option<FilesRenewed>> {
    let hollow = Hollow::new(parent, name)?;
    // Before the lock, which it would meet.
    aside::check(parent, name, aside::Why::Renewed)?;
    let old = hollow.open_locked()?;
    if let Some(renewed) = hollow.complete(&old, options)? {
        return Ok(Some(renewed));
    }
    match hollow.prepare(old, progress) {
        Ok(Some((sets, watch))) => {
            hollow.exchange(&sets)?;
            hollow.settle(&sets, watch.as_ref(), options).map(Some)
        }
        Ok(None) => hollow.undo().map(|()| None),
        Err(error) => hollow.undo().and(Err(error)),
    }
}

/// Completes or undoes a [`renew_files`] that was killed; `Some` if it was completed. Errors: as [`renew_files`].
pub fn complete_files(
    parent: &Dir,
    name: &[u8],
    options: &mut FilesOptions<'_>,
) -> Result<Option<FilesRenewed>> {
    let hollow = Hollow::new(parent, name)?;
    if !hollow.is_begun() {
        return Ok(None);
    }
    let now = hollow.open_locked()?;
    hollow.complete(&now, options)
}

/// Looks what [`renew_files`] would do, and changes nothing. Errors: as [`renew_files`]; files that cannot have a second name are not foreseen.
pub fn survey_files(parent: &Dir, name: &[u8]) -> Result<FilesSurvey> {
    let hollow = Hollow::new(parent, name)?;
    aside::check(parent, name, aside::Why::Renewed)?;
    let old = hollow.place.open(name)?;
    let entries = hollow.names(&old)?.len() as u64;
    Ok(FilesSurvey { entries, size_bytes: old.size_bytes()?, is_begun: hollow.is_begun() })
}

struct Hollow<'a> {
    place: Place<'a>,
    sets: String,
}

impl<'a> Hollow<'a> {
    fn new(parent: &'a Dir, name: &'a [u8]) -> Result<Self> {
        let place = Place::new(parent, name, BESIDE)?;
        let sets = place.hidden.replace(BESIDE, SETS);
        Ok(Self { place, sets })
    }

    fn is_begun(&self) -> bool {
        pairs::inode(self.place.parent, self.sets.as_bytes()).is_some()
    }

    fn open_locked(&self) -> Result<Dir> {
        let now = self.place.open(self.place.name)?;
        lock(&now)?;
        Ok(now)
    }

    fn failed(&self, error: Errno) -> Error {
        Error::io("renew", &self.place.path, error.into())
    }

    /// Names of entries that may have a second one.
    fn names(&self, old: &Dir) -> Result<Vec<Box<[u8]>>> {
        let names = entries_up_to(old, NAMES_MAX)?;
        match names.iter().find(|(_, kind)| *kind == FileType::Directory) {
            Some((name, _)) => self.refuse_directory(name),
            None => Ok(names.into_iter().map(|(name, _)| name).collect()),
        }
    }

    fn refuse_directory<T>(&self, name: &[u8]) -> Result<T> {
        let reason = format!(
            "it holds the directory '{}', which cannot have two names: move it out, or stop all programs and use the commands of 'megadir limits'",
            name.escape_ascii()
        );
        self.place.refuse(ErrorKind::Unavailable, reason)
    }

    /// Links all entries into the small directory, until no name changes. `None` if cancelled; then, and after an error, the caller undoes.
    fn prepare(&self, old: Dir, progress: &Progress) -> Result<Option<(Sets, Option<Watch>)>> {
        self.names(&old)?;
        let watch = Watch::of(&old);
        let sets = Sets::make(&self.place, &self.sets, old)?;
        let mut changed = Changed::All;
        let mut rounds = 0;
        loop {
            let is_changed = self.link_changed(&sets, &changed, progress)?;
            if progress.is_cancelled() {
                return Ok(None);
            }
            rounds += 1;
            sets.make_alike(&self.place)?;
            changed = watch.as_ref().map_or(Changed::All, Watch::changed);
            let is_quiet = match &changed {
                Changed::Names(names) => names.is_empty() || rounds >= ROUNDS_MAX,
                Changed::All => (watch.is_none() && !is_changed) || rounds >= PASSES_MAX,
            };
            if is_quiet {
                break;
            }
        }
        Ok(Some((sets, watch)))
    }

    fn exchange(&self, sets: &Sets) -> Result<()> {
        match self.place.swap(&sets.old, &sets.new) {
            Ok(true) => Ok(()),
            Ok(false) => self.undo().and(self.place.replaced()),
            Err(error) => self.undo().and(Err(error)),
        }
    }

    /// `true` if any name had changed since the last look.
    fn link_changed(&self, sets: &Sets, changed: &Changed, progress: &Progress) -> Result<bool> {
        let names = match changed {
            Changed::Names(names) => names.iter().cloned().collect(),
            Changed::All => {
                let mut names = self.names(&sets.old)?;
                names.extend(pairs::names(&sets.base)?);
                names
            }
        };
        let mut any = false;
        for name in names {
            if progress.is_cancelled() {
                return Ok(any);
            }
            match sets.link(&name) {
                Ok(Pair::Same) => {}
                Ok(Pair::Linked) => {
                    any = true;
                    progress.more(1);
                }
                Ok(Pair::Directory) => return self.refuse_directory(&name),
                Err(error) => return Err(self.not_linked(sets, &name, error)),
            }
        }
        Ok(any)
    }

    fn not_linked(&self, sets: &Sets, name: &[u8], error: Errno) -> Error {
        let path = sets.old.entry_path(name);
        let reason = match error {
            Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP | Errno::NOSYS => {
                "it cannot have a second name for a moment: immutable or append-only, another user's, or the file system has no links"
            }
            Errno::MLINK => {
                "it has as many links as the file system permits, and needs two more for a moment"
            }
            Errno::XDEV => {
                "it cannot have a second name: something is mounted on it, or it is of another project with a quota"
            }
            error => return Error::io("link", &path, error.into()).with_note("nothing was changed"),
        };
        let note = "nothing was changed; 'megadir limits' has commands for a time when no program uses the directory";
        Error::new("link", &path, ErrorKind::Unavailable, reason).with_note(note)
    }

    /// Brings changes to the small directory, until the old one is empty and removed.
    ///
    /// Names that have just changed come first, since their paths lack the change. Names that did not change wait for `GRACE`, because a
    /// look-up that began before the exchange may still be in the old directory. Only a pass that left no name is followed by the removal.
    fn settle(
        &self,
        sets: &Sets,
        watch: Option<&Watch>,
        options: &mut FilesOptions<'_>,
    ) -> Result<FilesRenewed> {
        let mut settler = Settler::new(sets);
        settler.first(watch);
        settler.all(true)?;
        let until = Instant::now() + GRACE;
        while Instant::now() < until {
            std::thread::sleep(GRACE_STEP);
            settler.first(watch);
        }
        let mut tries = 0;
        loop {
            let before = settler.followed;
            let stay = settler.all(false)?;
            if (options.goes_on)(settler.followed - before) {
                continue;
            }
            match stay.is_empty() {
                true if self.remove_old(sets)? => break,
                true => {}
                // A program may have changed the name in between.
                false if tries < TRIES => tries += 1,
                false => return self.stays(sets, stay, settler.followed, options),
            }
        }
        sets.clear(&self.place, &self.sets)?;
        Ok(FilesRenewed { followed: settler.followed, stay: 0, size_bytes: sets.new.size_bytes()? })
    }

    /// `false` if another name has appeared in it.
    fn remove_old(&self, sets: &Sets) -> Result<bool> {
        let (parent, hidden) = (self.place.parent, &*self.place.hidden);
        if pairs::inode(parent, hidden.as_bytes()) != sets.old_inode {
            return Ok(true);
        }
        match rustix::fs::unlinkat(parent, hidden, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn stays(
        &self,
        sets: &Sets,
        stay: Stay,
        followed: u64,
        options: &FilesOptions<'_>,
    ) -> Result<FilesRenewed> {
        let number = stay.len() as u64;
        for (name, error) in stay {
            let path = self.place.parent.path().join(&self.place.hidden);
            let path = path.join(crate::names::to_os(&name).unwrap_or_default());
            (options.on_failure)(match error {
                Some(error) => Error::io("renew", &path, error.into()),
                None => {
                    let reason = "another program has put a file of this name into the new directory; this one stays here: move \
                                  or remove it, and run the same command again";
                    Error::new("renew", &path, ErrorKind::Io, reason)
                }
            });
        }
        Ok(FilesRenewed { followed, stay: number, size_bytes: sets.new.size_bytes()? })
    }

    fn undo(&self) -> Result<()> {
        let now = self.place.open(self.place.name)?;
        let nothing = &mut FilesOptions { on_failure: &|_| {}, goes_on: &mut |_| false };
        self.complete(&now, nothing).map(drop)
    }

    /// Continues from the state on disk: `of` has the inodes of both directories, so that the one that has the name now shows if the
    /// exchange was made. Before it, all links are removed; afterwards the old directory is settled, or, if it was removed already, only
    /// the links that prove that are left. Any other pair of directories is refused, because nothing is known about their files.
    fn complete(&self, now: &Dir, options: &mut FilesOptions<'_>) -> Result<Option<FilesRenewed>> {
        let at = match self.place.open(self.sets.as_bytes()) {
            Ok(at) => at,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        self.check_owner(&at, now)?;
        let inode = |directory: &Dir| directory.id().map(|id| id.inode);
        let Some([old, new]) = pairs::recorded(&at) else {
            pairs::remove_empty(&self.place, &self.sets, &at)?;
            return Ok(None);
        };
        let beside = match self.place.open(self.place.hidden.as_bytes()) {
            Ok(beside) => Some(beside),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let there = beside.as_ref().map(inode).transpose()?;
        let now_is = inode(now)?;
        if now_is == old && there.is_none_or(|there| there == new) {
            pairs::undo(&self.place, &self.sets, &at, beside.as_ref())?;
            return Ok(None);
        }
        if now_is != new || there.is_some_and(|there| there != old) {
            let reason = format!(
                "'{}' beside it is of a renewal that was ended, and neither this directory nor '{}' belongs to it: move both away",
                self.sets, self.place.hidden
            );
            return self.place.refuse(ErrorKind::Unavailable, reason);
        }
        let (old, is_removed) = match beside {
            Some(old) => {
                lock(&old)?;
                (old, false)
            }
            None => (now.again()?, true),
        };
        let sets = Sets::open(&at, old, now.again()?)?;
        if is_removed {
            sets.clear(&self.place, &self.sets)?;
            return Ok(Some(FilesRenewed { size_bytes: now.size_bytes()?, ..FilesRenewed::default() }));
        }
        self.settle(&sets, None, options).map(Some)
    }

    /// In a parent that others may write, another user could leave a state that removes files.
    fn check_owner(&self, at: &Dir, now: &Dir) -> Result<()> {
        let status = rustix::fs::fstat(at).at("renew", at.path())?;
        let owner = rustix::fs::fstat(now).at("renew", now.path())?.st_uid;
        let is_trusted = [owner, rustix::process::geteuid().as_raw(), 0].contains(&status.st_uid);
        if is_trusted && Mode::from_raw_mode(status.st_mode) & (Mode::RWXG | Mode::RWXO) == Mode::empty() {
            return Ok(());
        }
        let reason = format!("'{}' beside it is of another user: remove it", self.sets);
        self.place.refuse(ErrorKind::Unavailable, reason)
    }
}
