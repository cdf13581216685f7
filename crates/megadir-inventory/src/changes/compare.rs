//! Comparison of trees with an inventory.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir::{Conditions, Dir, Error, ErrorKind, FileType, Result, StatBackend, attribute_policy, names};

use super::engine::{self, Comparing, Found, Tree};
use super::gains::{Counted, Gains};
use super::keep::{Keep, Keeping};
use super::proof::Proof;
use super::settle::settle;
use super::source::Source;
use super::{Change, ChangeKind};
use crate::metadata::{FORMAT_VERSION, Metadata, Scanned};
use crate::path::TreePath;
use crate::row::Facts;
use crate::rows::{Blocks, Rows, SeenRows, Sink};
use crate::scan::{Excluded, ScanWatch, emit, granule_ns, now_ns};
use crate::sorter::Sorter;

/// Settings of a comparison.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// Number of threads, including the caller's.
    pub threads: usize,
    /// Examine the inventory's names instead of listing directories whose times show no change of names,
    /// where that is reliable.
    pub skip_unchanged: bool,
    /// Compare even if a root is not the directory that was scanned.
    pub any_root: bool,
    /// Keep the current rows of the trees as [`Compared::now`].
    pub keep: Option<Keep>,
    /// Files to ignore.
    pub exclude: Vec<Excluded>,
    /// Entries to ignore on both sides, by [`Conditions::exclude`] and [`Conditions::depth_max`]; other
    /// conditions have no effect. Cannot be combined with `keep`.
    pub conditions: Option<Arc<Conditions>>,
    /// Sum up net changes of directories as [`Compared::gains`], counting these entries.
    pub gains: Option<Counted>,
    /// Ask the server of a network file system for attributes ([`megadir::attribute_policy::fresh`]).
    pub fresh: bool,
}

/// Cancellation flag and progress of a comparison.
#[derive(Debug, Default)]
pub struct Watch {
    /// Set to cancel.
    pub stop: Arc<AtomicBool>,
    /// Number of entries examined.
    pub entries: AtomicU64,
}

/// Result of a comparison.
#[derive(Debug)]
pub struct Compared {
    /// Changes, sorted by root and path.
    pub changes: Vec<Change>,
    /// Failed operations; only the first for the entries of a directory.
    pub failures: Vec<Error>,
    /// Number of entries not examined and directories not listed.
    pub failed: u64,
    /// Number of directories that cannot be listed now but could be at the scan.
    pub unread: u64,
    /// Number of entries and directories that cannot be read now and are not recorded as unreadable.
    pub lost: u64,
    /// The inventory does not record the tree's btrfs subvolumes, so device numbers mean nothing after a
    /// remount.
    pub volumes_unknown: bool,
    /// Directories covered by a new mount.
    pub other_mounts: Vec<PathBuf>,
    /// Directories that were unreadable at the scan: all their entries count as added.
    pub unknown_before: Vec<PathBuf>,
    /// Number of directories listed.
    pub listed: u64,
    /// Number of directories not listed because of [`CompareOptions::skip_unchanged`].
    pub not_listed: u64,
    /// Current rows, if [`CompareOptions::keep`].
    pub now: Option<Kept>,
    /// Net change of each directory, if [`CompareOptions::gains`].
    pub gains: Option<Gains>,
}

impl Compared {
    pub(super) fn of(found: Found, proofs: &[Proof], options: &CompareOptions) -> Self {
        let Found { seen, failures, failed, unread, lost, listed, not_listed, .. } = found;
        let gains = options.gains.as_ref().map(|counted| Gains::of(&seen, counted));
        Self {
            gains,
            changes: settle(seen, proofs),
            failures,
            failed,
            unread,
            lost,
            volumes_unknown: false,
            other_mounts: found.other_mounts,
            unknown_before: found.unknown_before,
            listed,
            not_listed,
            now: None,
        }
    }

    /// `true` if everything could be compared.
    pub fn is_complete(&self) -> bool {
        self.failed == 0 && self.unread == 0 && self.other_mounts.is_empty()
    }

