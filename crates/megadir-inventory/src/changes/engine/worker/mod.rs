//! One thread of a comparison.

mod asker;
mod entries;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, PoisonError};

use megadir::{Dir, Error, ErrorKind, Examine, FileType, Result};

use self::asker::Asker;
use super::directory::{At, Live, Names, Opened, Task, list};
use super::table::Fate;
use super::{Comparing, Found, Job, Shared, Step, is_scanned_root};
use crate::block::Block;
use crate::changes::keep::{Keeper, Keeping};
use crate::changes::source::{Both, Source};
use crate::changes::{Change, fields};
use crate::path::Place;
use crate::row::Facts;
use crate::volumes::{id, id_below, is_stub, of_stub};

const PART_NAMES: usize = 8192;
const BATCH_NAMES: usize = 512;

/// Belongs to one thread. `examine` returns all attributes; `brief` leaves the birth time out and costs less,
/// so it is asked first where rows are only compared and not kept. `children` collects the directories found
/// in one step, which are passed on under a single lock. `last_volume` remembers one translation of device
/// numbers, because neighbours are nearly always on one device.
pub(super) struct Worker<'a, 'b, S> {
    shared: &'a Shared<'b, S>,
    examine: Option<Box<dyn Examine>>,
    brief: Option<Box<dyn Examine>>,
    asker: Asker,
    keeper: Option<Keeper<'b>>,
    found: Found,
    children: Vec<(Place, Fate<Box<Live>>)>,
    /// With its number in the inventory.
    last_volume: Cell<Option<(u64, u64)>>,
}

impl<'a, 'b, S: Source> Worker<'a, 'b, S> {
    pub(super) fn new(shared: &'a Shared<'b, S>) -> Result<Self> {
        // The brief query leaves the birth time out, which a row that is kept must have, so it is not used
        // with `keep`. With two inventories nothing is queried at all.
        let comparing = shared.comparing;
        let (mut examine, mut brief) = (None, None);
        if comparing.now.is_none() {
            let Some(first) = comparing.trees.iter().flatten().next() else {
                let reason = "an inventory without trees";
                return Err(Error::new("compare", "".as_ref(), ErrorKind::Malformed, reason));
            };
            examine = Some(comparing.stat_backend.start(&first.directory, Facts::WANT)?);
            if comparing.stat_backend.name() == "statx" && shared.keep.is_none() {
                brief = Some(megadir::stat_backend("fstatat")?.start(&first.directory, Facts::WANT)?);
            }
        }
        let keeper = shared.keep.map(Keeping::keeper);
        let (asker, found, children, last_volume) = Default::default();
        Ok(Self { shared, examine, brief, asker, keeper, found, children, last_volume })
    }

    /// Each thread takes steps until there are none. Children are passed on after the step, whether it failed
    /// or not. `EndOnPanic` wakes the others if this thread panics: they would wait for its directories for
    /// ever.
    pub(super) fn run(mut self) -> Found {
        let _ends = EndOnPanic(self.shared);
        let mut worked = false;
        loop {
            match self.shared.next(worked) {
                Step::Done => {
                    self.found.newest = self.keeper.map(Keeper::into_newest).unwrap_or_default();
                    return self.found;
                }
                Step::Read(source) => self.shared.read(source),
                Step::Work(job) => {
                    if let Err(error) = self.work(job) {
                        self.shared.fail(error);
                    }
                    self.shared.found(&mut self.children);
                }
            }
            worked = true;
        }
    }

    fn work(&mut self, job: Job) -> Result<()> {
        match job {
            Job::Directory(Fate::Here(live), rows) => self.directory(live, rows),
            Job::Directory(Fate::Missing, rows) => {
                self.all_missing(&rows.before);
                Ok(())
            }
            Job::Directory(Fate::Unread, rows) => self.unread(&rows.before),
            Job::Names(task, range) => self.part(&task, range),
        }
    }

