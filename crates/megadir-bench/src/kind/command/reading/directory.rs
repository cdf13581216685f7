//! Files in directories: opened relative to the top, read to the end, closed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use megadir::FileType;
use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::io::{Errno, read, retry_on_intr};

use super::OpenContainer;
use crate::os;

/// Room for a read; small files take one, and one more that finds their end.
const PIECE_BYTES: usize = 128 << 10;

#[derive(Debug)]
pub(super) struct Directory {
    top: OwnedFd,
    piece: Vec<u8>,
}

impl Directory {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        os::open_directory(path).map(Self::new)
    }

    pub(super) fn new(top: OwnedFd) -> Self {
        Self { top, piece: vec![0; PIECE_BYTES] }
    }
}

impl OpenContainer for Directory {
    fn read(&mut self, path: &[u8], contents: &mut Vec<u8>) -> io::Result<bool> {
        read_file(self.top.as_fd(), path, &mut self.piece, contents)
    }

    fn list(&mut self, each: &mut dyn FnMut(&[u8], u64)) -> io::Result<()> {
        each_directory(&self.top, b"", &mut |directory, path, names| {
            for (_, name) in names {
                let status = statat(directory, &name[..], AtFlags::SYMLINK_NOFOLLOW)?;
                each(&joined(path, name), status.st_size.cast_unsigned());
            }
            Ok(())
        })
    }

    /// Files of a directory come by inode number, in which most file systems have them on the device.
    fn read_all(&mut self, each: &mut dyn FnMut(&[u8], &[u8])) -> io::Result<()> {
        let Self { top, piece } = self;
        let mut contents = Vec::new();
        each_directory(top, b"", &mut |directory, path, names| {
            names.sort_unstable();
            for (_, name) in names.iter() {
                if read_file(directory.as_fd(), name, piece, &mut contents)? {
                    each(&joined(path, name), &contents);
                }
            }
            Ok(())
        })
    }
}

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

fn read_file(
    at: std::os::fd::BorrowedFd<'_>,
    path: &[u8],
    piece: &mut [u8],
    contents: &mut Vec<u8>,
) -> io::Result<bool> {
    contents.clear();
    let file = match openat(at, path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(false),
        opened => opened?,
    };
    loop {
        match retry_on_intr(|| read(&file, &mut *piece))? {
            0 => return Ok(true),
            bytes => contents.extend_from_slice(&piece[..bytes]),
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
