//! System calls of programs that print attributes: as `ls -l` on Linux, by whole path on Windows.

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

const STEP: u64 = 1024;

/// System calls of a stage, and entries that had vanished: several stages meet the same ones, so the most
/// counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatCounts {
    pub(crate) calls: u64,
    pub(crate) vanished: u64,
}

impl StatCounts {
    pub(crate) fn add(&mut self, later: Self) {
        self.calls += later.calls;
        self.vanished = self.vanished.max(later.vanished);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    //! `ls -l` of coreutils 9.1 calls statx (here relative to the descriptor) for every entry, then asks for
    //! two extended attributes by path, because current kernels have no descriptor-relative call.

    use std::ffi::CStr;
    use std::os::fd::AsFd;
    use std::os::unix::ffi::OsStrExt;

    use megadir::Dir;
    use megadir_record::Stage;
    use rustix::fs::{AtFlags, StatxFlags};
    use rustix::io::Errno;

    use super::{STEP, StatCounts};
    use crate::control::{Result, RunControl, WorkError};
    use crate::kind::list::output::{Attributes, NameArena};

    const MASK: StatxFlags = StatxFlags::MODE
        .union(StatxFlags::NLINK)
        .union(StatxFlags::UID)
        .union(StatxFlags::GID)
        .union(StatxFlags::MTIME)
        .union(StatxFlags::SIZE);
    const LABEL_BYTES: usize = 255;
    const SYMLINK: u16 = 0o120_000;
    pub(crate) const TYPE_BITS: u16 = 0o170_000;

    pub(crate) fn lacks(_stage: Stage) -> Option<String> {
        None
    }

    /// Vanished entries keep empty attributes and are counted.
    ///
    /// One call for each name, in the order of the names in the arena, with the fields that `ls -l` prints.
    /// After sorting this order differs from the order of the inodes on disk, which is part of what the study
    /// measures.
    pub(crate) fn stat_names(
        directory: &Dir,
        arena: &mut NameArena,
        control: RunControl<'_>,
    ) -> Result<StatCounts> {
        let descriptor = directory.as_fd();
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let mut attributes = Vec::with_capacity(arena.len());
        let mut vanished = 0;
        for (index, name) in arena.c_names().enumerate() {
            control.check_every(STEP, index as u64)?;
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
        Ok(StatCounts { calls: arena.len() as u64, vanished })
    }

    /// Security label and access control list. As in `ls`, a missing, inaccessible or too long attribute is no error.
    ///
    /// The two calls that `ls -l` makes for each entry beyond its attributes, by path as `ls` makes them.
    /// Most file systems have neither attribute, and the calls return an error that `ls` ignores; their cost
    /// is the point.
    pub(crate) fn query_extended(
        directory: &Dir,
        arena: &mut NameArena,
        control: RunControl<'_>,
    ) -> Result<StatCounts> {
        let mut path = directory.path().as_os_str().as_bytes().to_vec();
        path.push(b'/');
        let prefix = path.len();
        let mut attributes = std::mem::take(&mut arena.attributes);
        let mut label = [0_u8; LABEL_BYTES];
        let mut counts = StatCounts::default();
        for (index, name) in arena.c_names().enumerate() {
            control.check_every(STEP, index as u64)?;
            path.truncate(prefix);
            path.extend_from_slice(name.to_bytes_with_nul());
            let failed = WorkError::at("lgetxattr");
            let path =
                CStr::from_bytes_with_nul(&path).map_err(|error| failed(std::io::Error::other(error)))?;
            counts.calls += 1;
            match rustix::fs::lgetxattr(path, c"security.selinux", &mut label[..]) {
                Ok(_) | Err(Errno::NODATA | Errno::NOTSUP | Errno::NOSYS) => {}
                Err(Errno::RANGE | Errno::ACCESS | Errno::PERM) => {}
                Err(Errno::NOENT) => counts.vanished += 1,
                Err(error) => return Err(failed(error.into())),
            }
            let Some(of_entry) = attributes.get_mut(index) else { continue };
            if of_entry.mode & TYPE_BITS != SYMLINK {
                of_entry.has_acl = rustix::fs::getxattr_query(path, c"system.posix_acl_access").is_ok();
                counts.calls += 1;
            }
        }
        arena.attributes = attributes;
        Ok(counts)
    }

    #[cfg(test)]
    mod tests {
        use std::sync::atomic::{AtomicBool, AtomicU64};

        use megadir::{Dir, ReadOptions};

        use super::{StatCounts, query_extended, stat_names};
        use crate::control::RunControl;
        use crate::kind::list::output::NameArena;

        #[test]
        fn entries_that_vanish_are_counted() {
            let parent = tempfile::tempdir().unwrap();
            for name in ["one", "two", "three"] {
                std::fs::write(parent.path().join(name), "").unwrap();
            }
            let directory = Dir::open(parent.path()).unwrap();
            let options = ReadOptions::serial(32 << 10);
            let mut reader = megadir::backend("getdents").unwrap().open(&directory, &options).unwrap();
            let mut arena = NameArena::default();
            while let Some(batch) = reader.next_batch().unwrap() {
                arena.add(&batch);
            }
            std::fs::remove_file(parent.path().join("two")).unwrap();
            let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
            let control = RunControl { stop: &stop, heartbeat: &heartbeat };
            let mut counts = stat_names(&directory, &mut arena, control).unwrap();
            assert_eq!(counts, StatCounts { calls: 3, vanished: 1 });
            counts.add(query_extended(&directory, &mut arena, control).unwrap());
            assert_eq!(counts, StatCounts { calls: 9, vanished: 1 });
        }
    }
}

#[cfg(windows)]
mod windows {
    //! Windows: `GetFileAttributesExW` with the whole path of every entry, for programs that go file by file. There
    //! is no stage for extended attributes: no listing program reads their equivalent, access control lists.

    use std::io;
    use std::os::windows::ffi::OsStrExt;

    use megadir::Dir;
    use megadir::names::to_wide;
    use megadir_record::Stage;
    use megadir_sys::windows::facts;

    use super::{STEP, StatCounts};
    use crate::control::{Result, RunControl, WorkError};
    use crate::kind::list::output::NameArena;
    use crate::os;

    pub(crate) fn lacks(stage: Stage) -> Option<String> {
        let lacking = stage == Stage::ExtendedAttributes;
        lacking.then(|| "extended attributes are queried as in ls, on Linux".to_owned())
    }

    pub(crate) fn stat_names(
        directory: &Dir,
        arena: &mut NameArena,
        control: RunControl<'_>,
    ) -> Result<StatCounts> {
        let failed = WorkError::at("GetFileAttributesExW");
        let mut path: Vec<u16> = directory.present_path()?.as_os_str().encode_wide().collect();
        path.push(u16::from(b'\\'));
        let prefix = path.len();
        let mut attributes = Vec::with_capacity(arena.len());
        let mut vanished = 0;
        for (index, name) in arena.names().enumerate() {
            control.check_every(STEP, index as u64)?;
            path.truncate(prefix);
            append(&mut path, name).map_err(failed)?;
            let found = os::if_file_there(facts::of_terminated(&path)).map_err(failed)?;
            vanished += u64::from(found.is_none());
            attributes.push(found.unwrap_or_default());
        }
        arena.attributes = attributes;
        Ok(StatCounts { calls: arena.len() as u64, vanished })
    }

    /// Always fails: the stage does not exist here, see [`lacks`].
    pub(crate) fn query_extended(_: &Dir, _: &mut NameArena, _: RunControl<'_>) -> Result<StatCounts> {
        let source = io::ErrorKind::Unsupported.into();
        Err(WorkError::Stage { stage: "extended attributes", source })
    }

    #[inline]
    fn append(path: &mut Vec<u16>, name: &[u8]) -> io::Result<()> {
        match std::str::from_utf8(name) {
            Ok(text) => path.extend(text.encode_utf16()),
            Err(_) => path.extend(to_wide(name).ok_or(io::ErrorKind::InvalidFilename)?),
        }
        path.push(0);
        Ok(())
    }

    #[cfg(test)]
    mod tests {
        use std::sync::atomic::{AtomicBool, AtomicU64};

        use megadir::ReadOptions;

        use super::*;

        #[test]
        fn attributes_belong_to_their_entry_and_vanished_entries_are_counted() {
            let parent = tempfile::tempdir().unwrap();
            for (name, text) in [("one", "1"), ("two", ""), ("thr\u{e4}\u{1f600}", "12345")] {
                std::fs::write(parent.path().join(name), text).unwrap();
            }
            let directory = Dir::open(parent.path()).unwrap();
            let options = ReadOptions::serial(32 << 10);
            let mut reader = megadir::backend("by-handle").unwrap().open(&directory, &options).unwrap();
            let mut arena = NameArena::default();
            while let Some(batch) = reader.next_batch().unwrap() {
                arena.add(&batch);
            }
            arena.sort();
            std::fs::remove_file(parent.path().join("two")).unwrap();
            let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
            let counts =
                stat_names(&directory, &mut arena, RunControl { stop: &stop, heartbeat: &heartbeat })
                    .unwrap();
            assert_eq!(counts, StatCounts { calls: 3, vanished: 1 });
            let sizes: Vec<u64> = arena.attributes.iter().map(|facts| facts.size_bytes).collect();
            assert_eq!(sizes, [1, 5, 0]);
        }
    }
}