    /// One step: open, list or not, and hand the names out. Whatever cannot be opened or listed leaves its
    /// rows as they were, and counts as not examined: a missing permission must not look like removed files.
    /// Only a directory that is certainly gone makes its rows missing. If descriptors run out, the directory
    /// is put off until others are closed, unless nothing else is open.
    fn directory(&mut self, mut live: Box<Live>, rows: Both) -> Result<()> {
        if live.path.is_empty() && live.old.is_some() {
            self.root(&mut live, &rows)?;
        }
        let Both { before: block, now } = rows;
        let directory = match live.open(self.shared.comparing.metadata.scanned.cross_mounts) {
            Opened::Here(directory) => directory,
            Opened::Recorded => return self.recorded(live, block, now),
            Opened::Vanished => {
                self.all_missing(&block);
                return Ok(());
            }
            Opened::OtherMount(path) => {
                if block.len() > 0 {
                    self.found.compared.other_mounts.push(path);
                }
                return self.unread(&block);
            }
            Opened::Failed(error) if error.kind() == ErrorKind::TooManyOpenFiles => {
                let job = Job::Directory(Fate::Here(live), Both { before: block, now });
                return match self.shared.put_off(job) {
                    Some(Job::Directory(Fate::Here(live), rows)) => self.failed(&live, &rows.before, error),
                    _ => Ok(()),
                };
            }
            Opened::Failed(error) => return self.failed(&live, &block, error),
        };
        if live.old.is_some() && !live.was_read {
            self.found.compared.unknown_before.push(directory.path().to_owned());
        }
        let names = if self.may_skip(&live, &block) {
            self.found.compared.not_listed += 1;
            Names::OfRows
        } else {
            self.found.compared.listed += 1;
            let Comparing { stat_backend, options, .. } = self.shared.comparing;
            let bring = stat_backend.is_listed().then_some(Facts::WANT);
            match list(&directory, live.new.size_bytes, bring) {
                Ok(Some(names)) => names.seen(options.conditions.as_deref(), &live.path),
                Ok(None) if live.path.is_empty() => {
                    let reason = "it was removed meanwhile";
                    let error = Error::new("read", directory.path(), ErrorKind::NotFound, reason);
                    return self.failed(&live, &block, error);
                }
                Ok(None) => {
                    self.all_missing(&block);
                    return Ok(());
                }
                Err(error) => return self.failed(&live, &block, error),
            }
        };
        self.names(live, Some(directory), block, names)
    }

    /// The counterpart of opening and listing for two inventories. An inventory records a mount that was not
    /// entered as a directory without rows, which looks like an emptied one. So a directory on another device
    /// than the root's that is empty now and was not before counts as not examined, if the newer scan left
    /// mounts out.
    fn recorded(&mut self, live: Box<Live>, block: Arc<Block>, now: Option<Arc<Block>>) -> Result<()> {
        let shown = self.shared.shown(live.root, &live.path);
        if let At::Recorded(Some(error)) = &live.at {
            let error = Error::new("scan", &shown, ErrorKind::Io, error.to_string());
            return self.failed(&live, &block, error);
        }
        let is_empty = now.as_ref().is_none_or(|now| now.len() == 0);
        let scanned = self.shared.comparing.now.map(|now| &now.scanned);
        let has_mounts = scanned.is_some_and(|scanned| scanned.mounts_not_entered > 0);
        let (root, _) = self.shared.devices(live.root);
        // The inventory does not say which directories were mount points.
        if is_empty && block.len() > 0 && has_mounts && live.new.device != root {
            self.found.compared.other_mounts.push(shown);
            return self.unread(&block);
        }
        if live.old.is_some() && !live.was_read {
            self.found.compared.unknown_before.push(shown);
        }
        let now = now.unwrap_or_else(|| Arc::new(Block::empty(live.root, live.path.clone(), 0)));
        self.names(live, None, block, Names::Recorded(now))
    }

    /// Large directories are divided into ranges of [`PART_NAMES`] names, so that one huge directory keeps
    /// all threads busy. With conditions the directory always counts as changed in its entries (`stirred`),
    /// because hidden entries are not compared.
    fn names(
        &mut self,
        live: Box<Live>,
        directory: Option<Arc<Dir>>,
        block: Arc<Block>,
        names: Names,
    ) -> Result<()> {
        let mut task = Task {
            live,
            directory,
            block,
            names,
            stirred: AtomicBool::new(self.shared.comparing.options.conditions.is_some()),
            left: AtomicUsize::new(1),
        };
        let all = task.len();
        if all <= PART_NAMES || self.shared.comparing.options.threads == 1 {
            return self.part(&Arc::new(task), 0..all);
        }
        *task.left.get_mut() = all.div_ceil(PART_NAMES);
        let task = Arc::new(task);
        let parts = (0..all).step_by(PART_NAMES).map(|from| from..(from + PART_NAMES).min(all));
        self.shared.share(&task, parts);
        Ok(())
    }

    /// The root is compared first, before anything below it, and decides how the rest is compared: device
    /// numbers of the inventory are translated to the present ones, starting with the root's. A root that is
    /// another directory than the scanned one is an error, because otherwise everything would be reported as
    /// removed and added; `any_root` is for a tree that was copied or restored.
    fn root(&self, live: &mut Live, rows: &Both) -> Result<()> {
        let path = self.shared.tree(live.root).map(|tree| tree.directory.path().to_owned());
        let path = path.unwrap_or_else(|| self.shared.shown(live.root, &live.path));
        let row = |block: &Block| {
            let reason = "the inventory has no row for this root: it is damaged";
            let missing = || Error::new("compare", &path, ErrorKind::Malformed, reason);
            block.root_row.as_deref().cloned().ok_or_else(missing)
        };
        let (old, error) = row(&rows.before)?;
        if let Some(now) = &rows.now {
            let (facts, error) = row(now)?;
            (live.new, live.at) = (facts, At::Recorded(error));
        }
        // A root that could not be opened then may be any directory.
        let known = old.kind != FileType::Unknown;
        let proof = self.shared.comparing.proofs.of_root(live.root);
        let checked = if known { is_scanned_root(&path, (&old, &live.new), proof) } else { Ok(()) };
        let same = checked.is_ok();
        if !self.shared.comparing.options.any_root {
            checked?;
        }
        (live.old, live.was_read, live.is_same) = (Some(old), error.is_none(), same);
        let _ = self.shared.root_devices[live.root as usize].set((old.device, live.new.device));
        if let Some(now) = live.new.device {
            let mut volumes = self.shared.volumes.write().unwrap_or_else(PoisonError::into_inner);
            let id = match &live.at {
                At::Open(directory) => id(directory),
                _ => self.shared.recorded_volume(now),
            };
            match old.device {
                Some(before) => volumes.learn_root(now, before, id),
                None => _ = volumes.learn(now, id),
            }
        }
        live.new.device = self.device(live.root, live.new.device);
        Ok(())
    }

