//! System calls of `ls -l` for every entry, as traced from coreutils 9.1: statx (here relative to the
//! descriptor), then two queries for extended attributes by path, because current kernels have no
//! descriptor-relative call.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use megadir::Dir;
use megadir_record::Stage;
use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use super::{Asked, STEP};
use crate::control::{RunControl, WorkError};
use crate::kind::list::name_arena::{Attributes, NameArena};

const MASK: StatxFlags = StatxFlags::MODE
    .union(StatxFlags::NLINK)
    .union(StatxFlags::UID)
    .union(StatxFlags::GID)
    .union(StatxFlags::MTIME)
    .union(StatxFlags::SIZE);
/// Buffer size that `ls` passes to lgetxattr, bytes.
const LABEL_BYTES: usize = 255;
const SYMLINK: u16 = 0o120_000;
pub(crate) const TYPE_BITS: u16 = 0o170_000;

pub(crate) fn lacks(_stage: Stage) -> Option<String> {
    None
}

/// Vanished entries keep empty attributes and are counted; any other error ends the listing.
pub(crate) fn ask(
    directory: &Dir,
    arena: &mut NameArena,
    control: RunControl<'_>,
) -> Result<Asked, WorkError> {
    let descriptor = directory.as_fd();
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let mut attributes = Vec::with_capacity(arena.len());
    let mut vanished = 0;
    for (index, name) in arena.c_names().enumerate() {
        if index % STEP == 0 {
            control.check()?;
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
            Err(Errno::NOENT) => {
                vanished += 1;
                Attributes::default()
            }
            Err(error) => return Err(WorkError::Stage { stage: "statx", source: error.into() }),
        });
    }
    arena.attributes = attributes;
    Ok(Asked { calls: arena.len() as u64, vanished })
}

/// Security label and access control list. As in `ls`, a missing, inaccessible or too long attribute is no
/// error. Vanished entries are counted; any other error ends the listing.
pub(crate) fn ask_extended(
    directory: &Dir,
    arena: &mut NameArena,
    control: RunControl<'_>,
) -> Result<Asked, WorkError> {
    let mut path = directory.path().as_os_str().as_bytes().to_vec();
    path.push(b'/');
    let prefix = path.len();
    let mut attributes = std::mem::take(&mut arena.attributes);
    let mut label = [0_u8; LABEL_BYTES];
    let mut asked = Asked::default();
    for (index, name) in arena.c_names().enumerate() {
        if index % STEP == 0 {
            control.check()?;
        }
        path.truncate(prefix);
        path.extend_from_slice(name.to_bytes_with_nul());
        let failed = |source| WorkError::Stage { stage: "lgetxattr", source };
        let path = CStr::from_bytes_with_nul(&path).map_err(|error| failed(std::io::Error::other(error)))?;
        asked.calls += 1;
        match rustix::fs::lgetxattr(path, c"security.selinux", &mut label[..]) {
            Err(Errno::NOENT) => asked.vanished += 1,
            Err(error) if !is_answer(error) => return Err(failed(error.into())),
            _ => {}
        }
        let Some(of_entry) = attributes.get_mut(index) else { continue };
        if of_entry.mode & TYPE_BITS != SYMLINK {
            of_entry.has_acl = rustix::fs::getxattr_query(path, c"system.posix_acl_access").is_ok();
            asked.calls += 1;
        }
    }
    arena.attributes = attributes;
    Ok(asked)
}

/// `true` if an error concerns only the extended attribute, not the entry.
fn is_answer(error: Errno) -> bool {
    matches!(error, Errno::NODATA | Errno::NOTSUP | Errno::NOSYS | Errno::RANGE | Errno::ACCESS | Errno::PERM)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use megadir::{Dir, ReadOptions};

    use super::{Asked, ask, ask_extended};
    use crate::control::RunControl;
    use crate::kind::list::name_arena::NameArena;

    #[test]
    fn entries_that_vanish_are_counted() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["one", "two", "three"] {
            std::fs::write(parent.path().join(name), "").unwrap();
        }
        let directory = Dir::open(parent.path()).unwrap();
        let options = ReadOptions { buffer_bytes: 32 << 10, threads: 1, shares: 1, resolve_types: false };
        let mut reader = megadir::backend("getdents").unwrap().open(&directory, &options).unwrap();
        let mut arena = NameArena::default();
        while let Some(batch) = reader.next_batch().unwrap() {
            arena.add(&batch);
        }
        std::fs::remove_file(parent.path().join("two")).unwrap();
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let mut asked = ask(&directory, &mut arena, control).unwrap();
        assert_eq!(asked, Asked { calls: 3, vanished: 1 });
        asked.add(ask_extended(&directory, &mut arena, control).unwrap());
        assert_eq!(asked, Asked { calls: 9, vanished: 1 });
    }
}
