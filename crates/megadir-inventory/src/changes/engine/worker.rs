//! One thread of a comparison.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use megadir::{Attributes, BatchBuilder, Dir, Error, ErrorKind, Examine, FileType, Result, names};

use super::directory::{At, Live, Names, Opened, Task, below, list};
use super::table::{Fate, Place};
use super::{Found, Job, Shared, Step};
use crate::block::{Block, BlockBuilder};
use crate::changes::compare::check_root;
use crate::changes::racy::Racy;
use crate::changes::settle::Entry;
use crate::changes::source::Source;
use crate::changes::{Change, ChangeKind, Fields, fields};
use crate::row::Facts;

/// Names of one directory that one thread asks for without sharing.
const PART_NAMES: usize = 8192;
/// Names that are asked for at once.
const BATCH_NAMES: usize = 512;

pub(super) struct Worker<'a, 'b, S> {
    shared: &'a Shared<'b, S>,
    examine: Box<dyn Examine>,
    batch: BatchBuilder,
    rows: Vec<Attributes>,
    found: Found,
    children: Vec<(Place, Fate<Box<Live>>)>,
}

impl<'a, 'b, S: Source> Worker<'a, 'b, S> {
    pub(super) fn new(shared: &'a Shared<'b, S>) -> Result<Self> {
        let comparing = shared.comparing;
        let Some(first) = comparing.trees.iter().flatten().next() else {
            let reason = "an inventory without trees";
            return Err(Error::new("compare", "".as_ref(), ErrorKind::Malformed, reason));
        };
        let examine = comparing.examiner.start(&first.directory, Facts::WANT)?;
        let (batch, rows) = (BatchBuilder::new(64 << 10, false), Vec::new());
        Ok(Self { shared, examine, batch, rows, found: Found::default(), children: Vec::new() })
    }

