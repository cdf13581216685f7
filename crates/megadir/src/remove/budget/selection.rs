//! A selection in the hands of a removal: what goes, judged again just before, and what that has freed.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::account::Account;
use super::began::{change_since, last_sign};
use super::gathered::{Gathered, Times, accepts_unit, look};
use super::linked::Known;
use super::pass::Purpose;
use super::ranges::{Amount, Key};
use super::request::Numbers;
use super::{Outcome, Reading, Unread};
use crate::attributes::{Attributes, StatMask, Time};
use crate::conditions::{Conditions, Place, TimeKind};
use crate::dir::{Dir, DirId};
use crate::error::{Error, ErrorKind, Result};
use crate::mount_traits::RemovedOpen;
use crate::remove::progress::FileId;
use crate::threads::lock;

/// Selection of what has to go, for [`RemoveOptions::budget`](crate::remove::RemoveOptions::budget) of one removal of the contents of
/// the same directory.
#[derive(Debug)]
pub struct Selection {
    shared: Arc<Shared>,
    /// As the caller gave them; in a unit the exclusions.
    conditions: Arc<Conditions>,
    is_inside: bool,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) reading: Reading,
    pub(super) numbers: Numbers,
    pub(super) directory: Dir,
    pub(super) id: DirId,
    pub(super) keeps_open: RemovedOpen,
    pub(super) held: Amount,
    pub(super) threshold: Option<Key>,
    pub(super) selected: Amount,
    pub(super) has_linked: bool,
    pub(super) account: Account,
    pub(super) unread: Unread,
    /// Amount that is free, or in the directory, after the removal.
    pub(super) counted: Mutex<Option<u64>>,
    /// Number of files taken, for looks at the free space.
    pub(super) looks: AtomicUsize,
}

/// After this many files, the removal looks at the free space again.
const LOOKS_EVERY: usize = 32;

/// Waits for space that the file system frees late, as btrfs and XFS do.
const WAITS: u32 = 10;
const WAIT: Duration = Duration::from_millis(100);

impl Selection {
    pub(super) fn new(shared: Shared) -> Self {
        let conditions = Arc::clone(&shared.reading.conditions);
        Self { shared: Arc::new(shared), conditions, is_inside: false }
    }

    /// Figures so far.
    pub fn outcome(&self) -> Outcome {
        let Shared { reading, numbers, held, selected, account, unread, .. } = &*self.shared;
        let (budget, sums) = (reading.budget, account.sums());
        let measure = budget.measure();
        let changed = measure.of(&sums.freed).saturating_add(measure.of(&sums.gone));
        let computed = match budget.is_of_free() {
            true => numbers.free.saturating_add(changed),
            false => measure.of(held).saturating_sub(changed).saturating_sub(measure.of(&sums.left)),
        };
        let now = lock(&self.shared.counted).unwrap_or(computed);
        let is_met = if budget.is_of_free() { now >= numbers.limit } else { now <= numbers.limit };
        let untracked = lock(&reading.linked).untracked() + lock(&reading.units).untracked();
        Outcome {
            held: *held,
            selected: *selected,
            freed: sums.freed,
            measure,
            limit: numbers.limit,
            now,
            is_met,
            unread: unread.count,
            untracked,
        }
    }

    #[cfg(test)]
    pub(super) fn threshold(&self) -> Option<&Key> {
        self.shared.threshold.as_ref()
    }

    /// `true` if nothing has to go.
    pub fn is_empty(&self) -> bool {
        self.shared.threshold.is_none()
    }

    /// `true` if the first pass has passed this failure of the removal, or one of its directory, to the caller already.
    pub fn has_reported(&self, error: &Error) -> bool {
        let is_of_reading = matches!(error.operation(), "open" | "read" | "list" | "stat");
        let is_known = |path: &Path| self.shared.unread.has(path);
        is_of_reading && (is_known(error.path()) || error.path().parent().is_some_and(is_known))
    }

    /// Errors: the directory is not the one that was read.
    pub(in crate::remove) fn check(&self, directory: &Dir) -> Result<()> {
        if directory.id()? == self.shared.id {
            return Ok(());
        }
        let reason =
            "another directory is there than the one that was read for the budget; nothing was removed";
        Err(Error::new("remove", directory.path(), ErrorKind::NotFound, reason))
    }