    /// `true` if there is any change or suspect.
    pub fn is_changed(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Returns the number of changes of one kind.
    pub fn count(&self, kind: ChangeKind) -> usize {
        self.changes.iter().filter(|change| change.kind == kind).count()
    }
}

/// Compares trees with an inventory. `roots` are the trees today, in the order of the inventory's roots.
///
/// ```
/// use megadir_inventory::changes::{ChangeKind, CompareOptions, Watch};
/// use megadir_inventory::Snapshot;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path();
/// std::fs::write(path.join("a"), "text")?;
/// let options =
///     CompareOptions { threads: 1, skip_unchanged: true, any_root: false, keep: None, exclude: Vec::new(), conditions: None, gains: None, fresh: false };
/// let mut snapshot = Snapshot::from_scan(&[path.into()], 1)?;
/// std::fs::rename(path.join("a"), path.join("b"))?;
/// let compared = snapshot.refresh(&options, &Watch::default())?;
/// assert_eq!(compared.changes[0].kind, ChangeKind::Renamed);
/// assert_eq!(compared.changes[0].path.to_vec(), b"b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Errors: [`ErrorKind::BadOption`] if a root is not the directory that was scanned, or the number of roots
/// differs. Failures below a root are in [`Compared::failures`].
pub fn compare<R: Rows + Send>(
    rows: R,
    roots: Vec<Result<Dir>>,
    options: &CompareOptions,
    watch: &Watch,
) -> Result<Compared> {
    let metadata = rows.metadata().clone();
    match &options.conditions {
        Some(_) if options.keep.is_some() => Err(kept_in_part()),
        Some(conditions) => {
            let rows = SeenRows::new(rows, Arc::clone(conditions));
            from_source(&metadata, Blocks::new(rows), roots, options, watch)
        }
        None => from_source(&metadata, Blocks::new(rows), roots, options, watch),
    }
}

/// Checks that `root` is the directory that the first row of an inventory describes. [`compare`] does so too; this check serves
/// callers that prepare for a long comparison.
///
/// Errors: [`ErrorKind::BadOption`] if it is another directory; the inventory cannot be read.
pub fn check_first_root<R: Rows>(rows: &mut R, root: Dir) -> Result<()> {
    let (trees, _) = open(vec![Ok(root)], false)?;
    let first = rows.next_row()?.filter(|row| row.key.is_root() && row.facts.kind != FileType::Unknown);
    match (trees.first(), first) {
        (Some(Some(tree)), Some(row)) => tree.check(&row.facts),
        _ => Ok(()),
    }
}

fn kept_in_part() -> Error {
    let reason = "with conditions, the current state would lack the rows that they leave out";
    Error::new("compare", "".as_ref(), ErrorKind::BadOption, reason)
}

pub(crate) fn from_source<S: Source>(
    metadata: &Metadata,
    source: S,
    roots: Vec<Result<Dir>>,
    options: &CompareOptions,
    watch: &Watch,
) -> Result<Compared> {
    let started_ns = now_ns();
    if roots.len() != metadata.roots.len() {
        let reason = format!("{} trees for an inventory of {}", roots.len(), metadata.roots.len());
        return Err(Error::new("compare", "".as_ref(), ErrorKind::BadOption, reason));
    }
    let (trees, unopened) = open(roots, options.fresh)?;
    let stat_backend = stat_backend(&trees, Some(metadata), options.fresh)?;
    let keeping = options.keep.as_ref().map(|keep| Keeping::new(keep, options.threads));
    let comparing = Comparing {
        metadata,
        exclude: options.exclude.clone(),
        conditions: options.conditions.as_deref(),
        proofs: proofs(&trees),
        trees,
        now: None,
        started_ns,
        stat_backend,
        threads: options.threads,
        skip_unchanged: options.skip_unchanged,
        any_root: options.any_root,
        stop: &watch.stop,
        entries: &watch.entries,
    };
    let mut found = engine::compare(&comparing, keeping.as_ref(), source)?;
    found.failed += unopened.len() as u64;
    found.unread += unopened.len() as u64;
    found.lost += unopened.len() as u64 + found.other_mounts.len() as u64;
    let volumes_unknown = metadata.volumes.is_none()
        && comparing.trees.iter().flatten().any(|tree| tree.proof.stubs)
        && found.volumes.len() > metadata.roots.len();
    found.failures.extend(unopened);
    let now = keeping.map(|keeping| kept(&comparing, keeping, &mut found)).transpose()?;
    Ok(Compared { volumes_unknown, now, ..Compared::of(found, &comparing.proofs, options) })
}

pub(crate) fn proofs(trees: &[Option<Tree>]) -> Vec<Proof> {
    trees.iter().map(|tree| tree.as_ref().map_or(Proof::COMMON, |tree| tree.proof)).collect()
}

/// Fails if no root could be opened.
pub(crate) fn open(roots: Vec<Result<Dir>>, fresh: bool) -> Result<(Vec<Option<Tree>>, Vec<Error>)> {
    let (mut trees, mut unopened) = (Vec::new(), Vec::new());
    for root in roots {
        let tree = root.and_then(|directory| {
            if fresh {
                directory.refresh()?;
            }
            let facts = Facts::new(FileType::Directory, &directory.attributes(Facts::WANT)?);
            let proof = Proof::of(directory.file_system());
            Ok(Tree { directory: Arc::new(directory), facts, proof })
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
    scanned: Option<&Metadata>,
    fresh: bool,
) -> Result<&'static dyn StatBackend> {
    let Some(tree) = trees.iter().flatten().next() else { return megadir::stat_backend("std") };
    let asked = scanned.filter(|_| cfg!(windows));
    let asked = match fresh {
        true => Some(attribute_policy::fresh()?),
        false => asked.map(|of| megadir::stat_backend(&of.scanned.stat_backend)).transpose()?,
    };
    attribute_policy::stat_backend(&tree.directory, Facts::WANT, asked)
}

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
