//! Who may do what with a file of Windows: its access list, as it is, to be given to another file.

use std::fs::File;
use std::io;

use megadir_sys::windows::access_list as sys;

/// The access list of a file, and whether it takes on what its directory hands down (Windows alone has this).
///
/// Two are equal if they have the same entries in the same order, and both or none take on what is handed down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessList(sys::AccessList);

impl AccessList {
    /// The right (`READ_CONTROL`) with which a file must be open for its list to be told; whoever reads a file has it.
    pub const READ: u32 = sys::READ;
    /// The right (`WRITE_DAC`) that a file must be open with besides to be given a list.
    pub const CHANGE: u32 = sys::CHANGE;

    /// Returns the list of an open file.
    ///
    /// # Errors
    ///
    /// Whatever the system gives: access denied.
    pub fn of(file: &File) -> io::Result<Self> {
        sys::AccessList::of(file).map(Self)
    }

    /// Gives an open file this list, which it has exactly afterwards.
    ///
    /// # Errors
    ///
    /// Whatever the system gives; that the file system makes another list of it.
    pub fn give(&self, file: &File) -> io::Result<()> {
        self.0.give(file)
    }
}
