//! Finds the directory in overlayfs's upper layer, where new entries are created.

use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use super::space;
use crate::dir::Dir;
use crate::file_system::FileSystem;
use crate::limits::basis::{Fact, Known, Span};
use crate::limits::facts::{Details, Facts, Mount};

pub(super) struct Upper {
    pub(super) directory: Dir,
    is_itself: bool,
}

impl Upper {
    pub(super) fn adjust(&self, facts: &mut Facts) {
        if self.is_itself {
            return;
        }
        facts.entries = Some(Fact::new(Span::exact(0), Known::Read, "not yet in the upper layer"));
        facts.directory_bytes = facts.space.block_bytes;
        facts.links = 2;
        if let Details::Ext4(ext4) = &mut facts.details {
            ext4.indexed = Some(false);
        }
    }
}

pub(super) fn upper(directory: &Dir, mount: Option<&Mount>) -> Result<Upper, String> {
    let mount = mount.ok_or("the mount table does not name it")?;
    let option = mount.option("upperdir").ok_or("it has none, and nothing can be created")?;
    let layer = PathBuf::from(unescaped(option));
    let hidden = |_| format!("'{}' is not visible from here", layer.display());
    let root = Dir::open(&layer).map_err(hidden)?;
    // In this namespace the path may be another directory.
    let same = match (space(directory), space(&root)) {
        (Ok(here), Ok(there)) => {
            (here.blocks, here.inodes, here.block_bytes) == (there.blocks, there.inodes, there.block_bytes)
        }
        _ => false,
    };
    if !same || root.file_system() == FileSystem::Overlay {
        return Err(format!("'{}' is a different directory here", layer.display()));
    }
    let below = path_below(directory, mount).ok_or("its path is unknown")?;
    match Dir::open(layer.join(below)) {
        Ok(directory) => Ok(Upper { directory, is_itself: true }),
        Err(error) if error.kind() == crate::ErrorKind::NotFound => {
            Ok(Upper { directory: root, is_itself: false })
        }
        Err(error) => Err(error.to_string()),
    }
}

fn path_below(directory: &Dir, mount: &Mount) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd())).ok()?;
    let below = path.strip_prefix(&mount.point).ok()?;
    let root = root_of(directory)?;
    let root = Path::new(&root).strip_prefix("/").ok()?;
    Some(root.join(below))
}

// Mount options of a directory's file system. Reference: proc_pid_mountinfo(5).

pub(super) fn mount_of(directory: &Dir) -> Option<Mount> {
    let id = directory.id().ok()?;
    // The thread's own table: threads may have separate namespaces.
    let table = std::fs::read("/proc/thread-self/mountinfo").ok()?;
    find(&table, id.mount?)
}

pub(super) fn root_of(directory: &Dir) -> Option<String> {
    let id = directory.id().ok()?.mount?;
    let table = std::fs::read("/proc/thread-self/mountinfo").ok()?;
    let mut fields = line(&table, id)?.split(' ');
    fields.nth(3).map(unescaped)
}

fn find(table: &[u8], id: u64) -> Option<Mount> {
    // 36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue
    let (own, of_file_system) = line(table, id)?.split_once(" - ")?;
    let point = unescaped(own.split(' ').nth(4)?);
    let mut fields = of_file_system.split(' ');
    let (kind, source) = (unescaped(fields.next()?), unescaped(fields.next()?));
    Some(Mount { point, kind, source, options: fields.next().unwrap_or("").to_owned() })
}

fn line(table: &[u8], id: u64) -> Option<&str> {
    let of_id = |line: &&[u8]| {
        let number = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        std::str::from_utf8(number).is_ok_and(|number| number.parse() == Ok(id))
    };
    std::str::from_utf8(table.split(|byte| *byte == b'\n').find(of_id)?).ok()
}

/// `\040` is a space; unchanged if the result is not UTF-8.
pub(super) fn unescaped(field: &str) -> String {
    let bytes = field.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *byte == b'\\') {
            Some(escaped) => {
                plain.push(escaped);
                at += 4;
            }
            None => {
                plain.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(plain).unwrap_or_else(|_| field.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{find, unescaped};

    #[test]
    fn a_mount_is_found_by_its_number() {
        let table = b"3 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n\
            36 35 98:0 /mnt1 /with\\040space rw,noatime master:1 unbindable - ext3 /dev/root rw,max_dir_size_kb=8\n\
            6 5 0:5 / /bad\xff rw - tmpfs none rw\n";
        let mount = find(table, 36).unwrap();
        assert_eq!((mount.point.as_str(), mount.kind.as_str()), ("/with space", "ext3"));
        assert_eq!((mount.source.as_str(), mount.option("max_dir_size_kb")), ("/dev/root", Some("8")));
        assert_eq!(find(table, 3).unwrap().point, "/");
        assert_eq!((find(table, 6), find(table, 35), find(b"", 1)), (None, None, None));
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(unescaped(r"a\040b\134c\054"), r"a b\c,");
        assert_eq!(unescaped(r"a\04"), r"a\04");
        assert_eq!(unescaped(r"\377"), r"\377");
    }
}
