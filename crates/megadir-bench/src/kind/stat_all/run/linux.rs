//! Linux: attributes of each entry by its path, and times as the kernel reports them.

use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use megadir::{Dir, ReadOptions, Time};
use rustix::io::Errno;

use super::{Files, failed};
use crate::control::{RunControl, WorkError};

/// Lists by readdir and reads the attributes of each entry by path, as the programs under study do.
pub(crate) fn by_path(
    directory: &Dir,
    options: &ReadOptions,
    files: &mut Files,
    control: RunControl<'_>,
) -> Result<(), WorkError> {
    let again = Dir::open(directory.path())?;
    let mut reader = megadir::backend("readdir")?.open(&again, options)?;
    let mut path = directory.path().as_os_str().as_bytes().to_vec();
    path.push(b'/');
    let prefix = path.len();
    let mut asked = 0;
    while let Some(batch) = reader.next_batch()? {
        control.check()?;
        for entry in batch.entries() {
            path.truncate(prefix);
            path.extend_from_slice(entry.name);
            path.push(0);
            let path = CStr::from_bytes_with_nul(&path)
                .map_err(|error| failed("lstat")(std::io::Error::other(error)))?;
            asked += 1;
            match rustix::fs::lstat(path) {
                Ok(status) => {
                    if rustix::fs::FileType::from_raw_mode(status.st_mode).is_file() {
                        let nanoseconds = status.st_mtime_nsec as u32;
                        let modified = Time { seconds: status.st_mtime, nanoseconds };
                        files.add(entry.name, status.st_size as u64, modified);
                    }
                }
                // Vanished entries are missing from the count, so the block counts as unequal.
                Err(Errno::NOENT) => {}
                Err(error) => return Err(failed("lstat")(error.into())),
            }
        }
    }
    files.calls = reader.calls().map(|calls| calls + asked);
    Ok(())
}

#[inline]
pub(crate) fn modified(metadata: &std::fs::Metadata) -> Time {
    Time { seconds: metadata.mtime(), nanoseconds: metadata.mtime_nsec() as u32 }
}