    pub(super) fn run(mut self) -> Found {
        let _ends = EndOnPanic(self.shared);
        let mut worked = false;
        loop {
            match self.shared.next(worked) {
                Step::Done => return self.found,
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
            Job::Directory(live, block) => self.directory(live, block),
            Job::Names(task, range) => self.part(&task, range),
            Job::Gone(block) => {
                self.gone(&block);
                Ok(())
            }
            Job::Unread(block) => {
                self.unread(&block);
                Ok(())
            }
        }
    }

    /// Opens a directory, and has its names asked for.
    fn directory(&mut self, mut live: Box<Live>, block: Arc<Block>) -> Result<()> {
        if matches!(live.at, At::Open(_)) && live.old.is_some() {
            self.root(&mut live, &block)?;
        }
        let directory = match live.open(self.shared.comparing.metadata.scanned.cross_mounts) {
            Opened::Here(directory) => directory,
            Opened::Vanished => {
                self.gone(&block);
                return Ok(());
            }
            Opened::OtherMount(path) => {
                if block.len() > 0 {
                    self.found.other_mounts.push(path);
                }
                self.unread(&block);
                return Ok(());
            }
            Opened::Failed(error) => {
                self.failed(&live, &block, error);
                return Ok(());
            }
        };
        if live.old.is_some() && !live.was_read {
            self.found.unknown_before.push(directory.path().to_owned());
        }
        let names = if self.may_skip(&live, &block) {
            self.found.not_listed += 1;
            Names::OfRows
        } else {
            self.found.listed += 1;
            match list(&directory, live.new.size_bytes) {
                Ok(Some(names)) => names,
                Ok(None) => {
                    self.gone(&block);
                    return Ok(());
                }
                Err(error) => {
                    self.failed(&live, &block, error);
                    return Ok(());
                }
            }
        };
        let mut task = Task {
            live,
            directory,
            block,
            names,
            stirred: AtomicBool::new(false),
            left: AtomicUsize::new(1),
            parts: Mutex::new(Vec::new()),
        };
        let all = task.len();
        if all <= PART_NAMES || self.shared.comparing.threads == 1 {
            return self.part(&Arc::new(task), 0..all);
        }
        *task.left.get_mut() = all.div_ceil(PART_NAMES);
        let task = Arc::new(task);
        let parts = (0..all).step_by(PART_NAMES).map(|from| from..(from + PART_NAMES).min(all));
        self.shared.share(&task, parts);
        Ok(())
    }

    /// Puts what was known of a root in its place, and refuses another tree than the one that was scanned.
    fn root(&self, live: &mut Live, block: &Block) -> Result<()> {
        let At::Open(directory) = &live.at else { return Ok(()) };
        let path = directory.path();
        let Some((old, error)) = block.root_row.as_deref() else {
            let reason = "the inventory has no row for this root: it is damaged";
            return Err(Error::new("compare", path, ErrorKind::Malformed, reason));
        };
        // What could not be opened then may be any directory.
        let known = old.kind != FileType::Unknown;
        let checked = if known { check_root(path, old, &live.new) } else { Ok(()) };
        let same = checked.is_ok();
        if !self.shared.comparing.any_root {
            checked?;
        }
        (live.old, live.was_read, live.is_same) = (Some(*old), error.is_none(), same);
        // Only this thread sets it, before anything below the root is compared.
        let _ = self.shared.device_before[live.root as usize].set(old.device);
        Ok(())
    }

    /// Tells whether the entries of a directory can be asked for by the names that the inventory has.
    fn may_skip(&self, live: &Live, block: &Block) -> bool {
        let Some(old) = &live.old else { return false };
        let new = self.as_before(live.root, &live.new);
        let root = self.shared.tree(live.root).and_then(|tree| tree.facts.device);
        self.shared.may_skip[live.root as usize]
            && live.was_read
            && live.is_same
            && live.new.device == root
            && old.modified_ns.is_some()
            && old.changed_ns.is_some()
            && fields::of_directory(old, &new, true).is_empty()
            && !self.shared.racy(block).is_racy(old)
    }

    /// Returns facts with the number that the root's device had when the inventory was made.
    fn as_before(&self, root: u32, facts: &Facts) -> Facts {
        let (before, now) = self.shared.devices(root);
        match facts.device == now {
            true => Facts { device: before, ..*facts },
            false => *facts,
        }
    }

    /// Asks for names of a directory and compares them with its rows.
    fn part(&mut self, task: &Arc<Task>, range: Range<usize>) -> Result<()> {
        let block = &task.block;
        let keep = self.shared.comparing.keep;
        let mut kept =
            keep.then(|| BlockBuilder::new(block.root, &block.path, self.shared.comparing.started_ns));
        let racy = self.shared.racy(block);
        let Range { start: mut row, end: row_end } = task.rows(&range);
        let mut failures = 0;
        let mut from = range.start;
        while from < range.end {
            if self.shared.comparing.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let to = (from + BATCH_NAMES).min(range.end);
            self.examine(task, from..to)?;
            let rows = std::mem::take(&mut self.rows);
            for (index, attributes) in (from..to).zip(&rows) {
                let (name, _) = task.name(index);
                while row < row_end && block.name(row) < name {
                    self.entry_gone(task, row, racy);
                    row += 1;
                }
                let had = (row < row_end && block.name(row) == name).then_some(row);
                row += usize::from(had.is_some());
                let failed = self.name(task, (index, had), attributes, racy, kept.as_mut())?;
                failures += u64::from(failed.is_some());
                if failures == 1 {
                    self.found.failures.extend(failed);
                }
            }
            self.rows = rows;
            self.shared.comparing.entries.fetch_add((to - from) as u64, Ordering::Relaxed);
            from = to;
        }
        while row < row_end {
            self.entry_gone(task, row, racy);
            row += 1;
        }
        self.found.failed += failures;
        if let Some(kept) = kept {
            task.parts.lock().unwrap_or_else(PoisonError::into_inner).push((range.start, kept));
        }
        if task.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done(task)?;
        }
        Ok(())
    }

