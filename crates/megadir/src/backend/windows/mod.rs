//! The backends of Windows: [`find`] gives an entry a call, [`enumerate`] a buffer of them. Both bring attributes along.

pub(super) mod enumerate;
pub(super) mod find;

use crate::attributes::{Attributes, Want};
use crate::batch::{Batch, BatchBuilder};
use crate::directory_information::Found;
use crate::names;

/// What a reader has of its entries: records for the batch and, where they are wanted, attributes.
struct Gathered {
    builder: BatchBuilder,
    /// What is wanted of each entry and told by the listing.
    want: Option<(Want, Want)>,
    rows: Vec<Attributes>,
    name: Vec<u8>,
}

/// A name that no directory can hold.
struct BadName;

impl Gathered {
    fn new(bytes: usize, want: Option<(Want, Want)>) -> Self {
        Self { builder: BatchBuilder::new(bytes, false), want, rows: Vec::new(), name: Vec::new() }
    }

    fn clear(&mut self) {
        self.builder.clear();
        self.rows.clear();
    }

    /// Adds an entry.
    fn push(&mut self, wide: impl Iterator<Item = u16>, found: &Found) -> Result<(), BadName> {
        self.name.clear();
        names::push_wide(&mut self.name, wide);
        if !self.builder.push(&self.name, found.file_id, found.kind(), 0) {
            return Err(BadName);
        }
        if let Some((want, told)) = self.want {
            self.rows.push(found.attributes(want, told));
        }
        Ok(())
    }

    fn batch(&self) -> Batch<'_> {
        let batch = self.builder.batch();
        if self.want.is_some() { batch.with_attributes(&self.rows) } else { batch }
    }
}
