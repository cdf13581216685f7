//! System calls of the engine on Windows, relative to handles.
//!
//! An entry is opened first and removed by its handle; a directory only if it is the one that was emptied. Reparse points are
//! opened themselves and never entered. Without POSIX semantics a name goes with the last handle, so no directory is open while
//! it is removed. Handles have no `..`, so parents stay open (at most 16 383 in a path), and a reader's position is lost with
//! its handle. Under Wine, an entry whose real path differs from its name stays (`dir/windows.rs`).

mod reader;

use std::ffi::CStr;
use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use std::time::Duration;

use megadir_sys::windows::open::{Purpose, below};
use megadir_sys::windows::{change, facts};

use crate::attributes::{Attributes, StatMask};
use crate::dir::leads_away;
use crate::directory_information::Found;
use crate::file_system::FileSystem;
use crate::file_type::FileType;
use crate::mount_traits::RemovedOpen;
use crate::names;

pub(in crate::remove) use reader::Errno;
pub(super) use reader::{CALL_BYTES, Reader};

pub(in crate::remove) use std::os::windows::io::AsHandle as Open;

pub(in crate::remove) type Directory = OwnedHandle;

pub(super) const fn read_ahead(_directory: &Directory) {}

/// Nothing is read ahead.
#[derive(Debug)]
pub(super) struct Ahead;

#[expect(clippy::unused_self, reason = "the other system's functions need it")]
impl Ahead {
    pub(super) const fn new(_file_system: FileSystem) -> Self {
        Self
    }

    pub(super) const fn is_of_use(&self) -> bool {
        false
    }

    pub(super) fn observe<T>(&self, call: impl FnOnce() -> T) -> T {
        call()
    }
}

/// Only the handle has a position.
pub(super) const SEEKS: bool = false;
/// Without POSIX semantics a directory goes with its last handle. Only the expected one is removed.
pub(super) const GOES_WHILE_OPEN: bool = false;
pub(super) const OPEN_MAX: usize = usize::MAX;
/// A volume mounted in a folder is a junction.
pub(super) const CROSSES_MOUNTS: bool = false;
pub(super) const OPEN_AGAIN: Option<OpenAgain> = None;
pub(super) type OpenAgain = fn(&Directory) -> Result<Directory, Errno>;
/// A colon leads to a stream.
pub(super) const NOT_IN_NAMES: &[u8] = b"/\\:";
pub(super) const KEEPS_FILLING: &str =
    "not empty after 10 passes: another process keeps creating entries in it, or holds removed entries open";

const READ_ONLY: u32 = 1;
const DIRECTORY: u32 = 0x10;
const REPARSE_POINT: u32 = 0x400;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::remove) struct Identity {
    volume: u64,
    file: u128,
}

pub(in crate::remove) fn open_below(
    parent: &impl Open,
    name: &CStr,
    _cross_mounts: bool,
) -> Result<Directory, Errno> {
    let (directory, attributes) = open(parent.as_handle(), name, Purpose::List)?;
    if attributes & REPARSE_POINT != 0 {
        return Err(Errno::LOOP);
    }
    Ok(directory)
}

/// A parent cannot be opened from a handle.
pub(super) fn open_above(_directory: &Directory, _expected: &Identity) -> Result<Option<Directory>, Errno> {
    Ok(None)
}

fn open(parent: BorrowedHandle<'_>, name: &CStr, purpose: Purpose) -> Result<(OwnedHandle, u32), Errno> {
    let opened = open_without_attributes(parent, name, purpose)?;
    let (attributes, _) = facts::tag(opened.as_handle())?;
    Ok((opened, attributes))
}

fn open_without_attributes(
    parent: BorrowedHandle<'_>,
    name: &CStr,
    purpose: Purpose,
) -> Result<OwnedHandle, Errno> {
    let name = names::to_wide(name.to_bytes()).ok_or(Errno::INVALID_NAME)?;
    let opened = below(parent, &name, purpose)?;
    if leads_away(parent, &name, opened.as_handle()) {
        return Err(Errno::LED_AWAY);
    }
    Ok(opened)
}

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

pub(in crate::remove) fn identity(directory: &impl Open) -> Result<Identity, Errno> {
    let handle = directory.as_handle();
    let identity = match facts::identity(handle) {
        Ok((volume, file)) => Identity { volume, file },
        Err(_) => {
            let status = facts::of_open(handle)?;
            Identity { volume: status.volume.into(), file: status.index.into() }
        }
    };
    // Some network file systems give all files one ID.
    let is_none = identity.file == 0 || identity.file == u128::MAX || identity.file == u128::from(u64::MAX);
    if is_none { Err(Errno::NO_IDENTITY) } else { Ok(identity) }
}

/// Attributes of an entry, by its handle: the listing's copy may be outdated for a file with several links. No flag of an entry prevents its removal.
pub(super) fn facts(directory: &impl Open, name: &CStr) -> Result<(Attributes, Option<Errno>), Errno> {
    Ok((facts_of_open(&open_without_attributes(directory.as_handle(), name, Purpose::Query)?)?, None))
}

/// Only opening an entry to remove it shows whether this process may: a dry run does not look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permit;

impl Permit {
    pub(super) fn of(_directory: &impl Open, _is_read_only: bool) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "as on Linux")]
    pub(super) fn refusal(&self, _facts: &(Attributes, Option<Errno>)) -> Option<Errno> {
        None
    }
}

