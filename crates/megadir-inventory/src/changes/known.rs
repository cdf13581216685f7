//! Hashes that need not be made again: of an earlier inventory, and of an interrupted scan.

use megadir::{Error, Result};

use super::proof::Racy;
use crate::contents::journal::{Kept, identity};
use crate::metadata::Metadata;
use crate::row::{ContentHash, Facts, OwnedRow, Row};
use crate::rows::Rows;

/// Sources of hashes, which are joined with rows in the order of keys, so that only one row of each is in memory.
#[derive(Default)]
pub(crate) struct Known {
    earlier: Option<Earlier>,
    kept: Option<Kept>,
    key: Vec<u8>,
    /// Damage of the earlier inventory, whose hashes are then not used any more: the scan that replaces it mends it.
    damaged: Option<Error>,
}

/// Rows of an earlier inventory that have hashes. A hash holds for a file that is the same by all its numbers, unless the file was
/// modified so shortly before that scan that a later change would not show.
struct Earlier {
    rows: Box<dyn Rows + Send>,
    metadata: Metadata,
    /// For each root, whether it is the same one.
    is_same_root: Vec<bool>,
    head: OwnedRow,
    is_present: bool,
}

impl Known {
    pub(crate) fn keep(&mut self, kept: Kept) {
        self.kept = Some(kept);
    }

    /// Damage that was found since the last call.
    pub(crate) fn take_damage(&mut self) -> Option<Error> {
        self.damaged.take()
    }

    pub(crate) fn earlier(&mut self, rows: Box<dyn Rows + Send>, roots: &[Vec<u8>]) {
        let metadata = rows.metadata().clone();
        let is_same_root =
            metadata.roots.iter().enumerate().map(|(at, root)| roots.get(at) == Some(&root.path)).collect();
        let (parent, name) = (Vec::new(), Vec::new());
        let head = OwnedRow { root: 0, parent, name, facts: Facts::NOTHING, error: None };
        let mut earlier = Earlier { rows, metadata, is_same_root, head, is_present: true };
        match earlier.advance() {
            Ok(()) => self.earlier = Some(earlier),
            Err(error) => self.damaged = Some(error),
        }
    }

    /// Call it with ascending keys.
    pub(crate) fn find(&mut self, row: &Row<'_>) -> Result<Option<ContentHash>> {
        if let Some(kept) = &mut self.kept
            && let Some(hash) = kept.find(row, &mut self.key)?
        {
            return Ok(Some(hash));
        }
        match self.earlier.as_mut().map_or(Ok(None), |earlier| earlier.find(row)) {
            Err(error) => {
                (self.earlier, self.damaged) = (None, Some(error));
                Ok(None)
            }
            found => found,
        }
    }
}

impl Earlier {
    /// To the next row with a hash.
    fn advance(&mut self) -> Result<()> {
        while let Some(row) = self.rows.next_row()? {
            if matches!(row.facts.hash, Some(ContentHash::Blake3(_))) {
                self.head = OwnedRow::from(row);
                return Ok(());
            }
        }
        self.is_present = false;
        Ok(())
    }

    fn find(&mut self, row: &Row<'_>) -> Result<Option<ContentHash>> {
        while self.is_present && self.head.row().key < row.key {
            self.advance()?;
        }
        let (head, facts) = (self.head.row(), self.head.facts);
        let is_same = self.is_present
            && head.key == row.key
            && facts.kind == row.facts.kind
            && identity(&facts) == identity(&row.facts)
            && self.is_same_root.get(row.key.root as usize) == Some(&true);
        let racy = || Racy::of_device(&self.metadata, row.key.root, facts.device, self.metadata.started_ns);
        Ok(facts.hash.filter(|_| is_same && !racy().is_suspect(&facts)))
    }
}
