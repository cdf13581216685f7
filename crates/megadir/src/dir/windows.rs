//! Windows directories, reached by handle. Redirecting reparse points are followed only in the caller's path.
//!
//! Directories are opened below each other by NtCreateFile with a root directory. Calls that accept only paths get the
//! path of the open handle, checked against the identity of the directory.

use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use megadir_sys::windows::open::{Purpose, below};
use megadir_sys::windows::{facts, system};

use super::{Dir, DirId};
use crate::dir_path::DirPath;
use crate::directory_information::Found;
use crate::error::{At, Error, ErrorKind, Result};
use crate::file_system::FileSystem;
use crate::file_type::FileType;
use crate::names;

/// `FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES | SYNCHRONIZE`.
const ACCESS: u32 = 0x0010_0081;
/// `FILE_ATTRIBUTE_OFFLINE | FILE_ATTRIBUTE_RECALL_ON_OPEN | FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS`.
const LIES_ELSEWHERE: u32 = 0x0044_1000;
/// `FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE`.
const SHARE_ALL: u32 = 7;
const BACKUP_SEMANTICS: u32 = 0x0200_0000;

static IS_WINE: LazyLock<bool> = LazyLock::new(|| system::wine_version().is_some());

impl Dir {
    /// Opens a directory by path of any length. Follows symbolic links and junctions. Errors: not found, not
    /// a directory, or permission denied.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut options = std::fs::OpenOptions::new();
        options.access_mode(ACCESS).share_mode(SHARE_ALL).custom_flags(BACKUP_SEMANTICS);
        let file = options.open(path).at("open", path)?;
        if !file.metadata().at("open", path)?.is_dir() {
            return Err(not_a_directory(path));
        }
        Ok(Self { path: path.into(), handle: file.into() })
    }

    /// Opens a directory below this one by name. A symbolic link or junction is refused, not followed. Errors: as [`Dir::open`].
    pub fn open_below(&self, name: &[u8]) -> Result<Self> {
        self.check_component(name)?;
        let os_name = names::to_os(name)?;
        let path = || self.path.join(&os_name);
        let handle = self.open_entry(name, Purpose::List)?;
        let is_away = |name: Vec<u16>| leads_away(self.as_handle(), &name, handle.as_handle());
        if names::to_wide(name).is_some_and(is_away) {
            return Err(not_a_directory(&path()));
        }
        let tag = facts::tag(handle.as_handle()).map_err(|error| Error::io("open", &path(), error))?;
        match Found::kind_of(tag) {
            FileType::Directory => Ok(Self { path: self.path.child(name), handle }),
            _ => Err(not_a_directory(&path())),
        }
    }

    /// Opens a directory below this one, always on the same volume: volumes mounted in folders are junctions,
    /// which are not followed. Errors: as [`Dir::open_below`].
    pub fn open_below_on_this_mount(&self, name: &[u8]) -> Result<Option<Self>> {
        self.open_below(name).map(Some)
    }

    /// Opens a file below this directory by name, for reading. A symbolic link or junction is refused, as are
    /// files whose contents would be fetched from elsewhere (cloud, tape). Other reparse points, such as
    /// deduplicated files, are read as regular files. Errors: not found, permission denied, or
    /// [`std::io::ErrorKind::InvalidInput`] if the entry is not a regular file.
    pub fn open_file_below(&self, name: &[u8]) -> std::io::Result<std::fs::File> {
        let failed = |error: Error| match error.code() {
            Some(code) => std::io::Error::from_raw_os_error(code),
            None => std::io::Error::other(error.reason()),
        };
        let file = self.open_entry(name, Purpose::Read).map_err(failed)?;
        let (attributes, reparse_tag) = facts::tag(file.as_handle())?;
        match Found::kind_of((attributes, reparse_tag)) {
            FileType::File if attributes & LIES_ELSEWHERE != 0 => {
                Err(std::io::Error::other("its contents are stored elsewhere, and reading would fetch them"))
            }
            FileType::File if reparse_tag == 0 => Ok(file.into()),
            // Drivers that store the contents in another form return them only for an open by path.
            FileType::File => {
                let path = self.present_path().map_err(failed)?;
                let opened = std::fs::File::open(path.join(names::to_os(name).map_err(failed)?))?;
                let same = facts::identity(opened.as_handle())? == facts::identity(file.as_handle())?;
                if same { Ok(opened) } else { Err(std::io::ErrorKind::NotFound.into()) }
            }
            _ => Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "no longer a regular file")),
        }
    }

    pub(crate) fn open_entry(&self, name: &[u8], purpose: Purpose) -> Result<OwnedHandle> {
        let io = |error| Error::io("open", &self.entry_path(name), error);
        // They would lead out of the directory.
        let is_no_name = name.is_empty() || name == b"." || name == b".." || name.contains(&b'\\');
        match names::to_wide(name).filter(|_| !is_no_name) {
            Some(wide) => below(self.as_handle(), &wide, purpose).map_err(io),
            None => Err(io(std::io::ErrorKind::NotFound.into())),
        }
    }

    /// Opens this directory again, with its own position. Errors: permission denied.
    pub fn reopen(&self) -> Result<OwnedHandle> {
        below(self.as_handle(), &[], Purpose::List).at("open", &self.path)
    }

    /// Wraps an open directory. `path` is for messages only.
    pub fn from_descriptor(handle: OwnedHandle, path: impl Into<PathBuf>) -> Self {
        Self { path: DirPath::from(&*path.into()), handle }
    }

    pub(crate) fn reopen_for_reader(&self) -> Result<OwnedHandle> {
        self.reopen()
    }

    /// Opens this directory again as a separate [`Dir`]. Errors: as [`Dir::reopen`].
    pub fn again(&self) -> Result<Self> {
        Ok(Self { path: self.path.clone(), handle: self.reopen()? })
    }

    /// Returns the current path of the open directory in the long form (`\\?\...`). Errors:
    /// [`ErrorKind::NotFound`] if the directory was moved and the system (Wine) does not know the new path.
    pub fn present_path(&self) -> Result<PathBuf> {
        let current = facts::path(self.as_handle()).ok();
        let current =
            current.map(|wide| <std::ffi::OsString as std::os::windows::ffi::OsStringExt>::from_wide(&wide));
        let id = self.id()?;
        let leads_here =
            |path: &PathBuf| Self::open(path).and_then(|there| there.id()).is_ok_and(|there| there == id);
        let mut candidates = current.map(PathBuf::from).into_iter().chain([self.path.to_path_buf()]);
        candidates.find(leads_here).ok_or_else(|| {
            let reason = "the directory was moved, and this method needs its path";
            Error::new("read", &self.path, ErrorKind::NotFound, reason)
        })
    }

    /// File system that holds the directory; [`FileSystem::Cifs`] for any on another machine.
    pub fn file_system(&self) -> FileSystem {
        FileSystem::of(self.as_handle())
    }

    /// Size of the directory itself, bytes; 0 for small directories of NTFS. Errors: as `GetFileInformationByHandleEx`.
    pub fn size_bytes(&self) -> Result<u64> {
        facts::of_open(self.as_handle()).map(|facts| facts.size_bytes).at("stat", &self.path)
    }

    /// Reads an entry's type by opening it; [`FileType::Unknown`] if the entry no longer exists. Errors: permission
    /// denied, or as `GetFileInformationByHandleEx`.
    pub fn kind_of(&self, name: &[u8]) -> Result<FileType> {
        let entry = match self.open_entry(name, Purpose::Query) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(FileType::Unknown),
            opened => opened?,
        };
        let failed = |error| Error::io("stat", &self.entry_path(name), error);
        facts::tag(entry.as_handle()).map(Found::kind_of).map_err(failed)
    }

    /// Identity of the directory, to detect loops. Errors: as `GetFileInformationByHandle`.
    pub fn id(&self) -> Result<DirId> {
        identity(self.as_handle()).at("stat", &self.path)
    }
}

