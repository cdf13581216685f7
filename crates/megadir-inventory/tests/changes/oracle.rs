//! The oracle: two full listings by the standard library, compared in the most obvious way.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

use megadir_inventory::changes::Change;
use megadir_inventory::{Row, Rows};

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

/// Lists a tree.
pub(crate) fn listing(root: &Path) -> Listing {
    let mut all = Listing::new();
    all.insert(String::new(), meta(root));
    let mut waiting = vec![(String::new(), root.to_owned())];
    while let Some((relative, path)) = waiting.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let name = String::from_utf8(entry.file_name().as_bytes().to_vec()).unwrap();
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

fn meta(path: &Path) -> Meta {
    let meta = std::fs::symlink_metadata(path).unwrap();
    let kind = match meta.file_type() {
        kind if kind.is_dir() => "directory",
        kind if kind.is_symlink() => "symlink",
        kind if kind.is_fifo() => "fifo",
        _ => "file",
    };
    let born = meta.created().ok().map(|born| born.duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64);
    Meta {
        kind,
        device: meta.dev(),
        inode: meta.ino(),
        born_ns: born,
        size: meta.size(),
        mtime_ns: meta.mtime() * 1_000_000_000 + meta.mtime_nsec(),
        ctime_ns: meta.ctime() * 1_000_000_000 + meta.ctime_nsec(),
        mode: meta.mode() & 0o7777,
        owner: (meta.uid(), meta.gid()),
        links: meta.nlink(),
    }
}

/// Returns what rows say, in the words of the oracle.
pub(crate) fn of_rows(rows: &mut dyn Rows) -> Listing {
    let mut all = Listing::new();
    let mut path = Vec::new();
    while let Some(row) = rows.next_row().unwrap() {
        assert_eq!(row.error, None, "{row:?}");
        row.key.path_into(&mut path);
        let before = all.insert(String::from_utf8(path.clone()).unwrap(), of_row(&row));
        assert!(before.is_none(), "{row:?} twice");
    }
    all
}

fn of_row(row: &Row<'_>) -> Meta {
    let facts = row.facts;
    Meta {
        kind: facts.kind.name(),
        device: facts.device.unwrap(),
        inode: facts.inode.unwrap(),
        born_ns: facts.born_ns,
        size: facts.size_bytes.unwrap(),
        mtime_ns: facts.modified_ns.unwrap(),
        ctime_ns: facts.changed_ns.unwrap(),
        mode: facts.mode.unwrap().into(),
        owner: (facts.user.unwrap(), facts.group.unwrap()),
        links: facts.links.unwrap(),
    }
}

/// Returns changes as lines.
pub(crate) fn lines(changes: &[Change]) -> BTreeSet<String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let line = |change: &Change| {
        let from = change.from.as_deref().map_or(String::new(), text);
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
    fn is_directory(&self) -> bool {
        self.kind == "directory"
    }

    /// The same file under whatever name.
    fn identity(&self) -> (&'static str, u64, u64, i64, u64) {
        match self.born_ns {
            Some(born_ns) => (self.kind, self.device, self.inode, born_ns, 0),
            None => {
                let size = if self.is_directory() { 0 } else { self.size };
                (self.kind, self.device, self.inode, self.mtime_ns, size)
            }
        }
    }

    fn is_same_file(&self, other: &Self) -> bool {
        (self.kind, self.device, self.inode, self.born_ns)
            == (other.kind, other.device, other.inode, other.born_ns)
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
    let left: Vec<&String> = old.keys().filter(|path| !is_same(path)).collect();
    let came: Vec<&String> = new.keys().filter(|path| !is_same(path)).collect();
    // Directories first: what is in them went along.
    let mut renamed: BTreeMap<&str, &str> = BTreeMap::new();
    let free = |renamed: &BTreeMap<&str, &str>, to: &str| !renamed.values().any(|taken| *taken == to);
    for from in left.iter().filter(|from| old[**from].is_directory()) {
        let to = came.iter().find(|to| new[**to].identity() == old[*from].identity());
        if let Some(to) = to.filter(|to| free(&renamed, to)) {
            renamed.insert(from, to);
        }
    }
    let moved = renamed.clone();
    let went_along =
        |from: &str, to: &str| moved.get(parent(from)) == Some(&parent(to)) && name(from) == name(to);
    for along in [true, false] {
        for from in left.iter().filter(|from| !old[**from].is_directory()) {
            if renamed.contains_key(from.as_str()) {
                continue;
            }
            let to = came.iter().find(|to| {
                new[**to].identity() == old[*from].identity()
                    && free(&renamed, to)
                    && (!along || went_along(from, to))
            });
            if let Some(to) = to {
                renamed.insert(from, to);
            }
        }
    }
    let mut lines = BTreeSet::new();
    for (path, now) in new {
        let Some(before) = old.get(path).filter(|_| is_same(path)) else { continue };
        let entries = |of: &Listing| -> Vec<(String, File)> {
            let below = of.iter().filter(|(below, _)| parent(below) == path && !below.is_empty());
            below.map(|(below, meta)| (below.clone(), (meta.inode, meta.born_ns, meta.kind))).collect()
        };
        let times = !now.is_directory() || entries(old) == entries(new);
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
            if !new.contains_key(*path) {
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
        let times = !now.is_directory() || !(stirred_before(path) || stirred_after(to));
        let differ = fields(before, now, times, times);
        if !differ.is_empty() {
            lines.insert(line("modified", path, to, &differ, false));
        } else if suspect {
            lines.insert(line("suspect", path, to, &[], true));
        }
    }
    for path in came.iter().filter(|path| !renamed.values().any(|to| *to == path.as_str())) {
        match old.get(*path) {
            Some(before) if !renamed.contains_key(path.as_str()) => {
                let now = &new[*path];
                let mut differ = fields(before, now, true, true);
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
