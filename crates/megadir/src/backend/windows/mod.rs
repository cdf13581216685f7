//! Windows backends: [`find`] reads one entry per call, [`enumerate`] a buffer. Both return attributes.

pub(super) mod enumerate;
pub(super) mod find;

use crate::attributes::{Attributes, StatMask};
use crate::batch::{Batch, BatchBuilder};
use crate::directory_information::Found;
use crate::names;

struct Gathered {
    builder: BatchBuilder,
    /// Wanted, and returned by the listing.
    want: Option<(StatMask, StatMask)>,
    rows: Vec<Attributes>,
    name: Vec<u8>,
}

impl Gathered {
    fn new(bytes: usize, want: Option<(StatMask, StatMask)>) -> Self {
        Self { builder: BatchBuilder::new(bytes, false), want, rows: Vec::new(), name: Vec::new() }
    }

    fn clear(&mut self) {
        self.builder.clear();
        self.rows.clear();
    }

    /// `false` if the name is invalid.
    #[must_use]
    fn push(&mut self, wide: impl Iterator<Item = u16>, found: &Found) -> bool {
        self.name.clear();
        names::push_wide(&mut self.name, wide);
        if !self.builder.push(&self.name, found.file_id, found.kind(), 0) {
            return false;
        }
        if let Some((want, available)) = self.want {
            self.rows.push(found.attributes(want, available));
        }
        true
    }

    fn batch(&self) -> Batch<'_> {
        let batch = self.builder.batch();
        if self.want.is_some() { batch.with_attributes(&self.rows) } else { batch }
    }
}
