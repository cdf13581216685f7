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
//! does not meet them counts and stays, also one below the greatest depth. Directories neither count nor go, because the writers of a
//! cache make them once. File systems that are mounted below neither count nor are entered.
//!
//! **Beside writers.** Nothing goes whose time, or whose inode's last change, is at or after the start of the run (`began.rs`), in any
//! pass and in the removal: it was used, made, moved or linked meanwhile. The removal works only on the directory that was read, by device
//! and inode, and enters only directories that were (`directories_seen.rs`). It ends as soon as it has freed what was selected (`account.rs`). What another process has
//! removed meanwhile is no failure. A file that takes the name of a selected one between the look and the unlink goes (no system call can
//! check what it removes); that time is as short as for other conditions. The threshold is not moved while the run lasts: files that stay
//! for such reasons are missing from what is freed. Then the directory is counted again, and [`Outcome::now`] is what it holds.
//!
//! **Kills.** A run that is killed has removed part of the files up to the threshold. The next run counts again.
//!
//! **Units.** With [`SelectOptions::by_directory`], `gathered.rs` makes each directory directly below the named one a unit with one time, its
//! last use, and `remove/units.rs` removes it as a whole, itself included. What lies beside the units counts and stays.

mod account;
mod began;
mod directories_seen;
mod gathered;
mod linked;
mod pass;
mod ranges;
mod request;
mod scan;
mod selection;
#[cfg(test)]
mod tests;
mod units_seen;

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

pub use self::ranges::Amount;
pub use self::request::{Budget, Measure, Portion};
pub use self::selection::Selection;
pub(super) use self::selection::Taken;

use self::account::Account;
use self::directories_seen::DirectoriesSeen;
use self::linked::LinkedFiles;
use self::pass::{Purpose, Scan};
use self::ranges::{Key, Keys, Ranges};
use self::selection::Shared;
use self::units_seen::UnitsSeen;
use crate::attributes::Time;
use crate::conditions::{Conditions, TimeKind};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::mount_traits::{InodeNumbers, MountTraits};
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
    /// Each directory directly below the named one goes as a whole, if it holds files. Then conditions apply to these directories, by name
    /// and last use, except that [`Conditions::exclude`] has no paths and protects entries in them too; others are refused.
    pub by_directory: bool,
    /// Threads that read the tree; `None` for the number that suits the file system.
    pub threads: Option<usize>,
    /// Most memory for the order, bytes, as much for files with several names, as much for units, and a quarter for directories.
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
    /// Contents of the directory when it was read. Without [`Self::unread`], so that there may be more.
    pub held: Amount,
    /// Selected files. Names of directories do not count.
    pub selected: Amount,
    /// Removed files (in a dry run: files that would be).
    pub freed: Amount,
    /// Unit of the budget.
    pub measure: Measure,
    /// Most that the directory may hold, or least that has to be free.
    pub limit: u64,
    /// Contents after the removal, or the amount that is free then. If the removal freed less than was selected, counted again; else
    /// computed, as if no other process had changed anything.
    pub now: u64,
    /// The rest fits, as far as it could be read.
    pub is_met: bool,
    /// Directories and entries that could not be read. A budget of the directory may hold more than [`Self::now`] by what they hold.
    pub unread: u64,
    /// Names of files with several names, and units, that the memory had no room for; they stay.
    pub untracked: u64,
}

