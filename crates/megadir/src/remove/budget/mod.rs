//! Keeping a directory within a budget: the files that were not used for the longest time go, until the rest fits.
//!
//! ```text
//! Budget::parse -> select: pass over the tree -> ranges of (time, path) with their bytes -> the range in which the rest fits
//!                          `- more than one file in it? another pass, of that range alone
//!               -> Selection: a threshold (time, path) -> remove_tree with RemoveOptions::budget: each entry is looked at
//!                  again just before its unlinkat, and stays if its place is behind the threshold by then
//! ```
//!
//! **Order.** By time, the one of [`Conditions::by`], and within a time by the bytes of the path below the directory. So the order
//! depends on the files alone, and a dry run selects what the run removes. Nothing is sorted: a selection is one key, whatever the number
//! of files. The files up to the threshold go, no more than are needed.
//!
//! **Memory.** `ranges.rs` keeps the order in at most [`SelectOptions::memory_bytes`]: exactly for some 200 000 files, then as ranges with
//! exact sums. A further pass reads only one range of the first, so that two passes suffice for 40 thousand million files. Files with
//! several names have a table of their own with as much (`linked.rs`); names of files beyond it stay.
//!
//! **What counts.** Entries that are not directories, by the space that they occupy on disk as du(1) counts it. A file with several names
//! counts once, and goes with all of them or stays. Excluded entries are not seen at all; other conditions only protect: an entry that
//! does not meet them counts and stays. Directories neither count nor go, because the writers of a cache make them once.
//!
//! **Beside writers.** What is written or used while a run lasts has a time behind the threshold, in any pass, or stays uncounted. What
//! another process has removed meanwhile is no failure. A file that takes the name of a selected one between the look and the unlink goes
//! (no system call can check what it removes); that time is as short as for other conditions. The threshold is not moved while the run
//! lasts: files that stay for such reasons are missing from what is freed, and [`Outcome::is_met`] is `false`.
//!
//! **Kills.** A run that is killed has removed part of the files up to the threshold. The next run counts again.
//!
//! **Units.** With [`SelectOptions::by_directory`], `gathered.rs` makes each directory directly below the named one a unit with one time, its
//! last use, and `remove/units.rs` removes it as a whole, itself included. What lies beside the units counts and stays.

mod gathered;
mod linked;
mod pass;
mod ranges;
mod request;
mod scan;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

pub use self::ranges::Amount;
pub use self::request::{Budget, Measure, Portion};

use self::gathered::{accepts_unit, last_use};
use self::linked::{Known, LinkedFiles};
use self::pass::Scan;
use self::ranges::{Key, Keys, Ranges};
use self::request::Numbers;
use crate::attributes::{Attributes, Time};
use crate::conditions::{Conditions, Place, TimeKind};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::remove::progress::FileId;
use crate::threads::lock;
use crate::walk::TreeEvent;

/// Each pass but the first reads one range of the one before.
const PASSES_MAX: usize = 16;

/// Settings of a selection.
#[derive(Clone, Debug)]
pub struct SelectOptions {
    /// Most that the directory may hold, or least that has to be free.
    pub budget: Budget,
    /// Conditions of the removal. [`Conditions::by`] is the time of the order; entries that do not meet them stay.
    pub conditions: Arc<Conditions>,
    /// Each directory directly below the named one goes as a whole. Then conditions apply to these directories, by name and last use,
    /// except that [`Conditions::exclude`] has no paths and protects entries in them too; others are refused.
    pub by_directory: bool,
    /// Threads that read the tree; `None` for the number that suits the file system.
    pub threads: Option<usize>,
    /// Most memory for the order, bytes, and as much for files with several names.
    pub memory_bytes: usize,
}

impl SelectOptions {
    /// Files in the order of their last use, in 32 MiB.
    pub fn new(budget: Budget) -> Self {
        let conditions = Arc::new(Conditions { by: TimeKind::Used, ..Conditions::default() });
        Self { budget, conditions, by_directory: false, threads: None, memory_bytes: 32 << 20 }
    }
}

