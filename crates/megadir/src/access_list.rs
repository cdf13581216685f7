//! Windows access lists, copied from one file to another.

use std::fs::File;
use std::io;

use megadir_sys::windows::access_list as sys;

/// Access list (DACL) of a file with its inheritance flag; Windows only. Equal lists have their entries in
/// the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessList(sys::AccessList);

impl AccessList {
    /// Access right to read the list (`READ_CONTROL`), part of the right to read the file.
    pub const READ: u32 = sys::READ;
    /// Access right to set the list (`WRITE_DAC`).
    pub const CHANGE: u32 = sys::CHANGE;

    /// Reads the list of an open file. Errors: access denied, if the file was not opened with
    /// [`AccessList::READ`].
    pub fn of(file: &File) -> io::Result<Self> {
        sys::AccessList::of(file).map(Self)
    }

    /// Replaces the list of an open file. Errors: access denied, if the file was not opened with
    /// [`AccessList::CHANGE`]; an error if the file system stored a different list.
    pub fn give(&self, file: &File) -> io::Result<()> {
        self.0.give(file)
    }
}
