//! Windows: unavailable operations, and the errors that mean that a file is not as expected.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::OnceLock;

use megadir::FileType;
use megadir_record::{FileWork, SyncPolicy};
use megadir_sys::windows::system::wine_version;

use super::Outcome;
use crate::os::{self, Arg, Borrowed};

const DIRECTORY: u32 = 0x10;
const REPARSE_POINT: u32 = 0x400;

/// Never constructed: this system does not set owners.
pub(crate) enum Owner {}

/// Windows has no numeric owners.
pub(crate) fn own() -> Option<Owner> {
    None
}

impl Owner {
    pub(crate) fn give(&self, _file: &File) -> Result<(), Outcome> {
        match *self {}
    }
}

#[inline]
pub(crate) fn create(at: Borrowed<'_>, name: impl Arg, _owner: Option<&Owner>) -> io::Result<File> {
    os::create(at, name)
}

/// Returns a file's size; `None` if it is not a regular file.
#[inline]
pub(crate) fn size_of(at: Borrowed<'_>, name: impl Arg + Copy) -> io::Result<Option<u64>> {
    if !asks_by_name() {
        let status = os::status(at, name)?;
        return Ok((status.kind == FileType::File).then_some(status.size_bytes));
    }
    let facts = os::facts_of(at, name)?;
    let kind = match facts.attributes {
        // Only opening the file reveals the kind of a reparse point.
        with if with & REPARSE_POINT != 0 => os::status(at, name)?.kind,
        with if with & DIRECTORY != 0 => FileType::Directory,
        _ => FileType::File,
    };
    Ok((kind == FileType::File).then_some(facts.size_bytes))
}

/// `true` if attributes can be queried by name relative to an open directory. Wine looks in the process's
/// current directory instead.
fn asks_by_name() -> bool {
    static ASKS: OnceLock<bool> = OnceLock::new();
    *ASKS.get_or_init(|| wine_version().is_none())
}

const NO_DIRECTORY_SYNC: &str = "Windows documents no call that syncs a directory";

pub(crate) fn sync_directory(_directory: Borrowed<'_>) -> io::Result<()> {
    Err(io::Error::new(ErrorKind::Unsupported, NO_DIRECTORY_SYNC))
}

/// `true` if an error only means that one file is not as expected: missing, already present, a directory.
pub(crate) fn is_of_one_file(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::IsADirectory)
}

/// Returns the reason why this system does not support the work.
pub(crate) fn refused(work: &FileWork, directory: Borrowed<'_>) -> Option<String> {
    if work.owner_and_mode {
        return Some("files on Windows have no owner and mode to set with chown and chmod".into());
    }
    match work.sync {
        SyncPolicy::FileAndDirectory => Some(NO_DIRECTORY_SYNC.into()),
        // Only a trial shows whether the volume can be flushed.
        SyncPolicy::AtEnd => os::sync(directory).err().map(|error| {
            format!("flushing a whole volume needs an administrator, and support by the system: {error}")
        }),
        SyncPolicy::Never | SyncPolicy::EachFile => None,
    }
}
