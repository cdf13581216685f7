//! Directories as units: what is found in each directory directly below the named one.
//!
//! A unit was last used when any of its files was. A unit without files takes nothing from a budget; it goes if it was modified before the
//! threshold.

use std::sync::{Arc, Mutex};

use super::linked::{LinkedFiles, LinkedName};
use super::pass::{Scan, Unread, walk_options};
use super::ranges::{Amount, Keys};
use crate::attributes::{Attributes, StatMask, Time};
use crate::batch::Batch;
use crate::conditions::{Conditions, Place};
use crate::dir::Dir;
use crate::dir_path::DirPath;
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::remove::progress::FileId;
use crate::threads::lock;
use crate::walk::{Walk, WalkItem};

/// Sums of a unit.
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

/// Last use of a unit just before its removal. Errors go to `fail`; `None` if there were any.
pub(super) fn last_use(
    unit: &Dir,
    conditions: &Arc<Conditions>,
    time: &dyn Fn(&Attributes) -> Time,
    fail: &mut dyn FnMut(Error),
) -> Result<Option<Time>> {
    let own = unit.attributes(StatMask::MODIFIED)?;
    let mut walk = Walk::new(unit.again_for_reader()?, &walk_options(unit, conditions)?)?;
    let (mut gathered, mut is_read) = (Gathered::default(), true);
    while let Some(item) = walk.next_item() {
        let failure = match item {
            WalkItem::Batch { directory, batch, attributes } => {
                let mut of_batch = Gathered::default();
                let unread = of_batch.add(directory, batch, attributes, conditions, time);
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
            fail(error);
        }
    }
    Ok(is_read.then_some(gathered.latest.unwrap_or(own.modified)))
}
