//! What the engine asks of Windows: reading, opening, removing, each relative to a handle.
//!
//! What is removed is opened first and removed by its handle, a directory only if it is the one that was emptied. A reparse point
//! (symbolic link, junction, mount point, folder that lies elsewhere) is opened itself and never gone into. With POSIX semantics
//! (Windows 10 1607 and later, NTFS) a name goes when this handle is closed, whoever else has the file open; elsewhere it goes when the last closes it, so no directory
//! is held open that is about to go. Nobody goes up by `..`, which no handle knows: directories above stay open, of which a path of 32 767
//! characters has 16 383 at most, and a process may have 16 million handles. A reader's position is lost with its handle.
//!
//! Under Wine what lies elsewhere than its name says stays (`dir/wine.rs`).

mod errno;
mod reader;

use std::ffi::CStr;
use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use std::time::Duration;

use megadir_sys::windows::open::{Purpose, below};
use megadir_sys::windows::{change, facts};

use crate::attributes::Time;
use crate::dir::wine;
use crate::directory_information::Found;
use crate::file_system::FileSystem;
use crate::file_type::FileType;
use crate::names;

pub(in crate::remove) use errno::Errno;
pub(super) use reader::{CALL_BYTES, Reader};

/// What is open.
pub(in crate::remove) use std::os::windows::io::AsHandle as Open;

/// An open directory.
pub(in crate::remove) type Directory = OwnedHandle;

/// A directory cannot be read on from a position: only its handle has one.
pub(super) const SEEKS: bool = false;
/// Without POSIX semantics a directory goes when the last has closed it; and it goes if it is the one that is expected.
pub(super) const GOES_WHILE_OPEN: bool = false;
/// Directories that a worker keeps open at most.
pub(super) const OPEN_MAX: usize = usize::MAX;
/// What is mounted in a folder is a junction.
pub(super) const CROSSES_MOUNTS: bool = false;
/// A process has one table of handles, for all its threads.
pub(super) const OWN_TABLE: Option<fn()> = None;
/// What no name of an entry holds; a colon leads to a stream.
pub(super) const NOT_IN_NAMES: &[u8] = b"/\\:";
/// What is said of a directory that is not empty however often it was emptied.
pub(super) const KEEPS_FILLING: &str = "not empty after it was emptied 10 times: something keeps making entries in it, or holds open what was removed";

const READ_ONLY: u32 = 1;
const DIRECTORY: u32 = 0x10;
const REPARSE_POINT: u32 = 0x400;

/// What tells a directory from every other, as long as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::remove) struct Identity {
    volume: u64,
    file: u128,
}

/// Opens directories next to those that are open.
#[derive(Debug)]
pub(in crate::remove) struct Opener;

impl Opener {
    pub(in crate::remove) fn new(_cross_mounts: bool) -> Self {
        Self
    }

    /// Opens a directory by its name, which is one component; `LOOP` for a reparse point.
    pub(in crate::remove) fn below(&self, parent: &impl Open, name: &CStr) -> Result<Directory, Errno> {
        let (directory, attributes) = open(parent.as_handle(), name, Purpose::List)?;
        if attributes & REPARSE_POINT != 0 {
            return Err(Errno::LOOP);
        }
        Ok(directory)
    }

    /// Opens the directory above: no handle knows it.
    pub(super) fn above(_directory: &Directory, _expected: &Identity) -> Result<Option<Directory>, Errno> {
        Ok(None)
    }
}

/// Opens an entry, following nothing; returns its attributes too.
fn open(parent: BorrowedHandle<'_>, name: &CStr, purpose: Purpose) -> Result<(OwnedHandle, u32), Errno> {
    let opened = open_unasked(parent, name, purpose)?;
    let (attributes, _) = facts::tag(opened.as_handle())?;
    Ok((opened, attributes))
}

fn open_unasked(parent: BorrowedHandle<'_>, name: &CStr, purpose: Purpose) -> Result<OwnedHandle, Errno> {
    let name = names::to_wide(name.to_bytes()).ok_or(Errno::INVALID_NAME)?;
    let opened = below(parent, &name, purpose)?;
    if wine::leads_away(parent, &name, opened.as_handle()) {
        return Err(Errno::LED_AWAY);
    }
    Ok(opened)
}

