//! Entries of a directory, read before any is removed.

use std::ffi::{CStr, CString};
use std::io;

use super::super::Progress;
use super::super::policy::{Order, RECORD_BYTES_MIN};
use super::system::{self, CALL_BYTES, Directory, Reader};
use crate::decode::{Record, Records};
use crate::file_type::FileType;
use crate::options::RECORD_BYTES_MAX;

const ROOM_BYTES_MIN: usize = 16 << 10;

#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) of_one: usize,
    pub(super) of_all: usize,
}

impl Room {
    fn add(&mut self, records: &[u8]) {
        for record in Records::new(records) {
            let bytes = record.name.len() + 1;
            match FileType::from_d_type(record.kind) {
                FileType::Directory => {
                    self.of_one += bytes;
                    self.of_all += bytes;
                }
                FileType::Unknown => self.of_all += bytes,
                _ => {}
            }
        }
    }
}

/// `buffer` has the records as the system returned them, `filled` bytes of it; names are not copied. `by_inode` holds
/// pairs of an inode and the position of its record. `is_last` is set once the directory has ended, so that no
/// further call is needed to notice it.
#[derive(Debug)]
pub(super) struct Window {
    reader: Reader,
    buffer: Vec<u8>,
    filled: usize,
    /// In removal order; unused in listing order.
    by_inode: Vec<(u64, u32)>,
    order: Order,
    pub(super) is_last: bool,
}

impl Window {
    pub(super) fn new(bytes: usize, order: Order) -> Self {
        // Zeroed memory costs nothing until touched.
        let buffer = vec![0; bytes.max(CALL_BYTES)];
        Self { reader: Reader::new(), buffer, filled: 0, by_inode: Vec::new(), order, is_last: false }
    }

