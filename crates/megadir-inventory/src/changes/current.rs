//! The current state of the trees, from rows that a comparison kept.

use std::ops::ControlFlow;
use std::path::PathBuf;

use megadir::{Result, names};

use super::engine::{Comparing, Found};
use super::keep::Keeping;
use crate::metadata::{FORMAT_VERSION, Metadata, Scanned};
use crate::path::TreePath;
use crate::row::Facts;
use crate::rows::Sink;
use crate::scan::{ScanWatch, emit, granule_ns, now_ns};
use crate::sorter::Sorter;

/// Current rows of compared trees; beyond [`Keep::memory_bytes`](super::Keep::memory_bytes) in temporary
/// files.
#[derive(Debug)]
pub struct Kept {
    metadata: Metadata,
    sorter: Sorter,
    spill_directory: PathBuf,
}

impl Kept {
    /// Describes the trees, without the number of rows.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Passes the rows to `sink` in the order of their keys, as [`scan()`](crate::scan()) does. Returns
    /// `None` if `watch` requested a stop. Errors: reading a temporary file failed, or the sink's.
    pub fn write(self, watch: &mut ScanWatch<'_>, sink: &mut dyn Sink) -> Result<Option<Metadata>> {
        let Self { mut metadata, sorter, spill_directory } = self;
        // An entry with an old row instead of an error failed too.
        let failed = metadata.failed;
        let flow = emit(sorter, &spill_directory, watch, sink, &mut metadata)?;
        metadata.failed = failed;
        Ok(match flow {
            ControlFlow::Continue(()) => Some(metadata),
            ControlFlow::Break(()) => None,
        })
    }
}

pub(super) fn kept(comparing: &Comparing<'_>, keeping: Keeping, found: &mut Found) -> Result<Kept> {
    let mut keeper = keeping.keeper();
    for (root, tree) in comparing.trees.iter().enumerate() {
        let facts = tree.as_ref().map_or(Facts::NOTHING, |tree| {
            let device = tree.facts.device.map(|now| found.volumes.before(now).unwrap_or(now));
            Facts { device, ..tree.facts }
        });
        keeper.row(root as u32, &TreePath::root(), b"", &facts)?;
    }
    drop(keeper);
    let (sorter, spill_directory) = keeping.into_sorter()?;
    Ok(Kept { metadata: metadata(comparing, found), sorter, spill_directory })
}

fn metadata(comparing: &Comparing<'_>, found: &mut Found) -> Metadata {
    let Scanned { cross_mounts, .. } = comparing.metadata.scanned;
    let mut roots = comparing.metadata.roots.clone();
    for (index, (root, tree)) in roots.iter_mut().zip(&comparing.trees).enumerate() {
        root.newest_ns = found.newest_ns.get(&(index as u32)).copied();
        let Some(tree) = tree else { continue };
        let directory = &tree.directory;
        let path = std::path::absolute(directory.path()).unwrap_or_else(|_| directory.path().to_owned());
        root.path = names::from_os(path.as_os_str()).to_vec();
        root.file_system = directory.file_system().to_string();
        root.granule_ns = granule_ns(directory.file_system(), &tree.facts);
    }
    let (stat_backend, threads) = (comparing.stat_backend.name().to_owned(), comparing.threads);
    let keep_unseen = found.failed > 0 || found.unread > 0 || !found.other_mounts.is_empty();
    Metadata {
        version: FORMAT_VERSION,
        program: concat!("megadir ", env!("CARGO_PKG_VERSION")).to_owned(),
        roots,
        started_ns: comparing.started_ns,
        ended_ns: now_ns(),
        scanned: Scanned { cross_mounts, stat_backend, threads, mounts_not_entered: 0, selected: None },
        rows: 0,
        failed: found.failed,
        unread_directories: found.unlisted,
        volumes: Some(std::mem::take(&mut found.volumes).record(keep_unseen)),
    }
}
