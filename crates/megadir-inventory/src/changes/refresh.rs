//! Snapshots of trees: made by a scan, refreshed by a comparison.

use std::ops::ControlFlow;
use std::path::PathBuf;

use megadir::{Dir, Error, ErrorKind, Result, TreeEvent, names};

use super::compare::from_source;
use super::keep::Keep;
use super::source::KeptBlocks;
use super::{CompareOptions, Compared, Watch, interrupted};
use crate::scan::{ScanOptions, scan};
use crate::snapshot::{Collected, Snapshot};

/// A snapshot is in memory anyway.
const MEMORY_BYTES: usize = usize::MAX;
const QUEUE_DIRECTORIES_MAX: usize = 4096;

impl Snapshot {
    /// Scans trees with `threads` threads. A directory that cannot be read has no entries, see
    /// [`Metadata::is_complete`](crate::Metadata::is_complete). Errors: a root cannot be opened.
    pub fn from_scan(paths: &[PathBuf], threads: usize) -> Result<Self> {
        let options = ScanOptions {
            queue_directories_max: QUEUE_DIRECTORIES_MAX,
            ..ScanOptions::new(threads, MEMORY_BYTES, std::env::temp_dir())
        };
        let mut rows = Collected::default();
        let metadata = scan(paths, &options, &mut go_on, &mut rows)?;
        metadata.map(|metadata| rows.snapshot(metadata)).ok_or_else(|| interrupted("scan"))
    }

    /// Reads the trees again and returns the changes. Unreadable entries stay; a renamed directory that cannot be read has no entries
    /// ([`Compared::lost`] counts both). On an error nothing changes. Errors: as [`changes::compare`](crate::changes::compare()).
    pub fn refresh(&mut self, options: &CompareOptions, watch: &Watch) -> Result<Compared> {
        let roots = self.metadata.roots.iter();
        let roots = roots.map(|root| names::to_os(&root.path).and_then(|path| Dir::open(&*path))).collect();
        let source = KeptBlocks { blocks: self.blocks.iter() };
        if options.conditions.is_some() {
            let reason = "a snapshot has all entries, so that none can be left out";
            return Err(Error::new("refresh", "".as_ref(), ErrorKind::BadOption, reason));
        }
        let keep = Keep { memory_bytes: MEMORY_BYTES, spill_directory: std::env::temp_dir() };
        let options = CompareOptions { keep: Some(keep), ..options.clone() };
        let mut compared = from_source(&self.metadata, source, roots, &options, watch)?;
        let mut rows = Collected::default();
        let metadata = match compared.now.take() {
            Some(now) => now.write(&mut go_on, &mut rows)?,
            None => None,
        };
        *self = rows.snapshot(metadata.ok_or_else(|| interrupted("refresh"))?);
        Ok(compared)
    }
}

fn go_on(_: TreeEvent<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