impl DirId {
    /// Identity of any open file. Errors: as `GetFileInformationByHandle`.
    pub fn of_file(file: &std::fs::File) -> std::io::Result<Self> {
        identity(file.as_handle())
    }
}

fn identity(open: BorrowedHandle<'_>) -> std::io::Result<DirId> {
    let (device, number) = facts::identity(open)
        .or_else(|_| facts::of_open(open).map(|facts| (facts.volume.into(), facts.index.into())))?;
    // NTFS uses only the lower half of the ID. ReFS uses both, so fold them.
    let inode = number as u64 ^ ((number >> 64) as u64).rotate_left(32);
    Ok(DirId { device, inode, mount: None })
}

fn not_a_directory(path: &Path) -> Error {
    Error::new("open", path, ErrorKind::NotADirectory, "Not a directory")
}

/// Wine 8 follows the host's symbolic links: removing through one removes its target. So the path of an opened entry is compared with
/// the expected one.
pub(crate) fn leads_away(parent: BorrowedHandle<'_>, name: &[u16], opened: BorrowedHandle<'_>) -> bool {
    if !*IS_WINE {
        return false;
    }
    let (Ok(parent), Ok(opened)) = (facts::object_name(parent), facts::object_name(opened)) else {
        return true;
    };
    let lower = |path: &[u16]| String::from_utf16_lossy(path).to_lowercase();
    let (parent, name) = (lower(&parent), lower(name));
    lower(&opened) != format!("{}\\{name}", parent.trim_end_matches('\\'))
}

impl AsHandle for Dir {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.handle.as_handle()
    }
}
