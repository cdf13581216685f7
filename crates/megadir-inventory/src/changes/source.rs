//! Sources of blocks: an inventory file, or a snapshot.

use std::sync::Arc;

use megadir::Result;

use crate::block::Block;
use crate::path::Place;
use crate::rows::{Blocks, Rows};

pub(crate) trait Source: Send {
    /// Returns the next block, or `None` after the last.
    fn next_block(&mut self) -> Result<Option<Arc<Block>>>;

    fn position(&self) -> Option<Place>;
}

impl<R: Rows + Send> Source for Blocks<R> {
    fn next_block(&mut self) -> Result<Option<Arc<Block>>> {
        Ok(Blocks::next_block(self)?.map(Arc::new))
    }

    fn position(&self) -> Option<Place> {
        Blocks::position(self)
    }
}

pub(crate) struct KeptBlocks<'a> {
    pub(crate) blocks: std::slice::Iter<'a, Arc<Block>>,
}

impl Source for KeptBlocks<'_> {
    fn next_block(&mut self) -> Result<Option<Arc<Block>>> {
        Ok(self.blocks.next().cloned())
    }

    fn position(&self) -> Option<Place> {
        self.blocks.as_slice().first().map(|block| (block.root, block.path.clone()))
    }
}
