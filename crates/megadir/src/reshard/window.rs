//! Files that wait to be moved, in bounded memory: in groups of target directories, by inode in each.

use std::sync::Arc;

use crate::layout::Placed;

const ITEM_BYTES: usize = size_of::<Item>();
/// Share of the memory for paths: as much as for items, which suits names of 32 bytes.
const PATHS_SHARE: usize = 2;
const LONGEST: usize = crate::layout::PATH_BYTES_MAX + crate::layout::NAME_BYTES_MAX;

/// 32 bytes a file, whatever the length of its names, which are elsewhere and found at `at`. Sorting moves
/// items only. `key` decides most comparisons without touching the names; `inode` orders the files of one
/// group, since reading inodes in order is faster on disks.
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
    /// Number of the target directory in the window, modulo 65 536.
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

#[derive(Default)]
pub(super) struct Window {
    items: Vec<Item>,
    bytes: Vec<u8>,
}

pub(super) struct Sorted {
    window: Arc<Window>,
    taken: usize,
}

pub(super) struct Group {
    window: Arc<Window>,
    order: Vec<u32>,
    first_target: u16,
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

    pub(super) fn sort(mut self) -> Sorted {
        let Self { items, bytes } = &mut self;
        items.sort_unstable_by(|a, b| {
            a.key.cmp(&b.key).then_with(|| a.directory(bytes).cmp(b.directory(bytes)))
        });
        let runs = items.chunk_by_mut(|a, b| a.directory(bytes) == b.directory(bytes));
        for (target, run) in runs.enumerate() {
            run.iter_mut().for_each(|item| item.target = target as u16);
        }
        Sorted { window: Arc::new(self), taken: 0 }
    }

    /// Empties a window whose groups are done, so that its memory serves the next one.
    pub(super) fn reuse(window: Arc<Self>) -> Option<Self> {
        let mut window = Arc::into_inner(window)?;
        window.items.clear();
        window.bytes.clear();
        Some(window)
    }
}

impl Sorted {
    pub(super) fn window(&self) -> Arc<Window> {
        Arc::clone(&self.window)
    }

    pub(super) fn directories(&self) -> impl Iterator<Item = &[u8]> {
        let runs = self.window.items.chunk_by(|a, b| a.target == b.target);
        runs.map(|run| run[0].directory(&self.window.bytes))
    }

    /// Takes the files for the next `targets_max` target directories, fewer than 65 536. Calls `begin` with each of these and its
    /// number of files; `None` at the end.
    pub(super) fn group(&mut self, targets_max: usize, mut begin: impl FnMut(&[u8], usize)) -> Option<Group> {
        let Window { items, bytes } = &*self.window;
        let rest = &items[self.taken..];
        let first_target = rest.first()?.target;
        let runs = rest.chunk_by(|a, b| a.target == b.target).take(targets_max);
        let files: usize =
            runs.inspect(|run| begin(run[0].directory(bytes), run.len())).map(<[_]>::len).sum();
        let taken = self.taken..self.taken + files;
        let mut order: Vec<u32> = taken.clone().map(|item| item as u32).collect();
        order.sort_unstable_by_key(|item| items[*item as usize].inode);
        self.taken = taken.end;
        Some(Group { window: Arc::clone(&self.window), order, first_target })
    }
}

impl Group {
    pub(super) fn files(&self) -> impl Iterator<Item = Waiting<'_>> {
        let Window { items, bytes } = &*self.window;
        self.order.iter().map(move |item| {
            let item = &items[*item as usize];
            let path = item.path(bytes);
            let file = &path[usize::from(item.file_at)..];
            let end = item.at as usize + path.len();
            let name = match usize::from(item.name_bytes) {
                0 => file,
                length => &bytes[end..end + length],
            };
            let target = item.target.wrapping_sub(self.first_target).into();
            Waiting { target, source: item.source as usize, name, file }
        })
    }
}
