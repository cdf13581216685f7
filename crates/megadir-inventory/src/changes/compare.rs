//! Comparing trees with an inventory, from beginning to end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir::{Dir, Error, ErrorKind, Examiner, FileType, Result, attribute_policy};

use super::engine::{self, Comparing, Found, Tree, Unread};
use super::proof::Proof;
use super::settle::settle;
use super::source::Source;
use super::{Change, ChangeKind, fields};
use crate::block::Blocks;
use crate::metadata::Metadata;
use crate::row::Facts;
use crate::rows::Rows;
use crate::scan::{Excluded, now_ns};
use crate::snapshot::Snapshot;

/// How trees are compared with an inventory.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// Threads that compare; 1 means the caller's own, and none is started.
    pub threads: usize,
    /// Do not list directories again whose times say that no name in them changed, where the file system can be relied
    /// on for that: names are taken from the inventory, and only attributes are asked for.
    pub skip_unchanged: bool,
    /// Compare even if a root is another directory than the one that was scanned.
    pub any_root: bool,
    /// Keep what the trees hold now, as [`Compared::now`].
    pub keep: bool,
    /// Files that are left out.
    pub exclude: Vec<Excluded>,
}

/// For whoever watches a comparison from another thread.
#[derive(Debug, Default)]
pub struct Watch {
    /// Ends the comparison when set.
    pub stop: Arc<AtomicBool>,
    /// Entries that have been examined.
    pub entries: AtomicU64,
}

/// What a comparison found.
#[derive(Debug)]
pub struct Compared {
    /// The changes, sorted by tree and path.
    pub changes: Vec<Change>,
    /// What could not be opened, listed or examined; of the entries of a directory that could not, the first.
    pub failures: Vec<Error>,
    /// Entries that could not be examined and directories that could not be listed. Nothing is known of their changes.
    pub failed: u64,
    /// Directories that could not be listed now, and could when the inventory was made.
    pub unread: u64,
    /// What could not be read or examined now and is not recorded as such: what became of it is not known.
    pub lost: u64,
    /// The tree has btrfs subvolumes and the inventory does not record which: after another mount their device numbers say nothing.
    pub volumes_unknown: bool,
    /// Directories that another file system was mounted over since.
    pub other_mounts: Vec<PathBuf>,
    /// Directories that could not be listed when the inventory was made: all they hold counts as added.
    pub unknown_before: Vec<PathBuf>,
    /// Directories that were listed.
    pub listed: u64,
    /// Directories that were not listed again, since their times say that they hold the same names.
    pub not_listed: u64,
    /// What the trees hold now, where it was to be kept.
    pub now: Option<Snapshot>,
}

impl Compared {
    /// Returns whether everything could be compared.
    pub fn is_complete(&self) -> bool {
        self.failed == 0 && self.unread == 0 && self.other_mounts.is_empty()
    }

