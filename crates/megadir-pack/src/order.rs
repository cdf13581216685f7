//! Scans a tree and sorts its entries by inode, the order in which they are packed.

use std::path::Path;

use megadir::{Dir, DirId, Error, ErrorKind, FileType, MountTraits, Result};
use megadir_inventory::{Metadata, Row, ScanOptions, ScanWatch, Sink, Sorter, scan};

use crate::entry::{Bytes, Entry, Origin};

/// Each of the scan and the two sorts.
pub(crate) const SORT_BYTES: usize = 8 << 20;

/// Scans the tree `top` into `order`, or returns `None` if `watch` requested a stop. Attributes are queried only where something needs them:
/// rows of kept shards (`compares`) are compared with those of the tree, and listings may have no numbers that order the files and show
/// hard links. Each file is examined when it is read, so a scan with attributes would examine it once more, which takes a fifth of the
/// time of a pack whose files are cached.
pub(crate) fn scan_in_order(
    top: &Dir,
    order: &mut Order,
    (threads, spill_directory): (usize, &Path),
    compares: bool,
    watch: &mut ScanWatch<'_>,
) -> Result<Option<Metadata>> {
    let mut options = ScanOptions::new(threads, SORT_BYTES, spill_directory.to_owned());
    options.attributes = compares || !MountTraits::of(top).lists_identities();
    let scanned = scan(&[top.path().to_owned()], &options, watch, order);
    order.error.take().map_or(scanned, Err)
}

/// Brings the rows of the scan into the order of inodes.
///
/// A sink cannot return its own errors through a scan with the path that they concern, so `error` keeps the first one. `destination` is the
/// directory of the pack, which must not lie in the tree.
pub(crate) struct Order {
    pub(crate) sorter: Sorter,
    bytes: Bytes,
    error: Option<Error>,
    destination: DirId,
    /// Device of the tree, which entries without attributes are on.
    device: u64,
}

impl Order {
    pub(crate) fn new(sorter: Sorter, destination: &Dir, top: &Dir) -> Result<Self> {
        let (destination, device) = (destination.id()?, top.id()?.device);
        Ok(Self { sorter, bytes: Bytes::default(), error: None, destination, device })
    }
}

impl Sink for Order {
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        let DirId { device, inode, .. } = self.destination;
        if row.facts.kind == FileType::Directory
            && (row.facts.device.unwrap_or(self.device), row.facts.inode) == (device, Some(inode))
        {
            let reason =
                "the directory of the pack lies in the tree, by another mount: name a directory outside";
            self.error = Some(Error::new("pack", "".as_ref(), ErrorKind::BadOption, reason));
            return Err(Error::new("pack", "".as_ref(), ErrorKind::BadOption, reason));
        }
        let (key, item) = self.bytes.in_order(&Entry::of(row, None), Origin::Tree);
        self.sorter
            .add(key, item)
            .map_err(|error| Error::io("sort in temporary files of", "".as_ref(), error))
    }
}
