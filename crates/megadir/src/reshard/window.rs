//! Files that wait to be moved, in bounded memory: in groups of target directories, by inode in each.

use std::sync::Arc;

use crate::layout::Placed;

const ITEM_BYTES: usize = size_of::<Item>();
/// Share of the memory for paths: as much as for items, which suits names of 32 bytes.
const PATHS_SHARE: usize = 2;
const LONGEST: usize = crate::layout::PATH_BYTES_MAX + crate::layout::NAME_BYTES_MAX;

#[derive(Clone, Copy)]
struct Item {
    /// First bytes of the target directory; most comparisons end here.
    key: u64,
    inode: u64,
    /// New path, then the old name if it differs.
    at: u32,
    source: u32,
    path_bytes: u16,
    file_at: u16,
    /// 0 if the file keeps its name.
    name_bytes: u16,
    /// Number of the target directory in its group.
    target: u16,
}

impl Item {
    fn path<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let at = self.at as usize;
        &bytes[at..at + usize::from(self.path_bytes)]
    }

    fn directory<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &self.path(bytes)[..usize::from(self.file_at).saturating_sub(1)]
    }
}

pub(super) struct Window {
    items: Vec<Item>,
    bytes: Vec<u8>,
}

/// Files of a window, by target directory.
pub(super) struct Sorted {
    items: Vec<Item>,
    bytes: Arc<Vec<u8>>,
    taken: usize,
}

/// Files for some of the target directories, by inode.
pub(super) struct Group {
    items: Vec<Item>,
    bytes: Arc<Vec<u8>>,
}

pub(super) struct Waiting<'a> {
    pub(super) target: usize,
    pub(super) source: usize,
    pub(super) name: &'a [u8],
    pub(super) file: &'a [u8],
}

impl Window {
    pub(super) fn new(memory_bytes: usize) -> Self {
        let paths = (memory_bytes / PATHS_SHARE).clamp(LONGEST, u32::MAX as usize);
        Self {
            items: Vec::with_capacity((memory_bytes.saturating_sub(paths) / ITEM_BYTES).max(1)),
            bytes: Vec::with_capacity(paths),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.items.len() == self.items.capacity() || self.bytes.capacity() - self.bytes.len() < LONGEST
    }

    pub(super) fn push(&mut self, source: usize, name: &[u8], inode: u64, placed: &Placed<'_>) {
        let (at, path) = (self.bytes.len() as u32, placed.path());
        self.bytes.extend_from_slice(path);
        let keeps_name = name == placed.file();
        if !keeps_name {
            self.bytes.extend_from_slice(name);
        }
        let mut key = [0; 8];
        let taken = placed.directory().len().min(8);
        key[..taken].copy_from_slice(&placed.directory()[..taken]);
        self.items.push(Item {
            key: u64::from_be_bytes(key),
            inode,
            at,
            source: source as u32,
            path_bytes: path.len() as u16,
            file_at: (path.len() - placed.file().len()) as u16,
            name_bytes: if keeps_name { 0 } else { name.len() as u16 },
            target: 0,
        });
    }

    pub(super) fn sort(self) -> Sorted {
        let Self { mut items, bytes } = self;
        items.sort_unstable_by(|a, b| {
            a.key.cmp(&b.key).then_with(|| a.directory(&bytes).cmp(b.directory(&bytes)))
        });
        Sorted { items, bytes: Arc::new(bytes), taken: 0 }
    }
}

impl Sorted {
    /// Target directories.
    pub(super) fn directories(&self) -> impl Iterator<Item = &[u8]> {
        let runs = self.items.chunk_by(|a, b| a.directory(&self.bytes) == b.directory(&self.bytes));
        runs.map(|run| run[0].directory(&self.bytes))
    }

    /// Takes the files for the next `targets_max` target directories. Calls `begin` with each of these; `None` at the end.
    pub(super) fn group(&mut self, targets_max: usize, mut begin: impl FnMut(&[u8])) -> Option<Group> {
        let bytes = &*self.bytes;
        let rest = &self.items[self.taken..];
        let mut items = Vec::new();
        let runs = rest.chunk_by(|a, b| a.directory(bytes) == b.directory(bytes));
        for (target, run) in runs.take(targets_max).enumerate() {
            begin(run[0].directory(bytes));
            items.extend(run.iter().map(|item| Item { target: target as u16, ..*item }));
        }
        self.taken += items.len();
        items.sort_unstable_by_key(|item| item.inode);
        (!items.is_empty()).then(|| Group { items, bytes: Arc::clone(&self.bytes) })
    }
}

impl Group {
    pub(super) fn files(&self) -> impl Iterator<Item = Waiting<'_>> {
        self.items.iter().map(|item| {
            let path = item.path(&self.bytes);
            let file = &path[usize::from(item.file_at)..];
            let end = item.at as usize + path.len();
            let name = match usize::from(item.name_bytes) {
                0 => file,
                bytes => &self.bytes[end..end + bytes],
            };
            Waiting { target: item.target.into(), source: item.source as usize, name, file }
        })
    }
}
