//! StatBackend `fstatat`: the classic system call, all fields at once, relative to the directory's descriptor.

use rustix::fs::{AtFlags, FileType as Kind, major, minor, statat};

use crate::attributes::{Attributes, StatMask, Time};
use crate::batch::Batch;
use crate::decode::Records;
use crate::dir::Dir;
use crate::error::Result;
use crate::stat::{Examine, StatBackend};

pub(crate) struct Fstatat;

impl StatBackend for Fstatat {
    fn name(&self) -> &'static str {
        "fstatat"
    }

    fn about(&self) -> &'static str {
        "fstatat relative to the directory: all fields except birth time and mount, on any Unix"
    }

    fn lacks(&self) -> StatMask {
        StatMask::BORN | StatMask::MOUNT
    }

    fn start(&self, _directory: &Dir, want: StatMask) -> Result<Box<dyn Examine>> {
        Ok(Box::new(ByName { have: want.without(self.lacks()) }))
    }
}

struct ByName {
    have: StatMask,
}

impl Examine for ByName {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        rows.clear();
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        for record in Records::new(batch.bytes()).filter(|record| !record.is_dot()) {
            rows.push(match statat(directory, record.c_name(), flags) {
                Ok(status) => self.attributes(&status),
                Err(error) => Attributes::failed(error.raw_os_error()),
            });
        }
        Ok(())
    }
}

impl ByName {
    #[expect(clippy::unnecessary_cast, reason = "the fields' widths differ between systems")]
    fn attributes(&self, status: &rustix::fs::Stat) -> Attributes {
        Attributes {
            have: self.have,
            error: 0,
            kind: Kind::from_raw_mode(status.st_mode).into(),
            mode: (status.st_mode & 0o7777) as u16,
            links: status.st_nlink as u64,
            user: status.st_uid,
            group: status.st_gid,
            inode: status.st_ino as u64,
            size_bytes: status.st_size as u64,
            allocated_bytes: status.st_blocks as u64 * 512,
            modified: Time { seconds: status.st_mtime as i64, nanoseconds: status.st_mtime_nsec as u32 },
            accessed: Time { seconds: status.st_atime as i64, nanoseconds: status.st_atime_nsec as u32 },
            changed: Time { seconds: status.st_ctime as i64, nanoseconds: status.st_ctime_nsec as u32 },
            born: Time::EPOCH,
            device: (major(status.st_dev), minor(status.st_dev)),
            mount: 0,
            special: (major(status.st_rdev), minor(status.st_rdev)),
        }
    }
}
