//! Comparison of two inventories of the same trees, in one pass over both.

use std::path::Path;

use megadir::{Error, ErrorKind, Result, names};

use super::compare::settled;
use super::engine::{self, Comparing};
use super::proof::{Proof, Proofs};
use super::source::{Merged, Source};
use super::{CompareOptions, Compared, Watch, refuse};
use crate::metadata::{Metadata, Root, Scanned};
use crate::rows::{Rows, SeenRows};

/// Compares an inventory with a newer one, with the result that [`compare`](super::compare()) would have had
/// when the newer one was written. `keep` must be `None`, and `skip_unchanged` has no effect.
///
/// Errors: [`ErrorKind::BadOption`] for other trees (unless `any_root`), other conditions or mounts, or if the second inventory is older.
pub fn compare_inventories<A: Rows + Send, B: Rows + Send>(
    before: A,
    now: B,
    options: &CompareOptions,
    watch: &Watch,
) -> Result<Compared> {
    check_pair(before.metadata(), now.metadata(), options)?;
    compare_rows(before, now, options, watch)
}

/// As [`compare_inventories`], with a whole scan of the trees that was made for this comparison, perhaps by another machine:
/// the clocks and file systems of the two scans are not compared, and the inventory may have been made with conditions.
///
/// Errors: [`ErrorKind::BadOption`] for other trees (unless `any_root`), other mounts, or a scan made with conditions.
pub fn compare_scanned<A: Rows + Send, B: Rows + Send>(
    before: A,
    scanned: B,
    options: &CompareOptions,
    watch: &Watch,
) -> Result<Compared> {
    if scanned.metadata().scanned.selected.is_some() {
        return refuse("the new scan was made with conditions: scan the whole trees");
    }
    compare_rows(before, scanned, options, watch)
}

fn compare_rows<A: Rows + Send, B: Rows + Send>(
    before: A,
    now: B,
    options: &CompareOptions,
    watch: &Watch,
) -> Result<Compared> {
    let (metadata, newer) = (before.metadata().clone(), now.metadata().clone());
    check_trees(&metadata, &newer, options)?;
    let metadata = (&metadata, &newer);
    match &options.conditions {
        Some(conditions) => {
            let before = SeenRows::new(before, conditions.clone());
            from_source(metadata, Merged::new(before, SeenRows::new(now, conditions.clone())), options, watch)
        }
        None => from_source(metadata, Merged::new(before, now), options, watch),
    }
}

/// There is no tree, so nothing can be tried out: what identifies a file follows from the mounts as both
/// inventories describe them. The stat backend is never called.
fn from_source<S: Source>(
    (metadata, now): (&Metadata, &Metadata),
    source: S,
    options: &CompareOptions,
    watch: &Watch,
) -> Result<Compared> {
    let proof = |(old, new): (&Root, &Root)| Proof::of_mounts(new, Some(old));
    let comparing = Comparing {
        metadata,
        trees: metadata.roots.iter().map(|_| None).collect(),
        now: Some(now),
        proofs: Proofs::new(metadata.roots.iter().zip(&now.roots).map(proof).collect()),
        started_ns: now.started_ns,
        stat_backend: megadir::stat_backend("std")?,
        options,
        watch,
    };
    let mut found = engine::compare(&comparing, None, source)?;
    let has_stubs = comparing.proofs.roots().iter().any(|proof| proof.stubs);
    let is_unknown = metadata.volumes.is_none() || now.volumes.is_none();
    found.compared.volumes_unknown = is_unknown && has_stubs && found.volumes.len() > metadata.roots.len();
    Ok(settled(found, &comparing.proofs, options))
}

fn check_pair(before: &Metadata, now: &Metadata, options: &CompareOptions) -> Result<()> {
    if now.started_ns < before.started_ns {
        return refuse("the second inventory is older than the first: exchange them");
    }
    if before.scanned.selected != now.scanned.selected {
        return refuse("made with different conditions: repeat the scan with the same conditions");
    }
    check_file_systems(before, now, options)
}

/// Differences in how the two were made that would look like changes of the tree: entered mounts, and on
/// Windows the source of the attributes. Each is refused, with what to do.
fn check_trees(before: &Metadata, now: &Metadata, options: &CompareOptions) -> Result<()> {
    if options.keep.is_some() {
        return refuse("the newer of two inventories is the current state already");
    }
    let (old, new) = (before.roots.len(), now.roots.len());
    if old != new {
        return refuse(format!("the first inventory has {old} trees, the second {new}: scan the same trees"));
    }
    let Scanned { cross_mounts, stat_backend, .. } = &now.scanned;
    if before.scanned.cross_mounts != *cross_mounts {
        return refuse("only one was made with --cross-mounts: repeat the scan as the first");
    }
    // Listings on Windows may be older than the files' own attributes.
    if cfg!(windows) && before.scanned.stat_backend != *stat_backend {
        let old = &before.scanned.stat_backend;
        return refuse(format!(
            "made with the stat backends {old} and {stat_backend}: repeat the scan with {old}"
        ));
    }
    Ok(())
}

/// The granularity of times is compared too: a coarser one at the second scan would make every time look
/// changed.
fn check_file_systems(before: &Metadata, now: &Metadata, options: &CompareOptions) -> Result<()> {
    let different = before.roots.iter().zip(&now.roots).find(|(old, new)| {
        (&old.file_system, old.granule_ns.map(is_coarse)) != (&new.file_system, new.granule_ns.map(is_coarse))
    });
    match different.filter(|_| !options.any_root) {
        Some((old, new)) => {
            let (from, to) = (&old.file_system, &new.file_system);
            let path = names::to_os(&new.path)?;
            let reason = match from == to {
                true => "its times have another granularity than at the first scan".to_owned(),
                false => format!("it was on {from} at the first scan and is on {to} at the second"),
            };
            let reason = format!("{reason}: scan the same directory, or use --any-root");
            Err(Error::new("compare", Path::new(&path), ErrorKind::BadOption, reason))
        }
        None => Ok(()),
    }
}

fn is_coarse(granule_ns: u64) -> bool {
    granule_ns >= 1_000_000_000
}
