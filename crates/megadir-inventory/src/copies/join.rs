//! Joins the rows of both sides by key, and classifies each entry.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering as MemoryOrdering};
use std::sync::{Arc, Mutex};

use megadir::{Conditions, Dir, Error, ErrorKind, FileType, Globs, Result, TreeEvent};

use super::contents::{Contents, Outcome};
use super::properties::by_facts;
use super::source::{Head, Job, Mounts, Source, TreeRows};
use super::unlisted::{Mark, Unlisted};
use super::{CopyOptions, CopyWatch, Counts, Difference, DifferenceKind, Properties, Side};
use crate::contents::opened::TreeFiles;
use crate::file::Inventory;
use crate::metadata::{Metadata, Root};
use crate::row::{Facts, Key, Row};
use crate::rows::{Rows, SeenRows};

/// Rows between two looks at a request to stop.
const WATCH_ROWS: u64 = 1 << 12;
/// Granularity of the times of FAT.
const TWO_SECONDS_NS: u64 = 2_000_000_000;

fn refuse<T>(path: &Path, reason: impl Into<String>) -> Result<T> {
    Err(Error::new("compare", path, ErrorKind::BadOption, reason))
}

/// Receiver of the differences, which ends the comparison by [`ControlFlow::Break`].
type Report<'r> = dyn FnMut(&Difference<'_>) -> ControlFlow<()> + 'r;

/// Compares two sides, and gives each difference to `report` in the order of keys: by tree, directory and name. Returns `None` if `watch` or
/// `report` requested a stop.
///
/// Trees on the same device are scanned one after the other, others at the same time. Memory: that of both scans
/// ([`ScanOptions::memory_bytes`](crate::ScanOptions::memory_bytes)), and the paths of directories that only one side could list.
///
/// ```
/// use megadir_inventory::ScanOptions;
/// use megadir_inventory::copies::{CopyOptions, CopyWatch, Properties, Side, compare_copies};
/// use std::ops::ControlFlow;
/// use std::sync::atomic::AtomicBool;
///
/// # let scratch = tempfile::tempdir()?;
/// # let (a, b) = (scratch.path().join("a"), scratch.path().join("b"));
/// # std::fs::create_dir(&a)?;
/// # std::fs::create_dir(&b)?;
/// # std::fs::write(a.join("new"), "text")?;
/// let side = |path: &std::path::Path| {
///     let options = ScanOptions::new(1, 64 << 20, std::env::temp_dir());
///     Side::Tree(path.into(), Box::new(options))
/// };
/// let options = CopyOptions { properties: Properties::SIZE, conditions: None };
/// let watch = CopyWatch { stop: &AtomicBool::new(false), event: &|_, _| {} };
/// let mut lines = Vec::new();
/// let counts = compare_copies([side(&a), side(&b)], &options, &watch, &mut |difference| {
///     lines.push(format!("{} {}", difference.kind.name(), String::from_utf8_lossy(difference.key.name)));
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(lines, ["missing new"]);
/// assert_eq!(counts.map(|counts| counts.missing), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Errors: [`ErrorKind::BadOption`] for inventories that cannot be compared, with what to do: conditions, another number of trees, or
/// no hashes where contents or targets were requested; a tree or an inventory that cannot be read at all.
pub fn compare_copies(
    sides: [Side; 2],
    options: &CopyOptions,
    watch: &CopyWatch<'_>,
    report: &mut Report<'_>,
) -> Result<Option<Counts>> {
    let prepared = Prepared::new(&sides, options)?;
    let (ended, mounts) = (AtomicBool::new(false), [Mutex::default(), Mutex::default()]);
    let stage = Stage { watch, ended: &ended, mounts: &mounts };
    let compared = std::thread::scope(|scope| {
        let _ends = Ends(&ended);
        let [(a, a_mounts), (b, b_mounts)] = prepared.sources(scope, sides, options, stage);
        let mut join = Join {
            heads: [Head::new(a), Head::new(b)],
            mounts: [a_mounts, b_mounts],
            unlisted: <[Unlisted; 2]>::default(),
            unknown: [None; 2],
            place: None,
            two_seconds: prepared.two_seconds,
            contents: Contents::new(prepared.trees, watch.stop),
            properties: options.properties,
            counts: Counts::default(),
            path: Vec::new(),
            report,
        };
        if !prepared.one_after_the_other {
            join.heads.iter_mut().try_for_each(Head::start)?;
        }
        join.run(watch)
    });
    match compared {
        _ if watch.stop.load(MemoryOrdering::Relaxed) => Ok(None),
        compared => compared,
    }
}

