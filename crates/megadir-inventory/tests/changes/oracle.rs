//! Oracle: compares two full listings by the standard library in the most obvious way.

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

/// Metadata of an entry from the standard library.
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

/// Entries by path relative to the root; the root's own path is empty.
pub(crate) type Listing = BTreeMap<String, Meta>;

/// Lists a tree; `links` includes the link counts of files if available.
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

/// Converts rows to the oracle's representation.
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

/// Entries and bytes of files below each directory, now minus before, where there is a difference.
pub(crate) fn gained(old: &Listing, new: &Listing) -> BTreeMap<String, (i64, i128)> {
    let mut gained: BTreeMap<String, (i64, i128)> = BTreeMap::new();
    for (listing, sign) in [(old, -1), (new, 1)] {
        for (path, meta) in listing.iter().filter(|(path, _)| !path.is_empty()) {
            let mut above = path.as_str();
            while !above.is_empty() {
                above = parent(above);
                let sum = gained.entry(above.to_owned()).or_default();
                sum.0 += sign;
                sum.1 += if meta.is_directory() { 0 } else { i128::from(sign) * i128::from(meta.size) };
            }
        }
    }
    gained.retain(|_, sum| *sum != (0, 0));
    gained
}

/// Formats changes as lines.
pub(crate) fn lines(changes: &[Change]) -> BTreeSet<String> {
    let text = |path: &TreePath| path.to_string();
    let line = |change: &Change| {
        let from = change.from.as_ref().map_or(String::new(), text);
        let fields: Vec<&str> = change.fields.names().collect();
        line(change.kind.name(), &from, &text(&change.path), &fields, change.suspect)
    };
    let lines: BTreeSet<String> = changes.iter().map(line).collect();
    assert_eq!(lines.len(), changes.len(), "a change was reported twice: {changes:?}");
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

    /// Identity of a file, independent of its name.
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

    /// `true` if the contents may have changed although nothing else differs, for a scan that began at
    /// `started_ns`.
    fn is_suspect(&self, started_ns: i64) -> bool {
        let second = 1_000_000_000;
        let cut = match (self.ctime_ns % second, self.ctime_ns / second % 2) {
            (0, 0) => 2 * second,
            (0, _) => second,
            _ => 0,
        };
        // Without a birth time and with inodes in whole seconds, the clock tick is assumed to be a second too.
        let tick = if self.born_ns.is_none() { second } else { 100_000_000 };
        let hides = self.kind == "symlink" || (self.kind == "file" && self.size > 0);
        hides && self.ctime_ns + cut + tick >= started_ns
    }
}

/// Names of the fields that differ, in output order.
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

/// Identity of a file: inode, birth time and type.
type File = (u64, Option<i64>, &'static str);

/// Compares two listings; the first scan began at `started_ns`.
pub(crate) fn compare(old: &Listing, new: &Listing, started_ns: i64) -> BTreeSet<String> {
    let mut comparison = Comparison::new(old, new, started_ns);
    comparison.pair_directories();
    comparison.find_unsteady();
    comparison.pair_files();
    let mut lines = comparison.in_place();
    lines.extend(comparison.left.iter().filter_map(|path| comparison.of_left(path)));
    lines.extend(comparison.came.iter().filter_map(|path| comparison.of_came(path)));
    lines
}

struct Comparison<'a> {
    old: &'a Listing,
    new: &'a Listing,
    started_ns: i64,
    /// Old paths whose file is gone or has moved.
    left: Vec<&'a String>,
    /// New paths that hold a different file than before.
    came: Vec<&'a String>,
    /// New paths by old path.
    renamed: BTreeMap<&'a str, &'a str>,
    /// Renamed directories.
    moved: BTreeMap<&'a str, &'a str>,
    /// Directories whose old path now belongs to another directory, except one that replaced a deleted
    /// directory.
    unsteady: BTreeSet<&'a str>,
    /// Files that kept their path inside an unsteady directory.
    back: BTreeSet<&'a str>,
}

impl<'a> Comparison<'a> {
    fn new(old: &'a Listing, new: &'a Listing, started_ns: i64) -> Self {
        let mut this = Self {
            old,
            new,
            started_ns,
            left: Vec::new(),
            came: Vec::new(),
            renamed: BTreeMap::new(),
            moved: BTreeMap::new(),
            unsteady: BTreeSet::new(),
            back: BTreeSet::new(),
        };
        this.left = old.keys().filter(|path| !this.is_same(path)).collect();
        this.came = new.keys().filter(|path| !this.is_same(path)).collect();
        this
    }

    fn is_same(&self, path: &str) -> bool {
        match (self.old.get(path), self.new.get(path)) {
            (Some(old), Some(new)) => old.is_same_file(new),
            _ => false,
        }
    }

    fn is_free(&self, to: &str) -> bool {
        !self.renamed.values().any(|taken| *taken == to)
    }

    fn pair_directories(&mut self) {
        for from in self.left.clone().into_iter().filter(|from| self.old[*from].is_directory()) {
            let is_it = |to: &&&String| self.new[**to].identity() == self.old[from].identity();
            let to = self.came.iter().find(is_it).copied();
            if let Some(to) = to.filter(|to| self.is_free(to)) {
                self.renamed.insert(from, to);
            }
        }
    }

