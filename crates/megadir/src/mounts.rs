//! Mount table of this thread (proc_pid_mountinfo(5)), and names of mount points: listings return the inode that a mount covers. Mount ID of
//! an open file: by statx, else, if a filter refuses that, by /proc. Devices do not distinguish bind mounts.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Statx, StatxFlags, fstat, openat, openat2, statx};
use rustix::io::{Errno, retry_on_intr};
use rustix::path::Arg;

#[derive(Debug)]
pub(crate) struct Mounts {
    mounts: Vec<Mount>,
    names: BTreeSet<Box<[u8]>>,
    /// By length modulo 256; most names need no lookup.
    lengths: [bool; 256],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) id: u64,
    pub(crate) maps_users: bool,
    pub(crate) driver: Box<[u8]>,
    pub(crate) options: Box<[u8]>,
}

/// Line of the table. Spaces and the like are escaped in its fields.
///
/// Borrows the text of the table, which is read as a whole, so that a table of thousands of mounts costs no
/// allocation for each. `options` belong to the file system, `own_options` to the mount.
pub(crate) struct Line<'t> {
    id: u64,
    pub(crate) root: &'t [u8],
    pub(crate) point: &'t [u8],
    own_options: &'t [u8],
    pub(crate) driver: &'t [u8],
    pub(crate) source: &'t [u8],
    pub(crate) options: &'t [u8],
}

impl<'t> Line<'t> {
    pub(crate) fn find(table: &'t [u8], id: u64) -> Option<Self> {
        lines(table).find(|line| line.id == id)
    }

    fn parse(line: &'t [u8]) -> Option<Self> {
        // 36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue
        let mut fields = line.split(|byte| *byte == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let (root, point, own_options) = (fields.nth(2)?, fields.next()?, fields.next()?);
        let mut of_super = fields.skip_while(|field| *field != b"-").skip(1);
        let mut next = || of_super.next().unwrap_or_default();
        let (driver, source, options) = (next(), next(), next());
        Some(Self { id, root, point, own_options, driver, source, options })
    }

    /// Value of an option of the file system; empty for an option without a value.
    pub(crate) fn option(&self, name: &str) -> Option<&'t [u8]> {
        option(self.options, name)
    }
}

fn option<'t>(options: &'t [u8], name: &str) -> Option<&'t [u8]> {
    options.split(|byte| *byte == b',').find_map(|option| {
        let rest = option.strip_prefix(name.as_bytes())?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"=") }
    })
}

fn lines(table: &[u8]) -> impl Iterator<Item = Line<'_>> {
    table.split(|byte| *byte == b'\n').filter_map(Line::parse)
}

pub(crate) fn table() -> io::Result<Vec<u8>> {
    // Not /proc/self: threads may have namespaces of their own.
    std::fs::read("/proc/thread-self/mountinfo")
}

impl Mount {
    pub(crate) fn has_option(&self, name: &str) -> bool {
        option(&self.options, name).is_some()
    }
}

impl Mounts {
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Self::parse(&table()?))
    }

    fn parse(text: &[u8]) -> Self {
        let mut parsed = Self { mounts: Vec::new(), names: BTreeSet::new(), lengths: [false; 256] };
        for Line { id, point, own_options, driver, options, .. } in lines(text) {
            let maps_users = option(own_options, "idmapped").is_some();
            parsed.mounts.push(Mount { id, maps_users, driver: driver.into(), options: options.into() });
            let name = unescaped(point.rsplit(|byte| *byte == b'/').next().unwrap_or(point));
            parsed.lengths[name.len() & 255] = true;
            parsed.names.insert(name.into());
        }
        parsed
    }

    pub(crate) fn by_id(&self, id: u64) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.id == id)
    }

    #[inline]
    pub(crate) fn may_be_on(&self, name: &[u8]) -> bool {
        self.lengths[name.len() & 255] && self.names.contains(name)
    }
}

/// `\040` is a space.
pub(crate) fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, others)) = rest.split_first() {
        match (first, others) {
            (b'\\', &[a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = &others[3..];
            }
            _ => {
                bytes.push(first);
                rest = others;
            }
        }
    }
    bytes
}

/// Returns the ID of the mount that an open file is on; `None` if the system does not reveal it.
pub fn mount_id(file: impl AsFd) -> Option<u64> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let status = statx(&file, c"", flags, StatxFlags::MNT_ID).ok();
    status.as_ref().and_then(id_in_status).or_else(|| id_in_proc(file))
}

/// Opens a directory in another one, by one name and without following a link. With [`ResolveFlags::NO_XDEV`], `XDEV` if
/// anything is mounted on it; where the system cannot check that, `are_on_one_mount` does.
pub(crate) fn open_below(
    parent: BorrowedFd<'_>,
    name: impl Arg + Copy,
    resolve: ResolveFlags,
    are_on_one_mount: fn(BorrowedFd<'_>, BorrowedFd<'_>) -> bool,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // `AGAIN` (a rename happened) matters only to paths with several components, so it is no reason to repeat.
    match retry_on_intr(|| openat2(parent, name, flags, Mode::empty(), resolve)) {
        // Linux before 5.6, or a seccomp filter.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
            let directory = retry_on_intr(|| openat(parent, name, flags, Mode::empty()))?;
            match !resolve.contains(ResolveFlags::NO_XDEV) || are_on_one_mount(parent, directory.as_fd()) {
                true => Ok(directory),
                false => Err(Errno::XDEV),
            }
        }
        opened => opened,
    }
}