/// Figures of a selection and of the removal so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Contents of the directory when it was read.
    pub held: Amount,
    /// Selected files. Names of directories do not count.
    pub selected: Amount,
    /// Removed files (in a dry run: files that would be).
    pub freed: Amount,
    /// Unit of the budget.
    pub measure: Measure,
    /// Most that the directory may hold, or least that has to be free.
    pub limit: u64,
    /// Contents after the removal, or the amount that is free then, if nothing else changes it.
    pub now: u64,
    /// The rest fits.
    pub is_met: bool,
    /// Names of files with several names that the memory had no room for; they stay.
    pub untracked: u64,
}

/// Selection of what has to go, for [`RemoveOptions::budget`](super::RemoveOptions::budget) of one removal of the same directory.
#[derive(Debug)]
pub struct Selection {
    shared: Arc<Shared>,
    /// As the caller gave them; in a unit the exclusions.
    conditions: Arc<Conditions>,
    is_inside: bool,
}

#[derive(Debug)]
struct Shared {
    budget: Budget,
    numbers: Numbers,
    by: TimeKind,
    by_directory: bool,
    held: Amount,
    excess: u64,
    threshold: Option<Key>,
    selected: Amount,
    has_linked: bool,
    linked: Arc<Mutex<LinkedFiles>>,
    freed: Mutex<Amount>,
}

