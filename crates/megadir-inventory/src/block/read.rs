//! Rows read as blocks.

use megadir::Result;

use super::{Block, BlockBuilder};
use crate::path::TreePath;
use crate::row::Key;
use crate::rows::Rows;

/// Reads rows as blocks.
pub(crate) struct Blocks<R> {
    rows: R,
    building: Option<BlockBuilder>,
    examined_ns: i64,
}

impl<R: Rows> Blocks<R> {
    pub(crate) fn new(rows: R) -> Self {
        let examined_ns = rows.metadata().started_ns;
        Self { rows, building: None, examined_ns }
    }

    /// Returns the root and path of the directory from which on blocks are still to come; `None` after the last.
    pub(crate) fn position(&self) -> Option<(u32, TreePath)> {
        self.building.as_ref().map(|block| (block.root, block.path.clone()))
    }

    /// Returns the next directory that has rows, in the order of the inventory.
    pub(crate) fn next_block(&mut self) -> Result<Option<Block>> {
        if let Some(inventory) = self.rows.as_inventory() {
            while let Some((root, path)) = inventory.next_directory()? {
                if let Some(path) = follows(self.building.as_ref(), root, path)
                    && let Some(done) = self.building.replace(BlockBuilder::new(root, path, self.examined_ns))
                {
                    return Ok(Some(done.build()));
                }
                if let Some(building) = &mut self.building {
                    inventory.take_directory(building)?;
                }
            }
            return Ok(self.building.take().map(BlockBuilder::build));
        }
        while let Some(row) = self.rows.next_row()? {
            let Key { root, parent, name } = row.key;
            let mut done = None;
            if let Some(path) = follows(self.building.as_ref(), root, parent) {
                done = self.building.replace(BlockBuilder::new(root, path, self.examined_ns));
            }
            if let Some(building) = &mut self.building {
                match name.is_empty() {
                    true => building.set_root_row(row.facts, row.error),
                    false => building.add(name, &row.facts, row.error)?,
                }
            }
            if let Some(done) = done {
                return Ok(Some(done.build()));
            }
        }
        Ok(self.building.take().map(BlockBuilder::build))
    }
}

/// Returns the path of another directory than the one being built; `None` if it is the same.
fn follows(building: Option<&BlockBuilder>, root: u32, path: &[u8]) -> Option<TreePath> {
    match building {
        Some(block) if block.is_of(root, path) => None,
        Some(block) => Some(TreePath::sharing(path, &block.path)),
        None => Some(path.into()),
    }
}