    fn may_skip(&self, live: &Live, block: &Block) -> bool {
        let Some(old) = &live.old else { return false };
        let (root, _) = self.shared.devices(live.root);
        self.shared.may_skip[live.root as usize]
            && live.was_read
            && live.is_same
            && live.new.device == root
            && old.modified_ns.is_some()
            && old.changed_ns.is_some()
            && fields::of_directory(old, &live.new, true, self.shared.proof(live.root, &live.new)).is_empty()
            && !self.shared.racy(block).is_racy(old)
    }

    /// Number that the inventory has for a device of now: numbers may change at each mount, and those of
    /// btrfs subvolumes do. The usual answers need no lock: the root's device, and the one that was
    /// translated last.
    #[inline]
    fn device(&self, root: u32, device: Option<u64>) -> Option<u64> {
        let (before, now) = self.shared.devices(root);
        if device == now {
            return before;
        }
        let device = device?;
        if let Some((now, before)) = self.last_volume.get()
            && now == device
        {
            return Some(before);
        }
        let volumes = self.shared.volumes.read().unwrap_or_else(PoisonError::into_inner);
        let before = volumes.before(device)?;
        self.last_volume.set(Some((device, before)));
        Some(before)
    }

    /// Facts as the inventory would have them, so that they can be compared with its rows: only the device
    /// number differs between mounts, and a stub's made-up attributes are left out on both sides.
    fn as_before(&self, task: &Task, name: &[u8], facts: &Facts) -> Facts {
        let root = task.block.root;
        let (Some(now), false) = (facts.device, self.is_stub(root, facts)) else { return *facts };
        let before = self.device(root, facts.device).unwrap_or_else(|| {
            let is_directory = facts.kind == FileType::Directory;
            let cross_mounts = self.shared.comparing.metadata.scanned.cross_mounts;
            let id = match &task.directory {
                Some(directory) if is_directory => id_below(directory, name, now, cross_mounts),
                Some(_) => None,
                None => self.shared.recorded_volume(now),
            };
            let mount = id.as_ref().and_then(|id| id.mount.clone());
            let mut volumes = self.shared.volumes.write().unwrap_or_else(PoisonError::into_inner);
            let before = volumes.learn(now, id);
            if let Some(mount) = mount {
                self.shared.comparing.proofs.note(before, mount, volumes.mount(before));
            }
            before
        });
        Facts { device: Some(before), ..*facts }
    }

    fn is_stub(&self, root: u32, facts: &Facts) -> bool {
        is_stub(facts) && self.shared.comparing.proofs.of_root(root).stubs
    }

    fn comparable(&self, root: u32, facts: &Facts) -> Facts {
        if self.is_stub(root, facts) { of_stub(facts) } else { *facts }
    }

    fn failed(&mut self, live: &Live, block: &Block, error: Error) -> Result<()> {
        self.compare_directory(live, false);
        let was_unread = live.old.is_some() && live.is_same && !live.was_read;
        let compared = &mut self.found.compared;
        compared.failed += 1;
        compared.unread += u64::from(live.old.is_some() && live.was_read);
        compared.lost += u64::from(!was_unread);
        self.found.unlisted += 1;
        self.found.seen.unread.insert((live.root, live.path.clone()));
        if let Some(keeper) = &mut self.keeper {
            keeper.error(live.root, &live.path, &format!("{}: {}", error.operation(), error.reason()))?;
        }
        self.found.compared.failures.push(error);
        if live.is_same || live.path.is_empty() {
            return self.unread(block);
        }
        self.all_missing(block);
        Ok(())
    }

    fn compare_directory(&mut self, live: &Live, entries_are_the_same: bool) {
        let Some(old) = live.old.filter(|_| live.is_same) else { return };
        let changed = fields::of_directory(
            &old,
            &live.new,
            entries_are_the_same,
            self.shared.proof(live.root, &live.new),
        );
        let place = || (live.root, live.path.clone());
        self.found.seen.settled.extend(Change::of_same(place, (&old, &live.new), changed, false));
    }
}

/// Other threads would wait forever.
struct EndOnPanic<'a, 'b, S: Source>(&'a Shared<'b, S>);

impl<S: Source> Drop for EndOnPanic<'_, '_, S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Error::new("compare", "".as_ref(), ErrorKind::Io, "a thread panicked"));
        }
    }
}
