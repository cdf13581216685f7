//! `megadir scan --merge`: one inventory from a folder of parts.

use std::path::Path;

use megadir::{Result, TreeEvent};
use megadir_inventory::{Inventory, Metadata, Rows, ScanWatch, Sink};

const WATCH_ROWS: u64 = 1 << 14;

pub(super) fn roots(folder: &Path) -> Result<Vec<Vec<u8>>> {
    Ok(open(folder)?.metadata().roots.iter().map(|root| root.path.clone()).collect())
}

/// Returns `None` if `watch` requested a stop.
pub(super) fn rows(
    folder: &Path,
    watch: &mut ScanWatch<'_>,
    sink: &mut dyn Sink,
) -> Result<Option<Metadata>> {
    let mut parts = open(folder)?;
    let mut read = 0;
    while let Some(row) = parts.next_row()? {
        sink.add(&row)?;
        read += 1;
        if read % WATCH_ROWS == 0 && watch(TreeEvent::Read(read)).is_break() {
            return Ok(None);
        }
    }
    Ok(Some(parts.metadata().clone()))
}

fn open(folder: &Path) -> Result<Inventory> {
    let parts = Inventory::open(folder)?;
    match parts.unfinished() {
        Some(error) => Err(error),
        None => Ok(parts),
    }
}
