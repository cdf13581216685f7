//! Content size of a sampled entry on Windows.

use std::os::windows::io::AsHandle;

use megadir_sys::windows::facts;
use megadir_sys::windows::open::Purpose;

use crate::dir::Dir;
use crate::directory_information::Found;
use crate::file_system::FileSystem;
use crate::file_type::FileType;
use crate::limits::facts::Space;

/// Backend that lists the sample.
pub(super) const BACKEND: &str = "by-handle";
/// NTFS stores smaller contents in the file's own 1 KiB record.
const RESIDENT_BYTES_MAX: u64 = 600;

/// Without the record, divided by the number of links. `None` if the entry has vanished or must not be opened.
pub(super) fn content_bytes(directory: &Dir, name: &[u8], space: &Space) -> Option<f64> {
    let entry = directory.open_entry(name, Purpose::Ask).ok()?;
    let told = facts::of_open(entry.as_handle()).ok()?;
    let found = Found { attributes: told.attributes, reparse_tag: told.reparse_tag, ..Found::default() };
    let bytes = match found.kind() {
        FileType::File => of_size(told.size_bytes, directory.file_system(), space),
        // A directory's first entries are stored in its record; links have no contents.
        _ => 0,
    };
    Some(bytes as f64 / f64::from(told.links.max(1)))
}

/// Space of contents of this size.
pub(in crate::limits) fn of_size(bytes: u64, file_system: FileSystem, space: &Space) -> u64 {
    match file_system {
        FileSystem::Ntfs if bytes <= RESIDENT_BYTES_MAX => 0,
        _ => bytes.next_multiple_of(space.unit_bytes.max(1)),
    }
}
