//! StatBackend `statx`: only the wanted fields. Network file systems answer as for stat(2): from the cache, unless the client knows
//! that it is stale, as after a write on this machine. With `AT_STATX_FORCE_SYNC` (`statx-fresh`) the server answers. `AT_STATX_DONT_SYNC`
//! is not used: an NFS client then hides its own writes for up to a minute.

use std::ffi::CStr;

use rustix::fs::{AtFlags, StatxFlags, statx};

use crate::attributes::{Attributes, StatMask, Time};
use crate::batch::Batch;
use crate::decode::Records;
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::stat::{Examine, StatBackend};

pub(crate) struct Statx {
    pub(super) name: &'static str,
    about: &'static str,
    sync: AtFlags,
}

pub(super) static STATX: Statx = Statx {
    name: "statx",
    about: "statx relative to the directory, only the wanted fields",
    sync: AtFlags::empty(),
};

pub(super) static STATX_FRESH: Statx = Statx {
    name: "statx-fresh",
    about: "statx, and the server of a network file system is asked",
    sync: AtFlags::STATX_FORCE_SYNC,
};

/// Inode and the two devices come with every answer.
const BITS: [(StatMask, StatxFlags); 12] = [
    (StatMask::TYPE, StatxFlags::TYPE),
    (StatMask::SIZE, StatxFlags::SIZE),
    (StatMask::MODIFIED, StatxFlags::MTIME),
    (StatMask::CHANGED, StatxFlags::CTIME),
    (StatMask::BORN, StatxFlags::BTIME),
    (StatMask::MODE, StatxFlags::MODE),
    (StatMask::OWNER, StatxFlags::UID.union(StatxFlags::GID)),
    (StatMask::LINKS, StatxFlags::NLINK),
    (StatMask::INODE, StatxFlags::INO),
    (StatMask::MOUNT, StatxFlags::MNT_ID),
    (StatMask::ALLOCATED, StatxFlags::BLOCKS),
    (StatMask::ACCESSED, StatxFlags::ATIME),
];

impl StatBackend for Statx {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn probe(&self, directory: &Dir) -> Result<()> {
        // Old seccomp filters return ENOSYS or EPERM.
        match statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE) {
            Ok(_) => Ok(()),
            Err(error) => {
                let reason = format!("the system refuses statx ({error})");
                Err(Error::new("examine", directory.path(), ErrorKind::Unavailable, reason))
            }
        }
    }

    fn start(&self, _directory: &Dir, want: StatMask) -> Result<Box<dyn Examine>> {
        Ok(Box::new(self.request(want)))
    }
}

impl Statx {
    pub(crate) fn request(&self, want: StatMask) -> StatxRequest {
        StatxRequest { sync: self.sync, ..StatxRequest::new(want) }
    }
}

const BLOCK_BYTES: u64 = 512;

pub(crate) struct StatxRequest {
    want: StatMask,
    mask: StatxFlags,
    sync: AtFlags,
}

impl Examine for StatxRequest {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        rows.clear();
        rows.reserve(batch.len());
        for record in Records::new(batch.bytes()).filter(|record| !record.is_dot()) {
            rows.push(self.query(directory, record.c_name()));
        }
        Ok(())
    }
}

const FLAGS: AtFlags = AtFlags::SYMLINK_NOFOLLOW.union(AtFlags::NO_AUTOMOUNT);

impl StatxRequest {
    pub(crate) fn new(want: StatMask) -> Self {
        let mask = BITS.iter().filter(|row| want.contains(row.0)).map(|row| row.1).collect();
        Self { want, mask, sync: STATX.sync }
    }

    pub(crate) fn mask(&self) -> StatxFlags {
        self.mask
    }

    #[inline]
    pub(super) fn query(&self, directory: &Dir, name: &CStr) -> Attributes {
        match statx(directory, name, FLAGS | self.sync, self.mask) {
            Ok(status) => self.attributes(&status),
            Err(error) => Attributes::failed(error.raw_os_error()),
        }
    }

    pub(super) fn of_directory(&self, directory: &Dir) -> Result<Attributes> {
        statx(directory, "", FLAGS | self.sync | AtFlags::EMPTY_PATH, self.mask)
            .map(|status| self.attributes(&status))
            .at("stat", directory.dir_path())
    }

    #[inline]
    pub(crate) fn attributes(&self, status: &rustix::fs::Statx) -> Attributes {
        let got = StatxFlags::from_bits_retain(status.stx_mask);
        let have = match got.contains(self.mask) {
            true => self.want,
            false => BITS.iter().filter(|row| got.contains(row.1)).map(|row| row.0).collect(),
        };
        let time =
            |time: rustix::fs::StatxTimestamp| Time { seconds: time.tv_sec, nanoseconds: time.tv_nsec };
        Attributes {
            have: (have | StatMask::DEVICE | StatMask::SPECIAL) & self.want,
            links: u64::from(status.stx_nlink),
            user: status.stx_uid,
            group: status.stx_gid,
            inode: status.stx_ino,
            size_bytes: status.stx_size,
            allocated_bytes: status.stx_blocks * BLOCK_BYTES,
            modified: time(status.stx_mtime),
            accessed: time(status.stx_atime),
            changed: time(status.stx_ctime),
            born: time(status.stx_btime),
            device: (status.stx_dev_major, status.stx_dev_minor),
            mount: status.stx_mnt_id,
            special: (status.stx_rdev_major, status.stx_rdev_minor),
            ..Attributes::of_mode(status.stx_mode.into())
        }
    }
}
