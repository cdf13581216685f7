//! Windows: what it has no calls for, and what tells that a file is not as it should be.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::OnceLock;

use megadir::FileType;
use megadir_record::{FileWork, SyncPolicy};
use megadir_sys::windows::system::wine_version;

use super::Met;
use crate::at::{self, Arg, Borrowed};

/// `FILE_ATTRIBUTE_DIRECTORY`.
const DIRECTORY: u32 = 0x10;
/// `FILE_ATTRIBUTE_REPARSE_POINT`.
const REPARSE_POINT: u32 = 0x400;

/// Who files are given to: nobody here.
pub(super) enum Owner {}

/// Returns whose this process's own files are: that is not said by numbers here.
pub(super) fn own() -> Option<Owner> {
    None
}

impl Owner {
    /// Gives a file to the owner.
    pub(super) fn give(&self, _file: &File) -> Result<(), Met> {
        match *self {}
    }
}

/// Makes a file.
#[inline]
pub(super) fn create(at: Borrowed<'_>, name: impl Arg, _owner: Option<&Owner>) -> io::Result<File> {
    at::create(at, name)
}

/// Returns a file's size; nothing of what is no file.
#[inline]
pub(super) fn size_of(at: Borrowed<'_>, name: impl Arg + Copy) -> io::Result<Option<u64>> {
    if !asks_by_name() {
        let status = at::status(at, name)?;
        return Ok((status.kind == FileType::File).then_some(status.size_bytes));
    }
    let facts = at::facts_of(at, name)?;
    let kind = match facts.attributes {
        // What kind of reparse point it is, is told to those who open it.
        with if with & REPARSE_POINT != 0 => at::status(at, name)?.kind,
        with if with & DIRECTORY != 0 => FileType::Directory,
        _ => FileType::File,
    };
    Ok((kind == FileType::File).then_some(facts.size_bytes))
}

/// Tells whether a name in an open directory can be asked about without being opened: Wine looks for it in the process's own
/// folder instead.
fn asks_by_name() -> bool {
    static ASKS: OnceLock<bool> = OnceLock::new();
    *ASKS.get_or_init(|| wine_version().is_none())
}

const NO_DIRECTORY_SYNC: &str = "Windows documents no call that makes a directory's names durable";

/// Refuses to make the names in a directory durable.
pub(super) fn sync_directory(_directory: Borrowed<'_>) -> io::Result<()> {
    Err(io::Error::new(ErrorKind::Unsupported, NO_DIRECTORY_SYNC))
}

/// Tells whether an error says no more than that one file is not as it should be: missing, there already, a directory.
pub(crate) fn is_of_one_file(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::IsADirectory)
}

/// Tells why this system cannot do work, if it cannot.
pub(crate) fn refused(work: &FileWork, directory: Borrowed<'_>) -> Option<String> {
    if work.owner_and_mode {
        return Some(
            "files of Windows have no owner and mode that a program gives by chown and chmod".into(),
        );
    }
    match work.sync {
        SyncPolicy::FileAndDirectory => Some(NO_DIRECTORY_SYNC.into()),
        // Whether it works is known when it is done.
        SyncPolicy::AtEnd => at::sync(directory).err().map(|error| {
            format!(
                "only administrators have a whole volume made durable, where the system can do that: {error}"
            )
        }),
        SyncPolicy::Never | SyncPolicy::EachFile => None,
    }
}
