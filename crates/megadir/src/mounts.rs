//! Names of mount points: listings return the inode that a mount covers (proc_pid_mountinfo(5)).

use std::collections::BTreeSet;
use std::io;

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
    /// Type of the file system, such as `ext4`.
    pub(crate) driver: Box<[u8]>,
    /// Options of the file system, separated by commas.
    pub(crate) options: Box<[u8]>,
}

impl Mount {
    pub(crate) fn has_option(&self, name: &str) -> bool {
        let of_option = |option: &[u8]| option.split(|byte| *byte == b'=').next() == Some(name.as_bytes());
        self.options.split(|byte| *byte == b',').any(of_option)
    }
}

impl Mounts {
    pub(crate) fn read() -> io::Result<Self> {
        // Not /proc/self: threads may have namespaces of their own.
        Ok(Self::parse(&std::fs::read("/proc/thread-self/mountinfo")?))
    }

    fn parse(text: &[u8]) -> Self {
        let mut parsed = Self { mounts: Vec::new(), names: BTreeSet::new(), lengths: [false; 256] };
        for line in text.split(|byte| *byte == b'\n') {
            let mut fields = line.split(|byte| *byte == b' ');
            let id = fields.next().and_then(|id| std::str::from_utf8(id).ok()?.parse().ok());
            let (Some(id), Some(point), Some(options)) = (id, fields.nth(3), fields.next()) else { continue };
            let maps_users = options.split(|byte| *byte == b',').any(|option| option == b"idmapped");
            let mut of_super = fields.skip_while(|field| *field != b"-").skip(1);
            let driver = of_super.next().unwrap_or_default().into();
            let options = of_super.nth(1).unwrap_or_default().into();
            parsed.mounts.push(Mount { id, maps_users, driver, options });
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

fn unescaped(text: &[u8]) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use super::{Mount, Mounts};

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
}
