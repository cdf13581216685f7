//! Directories as units: each directory directly below the named one, with all it holds.
//!
//! A unit was last used when any of its files was. Before its removal it is read again; a file of it that is used after that stays, and
//! with it the directories above. A unit without files takes nothing from a budget; it goes if it was modified before the threshold.

use std::sync::{Arc, Mutex};

use super::Selection;
use super::linked::{LinkedFiles, LinkedName};
use super::ranges::{Amount, Keys};
use super::scan::{Scan, Unread, walk_options};
use crate::attributes::{Attributes, StatMask, Time};
use crate::batch::Batch;
use crate::conditions::{Conditions, Place};
use crate::dir::Dir;
use crate::dir_path::DirPath;
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::listing::Listing;
use crate::policy;
use crate::remove::engine::fail;
use crate::remove::progress::{Call, FileId};
use crate::remove::{Counts, Progress, RemoveOptions, Removed, remove_tree};
use crate::threads::lock;
use crate::walk::{Walk, WalkItem};

/// What was found in a unit.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Last use of any file.
    pub(super) latest: Option<Time>,
    /// Linked files count in their own place.
    single: Amount,
    linked: Vec<(FileId, u64, u64)>,
    /// Names of linked files beyond the memory.
    unkept: Amount,
}

impl Gathered {
    pub(super) fn add(
        &mut self,
        directory: &DirPath,
        batch: Batch<'_>,
        attributes: &[Attributes],
        conditions: &Conditions,
        time: &dyn Fn(&Attributes) -> Time,
    ) -> Unread {
        let mut unread = Unread::default();
        let place = conditions.place(directory.below());
        for (entry, row) in batch.entries().zip(attributes) {
            if !conditions.sees(&place, entry.name) || unread.is_unread(entry.name, row) {
                continue;
            }
            if row.kind == FileType::Directory {
                continue;
            }
            // A unit with a file whose time is unknown is in use.
            let is_known = row.have.contains(conditions.by.want());
            let time = if is_known { time(row) } else { LATEST };
            self.latest = Some(self.latest.map_or(time, |latest| latest.max(time)));
            match row.links > 1 {
                true => self.linked.push(((row.device, row.inode), row.links, row.allocated_bytes)),
                false => self.single.add(&Amount { names: 1, files: 1, bytes: row.allocated_bytes }),
            }
        }
        unread
    }

    fn merge(&mut self, mut other: Self, linked_max: usize) {
        self.latest = self.latest.max(other.latest);
        self.single.add(&other.single);
        self.unkept.add(&other.unkept);
        let room = linked_max.saturating_sub(self.linked.len()).min(other.linked.len());
        for (_, links, bytes) in other.linked.split_off(room) {
            self.unkept.add(&Amount { names: 1, files: 0, bytes: bytes / links });
        }
        self.linked.append(&mut other.linked);
    }

    /// Contents of the tree that are in no unit.
    pub(super) fn stays(&self, linked: &Mutex<LinkedFiles>) -> Amount {
        let mut holds = self.single;
        holds.add(&self.see(linked, LATEST, b"", false));
        holds
    }

    fn see(&self, linked: &Mutex<LinkedFiles>, time: Time, path: &[u8], is_removable: bool) -> Amount {
        let (mut linked, mut holds) = (lock(linked), self.unkept);
        for (id, links, bytes) in &self.linked {
            let (id, links, bytes) = (*id, *links, *bytes);
            holds.add(&linked.see(&LinkedName { id, links, bytes, time, path, is_removable }));
        }
        holds
    }
}

const LATEST: Time = Time { seconds: i64::MAX, nanoseconds: 0 };

/// A unit that is being read. Its last user adds it to the ranges.
#[derive(Debug)]
pub(super) struct OpenUnit {
    scan: Arc<Scan>,
    name: Vec<u8>,
    gathered: Mutex<Gathered>,
}

impl OpenUnit {
    pub(super) fn new(name: &[u8], scan: &Arc<Scan>) -> Self {
        Self { scan: Arc::clone(scan), name: name.to_vec(), gathered: Mutex::default() }
    }

    /// Returns what the tree holds more.
    pub(super) fn add(&self, gathered: Gathered) -> Amount {
        let holds = gathered.single;
        lock(&self.gathered).merge(gathered, self.scan.linked_max);
        holds
    }
}

impl Drop for OpenUnit {
    fn drop(&mut self) {
        let Self { scan, name, gathered } = self;
        let gathered = std::mem::take(&mut *lock(gathered));
        let Some(time) = gathered.latest else { return };
        let is_removable = scan.of_units.as_ref().is_some_and(|units| accepts_unit(units, name, time));
        if scan.within.is_none() {
            let holds = gathered.see(&scan.linked, time, name, is_removable);
            lock(&scan.holds).add(&holds);
        }
        if is_removable && scan.is_within(time, name) {
            let names = gathered.linked.len() as u64 + gathered.unkept.names;
            let mut keys = Keys::default();
            keys.add(time, name, Amount { names: gathered.single.names + names, ..gathered.single });
            lock(&scan.ranges).add(&mut keys);
        }
    }
}

