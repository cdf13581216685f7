//! Rows that stay in their tree: a name is one component, and a directory that rows lie in is itself a row.
//!
//! An inventory may come from anywhere. A name with a slash or `..` in it would have a comparison look at files outside the tree, and
//! with `--verify` report whether their contents are those of a hash that the inventory's author chose.

use megadir::{FileType, names};

use crate::block::{PlainRows, Whole};
use crate::common::common_bytes as common;
use crate::path::split_bytes as split;
use crate::row::{Facts, Key, Row};

/// No name on Linux is longer, bytes: 255 characters of six bytes each, which is what `statfs` gives for FAT.
const NAME_BYTES_MAX: usize = 255 * 6;
/// Of a name or path this many characters are shown in a message.
const SHOWN_CHARACTERS_MAX: usize = 80;

/// Checks rows as they come, in the order of an inventory.
///
/// Memory holds the names of the subdirectories of each directory whose path the present one begins with.
#[derive(Debug)]
pub(super) struct Contained {
    roots: usize,
    root: Option<u32>,
    /// The path of the directory of the last rows.
    path: Vec<u8>,
    /// Directories whose path the present one begins with, byte by byte, the shortest first. In the order of an inventory all
    /// directories below another follow it before any whose path does not begin with its bytes.
    levels: Vec<Level>,
}

/// The subdirectories of a directory.
#[derive(Debug, Default)]
struct Level {
    path_bytes: usize,
    names: Vec<u8>,
    ends: Vec<usize>,
    /// Rows of the subdirectories before this one can follow no more.
    next: usize,
}

/// Why an inventory is refused.
type Checked = Result<(), String>;

impl Contained {
    pub(super) fn new(roots: usize) -> Self {
        Self { roots, root: None, path: Vec::new(), levels: Vec::new() }
    }

    /// Begins, or goes on with, the rows of a directory.
    pub(super) fn enter(&mut self, root: u32, parent: &[u8]) -> Checked {
        if self.root == Some(root) && self.path == parent {
            return Ok(());
        }
        if root as usize >= self.roots {
            return Err(format!("a row is of tree {root}, and there are {}", self.roots));
        }
        let kept = match self.root == Some(root) {
            true => common(&self.path, parent),
            false => 0,
        };
        if self.root.replace(root) != Some(root) {
            self.levels.clear();
        }
        let levels = self.levels.partition_point(|level| level.path_bytes <= kept);
        self.levels.truncate(levels);
        self.path.truncate(kept);
        self.path.extend_from_slice(&parent[kept..]);
        match parent.is_empty() || self.is_directory() {
            true => Ok(()),
            false => Err(directory_fault(parent)),
        }
    }

    /// Tells whether a row before said that the present path is that of a directory.
    fn is_directory(&mut self) -> bool {
        let (above, name) = split(&self.path);
        // An absolute path has an empty one above it too.
        if self.path.starts_with(b"/") {
            return false;
        }
        let Ok(level) = self.levels.binary_search_by_key(&above.len(), |level| level.path_bytes) else {
            return false;
        };
        self.levels[level].take(name)
    }

    /// Notes a subdirectory of the present directory; their names ascend.
    fn subdirectory(&mut self, name: &[u8]) {
        if self.levels.last().is_none_or(|level| level.path_bytes < self.path.len()) {
            self.levels.push(Level { path_bytes: self.path.len(), ..Level::default() });
        }
        if let Some(level) = self.levels.last_mut() {
            level.names.extend_from_slice(name);
            level.ends.push(level.names.len());
        }
    }

    /// Checks a row of the present directory.
    pub(super) fn row(&mut self, row: &Row<'_>) -> Checked {
        let Row { key: Key { root, parent, name }, facts, .. } = *row;
        if name.is_empty() && parent.is_empty() {
            // A root that could not be opened has no type.
            if !matches!(facts.kind, FileType::Directory | FileType::Unknown) {
                return Err(format!("the root of tree {root} is no directory but a {}", facts.kind.name()));
            }
        } else if let Some(fault) = name_fault(name) {
            return Err(format!("{fault} (in '{}')", shown(parent)));
        }
        if is_negative(&facts) {
            return Err(negative(name));
        }
        if facts.kind == FileType::Directory && !name.is_empty() {
            self.subdirectory(name);
        }
        Ok(())
    }

    /// Checks rows of the present directory as columns; none is that of a root.
    pub(super) fn plain(&mut self, rows: &PlainRows<'_>) -> Checked {
        if let Some((_, name)) = rows.each_name().find(|(_, name)| name_fault(name).is_some()) {
            let fault = name_fault(name).unwrap_or_default();
            return Err(format!("{fault} (in '{}')", shown(&self.path)));
        }
        let [size, .., links, _] = &rows.numbers;
        let first = [size, links].into_iter().filter_map(Whole::first_negative).min();
        if let Some((_, name)) = first.and_then(|row| rows.each_name().nth(row)) {
            return Err(negative(name));
        }
        for (_, name) in rows.each_name().filter(|(row, _)| rows.kind_of(*row) == FileType::Directory) {
            self.subdirectory(name);
        }
        Ok(())
    }
}

impl Level {
    /// Tells whether a name is one of the subdirectories, and leaves those before it behind.
    fn take(&mut self, name: &[u8]) -> bool {
        while let Some(&end) = self.ends.get(self.next) {
            let start = self.next.checked_sub(1).map_or(0, |before| self.ends[before]);
            match self.names[start..end].cmp(name) {
                std::cmp::Ordering::Less => self.next += 1,
                order => return order.is_eq(),
            }
        }
        false
    }
}

fn is_negative(facts: &Facts) -> bool {
    [facts.size_bytes, facts.links].into_iter().flatten().any(|number| i64::try_from(number).is_err())
}

fn negative(name: &[u8]) -> String {
    format!("'{}' has a negative size or number of links", shown(name))
}

/// Returns why bytes are no name of an entry.
fn name_fault(name: &[u8]) -> Option<String> {
    if names::is_component(name) && name.len() <= NAME_BYTES_MAX {
        return None;
    }
    Some(match name {
        b"" => "a row has no name".to_owned(),
        long if long.len() > NAME_BYTES_MAX => format!("a name of {} bytes, '{}'", long.len(), shown(long)),
        other => format!("'{}' is no name of an entry", shown(other)),
    })
}

/// Returns why rows cannot lie in a directory of this path.
fn directory_fault(parent: &[u8]) -> String {
    let why = match parent {
        [b'/', ..] => "is absolute",
        _ if parent.split(|byte| *byte == b'/').any(|name| !names::is_component(name)) => {
            "holds what is no name of an entry"
        }
        _ => "is no directory of the inventory",
    };
    format!("rows lie in '{}', which {why}", shown(parent))
}

/// Returns bytes as they are shown in a message of one line.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN_CHARACTERS_MAX)]);
    let mut shown: String = text.chars().take(SHOWN_CHARACTERS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().count() > SHOWN_CHARACTERS_MAX {
        shown.push_str("...");
    }
    shown
}
