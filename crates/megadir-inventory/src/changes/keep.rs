//! The current state of the trees as a snapshot, from the rows that a comparison kept.

use std::sync::Arc;

use megadir::names;

use super::engine::{Comparing, Found};
use crate::block::Block;
use crate::metadata::{FORMAT_VERSION, Metadata, Root, Scanned};
use crate::path::TreePath;
use crate::row::Facts;
use crate::scan::{granule_ns, now_ns};
use crate::snapshot::{Snapshot, Unread};

pub(super) fn snapshot(comparing: &Comparing<'_>, found: &mut Found) -> Snapshot {
    let blocks: Vec<Arc<Block>> = std::mem::take(&mut found.blocks).into_values().collect();
    let errors: Unread =
        std::mem::take(&mut found.errors).into_iter().map(|(place, error)| (place, error.into())).collect();
    let trees = comparing.trees.iter().enumerate();
    let roots: Vec<_> = trees
        .map(|(root, tree)| {
            let error = errors.get(&(root as u32, TreePath::root())).cloned();
            let Some(tree) = tree else { return (Facts::NOTHING, error) };
            let device = tree.facts.device.map(|now| found.volumes.before(now).unwrap_or(now));
            (Facts { device, ..tree.facts }, error)
        })
        .collect();
    let Scanned { cross_mounts, .. } = comparing.metadata.scanned;
    let mut trees = comparing.metadata.roots.clone();
    for (root, tree) in trees.iter_mut().zip(&comparing.trees) {
        root.newest_ns = None;
        let Some(tree) = tree else { continue };
        let directory = &tree.directory;
        let path = std::path::absolute(directory.path()).unwrap_or_else(|_| directory.path().to_owned());
        root.path = names::from_os(path.as_os_str()).to_vec();
        root.file_system = directory.file_system().to_string();
        root.granule_ns = granule_ns(directory.file_system(), &tree.facts);
    }
    for block in &blocks {
        if let Some(root) = trees.get_mut(block.root as usize) {
            root.newest_ns = root.newest_ns.max(block.newest_ns());
        }
    }
    let examiner = comparing.examiner.name();
    let mut metadata = metadata(comparing.started_ns, trees, cross_mounts, examiner, comparing.threads);
    metadata.rows = roots.len() as u64 + blocks.iter().map(|block| block.len() as u64).sum::<u64>();
    metadata.failed = found.failed;
    metadata.unread_directories = errors.len() as u64;
    // Rows that were kept unread still have their old devices.
    let keep_unseen = found.failed > 0 || found.unread > 0 || !found.other_mounts.is_empty();
    metadata.volumes = Some(std::mem::take(&mut found.volumes).record(keep_unseen));
    Snapshot { metadata, roots, blocks, errors }
}

pub(super) fn metadata(
    started_ns: i64,
    roots: Vec<Root>,
    cross_mounts: bool,
    examiner: &str,
    threads: usize,
) -> Metadata {
    Metadata {
        version: FORMAT_VERSION,
        program: concat!("megadir ", env!("CARGO_PKG_VERSION")).to_owned(),
        roots,
        started_ns,
        ended_ns: now_ns(),
        scanned: Scanned {
            cross_mounts,
            examiner: examiner.to_owned(),
            threads,
            mounts_not_entered: 0,
            selected: None,
        },
        rows: 0,
        failed: 0,
        unread_directories: 0,
        volumes: None,
    }
}
