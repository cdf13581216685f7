//! StatBackend `std`: Rust's `std::fs::symlink_metadata` by path, the reference for all others.

use crate::attributes::{Attributes, StatMask, Time};
use crate::batch::Batch;
use crate::dir::Dir;
use crate::error::Result;
use crate::names;
use crate::stat::{Examine, Plain};

pub(super) static STD: Plain = Plain {
    name: "std",
    about: "Rust's std::fs::symlink_metadata by path: slow and simple, the reference for all others",
    lacks: StatMask::MOUNT,
    is_listed: false,
    start: |want| Box::new(ByPath { want }),
};

struct ByPath {
    want: StatMask,
}

impl Examine for ByPath {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        rows.clear();
        let below = directory.readable_path()?;
        for entry in batch {
            let name = names::to_os(entry.name)?;
            rows.push(match std::fs::symlink_metadata(below.join(&*name)) {
                Ok(metadata) => attributes(&metadata, self.want),
                Err(error) => Attributes::failed(error.raw_os_error().unwrap_or(i32::MAX)),
            });
        }
        Ok(())
    }
}

/// `std` has no type for "not available" beyond errors of the times, so Windows' zero counts as absent.
/// Permissions, links and numbers exist on Unix only; `have` shows which are valid there. The mask of the
/// caller is applied at the end, because one call returns all.
pub(super) fn attributes(metadata: &std::fs::Metadata, want: StatMask) -> Attributes {
    let mut row = Attributes::NOTHING;
    row.kind = metadata.file_type().into();
    row.size_bytes = metadata.len();
    let mut have = StatMask::TYPE | StatMask::SIZE;
    // Windows returns 0 (1601) for times that the file system does not keep.
    let is_kept =
        |time: &std::time::SystemTime| !cfg!(windows) || Time::from_system(*time) != Time::from_windows(0);
    let times = [
        (metadata.modified(), &mut row.modified, StatMask::MODIFIED),
        (metadata.accessed(), &mut row.accessed, StatMask::ACCESSED),
        (metadata.created(), &mut row.born, StatMask::BORN),
    ];
    for (reported, time, field) in times {
        if let Some(reported) = reported.ok().filter(is_kept) {
            *time = Time::from_system(reported);
            have = have | field;
        }
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        row.mode = (metadata.mode() & 0o7777) as u16;
        row.links = metadata.nlink();
        (row.user, row.group) = (metadata.uid(), metadata.gid());
        row.inode = metadata.ino();
        row.changed = Time { seconds: metadata.ctime(), nanoseconds: metadata.ctime_nsec() as u32 };
        row.device = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
        row.allocated_bytes = metadata.blocks() * 512;
        row.special = (rustix::fs::major(metadata.rdev()), rustix::fs::minor(metadata.rdev()));
        have = have
            | StatMask::MODE
            | StatMask::LINKS
            | StatMask::OWNER
            | StatMask::INODE
            | StatMask::CHANGED
            | StatMask::DEVICE;
        have = have | StatMask::ALLOCATED | StatMask::SPECIAL;
    }
    row.have = have & want;
    row
}