    /// Counts again if less went than was selected, and what is free in any case. Without an error, because the removal is done.
    pub(in crate::remove) fn count_again(&self) {
        let Shared { reading, directory, selected, account, keeps_open, .. } = &*self.shared;
        let budget = reading.budget;
        if budget.is_of_free() {
            *lock(&self.shared.counted) = self.free_now();
            return;
        }
        let measure = budget.measure();
        let is_as_selected = measure.of(&account.sums().freed) >= measure.of(selected);
        let is_tracked = self.outcome().untracked == 0;
        if is_as_selected && is_tracked && *keeps_open == RemovedOpen::Nameless {
            return;
        }
        let all = &mut |_: crate::TreeEvent<'_>| ControlFlow::Continue(());
        if let Ok(Some(scan)) = reading.pass(directory, Purpose::Count, all) {
            *lock(&self.shared.counted) = Some(measure.of(&lock(&scan.holds)));
        }
    }

    /// Waits a moment if the file system has not yet freed what was removed.
    fn free_now(&self) -> Option<u64> {
        let Shared { reading, directory, numbers, .. } = &*self.shared;
        let expected = self.outcome().now.min(numbers.limit);
        let mut free = reading.budget.free(directory)?;
        for wait in 0..WAITS {
            if free >= expected {
                break;
            }
            if wait == 0 {
                let _ = rustix::fs::syncfs(directory);
            } else {
                std::thread::sleep(WAIT);
            }
            free = reading.budget.free(directory)?;
        }
        Some(free)
    }

    pub(in crate::remove) fn by(&self) -> TimeKind {
        self.shared.reading.conditions.by
    }

    /// The removal has freed what has to go, so that another pass over the tree is of no use.
    pub(in crate::remove) fn is_freed(&self) -> bool {
        self.shared.account.is_freed()
    }

    /// The file system has enough free space, so that nothing more goes.
    pub(in crate::remove) fn is_enough(&self) -> bool {
        self.shared.account.is_enough()
    }

    /// Units are removed one by one.
    pub(in crate::remove) fn is_of_units(&self) -> bool {
        self.shared.reading.by_directory && !self.is_inside
    }

    /// Directories go once they are empty.
    pub(in crate::remove) fn is_inside_unit(&self) -> bool {
        self.is_inside
    }

    /// The selection of what is in a unit that goes.
    pub(in crate::remove) fn inside(&self) -> Self {
        let shared = Arc::clone(&self.shared);
        Self { conditions: Arc::clone(&shared.reading.sight), shared, is_inside: true }
    }

    pub(in crate::remove) fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// `true` for directories that were there when the run began, as far as inode numbers are evidence.
    pub(in crate::remove) fn enters(&self, directory: &impl AsFd) -> bool {
        let Some(seen) = &self.shared.reading.directories else { return true };
        rustix::fs::fstat(directory).is_ok_and(|status| {
            let device = (rustix::fs::major(status.st_dev), rustix::fs::minor(status.st_dev));
            lock(seen).has((device, status.st_ino))
        })
    }

    fn time_of(&self, file: &Attributes) -> Time {
        last_sign(self.by(), self.shared.reading.began, &self.before_removals(file))
    }

    /// Attributes of a file without what this removal did: removing a name changes the inode, and with it the change time of the
    /// other names. Then the change before stands for it.
    pub(in crate::remove) fn before_removals(&self, file: &Attributes) -> Attributes {
        let Shared { reading, has_linked, .. } = &*self.shared;
        let before = || lock(&reading.linked).changed_before((file.device, file.inode));
        let changed = if *has_linked { before() } else { None };
        Attributes { changed: changed.unwrap_or(file.changed), ..*file }
    }

