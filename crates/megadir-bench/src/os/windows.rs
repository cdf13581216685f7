//! Windows: calls relative to a handle; nothing is looked up by its path from the root of a volume.

use std::ffi::{CStr, OsString};
use std::fs::{File, FileTimes};
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use std::path::Path;
use std::time::{Duration, SystemTime};

use megadir::FileType;
use megadir::directory_information::Found;
use megadir_sys::windows::change;
use megadir_sys::windows::facts::{self, Facts};
use megadir_sys::windows::open::{Purpose, below};
use megadir_sys::windows::{owner, volume, volume_settings};

use super::{Access, Space, Status};

/// An open file or directory.
pub(crate) type Owned = OwnedHandle;
/// A borrowed open file or directory.
pub(crate) type Borrowed<'a> = BorrowedHandle<'a>;

const FILE_LIST_DIRECTORY: u32 = 1;
const FILE_READ_ATTRIBUTES: u32 = 0x80;
const SYNCHRONIZE: u32 = 0x10_0000;
/// `FILE_ATTRIBUTE_READONLY`.
const READ_ONLY: u32 = 1;
/// Without which no directory can be opened.
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
const ERROR_INVALID_FUNCTION: i32 = 1;
const ERROR_NOT_SUPPORTED: i32 = 50;
/// "The directory name is invalid."
const ERROR_DIRECTORY: i32 = 267;

/// The backend that entries are listed by.
pub(crate) const LISTED_BY: &str = "by-handle";
/// Paths up to so many UTF-16 units are written out without allocation.
const PATH_UNITS: usize = 384;

/// Lends a directory handle.
pub(crate) trait At {
    /// Returns the open directory.
    fn at(&self) -> Borrowed<'_>;
}

impl<T: AsHandle> At for T {
    #[inline]
    fn at(&self) -> Borrowed<'_> {
        self.as_handle()
    }
}

/// What the calls take as a name or a path.
pub(crate) trait Arg: AsRef<[u8]> {}

impl<T: AsRef<[u8]>> Arg for T {}

/// Returns a path that ends with a NUL as the calls take it.
#[inline]
pub(crate) fn name(path: &CStr) -> &[u8] {
    path.to_bytes()
}

/// Gives a path as the system takes it: UTF-16 with `\` between names.
///
/// What would be no name but lead elsewhere is refused: `\` is no separator here, and `:` would name a stream of a file.
#[inline]
fn wide<R>(path: &[u8], act: impl FnOnce(&[u16]) -> io::Result<R>) -> io::Result<R> {
    if path.iter().any(|byte| matches!(byte, b'\\' | b':' | 0)) {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    let unit = |unit| if unit == u16::from(b'/') { u16::from(b'\\') } else { unit };
    match std::str::from_utf8(path) {
        Ok(text) if path.len() <= PATH_UNITS => {
            // UTF-8 has at least as many bytes as UTF-16 has units.
            let mut units = [0; PATH_UNITS];
            let mut length = 0;
            for (to, from) in units.iter_mut().zip(text.encode_utf16()) {
                *to = unit(from);
                length += 1;
            }
            act(&units[..length])
        }
        _ => {
            let path = megadir::names::to_wide(path).ok_or(io::ErrorKind::InvalidFilename)?;
            act(&path.into_iter().map(unit).collect::<Vec<_>>())
        }
    }
}

#[inline]
fn open(at: Borrowed<'_>, path: &[u8], purpose: Purpose) -> io::Result<Owned> {
    wide(path, |path| below(at, path, purpose))
}

/// Opens a directory by its path; a link to one is followed.
pub(crate) fn open_directory(path: &Path) -> io::Result<Owned> {
    let mut options = std::fs::OpenOptions::new();
    let file = options
        .access_mode(FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES | SYNCHRONIZE)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)?;
    if file.metadata()?.is_dir() { Ok(file.into()) } else { Err(not_a_directory()) }
}

fn kind((attributes, reparse_tag): (u32, u32)) -> FileType {
    Found { attributes, reparse_tag, ..Found::default() }.kind()
}

