//! Windows part of file replacement. Open files are replaced with POSIX semantics (Windows 10 1607 and later
//! on NTFS).

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use megadir::{AccessList, Attributes, BatchBuilder, Dir, DirId, FileType, StatMask};

use crate::scan::Excluded;

const ATTRIBUTES: u32 = 0x80;
const DELETE: u32 = 0x1_0000;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: opens a link itself.
const OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// Reserved names: `NUL`, `CON` and the like.
pub(super) fn is_device(path: &Path) -> bool {
    std::path::absolute(path).is_ok_and(|path| {
        let name = path.as_os_str().as_encoded_bytes().strip_prefix(br"\\.\");
        name.is_some_and(|name| !name.contains(&b'\\'))
    })
}

pub(super) fn open(partial: &Path, _old: Option<&Metadata>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(OPEN_REPARSE_POINT);
    options.open(partial)
}

pub(super) fn is_own(partial: &Path, _status: &Metadata, _old: Option<&Metadata>) -> bool {
    query(partial, StatMask::LINKS).is_some_and(|row| row.links == 1)
}

pub(super) fn is_at(file: &File, path: &Path) -> bool {
    let named = OpenOptions::new().access_mode(ATTRIBUTES).custom_flags(OPEN_REPARSE_POINT).open(path);
    match (DirId::of_file(file), named.and_then(|named| DirId::of_file(&named))) {
        (Ok(open), Ok(named)) => open == named,
        _ => false,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "on Unix it can fail")]
pub(super) fn make_private(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Fails if the file is read-only or another process prevents its deletion.
pub(super) fn may_replace(path: &Path, status: &Metadata) -> io::Result<()> {
    if status.permissions().readonly() {
        let reason = "it is marked as read-only: take the mark away, or name another file";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    OpenOptions::new().access_mode(DELETE).custom_flags(OPEN_REPARSE_POINT).open(path).map(drop)
}

/// Unless the directory passes on the same list.
pub(super) fn permit_as(new: (&File, &Path), old: (&Metadata, &Path)) -> io::Result<()> {
    let ((file, partial), (_, old)) = (new, old);
    let refused = |error: io::Error| {
        let reason = format!("its access list cannot be kept ({error}): remove it, or name another file");
        io::Error::new(error.kind(), reason)
    };
    let wanted = open_with(old, AccessList::READ).and_then(|old| AccessList::of(&old)).map_err(refused)?;
    if AccessList::of(file).map_err(refused)? == wanted {
        return Ok(());
    }
    let again = open_with(partial, AccessList::READ | AccessList::CHANGE).map_err(refused)?;
    if DirId::of_file(&again)? != DirId::of_file(file)? {
        return Err(refused(io::Error::new(io::ErrorKind::NotFound, "its temporary file is gone")));
    }
    wanted.give(&again).map_err(refused)
}

fn open_with(path: &Path, access: u32) -> io::Result<File> {
    OpenOptions::new().access_mode(access | ATTRIBUTES).custom_flags(OPEN_REPARSE_POINT).open(path)
}

/// NTFS flushes a file's name with it.
pub(super) fn sync_name(file: &File, _path: &Path) {
    // Windows locks prevent others from reading.
    let _ = file.unlock();
    let _ = file.sync_all();
}

pub(crate) fn excluded(path: &Path) -> Option<Excluded> {
    let inode = query(path, StatMask::INODE)?.inode;
    Some(Excluded {
        name: megadir::names::from_os(path.file_name()?).to_vec(),
        device: None,
        inode: Some(inode),
    })
}

fn query(path: &Path, want: StatMask) -> Option<Attributes> {
    let name = megadir::names::from_os(path.file_name()?);
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = Dir::open(parent).ok()?;
    let mut batch = BatchBuilder::new(1024, false);
    if !batch.push(name, 0, FileType::Unknown, 0) {
        return None;
    }
    let mut rows = Vec::new();
    let mut examine = megadir::stat_backend("open-each").ok()?.start(&directory, want).ok()?;
    examine.examine(&directory, batch.batch(), &mut rows).ok()?;
    rows.into_iter().next().filter(|row| row.have.contains(want))
}
