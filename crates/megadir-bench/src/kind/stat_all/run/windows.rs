//! Windows: times in units of 100 ns since 1601.

use std::os::windows::fs::MetadataExt;

use megadir::{Dir, ReadOptions, Time};

use super::{Files, failed};
use crate::control::{RunControl, WorkError};

/// Unused on Windows: an examiner of the library reads attributes by path.
pub(crate) fn by_path(
    _directory: &Dir,
    _options: &ReadOptions,
    _files: &mut Files,
    _signals: RunControl<'_>,
) -> Result<(), WorkError> {
    Err(failed("lstat")(std::io::ErrorKind::Unsupported.into()))
}

#[inline]
pub(crate) fn modified(metadata: &std::fs::Metadata) -> Time {
    Time::from_windows(metadata.last_write_time().cast_signed())
}
