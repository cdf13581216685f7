//! A directory being compared: what was known of it, the names that are asked for, and the rows to compare with.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};

use megadir::{Attributes, Backend, Dir, Error, ErrorKind, FileType, ReadOptions, Result, Want, names};

use super::Tree;
use crate::block::{Block, BlockBuilder};
use crate::path::TreePath;
use crate::row::Facts;

/// A directory that is there.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) root: u32,
    pub(super) path: TreePath,
    /// Where it is, open, for a root itself.
    pub(super) at: At,
    /// What was known of it; `None` where there was no directory.
    pub(super) old: Option<Facts>,
    /// Whether it is the same directory as before.
    pub(super) is_same: bool,
    /// Whether the inventory knows all its entries.
    pub(super) was_read: bool,
    /// What is known of it now.
    pub(super) new: Facts,
}

/// How a directory is opened.
#[derive(Debug)]
pub(super) enum At {
    Open(Arc<Dir>),
    Below(Arc<Dir>, Box<[u8]>),
}

/// What became of opening a directory.
pub(super) enum Opened {
    Here(Arc<Dir>),
    Vanished,
    OtherMount(PathBuf),
    Failed(Error),
}

impl Live {
    pub(super) fn root(root: u32, tree: &Tree, is_scan: bool) -> Self {
        let at = At::Open(Arc::clone(&tree.directory));
        // What was known of it stands in the block of its entries; this only says that there is one.
        let old = (!is_scan).then_some(tree.facts);
        Self { root, path: TreePath::root(), at, old, is_same: true, was_read: true, new: tree.facts }
    }

    pub(super) fn open(&self, cross_mounts: bool) -> Opened {
        let (parent, name) = match &self.at {
            At::Open(directory) => return Opened::Here(Arc::clone(directory)),
            At::Below(parent, name) => (parent, name),
        };
        let opened = match cross_mounts {
            true => parent.open_below(name).map(Some),
            false => parent.open_below_on_this_mount(name),
        };
        match opened {
            Ok(Some(directory)) => Opened::Here(Arc::new(directory)),
            Ok(None) => Opened::OtherMount(parent.path().join(names::to_os(name).unwrap_or_default())),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Opened::Vanished
            }
            Err(error) => Opened::Failed(error),
        }
    }
}

/// The names of a directory, sorted.
#[derive(Debug)]
pub(super) enum Names {
    OfRows,
    /// Those that were listed; attributes where the listing brought them along, in its order.
    Listed { bytes: Vec<u8>, places: Vec<Listed>, brought: Option<Vec<Attributes>> },
}

/// A name that was listed: where it lies and how long it is, bytes, its type, and which of the attributes are its.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    start: usize,
    number: u32,
    length: u16,
    kind: FileType,
}

/// Lists a directory; `None` if it was removed meanwhile. What is wanted of each entry is given where the listing is to bring
/// it along.
pub(super) fn list(
    directory: &Arc<Dir>,
    directory_bytes: Option<u64>,
    bring: Option<Want>,
) -> Result<Option<Names>> {
    // The size of NTFS's directories tells nothing.
    let large = cfg!(windows) || directory_bytes.is_some_and(|bytes| bytes > 64 << 10);
    let buffer_bytes = if large { 128 << 10 } else { 32 << 10 };
    let options = ReadOptions { buffer_bytes, threads: 1, shares: 1, resolve_types: false };
    let mut reader = match bring {
        Some(want) => backend()?.open_with_attributes(directory, &options, want)?,
        None => backend()?.open_once(directory, &options)?,
    };
    let (mut bytes, mut places, mut brought) = (Vec::new(), Vec::new(), bring.map(|_| Vec::new()));
    loop {
        let batch = match reader.next_batch() {
            Ok(Some(batch)) => batch,
            Ok(None) => break,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        for entry in batch {
            let (start, number, length) = (bytes.len(), places.len() as u32, entry.name.len() as u16);
            places.push(Listed { start, number, length, kind: entry.kind });
            bytes.extend_from_slice(entry.name);
        }
        if let Some(rows) = &mut brought {
            rows.extend_from_slice(batch.attributes().unwrap_or_default());
        }
    }
    // What brought nothing along is asked about.
    let brought = brought.filter(|rows| rows.len() == places.len());
    Ok(Some(Names::listed(bytes, places, brought)))
}

impl Names {
    /// Sorts names, which lie in `bytes` by place and length.
    fn listed(bytes: Vec<u8>, mut places: Vec<Listed>, brought: Option<Vec<Attributes>>) -> Self {
        let name = |place: &Listed| &bytes[place.start..place.start + usize::from(place.length)];
        places.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        // A changing directory may list a name twice.
        places.dedup_by(|a, b| name(a) == name(b));
        Self::Listed { bytes, places, brought }
    }
}

fn backend() -> Result<&'static dyn Backend> {
    let fast = if cfg!(windows) { "by-handle" } else { "getdents" };
    megadir::backend(fast).or_else(|_| megadir::backend("std"))
}

