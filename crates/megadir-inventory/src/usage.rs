//! Figures of every subtree from an inventory, as [`megadir::usage`] reads them from a tree.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;

use megadir::usage::{Item, Subtree, Tally, Usage};
use megadir::{FileType, Result, Time, TreePath, WalkContext, names};

use crate::row::{Facts, Key};
use crate::rows::Rows;

/// Rows between two calls of `watch`.
const WATCH_ROWS: u64 = 1 << 14;

/// Adds the trees of an inventory. `watch` gets the number of rows read so far and may request a stop, which breaks.
///
/// Memory is bounded as that of [`megadir::usage::read`], and by the directories that the inventory records as
/// unreadable.
///
/// # Errors
///
/// Those of [`Rows::next_row`].
pub fn usage(
    rows: &mut impl Rows,
    usage: &mut Usage,
    watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let metadata = rows.metadata();
    let (roots, mounts) = (metadata.roots.clone(), metadata.scanned.mounts_not_entered);
    let mut reading = Reading::new(usage.tally());
    let mut next_root = 0;
    let mut read = 0;
    while let Some(row) = rows.next_row()? {
        let Key { root, parent, name } = row.key;
        while next_root <= root {
            let path = roots.get(next_root as usize).map_or(&[][..], |root| &root.path);
            let path = names::to_os(path).map(|path| PathBuf::from(path.into_owned())).unwrap_or_default();
            reading.begin_tree(next_root, usage.root(path));
            next_root += 1;
        }
        if row.key.is_root() || row.facts.kind == FileType::Directory {
            reading.directory(root, parent, name, row.error.is_some());
        }
        if !row.key.is_root() {
            reading.entry(parent, &item(name, &row.facts));
        }
        read += 1;
        if read % WATCH_ROWS == 0 && watch(read).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    let tally = reading.end(mounts);
    usage.merge(&tally);
    Ok(ControlFlow::Continue(()))
}

struct Reading {
    tally: Tally,
    root: u32,
    /// Path of the current directory.
    path: Vec<u8>,
    shared_path: TreePath,
    /// The current directory last, before it those that may still get entries below them. The path of each begins with
    /// that of the one before, because `a-b` comes before `a/b`.
    open: Vec<(usize, Subtree)>,
    has_entries: bool,
    /// Not read completely.
    unread: HashSet<(u32, Vec<u8>)>,
    directories: u64,
    with_entries: u64,
}

impl Reading {
    fn new(tally: Tally) -> Self {
        Self {
            tally,
            root: 0,
            path: Vec::new(),
            shared_path: TreePath::root(),
            open: Vec::new(),
            has_entries: false,
            unread: HashSet::new(),
            directories: 0,
            with_entries: 0,
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

    fn directory(&mut self, root: u32, parent: &[u8], name: &[u8], is_unread: bool) {
        if !is_unread {
            self.directories += 1;
            return;
        }
        let mut path = Vec::new();
        Key { root, parent, name }.path_into(&mut path);
        self.unread.insert((root, path));
    }

    fn entry(&mut self, parent: &[u8], item: &Item<'_>) {
        if self.path != parent {
            self.end_directory();
            self.turn_to(parent);
        }
        self.has_entries = true;
        if let Some((_, subtree)) = self.open.last() {
            self.tally.add((subtree, &self.shared_path), item);
        }
    }

    fn turn_to(&mut self, path: &[u8]) {
        // Entries below `a` may follow those of `a-b`: `/` is greater than `-`.
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

    fn end(mut self, mounts_not_entered: u64) -> Tally {
        self.end_directory();
        let empty = self.directories.saturating_sub(self.with_entries).saturating_sub(mounts_not_entered);
        self.tally.end_empty(empty);
        self.tally
    }
}

fn item<'a>(name: &'a [u8], facts: &Facts) -> Item<'a> {
    let time = |ns: i64| Time {
        seconds: ns.div_euclid(1_000_000_000),
        nanoseconds: ns.rem_euclid(1_000_000_000) as u32,
    };
    Item {
        name,
        kind: facts.kind,
        size_bytes: facts.size_bytes,
        allocated_bytes: facts.allocated_bytes,
        modified: facts.modified_ns.map(time),
        accessed: None,
        user: facts.user,
        links: facts.links,
        inode: facts.inode.map(|inode| (inode, facts.inode_high.unwrap_or(0))),
        device: facts.device,
        is_unexamined: facts.errno.is_some(),
    }
}
