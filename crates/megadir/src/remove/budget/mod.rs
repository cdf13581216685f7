//! Keeping a directory within a budget: the files that were not used for the longest time go, until the rest fits.
//!
//! ```text
//! Budget::parse -> select: a pass over the tree -> sums, and rows of the oldest files (time, path, print)
//!               -> (question) -> Selection::remove: another count: the need by then, never more than before
//!               -> oldest first, each looked at by its path and compared with its row -> unlinkat
//!                  `- rows used up, and files were left out of memory? another pass, from the last row on
//! ```
//!
//! **Order.** By time, the one of [`Conditions::by`], and within a time by the bytes of the path below the directory. So the order
//! depends on the files alone, and a dry run selects what the run removes.
//!
//! **What counts, and what goes.** Regular files, by the space that they occupy on disk as du(1) counts it. A file with several names counts
//! once and stays, because removing one name frees nothing. All else neither counts nor goes: directories, links, sockets, devices, files and
//! directories that are mount points, and mounted file systems. A budget of bytes removes no file without blocks. Excluded entries are not
//! seen; other conditions only protect: a file that does not meet them counts and stays, also one below the greatest depth.
//!
//! **Nothing goes in vain.** If files that stay whatever the conditions are (with several names, or times to come) alone exceed the budget,
//! or if all that may go would not free enough of the file system, the removal would take everything and not reach the budget: then
//! nothing goes, and [`Outcome::is_out_of_reach`] is set. If only conditions protect too much of a directory, what they leave goes. A removal
//! for free space ends with [`Outcome::frees_nothing`] where an eighth of it freed next to nothing (`trial.rs`).
//!
//! **Beside writers.** Nothing goes whose time of access, modification or change is at or after the start of the run (`began.rs`), or that
//! differs from what it was when it was selected, or that is in a directory which was renamed or excluded (`last_look.rs`). What another
//! process removes counts as freed: the directory is counted again before the first removal and every few seconds. What
//! has to go only shrinks, so that neither new files, nor files that were renamed during a count and counted twice, nor files in directories that
//! were renamed since the start make more go. A file that takes the name of a selected one in the microseconds between the look and the unlink
//! goes: no system call can check what it removes.
//!
//! **Memory** is bounded ([`SelectOptions::memory_bytes`]), for about a million files; each further million to be removed takes a pass.
//!
//! **Kills.** A run that is killed has removed the oldest. The next run counts again.

mod began;
mod last_look;
mod pass;
mod removal;
mod request;
mod rows;
#[cfg(test)]
mod tests;
mod trial;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};

pub use self::request::{Budget, Measure, Portion};
pub use self::rows::Amount;

use self::pass::{Reading, Sums};
use self::request::Numbers;
use self::rows::Oldest;
use crate::conditions::{Conditions, TimeKind};
use crate::dir::{Dir, DirId};
use crate::error::{Error, ErrorKind, Result};
use crate::mount_traits::MountTraits;
use crate::mounts;
use crate::remove::progress::FileId;
use crate::walk::TreeEvent;

/// Most counts in a row, if directories are renamed during each.
const COUNTS_MAX: u32 = 3;

/// Settings of a selection.
#[derive(Clone, Debug)]
pub struct SelectOptions {
    /// Most that the directory may hold, or least that has to be free.
    pub budget: Budget,
    /// Conditions of the removal. [`Conditions::by`] is the time of the order; files that do not meet them stay.
    pub conditions: Arc<Conditions>,
    /// Threads that read the tree; `None` for the number that suits the file system.
    pub threads: Option<usize>,
    /// Most memory for the oldest files, bytes; about 80 for a file.
    pub memory_bytes: usize,
}

impl SelectOptions {
    /// Files in the order of their last use, in 96 MiB.
    pub fn new(budget: Budget) -> Self {
        let conditions = Arc::new(Conditions { by: TimeKind::Used, ..Conditions::default() });
        Self { budget, conditions, threads: None, memory_bytes: 96 << 20 }
    }
}

/// Figures of a selection and of the removal so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Regular files in the directory when it was read first, as far as it could be read.
    pub held: Amount,
    /// Files among these with several names, which stay.
    pub linked: Amount,
    /// Files that have to go, as far as memory holds them.
    pub selected: Amount,
    /// Amount that has to go by the budget's unit, at the start.
    pub excess: u64,
    /// Files removed (in a dry run: that would be).
    pub freed: Amount,
    /// Selected files that stay because they were used, changed, replaced or moved meanwhile.
    pub changed: u64,
    /// Most that the directory may hold, or least that is free.
    pub limit: u64,
    /// Content of the directory, or free amount: after a removal counted again, else when it was read.
    pub now: u64,
    /// The rest fits, as far as it could be read.
    pub is_met: bool,
    /// The budget cannot be reached, whatever goes, so nothing goes.
    pub is_out_of_reach: bool,
    /// The files that went freed next to nothing, so nothing more goes. Only for a budget of free space.
    pub frees_nothing: bool,
    /// Least that the directory could hold, or most that could be free.
    pub reachable: u64,
    /// Directories and entries that could not be read, in the worst of all counts. The directory may hold more than [`Self::now`] by their content.
    pub unread: u64,
}

