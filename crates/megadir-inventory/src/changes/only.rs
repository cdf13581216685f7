//! Comparison of selected paths with an inventory.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use megadir::{Attributes, BatchBuilder, Dir, Error, ErrorKind, Examine, FileType, Result, names};

use super::compare::{open, proofs, settled, stat_backend};
use super::engine::{Found, Tree};
use super::proof::{Proof, Proofs, Racy};
use super::settle::Entry;
use super::{Change, CompareOptions, Compared, Watch, fields, interrupted, refuse};
use crate::contents::opened::open_directory;
use crate::metadata::{Metadata, Root};
use crate::path::{Place, TreePath};
use crate::row::Facts;
use crate::rows::Rows;
use crate::volumes::{Id, Volumes, id, id_below, is_stub, of_stub};

type Old = Option<Facts>;

/// Compares selected paths, given by root and relative path; a directory without its entries and times. A
/// path missing on both sides is a failure.
///
/// Errors: as [`compare`](super::compare()).
pub fn compare_only<R: Rows>(
    mut rows: R,
    roots: Vec<Result<Dir>>,
    paths: impl IntoIterator<Item = (u32, Vec<u8>)>,
    options: &CompareOptions,
    watch: &Watch,
) -> Result<Compared> {
    let metadata = rows.metadata().clone();
    let (trees, unopened) = open(roots, rows.metadata(), options.fresh)?;
    let mut wanted: BTreeMap<Place, BTreeMap<Vec<u8>, Old>> = BTreeMap::new();
    for (root, path) in paths {
        let (parent, name) = TreePath::from(&path).split();
        wanted.entry((root, parent)).or_default().insert(name, None);
    }
    let old_roots = look_up(&mut rows, &mut wanted, trees.len())?;
    let volumes = volumes(&metadata, &trees, &old_roots, options.any_root)?;
    let examine = stat_backend(&trees, &metadata, options.fresh)?;
    let Some(first) = trees.iter().flatten().next() else { return refuse("no tree to compare") };
    let examine = examine.start(&first.directory, Facts::WANT)?;
    let proofs = proofs(&trees);
    let mut only =
        Only { metadata: &metadata, trees: &trees, volumes, proofs, examine, found: Found::default() };
    for ((root, parent), names) in wanted {
        if watch.stop.load(Ordering::Relaxed) {
            return Err(interrupted("compare"));
        }
        watch.entries.fetch_add(names.len() as u64, Ordering::Relaxed);
        only.directory(root, &parent, &names)?;
    }
    let compared = &mut only.found.compared;
    compared.failed += unopened.len() as u64;
    compared.failures.extend(unopened);
    let is_btrfs = trees.iter().flatten().any(|tree| tree.proof.stubs);
    compared.volumes_unknown = metadata.volumes.is_none() && is_btrfs && only.volumes.len() > trees.len();
    Ok(settled(only.found, &only.proofs, options))
}

/// One pass over the rows, however many paths are looked up: an inventory has no index by path but its order.
/// Roots are found on the way, because every comparison begins with them.
fn look_up<R: Rows>(
    rows: &mut R,
    wanted: &mut BTreeMap<Place, BTreeMap<Vec<u8>, Old>>,
    roots: usize,
) -> Result<Vec<Option<Facts>>> {
    let mut old_roots = vec![None; roots];
    let mut place: Place = (u32::MAX, TreePath::root());
    let mut here = None;
    while let Some(row) = rows.next_row()? {
        if row.key.is_root()
            && let Some(root) = old_roots.get_mut(row.key.root as usize)
        {
            *root = Some(row.facts);
        }
        if row.key.root != place.0 || place.1 != *row.key.parent {
            place = (row.key.root, TreePath::sharing(row.key.parent, &place.1));
            here = wanted.get_mut(&place);
        }
        if let Some(old) = here.as_mut().and_then(|names| names.get_mut(row.key.name)) {
            *old = Some(row.facts);
        }
    }
    Ok(old_roots)
}

/// Fails if a root is not the directory that was scanned, unless any may be.
///
/// The roots are the only directories whose device numbers are known on both sides without a look; all others
/// are learnt as they are met.
fn volumes(
    metadata: &Metadata,
    trees: &[Option<Tree>],
    old_roots: &[Option<Facts>],
    any_root: bool,
) -> Result<Volumes> {
    let mut volumes = Volumes::new(metadata);
    for (tree, old) in trees.iter().zip(old_roots) {
        let (Some(tree), Some(old)) = (tree, old) else { continue };
        if !any_root && old.kind != FileType::Unknown {
            tree.check(old)?;
        }
        if let (Some(now), Some(before)) = (tree.facts.device, old.device) {
            volumes.learn_root(now, before, id(&tree.directory));
        }
    }
    Ok(volumes)
}

/// A small comparison on the caller's thread, for paths that another program names, such as the paths of a
/// notification. It shares `Found` and `settle` with the whole comparison, so that both report the same
/// changes; directories named here are not entered.
struct Only<'a> {
    metadata: &'a Metadata,
    trees: &'a [Option<Tree>],
    volumes: Volumes,
    proofs: Proofs,
    examine: Box<dyn Examine>,
    found: Found,
}

