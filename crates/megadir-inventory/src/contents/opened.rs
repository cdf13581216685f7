//! Files of a tree, opened relative to the descriptor of their directory without following links.
//!
//! A file whose size, times or identity are not those of its row, or change while it is read, is reported as such: what was
//! read then is no evidence. FIFOs and devices are not read, and opening them does not wait.

use std::fs::{File, Metadata as Status};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use megadir::{Dir, Error, ErrorKind, Result, Time, names, reason_of};

use crate::row::{Facts, Key, nanoseconds};

/// Opens files of a tree. The directory of the last one stays open, because neighbours come from one directory.
#[derive(Debug)]
pub(crate) struct TreeFiles {
    root: Dir,
    last: Option<(Vec<u8>, Dir)>,
}

impl TreeFiles {
    pub(crate) fn new(root: Dir) -> Self {
        Self { root, last: None }
    }

    /// Directories are opened from the root down without following links: one that was replaced by a link leads nowhere else.
    fn directory(&mut self, path: &[u8]) -> Result<&Dir> {
        if self.last.as_ref().is_none_or(|(last, _)| last != path) {
            self.last = Some((path.to_vec(), open_directory(&self.root, path)?));
        }
        let Some((_, directory)) = &self.last else { unreachable!("it was opened above") };
        Ok(directory)
    }

    /// Rows may come from a file of others, whose names are not trusted.
    fn place(&mut self, key: &Key<'_>) -> Result<(&Dir, PathBuf)> {
        if !names::is_component(key.name) {
            let reason = "the path does not end in a name";
            return Err(Error::new("hash", self.root.path(), ErrorKind::BadOption, reason));
        }
        let directory = self.directory(key.parent)?;
        let path = directory.path().join(names::to_os(key.name)?);
        Ok((directory, path))
    }

    pub(crate) fn open(&mut self, key: &Key<'_>) -> Result<Opened> {
        let (directory, path) = self.place(key)?;
        let failed = |error| Error::io("open", &path, error);
        let file = match open_file(directory, key.name, &path) {
            Err(error) if is_another(&error) => {
                let reason = reason_of(&error);
                return Err(Error::new("open", &path, ErrorKind::NotFound, reason));
            }
            opened => opened.map_err(failed)?,
        };
        let before = State::of(&file.metadata().map_err(failed)?);
        Ok(Opened { file, before, path })
    }

    pub(crate) fn target(&mut self, key: &Key<'_>) -> Result<Vec<u8>> {
        Ok(self.link(key)?.0)
    }

    /// Target of a link, and the state of that link: a program that sets another target makes another link.
    pub(crate) fn link(&mut self, key: &Key<'_>) -> Result<(Vec<u8>, State)> {
        let (directory, path) = self.place(key)?;
        read_link(directory, key.name, &path).map_err(|error| Error::io("read the link", &path, error))
    }
}

/// Attributes that change when a file is written to, and the identity of the file. Two states of one open file are compared, from before
/// and after it was read: if they differ, what was read is no evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) is_file: bool,
    /// Device and inode; `None` where these are not at hand.
    pub(crate) id: Option<(u64, u64)>,
    size_bytes: u64,
    modified_ns: Option<i64>,
    changed_ns: Option<i64>,
}

impl State {
    fn of(status: &Status) -> Self {
        #[cfg(unix)]
        let (changed_ns, id) = {
            use std::os::unix::fs::MetadataExt;
            let changed = Time { seconds: status.ctime(), nanoseconds: status.ctime_nsec() as u32 };
            (Some(nanoseconds(changed)), Some((status.dev(), status.ino())))
        };
        #[cfg(not(unix))]
        let (changed_ns, id) = (None, None);
        let modified_ns = status.modified().ok().map(|time| nanoseconds(Time::from_system(time)));
        Self { is_file: status.is_file(), id, size_bytes: status.len(), modified_ns, changed_ns }
    }

    /// `true` for a regular file of the size and mtime of its row.
    pub(crate) fn is_of(&self, facts: &Facts) -> bool {
        self.is_file
            && facts.size_bytes == Some(self.size_bytes)
            && is_same(facts.modified_ns, self.modified_ns)
    }