/// Ends the scans if the join fails.
struct Ends<'e>(&'e AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, MemoryOrdering::Relaxed);
    }
}

/// Shared by the threads of both sides.
#[derive(Clone, Copy)]
struct Stage<'env> {
    watch: &'env CopyWatch<'env>,
    ended: &'env AtomicBool,
    mounts: &'env [Mutex<BTreeSet<Vec<u8>>>; 2],
}

/// Everything that is checked and opened before anything is read. `trees` are open directories for contents, apart from the ones
/// that the scans open. `two_seconds` has a value for each pair of trees.
struct Prepared {
    trees: [Option<TreeFiles>; 2],
    selected: Option<Conditions>,
    two_seconds: Vec<bool>,
    one_after_the_other: bool,
}

impl Prepared {
    /// Opens trees and describes both sides. Refusals come in the order of their cost: trees that cannot be opened, incomplete folders of
    /// parts, another number of trees, conditions, and last a pass over inventories for the hashes that they lack.
    fn new(sides: &[Side; 2], options: &CopyOptions) -> Result<Self> {
        let mut trees = [None, None];
        let mut devices = [None; 2];
        let mut roots = [Vec::new(), Vec::new()];
        for (index, side) in sides.iter().enumerate() {
            match side {
                Side::Tree(path, _) => {
                    let directory = Dir::open(path)?;
                    devices[index] = directory.id().ok().map(|id| id.device);
                    roots[index].push(Root::of(path, &directory)?.0);
                    trees[index] = Some(TreeFiles::new(directory));
                }
                Side::Inventory(inventory) => {
                    inventory.unfinished().map_or(Ok(()), Err)?;
                    roots[index].clone_from(&inventory.metadata().roots);
                }
            }
        }
        if roots[0].len() != roots[1].len() {
            let at = usize::from(matches!(sides[0], Side::Tree(..)));
            let reason = format!(
                "it has {} trees and the other side {}: compare as many trees, in the same order",
                roots[at].len(),
                roots[1 - at].len()
            );
            return refuse(path_of(&sides[at]), reason);
        }
        let selected = selected(sides)?;
        for side in sides {
            check_hashes(side, options)?;
        }
        let is_coarse = |root: &Root| root.granule_ns.is_some_and(|granule_ns| granule_ns >= TWO_SECONDS_NS);
        let two_seconds = roots[0].iter().zip(&roots[1]).map(|(a, b)| is_coarse(a) || is_coarse(b)).collect();
        let one_after_the_other = devices[0].is_some() && devices[0] == devices[1];
        Ok(Self { trees, selected, two_seconds, one_after_the_other })
    }