impl Only<'_> {
    /// The selected names of one directory are examined in one batch, relative to its descriptor. A parent
    /// that is gone makes all of its names missing, like a removed directory does in a whole comparison; a
    /// parent that cannot be opened makes none of them missing. The root itself is the name of no entry and
    /// has been examined when it was opened.
    fn directory(&mut self, root: u32, parent: &TreePath, names: &BTreeMap<Vec<u8>, Old>) -> Result<()> {
        let Some(tree) = self.trees.get(root as usize).and_then(Option::as_ref) else {
            self.found.compared.unread += names.len() as u64;
            return Ok(());
        };
        let directory = match open_directory(&tree.directory, &parent.to_vec()) {
            Ok(directory) => directory,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                for (name, old) in names {
                    self.missing(&tree.directory, root, parent, name, old.as_ref());
                }
                return Ok(());
            }
            Err(error) => {
                self.found.compared.unread += 1;
                self.failed(error);
                return Ok(());
            }
        };
        if let Some(old) = names.get(&b""[..]) {
            self.entry(&tree.directory, (root, &TreePath::root(), b""), old.as_ref(), &tree.facts);
        }
        let mut batch = BatchBuilder::new(64 << 10, false);
        let queried: Vec<_> =
            names.iter().filter(|(name, _)| batch.push(name, 0, FileType::Unknown, 0)).collect();
        let mut rows: Vec<Attributes> = Vec::new();
        self.examine.examine(&directory, batch.batch(), &mut rows)?;
        let queried = queried.into_iter().filter(|(name, _)| *name != b"." && *name != b"..");
        for ((name, old), attributes) in queried.zip(&rows) {
            let new = Facts::new(FileType::Unknown, attributes);
            match attributes.error {
                0 => self.entry(&directory, (root, parent, name), old.as_ref(), &new),
                _ if attributes.has_vanished() => {
                    self.missing(&tree.directory, root, parent, name, old.as_ref());
                }
                errno => {
                    let path = directory.path().join(names::to_os(name)?);
                    let error = std::io::Error::from_raw_os_error(errno);
                    self.failed(Error::io("examine", &path, error));
                }
            }
        }
        Ok(())
    }

    fn racy(&self, root: u32, facts: &Facts) -> Racy {
        Racy::of_device(self.metadata, root, facts.device, self.metadata.started_ns)
    }

    fn missing(&mut self, tree: &Dir, root: u32, parent: &TreePath, name: &[u8], old: Option<&Facts>) {
        let path = if name.is_empty() { parent.clone() } else { parent.join(name) };
        if let Some(facts) = old {
            let suspect = self.racy(root, facts).is_suspect(facts);
            self.found.seen.missing.push(Entry { root, path, facts: *facts, suspect });
            return;
        }
        let at = tree.path().join(names::to_os(&path.to_vec()).unwrap_or_default());
        let reason = "neither in the inventory nor in the tree: is the name right?";
        self.failed(Error::new("compare", &at, ErrorKind::NotFound, reason));
    }

    fn failed(&mut self, error: Error) {
        self.found.compared.failed += 1;
        self.found.compared.failures.push(error);
    }

    /// Facts with the device number that the inventory uses. A device that is met for the first time is
    /// identified through its directory, which costs calls, and remembered. A stub of a subvolume has made-up
    /// attributes on both sides.
    fn as_before(&mut self, directory: &Dir, name: &[u8], facts: &Facts, proof: Proof) -> Facts {
        if proof.stubs && is_stub(facts) {
            return of_stub(facts);
        }
        let Some(now) = facts.device else { return *facts };
        let before = self.volumes.before(now).unwrap_or_else(|| {
            let id = match facts.kind {
                FileType::Directory => id_below(directory, name, now, self.metadata.scanned.cross_mounts),
                _ => {
                    let here = directory.attributes(Facts::WANT).ok();
                    let here = here.and_then(|here| Facts::new(FileType::Directory, &here).device);
                    let id = here.filter(|here| *here == now).and_then(|_| id(directory));
                    let mount = || Root::of(directory.path(), directory).ok().map(|(mount, _)| mount);
                    let cross_mounts = self.metadata.scanned.cross_mounts;
                    id.map(|id| Id { mount: cross_mounts.then(mount).flatten(), ..id })
                }
            };
            let mount = id.as_ref().and_then(|id| id.mount.clone());
            let before = self.volumes.learn(now, id);
            if let Some(mount) = mount {
                self.proofs.note(before, mount, self.volumes.mount(before));
            }
            before
        });
        Facts { device: Some(before), ..*facts }
    }

    /// The same decisions as in the comparison of whole trees, without those about directories that moved:
    /// nothing is known about the directories above.
    fn entry(
        &mut self,
        directory: &Dir,
        (root, parent, name): (u32, &TreePath, &[u8]),
        old: Option<&Facts>,
        new: &Facts,
    ) {
        let path = if name.is_empty() { parent.clone() } else { parent.join(name) };
        let tree = self.trees[root as usize].as_ref();
        let proof = tree.map_or(Proof::COMMON, |tree| tree.proof);
        let new = &self.as_before(directory, name, new, proof);
        let (proof, racy) = (self.proofs.of(root, new), self.racy(root, new));
        let Some(old) = old else {
            self.found.seen.came.push(Entry { root, path, facts: *new, suspect: false });
            return;
        };
        if !fields::is_same_file(old, new, proof) && old.errno.is_none() {
            let entry = Entry { root, path, facts: *old, suspect: racy.is_suspect(old) };
            self.found.seen.replaced.push((entry, *new));
            return;
        }
        let changed = fields::of_either(old, new, false, proof);
        let suspect = racy.is_suspect(new) || old.errno.is_some();
        self.found.seen.settled.extend(Change::of_same(|| (root, path), (old, new), changed, suspect));
    }
}