/// A directory whose names are being asked for, maybe by several threads.
pub(super) struct Task {
    pub(super) live: Box<Live>,
    pub(super) directory: Arc<Dir>,
    pub(super) block: Arc<Block>,
    pub(super) names: Names,
    /// An entry came, went or was replaced.
    pub(super) stirred: AtomicBool,
    /// Parts that are not done.
    pub(super) left: AtomicUsize,
    /// The rows of the parts, by their first name, where rows are kept.
    pub(super) parts: Mutex<Vec<(usize, BlockBuilder)>>,
}

impl Task {
    pub(super) fn len(&self) -> usize {
        match &self.names {
            Names::OfRows => self.block.len(),
            Names::Listed { places, .. } => places.len(),
        }
    }

    /// Returns a name, and the type that the listing or the row has.
    #[inline]
    pub(super) fn name(&self, index: usize) -> (&[u8], FileType) {
        match &self.names {
            Names::OfRows => (self.block.name(index), self.block.kind(index)),
            Names::Listed { bytes, places, .. } => {
                let Listed { start, length, kind, .. } = places[index];
                (&bytes[start..start + usize::from(length)], kind)
            }
        }
    }

    /// Returns the attributes of a name, where the listing brought them along.
    pub(super) fn brought(&self, index: usize) -> Option<&Attributes> {
        match &self.names {
            Names::Listed { places, brought: Some(rows), .. } => rows.get(places[index].number as usize),
            _ => None,
        }
    }

    /// Returns the rows to compare a range of names with: those of the same names, and those between.
    pub(super) fn rows(&self, names: &Range<usize>) -> Range<usize> {
        let from = |index: usize| match &self.names {
            Names::OfRows => index,
            Names::Listed { .. } => self.block.lower_bound(self.name(index).0),
        };
        let start = if names.start == 0 { 0 } else { from(names.start) };
        let end = if names.end == self.len() { self.block.len() } else { from(names.end) };
        start..end
    }

    /// Returns the path of an entry relative to the root.
    pub(super) fn path(&self, name: &[u8]) -> TreePath {
        self.live.path.join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::{Listed, Names};
    use megadir::FileType;

    #[test]
    fn a_name_that_a_changing_directory_gives_twice_is_asked_for_once() {
        let (mut bytes, mut given) = (Vec::new(), Vec::new());
        for name in ["b", "a", "b", "ab", "a", "b"] {
            let (start, number, length) = (bytes.len(), given.len() as u32, name.len() as u16);
            given.push(Listed { start, number, length, kind: FileType::File });
            bytes.extend_from_slice(name.as_bytes());
        }
        let Names::Listed { bytes, places, .. } = Names::listed(bytes, given, None) else {
            unreachable!("they were listed")
        };
        let name = |place: &Listed| &bytes[place.start..place.start + usize::from(place.length)];
        let names: Vec<_> = places.iter().map(name).collect();
        assert_eq!(names, [&b"a"[..], b"ab", b"b"]);
    }
}
