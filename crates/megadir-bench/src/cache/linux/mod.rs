//! Linux: dropping caches and verifying the result.
//!
//! ```text
//!  data-cold  each file: fdatasync, POSIX_FADV_DONTNEED, count its pages            (`tree.rs`)
//!  vfs-cold   syncfs, drain, drop_caches 2 to 12 times, counts and sampled names    (`names.rs`)
//!  fs-cold    syncfs, drain, unmount, drop the device's pages, mount, sampled names (`megadir_lab`)
//! ```

mod names;

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use megadir::Dir;
use megadir_record::{CacheState, DataId};
use megadir_sys::page_cache::{Resident, resident};
use rustix::fs::{Advice, FileType, Mode, OFlags, fadvise, fdatasync, fstat, openat};
use rustix::io::Errno;

use crate::cache::linux::names::{DROP_CACHES, SLABINFO, known};
use crate::cache::tree::{TreeEntry, each};
use crate::cache::{Directories, Set, refused};
use crate::control::{RunControl, WRITING_BACK, WorkError, marked};
use crate::host;
use crate::os::At;

pub(super) use names::verify_cold;

#[derive(Clone, Debug, Default)]
pub(super) struct System {
    names: names::CachedNames,
}

impl System {
    pub(super) fn evict(
        &mut self,
        state: CacheState,
        (data, set): (DataId, &Set),
        directories: &mut dyn Directories,
        control: RunControl<'_>,
    ) -> Result<(), WorkError> {
        let directory = directories.of(data).at();
        match state {
            CacheState::Warm | CacheState::Unseen => {}
            CacheState::DataCold => drop_all(directory, set.deep, control)?,
            CacheState::VfsCold => {
                self.names.drop_all(directory, set, control)?;
                touch();
            }
            CacheState::FsCold => {
                names::drain(state, directory, control)?;
                directories.remount(data)?;
                names::check_evicted(directories.of(data).at(), &set.sample)?;
                touch();
            }
        }
        Ok(())
    }
}

/// Bound for the part of a mapping that is read, in case something huge is mapped.
const MAPPING_BYTES_MAX: u64 = 64 << 20;
const BUFFER_BYTES: usize = 1 << 20;

/// Reads the mapped part of every file mapped into this process, so that no block pays for our page faults.
pub(super) fn touch() {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    let mut buffer = vec![0; BUFFER_BYTES];
    for mapped in maps.lines().filter_map(parse) {
        let Ok(file) = File::open(mapped.path) else { continue };
        let end = mapped.offset + mapped.bytes.min(MAPPING_BYTES_MAX);
        let mut offset = mapped.offset;
        while offset < end {
            let length = (end - offset).min(BUFFER_BYTES as u64) as usize;
            match file.read_at(&mut buffer[..length], offset) {
                Ok(read) if read > 0 => offset += read as u64,
                _ => break,
            }
        }
    }
}

struct Mapped<'a> {
    path: &'a str,
    offset: u64,
    bytes: u64,
}

/// Parses a line of maps: `START-END PERMISSIONS OFFSET DEVICE INODE PATH`; `None` for anonymous memory.
fn parse(line: &str) -> Option<Mapped<'_>> {
    let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let offset = hex(words.nth(1)?)?;
    let path = line.find('/').map(|at| &line[at..])?;
    let bytes = hex(end)?.checked_sub(hex(start)?)?;
    Some(Mapped { path, offset, bytes })
}

#[cfg(test)]
mod tests;

/// Largest share of the pages that may be left.
const LEFT_MAX: f64 = 0.01;

fn drop_all(top: BorrowedFd<'_>, deep: bool, control: RunControl<'_>) -> Result<(), WorkError> {
    let (mut pages, mut left, mut holder) = (0_u64, 0_u64, None);
    each(top, deep, control, &mut |found| {
        if found.kind != megadir::FileType::File {
            return Ok(());
        }
        let because =
            |error: std::io::Error| refused(CacheState::DataCold, format!("'{}': {error}", found.path()));
        let Some(after) = drop_one(found, control).map_err(because)? else { return Ok(()) };
        pages += after.pages;
        left += after.cached;
        if after.cached > 0 && holder.is_none() {
            holder = Some(found.path());
        }
        Ok(())
    })?;
    if pages == 0 {
        return Err(refused(CacheState::DataCold, "the files are empty, so they have no contents to drop"));
    }
    if left as f64 > LEFT_MAX * pages as f64 {
        let holder = holder.unwrap_or_default();
        let reason = format!(
            "{left} of {pages} pages stay in the cache, first of '{holder}': another process has them mapped"
        );
        return Err(refused(CacheState::DataCold, reason));
    }
    Ok(())
}

/// Drops the pages of one file and returns the resident rest; `None` if it is gone or no longer a regular file.
fn drop_one(found: &TreeEntry<'_>, control: RunControl<'_>) -> std::io::Result<Option<Resident>> {
    // NONBLOCK: opening must not hang if the file was replaced by a FIFO.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat(found.parent, found.name, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
        opened => opened?,
    };
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let before = resident(file.as_fd())?;
    // Even without dirty pages, fdatasync on some file systems would flush the device's cache for every file.
    if before.unwritten != Some(0) {
        marked(control.heartbeat, WRITING_BACK, || fdatasync(&file))?;
    }
    fadvise(&file, 0, None, Advice::DontNeed)?;
    resident(file.as_fd()).map(Some)
}

/// File systems that live in the page cache.
const IN_MEMORY: &[&str] = &["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];

const NOT_OURS: &str = "only file systems created for the run are unmounted; name some with --fs";

pub(crate) fn is_memory(kind: &str) -> bool {
    IN_MEMORY.contains(&kind)
}

pub(super) fn refusals(directory: &Dir) -> impl Fn(CacheState) -> Option<String> {
    let file_system = host::file_system(directory.as_fd()).kind;
    move |state| unavailable(state, &file_system)
}

fn unavailable(state: CacheState, file_system: &str) -> Option<String> {
    if !state.drops() {
        return None;
    }
    if is_memory(file_system) {
        return Some(format!("{file_system} has no cold state: it stores its data in the cache"));
    }
    if known(file_system).is_none() {
        return Some(format!("it is unknown what {file_system} has cached, so nothing could be verified"));
    }
    match state {
        CacheState::Warm | CacheState::Unseen | CacheState::DataCold => None,
        CacheState::VfsCold => may_drop().err(),
        CacheState::FsCold => Some(NOT_OURS.to_owned()),
    }
}

fn may_drop() -> Result<(), String> {
    OpenOptions::new().write(true).open(DROP_CACHES).map_err(|error| {
        format!(
            "{DROP_CACHES} cannot be written ({error}): it needs root, and containers usually do not allow it"
        )
    })?;
    File::open(SLABINFO)
        .map_err(|error| format!("{SLABINFO} cannot be read ({error}), so nothing could be verified"))?;
    Ok(())
}

#[cfg(test)]
mod tests_of_own_pages {
    use crate::cache::linux::{parse, touch};

    #[test]
    fn a_line_of_maps_is_understood() {
        let line = "7f10e000-7f110000 r-xp 0002a000 fe:01 4711                       /usr/lib/a file.so";
        let mapped = parse(line).unwrap();
        assert_eq!((mapped.path, mapped.offset, mapped.bytes), ("/usr/lib/a file.so", 0x2a000, 0x2000));
        assert!(parse("7ffc0000-7ffd0000 rw-p 00000000 00:00 0   [stack]").is_none());
        assert!(std::fs::read_to_string("/proc/self/maps").unwrap().lines().filter_map(parse).count() > 2);
        touch();
    }
}
