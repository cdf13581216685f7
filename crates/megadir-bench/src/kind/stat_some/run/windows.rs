//! Windows: `GetFileAttributesExW` with the whole path of each file, which leaves no handle to close.

use std::ffi::CStr;
use std::os::windows::ffi::OsStrExt;

use megadir::Dir;
use megadir_sys::windows::facts;

use crate::control::WorkError;

pub(crate) type Unit = u16;
/// State prepared before a block: the directory's path with `\` at its end, and space for a name after it.
pub(crate) type Ground = Vec<u16>;

const STAGE: &str = "GetFileAttributesExW";
const NOT_FOUND: i32 = 2;
/// Maximum length of a name with NUL, UTF-16 units.
const NAME_UNITS_MAX: usize = 256;

pub(crate) fn ground(directory: &Dir) -> Result<Ground, WorkError> {
    let mut path: Ground = directory.present_path()?.as_os_str().encode_wide().collect();
    path.push(u16::from(b'\\'));
    path.reserve(NAME_UNITS_MAX);
    Ok(path)
}

pub(crate) fn push(names: &mut Vec<Unit>, name: &CStr) -> Result<(), WorkError> {
    let invalid = || WorkError::Stage { stage: STAGE, source: std::io::ErrorKind::InvalidFilename.into() };
    names.extend(megadir::names::to_wide(name.to_bytes()).ok_or_else(invalid)?);
    names.push(0);
    Ok(())
}

pub(crate) struct Asker<'g> {
    path: &'g mut Ground,
    prefix: usize,
}

impl<'g> Asker<'g> {
    pub(crate) fn open(_directory: &Dir, ground: &'g mut Ground) -> Result<Self, WorkError> {
        Ok(Self { prefix: ground.len(), path: ground })
    }

    /// Reads the attributes of the first name. `true` if all were reported, and the remaining names; `None`
    /// without a name.
    #[inline]
    pub(crate) fn ask<'n>(&mut self, names: &'n [Unit]) -> Result<Option<(bool, &'n [Unit])>, WorkError> {
        let Some(end) = names.iter().position(|unit| *unit == 0) else { return Ok(None) };
        let (name, rest) = names.split_at(end + 1);
        self.path.truncate(self.prefix);
        self.path.extend_from_slice(name);
        match facts::of_terminated(self.path) {
            Ok(_) => Ok(Some((true, rest))),
            Err(error) if error.raw_os_error() == Some(NOT_FOUND) => Ok(Some((false, rest))),
            Err(source) => Err(WorkError::Stage { stage: STAGE, source }),
        }
    }
}

impl Drop for Asker<'_> {
    fn drop(&mut self) {
        self.path.truncate(self.prefix);
    }
}
