//! Comparison of trees with an inventory.

use std::sync::Arc;

use megadir::mount_traits::driver_of;
use megadir::{Dir, Error, FileType, MountTraits, Result, StatBackend, attribute_policy, names};

use super::engine::{self, Comparing, Found, Tree};
use super::gains::Gains;
use super::keep::{Keeping, Kept};
use super::proof::{Proof, Proofs};
use super::settle::settle;
use super::source::Source;
use super::{CompareOptions, Compared, Watch, refuse};
use crate::metadata::{FORMAT_VERSION, Metadata, Root, Scanned};
use crate::path::TreePath;
use crate::row::Facts;
use crate::rows::{Blocks, Rows, SeenRows};
use crate::scan::{granule_ns, now_ns};

/// Compares trees with an inventory. `roots` are the trees today, in the order of the inventory's roots.
///
/// ```
/// use megadir_inventory::changes::{ChangeKind, CompareOptions, Watch};
/// use megadir_inventory::Snapshot;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path();
/// std::fs::write(path.join("a"), "text")?;
/// let options = CompareOptions::new(1);
/// let mut snapshot = Snapshot::from_scan(&[path.into()], 1)?;
/// std::fs::rename(path.join("a"), path.join("b"))?;
/// let compared = snapshot.refresh(&options, &Watch::default())?;
/// assert_eq!(compared.changes[0].kind, ChangeKind::Renamed);
/// assert_eq!(compared.changes[0].path.to_vec(), b"b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Errors: `BadOption` if a root is not the directory that was scanned, or the number of roots differs. Failures
/// below a root are in [`Compared::failures`].
pub fn compare<R: Rows + Send>(
    rows: R,
    roots: Vec<Result<Dir>>,
    options: &CompareOptions,
    watch: &Watch,
) -> Result<Compared> {
    let metadata = rows.metadata().clone();
    match &options.conditions {
        Some(_) if options.keep.is_some() => {
            refuse("with conditions, the current state would lack the rows that they leave out")
        }
        Some(conditions) => {
            let rows = SeenRows::new(rows, Arc::clone(conditions));
            from_source(&metadata, Blocks::new(rows), roots, options, watch)
        }
        None => from_source(&metadata, Blocks::new(rows), roots, options, watch),
    }
}

/// Checks that `root` is the directory that the first row of an inventory describes, as [`compare`] does.
///
/// Errors: as [`compare`]; the inventory cannot be read.
pub fn check_first_root<R: Rows>(rows: &mut R, root: Dir) -> Result<()> {
    let (trees, _) = open(vec![Ok(root)], rows.metadata(), false)?;
    let first = rows.next_row()?.filter(|row| row.key.is_root() && row.facts.kind != FileType::Unknown);
    match (trees.first(), first) {
        (Some(Some(tree)), Some(row)) => tree.check(&row.facts),
        _ => Ok(()),
    }
}

/// The comparison of trees, whatever the rows come from: a file, a folder of parts, or a snapshot.
/// `started_ns` is taken before anything is read, because it becomes the time from which the rows that are
/// kept are suspect. Roots that could not be opened count as not examined: their rows remain, and nothing
/// below them is reported as removed.
pub(crate) fn from_source<S: Source>(
    metadata: &Metadata,
    source: S,
    roots: Vec<Result<Dir>>,
    options: &CompareOptions,
    watch: &Watch,
) -> Result<Compared> {
    let started_ns = now_ns();
    if roots.len() != metadata.roots.len() {
        return refuse(format!("{} trees for an inventory of {}", roots.len(), metadata.roots.len()));
    }
    let (trees, unopened) = open(roots, metadata, options.fresh)?;
    let (stat_backend, proofs) = (stat_backend(&trees, metadata, options.fresh)?, proofs(&trees));
    let keeping = options.keep.as_ref().map(|keep| Keeping::new(keep, options.threads));
    let now = None;
    let comparing = Comparing { metadata, trees, now, proofs, started_ns, stat_backend, options, watch };
    let mut found = engine::compare(&comparing, keeping.as_ref(), source)?;
    let Compared { failed, unread, lost, failures, other_mounts, .. } = &mut found.compared;
    *failed += unopened.len() as u64;
    *unread += unopened.len() as u64;
    *lost += unopened.len() as u64 + other_mounts.len() as u64;
    failures.extend(unopened);
    found.compared.volumes_unknown = metadata.volumes.is_none()
        && comparing.trees.iter().flatten().any(|tree| tree.proof.stubs)
        && found.volumes.len() > metadata.roots.len();
    found.compared.now = keeping.map(|keeping| kept(&comparing, keeping, &mut found)).transpose()?;
    Ok(settled(found, &comparing.proofs, options))
}

pub(super) fn settled(found: Found, proofs: &Proofs, options: &CompareOptions) -> Compared {
    let gains = options.gains.as_ref().map(|counted| Gains::of(&found.seen, counted));
    let unnumbered =
        proofs.roots().iter().zip(0..).filter(|(proof, _)| !proof.numbers).map(|(_, root)| root).collect();
    let unnumbered_mounts = proofs.unnumbered_mounts();
    Compared { gains, changes: settle(found.seen, proofs), unnumbered, unnumbered_mounts, ..found.compared }
}

