//! Access lists: read from a security descriptor and copied to another file ([MS-DTYP] 2.4.5 and 2.4.6).

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle};

use windows_sys::Win32::Foundation::ERROR_INSUFFICIENT_BUFFER;
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, GetKernelObjectSecurity, OBJECT_SECURITY_INFORMATION,
    SE_DACL_AUTO_INHERIT_REQ, SE_DACL_AUTO_INHERITED, SE_DACL_PRESENT, SE_DACL_PROTECTED,
    SetKernelObjectSecurity,
};

use super::succeeded;

const BYTES: usize = 1024;
const BYTES_MAX: usize = (64 << 10) + BYTES;
const PLACE: usize = 16;
const CONTROL: usize = 2;

/// Access list (DACL) of a file. Lists are equal if they have the same entries in the same order and agree on inheritance.
#[derive(Clone, Debug)]
pub struct AccessList {
    /// Descriptor with the list only, aligned as the system requires.
    units: Vec<u64>,
}

impl AccessList {
    /// Access right to read the list (`READ_CONTROL`), part of the right to read the file.
    pub const READ: u32 = 0x0002_0000;
    /// Access right to set the list (`WRITE_DAC`).
    pub const CHANGE: u32 = 0x0004_0000;

    /// Reads the list of an open file. Errors: access denied, if the file was not opened with [`AccessList::READ`].
    pub fn of(file: &impl AsHandle) -> io::Result<Self> {
        let list = Self { units: descriptor(file.as_handle(), DACL_SECURITY_INFORMATION)? };
        list.entries().is_some().then_some(list).ok_or_else(malformed)
    }

    /// Replaces the list of an open file. Errors: access denied, if the file was not opened with [`AccessList::READ`] and
    /// [`AccessList::CHANGE`]; an error if the file system stored a different list.
    pub fn give(&self, file: &impl AsHandle) -> io::Result<()> {
        self.set(file.as_handle())?;
        match Self::of(file)? == *self {
            true => Ok(()),
            false => Err(io::Error::other("the file system makes another list of it")),
        }
    }

    fn set(&self, file: BorrowedHandle<'_>) -> io::Result<()> {
        let mut units = self.units.clone();
        if self.control() & SE_DACL_AUTO_INHERITED != 0 {
            // Otherwise the system forgets that entries were inherited.
            units[0] |= u64::from(SE_DACL_AUTO_INHERIT_REQ) << (8 * CONTROL);
        }
        // SAFETY: the handle is open for the call, which reads the descriptor. The system wrote the descriptor
        // itself with a list that lies within it (`entries`), and checks it again.
        succeeded(unsafe {
            SetKernelObjectSecurity(
                file.as_raw_handle(),
                DACL_SECURITY_INFORMATION,
                units.as_mut_ptr().cast(),
            )
        })
    }

    fn control(&self) -> u16 {
        let bytes = bytes_of(&self.units);
        u16::from_ne_bytes([bytes[CONTROL], bytes[CONTROL + 1]])
    }

    /// `Some(None)` without a list, which allows everything to everyone; `None` if the list exceeds the descriptor.
    fn entries(&self) -> Option<Option<Vec<u8>>> {
        let bytes = bytes_of(&self.units);
        let at = u32::from_ne_bytes(bytes.get(PLACE..PLACE + 4)?.try_into().ok()?) as usize;
        if self.control() & SE_DACL_PRESENT == 0 || at == 0 {
            return Some(None);
        }
        // Revision, padding, total bytes, number of entries, padding.
        let list = bytes.get(at..)?;
        let number =
            |at: usize| Some(usize::from(u16::from_ne_bytes(list.get(at..at + 2)?.try_into().ok()?)));
        let (all, count) = (number(2)?, number(4)?);
        let mut end = 8;
        for _ in 0..count {
            // Type, flags, bytes of the entry.
            end += number(end + 2)?.max(4);
        }
        (end <= all && all <= list.len()).then(|| Some(list[8..end].to_vec()))
    }
}

impl PartialEq for AccessList {
    fn eq(&self, other: &Self) -> bool {
        let is_protected = |list: &Self| list.control() & SE_DACL_PROTECTED != 0;
        self.entries() == other.entries() && is_protected(self) == is_protected(other)
    }
}

