//! Directory being compared.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use megadir::{
    Attributes, BUFFER_BYTES_MIN, Backend, Conditions, Dir, Error, ErrorKind, FileType, ReadAhead,
    ReadOptions, Result, StatMask, names,
};

use crate::block::Block;
use crate::changes::settle::Entry;
use crate::path::TreePath;
use crate::row::Facts;

/// A directory that exists now, or in the newer inventory, while it waits for its rows and is compared. `old`
/// is its row at the same path; `is_same` is `false` if that row is of another file, so that everything below
/// has moved or is new. `was_read` is `false` if it could not be listed at the scan. Many of these wait at
/// once, so the descriptor is shared (`At::Below` holds the parent's), and is given up for a path from the
/// root if descriptors run out.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) root: u32,
    pub(super) path: TreePath,
    pub(super) at: At,
    pub(super) old: Option<Facts>,
    pub(super) is_same: bool,
    pub(super) was_read: bool,
    pub(super) new: Facts,
    /// Steps of the comparison that had ended when this one began.
    pub(super) begun: u64,
}

/// Way to the directory, in the order of what it costs to open: nothing, one call from its parent, one call
/// for each name from the root. `Recorded` is a directory of the newer inventory, which is never opened.
#[derive(Debug)]
pub(super) enum At {
    Open(Arc<Dir>),
    Below(Arc<Dir>, Box<[u8]>),
    /// Too many files were open: its parent is closed, and it is opened from this root on.
    FromRoot(Arc<Dir>),
    /// The error if the directory could not be listed at that scan.
    Recorded(Option<Box<str>>),
}

pub(super) enum Opened {
    Here(Arc<Dir>),
    Vanished,
    OtherMount(PathBuf),
    Failed(Error),
    Recorded,
}

impl Live {
    pub(super) fn root(root: u32, at: At, facts: Facts) -> Self {
        let path = TreePath::root();
        Self { root, path, at, old: Some(facts), is_same: true, was_read: true, new: facts, begun: 0 }
    }

    /// Opened as late as possible, by the thread that compares it, so that waiting directories hold only
    /// their parent's descriptor.
    ///
    /// ```text
    /// Below(parent, name)  one openat                                    usual
    /// FromRoot(root)       name by name from the root, after EMFILE      a vanished name in the middle is a failure:
    ///                                                                    everything below may have been renamed along
    /// ```
    ///
    /// A directory that is gone when it is opened itself has vanished, and its rows are missing entries.
    pub(super) fn open(&self, cross_mounts: bool) -> Opened {
        let below = |parent: &Dir, name: &[u8]| match cross_mounts {
            true => parent.open_below(name).map(Some),
            false => parent.open_below_on_this_mount(name),
        };
        let other_mount = |parent: &Dir, name| {
            Opened::OtherMount(parent.path().join(names::to_os(name).unwrap_or_default()))
        };
        let opened = match &self.at {
            At::Open(directory) => return Opened::Here(Arc::clone(directory)),
            At::Recorded(_) => return Opened::Recorded,
            At::Below(parent, name) => match below(parent, name) {
                Ok(None) => return other_mount(parent, name),
                opened => opened,
            },
            At::FromRoot(root) => {
                let mut opened = None;
                let path = self.path.to_vec();
                let mut names = path.split(|byte| *byte == b'/').peekable();
                loop {
                    let parent = opened.as_ref().unwrap_or(&**root);
                    let Some(name) = names.next() else { break Ok(opened) };
                    match below(parent, name) {
                        Ok(Some(directory)) => opened = Some(directory),
                        Ok(None) => return other_mount(parent, name),
                        // A directory that was renamed meanwhile takes all below it along: they have not vanished.
                        Err(error) if is_not_there(&error) && names.peek().is_some() => {
                            let reason = "renamed or removed meanwhile, with the directories below it";
                            let error = Error::new("open", error.path(), ErrorKind::Io, reason);
                            return Opened::Failed(error);
                        }
                        Err(error) => break Err(error),
                    }
                }
            }
        };
        match opened {
            Ok(Some(directory)) => Opened::Here(Arc::new(directory)),
            Ok(None) => Opened::Vanished,
            Err(error) if is_not_there(&error) => Opened::Vanished,
            Err(error) => Opened::Failed(error),
        }
    }

    /// Closes its parent if nothing else has it open: it will be opened from the root on. `false` if its parent is not open for it.
    pub(super) fn close_parent(&mut self, root: &Arc<Dir>) -> bool {
        let is_below = matches!(self.at, At::Below(..));
        if is_below {
            self.at = At::FromRoot(Arc::clone(root));
        }
        is_below
    }
}

fn is_not_there(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Source of the names that exist now: the names of the rows, if the directory was not listed because its times
/// are unchanged; the names of the newer inventory; or a listing, sorted.
#[derive(Debug)]
pub(super) enum Names {
    OfRows,
    Recorded(Arc<Block>),
    Listed { bytes: Vec<u8>, places: Vec<Listed>, brought: Option<Vec<Attributes>> },
}

/// Range of a name in the bytes of the listing, so that sorting moves 16 bytes and no names. `number` is the
/// position in the listing, which finds the attributes that came with it after sorting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    start: usize,
    number: u32,
    length: u16,
    kind: FileType,
}

