//! Windows: calls relative to a handle; no lookup starts at the root of a volume.

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
use megadir_sys::windows::facts::{self, Facts};
use megadir_sys::windows::open::{Purpose, below};
use megadir_sys::windows::{change, owner, volume};

use super::{Access, Space, Status};

pub(crate) type Owned = OwnedHandle;
pub(crate) type Borrowed<'a> = BorrowedHandle<'a>;

const FILE_LIST_DIRECTORY: u32 = 1;
const FILE_READ_ATTRIBUTES: u32 = 0x80;
const SYNCHRONIZE: u32 = 0x10_0000;
/// `FILE_ATTRIBUTE_READONLY`.
const READ_ONLY: u32 = 1;
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
const ERROR_INVALID_FUNCTION: i32 = 1;
const ERROR_FILE_NOT_FOUND: i32 = 2;
const ERROR_NOT_SUPPORTED: i32 = 50;
/// "The directory name is invalid."
const ERROR_DIRECTORY: i32 = 267;

pub(crate) const LISTED_BY: &str = "by-handle";
/// Longer paths are converted with an allocation.
const PATH_UNITS: usize = 384;

pub(crate) trait At {
    fn at(&self) -> Borrowed<'_>;
}

impl<T: AsHandle> At for T {
    #[inline]
    fn at(&self) -> Borrowed<'_> {
        self.as_handle()
    }
}

pub(crate) trait Arg: AsRef<[u8]> {}

impl<T: AsRef<[u8]>> Arg for T {}

#[inline]
pub(crate) fn name(path: &CStr) -> &[u8] {
    path.to_bytes()
}

/// Passes on a path in UTF-16 with `\` between names. Refuses `\`, no separator here, and `:`, which opens a stream of a file.
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

/// Opens an entry by `NtCreateFile` relative to `at`. The purpose decides access rights and disposition.
#[inline]
fn open(at: Borrowed<'_>, path: &[u8], purpose: Purpose) -> io::Result<Owned> {
    wide(path, |path| below(at, path, purpose))
}

/// Follows links.
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

/// Fails if the user may not create entries here: opens the directory with that right, and creates nothing.
pub(crate) fn may_make_in(path: &Path) -> io::Result<()> {
    // `FILE_ADD_FILE | FILE_ADD_SUBDIRECTORY`, and `FILE_FLAG_BACKUP_SEMANTICS` for a directory.
    let mut options = std::fs::OpenOptions::new();
    options.access_mode(6).share_mode(7).custom_flags(0x0200_0000).open(path).map(drop)
}

