//! Drops the system's cache of files, names and attributes; for administrators. `SetSystemFileCacheSize` moves pages to the standby list;
//! emptying that list takes an undocumented call (`SystemMemoryListInformation`, as in RAMMap), so callers must verify the effect.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::{ERROR_NOT_ALL_ASSIGNED, ERROR_NOT_SUPPORTED, LUID, NTSTATUS};
use windows_sys::Win32::Security::{
    AdjustTokenPrivileges, LUID_AND_ATTRIBUTES, LookupPrivilegeValueW, SE_PRIVILEGE_ENABLED,
    TOKEN_ADJUST_PRIVILEGES, TOKEN_PRIVILEGES, TOKEN_QUERY,
};
use windows_sys::Win32::System::Memory::SetSystemFileCacheSize;
use windows_sys::core::PCWSTR;
use windows_sys::w;

use super::{checked, owner, succeeded};

const MEMORY_LISTS: i32 = 80;
const FLUSH_MODIFIED: i32 = 3;
const PURGE_STANDBY: i32 = 4;

type Set = unsafe extern "system" fn(i32, *const core::ffi::c_void, u32) -> NTSTATUS;

/// Enables the privileges that [`forget`] needs. "Not all privileges" without administrator rights.
pub fn may_forget() -> io::Result<()> {
    let token = owner::token(TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY)?;
    for privilege in [w!("SeIncreaseQuotaPrivilege"), w!("SeProfileSingleProcessPrivilege")] {
        enable(&token, privilege)?;
    }
    find().map(|_| ())
}

fn enable(token: &OwnedHandle, privilege: PCWSTR) -> io::Result<()> {
    let mut luid = LUID::default();
    // SAFETY: the name is a constant that ends with a NUL; the system writes one number.
    succeeded(unsafe { LookupPrivilegeValueW(std::ptr::null(), privilege, &raw mut luid) })?;
    let wanted = TOKEN_PRIVILEGES {
        PrivilegeCount: 1,
        Privileges: [LUID_AND_ATTRIBUTES { Luid: luid, Attributes: SE_PRIVILEGE_ENABLED }],
    };
    let none = std::ptr::null_mut();
    // SAFETY: the token is open for adjusting, and the structure holds one privilege; the previous state is not requested.
    let adjusted = unsafe {
        AdjustTokenPrivileges(token.as_raw_handle(), 0, &raw const wanted, 0, none, std::ptr::null_mut())
    };
    // The call succeeds even without granting the privilege; the error code says so.
    let error = io::Error::last_os_error();
    let lacking = error.raw_os_error() == Some(ERROR_NOT_ALL_ASSIGNED as i32);
    if adjusted == 0 || lacking { Err(error) } else { Ok(()) }
}

/// Writes dirty pages and drops everything cached that no process uses, on the whole machine.
pub fn forget() -> io::Result<()> {
    // SAFETY: takes numbers only; this pair is documented to empty the cache's working set.
    succeeded(unsafe { SetSystemFileCacheSize(usize::MAX, usize::MAX, 0) })?;
    let set = find()?;
    for order in [FLUSH_MODIFIED, PURGE_STANDBY] {
        // SAFETY: the system reads one 32-bit number.
        checked(unsafe { set(MEMORY_LISTS, (&raw const order).cast(), size_of::<i32>() as u32) })?;
    }
    Ok(())
}

fn find() -> io::Result<Set> {
    let found = super::find_in_ntdll(c"NtSetSystemInformation");
    let found = found.ok_or_else(|| io::Error::from_raw_os_error(ERROR_NOT_SUPPORTED as i32))?;
    // SAFETY: the function of this name takes a class, a pointer and a length, and returns a status.
    Ok(unsafe { std::mem::transmute::<unsafe extern "system" fn() -> isize, Set>(found) })
}
