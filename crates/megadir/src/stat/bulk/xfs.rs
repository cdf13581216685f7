//! StatBackend `xfs-bulkstat`: the inodes of a batch by `XFS_IOC_BULKSTAT`. The call returns the inode in
//! memory, as statx does, except for the size on disk.

use std::os::fd::AsFd;

use megadir_sys::xfs_bulkstat::{RECORDS_MAX, Record, Records, XfsDirectory};

use super::worth::Terms;
use super::{Answer, Bulk, LACKING_OF_CALLS, Wanted, refusal};
use crate::attributes::{Attributes, StatMask, Time};
use crate::dir::Dir;
use crate::mounts::Mount;

pub(in crate::stat) struct Bulkstat {
    records: Records,
}

impl Bulk for Bulkstat {
    const NAME: &str = "xfs-bulkstat";
    const ABOUT: &str =
        "XFS_IOC_BULKSTAT: hundreds of inodes per call, after a sync of the file system (XFS, root)";
    // Each returned inode takes a reference to its allocation group: two threads need 1.6 times as long in one group as in two.
    const WORKS_APART: bool = true;
    const NUMBERS_DIRECTORIES: bool = true;
    const ALL_IS_LATE: bool = false;
    const LACKING: StatMask = LACKING_OF_CALLS;
    // A call costs as much as walking over four inodes, statx as two or three.
    const TERMS: Terms = Terms { gap: 8, run_min: 4, walked_max: 2 };

    type Source = ();

    fn new() -> Self {
        Self { records: Records::new() }
    }

    fn probe(directory: &Dir, _mount: &Mount) -> Result<(), String> {
        let Ok(on_xfs) = XfsDirectory::check(directory.as_fd()) else {
            return Err(format!("xfs-bulkstat is for XFS, and this is {}", directory.file_system()));
        };
        match Records::new().fill(on_xfs, 0, 1) {
            Ok(_) => Ok(()),
            Err(error) if error.raw_os_error() == Some(22) => {
                Err("XFS_IOC_BULKSTAT does not support idmapped mounts".to_owned())
            }
            Err(error) => Err(refusal(&error, "XFS_IOC_BULKSTAT", "5.4")),
        }
    }

    fn call(
        &mut self,
        directory: &Dir,
        (): &(),
        run: &[Wanted],
        mut given: impl FnMut(u64, Attributes),
    ) -> Option<Answer> {
        let on_xfs = XfsDirectory::check(directory.as_fd()).ok()?;
        let (first, last) = (run.first()?.inode, run.last()?.inode);
        // The last wanted inodes need no call of their own.
        let most = (run.len() + run.len() / 8 + 8).min(RECORDS_MAX);
        let count = usize::try_from(last - first + 1).map_or(most, |span| span.min(most));
        let records = self.records.fill(on_xfs, first, count).ok()?;
        for record in records {
            given(record.inode, row(record));
        }
        Some(Answer { last: records.last()?.inode, walked: records.len() })
    }
}

#[inline]
fn row(record: &Record) -> Attributes {
    let time = |seconds, nanoseconds| Time { seconds, nanoseconds };
    Attributes {
        links: record.links.into(),
        user: record.user,
        group: record.group,
        inode: record.inode,
        size_bytes: record.size_bytes,
        modified: time(record.modified_s, record.modified_ns),
        changed: time(record.changed_s, record.changed_ns),
        born: time(record.born_s, record.born_ns),
        ..Attributes::of_mode(record.mode.into())
    }
}
