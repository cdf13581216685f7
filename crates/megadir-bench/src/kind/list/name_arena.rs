//! Names in memory, packed one after the other, with the results of later stages.

#[cfg(target_os = "linux")]
use std::ffi::CStr;

use megadir::Batch;

#[cfg(target_os = "linux")]
/// Attributes of an entry that `ls -l` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) mode: u16,
    pub(crate) links: u32,
    pub(crate) owner: u32,
    pub(crate) group: u32,
    pub(crate) size_bytes: u64,
    pub(crate) modified_unix_s: i64,
    /// `true` if an access control list was found.
    pub(crate) has_acl: bool,
}

#[cfg(windows)]
pub(crate) type Attributes = megadir_sys::windows::facts::Facts;

/// All names of a directory, and their attributes once these are read.
#[derive(Debug, Default)]
pub(crate) struct NameArena {
    /// Every name with a NUL after it, as system calls take them.
    bytes: Vec<u8>,
    items: Vec<Item>,
    /// In the order of the items.
    pub(crate) attributes: Vec<Attributes>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    start: usize,
    length: u16,
}

impl NameArena {
    pub(crate) fn add(&mut self, batch: &Batch<'_>) {
        for entry in batch.entries() {
            self.items.push(Item { start: self.bytes.len(), length: entry.name.len() as u16 });
            self.bytes.extend_from_slice(entry.name);
            self.bytes.push(0);
        }
    }

    /// Sorts the names in byte order.
    pub(crate) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.items.sort_unstable_by(|a, b| name(bytes, *a).cmp(name(bytes, *b)));
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.items.iter().map(|item| name(&self.bytes, *item))
    }

    /// Returns the names in order, with NUL.
    #[cfg(target_os = "linux")]
    pub(crate) fn c_names(&self) -> impl Iterator<Item = &CStr> {
        self.items.iter().map(|item| {
            let bytes = &self.bytes[item.start..=item.start + usize::from(item.length)];
            CStr::from_bytes_with_nul(bytes).unwrap_or_default()
        })
    }
}

#[inline]
fn name(bytes: &[u8], item: Item) -> &[u8] {
    &bytes[item.start..item.start + usize::from(item.length)]
}
