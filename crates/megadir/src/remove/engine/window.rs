//! A window: entries of one directory that are read before any of them is removed.

use std::io;
use std::os::fd::BorrowedFd;

use super::super::Progress;
use super::super::policy::Order;
use crate::decode::{Record, Records};

/// For one call; a longer one holds the directory's lock for long.
const CALL_BYTES: usize = 128 << 10;
/// A call with less room than this is not worth it.
const ROOM_BYTES_MIN: usize = 16 << 10;

/// The memory of a worker for the names it is removing.
#[derive(Debug)]
pub(super) struct Window {
    buffer: Vec<u8>,
    filled: usize,
    /// Where records begin, in the order in which they go; not used where that is the order of the listing.
    by_inode: Vec<(u64, u32)>,
    order: Order,
    /// The directory ends with this window.
    pub(super) is_last: bool,
}

impl Window {
    pub(super) fn new(bytes: usize, order: Order) -> Self {
        // Zeroed memory that is not touched costs nothing.
        let buffer = vec![0; bytes.max(CALL_BYTES)];
        Self { buffer, filled: 0, by_inode: Vec::new(), order, is_last: false }
    }

    /// Reads entries from a directory's position until the window, or so much of it, is full, the directory ends or the
    /// removal is to end: a window of a directory that is not cached takes seconds.
    pub(super) fn fill(
        &mut self,
        directory: BorrowedFd<'_>,
        bytes_max: usize,
        progress: &Progress,
    ) -> io::Result<()> {
        self.filled = 0;
        self.is_last = false;
        let bytes_max = bytes_max.clamp(ROOM_BYTES_MIN, self.buffer.len());
        while bytes_max - self.filled >= ROOM_BYTES_MIN && !progress.is_cancelled() {
            let end = bytes_max.min(self.filled + CALL_BYTES);
            let room = &mut self.buffer[self.filled..end];
            match megadir_sys::getdents::getdents64(directory, room) {
                Ok(0) => {
                    self.is_last = true;
                    break;
                }
                Ok(filled) => self.filled += filled,
                // What has been read goes first; the next window meets the error again, unless it has passed.
                Err(_) if self.filled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Leaves out what follows a number of bytes.
    pub(super) fn cut(&mut self, bytes: usize) {
        self.filled = bytes;
        self.is_last = false;
    }

    /// Puts the entries in the order in which they are to go.
    pub(super) fn sort(&mut self) {
        self.by_inode.clear();
        if self.order == Order::Listed {
            return;
        }
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

    /// Returns the entries as they were listed.
    pub(super) fn listed(&self) -> Records<'_> {
        Records::new(&self.buffer[..self.filled])
    }

    /// Returns the entries in the order in which they are to go.
    pub(super) fn ordered(&self) -> impl Iterator<Item = Record<'_>> {
        let listed = (self.order == Order::Listed).then(|| self.listed());
        let sorted = self
            .by_inode
            .iter()
            .filter_map(|(_, at)| Records::new(&self.buffer[*at as usize..self.filled]).next());
        listed.into_iter().flatten().chain(sorted)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::{CALL_BYTES, Window};
    use crate::remove::{Order, Progress};

    fn filled(order: Order, progress: &Progress) -> (Vec<Vec<u8>>, Vec<u64>, bool) {
        let scratch = tempfile::tempdir().unwrap();
        for index in 0..100 {
            std::fs::write(scratch.path().join(format!("{}", index * 37 % 100)), "").unwrap();
        }
        let directory = std::fs::File::open(scratch.path()).unwrap();
        let mut window = Window::new(CALL_BYTES, order);
        window.fill(directory.as_fd(), CALL_BYTES, progress).unwrap();
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
}