    fn find_unsteady(&mut self) {
        let (old, new) = (self.old, self.new);
        let both: Vec<_> =
            old.keys().filter(|path| old[*path].is_directory() && new.contains_key(*path)).collect();
        for path in both {
            let elsewhere = self.renamed.contains_key(path.as_str()) || !self.is_free(path);
            let is_other = elsewhere || !new[path].is_directory() || self.is_in_unsteady(path);
            if !self.is_same(path) && is_other {
                self.unsteady.insert(path);
            }
        }
        let back: Vec<_> =
            old.keys().filter(|path| self.is_same(path) && self.is_in_unsteady(path)).collect();
        for path in back {
            self.back.insert(path);
            self.left.push(path);
            self.came.push(path);
            if old[path].is_directory() {
                self.renamed.insert(path, path);
            }
        }
        self.left.sort();
        self.came.sort();
        self.moved = self.renamed.clone();
    }

    fn is_in_unsteady(&self, path: &str) -> bool {
        !path.is_empty() && self.unsteady.contains(parent(path))
    }

    fn moved_along(&self, from: &str, to: &str) -> bool {
        self.moved.get(parent(from)) == Some(&parent(to)) && name(from) == name(to)
    }

    fn pair_files(&mut self) {
        for pass in 0..3 {
            for from in self.left.clone().into_iter().filter(|from| !self.old[*from].is_directory()) {
                if self.renamed.contains_key(from.as_str()) {
                    continue;
                }
                let fits = |to: &str| match pass {
                    0 => self.moved_along(from, to),
                    1 => from == to,
                    _ => true,
                };
                let to = self.came.iter().copied().find(|to| {
                    self.new[*to].identity() == self.old[from].identity() && self.is_free(to) && fits(to)
                });
                if let Some(to) = to {
                    self.renamed.insert(from, to);
                }
            }
        }
        for path in self.back.clone() {
            if !self.renamed.contains_key(path) && self.is_free(path) {
                self.renamed.insert(path, path);
            }
        }
    }

    /// Lines for files that kept their path.
    fn in_place(&self) -> BTreeSet<String> {
        let mut lines = BTreeSet::new();
        for (path, now) in self.new.iter().filter(|(path, _)| !self.back.contains(path.as_str())) {
            let Some(before) = self.old.get(path).filter(|_| self.is_same(path)) else { continue };
            let entries = |of: &Listing| -> Vec<(String, File)> {
                let below = of.iter().filter(|(below, _)| parent(below) == path && !below.is_empty());
                below.map(|(below, meta)| (below.clone(), meta.file())).collect()
            };
            let same_entries = || entries(self.old) == entries(self.new);
            let times = !now.is_directory() || (system::DIRECTORY_TIMES && same_entries());
            let differ = fields(before, now, times, times);
            if !differ.is_empty() {
                lines.insert(line("modified", "", path, &differ, false));
            } else if before.is_suspect(self.started_ns) {
                lines.insert(line("suspect", "", path, &[], true));
            }
        }
        lines
    }

    fn stirred_before(&self, directory: &str) -> bool {
        self.left.iter().any(|path| {
            let to = self.renamed.get(path.as_str());
            parent(path) == directory && !to.is_some_and(|to| self.moved_along(path, to))
        })
    }

    fn stirred_after(&self, directory: &str) -> bool {
        self.came.iter().any(|path| {
            let from = self.renamed.iter().find(|(_, to)| **to == path.as_str()).map(|(from, _)| *from);
            parent(path) == directory && !from.is_some_and(|from| self.moved_along(from, path))
        })
    }

    fn of_left(&self, path: &str) -> Option<String> {
        let before = &self.old[path];
        let Some(to) = self.renamed.get(path) else {
            let is_elsewhere = self.moved.get(parent(path)).is_some_and(|to| *to != parent(path));
            let is_removed = !self.new.contains_key(path) || is_elsewhere;
            return is_removed.then(|| line("removed", "", path, &[], false));
        };
        let now = &self.new[*to];
        let suspect = before.is_suspect(self.started_ns);
        if !self.moved_along(path, to) {
            let differ = fields(before, now, !now.is_directory(), false);
            return Some(line("renamed", path, to, &differ, suspect));
        }
        let stirred = !system::DIRECTORY_TIMES || self.stirred_before(path) || self.stirred_after(to);
        let times = !now.is_directory() || !stirred;
        let differ = fields(before, now, times, times);
        match (differ.is_empty(), suspect) {
            (false, _) => Some(line("modified", path, to, &differ, false)),
            (true, true) => Some(line("suspect", path, to, &[], true)),
            (true, false) => None,
        }
    }

    fn of_came(&self, path: &str) -> Option<String> {
        if !self.is_free(path) {
            return None;
        }
        let is_replaced = !self.renamed.contains_key(path) && !self.unsteady.contains(parent(path));
        let Some(before) = self.old.get(path).filter(|_| is_replaced) else {
            return Some(line("added", "", path, &[], false));
        };
        let now = &self.new[path];
        let times = system::DIRECTORY_TIMES || !now.is_directory();
        let mut differ = fields(before, now, times, times);
        if !differ.contains(&"inode") {
            differ.push("inode");
        }
        let kind = if before.kind == now.kind { "modified" } else { "type-changed" };
        Some(line(kind, "", path, &differ, false))
    }
}