#[inline]
pub(crate) fn open_below(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<Owned> {
    let directory = open(at, path.as_ref(), Purpose::List)?;
    match kind(facts::tag(directory.as_handle())?) {
        FileType::Directory => Ok(directory),
        _ => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// A volume mounted in a folder is a junction, which [`open_below`] does not open.
pub(crate) fn open_on_this_mount(at: Borrowed<'_>, name: impl AsRef<[u8]>) -> io::Result<Owned> {
    open_below(at, name)
}

pub(crate) fn again(at: Borrowed<'_>) -> io::Result<Owned> {
    below(at, &[], Purpose::List)
}

#[inline]
pub(crate) fn make_directory(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<()> {
    open(at, path.as_ref(), Purpose::CreateDirectory).map(drop)
}

/// Access rights are inherited from the parent.
pub(crate) fn make_private_directory(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<()> {
    make_directory(at, path)
}

#[inline]
pub(crate) fn create(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<File> {
    Ok(open(at, path.as_ref(), Purpose::CreateFile)?.into())
}

#[inline]
pub(crate) fn open_file(at: Borrowed<'_>, path: impl AsRef<[u8]>, access: Access) -> io::Result<File> {
    let purpose = match access {
        Access::Read => Purpose::Read,
        Access::ReadWrite => Purpose::Write,
    };
    Ok(open(at, path.as_ref(), purpose)?.into())
}

/// Opens unbuffered: the system drops its cached pages unless another process has the file open.
pub(crate) fn open_uncached(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<File> {
    Ok(open(at, path.as_ref(), Purpose::ReadUncached)?.into())
}

/// [`change::remove`] says when the name disappears.
#[inline]
pub(crate) fn remove_file(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<()> {
    let file = open(at, path.as_ref(), Purpose::Remove)?;
    change::remove(file.as_handle())
}

pub(crate) fn remove_directory(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<()> {
    let directory = open(at, path.as_ref(), Purpose::RemoveDirectory)?;
    change::remove(directory.as_handle())
}

/// Replaces nothing. Windows refuses to rename a directory with open files in it.
pub(crate) fn rename_new(at: Borrowed<'_>, from: &str, to: &str) -> io::Result<()> {
    let open = open(at, from.as_bytes(), Purpose::Remove)?;
    wide(to.as_bytes(), |to| change::rename_new(open.as_handle(), at, to))
}

pub(crate) fn status(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<Status> {
    use_of_entry(at, path).map(|(status, _)| status)
}

#[inline]
pub(crate) fn facts_of(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<Facts> {
    wide(path.as_ref(), |path| facts::of_name(at, path))
}

pub(crate) fn use_of(open: &impl At) -> io::Result<(Status, u64)> {
    let (facts, space) = (facts::of_open(open.at())?, facts::space(open.at())?);
    let status = Status {
        kind: kind((facts.attributes, facts.reparse_tag)),
        size_bytes: facts.size_bytes,
        links: space.links,
        identity: (u64::from(facts.volume), facts.index),
        owner: None,
        guarded: facts.reparse_tag != 0 || facts.attributes & READ_ONLY != 0,
    };
    Ok((status, space.allocated_bytes))
}

pub(crate) fn use_of_entry(at: Borrowed<'_>, path: impl AsRef<[u8]>) -> io::Result<(Status, u64)> {
    use_of(&open(at, path.as_ref(), Purpose::Query)?)
}

/// `None` if the file is missing; a missing directory is an error.
#[inline]
pub(crate) fn if_file_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.raw_os_error() == Some(ERROR_FILE_NOT_FOUND) => Ok(None),
        result => result.map(Some),
    }
}

/// The cheapest call that a file system answers.
#[inline]
pub(crate) fn query_directory(at: Borrowed<'_>) -> io::Result<()> {
    facts::tag(at).map(drop)
}

pub(crate) fn is_own(file: &File) -> io::Result<bool> {
    owner::is_own(file.at())
}

pub(crate) fn is_no_file_of_ours(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory)
}

pub(crate) fn not_a_directory() -> io::Error {
    io::Error::from_raw_os_error(ERROR_DIRECTORY)
}

/// Refuses paths whose last component would be reinterpreted: a device, a stream, or a name with trailing
/// dots and spaces. Names after `\\?\` are taken literally.
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

/// Windows has no numeric user ID.
pub(crate) fn own_user() -> Option<u32> {
    None
}

/// Since the Unix epoch; resolution 100 ns.
pub(crate) fn set_times(at: Borrowed<'_>, path: impl AsRef<[u8]>, time: Duration) -> io::Result<()> {
    let time = SystemTime::UNIX_EPOCH + time;
    let times = FileTimes::new().set_accessed(time).set_modified(time);
    open_file(at, path, Access::ReadWrite)?.set_times(times)
}

/// File records are allocated dynamically.
pub(crate) fn space(at: Borrowed<'_>) -> io::Result<Space> {
    let size = volume::size(at)?;
    let bytes = |clusters: i64| u64::try_from(clusters).unwrap_or(0).saturating_mul(size.cluster_bytes());
    Ok(Space {
        block_bytes: size.cluster_bytes(),
        bytes: bytes(size.clusters),
        free_bytes: bytes(size.free_to_caller),
        all_free_bytes: bytes(size.free),
        inodes: 0,
        free_inodes: 0,
        all_free_inodes: 0,
    })
}

/// Opens the volume itself, which requires an administrator. Volumes that cannot be flushed return `Unsupported`.
pub(crate) fn sync(at: Borrowed<'_>) -> io::Result<()> {
    let unsupported = |reason: &str| io::Error::new(io::ErrorKind::Unsupported, reason);
    if facts::is_remote(at) {
        return Err(unsupported("the volume is on another machine"));
    }
    // Use the volume's own name: a volume mounted in a folder has another drive letter in its path.
    let volume =
        volume::device(at).map_err(|error| unsupported(&format!("the volume has no name ({error})")))?;
    let volume = OsString::from_wide(&volume);
    let volume = std::fs::OpenOptions::new().write(true).share_mode(7).open(volume)?;
    volume.sync_all().map_err(|error| match error.raw_os_error() {
        Some(ERROR_INVALID_FUNCTION | ERROR_NOT_SUPPORTED) => {
            unsupported("the system cannot flush the whole volume")
        }
        _ => error,
    })
}
