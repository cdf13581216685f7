//! An open directory: everything below it is reached relative to its descriptor, never by path.

use std::path::{Path, PathBuf};

use crate::dir_path::DirPath;
#[cfg(unix)]
use crate::error::At;
use crate::error::{Error, Result};
#[cfg(unix)]
use crate::file_system::FileSystem;
#[cfg(unix)]
use crate::file_type::FileType;
#[cfg(unix)]
use rustix::fs::{Mode, OFlags};
#[cfg(unix)]
use rustix::io::retry_on_intr;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
#[cfg(unix)]
use std::sync::OnceLock;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::leads_away;

/// An open directory. The path is for messages only.
#[derive(Debug)]
pub struct Dir {
    path: DirPath,
    #[cfg(unix)]
    descriptor: OwnedFd,
    /// Once it was queried: on network and FUSE mounts each query is a request to the server.
    #[cfg(unix)]
    file_system: OnceLock<FileSystem>,
    #[cfg(windows)]
    handle: std::os::windows::io::OwnedHandle,
}

/// Identity of a directory: device, inode and, if known, mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirId {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Mount ID, by statx or /proc.
    pub mount: Option<u64>,
}

#[cfg(unix)]
const OPEN: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

#[cfg(unix)]
impl Dir {
    /// Opens a directory by path. Follows symbolic links. Errors: not found, not a directory, or permission denied.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let descriptor = retry_on_intr(|| rustix::fs::open(path, OPEN, Mode::empty())).at("open", path)?;
        Ok(Self::of(path.into(), descriptor))
    }

    /// Opens a directory below this one by name. A symbolic link is refused, not followed. Errors: as
    /// [`Dir::open`]; for a symbolic link "not a directory".
    /// [`ErrorKind::BadOption`](crate::ErrorKind::BadOption) if the name is not a single component.
    pub fn open_below(&self, name: &[u8]) -> Result<Self> {
        self.check_component(name)?;
        let flags = OPEN | OFlags::NOFOLLOW;
        let opened = retry_on_intr(|| rustix::fs::openat(&self.descriptor, name, flags, Mode::empty()));
        let descriptor = opened.map_err(|error| Error::io("open", &self.entry_path(name), error.into()))?;
        Ok(Self::of(self.path.child(name), descriptor))
    }

    /// Opens a directory below this one, or returns `None` if a file system is mounted there, which is not
    /// touched because it may hang. Errors: as [`Dir::open_below`].
    #[cfg(target_os = "linux")]
    pub fn open_below_on_this_mount(&self, name: &[u8]) -> Result<Option<Self>> {
        use crate::mounts::{open_below, seem_to_be_on_one_mount};
        use rustix::fs::ResolveFlags;
        self.check_component(name)?;
        match open_below(self.as_fd(), name, ResolveFlags::NO_XDEV, seem_to_be_on_one_mount) {
            Ok(descriptor) => Ok(Some(Self::of(self.path.child(name), descriptor))),
            Err(rustix::io::Errno::XDEV) => Ok(None),
            Err(error) => Err(Error::io("open", &self.entry_path(name), error.into())),
        }
    }

    /// Opens this directory again, with its own position. Errors: permission denied if the directory may be read but not searched.
    pub fn reopen(&self) -> Result<OwnedFd> {
        retry_on_intr(|| rustix::fs::openat(&self.descriptor, ".", OPEN, Mode::empty()))
            .at("open", &self.path)
    }

    /// Opens this directory again as a separate [`Dir`]. Errors: as [`Dir::reopen`].
    pub fn again(&self) -> Result<Self> {
        Ok(self.same(self.reopen()?))
    }

    /// Wraps an open directory, such as one from another process. `path` is for messages only.
    pub fn from_descriptor(descriptor: OwnedFd, path: impl Into<PathBuf>) -> Self {
        Self::of(DirPath::from(&*path.into()), descriptor)
    }

    /// A directory that may not be searched (`r--`) cannot be reopened: the reader then shares this
    /// descriptor, so only one at a time may use it.
    pub(crate) fn reopen_for_reader(&self) -> Result<OwnedFd> {
        match self.reopen() {
            Err(error) if error.kind() == crate::ErrorKind::PermissionDenied => {
                let descriptor = self.descriptor.try_clone().at("open", &self.path)?;
                match rustix::fs::seek(&descriptor, rustix::fs::SeekFrom::Start(0)) {
                    Ok(_) => Ok(descriptor),
                    // Opened for lookups alone.
                    Err(rustix::io::Errno::BADF) => Err(error),
                    Err(error) => Err(Error::io("rewind", &self.path, error.into())),
                }
            }
            reopened => reopened,
        }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn again_for_reader(&self) -> Result<Self> {
        Ok(self.same(self.reopen_for_reader()?))
    }

    fn of(path: DirPath, descriptor: OwnedFd) -> Self {
        Self { path, descriptor, file_system: OnceLock::new() }
    }

    /// Another descriptor of this directory.
    fn same(&self, descriptor: OwnedFd) -> Self {
        Self { path: self.path.clone(), descriptor, file_system: self.file_system.clone() }
    }

    /// File system that holds the directory.
    pub fn file_system(&self) -> FileSystem {
        *self.file_system.get_or_init(|| FileSystem::of(self.descriptor.as_fd()))
    }

    /// Size of the directory itself, bytes, with a meaning that depends on the file system. Errors: as fstat(2).
    pub fn size_bytes(&self) -> Result<u64> {
        Ok(rustix::fs::fstat(&self.descriptor).at("stat", &self.path)?.st_size as u64)
    }

    /// Reads an entry's type from its inode; [`FileType::Unknown`] if the entry no longer exists. Errors: as
    /// fstatat(2), such as permission denied if the directory may be read but not searched.
    pub fn kind_of(&self, name: &[u8]) -> Result<FileType> {
        kind_of(self.as_fd(), name).map_err(|error| Error::io("stat", &self.entry_path(name), error.into()))
    }

    /// Identity of the directory, to detect loops and mounts. Errors: as fstat(2).
    pub fn id(&self) -> Result<DirId> {
        let status = rustix::fs::fstat(&self.descriptor).at("stat", &self.path)?;
        #[cfg(target_os = "linux")]
        let mount = crate::mounts::mount_id(self);
        #[cfg(not(target_os = "linux"))]
        let mount = None;
        #[expect(clippy::useless_conversion, reason = "device numbers are 32 bits wide on other systems")]
        Ok(DirId { device: status.st_dev.into(), inode: status.st_ino, mount })
    }
}

