//! The first requests to the device of a directory, before it is chosen how to read it.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, StatxFlags};

use super::InodesAhead;
use super::latency::Latency;
use crate::decode::{self, Record, Records};
use crate::dir::Dir;

const LISTED_BYTES: usize = 8 << 10;
/// Entries among which they are chosen.
const LISTED_MAX: usize = 1000;
/// Inodes that are examined, at most.
const SAMPLES: usize = 6;
/// Without a wait among the first calls, the directory is taken for cached.
const QUIET_SAMPLES: usize = 2;

/// Reads the first entries of a directory and some of their inodes: `true` if the device took long. Where all is cached, that takes some
/// microseconds.
pub(crate) fn is_slow(directory: &Dir) -> bool {
    let ahead = InodesAhead::new(directory.file_system());
    if ahead.blocks.is_none() {
        return false;
    }
    let Ok(again) = directory.reopen() else { return false };
    let mut records = vec![0; LISTED_BYTES];
    let listed = ahead.observe(|| megadir_sys::readdir::getdents64(again.as_fd(), &mut records));
    records.truncate(listed.unwrap_or(0));
    if decode::check(&records).is_err() {
        return false;
    }
    examine(&ahead.latency, again.as_fd(), Records::new(&records));
    ahead.is_of_use()
}

impl InodesAhead {
    /// Finds out from some inodes of the entries listed, before all of them are needed, whether the device is slow: listing may have waited
    /// for blocks that follow each other, which pass below the head. Does nothing where no call has waited.
    pub(crate) fn look<'a>(&self, directory: BorrowedFd<'_>, listed: impl Iterator<Item = Record<'a>>) {
        if self.blocks.is_none() || self.is_of_use() || !self.latency.has_waited() {
            return;
        }
        let latency = Latency::new();
        let listed = listed.take(LISTED_MAX).filter(|record| !self.may_be_mount_point(record.c_name()));
        examine(&latency, directory, listed);
        if latency.is_slow() {
            self.latency.note_slow();
        }
    }
}

fn examine<'a>(latency: &Latency, directory: BorrowedFd<'_>, listed: impl Iterator<Item = Record<'a>>) {
    for (index, record) in samples(listed).enumerate() {
        if index >= QUIET_SAMPLES && !latency.has_waited() {
            return;
        }
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
        let _ = latency.observe(|| rustix::fs::statx(directory, record.c_name(), flags, StatxFlags::TYPE));
    }
}

/// From the last inode to the first: on a rotating disk each is behind the head, which makes it wait for a rotation; ascending, they would pass
/// below it as fast as on any other device.
fn samples<'a>(listed: impl Iterator<Item = Record<'a>>) -> impl Iterator<Item = Record<'a>> {
    let mut all: Vec<_> = listed.filter(|record| !record.is_dot()).collect();
    all.sort_unstable_by_key(|record| std::cmp::Reverse(record.inode));
    let step = all.len().div_ceil(SAMPLES).max(1);
    all.into_iter().step_by(step)
}

#[cfg(test)]
mod tests {
    use super::{SAMPLES, is_slow, samples};
    use crate::Dir;
    use crate::decode::{Records, encode};

    #[test]
    fn samples_are_spread_and_descend() {
        for count in [0, 1, 5, 6, 7, 1000] {
            let mut records = Vec::new();
            for index in 0..count {
                let name = format!("{index}");
                assert!(encode(&mut records, (index * 7919) % 1009 + 2, 0, 8, name.as_bytes()));
            }
            let inodes: Vec<u64> = samples(Records::new(&records)).map(|record| record.inode).collect();
            assert!(inodes.iter().rev().is_sorted());
            assert_eq!(inodes.len().min(SAMPLES), inodes.len());
            assert!(inodes.len() as u64 >= count.min(3), "{count}: {inodes:?}");
        }
    }

    #[test]
    fn a_cached_directory_is_on_no_slow_device() {
        let scratch = tempfile::tempdir().unwrap();
        for index in 0..100 {
            std::fs::write(scratch.path().join(index.to_string()), "").unwrap();
        }
        assert!(!is_slow(&Dir::open(scratch.path()).unwrap()));
    }
}
