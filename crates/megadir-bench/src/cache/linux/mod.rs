//! Linux: dropping caches and verifying the result.

mod contents;
mod facts;
mod names;
mod slab_counts;

use std::fs::File;
use std::os::unix::fs::FileExt;

pub(crate) use facts::is_memory;
pub(super) use facts::refusals;
use megadir_record::CacheState;
pub(super) use names::verify_cold;

use crate::cache::{ColdTarget, Directories};
use crate::control::{RunControl, WorkError};
use crate::os::At;

/// Knowledge about the machine's caches from earlier drops.
#[derive(Clone, Debug, Default)]
pub(super) struct System {
    names: names::Names,
}

impl System {
    /// Drops the parts of the cache that are cold in this state, and verifies that they are gone.
    pub(super) fn evict(
        &mut self,
        state: CacheState,
        of: &ColdTarget<'_>,
        directories: &mut dyn Directories,
        control: RunControl<'_>,
    ) -> Result<(), WorkError> {
        let directory = directories.of(of.data).at();
        match state {
            CacheState::Warm | CacheState::Unseen => {}
            CacheState::DataCold => contents::drop_all(directory, of.deep, control)?,
            CacheState::VfsCold => {
                self.names.drop_all(directory, of.file_system, of.entries, of.sample, control)?;
                touch();
            }
            CacheState::FsCold => {
                names::drain(state, directory, control)?;
                directories.remount(of.data)?;
                names::are_gone(directories.of(of.data).at(), of.sample)?;
                touch();
            }
        }
        Ok(())
    }
}

/// Limit of bytes read from one mapping.
const MAPPING_BYTES_MAX: u64 = 64 << 20;
const BUFFER_BYTES: usize = 1 << 20;

/// Reads the mapped part of every file mapped into this process, so that no block pays for our page faults;
/// unreadable files are skipped.
pub(super) fn touch() {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    let mut buffer = vec![0; BUFFER_BYTES];
    for mapped in maps.lines().filter_map(parse) {
        let Ok(file) = File::open(mapped.path) else { continue };
        let end = mapped.offset + mapped.bytes.min(MAPPING_BYTES_MAX);
        let mut offset = mapped.offset;
        while offset < end {
            let want = (end - offset).min(BUFFER_BYTES as u64) as usize;
            match file.read_at(&mut buffer[..want], offset) {
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