/// Finds what has to go. Returns `None` if `watch` requested a stop; `watch` gets failures of the first pass, whose entries stay and are
/// not counted. Errors: the directory cannot be read, or its file system does not count what the budget names.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// use megadir::Dir;
/// use megadir::remove::budget::{Budget, SelectOptions, select};
/// use megadir::remove::{Progress, RemoveOptions, remove_contents};
/// use std::ops::ControlFlow;
/// let cache = scratch.path().join("cache");
/// std::fs::create_dir(&cache).unwrap();
/// (0..10).for_each(|file| std::fs::write(cache.join(file.to_string()), "x").unwrap());
///
/// let select_options = SelectOptions::new(Budget::parse("7 files").unwrap());
/// let cache_opened = Dir::open(&cache)?;
/// let selected = select(&cache_opened, &select_options, &mut |_| ControlFlow::Continue(()))?;
/// let selection = selected.expect("nothing requested a stop");
/// let on_failure = |failure| eprintln!("{failure}");
/// let options = RemoveOptions { budget: Some(&selection), ..RemoveOptions::new(2, &on_failure) };
/// remove_contents(&cache_opened, &options, &Progress::new())?;
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
    let budget = options.budget;
    let (numbers, traits) = (budget.numbers(&directory)?, MountTraits::of(&directory));
    let reading = Reading::new(options, &traits, &directory)?;
    let mut unread = Unread::default();
    let Some(first) = reading.pass(&directory, Purpose::First, &mut unread.watched(watch))? else {
        return Ok(None);
    };
    let held = *lock(&first.holds);
    let mut search = Search {
        measure: budget.measure(),
        excess: budget.excess(&numbers, &held),
        threshold: None,
        selected: Amount::default(),
    };
    let mut scan = first;
    for _ in 0..PASSES_MAX {
        let Some((first, last)) = search.look(lock(&scan.ranges).sorted()) else { break };
        // Failures were those of the first pass.
        let quiet = &mut |event: TreeEvent<'_>| match event {
            TreeEvent::Read(_) => watch(event),
            _ => ControlFlow::Continue(()),
        };
        let Some(next) = reading.pass(&directory, Purpose::Within(first, last), quiet)? else {
            return Ok(None);
        };
        scan = next;
    }
    drop(scan);
    let Search { threshold, selected, .. } = search;
    lock(&reading.units).keep_until(threshold.as_ref().map_or(EARLIEST, |last| last.time));
    let has_linked = lock(&reading.linked).is_used();
    let account = Account::new(budget.measure(), budget.measure().of(&selected));
    let id = directory.id()?;
    let shared = Shared {
        reading,
        numbers,
        directory,
        id,
        keeps_open: traits.removed_open,
        held,
        threshold,
        selected,
        has_linked,
        account,
        unread,
        counted: Mutex::default(),
        looks: AtomicUsize::new(0),
    };
    Ok(Some(Selection::new(shared)))
}

const EARLIEST: Time = Time { seconds: i64::MIN, nanoseconds: 0 };

/// Settings and tables that the passes over a tree share.
#[derive(Debug)]
struct Reading {
    budget: Budget,
    by_directory: bool,
    threads: Option<usize>,
    memory_bytes: usize,
    /// As the caller gave them.
    conditions: Arc<Conditions>,
    sight: Arc<Conditions>,
    began: Time,
    linked: Arc<Mutex<LinkedFiles>>,
    units: Arc<Mutex<UnitsSeen>>,
    /// `None` where inode numbers are no evidence.
    directories: Option<Arc<Mutex<DirectoriesSeen>>>,
}

/// Share of the memory for directories.
const DIRECTORIES_SHARE: usize = 4;

impl Reading {
    fn new(options: &SelectOptions, traits: &MountTraits, directory: &Dir) -> Result<Self> {
        let SelectOptions { budget, by_directory, threads, memory_bytes, .. } = *options;
        let conditions = Arc::clone(&options.conditions);
        if by_directory {
            check_units(directory, &conditions)?;
        }
        let Conditions { exclude, by, .. } = (*conditions).clone();
        Ok(Self {
            budget,
            by_directory,
            threads,
            memory_bytes,
            conditions,
            sight: Arc::new(Conditions { exclude, by, ..Conditions::default() }),
            began: began::now(directory, traits),
            directories: matches!(traits.inode_numbers, InodeNumbers::Lasting | InodeNumbers::OfPaths)
                .then(|| Arc::new(Mutex::new(DirectoriesSeen::new(memory_bytes / DIRECTORIES_SHARE)))),
            linked: Arc::new(Mutex::new(LinkedFiles::new(memory_bytes))),
            units: Arc::new(Mutex::new(UnitsSeen::new(memory_bytes))),
        })
    }