/// Finds what has to go. Returns `None` if `watch` requested a stop; `watch` gets failures of the first pass, whose entries stay and are
/// not counted. Errors: the directory cannot be read, or its file system does not count what the budget names.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// use megadir::Dir;
/// use megadir::remove::budget::{Budget, SelectOptions, select};
/// use megadir::remove::{Progress, RemoveOptions, remove_tree};
/// use std::ops::ControlFlow;
/// let cache = scratch.path().join("cache");
/// std::fs::create_dir(&cache).unwrap();
/// (0..10).for_each(|file| std::fs::write(cache.join(file.to_string()), "x").unwrap());
///
/// let select_options = SelectOptions::new(Budget::parse("7 files").unwrap());
/// let selected = select(&Dir::open(&cache)?, &select_options, &mut |_| ControlFlow::Continue(()))?;
/// let selection = selected.expect("nothing requested a stop");
/// let on_failure = |failure| eprintln!("{failure}");
/// let conditions = Some(&*select_options.conditions);
/// let options = RemoveOptions { conditions, budget: Some(&selection), ..RemoveOptions::new(2, &on_failure) };
/// remove_tree(&Dir::open(scratch.path())?, b"cache", &options, &Progress::new())?;
/// assert!(selection.outcome().is_met);
/// assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 7);
/// # Ok::<(), megadir::Error>(())
/// ```
pub fn select(
    directory: &Dir,
    options: &SelectOptions,
    watch: &mut dyn FnMut(TreeEvent<'_>) -> ControlFlow<()>,
) -> Result<Option<Selection>> {
    let SelectOptions { budget, by_directory, memory_bytes, .. } = *options;
    let directory = &directory.again_for_reader()?.into_top();
    let numbers = budget.numbers(directory)?;
    let of_units = by_directory.then(|| Arc::clone(&options.conditions));
    let conditions = match &of_units {
        Some(units) => exclusions(directory, units)?,
        None => Arc::clone(&options.conditions),
    };
    let linked = Arc::new(Mutex::new(LinkedFiles::new(memory_bytes, budget.is_of_free())));
    let mut pass = |within| {
        let scan = Scan {
            conditions: Arc::clone(&conditions),
            of_units: of_units.clone(),
            linked_max: memory_bytes / linked::FILE_BYTES,
            within,
            ranges: Mutex::new(Ranges::new(memory_bytes)),
            linked: Arc::clone(&linked),
            holds: Mutex::default(),
        };
        let scan = Arc::new(scan);
        let flow = scan::read(&scan, directory, options.threads, watch)?;
        if flow.is_continue() {
            add_linked(&scan, by_directory);
        }
        Ok::<_, Error>(flow.is_continue().then_some(scan))
    };
    let Some(first) = pass(None)? else { return Ok(None) };
    let held = *lock(&first.holds);
    let excess = budget.excess(&numbers, &held);
    let mut search =
        Search { measure: budget.measure(), excess, threshold: None, selected: Amount::default() };
    let mut scan = first;
    for _ in 0..PASSES_MAX {
        let Some(within) = search.look(lock(&scan.ranges).sorted()) else { break };
        let Some(next) = pass(Some(within))? else { return Ok(None) };
        scan = next;
    }
    let Search { threshold, selected, .. } = search;
    let has_linked = lock(&linked).is_used();
    let by = options.conditions.by;
    let freed = Mutex::default();
    let shared = Shared {
        budget,
        numbers,
        by,
        by_directory,
        held,
        excess,
        threshold,
        selected,
        has_linked,
        linked,
        freed,
    };
    let conditions = Arc::clone(&options.conditions);
    Ok(Some(Selection { shared: Arc::new(shared), conditions, is_inside: false }))
}

/// Conditions on what is in a unit: it goes as a whole, except for what is excluded.
fn exclusions(directory: &Dir, units: &Conditions) -> Result<Arc<Conditions>> {
    let of_units = Conditions {
        exclude: units.exclude.clone(),
        names: units.names.clone(),
        by: units.by,
        before: units.before,
        since: units.since,
        ..Conditions::default()
    };
    if of_units != *units || units.exclude.has_paths() {
        let reason = "units of directories: only conditions on their names and times, and exclusions by name";
        return Err(Error::new("select", directory.path(), ErrorKind::BadOption, reason));
    }
    Ok(Arc::new(Conditions { exclude: units.exclude.clone(), by: units.by, ..Conditions::default() }))
}

fn add_linked(scan: &Scan, by_directory: bool) {
    let mut keys = Keys::default();
    for (place, amount) in lock(&scan.linked).removable() {
        if scan.is_within(place.time, &place.path) {
            // The units count their names.
            let names = if by_directory { 0 } else { amount.names };
            keys.add(place.time, &place.path, Amount { names, ..amount });
            lock(&scan.ranges).add(&mut keys);
        }
    }
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

/// Search for the place in the order up to which files have to go.
struct Search {
    measure: Measure,
    excess: u64,
    threshold: Option<Key>,
    /// Up to the threshold.
    selected: Amount,
}

impl Search {
    /// Moves the threshold to the last range before the one in which the excess is gone, or to its key if it is but one. Returns the
    /// range if it has to be read again.
    fn look(&mut self, ranges: &[ranges::Range]) -> Option<(Key, Key)> {
        for range in ranges {
            let selected = self.measure.of(&self.selected);
            if selected >= self.excess {
                return None;
            }
            if selected + self.measure.of(&range.amount) >= self.excess && !range.is_one_key() {
                return Some((range.first.clone(), range.last.clone()));
            }
            self.selected.add(&range.amount);
            self.threshold = Some(range.last.clone());
        }
        None
    }
}

impl Selection {
    /// Figures so far.
    pub fn outcome(&self) -> Outcome {
        let Shared { budget, numbers, held, selected, .. } = &*self.shared;
        let (freed, measure) = (*lock(&self.shared.freed), budget.measure());
        let now = match budget.is_of_free() {
            true => numbers.free.saturating_add(measure.of(&freed)),
            false => measure.of(held).saturating_sub(measure.of(&freed)),
        };
        let is_met = if budget.is_of_free() { now >= numbers.limit } else { now <= numbers.limit };
        let untracked = lock(&self.shared.linked).untracked();
        let (held, selected, limit) = (*held, *selected, numbers.limit);
        Outcome { held, selected, freed, measure, limit, now, is_met, untracked }
    }

    /// `true` if nothing has to go.
    pub fn is_empty(&self) -> bool {
        self.shared.threshold.is_none()
    }

    pub(super) fn by(&self) -> TimeKind {
        self.shared.by
    }

    /// The removal has freed what has to go, so that another pass over the tree is of no use.
    pub(super) fn is_freed(&self) -> bool {
        self.shared.budget.measure().of(&lock(&self.shared.freed)) >= self.shared.excess
    }

    /// Units are removed one by one.
    pub(super) fn is_of_units(&self) -> bool {
        self.shared.by_directory && !self.is_inside
    }

    /// Directories go once they are empty.
    pub(super) fn is_inside_unit(&self) -> bool {
        self.is_inside
    }

    /// The selection of what is in a unit that goes.
    pub(super) fn inside(&self) -> Self {
        let Conditions { exclude, by, .. } = (*self.conditions).clone();
        let conditions = Arc::new(Conditions { exclude, by, ..Conditions::default() });
        Self { shared: Arc::clone(&self.shared), conditions, is_inside: true }
    }

    fn time_of(&self, file: &Attributes) -> Time {
        self.shared.by.of(&self.before_removals(file))
    }

    /// Attributes of a file without what this removal did: removing a name changes the inode, and with it the change time of the
    /// other names. Then the modification time stands for it.
    pub(super) fn before_removals(&self, file: &Attributes) -> Attributes {
        let Shared { by, has_linked, linked, .. } = &*self.shared;
        let is_ours = *by == TimeKind::Changed
            && *has_linked
            && lock(linked).has_lost_a_name((file.device, file.inode));
        if is_ours { Attributes { changed: file.modified, ..*file } } else { *file }
    }

    pub(super) fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// `true` for names of units that meet the conditions.
    pub(super) fn accepts_name(&self, name: &[u8]) -> bool {
        self.conditions.accepts_name(&Place::TOP, name)
    }

    /// `None` if part of the unit cannot be read; then `fail` gets the reasons.
    pub(super) fn last_use(&self, unit: &Dir, fail: &mut dyn FnMut(Error)) -> Result<Option<Time>> {
        last_use(unit, &self.inside().conditions, &|file| self.time_of(file), fail)
    }

    pub(super) fn takes_unit(&self, time: Time, name: &[u8]) -> bool {
        let is_selected = self.shared.threshold.as_ref().is_some_and(|last| last.cmp_to(time, name).is_ge());
        is_selected && accepts_unit(&self.conditions, name, time)
    }

    /// `true` if the file has to go, by what it is just before its removal. `path` is below the directory.
    pub(super) fn takes(&self, file: &Attributes, path: impl FnOnce() -> Vec<u8>) -> bool {
        let Some(last) = &self.shared.threshold else { return false };
        let time = self.time_of(file);
        if self.is_inside {
            return time <= last.time;
        }
        if self.shared.has_linked || file.links > 1 {
            match lock(&self.shared.linked).known((file.device, file.inode), file.links) {
                Known::Single => {}
                Known::Stays => return false,
                // Used since it was found?
                Known::At(place) => return place <= last && time <= place.time,
            }
        }
        match time.cmp(&last.time) {
            std::cmp::Ordering::Equal => *path() <= *last.path,
            order => order.is_lt(),
        }
    }

    /// Notes the removal of a name of a file and its bytes; returns the bytes freed.
    pub(super) fn note_removed(&self, (id, bytes): (FileId, u64)) -> u64 {
        let freed = match self.shared.has_linked {
            true => lock(&self.shared.linked).remove(id, bytes),
            false => Amount { names: 1, files: 1, bytes },
        };
        lock(&self.shared.freed).add(&freed);
        freed.bytes
    }
}
