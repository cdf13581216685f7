//! StatBackend `fstatat`: the classic system call, all fields at once, relative to the directory's descriptor.

use rustix::fs::{AtFlags, FileType as Kind, major, minor, statat};

use crate::attributes::{Attributes, StatMask, Time};
use crate::batch::Batch;
use crate::decode::Records;
use crate::dir::Dir;
use crate::error::Result;
use crate::stat::{Examine, Plain};

const LACKS: StatMask = StatMask::BORN.union(StatMask::MOUNT);

pub(super) static FSTATAT: Plain = Plain {
    name: "fstatat",
    about: "fstatat relative to the directory: all fields except birth time and mount, on any Unix",
    lacks: LACKS,
    is_listed: false,
    start: |want| Box::new(ByName { have: want.without(LACKS) }),
};

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
            device: (major(status.st_dev), minor(status.st_dev)),
            special: (major(status.st_rdev), minor(status.st_rdev)),
            ..Attributes::NOTHING
        }
    }
}
