//! Iterates over rows of a decoded row group.

use std::ops::Range;

use parquet::errors::Result;
use parquet::file::reader::RowGroupReader;

use super::chunk::malformed;
use super::decode::Decoded;
use crate::row::{Key, Row};

#[derive(Default)]
pub(super) struct Batch {
    columns: Option<Box<Decoded>>,
    given: usize,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.columns.as_ref().is_none_or(|columns| self.given == columns.rows)
    }

    pub(super) fn begin(&mut self, group: &dyn RowGroupReader, places: &[Option<usize>]) -> Result<()> {
        let spare = self.columns.take().map(|columns| *columns);
        self.columns = Some(Box::new(Decoded::read(group, places, spare)?));
        self.given = 0;
        Ok(())
    }

    #[inline]
    pub(super) fn prepare(&mut self) -> Result<()> {
        match &mut self.columns {
            Some(columns) if self.given < columns.rows => columns.go_to(self.given).ok_or_else(malformed),
            _ => Ok(()),
        }
    }

    #[inline]
    pub(super) fn key(&self) -> Option<Key<'_>> {
        self.columns.as_ref()?.key(self.given)
    }

    pub(super) fn directory(&self) -> Option<(u32, &[u8], Range<usize>)> {
        let columns = self.columns.as_ref()?;
        let key = columns.key(self.given)?;
        Some((key.root, key.parent, self.given..columns.directory_end(self.given)))
    }

    pub(super) fn columns(&self) -> Option<&Decoded> {
        self.columns.as_deref()
    }

    pub(super) fn go_to(&mut self, row: usize) {
        self.given = row;
    }

    pub(super) fn row(&self) -> Option<Row<'_>> {
        self.columns.as_ref()?.row(self.given)
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<Row<'_>> {
        self.given += 1;
        self.columns.as_ref()?.row(self.given - 1)
    }
}