pub(super) fn is_read_only(_directory: &Directory) -> bool {
    false
}

pub(super) fn facts_of_open(file: &OwnedHandle) -> Result<Attributes, Errno> {
    let status = facts::of_open(file.as_handle())?;
    if is_folder_of_others(status.attributes, status.reparse_tag) {
        return Err(Errno::LIES_ELSEWHERE);
    }
    let facts::Space { allocated_bytes, links } = facts::space(file.as_handle())?;
    let kind = kind(status.attributes, status.reparse_tag);
    let row = crate::stat::of_open(&status, StatMask::ALL);
    Ok(Attributes { have: row.have | StatMask::ALLOCATED, kind, allocated_bytes, links, ..row })
}

/// `true` if another program provides the entries (a cloud folder).
fn is_folder_of_others(attributes: u32, reparse_tag: u32) -> bool {
    kind(attributes, reparse_tag) == FileType::Symlink
        && Found::kind_of((attributes, reparse_tag)) == FileType::Directory
}

/// No reparse point is a directory to enter.
fn kind(attributes: u32, reparse_tag: u32) -> FileType {
    const FOLDER_THAT_LIES_ELSEWHERE: u32 = REPARSE_POINT | DIRECTORY;
    if attributes & FOLDER_THAT_LIES_ELSEWHERE == FOLDER_THAT_LIES_ELSEWHERE {
        return FileType::Symlink;
    }
    Found::kind_of((attributes, reparse_tag))
}

pub(super) fn space(directory: &Directory) -> u64 {
    facts::space(directory.as_handle()).map_or(0, |space| space.allocated_bytes)
}

pub(super) fn kind_of(directory: &impl Open, name: &[u8]) -> FileType {
    let Ok(name) = std::ffi::CString::new(name) else { return FileType::Unknown };
    facts(directory, &name).map_or(FileType::Unknown, |(facts, _)| facts.kind)
}

pub(super) fn remove_file(directory: &impl Open, name: &CStr, listed: FileType) -> Result<(), Errno> {
    let file = open_to_remove(directory.as_handle(), name, listed)?;
    remove(directory.as_handle(), name, &file)
}

/// `false` if `still` refuses the entry opened for removal.
pub(super) fn remove_examined(
    directory: &impl Open,
    name: &CStr,
    listed: FileType,
    still: &dyn Fn(&Attributes) -> bool,
) -> Result<bool, Errno> {
    let file = open_to_remove(directory.as_handle(), name, listed)?;
    if !still(&facts_of_open(&file)?) {
        return Ok(false);
    }
    remove(directory.as_handle(), name, &file).map(|()| true)
}

fn open_to_remove(parent: BorrowedHandle<'_>, name: &CStr, listed: FileType) -> Result<OwnedHandle, Errno> {
    if listed == FileType::File {
        // Fails if the entry has become a directory or a junction.
        return open_without_attributes(parent, name, Purpose::RemoveFile);
    }
    let (file, attributes) = open(parent, name, Purpose::Remove)?;
    match attributes & (DIRECTORY | REPARSE_POINT) {
        DIRECTORY => Err(Errno::ISDIR),
        _ => Ok(file),
    }
}

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

fn remove(parent: BorrowedHandle<'_>, name: &CStr, file: &OwnedHandle) -> Result<(), Errno> {
    match change::remove(file.as_handle()).map_err(Errno::from) {
        Err(Errno::PERM) => remove_read_only(parent, name, file),
        removed => removed.map(drop),
    }
}

/// For systems that refuse read-only entries; restores the attribute if the removal still fails.
fn remove_read_only(parent: BorrowedHandle<'_>, name: &CStr, file: &OwnedHandle) -> Result<(), Errno> {
    let (attributes, _) = facts::tag(file.as_handle())?;
    if attributes & READ_ONLY == 0 {
        return Err(Errno::PERM);
    }
    let marked = open_without_attributes(parent, name, Purpose::RemoveMarked)?;
    if identity(&marked)? != identity(file)? {
        return Err(Errno::PERM);
    }
    let links = facts::space(file.as_handle())?.links;
    change::set_attributes(marked.as_handle(), attributes & !READ_ONLY)?;
    let removed = change::remove(marked.as_handle());
    if removed.is_err() || links > 1 {
        // Other links share the attributes.
        let _ = change::set_attributes(marked.as_handle(), attributes);
    }
    removed.map(drop).map_err(Errno::from)
}

/// Another process that has the file open delays the removal, see [`wait_for_others`].
pub(super) fn removed_open(_directory: &Directory) -> RemovedOpen {
    RemovedOpen::Nameless
}

pub(super) fn is_removed_at_the_server(_directory: &impl Open, _name: &CStr) -> bool {
    false
}

pub(super) fn duplicate(directory: &impl Open) -> io::Result<Directory> {
    directory.as_handle().try_clone_to_owned()
}

pub(super) fn file_system(directory: &impl Open) -> FileSystem {
    FileSystem::of(directory.as_handle())
}

/// Longer with each pass: without POSIX semantics a removed name stays until other processes close it.
pub(super) fn wait_for_others(pass: u8) {
    std::thread::sleep(Duration::from_millis(1 << pass.min(9)));
}

pub(super) fn handles_max() -> usize {
    usize::MAX
}

#[cfg(test)]
mod tests;