impl Eq for AccessList {}

/// Security descriptor of a file with this information, aligned as the system requires.
pub(super) fn descriptor(
    file: BorrowedHandle<'_>,
    wanted: OBJECT_SECURITY_INFORMATION,
) -> io::Result<Vec<u64>> {
    let (mut bytes, mut needed) = (BYTES, 0);
    loop {
        let mut units = vec![0_u64; bytes.div_ceil(8)];
        let (to, length) = (units.as_mut_ptr().cast(), size_of_val(&units[..]) as u32);
        // SAFETY: the handle is open for the call, and the system writes at most `length` bytes, aligned as it requires.
        let result = succeeded(unsafe {
            GetKernelObjectSecurity(file.as_raw_handle(), wanted, to, length, &raw mut needed)
        });
        let Err(error) = result else { return Ok(units) };
        let needed = needed as usize;
        let is_short = error.raw_os_error() == Some(ERROR_INSUFFICIENT_BUFFER as i32);
        if !is_short || needed <= bytes || needed > BYTES_MAX {
            return Err(error);
        }
        bytes = needed;
    }
}

pub(super) fn bytes_of(units: &[u64]) -> Vec<u8> {
    units.iter().flat_map(|unit| unit.to_ne_bytes()).collect()
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "an access list that is none")
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::os::windows::fs::OpenOptionsExt;

    use super::*;

    /// Everyone, `S-1-1-0`.
    const WORLD: [u8; 12] = [1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];

    /// List that grants each mask to everyone.
    fn list(control: u16, masks: &[u32]) -> AccessList {
        let entry = |mask: &u32| [&[0, 0, 20, 0][..], &mask.to_le_bytes(), &WORLD].concat();
        let entries: Vec<u8> = masks.iter().flat_map(entry).collect();
        let all = (8 + entries.len()) as u16;
        // `SE_SELF_RELATIVE`, and the offset of the list.
        let control = 0x8000 | SE_DACL_PRESENT | control;
        let mut bytes = [&[1, 0][..], &control.to_le_bytes(), &[0; 12], &20_u32.to_le_bytes()].concat();
        bytes.extend([2, 0]);
        bytes.extend(all.to_le_bytes());
        bytes.extend((masks.len() as u16).to_le_bytes());
        bytes.extend([0, 0]);
        bytes.extend(entries);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let unit = |eight: &[u8]| u64::from_le_bytes(eight.try_into().unwrap());
        AccessList { units: bytes.chunks(8).map(unit).collect() }
    }

    fn made(name: &str) -> (std::path::PathBuf, File) {
        let path = std::env::temp_dir().join(format!("megadir-access-{}-{name}", std::process::id()));
        // Both rights, plus write, read attributes and wait.
        let access = AccessList::READ | AccessList::CHANGE | 0x0012_0116;
        let file = OpenOptions::new().write(true).access_mode(access).create_new(true).open(&path).unwrap();
        (path, file)
    }

    #[test]
    fn lists_are_distinguished_by_their_entries() {
        assert_eq!(list(0, &[1, 2]), list(0, &[1, 2]));
        assert_ne!(list(0, &[1, 2]), list(0, &[2, 1]));
        assert_ne!(list(0, &[1]), list(SE_DACL_PROTECTED, &[1]));
        let mut short = list(0, &[1, 2, 3]);
        assert!(short.entries().is_some());
        short.units.truncate(6);
        assert!(short.entries().is_none(), "it ends before its entries do");
    }

    #[test]
    fn a_file_is_given_the_list_of_another() {
        let [(first, first_file), (second, second_file)] = ["one", "other"].map(made);
        let handed_down = AccessList::of(&second_file).unwrap();
        assert_eq!(AccessList::of(&first_file).unwrap(), handed_down);
        // All rights, without inheritance.
        let wide = list(SE_DACL_PROTECTED, &[0x001f_01ff]);
        wide.set(first_file.as_handle()).unwrap();
        let list = AccessList::of(&first_file).unwrap();
        assert_ne!(list, handed_down);
        list.give(&second_file).unwrap();
        assert_eq!(AccessList::of(&second_file).unwrap(), list);
        drop((first_file, second_file));
        std::fs::remove_file(first).unwrap();
        std::fs::remove_file(second).unwrap();
    }
}
