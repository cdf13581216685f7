//! Directories as units: what is found in each directory directly below the named one.
//!
//! A unit was last used when any of its files was. A unit without files takes nothing from a budget, and stays. So does one on which, or
//! in which, another file system is mounted, and one that cannot be read to its end.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::linked::{LinkedFiles, LinkedName};
use super::pass::{Purpose, Scan, Unread, walk_options};
use super::ranges::{Amount, Keys};
use crate::attributes::{Attributes, Time};
use crate::batch::Batch;
use crate::conditions::{Conditions, Place};
use crate::dir::Dir;
use crate::dir_path::DirPath;
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::remove::progress::FileId;
use crate::threads::lock;
use crate::walk::{Walk, WalkItem};

/// Times of entries: of files, and of directories that changed since the run began.
pub(super) struct Times<'t> {
    pub(super) of_file: &'t dyn Fn(&Attributes) -> Time,
    pub(super) of_directory: &'t dyn Fn(&Attributes) -> Option<Time>,
}

/// A name of a file with several.
#[derive(Clone, Copy, Debug)]
struct Linked {
    id: FileId,
    links: u64,
    bytes: u64,
    changed: Time,
}

/// Sums of a unit.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Last use of any file.
    pub(super) latest: Option<Time>,
    /// Linked files count in their own place.
    pub(super) single: Amount,
    linked: Vec<Linked>,
    /// Names of linked files beyond the memory.
    unkept: Amount,
}

impl Gathered {
    pub(super) fn add(
        &mut self,
        directory: &DirPath,
        batch: Batch<'_>,
        attributes: &[Attributes],
        sight: &Conditions,
        times: &Times<'_>,
    ) -> Unread {
        let mut unread = Unread::default();
        let place = sight.place(directory.below());
        for (entry, row) in batch.entries().zip(attributes) {
            if !sight.sees(&place, entry.name) || unread.is_unread(entry.name, row) {
                continue;
            }
            if row.kind == FileType::Directory {
                self.latest = self.latest.max((times.of_directory)(row));
                continue;
            }
            // A unit with a file whose time is unknown is in use.
            let is_known = row.have.contains(sight.by.want());
            let time = if is_known { (times.of_file)(row) } else { LATEST };
            self.latest = self.latest.max(Some(time));
            match row.links > 1 {
                true => self.linked.push(Linked {
                    id: (row.device, row.inode),
                    links: row.links,
                    bytes: row.allocated_bytes,
                    changed: row.changed,
                }),
                false => self.single.add(&Amount { names: 1, files: 1, bytes: row.allocated_bytes }),
            }
        }
        unread
    }

    fn merge(&mut self, mut other: Self, scan: &Scan) {
        self.latest = self.latest.max(other.latest);
        self.single.add(&other.single);
        self.unkept.add(&other.unkept);
        // Of all units that are being read.
        let held = scan.linked_held.fetch_add(other.linked.len(), Ordering::Relaxed);
        let room = scan.linked_max.saturating_sub(held).min(other.linked.len());
        scan.linked_held.fetch_sub(other.linked.len() - room, Ordering::Relaxed);
        for Linked { links, bytes, .. } in other.linked.split_off(room) {
            self.unkept.add(&Amount { names: 1, files: 0, bytes: bytes / links.max(1) });
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
        for Linked { id, links, bytes, changed } in self.linked.iter().copied() {
            holds.add(&linked.see(&LinkedName { id, links, bytes, changed, time, path, is_removable }));
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
        lock(&self.gathered).merge(gathered, &self.scan);
        holds
    }
}

impl Drop for OpenUnit {
    fn drop(&mut self) {
        let Self { scan, name, gathered } = self;
        let gathered = std::mem::take(&mut *lock(gathered));
        scan.linked_held.fetch_sub(gathered.linked.len(), Ordering::Relaxed);
        let Some(time) = gathered.latest else { return };
        let mut is_removable = time < scan.began && accepts_unit(&scan.conditions, name, time);
        if is_removable && scan.purpose == Purpose::First {
            is_removable = lock(&scan.units).was_read(name, time);
        } else if is_removable {
            is_removable = lock(&scan.units).is_seen(name);
        }
        if scan.counts() {
            let holds = gathered.see(&scan.linked, time, name, is_removable);
            lock(&scan.holds).add(&holds);
        }
        if is_removable && scan.is_within(time, name) {
            let names = gathered.linked.len() as u64 + gathered.unkept.names;
            let mut keys = Keys::default();
            let names = gathered.single.names.saturating_add(names);
            keys.add(time, name, Amount { names, ..gathered.single });
            lock(&scan.ranges).add(&mut keys);
        }
    }
}

pub(super) fn accepts_unit(conditions: &Conditions, name: &[u8], time: Time) -> bool {
    conditions.accepts_name(&Place::TOP, name)
        && conditions.before.is_none_or(|before| time < before)
        && conditions.since.is_none_or(|since| time >= since)
}

/// Looks at a unit just before its removal; `None` if it stays, because it is in use, has no files, or cannot be read. Errors go to
/// `fail`.
pub(super) fn look(
    unit: &Dir,
    sight: &Arc<Conditions>,
    times: &Times<'_>,
    fail: &mut dyn FnMut(Error),
) -> Result<Option<Gathered>> {
    let mut walk = Walk::new(unit.again_for_reader()?, &walk_options(unit, sight, sight)?)?;
    let (mut gathered, mut is_whole) = (Gathered::default(), true);
    while let Some(item) = walk.next_item() {
        let failure = match item {
            WalkItem::Batch { directory, batch, attributes } => {
                let unread = gathered.add(directory, batch, attributes, sight, times);
                gathered.linked.clear();
                unread.first().map(|(name, errno)| {
                    let path = directory.join(crate::names::to_os(name).unwrap_or_default());
                    Error::io("stat", &path, std::io::Error::from_raw_os_error(errno))
                })
            }
            WalkItem::Error(error) => Some(error).filter(|error| error.kind() != ErrorKind::NotFound),
            WalkItem::OtherMount(_) => {
                is_whole = false;
                None
            }
            WalkItem::End { .. } => None,
        };
        if let Some(error) = failure {
            is_whole = false;
            fail(error);
        }
    }
    Ok(Some(gathered).filter(|gathered| is_whole && gathered.latest.is_some()))
}
