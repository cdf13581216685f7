//! Directories of Windows: by handle, below it too; a reparse point that stands for another path is followed only where
//! the caller names it.

use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use std::path::{Path, PathBuf};

use megadir_sys::windows::facts;
use megadir_sys::windows::open::{Purpose, below};

use super::{Dir, DirId};
use crate::directory_information::Found;
use crate::error::{Error, ErrorKind, Result};
use crate::file_system::FileSystem;
use crate::file_type::FileType;
use crate::names;

/// `FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES | SYNCHRONIZE`.
const ACCESS: u32 = 0x0010_0081;
/// `FILE_ATTRIBUTE_OFFLINE`, `FILE_ATTRIBUTE_RECALL_ON_OPEN`, `FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS`.
const LIES_ELSEWHERE: u32 = 0x0044_1000;
/// Others may read, write, rename and remove what is open.
const SHARE_ALL: u32 = 7;
/// `FILE_FLAG_BACKUP_SEMANTICS`, without which no directory can be opened.
const BACKUP_SEMANTICS: u32 = 0x0200_0000;

impl Dir {
    /// Opens a directory by path, however long; a symbolic link or junction to a directory is followed.
    ///
    /// # Errors
    ///
    /// Not found, not a directory, permission denied, or whatever the system gives.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let io = |error| Error::io("open", path, error);
        let mut options = std::fs::OpenOptions::new();
        options.access_mode(ACCESS).share_mode(SHARE_ALL).custom_flags(BACKUP_SEMANTICS);
        let file = options.open(path).map_err(io)?;
        if !file.metadata().map_err(io)?.is_dir() {
            return Err(not_a_directory(path));
        }
        Ok(Self { path: path.to_owned(), handle: file.into() })
    }

    /// Opens a directory below this one by its name; a symbolic link or junction is refused, not followed.
    ///
    /// # Errors
    ///
    /// As [`Dir::open`].
    pub fn open_below(&self, name: &[u8]) -> Result<Self> {
        self.check_component(name)?;
        let path = self.path.join(names::to_os(name)?);
        let handle = self.open_entry(name, Purpose::List)?;
        let is_away = |name: Vec<u16>| super::wine::leads_away(self.as_handle(), &name, handle.as_handle());
        if names::to_wide(name).is_some_and(is_away) {
            return Err(not_a_directory(&path));
        }
        let (attributes, reparse_tag) =
            facts::tag(handle.as_handle()).map_err(|error| Error::io("open", &path, error))?;
        match (Found { attributes, reparse_tag, ..Found::default() }).kind() {
            FileType::Directory => Ok(Self { path, handle }),
            _ => Err(not_a_directory(&path)),
        }
    }

    /// Opens a directory below this one. What is mounted in a folder is a junction, which is not followed, so all that
    /// can be opened lies on this mount.
    ///
    /// # Errors
    ///
    /// As [`Dir::open_below`].
    pub fn open_below_on_this_mount(&self, name: &[u8]) -> Result<Option<Self>> {
        self.open_below(name).map(Some)
    }

    /// Opens a file below this directory by its name, to be read; a symbolic link or junction is refused, not followed.
    ///
    /// What else is a reparse point (deduplicated) is read as the file that it is; what would be fetched from elsewhere (a cloud, a tape)
    /// is refused.
    ///
    /// # Errors
    ///
    /// Not found, permission denied, [`std::io::ErrorKind::InvalidInput`] for what is no file, or whatever the system gives.
    pub fn open_file_below(&self, name: &[u8]) -> std::io::Result<std::fs::File> {
        let failed = |error: Error| match error.code() {
            Some(code) => std::io::Error::from_raw_os_error(code),
            None => std::io::Error::other(error.reason()),
        };
        let file = self.open_entry(name, Purpose::Read).map_err(failed)?;
        let (attributes, reparse_tag) = facts::tag(file.as_handle())?;
        let found = Found { attributes, reparse_tag, ..Found::default() };
        match found.kind() {
            FileType::File if attributes & LIES_ELSEWHERE != 0 => {
                Err(std::io::Error::other("its contents lie elsewhere, and reading would fetch them"))
            }
            FileType::File if reparse_tag == 0 => Ok(file.into()),
            // Whoever keeps its contents in another form hands them out by path only.
            FileType::File => {
                let path = self.present_path().map_err(failed)?;
                let opened = std::fs::File::open(path.join(names::to_os(name).map_err(failed)?))?;
                let same = facts::identity(opened.as_handle())? == facts::identity(file.as_handle())?;
                if same { Ok(opened) } else { Err(std::io::ErrorKind::NotFound.into()) }
            }
            _ => Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "no regular file any more")),
        }
    }

    /// Opens an entry by its name, following nothing.
    pub(crate) fn open_entry(&self, name: &[u8], purpose: Purpose) -> Result<OwnedHandle> {
        let io = |error| Error::io("open", &self.path.join(names::to_os(name).unwrap_or_default()), error);
        // These would lead away from the directory; as names they do not exist.
        let is_no_name = name.is_empty() || name == b"." || name == b".." || name.contains(&b'\\');
        match names::to_wide(name).filter(|_| !is_no_name) {
            Some(wide) => below(self.as_handle(), &wide, purpose).map_err(io),
            None => Err(io(std::io::ErrorKind::NotFound.into())),
        }
    }

    /// Opens this same directory again, with a position of its own.
    ///
    /// # Errors
    ///
    /// Permission denied, or whatever the system gives.
    pub fn reopen(&self) -> Result<OwnedHandle> {
        below(self.as_handle(), &[], Purpose::List).map_err(|error| Error::io("open", &self.path, error))
    }

    /// Takes a directory that is open already, for being listed and asked about itself; `path` is for messages.
    pub fn from_descriptor(handle: OwnedHandle, path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), handle }
    }

    /// Opens this directory for one reader from its start.
    pub(crate) fn reopen_for_reader(&self) -> Result<OwnedHandle> {
        self.reopen()
    }

    /// Opens this same directory again as a [`Dir`] of its own.
    ///
    /// # Errors
    ///
    /// As [`Dir::reopen`].
    pub fn again(&self) -> Result<Self> {
        Ok(Self { path: self.path.clone(), handle: self.reopen()? })
    }

    /// Returns a path that leads to the open directory, in the form that may be long (`\\?\...`), for calls that take nothing else.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] where none does: it was moved, and the system (Wine) does not tell where to.
    pub fn present_path(&self) -> Result<PathBuf> {
        let told = facts::path(self.as_handle()).ok();
        let told =
            told.map(|wide| <std::ffi::OsString as std::os::windows::ffi::OsStringExt>::from_wide(&wide));
        let id = self.id()?;
        let leads_here =
            |path: &PathBuf| Self::open(path).and_then(|there| there.id()).is_ok_and(|there| there == id);
        let mut candidates = told.map(PathBuf::from).into_iter().chain([self.path.clone()]);
        candidates.find(leads_here).ok_or_else(|| {
            let reason = "the directory has been moved, and this way of asking goes by path";
            Error::new("read", &self.path, ErrorKind::NotFound, reason)
        })
    }

    /// Returns the file system that the directory lies on; one of another machine is [`FileSystem::Cifs`], whatever it is there.
    pub fn file_system(&self) -> FileSystem {
        FileSystem::of(self.as_handle())
    }

    /// Returns the size that the directory itself has, bytes; NTFS tells none of small ones.
    ///
    /// # Errors
    ///
    /// Whatever the system gives.
    pub fn size_bytes(&self) -> Result<u64> {
        let facts = facts::of_open(self.as_handle());
        facts.map(|facts| facts.size_bytes).map_err(|error| Error::io("stat", &self.path, error))
    }

    /// Returns the type of an entry by opening it; [`FileType::Unknown`] when it has vanished.
    pub fn kind_of(&self, name: &[u8]) -> FileType {
        let told =
            self.open_entry(name, Purpose::Ask).ok().and_then(|entry| facts::tag(entry.as_handle()).ok());
        told.map_or(FileType::Unknown, |(attributes, reparse_tag)| {
            Found { attributes, reparse_tag, ..Found::default() }.kind()
        })
    }

    /// Returns the directory's identity, for telling loops.
    ///
    /// # Errors
    ///
    /// Whatever the system gives.
    pub fn id(&self) -> Result<DirId> {
        identity(self.as_handle()).map_err(|error| Error::io("stat", &self.path, error))
    }
}

impl DirId {
    /// Returns the identity of any open file.
    ///
    /// # Errors
    ///
    /// Whatever the system gives.
    pub fn of_file(file: &std::fs::File) -> std::io::Result<Self> {
        identity(file.as_handle())
    }
}

fn identity(open: BorrowedHandle<'_>) -> std::io::Result<DirId> {
    let (device, number) = facts::identity(open).or_else(|_| {
        // FAT has no numbers of 128 bits.
        facts::of_open(open).map(|told| (told.volume.into(), told.index.into()))
    })?;
    // NTFS uses the lower half alone; where ReFS uses both, both count.
    let inode = number as u64 ^ ((number >> 64) as u64).rotate_left(32);
    Ok(DirId { device, inode, mount: None })
}

fn not_a_directory(path: &Path) -> Error {
    Error::new("open", path, ErrorKind::NotADirectory, "Not a directory")
}

impl AsHandle for Dir {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.handle.as_handle()
    }
}