    /// `true` if also those of inode number and ctime are the row's that `trusted` has.
    pub(crate) fn is_unchanged(&self, facts: &Facts, trusted: Trusted) -> bool {
        self.is_file && self.is_same_entry(facts, trusted)
    }

    /// As [`is_unchanged`](Self::is_unchanged), for a link too.
    pub(crate) fn is_same_entry(&self, facts: &Facts, trusted: Trusted) -> bool {
        let inode = self.id.map(|(_, inode)| inode);
        is_same(facts.size_bytes, Some(self.size_bytes))
            && (!trusted.modified || is_same(facts.modified_ns, self.modified_ns))
            && (!trusted.changed || is_same(facts.changed_ns, self.changed_ns))
            && (!trusted.inode || is_same(facts.inode, inode))
    }
}

/// Attributes that must be equal besides the size: a mount may not keep it, or the user may have left it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trusted {
    pub(crate) modified: bool,
    pub(crate) changed: bool,
    pub(crate) inode: bool,
}

impl Trusted {
    pub(crate) const ALL: Self = Self { modified: true, changed: true, inode: true };
}

/// A value that one side lacks proves nothing.
fn is_same<T: PartialEq + Copy>(row: Option<T>, now: Option<T>) -> bool {
    row.is_none() || now.is_none() || row == now
}

#[derive(Debug)]
pub(crate) struct Opened {
    file: File,
    pub(crate) before: State,
    path: PathBuf,
}

impl Opened {
    /// Number of bytes read; less than `chunk` only at the end.
    pub(crate) fn fill(&mut self, chunk: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < chunk.len() {
            match self.file.read(&mut chunk[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", &self.path, error)),
            }
        }
        Ok(filled)
    }

    /// `false` if the file changed since it was opened.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.file.metadata().is_ok_and(|status| State::of(&status) == self.before)
    }

    /// `true` once more was read than the file had when it was opened: it grows, and a program that writes faster than it is read would
    /// keep the reader forever.
    pub(crate) fn has_grown(&self, read_bytes: u64) -> bool {
        read_bytes > self.before.size_bytes
    }

    /// Drops the clean pages of the file from the page cache: what is read next comes from the device, and what was read leaves no
    /// trace in the memory of the machine. A request, without an effect where the system has none.
    pub(crate) fn drop_cache(&self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed);
    }
}

/// `true` if the file was replaced by a symbolic link or a socket, which cannot be opened.
fn is_another(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let raw = error.raw_os_error();
        raw == Some(Errno::LOOP.raw_os_error()) || raw == Some(Errno::NXIO.raw_os_error())
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

pub(crate) fn open_directory(root: &Dir, path: &[u8]) -> Result<Dir> {
    let mut directory = root.again()?;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        directory = directory.open_below(name)?;
    }
    Ok(directory)
}

/// Without setting the access time, where the system permits that: to the owner of the file, and to root.
#[cfg(unix)]
fn open_file(parent: &Dir, name: &[u8], _path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    #[cfg(target_os = "linux")]
    match openat(parent, name, flags | OFlags::NOATIME, Mode::empty()) {
        Err(rustix::io::Errno::PERM) => {}
        opened => return Ok(opened?.into()),
    }
    Ok(openat(parent, name, flags, Mode::empty())?.into())
}

#[cfg(windows)]
fn open_file(parent: &Dir, name: &[u8], _path: &Path) -> io::Result<File> {
    parent.open_file_below(name)
}

/// State and target are those of one link, which is opened first: the name may be that of another by the next call.
#[cfg(target_os = "linux")]
fn read_link(parent: &Dir, name: &[u8], _path: &Path) -> io::Result<(Vec<u8>, State)> {
    use rustix::fs::{Mode, OFlags, openat, readlinkat};
    let link =
        File::from(openat(parent, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?);
    let target = readlinkat(&link, "", Vec::new())?.into_bytes();
    Ok((target, State::of(&link.metadata()?)))
}

#[cfg(not(target_os = "linux"))]
fn read_link(_parent: &Dir, _name: &[u8], path: &Path) -> io::Result<(Vec<u8>, State)> {
    let target = names::from_os(std::fs::read_link(path)?.as_os_str()).to_vec();
    Ok((target, State::of(&std::fs::symlink_metadata(path)?)))
}