    /// Compares a name with its row, if it had one; returns the error of an entry that could not be examined.
    fn name(
        &mut self,
        task: &Task,
        (index, had): (usize, Option<usize>),
        attributes: &Attributes,
        racy: Racy,
        kept: Option<&mut BlockBuilder>,
    ) -> Result<Option<Error>> {
        if attributes.has_vanished() {
            had.into_iter().for_each(|row| self.entry_gone(task, row, racy));
            return Ok(None);
        }
        let (name, listed) = task.name(index);
        let new = Facts::new(listed, attributes);
        let same = || had.filter(|row| task.block.is_same(*row, &new));
        if self.is_excluded(name, &new) && same().is_none() {
            // Its coming and going changes the times of the directory all the same.
            task.stirred.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        let mut failed = None;
        if attributes.error == 0 {
            self.entry(task, had, name, &new, racy);
        } else {
            failed = Some(entry_error(&task.directory, name, attributes.error));
            self.entry_failed(task, had);
        }
        if let Some(kept) = kept {
            let sha256 = same().and_then(|row| task.block.hash(row));
            kept.add(name, &Facts { sha256, ..new }, None)?;
        }
        Ok(failed)
    }

    fn is_excluded(&self, name: &[u8], facts: &Facts) -> bool {
        self.shared.comparing.exclude.iter().any(|excluded| excluded.is(name, facts))
    }

    /// Asks for the attributes of names.
    fn examine(&mut self, task: &Task, range: Range<usize>) -> Result<()> {
        self.batch.clear();
        let names = range.len();
        for index in range {
            let (name, kind) = task.name(index);
            if !self.batch.push(name, 0, kind, 0) {
                let reason = "the inventory has a name that cannot be one: it is damaged";
                return Err(Error::new("compare", task.directory.path(), ErrorKind::Malformed, reason));
            }
        }
        self.examine.examine(&task.directory, self.batch.batch(), &mut self.rows)?;
        if self.rows.len() != names {
            let reason = format!("{} rows for {names} names: the examiner is faulty", self.rows.len());
            return Err(Error::new("compare", task.directory.path(), ErrorKind::Io, reason));
        }
        Ok(())
    }

    /// Compares an entry that is there.
    fn entry(&mut self, task: &Task, had: Option<usize>, name: &[u8], new: &Facts, racy: Racy) {
        let new = &self.as_before(task.block.root, new);
        let Some(row) = had else {
            task.stirred.store(true, Ordering::Relaxed);
            let entry = Entry { root: task.block.root, path: task.path(name), facts: *new, suspect: false };
            self.found.seen.came.push(entry);
            self.child(task, name, None, new, true);
            return;
        };
        let same = task.block.is_same(row, new);
        // Nearly all end here, in a tree of which little has changed.
        if same && new.kind != FileType::Directory && !racy.is_suspect(new) {
            return;
        }
        let old = task.block.facts(row);
        if !fields::is_same_file(&old, new) && old.errno.is_none() {
            task.stirred.store(true, Ordering::Relaxed);
            let suspect = racy.is_suspect(&old);
            let entry = Entry { root: task.block.root, path: task.path(name), facts: old, suspect };
            self.found.seen.replaced.push((entry, *new));
            if old.kind == FileType::Directory && new.kind != FileType::Directory {
                self.children.push(((task.block.root, task.path(name)), Fate::Gone));
            }
            let old = (old.kind == FileType::Directory).then_some((row, old));
            self.child(task, name, old, new, false);
            return;
        }
        if new.kind == FileType::Directory {
            self.child(task, name, Some((row, old)), new, true);
            return;
        }
        let changed = fields::of_file(&old, new);
        // What could not be examined before cannot be compared.
        if !changed.is_empty() {
            self.settled(task, name, ChangeKind::Modified, (old, *new), changed);
        } else if racy.is_suspect(new) || old.errno.is_some() {
            self.settled(task, name, ChangeKind::Suspect, (old, *new), Fields::NOTHING);
        }
    }

    fn settled(
        &mut self,
        task: &Task,
        name: &[u8],
        kind: ChangeKind,
        (old, new): (Facts, Facts),
        fields: Fields,
    ) {
        self.found.seen.settled.push(Change {
            kind,
            root: task.block.root,
            path: task.path(name),
            from: None,
            old: Some(old),
            new: Some(new),
            fields,
            suspect: kind == ChangeKind::Suspect,
        });
    }

    /// Notes a directory that is to be compared.
    fn child(&mut self, task: &Task, name: &[u8], old: Option<(usize, Facts)>, new: &Facts, is_same: bool) {
        if new.kind != FileType::Directory {
            return;
        }
        let path = task.path(name);
        let was_read = old.is_none_or(|(row, _)| task.block.error(row).is_none());
        let live = Live {
            root: task.block.root,
            path: path.clone(),
            at: At::Below(Arc::clone(&task.directory), name.into()),
            old: old.map(|(_, old)| old),
            is_same,
            was_read,
            new: *new,
        };
        self.children.push(((task.block.root, path), Fate::Here(Box::new(live))));
    }

    /// Notes an entry that is not there any more.
    fn entry_gone(&mut self, task: &Task, row: usize, racy: Racy) {
        task.stirred.store(true, Ordering::Relaxed);
        self.row_gone(&task.block, row, racy);
    }

    fn row_gone(&mut self, block: &Block, row: usize, racy: Racy) {
        let (root, path, facts) = (block.root, below(&block.path, block.name(row)), block.facts(row));
        if facts.kind == FileType::Directory {
            self.children.push(((root, path.clone()), Fate::Gone));
        }
        let suspect = racy.is_suspect(&facts);
        self.found.seen.gone.push(Entry { root, path, facts, suspect });
    }

    /// An entry that could not be examined is neither changed nor gone.
    fn entry_failed(&mut self, task: &Task, had: Option<usize>) {
        let Some(row) = had else { return };
        if task.block.kind(row) == FileType::Directory {
            self.children.push(((task.block.root, task.path(task.block.name(row))), Fate::Unread));
        }
    }

    /// Everything that was in a directory is gone.
    fn gone(&mut self, block: &Block) {
        let racy = self.shared.racy(block);
        (0..block.len()).for_each(|row| self.row_gone(block, row, racy));
    }

    /// What is in a directory cannot be told: it stays as it was.
    fn unread(&mut self, block: &Arc<Block>) {
        for row in (0..block.len()).filter(|row| block.kind(*row) == FileType::Directory) {
            let path = below(&block.path, block.name(row));
            self.children.push(((block.root, path), Fate::Unread));
        }
        if self.shared.comparing.keep {
            self.found.blocks.insert((block.root, block.path.clone()), Arc::clone(block));
        }
    }

    /// A directory could not be opened or listed.
    fn failed(&mut self, live: &Live, block: &Arc<Block>, error: Error) {
        self.itself(live, false);
        self.found.failed += 1;
        // Where the inventory does not know its entries either, nothing is lost.
        self.found.unread += u64::from(live.old.is_some() && live.was_read);
        if self.shared.comparing.keep {
            let text = format!("{}: {}", error.operation(), error.reason());
            self.found.errors.insert((live.root, live.path.clone()), text);
        }
        self.found.failures.push(error);
        self.unread(block);
    }

    /// Tells what differs about a directory itself.
    fn itself(&mut self, live: &Live, entries_are_the_same: bool) {
        let Some(old) = live.old.filter(|_| live.is_same) else { return };
        let new = self.as_before(live.root, &live.new);
        let changed = fields::of_directory(&old, &new, entries_are_the_same);
        if !changed.is_empty() {
            let (kind, root, path) = (ChangeKind::Modified, live.root, live.path.clone());
            let (from, old, new, suspect) = (None, Some(old), Some(new), false);
            let change = Change { kind, root, path, from, old, new, fields: changed, suspect };
            self.found.seen.settled.push(change);
        }
    }

    /// All names of a directory have been asked for.
    fn done(&mut self, task: &Task) -> Result<()> {
        let live = &task.live;
        self.itself(live, !task.stirred.load(Ordering::Relaxed));
        if self.shared.comparing.keep {
            let mut parts = std::mem::take(&mut *task.parts.lock().unwrap_or_else(PoisonError::into_inner));
            parts.sort_unstable_by_key(|part| part.0);
            let block = BlockBuilder::join(parts.into_iter().map(|part| part.1))?;
            let Some(block) = block else { return Ok(()) };
            let mut block = block.build();
            let is_root = matches!(live.at, At::Open(_));
            block.root_row = is_root.then(|| Box::new((live.new, None)));
            if block.len() > 0 || is_root {
                self.found.blocks.insert((live.root, live.path.clone()), Arc::new(block));
            }
        }
        Ok(())
    }
}

/// Ends the comparison when its thread panics: the others would wait for what it might have added.
struct EndOnPanic<'a, 'b, S: Source>(&'a Shared<'b, S>);

impl<S: Source> Drop for EndOnPanic<'_, '_, S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Error::new("compare", "".as_ref(), ErrorKind::Io, "a thread panicked"));
        }
    }
}

/// Returns the error of an entry that could not be examined.
fn entry_error(directory: &Dir, name: &[u8], errno: i32) -> Error {
    let path = directory.path().join(names::to_os(name).unwrap_or_default());
    Error::io("examine", Path::new(&path), std::io::Error::from_raw_os_error(errno))
}
