//! The inodes of names in open directories.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{AtFlags, StatxFlags};

use super::{InodesAhead, REQUESTS};
use crate::threads::{REFUSAL, lock};

/// A thread for fewer takes longer than it saves.
const ITEMS_PER_THREAD: usize = 2;

/// A name whose inode is to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) inode: u64,
    pub(super) directory: BorrowedFd<'a>,
    pub(super) name: &'a CStr,
}

impl InodesAhead {
    /// Reads the blocks with the inodes of names of one directory, in the order of the disk. Returns when they are read, or if `stops`.
    pub(crate) fn read_names<'a>(
        &self,
        directory: BorrowedFd<'a>,
        names: impl Iterator<Item = (u64, &'a CStr)>,
        stops: &(dyn Fn() -> bool + Sync),
    ) {
        let names = names.filter(|(_, name)| !self.may_be_mount_point(name));
        let mut wanted: Vec<_> = names.map(|(inode, name)| Wanted { inode, directory, name }).collect();
        let _turn = lock(&self.turn);
        let index_one_in = self.blocks.and_then(|blocks| blocks.index_one_in);
        let to_index = index_one_in.map_or(0, |one_in| wanted.len() / one_in);
        if to_index >= REQUESTS {
            // The names are looked up in an index by hash. Read between the inodes, each of its blocks would have the disk move there and back.
            wanted.sort_unstable_by_key(|wanted| wanted.inode);
            in_parallel(&wanted[..to_index], stops, examine);
        }
        self.read_wanted(&mut wanted, stops);
    }

    pub(super) fn read_wanted(&self, wanted: &mut Vec<Wanted<'_>>, stops: &(dyn Fn() -> bool + Sync)) {
        let Some(blocks) = self.blocks else { return };
        wanted.sort_unstable_by_key(|wanted| wanted.inode);
        wanted.retain(|wanted| !self.may_be_mount_point(wanted.name));
        wanted.dedup_by_key(|wanted| blocks.block(wanted.inode));
        in_parallel(wanted, stops, examine);
    }
}

fn examine(wanted: &Wanted<'_>) {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    // If it fails, the operation itself meets the error.
    let _ = rustix::fs::statx(wanted.directory, wanted.name, flags, StatxFlags::TYPE);
}

/// Calls `read` for each item, in their order, several at a time.
pub(super) fn in_parallel<T: Sync>(items: &[T], stops: &(dyn Fn() -> bool + Sync), read: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if stops() {
                return;
            }
            read(item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..REQUESTS.min(items.len() / ITEMS_PER_THREAD) {
            let named = std::thread::Builder::new().name("megadir-ahead".to_owned());
            if REFUSAL.spawn(|| named.spawn_scoped(scope, work)).is_err() {
                break;
            }
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::in_parallel;
    use crate::threads::lock;

    #[test]
    fn each_item_is_read_once_until_it_stops() {
        for count in [0, 1, 2, 100, 1000] {
            let (items, read): (Vec<usize>, _) = ((0..count).collect(), Mutex::new(Vec::new()));
            in_parallel(&items, &|| false, |item| lock(&read).push(*item));
            let mut read = read.into_inner().unwrap();
            read.sort_unstable();
            assert_eq!(read, items);
        }
        let read = Mutex::new(Vec::new());
        in_parallel(&(0..1000).collect::<Vec<_>>(), &|| lock(&read).len() >= 5, |item| {
            lock(&read).push(*item);
        });
        assert!(read.into_inner().unwrap().len() < 1000);
    }
}
