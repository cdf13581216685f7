//! Windows: `GetFileAttributesExW` by whole path, or `NtQueryFullAttributesFile` relative to the directory's
//! handle. Neither opens a handle in this process, nor follows a link that is the last component.

use std::ffi::{CString, OsString};
use std::io;
use std::os::windows::ffi::{OsStrExt, OsStringExt};

use megadir::Dir;
use megadir::names::{refused_by_windows, to_wide};
use megadir_record::LookupCall;
use megadir_sys::windows::facts;

use crate::os::{self, At, Borrowed};

/// UTF-16 name in the call's format: whole path with NUL, or the name alone.
pub(crate) type Name = Box<[u16]>;

/// Paths up to this length, in UTF-16 units with NUL, need no `\\?\` prefix (`MAX_PATH`).
const PLAIN_UNITS_MAX: usize = 260;
/// `ERROR_FILE_NOT_FOUND`; a missing directory gives another error.
const NOT_FOUND: i32 = 2;
const BACKSLASH: u16 = b'\\' as u16;

/// Returns the reason why a call is unavailable here; `present` is a name that should exist.
pub(crate) fn unavailable(call: LookupCall, directory: &Dir, present: Option<CString>) -> Option<String> {
    match call {
        LookupCall::Fstatat => Some("a Linux call".to_owned()),
        LookupCall::AttributesByPath => None,
        LookupCall::AttributesByHandle => {
            let name = present?;
            let is_there = os::status(directory.at(), name.as_bytes()).is_ok();
            let is_found = os::facts_of(directory.at(), name.as_bytes()).is_ok();
            // Wine 8 looks in the current directory instead.
            (is_there && !is_found)
                .then(|| format!("{} does not work relative to a handle here", call.name()))
        }
    }
}

pub(crate) fn prepare(
    call: LookupCall,
    directory: &Dir,
    names: impl Iterator<Item = CString>,
) -> io::Result<Vec<Name>> {
    let wide = |name: &CString| to_wide(name.as_bytes()).ok_or(io::ErrorKind::InvalidFilename.into());
    if call != LookupCall::AttributesByPath {
        return names.map(|name| wide(&name).map(Vec::into_boxed_slice)).collect();
    }
    let top: Vec<u16> = directory.present_path()?.as_os_str().encode_wide().collect();
    names.map(|name| Ok(whole(&top, &wide(&name)?).into_boxed_slice())).collect()
}

/// Returns the whole path of a name in its usual form: with `\\?\` only if it is too long or would be
/// misparsed.
fn whole(top: &[u16], name: &[u16]) -> Vec<u16> {
    let text = OsString::from_wide(name);
    let plain_name = text.to_str().is_some_and(|text| refused_by_windows(text).is_none());
    let verbatim: Vec<u16> = r"\\?\".encode_utf16().collect();
    let drive = top.strip_prefix(verbatim.as_slice()).filter(|rest| rest.get(1) == Some(&u16::from(b':')));
    let top = match drive {
        Some(rest) if plain_name && rest.len() + name.len() + 2 <= PLAIN_UNITS_MAX => rest,
        _ => top,
    };
    let separator = (top.last() != Some(&BACKSLASH)).then_some(BACKSLASH);
    top.iter().copied().chain(separator).chain(name.iter().copied()).chain([0]).collect()
}

/// `true` if a name exists.
#[inline]
pub(crate) fn exists(call: LookupCall, directory: Borrowed<'_>, name: &Name) -> io::Result<bool> {
    let asked = match call {
        LookupCall::AttributesByPath => facts::of_terminated(name),
        LookupCall::AttributesByHandle | LookupCall::Fstatat => facts::of_name(directory, name),
    };
    match asked {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(NOT_FOUND) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_programs_write_them_where_they_can_be() {
        let of = |top: &str, name: &str| {
            let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
            let path = whole(&units(top), &units(name));
            assert_eq!(path.last(), Some(&0));
            String::from_utf16(&path[..path.len() - 1]).unwrap()
        };
        assert_eq!(of(r"\\?\C:\cache", "abc"), r"C:\cache\abc");
        assert_eq!(of(r"\\?\C:\", "abc"), r"C:\abc");
        assert_eq!(of(r"C:\cache", "abc"), r"C:\cache\abc");
        assert_eq!(of(r"\\?\UNC\server\share", "abc"), r"\\?\UNC\server\share\abc");
        assert_eq!(of(r"\\?\Volume{1}\d", "abc"), r"\\?\Volume{1}\d\abc");
        assert_eq!(of(r"\\?\C:\cache", "end."), r"\\?\C:\cache\end.");
        let long = "d".repeat(250);
        assert_eq!(of(&format!(r"\\?\C:\{long}"), "abc"), format!(r"C:\{long}\abc"));
        assert_eq!(of(&format!(r"\\?\C:\{long}"), "abcdef"), format!(r"\\?\C:\{long}\abcdef"));
    }
}
