//! One pass over the tree: what it holds, and the order of what may go.

use std::io;
use std::mem::take;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::began::change_since;
use super::gathered::{Gathered, OpenUnit, Times};
use super::linked::LinkedName;
use super::pass::{Purpose, Scan, Unread, walk_options};
use super::ranges::{Amount, Keys};
use crate::attribute_listing::policy as attribute_policy;
use crate::attributes::Attributes;
use crate::batch::Batch;
use crate::dir::Dir;
use crate::dir_path::DirPath;
use crate::error::{At, Result};
use crate::file_type::FileType;
use crate::names;
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
    let options = walk_options(directory, &scan.sight, &scan.conditions)?;
    let options = WalkOptions { threads, threads_max: most.max(threads), ..options };
    let place = match scan.by_directory {
        true => Place::AboveUnits(Arc::clone(scan)),
        false => Place::OfFiles,
    };
    let path = directory.path().to_owned();
    let parts = Walk::parts_with(directory.again_for_reader()?, place, &options)?;
    let begin = || Scanning { scan, above: &path, keys: Keys::default(), path: Vec::new() };
    let read = collect(parts, begin, &Progress::default(), false, watch);
    read.at("start a thread to read", &path).map(|(flow, _)| flow)
}

struct Scanning<'s> {
    scan: &'s Arc<Scan>,
    /// Path of the directory, for messages.
    above: &'s Path,
    keys: Keys,
    path: Vec<u8>,
}

impl Collect<Place> for Scanning<'_> {
    const THREAD: &'static str = "megadir-budget";

    type Collected = ();

    fn beside(&self) -> Self {
        Self { keys: Keys::default(), path: Vec::new(), ..*self }
    }

    fn item(
        &mut self,
        item: WalkItem<'_>,
        place: Option<&Place>,
        progress: &Progress,
    ) -> io::Result<Option<Message>> {
        let (directory, batch, attributes) = match item {
            WalkItem::Batch { directory, batch, attributes } => (directory, batch, attributes),
            WalkItem::Error(error) => {
                self.block(error.path());
                return Ok(Some(Message::Failed(error)));
            }
            WalkItem::OtherMount(path) => {
                self.block(&path);
                return Ok(Some(Message::OtherMount(path)));
            }
            WalkItem::End { .. } => return Ok(None),
        };
        progress.read.fetch_add(batch.len() as u64, Ordering::Relaxed);
        let (mut holds, mut unread) = (Amount::default(), Unread::default());
        let scan = self.scan;
        see_directories(scan, batch, attributes);
        let of_directory = |row: &Attributes| change_since(scan.began, row);
        let times = Times { of_file: &|row| scan.time(row), of_directory: &of_directory };
        match place {
            Some(Place::InUnit(unit)) => {
                let mut gathered = Gathered::default();
                unread = gathered.add(directory, batch, attributes, &scan.sight, &times);
                if unread.first().is_some() {
                    self.block(directory);
                }
                holds = unit.add(gathered);
            }
            // What lies beside the units stays.
            Some(Place::AboveUnits(_)) => {
                if scan.purpose == Purpose::First {
                    see_units(scan, batch, attributes);
                }
                let mut gathered = Gathered::default();
                unread = gathered.add(directory, batch, attributes, &scan.sight, &times);
                if scan.counts() {
                    holds = gathered.stays(&scan.linked);
                }
            }
            _ => self.files(directory, batch, attributes, &mut holds, &mut unread),
        }
        lock(&scan.holds).add(&holds);
        Ok(unread.message(directory))
    }

    fn end(mut self) -> io::Result<()> {
        lock(&self.scan.ranges).add(&mut self.keys);
        Ok(())
    }
}

impl Scanning<'_> {
    /// The unit that has an entry stays.
    fn block(&self, path: &Path) {
        let below = path.strip_prefix(self.above).ok().and_then(|below| below.iter().next());
        if let Some(unit) = below.filter(|_| self.scan.by_directory) {
            lock(&self.scan.units).block(names::from_os(unit));
        }
    }

    fn files(
        &mut self,
        directory: &DirPath,
        batch: Batch<'_>,
        attributes: &[Attributes],
        holds: &mut Amount,
        unread: &mut Unread,
    ) {
        let (scan, conditions) = (self.scan, &*self.scan.conditions);
        let (place, sight) = (conditions.place(directory.below()), scan.sight.place(directory.below()));
        let (mut path, mut above) = (take(&mut self.path), None);
        for (entry, row) in batch.entries().zip(attributes) {
            if !scan.sight.sees(&sight, entry.name) || unread.is_unread(entry.name, row) {
                continue;
            }
            if row.kind == FileType::Directory {
                continue;
            }
            let is_known = row.have.contains(conditions.by.want());
            let time = scan.time(row);
            let is_removable =
                is_known && time < scan.began && conditions.accepts(&place, entry.name, entry.kind, row);
            // Only where there are files: to build each path takes time quadratic in the depth of a tree.
            let above = *above.get_or_insert_with(|| path_above(directory, &mut path));
            path.truncate(above);
            path.extend_from_slice(entry.name);
            if row.links > 1 {
                if scan.counts() {
                    let (id, links, bytes) = ((row.device, row.inode), row.links, row.allocated_bytes);
                    let changed = row.changed;
                    let name = LinkedName { id, links, bytes, changed, time, path: &path, is_removable };
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

/// Notes the directories that exist now.
fn see_directories(scan: &Scan, batch: Batch<'_>, attributes: &[Attributes]) {
    let Some(seen) = &scan.directories else { return };
    let rows = attributes.iter().take(batch.len());
    let mut directories = rows.filter(|row| row.kind == FileType::Directory && row.error == 0).peekable();
    if directories.peek().is_none() {
        return;
    }
    let mut seen = lock(seen);
    directories.for_each(|row| seen.see((row.device, row.inode)));
}

/// Notes which directories the names of units belong to.
fn see_units(scan: &Scan, batch: Batch<'_>, attributes: &[Attributes]) {
    let mut units = lock(&scan.units);
    for (entry, row) in batch.entries().zip(attributes) {
        if row.kind == FileType::Directory && row.error == 0 {
            units.see(entry.name, (row.device, row.inode));
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