/// Refuses a directory in which this process may make nothing.
pub(crate) fn may_make_in(path: &Path) -> io::Result<()> {
    // `FILE_ADD_FILE | FILE_ADD_SUBDIRECTORY`, and `FILE_FLAG_BACKUP_SEMANTICS`, without which no directory can be opened.
    let mut options = std::fs::OpenOptions::new();
    options.access_mode(6).share_mode(7).custom_flags(0x0200_0000).open(path).map(drop)
}

/// Opens a directory below another.
#[inline]
pub(crate) fn open_below(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<Owned> {
    let directory = open(at, path.as_ref(), Purpose::List)?;
    match kind(facts::tag(directory.as_handle())?) {
        FileType::Directory => Ok(directory),
        _ => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// As [`open_below`]: what is mounted in a folder is a junction, which is none of its directories.
pub(crate) fn open_on_this_mount(at: Borrowed<'_>, name: impl AsRef<[u8]>) -> io::Result<Owned> {
    open_below(at, name)
}

/// Opens a directory again, with a position of its own.
pub(crate) fn again(at: Borrowed<'_>) -> io::Result<Owned> {
    below(at, &[], Purpose::List)
}

/// Makes a directory.
#[inline]
pub(crate) fn make_directory(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<()> {
    open(at, path.as_ref(), Purpose::CreateDirectory).map(drop)
}

/// Makes a directory; who may look into it is what the one above it says.
pub(crate) fn make_private_directory(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<()> {
    make_directory(at, path)
}

/// Makes a file that is not there yet, and opens it for writing.
#[inline]
pub(crate) fn create(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<File> {
    Ok(open(at, path.as_ref(), Purpose::CreateFile)?.into())
}

/// Opens a file that is there.
#[inline]
pub(crate) fn open_file(at: Borrowed<'_>, path: impl AsRef<[u8]>, access: Access) -> io::Result<File> {
    let purpose = match access {
        Access::Read => Purpose::Read,
        Access::ReadWrite => Purpose::Write,
    };
    Ok(open(at, path.as_ref(), purpose)?.into())
}

/// Opens a file past the cache, which has the system forget what it has cached of it where nobody else has it open.
pub(crate) fn open_uncached(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<File> {
    Ok(open(at, path.as_ref(), Purpose::ReadUncached)?.into())
}

/// Removes the name of a file; see [`change::remove`] for when it goes.
#[inline]
pub(crate) fn remove_file(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<()> {
    let file = open(at, path.as_ref(), Purpose::Remove)?;
    change::remove(file.as_handle())
}

/// Removes an empty directory.
pub(crate) fn remove_directory(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<()> {
    let directory = open(at, path.as_ref(), Purpose::RemoveDirectory)?;
    change::remove(directory.as_handle())
}

/// Renames without replacing anything. Windows refuses to rename a directory in which anything is open.
pub(crate) fn rename_new(at: Borrowed<'_>, from: &str, to: &str) -> io::Result<()> {
    let open = open(at, from.as_bytes(), Purpose::Remove)?;
    wide(to.as_bytes(), |to| change::rename_new(open.as_handle(), at, to))
}

/// Returns what is known of an entry: it is opened and asked.
pub(crate) fn status(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<Status> {
    status_of(&open(at, path.as_ref(), Purpose::Ask)?)
}

/// Returns what `NtQueryFullAttributesFile` tells of an entry, which opens nothing.
#[inline]
pub(crate) fn facts_of(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<Facts> {
    wide(path.as_ref(), |path| facts::of_name(at, path))
}

/// Returns what is known of what is open.
pub(crate) fn status_of(open: &impl At) -> io::Result<Status> {
    use_of(open).map(|(status, _)| status)
}

/// Returns what is known of what is open, and the bytes that it takes on its volume.
pub(crate) fn use_of(open: &impl At) -> io::Result<(Status, u64)> {
    let (told, space) = (facts::of_open(open.at())?, facts::space(open.at())?);
    let status = Status {
        kind: kind((told.attributes, told.reparse_tag)),
        size_bytes: told.size_bytes,
        links: space.links,
        identity: (u64::from(told.volume), told.index),
        owner: None,
        guarded: told.reparse_tag != 0 || told.attributes & READ_ONLY != 0,
    };
    Ok((status, space.allocated_bytes))
}

/// Returns what is known of an entry, and the bytes that it takes on its volume.
pub(crate) fn use_of_entry(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<(Status, u64)> {
    use_of(&open(at, path.as_ref(), Purpose::Ask)?)
}

/// Asks an open directory about itself: the shortest call that a file system answers.
#[inline]
pub(crate) fn ask_itself(at: Borrowed<'_>) -> io::Result<()> {
    facts::tag(at).map(drop)
}

/// `true` if a file that was opened to be written is our user's.
pub(crate) fn is_own(file: &File) -> io::Result<bool> {
    owner::is_own(file.at())
}

/// `true` if opening a file failed for what it is or whose it is: a directory, read-only, not permitted.
pub(crate) fn is_no_file_of_ours(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory)
}

/// Returns the error of a path that leads to something else than a directory.
pub(crate) fn not_a_directory() -> io::Error {
    io::Error::from_raw_os_error(ERROR_DIRECTORY)
}

/// Refuses paths whose last component the system would take for something else: a device, a stream of a file, or a name without
/// the dots and spaces at its end. Behind `\\?\` names are taken as they are.
pub(crate) fn check_path(path: &Path) -> io::Result<()> {
    let verbatim = path.components().next().is_some_and(
        |first| matches!(first, std::path::Component::Prefix(prefix) if prefix.kind().is_verbatim()),
    );
    let name = path.file_name().and_then(std::ffi::OsStr::to_str).filter(|_| !verbatim);
    match name.and_then(megadir::names::refused_by_windows) {
        Some(reason) => Err(io::Error::new(io::ErrorKind::InvalidFilename, reason)),
        None => Ok(()),
    }
}

/// Returns the number of the user who owns what this process makes: not told here.
pub(crate) fn own_user() -> Option<u32> {
    None
}

/// Sets when a file was last read and changed, counted from 1970; to 100 ns.
pub(crate) fn set_times(at: Borrowed<'_>, path: impl AsRef<[u8]>, time: Duration) -> io::Result<()> {
    let time = SystemTime::UNIX_EPOCH + time;
    let times = FileTimes::new().set_accessed(time).set_modified(time);
    open_file(at, path, Access::ReadWrite)?.set_times(times)
}

/// Returns the room of the volume that a directory lies on; files' records are made as they are needed.
pub(crate) fn space(at: Borrowed<'_>) -> io::Result<Space> {
    let told = volume::size(at)?;
    let bytes = |clusters: i64| u64::try_from(clusters).unwrap_or(0).saturating_mul(told.cluster_bytes());
    Ok(Space {
        block_bytes: told.cluster_bytes(),
        bytes: bytes(told.clusters),
        free_bytes: bytes(told.free_to_caller),
        all_free_bytes: bytes(told.free),
        inodes: 0,
        free_inodes: 0,
        all_free_inodes: 0,
    })
}

/// Has everything that was written to the volume of a directory reach the device: for those who may open the volume itself,
/// which takes an administrator. Volumes that cannot be written back as a whole are `Unsupported`.
pub(crate) fn sync(at: Borrowed<'_>) -> io::Result<()> {
    let unsupported = |reason: &str| io::Error::new(io::ErrorKind::Unsupported, reason);
    if facts::is_remote(at) {
        return Err(unsupported("the volume is another machine's"));
    }
    // Its own name: the path may begin with the letter of another one, in a folder of which it is mounted.
    let volume = volume_settings::device(at)
        .map_err(|error| unsupported(&format!("the volume has no name of its own ({error})")))?;
    let volume = OsString::from_wide(&volume);
    let volume = std::fs::OpenOptions::new().write(true).share_mode(7).open(volume)?;
    volume.sync_all().map_err(|error| match error.raw_os_error() {
        Some(ERROR_INVALID_FUNCTION | ERROR_NOT_SUPPORTED) => {
            unsupported("the volume cannot be written back as a whole")
        }
        _ => error,
    })
}
