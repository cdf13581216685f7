//! Files that wait to be moved, in bounded memory: in groups of target directories, by inode in each.

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

pub(super) struct Waiting<'a> {
    pub(super) target: usize,
    pub(super) source: usize,
    pub(super) name: &'a [u8],
    pub(super) directory: &'a [u8],
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

    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.bytes.clear();
    }

    /// `false` if it is full.
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

    pub(super) fn sort(&mut self) {
        let Self { items, bytes } = self;
        items.sort_unstable_by(|a, b| {
            a.key.cmp(&b.key).then_with(|| a.directory(bytes).cmp(b.directory(bytes)))
        });
    }

    /// Numbers the target directories from `start`, at most `targets_max`, and sorts their files by inode.
    /// Calls `begin` with each target directory, and returns the end of the group.
    pub(super) fn group(&mut self, start: usize, targets_max: usize, mut begin: impl FnMut(&[u8])) -> usize {
        let Self { items, bytes } = self;
        let (mut end, mut targets) = (start, 0);
        while end < items.len() {
            let is_new = end == start || items[end].directory(bytes) != items[end - 1].directory(bytes);
            if is_new {
                if targets == targets_max {
                    break;
                }
                targets += 1;
                begin(items[end].directory(bytes));
            }
            items[end].target = (targets - 1) as u16;
            end += 1;
        }
        items[start..end].sort_unstable_by_key(|item| item.inode);
        end
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn get(&self, index: usize) -> Waiting<'_> {
        let item = &self.items[index];
        let path = item.path(&self.bytes);
        let file = &path[usize::from(item.file_at)..];
        let end = item.at as usize + path.len();
        let name = match usize::from(item.name_bytes) {
            0 => file,
            bytes => &self.bytes[end..end + bytes],
        };
        Waiting {
            target: item.target.into(),
            source: item.source as usize,
            name,
            directory: item.directory(&self.bytes),
            file,
        }
    }
}
