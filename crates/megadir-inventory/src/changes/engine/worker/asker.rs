//! Requests attributes at the least cost.

use std::ops::Range;

use megadir::{Attributes, BatchBuilder, Error, ErrorKind, Examine, Result};

use super::super::directory::Task;
use crate::changes::proof::Racy;
use crate::row::device_number;

/// Buffers of one thread, filled for each batch of names. `queried` are indices of names, and `rows` has
/// their attributes at the same positions.
pub(super) struct Asker {
    pub(super) queried: Vec<usize>,
    pub(super) rows: Vec<Attributes>,
    batch: BatchBuilder,
    unchanged: Vec<usize>,
}

impl Default for Asker {
    fn default() -> Self {
        let batch = BatchBuilder::new(0, false);
        Self { queried: Vec::new(), rows: Vec::new(), batch, unchanged: Vec::new() }
    }
}

impl Asker {
    /// Attributes come from the cheapest source that has them: the listing, the newer inventory, or a call
    /// for the batch. Names of rows may be hostile, because inventories may come from elsewhere: a name with
    /// a slash would leave the directory. A stat backend that returns fewer rows than names would shift all
    /// that follow, so the number is checked.
    pub(super) fn query(&mut self, examine: Option<&mut (dyn Examine + 'static)>, task: &Task) -> Result<()> {
        self.batch.clear();
        self.rows.clear();
        self.rows.extend(self.queried.iter().map_while(|&index| task.brought(index)));
        if self.rows.len() == self.queried.len() {
            return Ok(());
        }
        self.rows.clear();
        let (Some(directory), Some(examine)) = (&task.directory, examine) else {
            let errors = self.queried.iter().map(|&index| task.recorded(index).and_then(|facts| facts.errno));
            self.rows
                .extend(errors.map(|errno| Attributes { error: errno.unwrap_or(0), ..Attributes::NOTHING }));
            return Ok(());
        };
        for &index in &self.queried {
            let (name, kind) = task.name(index);
            // A name with a slash would examine another directory, perhaps through a link.
            if !megadir::names::is_component(name) || !self.batch.push(name, 0, kind, 0) {
                let reason = "the inventory has a name that cannot be one: it is damaged";
                return Err(Error::new("compare", directory.path(), ErrorKind::Malformed, reason));
            }
        }
        examine.examine(directory, self.batch.batch(), &mut self.rows)?;
        let (rows, names) = (self.rows.len(), self.queried.len());
        if rows != names {
            let reason = format!("{rows} rows for {names} names: the stat backend is faulty");
            return Err(Error::new("compare", directory.path(), ErrorKind::Io, reason));
        }
        Ok(())
    }

    /// The cheaper call has no birth time, but a reused inode has a later ctime, unless racy.
    pub(super) fn leave_out_unchanged(
        &mut self,
        brief: &mut (dyn Examine + 'static),
        task: &Task,
        range: Range<usize>,
        racy: Racy,
        (before, now): (Option<u64>, Option<u64>),
    ) -> Result<()> {
        let block = &task.block;
        let may_be = |row: &usize| block.is_plain_file(*row) && !racy.is_racy_at(block.changed_ns(*row));
        self.queried.clear();
        self.queried.extend(range.clone().filter(may_be));
        self.query(Some(brief), task)?;
        self.unchanged.clear();
        for (&row, attributes) in self.queried.iter().zip(&self.rows) {
            let (major, minor) = attributes.device;
            let device = Some(device_number(major, minor));
            let device = if device == now { before } else { device };
            if block.is_but_for_birth(row, attributes, device) {
                self.unchanged.push(row);
            }
        }
        self.queried.clear();
        let mut unchanged = self.unchanged.iter().copied().peekable();
        self.queried.extend(range.filter(|row| unchanged.next_if_eq(row).is_none()));
        Ok(())
    }
}
