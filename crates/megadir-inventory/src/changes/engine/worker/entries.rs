//! Compares names of a directory with its rows.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use megadir::{Attributes, BatchBuilder, Error, FileType, Result, names};

use super::super::directory::{At, Live, Names, Task};
use super::super::table::Fate;
use super::{BATCH_NAMES, Worker};
use crate::block::Block;
use crate::changes::proof::Racy;
use crate::changes::settle::Entry;
use crate::changes::source::Source;
use crate::changes::{Change, fields};
use crate::row::Facts;

impl<S: Source> Worker<'_, '_, S> {
    /// Compares a range of a directory's names with the rows in the same range, both ascending, like the
    /// merge of two lists. Attributes are queried for [`BATCH_NAMES`] names at a time, before they are
    /// compared. If the directory was not listed, the names come from the rows, so none can be missing in
    /// the listing, and an entry that is gone is found by its examination. Only the first failure of a
    /// directory is kept as text, since a directory without permission would have one for each name.
    pub(super) fn part(&mut self, task: &Arc<Task>, range: Range<usize>) -> Result<()> {
        let block = &task.block;
        let racy = self.shared.racy(block);
        let Range { start: mut row, end: row_end } = task.rows(&range);
        let mut failures = 0;
        let mut from = range.start;
        while from < range.end {
            if self.shared.comparing.watch.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let to = (from + BATCH_NAMES).min(range.end);
            self.query(task, from..to, racy)?;
            let asker = std::mem::take(&mut self.asker);
            for (&index, attributes) in asker.queried.iter().zip(&asker.rows) {
                let old_row = match &task.names {
                    Names::OfRows => Some(index),
                    Names::Listed { .. } | Names::Recorded(_) => {
                        let (name, _) = task.name(index);
                        while row < row_end && block.name(row) < name {
                            self.missing(task, row, racy)?;
                            row += 1;
                        }
                        let old_row = (row < row_end && block.name(row) == name).then_some(row);
                        row += usize::from(old_row.is_some());
                        old_row
                    }
                };
                let failed = self.name(task, (index, old_row), attributes, racy)?;
                failures += u64::from(failed.is_some());
                if failures == 1 {
                    self.found.compared.failures.extend(failed);
                }
            }
            self.asker = asker;
            self.shared.comparing.watch.entries.fetch_add((to - from) as u64, Ordering::Relaxed);
            from = to;
        }
        while row < row_end && !matches!(task.names, Names::OfRows) {
            self.missing(task, row, racy)?;
            row += 1;
        }
        self.found.compared.failed += failures;
        if let Some(keeper) = &mut self.keeper {
            keeper.end(block.root, &block.path)?;
        }
        if task.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.compare_directory(&task.live, !task.stirred.load(Ordering::Relaxed));
        }
        Ok(())
    }

    fn query(&mut self, task: &Task, range: Range<usize>, racy: Racy) -> Result<()> {
        let asker = &mut self.asker;
        asker.queried.clear();
        match (&task.names, &mut self.brief) {
            (Names::OfRows, Some(brief)) => {
                let devices = self.shared.devices(task.block.root);
                asker.leave_out_unchanged(&mut **brief, task, range, racy, devices)?;
            }
            _ => asker.queried.extend(range),
        }
        asker.query(self.examine.as_deref_mut(), task)
    }

    /// An entry that was listed and is gone by now is a removed entry, if it had a row, and otherwise
    /// nothing: it came after the scan and went before it was examined.
    fn name(
        &mut self,
        task: &Task,
        (index, old_row): (usize, Option<usize>),
        attributes: &Attributes,
        racy: Racy,
    ) -> Result<Option<Error>> {
        if attributes.has_vanished() {
            old_row.into_iter().for_each(|row| self.entry_missing(task, row, racy));
            return Ok(None);
        }
        let (name, listed) = task.name(index);
        let today = task.recorded(index).unwrap_or_else(|| Facts::new(listed, attributes));
        self.found(task, (name, today), old_row, attributes, racy)
    }

    /// Looks up a name that the listing lacks: on btrfs and tmpfs a listing misses names that are replaced by rename meanwhile.
    fn missing(&mut self, task: &Task, row: usize, racy: Racy) -> Result<()> {
        let (name, kind) = (task.block.name(row), task.block.kind(row));
        let (Some(directory), Some(examine)) = (&task.directory, self.examine.as_deref_mut()) else {
            self.entry_missing(task, row, racy);
            return Ok(());
        };
        let folded = other_case(name);
        let mut batch = BatchBuilder::new(0, false);
        let mut rows = Vec::new();
        if names::is_component(name) && batch.push(name, 0, kind, 0) {
            if let Some(folded) = &folded {
                batch.push(folded, 0, kind, 0);
            }
            examine.examine(directory, batch.batch(), &mut rows)?;
        }
        // Where case does not matter, the name may have been found as another, which is listed.
        let is_another = |found: &Attributes| {
            let other = rows.get(1).filter(|other| other.error == 0);
            other.is_some_and(|other| (other.inode, other.device) == (found.inode, found.device))
        };
        // Errors of the look-up are no evidence either way, so the listing counts.
        match rows.first().filter(|found| found.error == 0 && !is_another(found)) {
            Some(attributes) => {
                let today = Facts::new(kind, attributes);
                self.found(task, (name, today), Some(row), attributes, racy).map(drop)
            }
            None => {
                self.entry_missing(task, row, racy);
                Ok(())
            }
        }
    }

    /// Compares an entry that exists with its row.
    ///
    /// Passes the entry on in three ways: to the comparison, to the directories that follow, and to the rows
    /// that `--update` writes. A row that is kept needs more care than a change that is reported: an entry
    /// that could not be examined keeps its old row, but only if later writes cannot have kept its times; a
    /// hash is kept only while the contents are certainly the same.
    fn found(
        &mut self,
        task: &Task,
        (name, today): (&[u8], Facts),
        old_row: Option<usize>,
        attributes: &Attributes,
        racy: Racy,
    ) -> Result<Option<Error>> {
        let new = self.comparable_number(task, old_row, self.as_before(task, name, &today));
        let same = || old_row.filter(|row| task.block.is_same(*row, &new));
        if self.is_excluded(name, &today) && same().is_none() {
            task.stirred.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        let mut failed = None;
        if attributes.error == 0 {
            self.entry(task, old_row, name, &new, racy);
        } else {
            failed = Some(self.entry_error(task, name, attributes.error));
            self.entry_failed(task, name, old_row);
        }
        if let Some(keeper) = &mut self.keeper {
            let (root, path) = (task.block.root, &task.block.path);
            // Unexamined entries keep their old rows, unless racy.
            let before = old_row.map(|row| (row, task.block.facts(row)));
            let before = before.filter(|(_, old)| old.errno.is_none() && !racy.is_suspect(old));
            match before.filter(|_| attributes.error != 0) {
                Some((_, old)) => keeper.add(root, path, name, &old)?,
                None => {
                    // A suspect's hash may be stale.
                    let hash = same().filter(|_| !racy.is_suspect(&new)).and_then(|row| task.block.hash(row));
                    keeper.add(root, path, name, &Facts { hash, ..new })?;
                }
            }
        }
        Ok(failed)
    }

    /// With the number and the links that the inventory has, where these prove nothing: then an unchanged entry equals its row.
    fn comparable_number(&self, task: &Task, old_row: Option<usize>, new: Facts) -> Facts {
        let proof = self.shared.proof(task.block.root, &new);
        let Some(row) = old_row.filter(|_| !proof.numbers || !proof.links) else { return new };
        let old = task.block.facts(row);
        let links = if proof.links { new.links } else { old.links };
        match proof.numbers {
            true => Facts { links, ..new },
            false => Facts { links, inode: old.inode, inode_high: old.inode_high, ..new },
        }
    }

    fn is_excluded(&self, name: &[u8], facts: &Facts) -> bool {
        self.shared.comparing.options.exclude.iter().any(|excluded| excluded.is(name, facts))
    }

    /// The decision for one name that exists now, from the cheapest test to the dearest:
    ///
    /// ```text
    /// no row                           came: new, or renamed to here, which `settle` decides
    /// equal row, not racy              nothing
    /// row of another file              replaced: one went and one came
    /// same file, directory moved       stayed: a rename along with its directory
    /// same file, a directory           goes on below; its own times are compared when its names are done
    /// same file                        changed fields, or suspect
    /// ```
    ///
    /// A row with an errno has no facts to compare, so its entry is taken for the same file.
    fn entry(&mut self, task: &Task, old_row: Option<usize>, name: &[u8], new: &Facts, racy: Racy) {
        let new = &self.comparable(task.block.root, new);
        let Some(row) = old_row else {
            task.stirred.store(true, Ordering::Relaxed);
            self.found.seen.came.push(task.entry(name, *new, false));
            self.child(task, name, None, new, true);
            return;
        };
        let is_in_place = task.live.is_same || task.live.path.is_empty();
        let same = task.block.is_same(row, new);
        if same && is_in_place && new.kind != FileType::Directory && !racy.is_suspect(new) {
            return;
        }
        let (old, proof) = (task.block.facts(row), self.shared.proof(task.block.root, new));
        if !fields::is_same_file(&old, new, proof) && old.errno.is_none() {
            task.stirred.store(true, Ordering::Relaxed);
            self.found.seen.replaced.push((task.entry(name, old, racy.is_suspect(&old)), *new));
            if old.kind == FileType::Directory && new.kind != FileType::Directory {
                self.children.push(((task.block.root, task.path(name)), Fate::Missing));
            }
            let old = (old.kind == FileType::Directory).then_some((row, old));
            self.child(task, name, old, new, false);
            return;
        }
        let is_in_place = is_in_place || old.errno.is_some();
        if !is_in_place {
            self.found.seen.stayed.push((task.entry(name, old, racy.is_suspect(&old)), *new));
        }
        if new.kind == FileType::Directory {
            self.child(task, name, Some((row, old)), new, true);
            return;
        }
        if !is_in_place {
            return;
        }
        let changed = fields::of_file(&old, new, proof);
        let suspect = racy.is_suspect(new) || old.errno.is_some();
        let place = || (task.block.root, task.path(name));
        self.found.seen.settled.extend(Change::of_same(place, (&old, new), changed, suspect));
    }

    /// Passes a directory on to be compared. Its own row is `old`, if there is one, and `is_same` is `false`
    /// for another directory at the same path. Only the parent's descriptor is held until it is opened.
    fn child(&mut self, task: &Task, name: &[u8], old: Option<(usize, Facts)>, new: &Facts, is_same: bool) {
        if new.kind != FileType::Directory {
            return;
        }
        let path = task.path(name);
        let was_read = old.is_none_or(|(row, _)| task.block.error(row).is_none());
        let at = match (&task.directory, &task.names) {
            (Some(directory), _) => At::Below(Arc::clone(directory), name.into()),
            (None, Names::Recorded(now)) => {
                At::Recorded(now.find(name).and_then(|row| now.error(row)).map(Into::into))
            }
            (None, _) => return,
        };
        let live = Live {
            root: task.block.root,
            path: path.clone(),
            at,
            old: old.map(|(_, old)| old),
            is_same,
            was_read,
            new: *new,
            begun: 0,
        };
        self.children.push(((task.block.root, path), Fate::Here(Box::new(live))));
    }

    fn entry_missing(&mut self, task: &Task, row: usize, racy: Racy) {
        task.stirred.store(true, Ordering::Relaxed);
        self.row_missing(&task.block, row, racy);
    }

    fn row_missing(&mut self, block: &Block, row: usize, racy: Racy) {
        let (root, path, facts) = (block.root, block.path.join(block.name(row)), block.facts(row));
        if facts.kind == FileType::Directory {
            self.children.push(((root, path.clone()), Fate::Missing));
        }
        let suspect = racy.is_suspect(&facts);
        self.found.seen.missing.push(Entry { root, path, facts, suspect });
    }

    fn entry_failed(&mut self, task: &Task, name: &[u8], old_row: Option<usize>) {
        let was_unexamined = old_row.is_some_and(|row| task.block.facts(row).errno.is_some());
        self.found.compared.lost += u64::from(!was_unexamined);
        self.found.seen.unread.insert((task.block.root, task.path(name)));
        let Some(row) = old_row else { return };
        if task.block.kind(row) == FileType::Directory {
            self.children.push(((task.block.root, task.path(task.block.name(row))), Fate::Unread));
        }
    }

    fn entry_error(&self, task: &Task, name: &[u8], errno: i32) -> Error {
        let path = match &task.directory {
            Some(directory) => directory.path().join(names::to_os(name).unwrap_or_default()),
            None => self.shared.shown(task.block.root, &task.path(name)),
        };
        Error::io("examine", &path, std::io::Error::from_raw_os_error(errno))
    }

    pub(super) fn all_missing(&mut self, block: &Block) {
        let racy = self.shared.racy(block);
        (0..block.len()).for_each(|row| self.row_missing(block, row, racy));
    }

    pub(super) fn unread(&mut self, block: &Block) -> Result<()> {
        for row in (0..block.len()).filter(|row| block.kind(*row) == FileType::Directory) {
            let path = block.path.join(block.name(row));
            self.children.push(((block.root, path), Fate::Unread));
        }
        let racy = self.shared.racy(block);
        self.keeper.as_mut().map_or(Ok(()), |keeper| keeper.old(block, racy))
    }
}

/// The name in the other case; `None` if it has no cased letters.
fn other_case(name: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(name).ok()?;
    let upper = text.to_uppercase();
    let other = if upper == text { text.to_lowercase() } else { upper };
    (other != text).then(|| other.into_bytes())
}
