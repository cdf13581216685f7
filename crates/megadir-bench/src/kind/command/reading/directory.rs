//! Files in directories: opened relative to the top, read to the end, closed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use megadir::FileType;
use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::io::{Errno, read, retry_on_intr};

use super::{EachContents, EachSize, OpenContainer};
use crate::os;

/// Least room for a read; small files take one, and one more that finds their end.
const ROOM_BYTES: usize = 16 << 10;

#[derive(Debug)]
pub(super) struct Directory {
    top: OwnedFd,
    /// Order of a pass: by inode number, or that of the listing.
    is_by_inode: bool,
}

impl Directory {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { top: os::open_directory(path)?, is_by_inode: true })
    }

    /// Top of a mounted image. mksquashfs numbers inodes as it finds the files, but writes both inodes and contents in the order of
    /// names, in which they are listed: by inode number, each file would need another block of inodes.
    pub(super) fn of_image(top: OwnedFd) -> Self {
        Self { top, is_by_inode: false }
    }
}

impl OpenContainer for Directory {
    fn read(&mut self, path: &[u8], contents: &mut Vec<u8>) -> io::Result<bool> {
        read_file(self.top.as_fd(), path, contents)
    }

    fn list(&mut self, each: &mut EachSize<'_>) -> io::Result<()> {
        each_directory(&self.top, b"", &mut |directory, path, names| {
            for (_, name) in names {
                let status = statat(directory, &name[..], AtFlags::SYMLINK_NOFOLLOW)?;
                each(&joined(path, name), status.st_size.cast_unsigned())?;
            }
            Ok(())
        })
    }

    /// Most file systems have the files of a directory by inode number on the device.
    fn read_all(&mut self, each: &mut EachContents<'_>) -> io::Result<()> {
        let mut contents = Vec::new();
        each_directory(&self.top, b"", &mut |directory, path, names| {
            if self.is_by_inode {
                names.sort_unstable();
            }
            for (_, name) in names.iter() {
                if read_file(directory.as_fd(), name, &mut contents)? {
                    each(&joined(path, name), &contents)?;
                }
            }
            Ok(())
        })
    }
}

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

fn read_file(at: BorrowedFd<'_>, path: &[u8], contents: &mut Vec<u8>) -> io::Result<bool> {
    contents.clear();
    let file = match openat(at, path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(false),
        opened => opened?,
    };
    loop {
        contents.reserve(ROOM_BYTES);
        if retry_on_intr(|| read(&file, spare_capacity(contents)))? == 0 {
            return Ok(true);
        }
    }
}

/// An open directory, its path, and its files with their inode numbers.
type EachDirectory<'f> = dyn FnMut(&OwnedFd, &[u8], &mut Vec<(u64, Vec<u8>)>) -> io::Result<()> + 'f;

/// Goes through a tree, one open directory on each level. The files of a directory are listed before the first is touched.
fn each_directory(directory: &OwnedFd, path: &[u8], each: &mut EachDirectory<'_>) -> io::Result<()> {
    let (mut files, mut below) = (Vec::new(), Vec::new());
    os::each_listed(directory.as_fd(), &mut |entry| {
        match entry.kind {
            FileType::Directory => below.push(entry.name.to_vec()),
            _ => files.push((entry.inode, entry.name.to_vec())),
        }
        Ok(())
    })?;
    each(directory, path, &mut files)?;
    for name in below {
        let opened = os::open_below(directory.as_fd(), &name[..])?;
        each_directory(&opened, &joined(path, &name), each)?;
    }
    Ok(())
}