/// Opens a directory, to be renamed; `NOTDIR` for a reparse point and what is no directory.
pub(in crate::remove) fn open_directory_to_rename(
    parent: &impl Open,
    name: &CStr,
) -> Result<Directory, Errno> {
    let (directory, attributes) = open(parent.as_handle(), name, Purpose::Remove)?;
    match attributes & (DIRECTORY | REPARSE_POINT) {
        DIRECTORY => Ok(directory),
        _ => Err(Errno::NOTDIR),
    }
}

/// Returns what a directory is known by.
pub(in crate::remove) fn identity(directory: &impl Open) -> Result<Identity, Errno> {
    let handle = directory.as_handle();
    let told = match facts::identity(handle) {
        Ok((volume, file)) => Identity { volume, file },
        // FAT has no numbers of 128 bits.
        Err(_) => {
            let told = facts::of_open(handle)?;
            Identity { volume: told.volume.into(), file: told.index.into() }
        }
    };
    // Some file systems of the network give all files one number.
    let is_none = told.file == 0 || told.file == u128::MAX || told.file == u128::from(u64::MAX);
    if is_none { Err(Errno::NO_IDENTITY) } else { Ok(told) }
}

/// What is known of an entry, where that matters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) kind: FileType,
    /// `None` where the file system does not tell it.
    pub(super) modified: Option<Time>,
    /// Its space on the disk, bytes.
    pub(super) bytes: u64,
    /// Its hard links.
    pub(super) links: u64,
}

/// Looks at an entry, following nothing. The listing's copy of these may be old where a file has several links.
pub(super) fn facts(directory: &impl Open, name: &CStr) -> Result<Facts, Errno> {
    facts_of_open(&open_unasked(directory.as_handle(), name, Purpose::Ask)?)
}

/// Looks at what is open.
pub(super) fn facts_of_open(file: &OwnedHandle) -> Result<Facts, Errno> {
    let told = facts::of_open(file.as_handle())?;
    // Neither its age nor its size is that of what it holds.
    if is_folder_of_others(told.attributes, told.reparse_tag) {
        return Err(Errno::LIES_ELSEWHERE);
    }
    let facts::Space { allocated_bytes: bytes, links } = facts::space(file.as_handle())?;
    Ok(Facts {
        kind: kind(told.attributes, told.reparse_tag),
        modified: (told.written != 0).then(|| Time::from_windows(told.written)),
        bytes,
        links,
    })
}

/// Tells whether something is a folder whose entries somebody else hands out, and no other path's stand-in.
fn is_folder_of_others(attributes: u32, reparse_tag: u32) -> bool {
    kind(attributes, reparse_tag) == FileType::Symlink
        && Found { attributes, reparse_tag, ..Found::default() }.kind() == FileType::Directory
}

/// Returns the type of what is open: no reparse point is a directory to go into.
fn kind(attributes: u32, reparse_tag: u32) -> FileType {
    const FOLDER_THAT_LIES_ELSEWHERE: u32 = REPARSE_POINT | DIRECTORY;
    if attributes & FOLDER_THAT_LIES_ELSEWHERE == FOLDER_THAT_LIES_ELSEWHERE {
        return FileType::Symlink;
    }
    Found { attributes, reparse_tag, ..Found::default() }.kind()
}

/// Returns the space of an open directory on the disk, bytes; 0 where that cannot be told.
pub(super) fn space(directory: &Directory) -> u64 {
    facts::space(directory.as_handle()).map_or(0, |space| space.allocated_bytes)
}

/// Returns the type of an entry; unknown when it has vanished.
pub(super) fn kind_of(directory: &impl Open, name: &[u8]) -> FileType {
    let Ok(name) = std::ffi::CString::new(name) else { return FileType::Unknown };
    facts(directory, &name).map_or(FileType::Unknown, |facts| facts.kind)
}

