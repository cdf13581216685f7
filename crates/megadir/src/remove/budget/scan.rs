//! One pass over the tree: what it holds, and the order of what may go.

use std::io;
use std::mem::take;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::gathered::{Gathered, OpenUnit};
use super::linked::LinkedName;
use super::pass::{Scan, Unread, walk_options};
use super::ranges::{Amount, Keys};
use crate::attribute_listing::policy as attribute_policy;
use crate::attributes::{Attributes, Time};
use crate::batch::Batch;
use crate::dir::Dir;
use crate::dir_path::DirPath;
use crate::error::{At, Result};
use crate::file_type::FileType;
use crate::policy::processors;
use crate::threads::lock;
use crate::walk::collect::{Collect, Message, Progress, collect};
use crate::walk::{TreeEvent, Walk, WalkContext, WalkItem, WalkOptions};

/// Keys of a thread that are added to the ranges together.
const KEYS_BYTES: usize = 64 << 10;

/// Place of a directory: in a unit, above units, or in a tree without.
#[derive(Debug)]
pub(super) enum Place {
    /// Each file is a unit.
    OfFiles,
    /// The directory with the units.
    AboveUnits(Arc<Scan>),
    /// In a unit.
    InUnit(Arc<OpenUnit>),
}

impl WalkContext for Place {
    fn below(&self, name: &[u8]) -> Self {
        match self {
            Self::OfFiles => Self::OfFiles,
            Self::AboveUnits(scan) => Self::InUnit(Arc::new(OpenUnit::new(name, scan))),
            Self::InUnit(unit) => Self::InUnit(Arc::clone(unit)),
        }
    }
}

pub(super) type Watch<'w> = dyn FnMut(TreeEvent<'_>) -> ControlFlow<()> + 'w;

/// Reads the tree. Breaks if `watch` requested a stop.
pub(super) fn read(
    scan: &Arc<Scan>,
    directory: &Dir,
    threads: Option<usize>,
    watch: &mut Watch<'_>,
) -> Result<ControlFlow<()>> {
    let file_system = directory.file_system();
    let most = threads.unwrap_or_else(|| attribute_policy::threads_max(file_system, processors()));
    let threads = threads.unwrap_or_else(|| attribute_policy::threads(file_system, processors()));
    let options = walk_options(directory, &scan.conditions)?;
    let options = WalkOptions { threads, threads_max: most.max(threads), ..options };
    let place = match scan.of_units {
        Some(_) => Place::AboveUnits(Arc::clone(scan)),
        None => Place::OfFiles,
    };
    let path = directory.path().to_owned();
    let parts = Walk::parts_with(directory.again_for_reader()?, place, &options)?;
    let begin = || Scanning { scan, keys: Keys::default(), path: Vec::new() };
    let read = collect(parts, begin, &Progress::default(), false, watch);
    read.at("start a thread to read", &path).map(|(flow, _)| flow)
}

struct Scanning<'s> {
    scan: &'s Arc<Scan>,
    keys: Keys,
    path: Vec<u8>,
}

impl Collect<Place> for Scanning<'_> {
    const THREAD: &'static str = "megadir-budget";

    type Collected = ();

    fn beside(&self) -> Self {
        Self { scan: self.scan, keys: Keys::default(), path: Vec::new() }
    }

    fn item(
        &mut self,
        item: WalkItem<'_>,
        place: Option<&Place>,
        progress: &Progress,
    ) -> io::Result<Option<Message>> {
        let (directory, batch, attributes) = match item {
            WalkItem::Batch { directory, batch, attributes } => (directory, batch, attributes),
            WalkItem::Error(error) => return Ok(Some(Message::Failed(error))),
            WalkItem::OtherMount(path) => return Ok(Some(Message::OtherMount(path))),
            WalkItem::End { .. } => return Ok(None),
        };
        progress.read.fetch_add(batch.len() as u64, Ordering::Relaxed);
        let (mut holds, mut unread) = (Amount::default(), Unread::default());
        match place {
            Some(Place::InUnit(unit)) => {
                let mut gathered = Gathered::default();
                let time = |row: &Attributes| self.scan.conditions.by.of(row);
                unread = gathered.add(directory, batch, attributes, &self.scan.conditions, &time);
                holds = unit.add(gathered);
            }
            // What lies beside the units stays.
            Some(Place::AboveUnits(_)) => {
                let mut gathered = Gathered::default();
                unread = gathered.add(directory, batch, attributes, &self.scan.conditions, &|_| Time::EPOCH);
                holds = gathered.stays(&self.scan.linked);
            }
            _ => self.files(directory, batch, attributes, &mut holds, &mut unread),
        }
        lock(&self.scan.holds).add(&holds);
        Ok(unread.message(directory))
    }

    fn end(mut self) -> io::Result<()> {
        lock(&self.scan.ranges).add(&mut self.keys);
        Ok(())
    }
}

impl Scanning<'_> {
    fn files(
        &mut self,
        directory: &DirPath,
        batch: Batch<'_>,
        attributes: &[Attributes],
        holds: &mut Amount,
        unread: &mut Unread,
    ) {
        let (scan, is_first) = (self.scan, self.scan.within.is_none());
        let conditions = &*scan.conditions;
        let place = conditions.place(directory.below());
        let (mut path, mut above) = (take(&mut self.path), None);
        for (entry, row) in batch.entries().zip(attributes) {
            if !conditions.sees(&place, entry.name) || unread.is_unread(entry.name, row) {
                continue;
            }
            if row.kind == FileType::Directory {
                continue;
            }
            let is_known = row.have.contains(conditions.by.want());
            let is_removable = is_known && conditions.accepts(&place, entry.name, entry.kind, row);
            let time = conditions.by.of(row);
            // Only where there are files: to build each path takes time quadratic in the depth of a tree.
            let above = *above.get_or_insert_with(|| path_above(directory, &mut path));
            path.truncate(above);
            path.extend_from_slice(entry.name);
            if row.links > 1 {
                if is_first {
                    let (id, links, bytes) = ((row.device, row.inode), row.links, row.allocated_bytes);
                    let name = LinkedName { id, links, bytes, time, path: &path, is_removable };
                    holds.add(&lock(&scan.linked).see(&name));
                }
                continue;
            }
            let amount = Amount { names: 1, files: 1, bytes: row.allocated_bytes };
            holds.add(&amount);
            if is_removable && scan.may_be_within(time) && scan.is_within(time, &path) {
                self.keys.add(time, &path, amount);
            }
        }
        self.path = path;
        if self.keys.bytes() > KEYS_BYTES {
            lock(&scan.ranges).add(&mut self.keys);
        }
    }
}

/// Sets the path to the directory's, with a slash at its end, and returns its length.
fn path_above(directory: &DirPath, path: &mut Vec<u8>) -> usize {
    path.clear();
    directory.below().push_to(path);
    if !path.is_empty() {
        path.push(b'/');
    }
    path.len()
}