/// `false` if the system reveals no mount IDs.
pub(crate) fn are_on_one_mount(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> bool {
    mount_id(a).is_some_and(|mount| mount_id(b) == Some(mount))
}

/// Compares devices, which miss bind mounts, if the system reveals no mount IDs.
pub(crate) fn seem_to_be_on_one_mount(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> bool {
    match (mount_id(a), mount_id(b)) {
        (Some(a), Some(b)) => a == b,
        _ => matches!((fstat(a), fstat(b)), (Ok(a), Ok(b)) if a.st_dev == b.st_dev),
    }
}

/// From a status that was requested with [`StatxFlags::MNT_ID`].
pub(crate) fn id_in_status(status: &Statx) -> Option<u64> {
    StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::MNT_ID).then_some(status.stx_mnt_id)
}

pub(crate) fn id_in_proc(file: impl AsFd) -> Option<u64> {
    // The thread may have its own descriptor table.
    let path = format!("/proc/thread-self/fdinfo/{}", file.as_fd().as_raw_fd());
    let info = std::fs::read_to_string(path).ok()?;
    info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::{Line, Mount, Mounts, id_in_proc, mount_id, unescaped};
    use crate::Dir;

    const TEXT: &[u8] = b"\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,nouid32,sb=32768\n\
36 22 0:32 / /proc rw,nosuid - proc proc rw\n\
77 22 7:0 /sub /a\\040b/c\\134d\\012\xff ro,noatime,idmapped master:1 propagate_from:2 - xfs /dev/loop0 rw\n\
88 22 7:0 / /idmapped rw - xfs /dev/loop0 rw,idmapped\n";

    #[test]
    fn names_are_unescaped_and_found_by_their_last_component() {
        let mounts = Mounts::parse(TEXT);
        for name in [&b"proc"[..], b"c\\d\n\xff", b"idmapped"] {
            assert!(mounts.may_be_on(name), "{name:?}");
        }
        for name in [&b"a b"[..], b"c", b"prod", b"proc2", b"c\\134d\\012\xff"] {
            assert!(!mounts.may_be_on(name), "{name:?}");
        }
    }

    #[test]
    fn mounts_are_known_by_their_number_and_own_options() {
        let mounts = Mounts::parse(TEXT);
        let mount = |id, maps_users, driver: &str, options: &str| Mount {
            id,
            maps_users,
            driver: driver.as_bytes().into(),
            options: options.as_bytes().into(),
        };
        assert_eq!(mounts.by_id(22), Some(&mount(22, false, "ext4", "rw,nouid32,sb=32768")));
        assert_eq!(mounts.by_id(77), Some(&mount(77, true, "xfs", "rw")));
        assert_eq!(mounts.by_id(88), Some(&mount(88, false, "xfs", "rw,idmapped")));
        assert_eq!(mounts.by_id(1), None);
        let of_ext4 = mounts.by_id(22).unwrap();
        assert!(of_ext4.has_option("nouid32") && of_ext4.has_option("sb"));
        assert!(!of_ext4.has_option("uid32") && !of_ext4.has_option(""));
    }

    #[test]
    fn a_line_has_all_of_a_mount_in_any_bytes() {
        let line = Line::find(TEXT, 77).unwrap();
        assert_eq!((line.root, unescaped(line.point)), (&b"/sub"[..], b"/a b/c\\d\n\xff".to_vec()));
        assert_eq!((line.driver, line.source), (&b"xfs"[..], &b"/dev/loop0"[..]));
        let of_ext4 = Line::find(TEXT, 22).unwrap();
        let options = ["sb", "nouid32", "s", "uid32"].map(|name| of_ext4.option(name));
        assert_eq!(options, [Some(&b"32768"[..]), Some(b""), None, None]);
        assert!(Line::find(TEXT, 1).is_none() && Line::find(b"", 1).is_none());
        assert_eq!(unescaped(br"a\04\134\400"), br"a\04\\400");
    }

    #[test]
    fn lines_that_are_cut_off_are_left_out() {
        for length in 0..TEXT.len() {
            assert!(Mounts::parse(&TEXT[..length]).mounts.len() <= 4);
        }
        assert_eq!(Mounts::parse(b"\n\nx y z\n").mounts, []);
    }

    #[test]
    fn this_process_sees_proc() {
        assert!(Mounts::read().unwrap().may_be_on(b"proc"));
    }

    #[test]
    fn proc_has_the_id_of_statx() {
        for path in [".", "/proc", "/"] {
            let directory = Dir::open(path).unwrap();
            let expected = mount_id(&directory);
            assert!(expected.is_some());
            assert_eq!(id_in_proc(&directory), expected, "{path}");
            assert_eq!(directory.id().unwrap().mount, expected, "{path}");
        }
    }
}