/// Removes an entry that is no directory to go into; `ISDIR` where it is one.
pub(super) fn remove_file(directory: &impl Open, name: &CStr, listed: FileType) -> Result<(), Errno> {
    let file = open_to_remove(directory.as_handle(), name, listed)?;
    remove(directory.as_handle(), name, &file)
}

/// Removes an entry that was looked at, if what is opened to be removed is `still` to go; false where it stays.
pub(super) fn remove_examined(
    directory: &impl Open,
    name: &CStr,
    listed: FileType,
    still: &dyn Fn(&Facts) -> bool,
) -> Result<bool, Errno> {
    let file = open_to_remove(directory.as_handle(), name, listed)?;
    if !still(&facts_of_open(&file)?) {
        return Ok(false);
    }
    remove(directory.as_handle(), name, &file).map(|()| true)
}

fn open_to_remove(parent: BorrowedHandle<'_>, name: &CStr, listed: FileType) -> Result<OwnedHandle, Errno> {
    if listed == FileType::File {
        // The system tells in the same call that it has become a directory or a junction.
        return open_unasked(parent, name, Purpose::RemoveFile);
    }
    let (file, attributes) = open(parent, name, Purpose::Remove)?;
    match attributes & (DIRECTORY | REPARSE_POINT) {
        DIRECTORY => Err(Errno::ISDIR),
        _ => Ok(file),
    }
}

/// Removes a directory that is empty, and no other than the one that is expected; `NOTDIR` for another, or what is none.
pub(super) fn remove_directory(
    parent: &impl Open,
    name: &CStr,
    expected: Option<Identity>,
) -> Result<(), Errno> {
    let parent = parent.as_handle();
    let (directory, attributes) = open(parent, name, Purpose::Remove)?;
    let is_other = match expected {
        Some(expected) => identity(&directory)? != expected,
        None => false,
    };
    if is_other || attributes & (DIRECTORY | REPARSE_POINT) != DIRECTORY {
        return Err(Errno::NOTDIR);
    }
    remove(parent, name, &directory)
}

/// Removes what is open, read-only or not.
fn remove(parent: BorrowedHandle<'_>, name: &CStr, file: &OwnedHandle) -> Result<(), Errno> {
    match change::remove(file.as_handle()).map_err(Errno::from) {
        Err(Errno::PERM) => remove_read_only(parent, name, file),
        removed => removed.map(drop),
    }
}

/// Removes what is refused because it is read-only, by a system that does not do so by itself: takes the mark away and puts it back where
/// that was not enough.
fn remove_read_only(parent: BorrowedHandle<'_>, name: &CStr, file: &OwnedHandle) -> Result<(), Errno> {
    let (attributes, _) = facts::tag(file.as_handle())?;
    if attributes & READ_ONLY == 0 {
        return Err(Errno::PERM);
    }
    let marked = open_unasked(parent, name, Purpose::RemoveMarked)?;
    if identity(&marked)? != identity(file)? {
        return Err(Errno::PERM);
    }
    let links = facts::space(file.as_handle())?.links;
    change::set_attributes(marked.as_handle(), attributes & !READ_ONLY)?;
    let removed = change::remove(marked.as_handle());
    if removed.is_err() || links > 1 {
        // The other names are the same file. What was asked for is done or refused already; that is told.
        let _ = change::set_attributes(marked.as_handle(), attributes);
    }
    removed.map(drop).map_err(Errno::from)
}

/// Opens a directory again, as the same: both share their position.
pub(super) fn duplicate(directory: &impl Open) -> io::Result<Directory> {
    directory.as_handle().try_clone_to_owned()
}

/// Returns the file system that a directory lies on.
pub(super) fn file_system(directory: &impl Open) -> FileSystem {
    FileSystem::of(directory.as_handle())
}

/// Waits, the longer the more often it has done so: without POSIX semantics what was removed stays until others close it.
pub(super) fn wait_for_others(pass: u8) {
    std::thread::sleep(Duration::from_millis(1 << pass.min(9)));
}

/// Returns how many handles the process may have: so many that nobody has them.
pub(super) fn handles_max() -> usize {
    usize::MAX
}

#[cfg(test)]
mod tests;
