//! Copies a directory's owner, mode, ACLs, other extended attributes, inode flags and project to a new one.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{Gid, IFlags, Mode, Uid, XattrFlags};
use rustix::io::Errno;

use crate::error::{At, Error, ErrorKind, Result};

/// Users set these (`FS_*_FL` of linux/fs.h); others describe how the directory is stored.
const CHOSEN: u32 =
    0x4 | 0x8 | 0x40 | 0x80 | 0x4000 | 0x1_0000 | 0x2_0000 | 0x80_0000 | 0x200_0000 | 0x6000_0000;
/// `XATTR_LIST_MAX`, `XATTR_SIZE_MAX`.
const ATTRIBUTES_BYTES: usize = 64 << 10;
/// Inherited from the parent directory.
const ACL: &[u8] = b"system.posix_acl_";

/// The new directory is empty and made by this process. Returns `true` if it was not alike already.
pub(crate) fn make_alike(
    of: impl AsFd,
    made: impl AsFd,
    operation: &'static str,
    path: &Path,
) -> Result<bool> {
    // The order matters: a change of the owner clears the set-user-ID and set-group-ID bits, and an ACL
    // changes the mode. So the owner comes first, and the mode last of all. If nothing had to be changed, the
    // caller knows that `mkdir` alone makes such directories.
    let (of, made) = (of.as_fd(), made.as_fd());
    let status = rustix::fs::fstat(of).at(operation, path)?;
    let flags = known(rustix::fs::ioctl_getflags(of)).at(operation, path)?.map(|flags| flags.bits());
    let own = rustix::fs::fstat(made).at(operation, path)?;
    let mut changed = false;
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid) {
        let (user, group) = (Uid::from_raw(status.st_uid), Gid::from_raw(status.st_gid));
        rustix::fs::fchown(made, Some(user), Some(group)).at(operation, path)?;
        changed = true;
    }
    changed |= make_attributes_alike(of, made).map_err(|(name, error)| {
        let name = String::from_utf8_lossy(&name);
        let reason = format!(
            "the new directory cannot have its attribute {name}: {}",
            std::io::Error::from(error).kind()
        );
        Error::new(operation, path, ErrorKind::Io, reason)
    })?;
    changed |= make_flags_alike(flags, made).at(operation, path)?;
    changed |= make_project_alike(of, made).at(operation, path)?;
    if !changed && own.st_mode == status.st_mode {
        return Ok(false);
    }
    // An ACL sets some bits of the mode.
    rustix::fs::fchmod(made, Mode::from_raw_mode(status.st_mode)).at(operation, path)?;
    Ok(true)
}

fn make_attributes_alike(
    of: BorrowedFd<'_>,
    made: BorrowedFd<'_>,
) -> std::result::Result<bool, (Vec<u8>, Errno)> {
    // ACLs that the new directory has inherited and the other one lacks are removed, since they would permit
    // more. Equal values are not set again, because setting some of them (labels of a security module) needs
    // rights that having them does not.
    let mut buffer = vec![0; ATTRIBUTES_BYTES];
    let mut changed = false;
    let list = |directory: BorrowedFd<'_>, buffer: &mut Vec<u8>| match known(rustix::fs::flistxattr(
        directory,
        &mut buffer[..],
    )) {
        Ok(bytes) => Ok(buffer[..bytes.unwrap_or(0)].to_vec()),
        Err(error) => Err((Vec::new(), error)),
    };
    let (wanted, there) = (list(of, &mut buffer)?, list(made, &mut buffer)?);
    for name in names(&there).filter(|name| name.to_bytes().starts_with(ACL)) {
        if names(&wanted).all(|other| other != name) {
            rustix::fs::fremovexattr(made, name).map_err(|error| (name.to_bytes().to_vec(), error))?;
            changed = true;
        }
    }
    for name in names(&wanted) {
        let failed = |error| (name.to_bytes().to_vec(), error);
        let bytes = rustix::fs::fgetxattr(of, name, &mut buffer[..]).map_err(failed)?;
        let value = buffer[..bytes].to_vec();
        // A label by system policy need not, and may not, be set again.
        if rustix::fs::fgetxattr(made, name, &mut buffer[..]).is_ok_and(|bytes| buffer[..bytes] == value) {
            continue;
        }
        rustix::fs::fsetxattr(made, name, &value, XattrFlags::empty()).map_err(failed)?;
        changed = true;
    }
    Ok(changed)
}

fn names(list: &[u8]) -> impl Iterator<Item = &CStr> {
    list.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok())
}

fn make_flags_alike(wanted: Option<u32>, made: BorrowedFd<'_>) -> std::result::Result<bool, Errno> {
    let (Some(wanted), Some(there)) =
        (wanted, known(rustix::fs::ioctl_getflags(made))?.map(|flags| flags.bits()))
    else {
        return Ok(false);
    };
    let alike = there & !CHOSEN | wanted & CHOSEN;
    if alike == there {
        return Ok(false);
    }
    rustix::fs::ioctl_setflags(made, IFlags::from_bits_retain(alike)).map(|()| true)
}

fn make_project_alike(of: BorrowedFd<'_>, made: BorrowedFd<'_>) -> std::io::Result<bool> {
    use megadir_sys::quota::{project, set_project};
    match (project(of), project(made)) {
        (Ok(wanted), Ok(there)) if wanted != there => set_project(made, wanted).map(|()| true),
        _ => Ok(false),
    }
}

fn known<T>(result: std::result::Result<T, Errno>) -> std::result::Result<Option<T>, Errno> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(None),
        Err(error) => Err(error),
    }
}