pub(crate) fn proofs(trees: &[Option<Tree>]) -> Proofs {
    Proofs::new(trees.iter().map(|tree| tree.as_ref().map_or(Proof::COMMON, |tree| tree.proof)).collect())
}

/// Fails if no root could be opened, or if all were removed since.
pub(crate) fn open(
    roots: Vec<Result<Dir>>,
    metadata: &Metadata,
    fresh: bool,
) -> Result<(Vec<Option<Tree>>, Vec<Error>)> {
    let (mut trees, mut unopened) = (Vec::new(), Vec::new());
    for (index, root) in roots.into_iter().enumerate() {
        let tree = root.and_then(|directory| {
            if fresh {
                directory.refresh()?;
            }
            engine::check_not_removed(&directory)?;
            let facts = Facts::new(FileType::Directory, &directory.attributes(Facts::WANT)?);
            let traits = MountTraits::of(&directory);
            let had_numbers = metadata.roots.get(index).is_none_or(Root::has_lasting_inodes);
            let numbers = traits.has_lasting_inodes() && had_numbers;
            let proof = Proof { numbers, ..Proof::of(directory.file_system(), &traits) };
            Ok(Tree { directory: Arc::new(directory), facts, proof, traits })
        });
        trees.push(tree.map_err(|error| unopened.push(error)).ok());
    }
    if trees.iter().all(Option::is_none)
        && let Some(error) = unopened.pop()
    {
        return Err(error);
    }
    Ok((trees, unopened))
}

/// On Windows as in the scan: listings may be older than the files' own attributes.
pub(crate) fn stat_backend(
    trees: &[Option<Tree>],
    metadata: &Metadata,
    fresh: bool,
) -> Result<&'static dyn StatBackend> {
    let Some(tree) = trees.iter().flatten().next() else { return megadir::stat_backend("std") };
    let requested = match fresh {
        true => Some(attribute_policy::fresh()?),
        false if cfg!(windows) => Some(megadir::stat_backend(&metadata.scanned.stat_backend)?),
        false => None,
    };
    attribute_policy::stat_backend(&tree.directory, Facts::WANT, requested)
}

fn kept(comparing: &Comparing<'_>, keeping: Keeping, found: &mut Found) -> Result<Kept> {
    let mut keeper = keeping.keeper();
    for (root, tree) in comparing.trees.iter().enumerate() {
        let facts = tree.as_ref().map_or(Facts::NOTHING, |tree| {
            let device = tree.facts.device.map(|now| found.volumes.before(now).unwrap_or(now));
            Facts { device, ..tree.facts }
        });
        keeper.row(root as u32, &TreePath::root(), b"", &facts)?;
    }
    drop(keeper);
    keeping.into_kept(metadata(comparing, found))
}

/// Description of the rows that `--update` writes. It must hold for all of them, also for rows that were
/// kept from the old inventory because they could not be examined: for these the old newest times and volumes
/// stay. `started_ns` is the start of the comparison, before anything was read, because rows are suspect from
/// then on.
fn metadata(comparing: &Comparing<'_>, found: &mut Found) -> Metadata {
    let Scanned { cross_mounts, .. } = comparing.metadata.scanned;
    let keep_unseen = !found.compared.is_complete();
    let mut volumes = std::mem::take(&mut found.volumes).record(keep_unseen);
    for volume in &mut volumes {
        let device = Some(volume.device);
        let is_there = |other| other == device;
        if let Some(mount) = &mut volume.mount {
            // Entries that were not seen keep their time.
            mount.newest_ns = found.newest.of(None, is_there).or(mount.newest_ns);
        }
    }
    let is_mount =
        |device| volumes.iter().any(|volume| Some(volume.device) == device && volume.mount.is_some());
    let mut roots = comparing.metadata.roots.clone();
    for (index, (root, tree)) in roots.iter_mut().zip(&comparing.trees).enumerate() {
        root.newest_ns = found.newest.of(Some(index as u32), |device| !is_mount(device));
        let Some(tree) = tree else { continue };
        let directory = &tree.directory;
        let path = std::path::absolute(directory.path()).unwrap_or_else(|_| directory.path().to_owned());
        root.path = names::from_os(path.as_os_str()).to_vec();
        root.file_system = directory.file_system().to_string();
        root.driver = driver_of(directory);
        root.lasting_inodes = Some(tree.traits.has_lasting_inodes());
        root.granule_ns = granule_ns(&tree.traits, &tree.facts);
    }
    let (stat_backend, threads) = (comparing.stat_backend.name().to_owned(), comparing.options.threads);
    Metadata {
        version: FORMAT_VERSION,
        program: concat!("megadir ", env!("CARGO_PKG_VERSION")).to_owned(),
        roots,
        started_ns: comparing.started_ns,
        ended_ns: now_ns(),
        scanned: Scanned { cross_mounts, stat_backend, threads, mounts_not_entered: 0, selected: None },
        rows: 0,
        failed: found.compared.failed,
        unread_directories: found.unlisted,
        volumes: Some(volumes),
    }
}
