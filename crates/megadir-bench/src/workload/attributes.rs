//! The calls that `ls -l` makes for every entry: statx, then two questions for extended attributes.
//!
//! As traced from coreutils 9.1 (see `studies/listing.toml`), but for one thing: statx is asked relative to the
//! directory's descriptor, where `ls -l DIR` passes `DIR/NAME`. The extended attributes have no such call
//! in the kernels of today's distributions and are asked for by path, as `ls` does.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use megadir::Dir;
use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use super::kept::Kept;
use super::list::{ListError, Signals};

/// What `ls -l` prints of an entry's inode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) mode: u16,
    pub(super) links: u32,
    pub(super) owner: u32,
    pub(super) group: u32,
    pub(super) size_bytes: u64,
    pub(super) modified_unix_s: i64,
    /// Whether an access control list was found.
    pub(super) has_acl: bool,
}

const MASK: StatxFlags = StatxFlags::MODE
    .union(StatxFlags::NLINK)
    .union(StatxFlags::UID)
    .union(StatxFlags::GID)
    .union(StatxFlags::MTIME)
    .union(StatxFlags::SIZE);
/// `ls` gives lgetxattr a buffer of this size, bytes.
const LABEL_BYTES: usize = 255;
/// Signs of life come every so many entries.
const STEP: usize = 1024;
const SYMLINK: u16 = 0o120_000;
pub(super) const TYPE_BITS: u16 = 0o170_000;

/// Asks for what `ls -l` prints of every entry; returns the number of calls.
///
/// An entry that has vanished meanwhile keeps empty attributes.
pub(super) fn ask(directory: &Dir, kept: &mut Kept, signals: Signals<'_>) -> Result<u64, ListError> {
    let descriptor = directory.as_fd();
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let mut attributes = Vec::with_capacity(kept.len());
    for (index, name) in kept.c_names().enumerate() {
        if index % STEP == 0 {
            signals.check()?;
        }
        attributes.push(match rustix::fs::statx(descriptor, name, flags, MASK) {
            Ok(stat) => Attributes {
                mode: stat.stx_mode,
                links: stat.stx_nlink,
                owner: stat.stx_uid,
                group: stat.stx_gid,
                size_bytes: stat.stx_size,
                modified_unix_s: stat.stx_mtime.tv_sec,
                has_acl: false,
            },
            Err(Errno::NOENT) => Attributes::default(),
            Err(error) => return Err(ListError::Stage { stage: "statx", source: error.into() }),
        });
    }
    kept.attributes = attributes;
    Ok(kept.len() as u64)
}

/// Asks for the security label and the access control list of every entry; returns the number of calls.
///
/// Whatever the answer, as with `ls`, which prints at most a sign for it.
pub(super) fn ask_extended(directory: &Dir, kept: &mut Kept, signals: Signals<'_>) -> Result<u64, ListError> {
    let mut path = directory.path().as_os_str().as_bytes().to_vec();
    path.push(b'/');
    let prefix = path.len();
    let mut attributes = std::mem::take(&mut kept.attributes);
    let mut label = [0_u8; LABEL_BYTES];
    let mut calls = 0;
    for (index, name) in kept.c_names().enumerate() {
        if index % STEP == 0 {
            signals.check()?;
        }
        path.truncate(prefix);
        path.extend_from_slice(name.to_bytes_with_nul());
        let Ok(path) = CStr::from_bytes_with_nul(&path) else { continue };
        let _ = rustix::fs::lgetxattr(path, c"security.selinux", &mut label[..]);
        calls += 1;
        let Some(of_entry) = attributes.get_mut(index) else { continue };
        if of_entry.mode & TYPE_BITS != SYMLINK {
            of_entry.has_acl = rustix::fs::getxattr_query(path, c"system.posix_acl_access").is_ok();
            calls += 1;
        }
    }
    kept.attributes = attributes;
    Ok(calls)
}