/// All names at once, because they are compared in order with sorted rows, which a listing is not. The buffer
/// is small unless the directory itself takes more than 64 KiB, since most directories have a few entries.
/// `None` means that the directory was removed after it was opened. `brought` has one row for each name or is
/// dropped: a source that returns attributes for some names only would shift them.
pub(super) fn list(
    directory: &Arc<Dir>,
    directory_bytes: Option<u64>,
    bring: Option<StatMask>,
) -> Result<Option<Names>> {
    let large = cfg!(windows) || directory_bytes.is_some_and(|bytes| bytes > 64 << 10);
    let buffer_bytes = if large { 128 << 10 } else { 32 << 10 };
    let options = ReadOptions { read_ahead: ReadAhead::Auto, ..ReadOptions::serial(buffer_bytes) };
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
    let brought = brought.filter(|rows| rows.len() == places.len());
    Ok(Some(Names::listed(bytes, places, brought)))
}

/// Errors: [`ErrorKind::NotFound`] if the directory was removed while it was open, and lists no more. Other errors of reading
/// come when it is compared.
pub(crate) fn check_not_removed(directory: &Dir) -> Result<()> {
    let opened = backend()?.open(directory, &ReadOptions::serial(BUFFER_BYTES_MIN));
    match opened.and_then(|mut reader| reader.next_batch().map(drop)) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Error::new("read", directory.path(), ErrorKind::NotFound, error.reason()))
        }
        _ => Ok(()),
    }
}

impl Names {
    pub(super) fn seen(mut self, conditions: Option<&Conditions>, path: &TreePath) -> Self {
        let Some(conditions) = conditions else { return self };
        let place = conditions.place(path);
        if let Self::Listed { bytes, places, .. } = &mut self {
            places.retain(|listed| {
                let end = listed.start + usize::from(listed.length);
                conditions.sees(&place, &bytes[listed.start..end])
            });
        }
        self
    }

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

/// The names of one directory, which several threads compare in ranges if there are many. `left` counts the
/// ranges that are not done; the thread that takes it to 0 compares the directory itself, because only then
/// is it known whether any name came or went (`stirred`), which explains a change of the directory's times.
pub(super) struct Task {
    pub(super) live: Box<Live>,
    pub(super) directory: Option<Arc<Dir>>,
    pub(super) block: Arc<Block>,
    pub(super) names: Names,
    pub(super) stirred: AtomicBool,
    pub(super) left: AtomicUsize,
}

impl Task {
    pub(super) fn len(&self) -> usize {
        match &self.names {
            Names::OfRows => self.block.len(),
            Names::Recorded(now) => now.len(),
            Names::Listed { places, .. } => places.len(),
        }
    }

    #[inline]
    pub(super) fn name(&self, index: usize) -> (&[u8], FileType) {
        match &self.names {
            Names::OfRows => (self.block.name(index), self.block.kind(index)),
            Names::Recorded(now) => (now.name(index), now.kind(index)),
            Names::Listed { bytes, places, .. } => {
                let Listed { start, length, kind, .. } = places[index];
                (&bytes[start..start + usize::from(length)], kind)
            }
        }
    }

    pub(super) fn recorded(&self, index: usize) -> Option<Facts> {
        match &self.names {
            Names::Recorded(now) => Some(now.facts(index)),
            _ => None,
        }
    }

    pub(super) fn brought(&self, index: usize) -> Option<&Attributes> {
        match &self.names {
            Names::Listed { places, brought: Some(rows), .. } => rows.get(places[index].number as usize),
            _ => None,
        }
    }

    pub(super) fn rows(&self, names: &Range<usize>) -> Range<usize> {
        let from = |index: usize| match &self.names {
            Names::OfRows => index,
            Names::Listed { .. } | Names::Recorded(_) => self.block.lower_bound(self.name(index).0),
        };
        let start = if names.start == 0 { 0 } else { from(names.start) };
        let end = if names.end == self.len() { self.block.len() } else { from(names.end) };
        start..end
    }

    pub(super) fn path(&self, name: &[u8]) -> TreePath {
        self.live.path.join(name)
    }

    pub(super) fn entry(&self, name: &[u8], facts: Facts, suspect: bool) -> Entry {
        Entry { root: self.block.root, path: self.path(name), facts, suspect }
    }
}

#[cfg(test)]
mod tests {
    use super::{At, Listed, Live, Names, Opened};
    use crate::row::Facts;
    use megadir::{Dir, FileType};
    use std::sync::Arc;

    #[test]
    fn name_listed_twice_by_a_changing_directory_is_queried_once() {
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

    #[test]
    fn a_directory_below_one_that_was_renamed_has_not_vanished() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        let from_root = At::FromRoot(Arc::new(Dir::open(scratch.path()).unwrap()));
        let live = Live { path: b"a/b".into(), ..Live::root(0, from_root, Facts::NOTHING) };
        assert!(matches!(live.open(false), Opened::Here(_)));
        std::fs::rename(at("a"), at("c")).unwrap();
        assert!(matches!(live.open(false), Opened::Failed(_)));
        std::fs::rename(at("c"), at("a")).unwrap();
        std::fs::remove_dir(at("a/b")).unwrap();
        assert!(matches!(live.open(false), Opened::Vanished));
    }
}
