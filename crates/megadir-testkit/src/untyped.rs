//! Reader without file types, like some file systems (`DT_UNKNOWN`).

use megadir::{Batch, BatchBuilder, FileType, Reader, Result};

pub struct Untyped {
    inner: Box<dyn Reader>,
    builder: BatchBuilder,
}

impl Untyped {
    pub fn new(inner: Box<dyn Reader>) -> Self {
        Self { inner, builder: BatchBuilder::new(0, true) }
    }
}

impl Reader for Untyped {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let Some(batch) = self.inner.next_batch()? else { return Ok(None) };
        self.builder.clear();
        for entry in batch {
            let cookie = entry.cookie.unwrap_or(0);
            assert!(self.builder.push(entry.name, entry.inode, FileType::Unknown, cookie));
        }
        Ok(Some(self.builder.batch()))
    }

    fn calls(&self) -> Option<u64> {
        self.inner.calls()
    }
}