#[cfg(unix)]
pub(crate) fn kind_of(directory: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<FileType> {
    use rustix::fs::AtFlags;
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    match rustix::fs::statat(directory, name, flags) {
        Ok(status) => Ok(rustix::fs::FileType::from_raw_mode(status.st_mode).into()),
        Err(rustix::io::Errno::NOENT) => Ok(FileType::Unknown),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Dir {
    /// Path to the open directory, even if another one has its old path now. Fails on Windows if the
    /// directory was moved and its path is unknown.
    pub(crate) fn readable_path(&self) -> Result<PathBuf> {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd;
            let path = PathBuf::from(format!("/proc/self/fd/{}", self.as_fd().as_raw_fd()));
            if path.exists() {
                return Ok(path);
            }
        }
        #[cfg(windows)]
        return self.present_path();
        #[cfg(not(windows))]
        Ok(self.path.to_path_buf())
    }

    /// The same directory, as the one that a caller names: [`DirPath::below`] of its entries begins here, and with it the paths and depths
    /// of conditions. Otherwise these begin in the directory that was opened by path.
    ///
    /// ```
    /// let source = megadir::Dir::open(".")?.open_below(b"src")?;
    /// assert_eq!(source.dir_path().below().to_vec(), b"src");
    /// let top = source.into_top();
    /// assert!(top.dir_path().below().is_empty() && top.path().ends_with("src"));
    /// # Ok::<(), megadir::Error>(())
    /// ```
    #[must_use]
    pub fn into_top(mut self) -> Self {
        self.path = DirPath::from(&*self.path);
        self
    }

    /// Path that the directory was opened with, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path that the directory was opened with, not built yet.
    pub fn dir_path(&self) -> &DirPath {
        &self.path
    }

    pub(crate) fn entry_path(&self, name: &[u8]) -> PathBuf {
        self.path.join(crate::names::to_os(name).unwrap_or_default())
    }

    fn check_component(&self, name: &[u8]) -> Result<()> {
        if crate::names::is_component(name) {
            return Ok(());
        }
        let reason = format!("'{}' is not a valid entry name", String::from_utf8_lossy(name).escape_debug());
        Err(Error::new("open", &self.path, crate::ErrorKind::BadOption, reason))
    }
}
