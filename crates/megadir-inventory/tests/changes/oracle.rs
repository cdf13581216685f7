//! The oracle: two full listings by the standard library, compared in the most obvious way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use megadir_inventory::changes::Change;
use megadir_inventory::{Rows, TreePath};

#[cfg(target_os = "linux")]
#[path = "oracle/linux.rs"]
mod system;
#[cfg(windows)]
#[path = "oracle/windows.rs"]
mod system;

/// What the standard library tells of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) kind: &'static str,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) born_ns: Option<i64>,
    pub(crate) size: u64,
    pub(crate) mtime_ns: i64,
    pub(crate) ctime_ns: i64,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) links: u64,
}

/// A tree by paths relative to its root, which has the empty one.
pub(crate) type Listing = BTreeMap<String, Meta>;

/// Lists a tree, with the hard links of its files where they are told.
pub(crate) fn listing(root: &Path, links: bool) -> Listing {
    let meta = |path: &Path| {
        let meta = system::meta(path);
        if links { meta } else { Meta { links: 0, ..meta } }
    };
    let mut all = Listing::new();
    all.insert(String::new(), system::of_root(meta(root)));
    let mut waiting = vec![(String::new(), root.to_owned())];
    while let Some((relative, path)) = waiting.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let below = if relative.is_empty() { name } else { format!("{relative}/{name}") };
            let found = meta(&entry.path());
            if found.kind == "directory" {
                waiting.push((below.clone(), entry.path()));
            }
            all.insert(below, found);
        }
    }
    all
}

/// Returns what rows say, in the words of the oracle.
pub(crate) fn of_rows(rows: &mut dyn Rows) -> Listing {
    let mut all = Listing::new();
    let mut path = Vec::new();
    while let Some(row) = rows.next_row().unwrap() {
        assert_eq!(row.error, None, "{row:?}");
        row.key.path_into(&mut path);
        let before = all.insert(String::from_utf8(path.clone()).unwrap(), system::of_row(&row));
        assert!(before.is_none(), "{row:?} twice");
    }
    all
}

/// Returns changes as lines.
pub(crate) fn lines(changes: &[Change]) -> BTreeSet<String> {
    let text = |path: &TreePath| path.to_string();
    let line = |change: &Change| {
        let from = change.from.as_ref().map_or(String::new(), text);
        let fields: Vec<&str> = change.fields.names().collect();
        line(change.kind.name(), &from, &text(&change.path), &fields, change.suspect)
    };
    let lines: BTreeSet<String> = changes.iter().map(line).collect();
    assert_eq!(lines.len(), changes.len(), "a change was told twice: {changes:?}");
    lines
}

fn line(kind: &str, from: &str, path: &str, fields: &[&str], suspect: bool) -> String {
    let suspect = if suspect { "?" } else { "" };
    format!("{kind} '{from}' '{path}' {}{suspect}", fields.join(","))
}

impl Meta {
    pub(crate) fn is_directory(&self) -> bool {
        self.kind == "directory"
    }

    /// The same file under whatever name.
    fn identity(&self) -> (&'static str, u64, u64, i64, u64) {
        match self.born_ns {
            _ if system::UNIQUE_NUMBERS => (self.kind, self.device, self.inode, 0, 0),
            Some(born_ns) => (self.kind, self.device, self.inode, born_ns, 0),
            None => {
                let size = if self.is_directory() { 0 } else { self.size };
                (self.kind, self.device, self.inode, self.mtime_ns, size)
            }
        }
    }

    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.kind, self.device, self.inode) == (other.kind, other.device, other.inode)
            && (system::UNIQUE_NUMBERS || self.born_ns == other.born_ns)
    }

    fn file(&self) -> File {
        (self.inode, self.born_ns.filter(|_| !system::UNIQUE_NUMBERS), self.kind)
    }

    /// The contents may differ though nothing else does, if the clock was read at `started_ns`.
    fn is_suspect(&self, started_ns: i64) -> bool {
        let second = 1_000_000_000;
        let cut = match (self.ctime_ns % second, self.ctime_ns / second % 2) {
            (0, 0) => 2 * second,
            (0, _) => second,
            _ => 0,
        };
        // Where inodes hold whole seconds and no time of birth the clock is reckoned to be as wide.
        let tick = if self.born_ns.is_none() { second } else { 100_000_000 };
        let hides = self.kind == "symlink" || (self.kind == "file" && self.size > 0);
        hides && self.ctime_ns + cut + tick >= started_ns
    }
}

/// Returns what differs, in the order of the names in output.
fn fields(old: &Meta, new: &Meta, times: bool, ctime: bool) -> Vec<&'static str> {
    let file = !new.is_directory();
    let all = [
        ("size", file && old.size != new.size),
        ("mtime", times && old.mtime_ns != new.mtime_ns),
        ("ctime", ctime && old.ctime_ns != new.ctime_ns),
        ("inode", !old.is_same_file(new)),
        ("mode", old.mode != new.mode),
        ("owner", old.owner != new.owner),
        ("links", file && old.links != new.links),
    ];
    all.iter().filter(|field| field.1).map(|field| field.0).collect()
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |split| split.0)
}

fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |split| split.1)
}