pub(super) fn accepts_unit(conditions: &Conditions, name: &[u8], time: Time) -> bool {
    conditions.accepts_name(&Place::TOP, name)
        && conditions.before.is_none_or(|before| time < before)
        && conditions.since.is_none_or(|since| time >= since)
}

/// Names of units that are read before any of them is removed, bytes: positions in a listing may shift.
const NAMES_BYTES: usize = 4 << 20;

/// Removes the units that the selection takes.
pub(in crate::remove) fn remove_units(
    directory: &Dir,
    selection: &Selection,
    options: &RemoveOptions<'_>,
    progress: &Progress,
) -> Result<Removed> {
    // Counts go to the progress once: from here or from `remove_tree`.
    let mut removing = Removing {
        directory,
        selection,
        inside: &selection.inside(),
        options,
        call: &Call::new(progress),
        counts: Counts::default(),
    };
    let mut choice = policy::choose(directory, 1)?;
    choice.options.resolve_types = true;
    let mut listing = Listing::with_choice(directory, choice)?;
    let (mut names, mut is_last) = (Vec::new(), false);
    while !is_last {
        let mut bytes = 0;
        while bytes < NAMES_BYTES {
            let Some(batch) = listing.next_batch()? else {
                is_last = true;
                break;
            };
            let directories = batch.entries().filter(|entry| entry.kind == FileType::Directory);
            for entry in directories {
                bytes += entry.name.len() + size_of::<Vec<u8>>();
                names.push(entry.name.to_vec());
            }
        }
        for name in names.drain(..) {
            if progress.is_cancelled() {
                return Ok(removing.end());
            }
            removing.unit(&name);
        }
    }
    Ok(removing.end())
}

struct Removing<'r> {
    directory: &'r Dir,
    selection: &'r Selection,
    inside: &'r Selection,
    options: &'r RemoveOptions<'r>,
    call: &'r Call<'r>,
    counts: Counts,
}

impl Removing<'_> {
    fn unit(&mut self, name: &[u8]) {
        let Self { directory, selection, inside, options, call, .. } = *self;
        if !selection.conditions.accepts_name(&Place::TOP, name) {
            return;
        }
        let time = match directory.open_below_on_this_mount(name) {
            Ok(Some(unit)) => self.last_use(&unit),
            // A file system is mounted there.
            Ok(None) => return,
            Err(error) => Err(error),
        };
        let options =
            RemoveOptions { budget: Some(inside), conditions: Some(&inside.conditions), ..*options };
        let removed = match time {
            Ok(Some(time)) if selection.takes_unit(time, name) => {
                remove_tree(directory, name, &options, call.progress)
            }
            Ok(_) => return,
            Err(error) => Err(error),
        };
        match removed {
            Ok(removed) => self.counts.add(&removed.counts),
            // Another process has removed or replaced it.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => fail(error, &options, call),
        }
    }

    /// `None` if part of the unit cannot be read, which was reported.
    fn last_use(&self, unit: &Dir) -> Result<Option<Time>> {
        let (selection, options, call) = (self.selection, self.options, self.call);
        let conditions = &self.inside.conditions;
        let own = unit.attributes(StatMask::MODIFIED)?;
        let mut walk = Walk::new(unit.again_for_reader()?, &walk_options(unit, conditions)?)?;
        let (mut gathered, mut is_read) = (Gathered::default(), true);
        while let Some(item) = walk.next_item() {
            let failure = match item {
                WalkItem::Batch { directory, batch, attributes } => {
                    let time = |row: &Attributes| selection.time_of(row);
                    let mut of_batch = Gathered::default();
                    let unread = of_batch.add(directory, batch, attributes, conditions, &time);
                    gathered.latest = gathered.latest.max(of_batch.latest);
                    unread.errno().map(|errno| {
                        Error::io("stat an entry of", directory, std::io::Error::from_raw_os_error(errno))
                    })
                }
                WalkItem::Error(error) => Some(error).filter(|error| error.kind() != ErrorKind::NotFound),
                WalkItem::OtherMount(_) | WalkItem::End { .. } => None,
            };
            if let Some(error) = failure {
                is_read = false;
                fail(error, options, call);
            }
        }
        Ok(is_read.then_some(gathered.latest.unwrap_or(own.modified)))
    }

    fn end(self) -> Removed {
        let mut counts = self.counts;
        counts.add(&self.call.counts());
        let cancelled = self.call.progress.is_cancelled();
        Removed { counts, complete: !cancelled && counts.failures == 0, cancelled }
    }
}
