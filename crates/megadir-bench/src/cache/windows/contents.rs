//! `data-cold`: drops the contents of a data set's files, but not names and attributes. Opening a file without
//! buffering writes its dirty pages first. Pages of a file that another process has open stay, which the
//! verification detects.

use std::io::{self, Read};
use std::os::windows::io::AsHandle;

use megadir::FileType;
use megadir_record::CacheState;
use megadir_stats::permutation::SplitMix64;
use megadir_sys::windows::facts;

use crate::cache::judge::{self, FileRead};
use crate::cache::refused;
use crate::cache::tree::{Found, SAMPLE_MAX, Sampled, each};
use crate::control::{RunControl, WorkError};
use crate::os::{self, Access, Borrowed};

/// Smaller files may be resident in the file table, which stays cached, bytes.
const OUTSIDE_BYTES_MIN: u64 = 4096;
/// Largest part of a file that the verification reads, bytes.
const READ_BYTES_MAX: u64 = 1 << 20;

/// Drops the contents of every regular file of a data set and verifies that they are gone. `read_bytes` returns
/// the bytes read from the volume so far.
pub(super) fn drop_all(
    top: Borrowed<'_>,
    deep: bool,
    control: RunControl<'_>,
    random: &mut SplitMix64,
    read_bytes: &mut dyn FnMut() -> io::Result<u64>,
) -> Result<(), WorkError> {
    let (mut drawn, mut seen, mut bytes) = (Vec::<Sampled>::new(), 0_u64, 0_u64);
    each(top, deep, control, &mut |found| {
        if found.kind != FileType::File {
            return Ok(());
        }
        let Some((size, allocated)) = forget(found)? else { return Ok(()) };
        bytes += size;
        // Reading a compressed or sparse file transfers fewer bytes than requested.
        if size < OUTSIDE_BYTES_MIN || allocated < size {
            return Ok(());
        }
        seen += 1;
        let place = match drawn.len() {
            length if length < SAMPLE_MAX => length,
            _ => random.below(seen).unwrap_or(0) as usize,
        };
        let (path, full) = ([found.below, found.name].concat(), drawn.len() == SAMPLE_MAX);
        match drawn.get_mut(place) {
            Some(old) => *old = path,
            None if !full => drawn.push(path),
            None => {}
        }
        Ok(())
    })?;
    if bytes == 0 {
        return Err(refuse("the files are empty, so they have no contents to drop"));
    }
    if drawn.is_empty() {
        return Err(refuse(format!(
            "all files are smaller than {OUTSIDE_BYTES_MIN} bytes, compressed or sparse, so it cannot be \
             verified that they are cold"
        )));
    }
    let read = read_all(top, &drawn, control, read_bytes)?;
    let again = read_all(top, &drawn, control, read_bytes)?.iter().map(|file| file.given).sum();
    judge::contents(&read, again).map_err(refuse)?;
    // The verification has cached them again.
    drawn.iter().try_for_each(|path| match os::open_uncached(top, path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(because(&String::from_utf8_lossy(path), &error))
        }
        _ => Ok(()),
    })
}

/// Drops the contents of one file and returns its size and allocated size; `None` if it is gone or no longer a
/// file.
fn forget(found: &Found<'_>) -> Result<Option<(u64, u64)>, WorkError> {
    let gone =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory);
    let failed = |error: io::Error| because(&found.path(), &error);
    match os::open_uncached(found.parent, found.name) {
        Ok(file) => {
            let size = file.metadata().map_err(failed)?.len();
            Ok(Some((size, facts::space(file.as_handle()).map_err(failed)?.allocated_bytes)))
        }
        Err(error) if gone(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Reads the beginnings of files; returns the bytes read from each file and from the volume.
fn read_all(
    top: Borrowed<'_>,
    paths: &[Sampled],
    control: RunControl<'_>,
    read_bytes: &mut dyn FnMut() -> io::Result<u64>,
) -> Result<Vec<FileRead>, WorkError> {
    let mut told = || read_bytes().map_err(|error| refuse(error.to_string()));
    let mut read = Vec::with_capacity(paths.len());
    let mut content = Vec::with_capacity(READ_BYTES_MAX as usize);
    let mut before = told()?;
    for path in paths {
        control.check()?;
        content.clear();
        let file = match os::open_file(top, path, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.map_err(|error| because(&String::from_utf8_lossy(path), &error))?,
        };
        let asked = file.take(READ_BYTES_MAX).read_to_end(&mut content);
        let asked = asked.map_err(|error| because(&String::from_utf8_lossy(path), &error))? as u64;
        let after = told()?;
        read.push(FileRead { asked, given: after.saturating_sub(before) });
        before = after;
    }
    Ok(read)
}

fn because(path: &str, error: &io::Error) -> WorkError {
    refuse(format!("'{path}': {error}"))
}

fn refuse(reason: impl Into<String>) -> WorkError {
    refused(CacheState::DataCold, reason)
}
