//! Sources of blocks.

use std::sync::Arc;

use megadir::Result;

use crate::block::Block;
use crate::path::Place;
use crate::rows::{Blocks, Rows};

#[derive(Clone, Debug)]
pub(crate) struct Both {
    pub(crate) before: Arc<Block>,
    pub(crate) now: Option<Arc<Block>>,
}

impl Both {
    pub(crate) fn before(block: Arc<Block>) -> Self {
        Self { before: block, now: None }
    }

    pub(crate) fn rows(&self) -> usize {
        self.before.len() + self.now.as_ref().map_or(0, |block| block.len())
    }

    /// Memory of the rows.
    pub(crate) fn bytes(&self) -> usize {
        let blocks = [Some(&self.before), self.now.as_ref()].into_iter().flatten();
        blocks.map(|block| size_of::<Block>() + block.heap_bytes()).sum()
    }
}

pub(crate) trait Source: Send {
    fn next_block(&mut self) -> Result<Option<Both>>;

    fn position(&self) -> Option<Place>;
}

impl<R: Rows + Send> Source for Blocks<R> {
    fn next_block(&mut self) -> Result<Option<Both>> {
        Ok(Blocks::next_block(self)?.map(|block| Both::before(Arc::new(block))))
    }

    fn position(&self) -> Option<Place> {
        Blocks::position(self)
    }
}

pub(crate) struct KeptBlocks<'a> {
    pub(crate) blocks: std::slice::Iter<'a, Arc<Block>>,
}

impl Source for KeptBlocks<'_> {
    fn next_block(&mut self) -> Result<Option<Both>> {
        Ok(self.blocks.next().cloned().map(Both::before))
    }

    fn position(&self) -> Option<Place> {
        self.blocks.as_slice().first().map(|block| block.place())
    }
}

/// Two inventories as one ascending sequence of directories. `next_before` and `next_now` are blocks that
/// were read and not yet given out, because the other side is behind; a directory that only one side has is
/// paired with an empty block. `began` is set once the first blocks were read, since `None` means the end
/// afterwards.
pub(crate) struct Merged<A, B> {
    before: A,
    now: B,
    next_before: Option<Block>,
    next_now: Option<Block>,
    began: bool,
}

impl<A: Rows, B: Rows> Merged<Blocks<A>, Blocks<B>> {
    pub(crate) fn new(before: A, now: B) -> Self {
        let (before, now) = (Blocks::new(before), Blocks::new(now));
        Self { before, now, next_before: None, next_now: None, began: false }
    }
}

impl<A: Rows + Send, B: Rows + Send> Source for Merged<Blocks<A>, Blocks<B>> {
    fn next_block(&mut self) -> Result<Option<Both>> {
        // The lesser of the two places comes next, with both blocks if they are equal. `replace` puts the
        // following block in the place of the one that is given out, so that `position` always has the next
        // place.
        if !std::mem::replace(&mut self.began, true) {
            (self.next_before, self.next_now) = (self.before.next_block()?, self.now.next_block()?);
        }
        let Some(next) = self.position() else { return Ok(None) };
        let is_next = |block: &Option<Block>| block.as_ref().is_some_and(|block| block.place() == next);
        let before = match is_next(&self.next_before) {
            true => std::mem::replace(&mut self.next_before, self.before.next_block()?),
            false => None,
        };
        let now = match is_next(&self.next_now) {
            true => std::mem::replace(&mut self.next_now, self.now.next_block()?),
            false => None,
        };
        let before = before.unwrap_or_else(|| Block::empty(next.0, next.1, 0));
        Ok(Some(Both { before: Arc::new(before), now: now.map(Arc::new) }))
    }

    fn position(&self) -> Option<Place> {
        self.next_before.iter().chain(&self.next_now).map(Block::place).min()
    }
}
