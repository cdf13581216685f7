//! What is asked about an entry of the sample on Windows.

use std::os::windows::io::AsHandle;

use megadir_sys::windows::facts;
use megadir_sys::windows::open::Purpose;

use crate::dir::Dir;
use crate::directory_information::Found;
use crate::file_system::FileSystem;
use crate::file_type::FileType;
use crate::limits::facts::Space;

/// What lists the sample.
pub(super) const BACKEND: &str = "by-handle";
/// Contents of about this size lie in the file's own record of 1 KiB on NTFS, bytes.
const RESIDENT_BYTES_MAX: u64 = 600;

/// Returns the space that an entry's contents take beside its record, bytes; shared among the names of a file. `None` if it has
/// vanished or must not be asked.
pub(super) fn content_bytes(directory: &Dir, name: &[u8], space: &Space) -> Option<f64> {
    let entry = directory.open_entry(name, Purpose::Ask).ok()?;
    let told = facts::of_open(entry.as_handle()).ok()?;
    let found = Found { attributes: told.attributes, reparse_tag: told.reparse_tag, ..Found::default() };
    let bytes = match found.kind() {
        FileType::File => of_size(told.size_bytes, directory.file_system(), space),
        // The first entries of a directory lie in its record too; links have no contents.
        _ => 0,
    };
    Some(bytes as f64 / f64::from(told.links.max(1)))
}

/// Returns the space that contents of a size take.
pub(in crate::limits) fn of_size(bytes: u64, file_system: FileSystem, space: &Space) -> u64 {
    match file_system {
        FileSystem::Ntfs if bytes <= RESIDENT_BYTES_MAX => 0,
        _ => bytes.next_multiple_of(space.unit_bytes.max(1)),
    }
}