    /// Reads from `position`, if given, until the window holds `bytes_max` bytes or the space for names is full, the directory ends, or the removal is cancelled.
    pub(super) fn fill(
        &mut self,
        directory: &Directory,
        mut from: Option<u64>,
        room: Room,
        bytes_max: usize,
        progress: &Progress,
    ) -> io::Result<()> {
        self.filled = 0;
        self.is_last = false;
        let mut names = Room { of_one: 0, of_all: 0 };
        // Not every system can return to an earlier position.
        let call_bytes =
            if system::SEEKS || room.of_one >= ROOM_BYTES_MIN { CALL_BYTES } else { ROOM_BYTES_MIN };
        let bytes_max = self.buffer.len().min(bytes_max);
        let mut calls = 0;
        while bytes_max.saturating_sub(self.filled) >= ROOM_BYTES_MIN
            && names.of_one <= room.of_one
            && names.of_all <= room.of_all
            && !progress.is_cancelled()
        {
            let end = bytes_max.min(self.filled + call_bytes);
            match self.reader.read(directory, from.take(), &mut self.buffer[self.filled..end]) {
                Ok(0) => {
                    self.is_last = true;
                    break;
                }
                Ok(filled) => {
                    names.add(&self.buffer[self.filled..self.filled + filled]);
                    self.filled += filled;
                    calls += 1;
                    if calls == 1 && self.filled + RECORD_BYTES_MAX > end {
                        system::read_ahead(directory);
                    }
                }
                // The entries read go first; the next window gets the error again, unless it was temporary.
                Err(_) if self.filled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn cut(&mut self, bytes: usize) {
        self.filled = bytes;
        self.is_last = false;
    }

    pub(super) fn sort(&mut self) {
        self.by_inode.clear();
        if self.order == Order::Listed {
            return;
        }
        self.by_inode.reserve_exact(self.filled / RECORD_BYTES_MIN);
        let mut at = 0;
        for record in Records::new(&self.buffer[..self.filled]) {
            self.by_inode.push((record.inode, at));
            at += u32::from(record.record_bytes);
        }
        self.by_inode.sort_unstable();
        if self.order == Order::InodeDescending {
            self.by_inode.reverse();
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn bytes(&self) -> usize {
        self.filled
    }

    pub(super) fn listed(&self) -> Records<'_> {
        Records::new(&self.buffer[..self.filled])
    }

    pub(super) fn ordered(&self) -> impl Iterator<Item = Record<'_>> {
        let listed = (self.order == Order::Listed).then(|| self.listed());
        let sorted = self
            .by_inode
            .iter()
            .filter_map(|(_, at)| Records::new(&self.buffer[*at as usize..self.filled]).next());
        listed.into_iter().flatten().chain(sorted)
    }
}

#[derive(Debug, Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    taken: usize,
}

impl Names {
    pub(super) fn push(&mut self, name: &CStr) {
        self.bytes.extend_from_slice(name.to_bytes_with_nul());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.taken == self.bytes.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Those not taken yet.
    #[cfg(target_os = "linux")]
    pub(super) fn listed(&self) -> impl Iterator<Item = &CStr> {
        let mut rest = &self.bytes[self.taken..];
        std::iter::from_fn(move || {
            let name = CStr::from_bytes_until_nul(rest).ok()?;
            rest = &rest[name.count_bytes() + 1..];
            Some(name)
        })
    }

    pub(super) fn take(&mut self) -> Option<CString> {
        let name = CStr::from_bytes_until_nul(&self.bytes[self.taken..]).ok()?.to_owned();
        self.taken += name.count_bytes() + 1;
        if self.is_empty() {
            *self = Self::default();
        }
        Some(name)
    }

    pub(super) fn take_few(&mut self, few: usize) -> Self {
        let rest = &self.bytes[self.taken..];
        let ends = rest.iter().enumerate().filter(|(_, byte)| **byte == 0);
        let bytes = ends.take(few).last().map_or(0, |(nul, _)| nul + 1);
        let few = Self { bytes: rest[..bytes].to_vec(), taken: 0 };
        self.taken += bytes;
        if self.is_empty() {
            *self = Self::default();
        }
        few
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::{CALL_BYTES, Names, Room, Window};
    use crate::remove::{Order, Progress};

    fn filled(order: Order, progress: &Progress) -> (Vec<Vec<u8>>, Vec<u64>, bool) {
        let scratch = tempfile::tempdir().unwrap();
        for index in 0..100 {
            std::fs::write(scratch.path().join(format!("{}", index * 37 % 100)), "").unwrap();
        }
        let directory = crate::Dir::open(scratch.path()).unwrap().reopen_for_reader().unwrap();
        let mut window = Window::new(CALL_BYTES, order);
        window.fill(&directory, None, Room { of_one: 100, of_all: 100 }, CALL_BYTES, progress).unwrap();
        window.sort();
        let mut names: Vec<Vec<u8>> = window.listed().map(|record| record.name.to_vec()).collect();
        names.sort_unstable();
        (names, window.ordered().map(|record| record.inode).collect(), window.is_last)
    }

    #[test]
    fn each_order_holds_all_entries() {
        for order in [Order::Listed, Order::Inode, Order::InodeDescending] {
            let (names, inodes, is_last) = filled(order, &Progress::new());
            assert_eq!((names.len(), inodes.len(), is_last), (102, 102, true), "{order:?}");
            match order {
                Order::Listed => {}
                Order::Inode => assert!(inodes.is_sorted()),
                Order::InodeDescending => assert!(inodes.iter().rev().is_sorted()),
            }
        }
    }

    #[test]
    fn nothing_more_is_read_once_the_removal_is_to_end() {
        let progress = Progress::new();
        progress.cancel();
        let (names, _, is_last) = filled(Order::Listed, &progress);
        assert!(names.is_empty() && !is_last);
    }

    fn names(of: &[&str]) -> Names {
        let mut names = Names::default();
        of.iter().for_each(|name| names.push(&CString::new(*name).unwrap()));
        names
    }

    fn all(mut names: Names) -> Vec<String> {
        std::iter::from_fn(|| names.take()).map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn taken_and_remaining_names_are_all_names_once() {
        for count in 0..20 {
            for few in 0..=count + 1 {
                let of: Vec<String> = (0..count).map(|index| "x".repeat(1 + index * index % 7)).collect();
                let of: Vec<&str> = of.iter().map(String::as_str).collect();
                let mut left = names(&of);
                let first = left.take().is_some();
                let taken = all(left.take_few(few));
                assert_eq!(taken.len(), few.min(of.len().saturating_sub(1)), "{count} {few}");
                assert!(!left.is_empty() || left.bytes() == 0);
                let both: Vec<_> = taken.into_iter().chain(all(left)).collect();
                assert_eq!(both, of[usize::from(first)..]);
            }
        }
    }
}