    fn sources<'scope, 'env>(
        &self,
        scope: &'scope std::thread::Scope<'scope, 'env>,
        sides: [Side; 2],
        options: &CopyOptions,
        stage: Stage<'env>,
    ) -> [(Source<'scope, 'env>, Mounts<'env>); 2] {
        let mut index = 0;
        sides.map(|side| {
            let (number, mounts) = (index, &stage.mounts[index]);
            index += 1;
            match side {
                Side::Tree(path, mut scan_options) => {
                    scan_options.conditions = self.of_trees(options);
                    let Stage { watch, ended, .. } = stage;
                    let job = Job { path, options: *scan_options, side: number, watch, ended, mounts };
                    (Source::Tree(Box::new(TreeRows::new(scope, job))), Mounts::Known(mounts))
                }
                Side::Inventory(inventory) => {
                    let mounts = Mounts::recorded(inventory.metadata());
                    (Source::Inventory(seen(*inventory, options)), mounts)
                }
            }
        })
    }

    /// Conditions of the scan of a tree: those requested, and those that the inventory on the other side was made with.
    fn of_trees(&self, options: &CopyOptions) -> Option<Arc<Conditions>> {
        match (&self.selected, &options.conditions) {
            (Some(selected), Some(requested)) => {
                let globs: Vec<&String> =
                    selected.exclude.texts().iter().chain(requested.exclude.texts()).collect();
                // Both are valid, and so is their union.
                let exclude = Globs::of_names_or_paths(&globs).unwrap_or_default();
                let depth_max = selected.depth_max.into_iter().chain(requested.depth_max).min();
                Some(Arc::new(Conditions { exclude, depth_max, ..selected.clone() }))
            }
            (Some(selected), None) => Some(Arc::new(selected.clone())),
            (None, requested) => requested.clone(),
        }
    }
}

fn seen(inventory: Inventory, options: &CopyOptions) -> Box<dyn Rows + Send> {
    match &options.conditions {
        Some(conditions) => Box::new(SeenRows::new(inventory, Arc::clone(conditions))),
        None => Box::new(inventory),
    }
}

fn path_of(side: &Side) -> &Path {
    match side {
        Side::Tree(path, _) => path,
        Side::Inventory(inventory) => inventory.path(),
    }
}

fn metadata_of(side: &Side) -> Option<&Metadata> {
    match side {
        Side::Tree(..) => None,
        Side::Inventory(inventory) => Some(inventory.metadata()),
    }
}

/// Conditions that the inventories were made with. Entries without a row would be missing or extra, so both sides need the same.
fn selected(sides: &[Side; 2]) -> Result<Option<Conditions>> {
    let recorded = sides.each_ref().map(|side| {
        let metadata = metadata_of(side)?;
        Some(metadata.scanned.selected.clone())
    });
    for (side, selected) in sides.iter().zip(&recorded) {
        if selected.iter().flatten().any(|selected| selected.by_attributes) {
            let reason = "it has only entries that met conditions on time, size or owner at its scan: write an inventory without \
                such conditions";
            return refuse(path_of(side), reason);
        }
    }
    match recorded {
        [Some(a), Some(b)] if a != b => {
            let reason = "the two inventories were made with different conditions: repeat the scan with the same conditions";
            refuse(path_of(&sides[1]), reason)
        }
        [Some(selected), _] | [None, Some(selected)] => {
            selected.map(|selected| selected.conditions()).transpose()
        }
        [None, None] => Ok(None),
    }
}

/// Refuses an inventory that lacks the hash of a file (of a link, if targets are compared), by a pass over its rows.
fn check_hashes(side: &Side, options: &CopyOptions) -> Result<()> {
    let Side::Inventory(inventory) = side else { return Ok(()) };
    let needs = |facts: &Facts| match facts.kind {
        FileType::File => options.properties.contains(Properties::CONTENTS) && facts.size_bytes != Some(0),
        FileType::Symlink => options.properties.contains(Properties::TARGET),
        _ => false,
    };
    let reads = [Properties::CONTENTS, Properties::TARGET];
    if !reads.iter().any(|property| options.properties.contains(*property)) {
        return Ok(());
    }
    let mut rows = seen(Inventory::open(inventory.path())?, options);
    while let Some(row) = rows.next_row()? {
        if row.facts.hash.is_some() || row.error.is_some() || !needs(&row.facts) {
            continue;
        }
        let mut path = Vec::new();
        row.key.path_into(&mut path);
        let (property, shown) =
            (if row.facts.kind == FileType::File { "contents" } else { "target" }, path.escape_ascii());
        let reason = format!(
            "it has no hash of the {property} of '{shown}': name the tree instead of its inventory, or the index of 'megadir pack create', \
             which has all hashes, as an inventory of 'scan --hash all' has"
        );
        return refuse(inventory.path(), reason);
    }
    Ok(())
}

/// State of a join. `place` is the directory of the rows that are being compared, and `unknown` for each side why entries that it lacks there
/// may exist nevertheless. `path` is a buffer.
struct Join<'scope, 'env, 'r, 'f> {
    heads: [Head<'scope, 'env>; 2],
    mounts: [Mounts<'env>; 2],
    unlisted: [Unlisted; 2],
    unknown: [Option<Mark>; 2],
    place: Option<(u32, Vec<u8>)>,
    two_seconds: Vec<bool>,
    contents: Contents<'env>,
    properties: Properties,
    counts: Counts,
    path: Vec<u8>,
    report: &'r mut Report<'f>,
}

impl Join<'_, '_, '_, '_> {
    /// The rows of a directory come together on both sides, so the lesser of the two heads is an entry that the other side lacks.
    fn run(mut self, watch: &CopyWatch<'_>) -> Result<Option<Counts>> {
        self.heads[0].advance()?;
        self.heads[1].advance()?;
        let mut compared = 0u64;
        loop {
            let order = match [self.heads[0].row(), self.heads[1].row()] {
                [None, None] => break,
                [Some(_), None] => Ordering::Less,
                [None, Some(_)] => Ordering::Greater,
                [Some(a), Some(b)] => a.key.cmp(&b.key),
            };
            self.enter(usize::from(order == Ordering::Greater));
            let flow = match order {
                Ordering::Less => self.one_sided(0)?,
                Ordering::Greater => self.one_sided(1)?,
                Ordering::Equal => self.pair()?,
            };
            if flow.is_break() {
                return Ok(None);
            }
            if order != Ordering::Greater {
                self.heads[0].advance()?;
            }
            if order != Ordering::Less {
                self.heads[1].advance()?;
            }
            compared += 1;
            if compared.is_multiple_of(WATCH_ROWS) {
                (watch.event)(None, &TreeEvent::Written(compared));
                if watch.stop.load(MemoryOrdering::Relaxed) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(self.counts))
    }

    /// Notes the directory of the next row, which is the head of `side`. Only the marks of directories that a side could not list cost anything here, so
    /// that a pair of readable trees has one comparison of paths for each row. A guessed mount with entries of its own was entered, and is
    /// no mount.
    fn enter(&mut self, side: usize) {
        let Some(row) = self.heads[side].row() else { return };
        let Key { root, parent, .. } = row.key;
        if self.place.as_ref().is_some_and(|(last, path)| *last == root && path == parent) {
            return;
        }
        for side in [0, 1] {
            let (unlisted, mounts) = (&mut self.unlisted[side], &mut self.mounts[side]);
            if unlisted.is_empty() {
                self.unknown[side] = None;
                continue;
            }
            unlisted.enter(root, parent);
            let is_here = |row: &Row<'_>| (row.key.root, row.key.parent) == (root, parent);
            if let Some(row) = self.heads[side].row().filter(is_here)
                && unlisted.unmark_mount(parent)
            {
                mounts.withdraw(row.facts.device);
                self.counts.mounts -= 1;
            }
            self.unknown[side] = unlisted.of(root, parent);
        }
        let path = match self.place.take() {
            Some((_, mut path)) => {
                path.clear();
                path.extend_from_slice(parent);
                path
            }
            None => parent.to_vec(),
        };
        self.place = Some((root, path));
    }

    /// An entry that the other side lacks: missing or extra, unless the other side could not list its directory. It is then counted by the reason. An
    /// error of the entry is a line of its own in either case, because its contents are unknown.
    fn one_sided(&mut self, side: usize) -> Result<ControlFlow<()>> {
        let other = 1 - side;
        let Self { heads, counts, unknown, unlisted, report, path, .. } = self;
        let Some(row) = heads[side].row() else { return Ok(ControlFlow::Continue(())) };
        // Its own incomplete directory has this entry: what is below is known, unless it has an error.
        if unknown[side].is_some() && row.facts.kind == FileType::Directory {
            row.key.path_into(path);
            let mark = if row.error.is_some() { Mark::Unread } else { Mark::Listed };
            unlisted[side].mark(row.key.root, path.clone(), mark)?;
        }
        let mut facts = [None, None];
        facts[side] = Some(&row.facts);
        let kind = match side {
            0 => DifferenceKind::Missing,
            _ => DifferenceKind::Extra,
        };
        let difference =
            Difference { kind, key: row.key, properties: Properties::NOTHING, facts, unreadable: None };
        let flow = match unknown[other] {
            Some(Mark::Mount) => {
                counts.below_mounts += 1;
                ControlFlow::Continue(())
            }
            Some(_) => {
                counts.below_unread += 1;
                ControlFlow::Continue(())
            }
            None => {
                counts.count(kind);
                report(&difference)
            }
        };
        let Some(error) = row.error.filter(|_| flow.is_continue()) else { return Ok(flow) };
        counts.count(DifferenceKind::Unreadable);
        let unreadable = Some((side, error));
        Ok(report(&Difference { kind: DifferenceKind::Unreadable, unreadable, ..difference }))
    }

    /// An entry of both sides. A directory that one side cannot list is marked, so that entries below it that only the other side has are
    /// not taken for differences. Attributes are compared as far as both sides have them; an error of a side is a line of its own.
    fn pair(&mut self) -> Result<ControlFlow<()>> {
        let Self { heads, counts, unknown, unlisted, mounts, report, path, contents, .. } = self;
        let (Some(a), Some(b)) = (heads[0].row(), heads[1].row()) else {
            return Ok(ControlFlow::Continue(()));
        };
        let may_have_entries =
            |row: &Row<'_>| matches!(row.facts.kind, FileType::Directory | FileType::Unknown);
        if may_have_entries(&a) && may_have_entries(&b) {
            a.key.path_into(path);
            for (side, row) in [&a, &b].into_iter().enumerate() {
                let mark = match row.error {
                    Some(_) => Mark::Unread,
                    None if mounts[side].has(row, path) => {
                        counts.mounts += 1;
                        Mark::Mount
                    }
                    None if unknown[side].is_some() => Mark::Listed,
                    None => continue,
                };
                unlisted[side].mark(a.key.root, path.clone(), mark)?;
            }
        }
        let two_seconds = self.two_seconds.get(a.key.root as usize).copied().unwrap_or_default();
        let found = Found::of(self.properties, [&a, &b], two_seconds, contents);
        if contents.is_stopped() {
            return Ok(ControlFlow::Break(()));
        }
        let difference = Difference {
            kind: DifferenceKind::Differs,
            key: a.key,
            properties: found.differing,
            facts: [Some(&a.facts), Some(&b.facts)],
            unreadable: None,
        };
        let mut flow = ControlFlow::Continue(());
        if !found.differing.is_empty() {
            counts.count(DifferenceKind::Differs);
            flow = report(&difference);
        }
        let unreadable = [a.error, b.error].into_iter().enumerate();
        let unreadable = unreadable.filter_map(|(side, error)| Some((side, error?)));
        let unreadable = unreadable.chain(found.unread.iter().map(|(side, reason)| (*side, &reason[..])));
        let mut is_read = true;
        for unreadable in unreadable {
            is_read = false;
            if flow.is_continue() {
                counts.count(DifferenceKind::Unreadable);
                let (kind, properties) = (DifferenceKind::Unreadable, Properties::NOTHING);
                flow = report(&Difference { kind, properties, unreadable: Some(unreadable), ..difference });
            }
        }
        if is_read && found.differing.is_empty() && !a.key.is_root() {
            counts.agreeing += 1;
        }
        Ok(flow)
    }
}

/// Result for an entry of both sides: properties that differ, and what could not be compared on which side, with the reason.
struct Found {
    differing: Properties,
    unread: Vec<(usize, String)>,
}

impl Found {
    /// Compares by the rows, and then, if they agree, by reading. A row whose entry could not be examined has no facts to compare; a directory
    /// that could only not be listed has them.
    fn of(
        properties: Properties,
        [a, b]: [&Row<'_>; 2],
        two_seconds: bool,
        contents: &mut Contents<'_>,
    ) -> Self {
        let mut found = Self { differing: Properties::NOTHING, unread: Vec::new() };
        let is_examined = |row: &Row<'_>| row.facts.errno.is_none() && row.facts.kind != FileType::Unknown;
        let has_failed = |row: &Row<'_>| row.error.is_some() && !is_examined(row);
        if has_failed(a) || has_failed(b) {
            return found;
        }
        let facts = [&a.facts, &b.facts];
        let compared = by_facts(properties, facts, two_seconds);
        found.differing = compared.differing;
        for (side, unknown) in compared.unknown.into_iter().enumerate() {
            if !unknown.is_empty() {
                let names: Vec<&str> = unknown.names().collect();
                found.unread.push((side, format!("compare: no {} recorded", names.join(", "))));
            }
        }
        if !found.differing.is_empty() || !found.unread.is_empty() {
            return found;
        }
        let (property, outcome) = match a.facts.kind {
            FileType::File if properties.contains(Properties::CONTENTS) && a.facts.size_bytes != Some(0) => {
                (Properties::CONTENTS, contents.of_files(&a.key, facts))
            }
            FileType::Symlink if properties.contains(Properties::TARGET) => {
                (Properties::TARGET, contents.of_links(&a.key, facts))
            }
            _ => return found,
        };
        match outcome {
            Outcome::Same => {}
            Outcome::Different => found.differing = property,
            Outcome::Unreadable(side, reason) => found.unread.push((side, reason)),
        }
        found
    }
}