impl Outcome {
    /// `true` if the rest fits, and nothing was left out of the count because it could not be read.
    #[must_use]
    pub fn is_surely_met(&self) -> bool {
        self.is_met && self.unread == 0
    }
}

/// Files that have to go, for one removal.
///
/// It holds the directory's descriptor and not only its path, since minutes may pass between the selection and the
/// removal, with a question between them. Amounts (`need`, `removed_by_others`) are in the unit of the budget: bytes or files.
/// `oldest` and `next` are replaced when the rows are used up and more have to go.
#[derive(Debug)]
pub struct Selection {
    budget: Budget,
    reading: Reading,
    numbers: Numbers,
    directory: Dir,
    id: DirId,
    /// Its path led to it when it was read.
    is_by_path: bool,
    memory_bytes: usize,
    oldest: Oldest,
    /// Directories that this removal has changed, up to a million.
    changed_here: HashSet<FileId>,
    /// Rows before this one have been judged.
    next: usize,
    /// Amount that still has to go. It only shrinks.
    need: u64,
    /// Part of the selection that others have removed. `need` has shrunk by it, perhaps a second time after a count.
    removed_by_others: u64,
    outcome: Outcome,
}

/// Selects the files that have to go. Returns `None` if `watch` requested a stop; `watch` gets failures, whose entries stay and are
/// not counted. Errors: the directory cannot be read, or its file system does not count what the budget names.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// use megadir::Dir;
/// use megadir::remove::budget::{Budget, SelectOptions, select};
/// use megadir::remove::{Progress, RemoveOptions};
/// use std::ops::ControlFlow;
/// let cache = scratch.path().join("cache");
/// std::fs::create_dir(&cache).unwrap();
/// (0..10).for_each(|file| std::fs::write(cache.join(file.to_string()), "x").unwrap());
/// # std::thread::sleep(std::time::Duration::from_millis(20));
///
/// let select_options = SelectOptions::new(Budget::parse("7 files").unwrap());
/// let selected = select(&Dir::open(&cache)?, &select_options, &mut |_| ControlFlow::Continue(()))?;
/// let mut selection = selected.expect("nothing requested a stop");
/// let on_failure = |failure| eprintln!("{failure}");
/// selection.remove(&RemoveOptions::new(None, &on_failure), &Progress::new())?;
/// assert!(selection.outcome().is_met);
/// assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 7);
/// # Ok::<(), megadir::Error>(())
/// ```
pub fn select(
    directory: &Dir,
    options: &SelectOptions,
    watch: &mut dyn FnMut(TreeEvent<'_>) -> ControlFlow<()>,
) -> Result<Option<Selection>> {
    let directory = directory.again_for_reader()?.into_top();
    let (budget, memory_bytes) = (options.budget, options.memory_bytes);
    check(&directory)?;
    let (numbers, traits) = (budget.numbers(&directory)?, MountTraits::of(&directory));
    let Conditions { exclude, by, .. } = (*options.conditions).clone();
    let reading = Reading {
        measure: budget.measure(),
        conditions: Arc::clone(&options.conditions),
        sight: Arc::new(Conditions { exclude, by, ..Conditions::default() }),
        began: began::now(&directory, &traits),
        threads: options.threads,
        mount: mounts::mount_id(&directory),
        excluded: Arc::new(Mutex::new(HashSet::new())),
    };
    let mut counts = 0;
    let (sums, oldest) = loop {
        let Some((sums, Some(oldest))) = reading.pass(&directory, Some((memory_bytes, None)), watch)? else {
            return Ok(None);
        };
        counts += 1;
        if !sums.is_unsound || counts == COUNTS_MAX {
            break (sums, oldest);
        }
    };
    let id = directory.id()?;
    let is_by_path = is_at(directory.path(), &id);
    let (next, outcome) = (0, Outcome { unread: sums.unread, ..Outcome::default() });
    let mut selection = Selection {
        budget,
        reading,
        numbers,
        directory,
        id,
        is_by_path,
        memory_bytes,
        oldest,
        changed_here: HashSet::new(),
        next,
        need: 0,
        removed_by_others: 0,
        outcome,
    };
    selection.begin(&sums);
    Ok(Some(selection))
}

/// Errors: the system does not let this process open directories so that no exchange can divert it.
fn check(directory: &Dir) -> Result<()> {
    match last_look::open_below(directory, b".") {
        Ok(_) => Ok(()),
        Err(error) => {
            let reason = format!(
                "the system refuses openat2 ({error}), without which files may be exchanged unnoticed"
            );
            Err(Error::new("remove", directory.path(), ErrorKind::Unavailable, reason))
        }
    }
}

impl Selection {
    /// Computes from the first sums how much has to go. In a directory, only files that have not changed since the
    /// start (`settled`) make others go; for free space, the file system's own figures decide. The bound for a budget
    /// that is out of reach differs: space in a file system is freed only by files that may go, so it is compared
    /// with `removable`; a directory is compared with `movable`, because conditions that protect too much still let
    /// the rest go. Rows are added up from the oldest on until they suffice, for the figures of a question; the
    /// removal itself looks at the need before each file.
    fn begin(&mut self, sums: &Sums) {
        let measure = self.budget.measure();
        let excess = self.budget.excess(&self.numbers, &sums.settled);
        let (is_of_free, held) = (self.budget.is_of_free(), measure.of(&sums.held));
        // If conditions protect too much of the directory, what they leave goes: that brings it nearer to its budget.
        let most = measure.of(if is_of_free { &sums.removable } else { &sums.movable });
        let is_out_of_reach = most < excess;
        let reachable =
            if is_of_free { self.numbers.free.saturating_add(most) } else { held.saturating_sub(most) };
        self.need = if is_out_of_reach { 0 } else { excess };
        let mut selected = Amount::default();
        for row in self.oldest.rows() {
            if measure.of(&selected) >= self.need {
                break;
            }
            selected.add(&Amount { files: 1, bytes: row.bytes });
        }
        let now = if is_of_free { self.numbers.free } else { held };
        let (held, linked, limit) = (sums.held, sums.linked, self.numbers.limit);
        self.outcome = Outcome {
            held,
            linked,
            selected,
            excess,
            limit,
            now,
            is_out_of_reach,
            reachable,
            ..self.outcome
        };
        self.judge();
    }

    fn judge(&mut self) {
        let Outcome { now, limit, .. } = self.outcome;
        self.outcome.is_met = if self.budget.is_of_free() { now >= limit } else { now <= limit };
        // Others may have freed what no removal here could.
        self.outcome.is_out_of_reach &= !self.outcome.is_met;
    }

    /// Figures so far.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// `true` if nothing has to go, or nothing may.
    pub fn is_empty(&self) -> bool {
        self.outcome.selected.files == 0
    }

    /// `true` if there is more to go than [`Outcome::selected`].
    pub fn is_cut(&self) -> bool {
        self.oldest.is_cut() && self.reading.measure.of(&self.outcome.selected) < self.need
    }

    /// Counts the tree, or the free amount, again: less goes if less is needed by now. `false` if `watch` requested a stop.
    fn count(&mut self, watch: &mut dyn FnMut(TreeEvent<'_>) -> ControlFlow<()>) -> Result<bool> {
        if self.budget.is_of_free() {
            self.outcome.now =
                self.budget.free(&self.directory).map_or(self.outcome.now, |free| free.of_users);
            self.need = self.need.min(self.outcome.limit.saturating_sub(self.outcome.now));
        } else {
            for _ in 0..COUNTS_MAX {
                let passed = self.reading.pass(&self.directory, None, watch)?;
                let Some((sums, _)) = passed else { return Ok(false) };
                self.outcome.now = self.reading.measure.of(&sums.held);
                self.outcome.unread = self.outcome.unread.max(sums.unread);
                let settled = self.reading.measure.of(&sums.settled);
                self.need = self.need.min(settled.saturating_sub(self.outcome.limit));
                let most = self.reading.measure.of(&sums.movable);
                if most < self.need {
                    self.need = 0;
                    self.outcome.is_out_of_reach = true;
                    self.outcome.reachable = self.outcome.now.saturating_sub(most);
                }
                if !sums.is_unsound {
                    break;
                }
            }
        }
        self.judge();
        Ok(true)
    }

    /// Errors: the path leads to another directory by now.
    fn check_place(&self) -> Result<()> {
        let path = self.directory.path();
        if !self.is_by_path || is_at(path, &self.id) {
            return Ok(());
        }
        let reason = "moved or replaced since it was read; nothing more was removed";
        Err(Error::new("remove", path, ErrorKind::NotFound, reason))
    }
}

fn is_at(path: &Path, id: &DirId) -> bool {
    rustix::fs::stat(path).is_ok_and(|found| (found.st_dev, found.st_ino) == (id.device, id.inode))
}

/// Times of last access that a mount records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessTimes {
    /// Each access.
    Recorded,
    /// At most once a day, or after a modification (`relatime`).
    Seldom,
    /// Never (`noatime`, or read-only).
    Never,
}

impl AccessTimes {
    /// By the options of the directory's mount.
    pub fn of(directory: &Dir) -> Self {
        use rustix::fs::StatVfsMountFlags as Flags;
        let flags = rustix::fs::fstatvfs(directory).map_or(Flags::empty(), |status| status.f_flag);
        if flags.intersects(Flags::NOATIME | Flags::RDONLY) {
            Self::Never
        } else if flags.contains(Flags::RELATIME) {
            Self::Seldom
        } else {
            Self::Recorded
        }
    }
}