    /// Returns whether anything changed, or may have.
    pub fn is_changed(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Returns the number of changes of a kind.
    pub fn count(&self, kind: ChangeKind) -> usize {
        self.changes.iter().filter(|change| change.kind == kind).count()
    }
}

/// Compares trees with an inventory of them. `roots` are the trees as they are now, in the order of the inventory's
/// roots.
///
/// ```
/// use megadir_inventory::changes::{ChangeKind, CompareOptions, Watch};
/// use megadir_inventory::Snapshot;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path();
/// std::fs::write(path.join("a"), "text")?;
/// let options =
///     CompareOptions { threads: 1, skip_unchanged: true, any_root: false, keep: false, exclude: Vec::new() };
/// let mut snapshot = Snapshot::from_scan(&[path.into()], 1)?;
/// std::fs::rename(path.join("a"), path.join("b"))?;
/// let compared = snapshot.refresh(&options, &Watch::default())?;
/// assert_eq!(compared.changes[0].kind, ChangeKind::Renamed);
/// assert_eq!(compared.changes[0].path.to_vec(), b"b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`ErrorKind::BadOption`] when a root is not the directory that was scanned or their numbers differ, whatever opening
/// the roots and reading the inventory gives. What cannot be read below a root is among [`Compared::failures`].
pub fn compare<R: Rows + Send>(
    rows: R,
    roots: Vec<Result<Dir>>,
    options: &CompareOptions,
    watch: &Watch,
) -> Result<Compared> {
    let metadata = rows.metadata().clone();
    from_source((&metadata, &Unread::new()), Blocks::new(rows), roots, options, watch)
}

/// Compares with what is known by metadata, rows, and which directories were not read beside those whose rows say so.
pub(crate) fn from_source<S: Source>(
    (metadata, unread_before): (&Metadata, &Unread),
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
    let (trees, unopened) = open(roots)?;
    let examiner = examiner(&trees, Some(metadata))?;
    let comparing = Comparing {
        metadata,
        unread_before,
        is_scan: false,
        exclude: options.exclude.clone(),
        trees,
        started_ns,
        examiner,
        threads: options.threads,
        skip_unchanged: options.skip_unchanged,
        any_root: options.any_root,
        keep: options.keep,
        stop: &watch.stop,
        entries: &watch.entries,
    };
    let mut found = engine::compare(&comparing, source)?;
    found.failed += unopened.len() as u64;
    found.unread += unopened.len() as u64;
    found.lost += unopened.len() as u64 + found.other_mounts.len() as u64;
    let volumes_unknown = metadata.volumes.is_none()
        && comparing.trees.iter().flatten().any(|tree| tree.proof.stubs)
        && found.volumes.len() > metadata.roots.len();
    found.failures.extend(unopened);
    let now = options.keep.then(|| Snapshot::of_found(&comparing, &mut found));
    let Found {
        seen, failures, other_mounts, unknown_before, failed, unread, lost, listed, not_listed, ..
    } = found;
    let changes = settle(seen, &proofs(&comparing.trees));
    Ok(Compared {
        changes,
        failures,
        failed,
        unread,
        lost,
        volumes_unknown,
        other_mounts,
        unknown_before,
        listed,
        not_listed,
        now,
    })
}

/// Returns what holds for each tree.
pub(crate) fn proofs(trees: &[Option<Tree>]) -> Vec<Proof> {
    trees.iter().map(|tree| tree.as_ref().map_or(Proof::COMMON, |tree| tree.proof)).collect()
}

/// Refuses a root that is another directory than the one that was scanned.
pub(crate) fn check_root(tree: &Tree, old: &Facts) -> Result<()> {
    let (path, new) = (tree.directory.path(), &tree.facts);
    // The number of a device may be another after each mount; where the directory's own number is to be enough the volume
    // counts, whose number stays: the roots of all volumes have the same one.
    let device = old.device.filter(|_| tree.proof.unique_numbers);
    if fields::is_same_file(&Facts { device, ..*old }, new, tree.proof) {
        return Ok(());
    }
    let inode = |facts: &Facts| facts.inode.map_or_else(String::new, |inode| format!(" (inode {inode})"));
    let reason = format!(
        "not the directory that was scanned{}, but another{}: name that one, or scan this one",
        inode(old),
        inode(new)
    );
    Err(Error::new("compare", path, ErrorKind::BadOption, reason))
}

/// Asks about the roots themselves. Where none could be opened, that is the error.
pub(crate) fn open(roots: Vec<Result<Dir>>) -> Result<(Vec<Option<Tree>>, Vec<Error>)> {
    let (mut trees, mut unopened) = (Vec::new(), Vec::new());
    for root in roots {
        let tree = root.and_then(|directory| {
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

/// Returns who is asked for attributes: who fits the file system, but on Windows who was asked by the scan. There what a
/// listing tells of a file may be older than what the file itself tells, so that only answers of one kind can be compared.
pub(crate) fn examiner(trees: &[Option<Tree>], scanned: Option<&Metadata>) -> Result<&'static dyn Examiner> {
    let Some(tree) = trees.iter().flatten().next() else { return megadir::examiner("std") };
    match scanned.filter(|_| cfg!(windows)) {
        Some(of) => {
            let asked = megadir::examiner(&of.scanned.examiner)?;
            asked.probe(&tree.directory).map(|()| asked)
        }
        None => Ok(attribute_policy::choose(&tree.directory, Facts::WANT, 1)?.examiner),
    }
}
