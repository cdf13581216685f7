//! Where the rows of directories come from: an inventory that is read, or blocks that are kept.

use std::sync::Arc;

use megadir::Result;

use crate::block::{Block, Blocks};
use crate::path::TreePath;
use crate::rows::Rows;

/// Blocks in the order of an inventory.
pub(crate) trait Source: Send {
    /// Returns the next block, or `None` after the last.
    fn next_block(&mut self) -> Result<Option<Arc<Block>>>;

    /// Returns the root and path of the directory from which on blocks are still to come.
    fn position(&self) -> Option<(u32, TreePath)>;
}

impl<R: Rows + Send> Source for Blocks<R> {
    fn next_block(&mut self) -> Result<Option<Arc<Block>>> {
        Ok(Blocks::next_block(self)?.map(Arc::new))
    }

    fn position(&self) -> Option<(u32, TreePath)> {
        Blocks::position(self)
    }
}

/// Blocks that are kept in memory.
pub(crate) struct KeptBlocks<'a> {
    pub(crate) blocks: std::slice::Iter<'a, Arc<Block>>,
}

impl Source for KeptBlocks<'_> {
    fn next_block(&mut self) -> Result<Option<Arc<Block>>> {
        Ok(self.blocks.next().cloned())
    }

    fn position(&self) -> Option<(u32, TreePath)> {
        self.blocks.as_slice().first().map(|block| (block.root, block.path.clone()))
    }
}