/// A file: inode, time of birth and type.
type File = (u64, Option<i64>, &'static str);

/// Compares two listings; the first was made at `started_ns`.
pub(crate) fn compare(old: &Listing, new: &Listing, started_ns: i64) -> BTreeSet<String> {
    let is_same = |path: &str| match (old.get(path), new.get(path)) {
        (Some(old), Some(new)) => old.is_same_file(new),
        _ => false,
    };
    let mut left: Vec<&String> = old.keys().filter(|path| !is_same(path)).collect();
    let mut came: Vec<&String> = new.keys().filter(|path| !is_same(path)).collect();
    // Directories first: what is in them went along.
    let mut renamed: BTreeMap<&str, &str> = BTreeMap::new();
    let free = |renamed: &BTreeMap<&str, &str>, to: &str| !renamed.values().any(|taken| *taken == to);
    for from in left.iter().filter(|from| old[**from].is_directory()) {
        let to = came.iter().find(|to| new[**to].identity() == old[*from].identity());
        if let Some(to) = to.filter(|to| free(&renamed, to)) {
            renamed.insert(from, to);
        }
    }
    // Directories whose path another has now, unless it took the place of one that is nowhere any more.
    let mut unsteady: BTreeSet<&str> = BTreeSet::new();
    for path in old.keys().filter(|path| old[*path].is_directory() && new.contains_key(*path)) {
        let elsewhere = renamed.contains_key(path.as_str()) || !free(&renamed, path);
        if !is_same(path)
            && (elsewhere
                || !new[path].is_directory()
                || (!path.is_empty() && unsteady.contains(parent(path))))
        {
            unsteady.insert(path);
        }
    }
    let mut back: BTreeSet<&str> = BTreeSet::new();
    for path in old.keys().filter(|path| is_same(path) && !path.is_empty() && unsteady.contains(parent(path)))
    {
        back.insert(path);
        left.push(path);
        came.push(path);
        if old[path].is_directory() {
            renamed.insert(path, path);
        }
    }
    left.sort();
    came.sort();
    let moved = renamed.clone();
    let went_along =
        |from: &str, to: &str| moved.get(parent(from)) == Some(&parent(to)) && name(from) == name(to);
    for pass in 0..3 {
        for from in left.iter().filter(|from| !old[**from].is_directory()) {
            if renamed.contains_key(from.as_str()) {
                continue;
            }
            let to = came.iter().find(|to| {
                new[**to].identity() == old[*from].identity()
                    && free(&renamed, to)
                    && match pass {
                        0 => went_along(from, to),
                        1 => from == *to,
                        _ => true,
                    }
            });
            if let Some(to) = to {
                renamed.insert(from, to);
            }
        }
    }
    for path in &back {
        if !renamed.contains_key(path) && free(&renamed, path) {
            renamed.insert(path, path);
        }
    }
    let mut lines = BTreeSet::new();
    for (path, now) in new.iter().filter(|(path, _)| !back.contains(path.as_str())) {
        let Some(before) = old.get(path).filter(|_| is_same(path)) else { continue };
        let entries = |of: &Listing| -> Vec<(String, File)> {
            let below = of.iter().filter(|(below, _)| parent(below) == path && !below.is_empty());
            below.map(|(below, meta)| (below.clone(), meta.file())).collect()
        };
        let times = !now.is_directory() || (system::DIRECTORY_TIMES && entries(old) == entries(new));
        let differ = fields(before, now, times, times);
        if !differ.is_empty() {
            lines.insert(line("modified", "", path, &differ, false));
        } else if before.is_suspect(started_ns) {
            lines.insert(line("suspect", "", path, &[], true));
        }
    }
    let stirred_before = |directory: &str| {
        left.iter().any(|path| {
            parent(path) == directory && !renamed.get(path.as_str()).is_some_and(|to| went_along(path, to))
        })
    };
    let stirred_after = |directory: &str| {
        came.iter().any(|path| {
            let from = renamed.iter().find(|(_, to)| **to == path.as_str()).map(|(from, _)| *from);
            parent(path) == directory && !from.is_some_and(|from| went_along(from, path))
        })
    };
    for path in &left {
        let before = &old[*path];
        let Some(to) = renamed.get(path.as_str()) else {
            if !new.contains_key(*path) || moved.get(parent(path)).is_some_and(|to| *to != parent(path)) {
                lines.insert(line("removed", "", path, &[], false));
            }
            continue;
        };
        let now = &new[*to];
        let suspect = before.is_suspect(started_ns);
        if !went_along(path, to) {
            let differ = fields(before, now, !now.is_directory(), false);
            lines.insert(line("renamed", path, to, &differ, suspect));
            continue;
        }
        let stirred = !system::DIRECTORY_TIMES || stirred_before(path) || stirred_after(to);
        let times = !now.is_directory() || !stirred;
        let differ = fields(before, now, times, times);
        if !differ.is_empty() {
            lines.insert(line("modified", path, to, &differ, false));
        } else if suspect {
            lines.insert(line("suspect", path, to, &[], true));
        }
    }
    for path in came.iter().filter(|path| !renamed.values().any(|to| *to == path.as_str())) {
        match old.get(*path) {
            Some(before) if !renamed.contains_key(path.as_str()) && !unsteady.contains(parent(path)) => {
                let now = &new[*path];
                let times = system::DIRECTORY_TIMES || !now.is_directory();
                let mut differ = fields(before, now, times, times);
                if !differ.contains(&"inode") {
                    differ.push("inode");
                }
                let kind = if before.kind == now.kind { "modified" } else { "type-changed" };
                lines.insert(line(kind, "", path, &differ, false));
            }
            _ => {
                lines.insert(line("added", "", path, &[], false));
            }
        }
    }
    lines
}
