//! Open directories below a tree, by their path. Every step is relative to a descriptor, and symbolic links are not followed.

use std::collections::HashMap;

use megadir::{Dir, ErrorKind, Result};
use megadir_inventory::split_bytes;

/// Each has a descriptor.
const OPEN_MAX: usize = 256;

/// The last directories that were needed.
#[derive(Debug)]
pub(crate) struct Below {
    top: Dir,
    open: HashMap<Vec<u8>, Dir>,
}

impl Below {
    pub(crate) fn new(top: Dir) -> Self {
        Self { top, open: HashMap::new() }
    }

    pub(crate) fn top(&self) -> &Dir {
        &self.top
    }

    /// Opens the directory with this path below the tree. Errors: as [`Dir::open_below`].
    pub(crate) fn directory(&mut self, path: &[u8]) -> Result<&Dir> {
        if path.is_empty() {
            return Ok(&self.top);
        }
        if self.open.len() >= OPEN_MAX && !self.open.contains_key(path) {
            self.open.clear();
        }
        if !self.open.contains_key(path) {
            let directory = match self.walk(path) {
                Err(error) if error.kind() == ErrorKind::TooManyOpenFiles => {
                    self.open.clear();
                    self.walk(path)?
                }
                walked => walked?,
            };
            self.open.insert(path.to_vec(), directory);
        }
        match self.open.get(path) {
            Some(directory) => Ok(directory),
            None => unreachable!("it was opened above"),
        }
    }

    fn walk(&self, path: &[u8]) -> Result<Dir> {
        let (above, name) = split_bytes(path);
        if let Some(above) = self.open.get(above) {
            return above.open_below(name);
        }
        let mut names = path.split(|byte| *byte == b'/');
        let first = names.next().unwrap_or_default();
        names.try_fold(self.top.open_below(first)?, |directory, name| directory.open_below(name))
    }
}
