//! Examiner `statx`: only the fields wanted, relative to the directory's descriptor, without asking a server anew.
//!
//! Reference: statx(2). `AT_STATX_DONT_SYNC` lets network file systems answer from their cache, as a listing
//! a moment ago filled it; local ones do not care.

use rustix::fs::{AtFlags, FileType as Kind, StatxFlags, statx};

use crate::attributes::examiner::{Examine, Examiner};
use crate::attributes::{Attributes, Time, Want};
use crate::batch::Batch;
use crate::decode::Records;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};

pub(crate) struct Statx;

/// What is wanted and the bit that asks for it; inode and device come with every answer.
const BITS: [(Want, StatxFlags); 10] = [
    (Want::TYPE, StatxFlags::TYPE),
    (Want::SIZE, StatxFlags::SIZE),
    (Want::MODIFIED, StatxFlags::MTIME),
    (Want::CHANGED, StatxFlags::CTIME),
    (Want::BORN, StatxFlags::BTIME),
    (Want::MODE, StatxFlags::MODE),
    (Want::OWNER, StatxFlags::UID.union(StatxFlags::GID)),
    (Want::LINKS, StatxFlags::NLINK),
    (Want::INODE, StatxFlags::INO),
    (Want::MOUNT, StatxFlags::MNT_ID),
];

impl Examiner for Statx {
    fn name(&self) -> &'static str {
        "statx"
    }

    fn about(&self) -> &'static str {
        "statx relative to the directory, asking for the wanted fields only"
    }

    fn probe(&self, directory: &Dir) -> Result<()> {
        // Containers with old filters answer ENOSYS or EPERM.
        match statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE) {
            Ok(_) => Ok(()),
            Err(error) => {
                let reason = format!("the system refuses statx ({error})");
                Err(Error::new("examine", directory.path(), ErrorKind::Unavailable, reason))
            }
        }
    }

    fn start(&self, _directory: &Dir, want: Want) -> Result<Box<dyn Examine>> {
        let mask = BITS.iter().filter(|row| want.contains(row.0)).map(|row| row.1).collect();
        Ok(Box::new(Asking { want, mask }))
    }
}

struct Asking {
    want: Want,
    mask: StatxFlags,
}

impl Examine for Asking {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        rows.clear();
        rows.reserve(batch.len());
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
        for record in Records::new(batch.bytes()).filter(|record| !record.is_dot()) {
            rows.push(match statx(directory, record.c_name(), flags, self.mask) {
                Ok(status) => self.attributes(&status),
                Err(error) => Attributes::failed(error.raw_os_error()),
            });
        }
        Ok(())
    }
}

impl Asking {
    #[inline]
    fn attributes(&self, status: &rustix::fs::Statx) -> Attributes {
        let got = StatxFlags::from_bits_retain(status.stx_mask);
        let have: Want = BITS.iter().filter(|row| got.contains(row.1)).map(|row| row.0).collect();
        let time =
            |time: rustix::fs::StatxTimestamp| Time { seconds: time.tv_sec, nanoseconds: time.tv_nsec };
        Attributes {
            have: (have | Want::DEVICE) & self.want,
            error: 0,
            kind: Kind::from_raw_mode(u32::from(status.stx_mode)).into(),
            mode: status.stx_mode & 0o7777,
            links: u64::from(status.stx_nlink),
            user: status.stx_uid,
            group: status.stx_gid,
            inode: status.stx_ino,
            size_bytes: status.stx_size,
            modified: time(status.stx_mtime),
            changed: time(status.stx_ctime),
            born: time(status.stx_btime),
            device: (status.stx_dev_major, status.stx_dev_minor),
            mount: status.stx_mnt_id,
        }
    }
}
