//! One pass over the entries of a data set: relative to descriptors, through no link, across no mount, in bounded memory.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};

use megadir_stats::permutation::SplitMix64;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, statat};
use rustix::io::Errno;

use crate::remove::open_on_this_mount;
use crate::workload::{ListError, Signals};

/// The deepest tree that is gone through; each level holds a descriptor and a buffer.
const DEPTH_MAX: usize = 64;
const BUFFER_BYTES: usize = 64 << 10;
/// Entries that are drawn for verifying.
const SAMPLE_MAX: usize = 64;

/// One entry, with its type known.
pub(super) struct Found<'a> {
    pub(super) parent: BorrowedFd<'a>,
    pub(super) name: &'a CStr,
    /// The directory's path from the top, empty or ending in a slash.
    pub(super) below: &'a [u8],
    pub(super) kind: FileType,
}

/// An entry that was drawn: its path from the top.
pub(super) type Sampled = CString;

/// Shows `visit` every entry below `top`; what lies in its directories too if `deep`.
pub(super) fn each(
    top: BorrowedFd<'_>,
    deep: bool,
    signals: Signals<'_>,
    visit: &mut dyn FnMut(&Found<'_>) -> Result<(), ListError>,
) -> Result<(), ListError> {
    let depth = if deep { DEPTH_MAX } else { 0 };
    // A descriptor of its own: the position of the given one belongs to others.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let own = rustix::fs::openat(top, ".", flags, Mode::empty()).map_err(failed)?;
    each_below(own.as_fd(), &mut Vec::new(), depth, signals, visit)
}

fn each_below(
    directory: BorrowedFd<'_>,
    below: &mut Vec<u8>,
    depth: usize,
    signals: Signals<'_>,
    visit: &mut dyn FnMut(&Found<'_>) -> Result<(), ListError>,
) -> Result<(), ListError> {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
    let mut seen = 0_u32;
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        seen += 1;
        if seen.is_multiple_of(256) {
            signals.check()?;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(status) => FileType::from_raw_mode(status.st_mode),
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(failed(error)),
            },
            kind => kind,
        };
        visit(&Found { parent: directory, name, below, kind })?;
        if kind != FileType::Directory || depth == 0 {
            continue;
        }
        let child = match open_on_this_mount(directory, name) {
            Ok(child) => child,
            Err(Errno::NOENT | Errno::XDEV) => continue,
            Err(error) => return Err(failed(error)),
        };
        let length = below.len();
        below.extend_from_slice(name.to_bytes());
        below.push(b'/');
        each_below(child.as_fd(), below, depth - 1, signals, visit)?;
        below.truncate(length);
    }
    signals.check()
}

fn failed(error: Errno) -> ListError {
    ListError::Stage { stage: "pass over the data set", source: error.into() }
}

/// A pass that asks about every entry, and draws a sample of them (Vitter's algorithm R).
pub(super) struct Pass<'a> {
    pub(super) seen: u64,
    pub(super) sample: Vec<Sampled>,
    random: &'a mut SplitMix64,
}

impl<'a> Pass<'a> {
    pub(super) fn new(random: &'a mut SplitMix64) -> Self {
        Self { seen: 0, sample: Vec::new(), random }
    }

    pub(super) fn see(&mut self, found: &Found<'_>) -> Result<(), ListError> {
        match statat(found.parent, found.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => {}
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
        self.seen += 1;
        let place = match self.sample.len() {
            length if length < SAMPLE_MAX => length,
            _ => self.random.below(self.seen).unwrap_or(0) as usize,
        };
        if place < SAMPLE_MAX {
            // Neither part of a path has a NUL.
            let path = CString::new([found.below, found.name.to_bytes()].concat()).unwrap_or_default();
            match self.sample.get_mut(place) {
                Some(old) => *old = path,
                None => self.sample.push(path),
            }
        }
        Ok(())
    }
}
