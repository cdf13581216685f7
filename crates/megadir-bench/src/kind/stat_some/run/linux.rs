//! Linux: open the directory, one statx per file, close it.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use megadir::Dir;
use rustix::fs::{AtFlags, StatxFlags, statx};
use rustix::io::Errno;

use crate::control::WorkError;

pub(crate) type Unit = u8;
/// State prepared before a block.
pub(crate) type Ground = ();

/// As the library's examiner `statx` for the same attributes.
const MASK: StatxFlags = StatxFlags::TYPE.union(StatxFlags::SIZE).union(StatxFlags::MTIME);
const FLAGS: AtFlags = AtFlags::SYMLINK_NOFOLLOW.union(AtFlags::NO_AUTOMOUNT).union(AtFlags::STATX_DONT_SYNC);

pub(crate) fn ground(_directory: &Dir) -> Result<Ground, WorkError> {
    Ok(())
}

pub(crate) fn push(names: &mut Vec<Unit>, name: &CStr) -> Result<(), WorkError> {
    names.extend_from_slice(name.to_bytes_with_nul());
    Ok(())
}

pub(crate) struct Asker {
    directory: OwnedFd,
}

impl Asker {
    pub(crate) fn open(directory: &Dir, _ground: &mut Ground) -> Result<Self, WorkError> {
        Ok(Self { directory: directory.reopen()? })
    }

    /// Reads the attributes of the first name. `true` if all were reported, and the remaining names; `None`
    /// without a name.
    #[inline]
    pub(crate) fn ask<'n>(&mut self, names: &'n [Unit]) -> Result<Option<(bool, &'n [Unit])>, WorkError> {
        let Ok(name) = CStr::from_bytes_until_nul(names) else { return Ok(None) };
        let found = match statx(&self.directory, name, FLAGS, MASK) {
            Ok(status) => StatxFlags::from_bits_retain(status.stx_mask).contains(MASK),
            Err(Errno::NOENT) => false,
            Err(error) => return Err(WorkError::Stage { stage: "statx", source: error.into() }),
        };
        Ok(Some((found, names.get(name.count_bytes() + 1..).unwrap_or_default())))
    }
}