    /// Returns `None` if `watch` requested a stop.
    fn pass(
        &self,
        directory: &Dir,
        purpose: Purpose,
        watch: &mut dyn FnMut(TreeEvent<'_>) -> ControlFlow<()>,
    ) -> Result<Option<Arc<Scan>>> {
        let linked = match purpose {
            // The table is needed for the removal.
            Purpose::Count => Arc::new(Mutex::new(LinkedFiles::new(self.memory_bytes))),
            _ => Arc::clone(&self.linked),
        };
        let is_first = purpose == Purpose::First;
        let scan = Arc::new(Scan {
            sight: Arc::clone(&self.sight),
            conditions: Arc::clone(&self.conditions),
            by_directory: self.by_directory,
            began: self.began,
            purpose,
            linked_max: self.memory_bytes / linked::FILE_BYTES,
            linked_held: AtomicUsize::new(0),
            ranges: Mutex::new(Ranges::new(self.memory_bytes)),
            linked,
            units: Arc::clone(&self.units),
            directories: self.directories.as_ref().filter(|_| is_first).map(Arc::clone),
            holds: Mutex::default(),
        });
        let flow = scan::read(&scan, directory, self.threads, watch)?;
        if flow.is_continue() {
            add_linked(&scan);
        }
        Ok(flow.is_continue().then_some(scan))
    }
}

/// Hashes of paths of failures, at most; further ones may be reported twice.
const UNREAD_MAX: usize = 65_536;

/// Failures of the first pass, so that the removal, which meets most of them again, need not report them again.
#[derive(Debug, Default)]
struct Unread {
    count: u64,
    paths: HashSet<u64>,
}

impl Unread {
    fn watched<'w>(
        &'w mut self,
        watch: &'w mut dyn FnMut(TreeEvent<'_>) -> ControlFlow<()>,
    ) -> impl FnMut(TreeEvent<'_>) -> ControlFlow<()> + 'w {
        |event| {
            match event {
                TreeEvent::Failed(error) => self.add(error.path(), 1),
                TreeEvent::Unexamined { directory, count, .. } => self.add(directory, count),
                _ => {}
            }
            watch(event)
        }
    }

    fn add(&mut self, path: &Path, count: u64) {
        self.count = self.count.saturating_add(count);
        if self.paths.len() < UNREAD_MAX {
            self.paths.insert(hash(path));
        }
    }

    fn has(&self, path: &Path) -> bool {
        self.paths.contains(&hash(path))
    }
}

fn hash(path: &Path) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(path)
}

fn check_units(directory: &Dir, units: &Conditions) -> Result<()> {
    let of_units = Conditions {
        exclude: units.exclude.clone(),
        names: units.names.clone(),
        by: units.by,
        before: units.before,
        since: units.since,
        ..Conditions::default()
    };
    if of_units == *units && !units.exclude.has_paths() {
        return Ok(());
    }
    let reason = "units of directories: only conditions on their names and times, and exclusions by name";
    Err(Error::new("select", directory.path(), ErrorKind::BadOption, reason))
}

fn add_linked(scan: &Scan) {
    let mut keys = Keys::default();
    for (place, amount) in lock(&scan.linked).removable() {
        if scan.is_within(place.time, &place.path) {
            // The units count their names.
            let names = if scan.by_directory { 0 } else { amount.names };
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
            if selected.saturating_add(self.measure.of(&range.amount)) >= self.excess && !range.is_one_key() {
                return Some((range.first.clone(), range.last.clone()));
            }
            self.selected.add(&range.amount);
            self.threshold = Some(range.last.clone());
        }
        None
    }
}
