//! Figures of every subtree from an inventory, like [`megadir::usage`].

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use megadir::usage::{Item, Subtree, Tally, Usage};
use megadir::{Conditions, FileType, Place, Result, TreePath, WalkContext, names};

use crate::metadata::Metadata;
use crate::row::{Facts, Key, Row, time_of};
use crate::rows::{Rows, SeenRows};

const WATCH_ROWS: u64 = 1 << 14;

/// Parts of the trees that are missing in the inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// Number of directories that could not be read completely.
    pub unread_directories: u64,
    /// Number of mount points that were not entered.
    pub mounts_not_entered: u64,
}

/// Adds the trees of an inventory: the rows that meet the conditions. `watch` gets the number of rows so far and breaks to stop.
///
/// Memory is bounded as in [`megadir::usage::read`], and by the directories recorded as unreadable. Errors: those of
/// [`Rows::next_row`].
pub fn usage(
    rows: impl Rows,
    conditions: Option<&Arc<Conditions>>,
    usage: &mut Usage,
    watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<ControlFlow<(), Lacking>> {
    match conditions.filter(|conditions| conditions.limits_sight()) {
        Some(sight) => count(SeenRows::new(rows, Arc::clone(sight)), Some(sight), usage, watch),
        None => count(rows, conditions, usage, watch),
    }
}

/// One pass over the rows, in the order of an inventory: each root, then its directories, each with its
/// entries. Memory is bounded by the depth of the tree and the directories that lack something. A root whose
/// rows are missing begins a tree too, when the next root comes.
fn count(
    mut rows: impl Rows,
    conditions: Option<&Arc<Conditions>>,
    usage: &mut Usage,
    watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<ControlFlow<(), Lacking>> {
    let metadata = rows.metadata().clone();
    let conditions = conditions.map(|conditions| &**conditions);
    let mut reading = Reading::new(usage.tally(), conditions, &metadata);
    let mut next_root = 0;
    let mut read = 0;
    while let Some(row) = rows.next_row()? {
        let Key { root, parent, name } = row.key;
        while next_root <= root {
            let path = metadata.roots.get(next_root as usize).map_or(&[][..], |root| &root.path);
            let path = names::to_os(path).map(|path| PathBuf::from(path.into_owned())).unwrap_or_default();
            reading.begin_tree(next_root, usage.root(path));
            next_root += 1;
        }
        if row.key.is_root() || row.facts.kind == FileType::Directory {
            reading.directory(&row);
        }
        if !row.key.is_root() {
            reading.entry(parent, name, &row.facts);
        }
        read += 1;
        if read % WATCH_ROWS == 0 && watch(read).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    let (tally, lacking) = reading.end(rows.metadata());
    usage.merge(&tally);
    Ok(ControlFlow::Continue(lacking))
}

/// State while rows are read. `open` has the subtrees from the root down to the current directory; `path` and
/// `shared_path` are the current directory as bytes and as a path that shares its beginning. `unread`,
/// `directories`, `with_entries` and `foreign` serve to find directories whose contents the inventory does
/// not have, so that sums are reported as incomplete. `device` is the device of the tree's root.
struct Reading<'c> {
    tally: Tally,
    conditions: Option<&'c Conditions>,
    depth_max: Option<u32>,
    place: Place,
    root: u32,
    path: Vec<u8>,
    shared_path: TreePath,
    /// The current directory last, after directories that may still get entries below them. Each path begins
    /// with the one before, because `a-b` comes before `a/b`.
    open: Vec<(usize, Subtree)>,
    has_entries: bool,
    unread: HashSet<(u32, Vec<u8>)>,
    unread_directories: u64,
    directories: u64,
    with_entries: u64,
    device: Option<u64>,
    /// Directories without rows on another device: mount points, and empty btrfs subvolumes.
    foreign: HashSet<(u32, Vec<u8>)>,
}

impl<'c> Reading<'c> {
    fn new(tally: Tally, conditions: Option<&'c Conditions>, metadata: &Metadata) -> Self {
        let recorded = metadata.scanned.selected.as_ref().and_then(|selected| selected.depth_max);
        let requested = conditions.and_then(|conditions| conditions.depth_max);
        Self {
            tally,
            conditions,
            depth_max: recorded.into_iter().chain(requested).min(),
            place: Place::TOP,
            root: 0,
            path: Vec::new(),
            shared_path: TreePath::root(),
            open: Vec::new(),
            has_entries: false,
            unread: HashSet::new(),
            unread_directories: 0,
            directories: 0,
            with_entries: 0,
            device: None,
            foreign: HashSet::new(),
        }
    }

    fn begin_tree(&mut self, root: u32, subtree: Subtree) {
        self.end_directory();
        self.open.clear();
        self.open.push((0, subtree));
        self.root = root;
        self.path.clear();
        self.shared_path = TreePath::root();
    }

    /// Called for the row of each directory, which comes before its contents. Directories at the depth limit
    /// have no rows below them by intent, so they do not count as empty or unread.
    fn directory(&mut self, row: &Row<'_>) {
        let level = |key: &Key<'_>| match (key.is_root(), key.parent.is_empty()) {
            (true, _) => 0,
            (_, true) => 1,
            _ => key.parent.iter().filter(|byte| **byte == b'/').count() as u32 + 2,
        };
        if self.depth_max.is_some_and(|max| level(&row.key) >= max) {
            return;
        }
        let path = || {
            let mut path = Vec::new();
            row.key.path_into(&mut path);
            (row.key.root, path)
        };
        if row.key.is_root() {
            self.device = row.facts.device;
        } else if row.facts.device != self.device {
            self.foreign.insert(path());
        }
        match row.error {
            None => self.directories += 1,
            Some(_) => {
                self.unread_directories += 1;
                self.unread.insert(path());
            }
        }
    }

    /// Called for each row, so the path is compared before anything else. A directory on another device that
    /// has rows after all was entered, and is no longer counted as a mount that was not.
    fn entry(&mut self, parent: &[u8], name: &[u8], facts: &Facts) {
        if self.path != parent || !self.has_entries {
            self.end_directory();
            self.turn_to(parent);
            self.place = self.conditions.map_or(Place::TOP, |all| all.place(&self.shared_path));
            if !self.foreign.is_empty() {
                self.foreign.remove(&(self.root, self.path.clone()));
            }
        }
        self.has_entries = true;
        let accepts = |all: &Conditions| all.may_accept(&self.place, name, facts.kind, &facts.attributes());
        if self.conditions.is_some_and(|all| !accepts(all)) {
            return;
        }
        if let Some((_, subtree)) = self.open.last() {
            self.tally.add((subtree, &self.shared_path), &item(name, facts));
        }
    }

    fn turn_to(&mut self, path: &[u8]) {
        // Entries below `a` may follow entries below `a-b`: `/` is greater than `-`.
        let may_go_on = |length: usize| match path.get(length) {
            _ if length == 0 => true,
            next => path.starts_with(&self.path[..length]) && next.is_none_or(|next| *next <= b'/'),
        };
        while self.open.last().is_some_and(|(length, _)| !may_go_on(*length)) {
            self.open.pop();
        }
        let is_above = |length: usize| length == 0 || path.get(length) == Some(&b'/');
        let above = self.open.iter().rposition(|(length, _)| is_above(*length) || *length == path.len());
        let Some(mut above) = above else { return };
        while self.open[above].0 < path.len() {
            let start = match self.open[above].0 {
                0 => 0,
                length => length + 1,
            };
            let name = path[start..].split(|byte| *byte == b'/').next().unwrap_or_default();
            let below = self.open[above].1.below(name);
            self.open.push((start + name.len(), below));
            above = self.open.len() - 1;
        }
        self.shared_path = TreePath::sharing(path, &self.shared_path);
        self.path.clear();
        self.path.extend_from_slice(path);
    }

    fn end_directory(&mut self) {
        let Some((_, subtree)) = self.open.last().filter(|_| std::mem::take(&mut self.has_entries)) else {
            return;
        };
        self.tally.flush(subtree);
        if self.unread.is_empty() || !self.unread.remove(&(self.root, self.path.clone())) {
            self.tally.end(subtree);
            self.with_entries += 1;
        }
    }

    /// Contents that the inventory lacks, so that the sums can be reported as incomplete: with conditions, only what
    /// lies where they let see. Directories without entries are counted by subtraction, since they have no
    /// rows of entries that could be met.
    fn end(mut self, metadata: &Metadata) -> (Tally, Lacking) {
        self.end_directory();
        let all = Lacking {
            unread_directories: metadata.unread_directories,
            mounts_not_entered: metadata.scanned.mounts_not_entered,
        };
        let lacking = match self.conditions.is_some_and(Conditions::limits_sight) {
            true => Lacking {
                unread_directories: self.unread_directories,
                mounts_not_entered: all.mounts_not_entered.min(self.foreign.len() as u64),
            },
            false => all,
        };
        let empty = self.directories.saturating_sub(self.with_entries);
        self.tally.end_empty(empty.saturating_sub(lacking.mounts_not_entered));
        (self.tally, lacking)
    }
}

fn item<'a>(name: &'a [u8], facts: &Facts) -> Item<'a> {
    Item {
        name,
        kind: facts.kind,
        size_bytes: facts.size_bytes,
        allocated_bytes: facts.allocated_bytes,
        modified: facts.modified_ns.map(time_of),
        accessed: facts.accessed_ns.map(time_of),
        user: facts.user,
        links: facts.links,
        inode: facts.inode.map(|inode| (inode, facts.inode_high.unwrap_or(0))),
        device: facts.device,
        is_unexamined: facts.errno.is_some(),
    }
}