    /// Someone has freed enough of the file system.
    fn has_enough(&self, dry_run: bool) -> bool {
        let Shared { reading, directory, numbers, account, looks, .. } = &*self.shared;
        let is_due = !dry_run
            && reading.budget.is_of_free()
            && looks.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOKS_EVERY);
        if is_due && reading.budget.free(directory).is_some_and(|free| free >= numbers.limit) {
            account.has_enough();
            return true;
        }
        false
    }

    /// Takes a file that has to go, by what it is just before its removal. `path` is below the directory; `look_again` returns its number
    /// of names.
    pub(in crate::remove) fn take(
        &self,
        file: &Attributes,
        dry_run: bool,
        path: impl FnOnce() -> Vec<u8>,
        look_again: &mut dyn FnMut() -> Option<u64>,
    ) -> Option<Taken<'_>> {
        let Shared { reading, threshold, has_linked, account, .. } = &*self.shared;
        let (last, time, id) = (threshold.as_ref()?, self.time_of(file), (file.device, file.inode));
        if time >= reading.began {
            return None;
        }
        let (bytes, links) = (file.allocated_bytes, file.links);
        let taken =
            |weight| Some(Taken { shared: &self.shared, id, bytes, links, weight, is_settled: false });
        if self.is_inside {
            if time > last.time {
                return None;
            }
            if *has_linked {
                let mut linked = lock(&reading.linked);
                // A name elsewhere keeps the file, though not the unit.
                linked.known(id, links, dry_run, look_again);
                linked.take(id);
            }
            return taken(0);
        }
        if self.has_enough(dry_run) {
            return None;
        }
        let weight = reading.budget.measure().of(&Amount { names: 1, files: 1, bytes });
        if *has_linked || links > 1 {
            let mut linked = lock(&reading.linked);
            match linked.known(id, links, dry_run, look_again) {
                Known::Single => {}
                Known::Stays => return None,
                Known::At { place, taken: begun } => {
                    // Used since it was found?
                    let goes = place <= last && time <= place.time && (begun > 0 || account.may_take(weight));
                    return goes.then(|| linked.take(id)).and_then(|()| taken(0));
                }
            }
        }
        let is_selected = match time.cmp(&last.time) {
            std::cmp::Ordering::Equal => *path() <= *last.path,
            order => order.is_lt(),
        };
        if is_selected && account.take(weight) { taken(weight) } else { None }
    }

    /// `true` for names of units that may have to go.
    pub(in crate::remove) fn may_take_unit(&self, name: &[u8]) -> bool {
        let units = lock(&self.shared.reading.units);
        units.is_seen(name) && self.conditions.accepts_name(&Place::TOP, name)
    }

    /// `true` if a unit has to go as it is now. If part of it cannot be read, it stays, and `fail` gets the reasons.
    pub(in crate::remove) fn takes_unit(
        &self,
        unit: &Dir,
        name: &[u8],
        dry_run: bool,
        fail: &mut dyn FnMut(Error),
    ) -> Result<bool> {
        let Shared { reading, threshold, account, .. } = &*self.shared;
        let Some(last) = threshold else { return Ok(false) };
        let wanted = StatMask::INODE | StatMask::DEVICE | StatMask::CHANGED;
        let own = unit.attributes(wanted)?;
        // Where inode numbers are no evidence, the change time alone is.
        let is_same =
            reading.directories.is_none() || lock(&reading.units).is_same(name, (own.device, own.inode));
        if !is_same || change_since(reading.began, &own).is_some() || self.has_enough(dry_run) {
            return Ok(false);
        }
        let of_directory = |row: &Attributes| change_since(reading.began, row);
        let times = Times { of_file: &|file| self.time_of(file), of_directory: &of_directory };
        let Some(gathered) = look(unit, &reading.sight, &times, fail)? else { return Ok(false) };
        let Gathered { latest: Some(time), single, .. } = gathered else { return Ok(false) };
        let is_selected = time < reading.began
            && last.cmp_to(time, name).is_ge()
            && accepts_unit(&self.conditions, name, time);
        let weight = reading.budget.measure().of(&single);
        Ok(is_selected && account.may_take(weight))
    }
}

/// A file that is about to go. If it stays after all, this is dropped.
#[derive(Debug)]
pub(in crate::remove) struct Taken<'s> {
    shared: &'s Shared,
    id: FileId,
    bytes: u64,
    links: u64,
    weight: u64,
    is_settled: bool,
}

impl Taken<'_> {
    /// Returns the bytes that the removal has freed.
    pub(in crate::remove) fn removed(mut self) -> u64 {
        let freed = match self.shared.has_linked || self.links > 1 {
            true => {
                let (freed, left) = lock(&self.shared.reading.linked).remove(self.id, self.bytes, self.links);
                self.shared.account.left(&left);
                freed
            }
            false => Amount { names: 1, files: 1, bytes: self.bytes },
        };
        self.shared.account.freed(self.weight, &freed);
        self.is_settled = true;
        freed.bytes
    }

    /// Notes that another process has removed it.
    pub(in crate::remove) fn vanished(mut self) {
        let account = &self.shared.account;
        match lock(&self.shared.reading.linked).vanish(self.id, self.bytes) {
            (amount, true) => account.freed(self.weight, &Amount { names: 0, ..amount }),
            (amount, false) => account.gone(self.weight, &amount),
        }
        self.is_settled = true;
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.shared.account.release(self.weight);
        }
    }
}
