//! Compares the owner of a file with the owners of files that this process creates. Security identifiers
//! ([MS-DTYP] 2.4) have one binary form each and are compared as bytes.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Security::{
    GetTokenInformation, OWNER_SECURITY_INFORMATION, TOKEN_ACCESS_MASK, TOKEN_INFORMATION_CLASS, TOKEN_QUERY,
    TokenOwner, TokenUser,
};
use windows_sys::Win32::System::Threading::OpenProcessToken;

use super::access_list::{bytes_of, descriptor};
use super::{succeeded, this_process};

/// Room for a token's answer with one identifier of at most 68 bytes, aligned like pointers.
const UNITS: usize = 32;
/// Everyone: the owner on file systems that store none (FAT).
const WORLD: &[u8] = &[1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];

/// `true` if the owner is this process's user or the default owner of new files (for administrators possibly their group), and on file
/// systems without owners. The file must be opened with the right to read its security, as by [`super::open::Purpose::Write`].
pub fn is_own(file: BorrowedHandle<'_>) -> io::Result<bool> {
    let owner = owner_of(file)?;
    if owner == WORLD {
        return Ok(true);
    }
    let token = token(TOKEN_QUERY)?;
    Ok(owner == of_token(&token, TokenUser)? || owner == of_token(&token, TokenOwner)?)
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a security identifier that is none")
}

fn identifier(bytes: &[u8], at: usize) -> io::Result<&[u8]> {
    // Revision, number of parts, six bytes of authority, parts of four bytes.
    let count = *bytes.get(at.saturating_add(1)).ok_or_else(malformed)?;
    bytes.get(at..at + 8 + 4 * usize::from(count)).ok_or_else(malformed)
}

fn owner_of(file: BorrowedHandle<'_>) -> io::Result<Vec<u8>> {
    let bytes = bytes_of(&descriptor(file, OWNER_SECURITY_INFORMATION)?);
    // Revision, padding, control, then the offset of the owner.
    let at = bytes.get(4..8).and_then(|at| at.try_into().ok()).map(u32::from_ne_bytes);
    match at {
        Some(at) if at >= 20 => identifier(&bytes, at as usize).map(<[u8]>::to_vec),
        _ => Err(malformed()),
    }
}

pub(super) fn token(access: TOKEN_ACCESS_MASK) -> io::Result<OwnedHandle> {
    let mut token: HANDLE = std::ptr::null_mut();
    // SAFETY: writes one handle.
    succeeded(unsafe { OpenProcessToken(this_process(), access, &raw mut token) })?;
    // SAFETY: the call succeeded, so this is a handle that no other owner has.
    Ok(unsafe { OwnedHandle::from_raw_handle(token) })
}

/// The answer begins with a pointer to the identifier.
fn of_token(token: &OwnedHandle, class: TOKEN_INFORMATION_CLASS) -> io::Result<Vec<u8>> {
    let mut units = [0_u64; UNITS];
    let (to, length) = (units.as_mut_ptr(), size_of_val(&units) as u32);
    let mut needed = 0;
    // SAFETY: the token is open for the call, and the system writes at most `length` bytes, aligned as it requires.
    succeeded(unsafe {
        GetTokenInformation(token.as_raw_handle(), class, to.cast(), length, &raw mut needed)
    })?;
    // The pointer leads into the same buffer.
    let at = (units[0] as usize).checked_sub(units.as_ptr().addr()).ok_or_else(malformed)?;
    identifier(&bytes_of(&units), at).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use std::os::windows::fs::OpenOptionsExt;
    use std::os::windows::io::AsHandle;

    use super::*;

    #[test]
    fn files_of_this_process_are_recognized() {
        let path = std::env::temp_dir().join(format!("megadir-owner-{}", std::process::id()));
        // Write access, and the right to read the owner.
        let mut options = std::fs::OpenOptions::new();
        let made = options.write(true).access_mode(0x0002_0002).create_new(true).open(&path);
        let own = is_own(made.unwrap().as_handle());
        std::fs::remove_file(&path).unwrap();
        assert!(own.unwrap());
    }

    #[test]
    fn identifiers_are_cut_out_within_bounds() {
        let bytes = [&[9, 9][..], WORLD].concat();
        assert_eq!(identifier(&bytes, 2).unwrap(), WORLD);
        assert!(identifier(&bytes, 12).is_err() && identifier(&bytes, 100).is_err());
        assert!(identifier(&bytes[..13], 2).is_err());
    }
}
