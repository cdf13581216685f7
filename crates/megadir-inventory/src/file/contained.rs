//! Checks that rows stay in their tree. Inventories may be untrusted: a name with a slash or `..` would make
//! a comparison access files outside, and `--verify` reveal if their contents match a given hash.

use megadir::{FileType, names};

use crate::block::{PlainRows, Whole};
use crate::path::{common_bytes as common, split_bytes as split};
use crate::row::{Key, Row};

/// 255 characters of six bytes, which `statfs` reports for FAT.
const NAME_BYTES_MAX: usize = 255 * 6;
const SHOWN_CHARACTERS_MAX: usize = 80;

/// The state follows the order of the rows: a directory's row comes before its contents, and everything below
/// a directory follows its row in one stretch of byte prefixes. So only subdirectories of the current path's
/// ancestors must be remembered.
#[derive(Debug)]
pub(super) struct Contained {
    roots: usize,
    root: Option<u32>,
    path: Vec<u8>,
    /// Directories whose path is a byte prefix of the current path, shortest first, with their subdirectories: all
    /// descendants of a directory precede the first path without that prefix.
    levels: Vec<Level>,
}

/// `names` are the subdirectories met in this directory, ascending, and `next` is the first that has not been
/// passed: places ascend too.
#[derive(Debug, Default)]
struct Level {
    path_bytes: usize,
    names: Vec<u8>,
    ends: Vec<usize>,
    next: usize,
}

type Checked = Result<(), String>;

impl Contained {
    pub(super) fn new(roots: usize) -> Self {
        Self { roots, root: None, path: Vec::new(), levels: Vec::new() }
    }

    /// Called for each directory. Levels that are no beginning of this path are dropped: none of their
    /// descendants can follow. A directory without a row in its parent is refused, since its path could lead
    /// through a link.
    pub(super) fn enter(&mut self, root: u32, parent: &[u8]) -> Checked {
        if self.root == Some(root) && self.path == parent {
            return Ok(());
        }
        if root as usize >= self.roots {
            return Err(format!("a row belongs to tree {root} of {}", self.roots));
        }
        if self.root.replace(root) != Some(root) {
            self.levels.clear();
            self.path.clear();
        }
        let kept = common(&self.path, parent);
        let levels = self.levels.partition_point(|level| level.path_bytes <= kept);
        self.levels.truncate(levels);
        self.path.truncate(kept);
        self.path.extend_from_slice(&parent[kept..]);
        match parent.is_empty() || self.is_directory() {
            true => Ok(()),
            false => Err(directory_fault(parent)),
        }
    }

    fn is_directory(&mut self) -> bool {
        let (above, name) = split(&self.path);
        // An absolute path also has an empty ancestor.
        if self.path.starts_with(b"/") {
            return false;
        }
        let Ok(level) = self.levels.binary_search_by_key(&above.len(), |level| level.path_bytes) else {
            return false;
        };
        self.levels[level].take(name)
    }

    fn subdirectory(&mut self, name: &[u8]) {
        if self.levels.last().is_none_or(|level| level.path_bytes < self.path.len()) {
            self.levels.push(Level { path_bytes: self.path.len(), ..Level::default() });
        }
        if let Some(level) = self.levels.last_mut() {
            level.names.extend_from_slice(name);
            level.ends.push(level.names.len());
        }
    }

    pub(super) fn admit(&mut self, row: &Row<'_>) -> Checked {
        self.enter(row.key.root, row.key.parent).and_then(|()| self.row(row))
    }

    /// Numbers are stored as signed ones, so one above `i64::MAX` could only come from a changed file. A
    /// directory is remembered for the rows of its contents, which follow.
    pub(super) fn row(&mut self, row: &Row<'_>) -> Checked {
        let Row { key: Key { root, parent, name }, facts, .. } = *row;
        if name.is_empty() && parent.is_empty() {
            // A root that could not be opened has no type.
            if !matches!(facts.kind, FileType::Directory | FileType::Unknown) {
                return Err(format!(
                    "the root of tree {root} is not a directory but a {}",
                    facts.kind.name()
                ));
            }
        } else if let Some(fault) = name_fault(name) {
            return Err(format!("{fault} (in '{}')", shown(parent)));
        }
        let numbers = [facts.size_bytes, facts.links, facts.allocated_bytes];
        if numbers.into_iter().flatten().any(|number| i64::try_from(number).is_err()) {
            return Err(negative(name));
        }
        if facts.kind == FileType::Directory && !name.is_empty() {
            self.subdirectory(name);
        }
        Ok(())
    }

    /// The same checks as [`row`](Self::row), over whole columns: names that are no names, negative numbers,
    /// subdirectories. Faults are looked for first and described afterwards, because there are none in nearly
    /// every file.
    pub(super) fn plain(&mut self, rows: &PlainRows<'_>) -> Checked {
        if let Some(fault) = rows.each_name().find_map(|(_, name)| name_fault(name)) {
            return Err(format!("{fault} (in '{}')", shown(&self.path)));
        }
        let [size, .., links, _, allocated, _] = &rows.numbers;
        let first = [size, links, allocated].into_iter().filter_map(Whole::first_negative).min();
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

fn negative(name: &[u8]) -> String {
    format!("'{}' has a negative size or number of links", shown(name))
}

fn name_fault(name: &[u8]) -> Option<String> {
    if names::is_component(name) && name.len() <= NAME_BYTES_MAX {
        return None;
    }
    Some(match name {
        b"" => "a row has no name".to_owned(),
        long if long.len() > NAME_BYTES_MAX => format!("a name of {} bytes, '{}'", long.len(), shown(long)),
        other => format!("'{}' is not a valid name", shown(other)),
    })
}

fn directory_fault(parent: &[u8]) -> String {
    let why = match parent {
        [b'/', ..] => "is absolute",
        _ if parent.split(|byte| *byte == b'/').any(|name| !names::is_component(name)) => {
            "has an invalid component"
        }
        _ => "is not a directory of the inventory",
    };
    format!("rows lie in '{}', which {why}", shown(parent))
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN_CHARACTERS_MAX)]);
    let mut shown: String = text.chars().take(SHOWN_CHARACTERS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().count() > SHOWN_CHARACTERS_MAX {
        shown.push_str("...");
    }
    shown
}
